// Everything that Pumice uses of LLVM: text to native code. LLVM (any version from 15 to 22) is loaded when the first device asks for
// it, through its C API; no other file knows of it.
#pragma once
#include <functional>
#include <memory>
#include <string>

namespace pumice::cpu {

/// Why there is no LLVM, as a sentence: Pumice was built without its headers, or the machine has no such library. "" where there is.
const std::string& llvm_unavailable();
/// "19.1.7": part of the names of cached objects.
std::string llvm_version();

/// The processor that code is made for, in LLVM's words.
struct Machine {
    std::string triple;    ///< "x86_64-pc-linux-gnu"
    std::string cpu;       ///< "znver4", "generic"
    std::string features;  ///< "+avx2,+fma,...", without spaces
    bool has(std::string_view feature) const;
};
/// The processor of this machine. Throws Error where there is no LLVM.
const Machine& host_machine();
/// float elements in the machine's widest vectors: 16, 8 or 4.
int native_width(const Machine& machine);

/// Machine code as the bytes of an object file, and what a dump shows of it.
struct Object {
    std::string bytes;
    std::string optimised;  ///< LLVM IR after the passes; only where `readable`
    std::string assembly;   ///< only where `readable`
};
/// Parses LLVM text, verifies it, optimises it (O2 without the vectorisers: the text is vectorised already) and makes an object.
/// Text that LLVM refuses is a fault of the library: it aborts with LLVM's message and the text. Any thread may call it.
Object make_object(const std::string& text, const Machine& machine, bool readable = false);

/// Native code in memory, which lives as long as this does.
class Code {
public:
    virtual ~Code() = default;
    void* entry = nullptr;
};

/// Loads objects into the process. Any thread may use it.
class Loader {
public:
    /// Gives the address of a function that code calls by name, or null where there is none.
    using Resolve = std::function<void*(const char* name)>;

    virtual ~Loader() = default;
    /// Null where the object is none, or calls a function that does not exist; `reason` then says why. Objects may define equal names.
    virtual std::shared_ptr<Code> load(const std::string& object, const std::string& symbol, std::string& reason) = 0;
};
/// Throws Error where there is no LLVM.
std::shared_ptr<Loader> make_loader(Loader::Resolve resolve);

}  // namespace pumice::cpu
