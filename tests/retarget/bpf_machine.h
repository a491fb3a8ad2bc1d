// Reads an ELF object for BPF and runs its function: a small interpreter with checked memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pumice::tests {

/// The instructions of one function, 8 bytes each.
class BpfFunction {
public:
    /// Throws Error if the object is no ELF file for BPF of this byte order, has no such function, or if the function needs a
    /// relocation.
    BpfFunction(const std::string& object, const std::string& symbol);

    /// Runs the function with these registers, r1 first, and returns r0. Throws Error for an instruction that it does not know, a
    /// call, an access outside of `memory` and of the stack, and after 10 million instructions.
    uint64_t run(const std::vector<uint64_t>& arguments, std::vector<uint8_t>* memory = nullptr) const;
    /// The address that stands for the first byte of `memory`, for an argument.
    static constexpr uint64_t memory_address = 0x100000000;

    size_t size() const { return code.size(); }
    const std::string& section() const { return in_section; }

private:
    std::vector<uint64_t> code;
    std::string in_section;
};

}  // namespace pumice::tests
