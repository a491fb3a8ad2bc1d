// The interface to LLVM: from text to native code. LLVM (any version from 15 to 22) is loaded through its C API when the first
// device needs it. Of the other files only foreign_object.cpp uses LLVM.
#pragma once
#include <functional>
#include <memory>
#include <string>

namespace pumice::cpu {

/// The reason why LLVM is unavailable, as a sentence: built without its headers, or no library on the machine. "" if it is
/// available.
const std::string& llvm_unavailable();
/// "19.1.7"; part of the names of cached objects.
std::string llvm_version();

/// A target processor, by LLVM's names.
struct Machine {
    std::string triple;    ///< "x86_64-pc-linux-gnu"
    std::string cpu;       ///< "znver4", "generic"
    std::string features;  ///< "+avx2,+fma,...", without spaces
    bool has(std::string_view feature) const;
};
/// The processor of this machine. Throws Error if LLVM is unavailable.
const Machine& host_machine();
/// float elements in the machine's widest vectors: 16, 8 or 4.
int native_width(const Machine& machine);
/// True if LLVM uses the processor's gathers; for others it makes scalar loads of them. All have gathers from AVX2 on, but only
/// Intel's since Skylake, and AVX-512, are faster than scalar loads to LLVM.
bool has_fast_gathers(const Machine& machine);

/// Machine code as the bytes of an object file, and its dumps.
struct Object {
    std::string bytes;
    std::string optimised;  ///< LLVM IR after the passes; only where `readable`
    std::string assembly;   ///< only where `readable`
};
/// Parses, verifies and optimises LLVM text (without the vectorisers, since it is vectorised already), and makes an object. If
/// LLVM rejects the text, aborts with LLVM's message and the text, since that is a bug of the library. `for_debuggers`: does not
/// optimise. Thread-safe.
Object make_object(const std::string& text, const Machine& machine, bool readable = false, bool for_debuggers = false);

/// Native code in memory; unloaded by its destructor.
class Code {
public:
    virtual ~Code() = default;
    void* entry = nullptr;
};

/// Loads objects into the process. Thread-safe.
class Loader {
public:
    /// Returns the address of a function that code calls by name, or null.
    using Resolve = std::function<void*(const char* name)>;

    virtual ~Loader() = default;
    /// Returns null, with the `reason`, if the object is invalid or calls an unknown function. Objects may define equal names.
    virtual std::shared_ptr<Code> load(const std::string& object, const std::string& symbol, std::string& reason) = 0;
};
/// Throws Error if LLVM is unavailable.
std::shared_ptr<Loader> make_loader(Loader::Resolve resolve);

}  // namespace pumice::cpu
