// Object files of kernels and functions, for programs without the library and for other processors.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pumice {

/// Options of compile_object.
struct ObjectOptions {
    std::string features;        ///< of the processor, beside its own, by LLVM's names: "+v,-c"
    std::string abi;             ///< of RISC-V: "lp64d", "ilp32"; "": what the features suggest
    std::string symbol;          ///< the exported function; "": the kernel's name, with _ for what no C name has
    std::string section;         ///< the function's section: "xdp"; "": that of all code
    std::vector<int64_t> group;  ///< items of a group, one extent a dimension of the range; empty: chosen
    int width = 0;               ///< items that are computed at once: 1, 4, 8 or 16; 0: as the processor's vectors suggest
    bool assembly = false;       ///< also makes ObjectCode::assembly
};

/// An object file with one exported function. docs/objects.md says how a C program calls it.
struct ObjectCode {
    std::string bytes;               ///< the object file
    std::string triple;              ///< the target, with all its parts: "riscv64-unknown-linux-gnu"
    std::string symbol;              ///< the exported function
    std::string prototype;           ///< as in C: "float smooth(float arg1, float arg2)"
    std::string header;              ///< C text that declares the function and the structs it takes
    std::vector<std::string> needs;  ///< functions that the object calls: those of the C library, and of libgcc
    int64_t scratch_bytes = 0;       ///< of the parameter `scratch`, if there is one
    std::string assembly;
};

}  // namespace pumice
