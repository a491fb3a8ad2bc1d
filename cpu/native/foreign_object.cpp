#include "cpu/native/foreign_object.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

#include "core/support/error.h"
#include "cpu/native/llvm_library.h"
#include "cpu/native/llvm_versions.h"
#include "cpu/native/masked_merges.h"

#ifdef PUMICE_HAVE_LLVM
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Object.h>
#include <llvm-c/TargetMachine.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace pumice::cpu {

#ifdef PUMICE_HAVE_LLVM
namespace {

// The functions used of LLVM's C API. An LLVM that lacks one of them still has its devices.
// clang-format off
#define PUMICE_LLVM_FUNCTIONS(X)                                                                                                 \
    X(LLVMContextCreate) X(LLVMContextDispose) X(LLVMContextSetDiagnosticHandler) X(LLVMGetDiagInfoDescription)                  \
    X(LLVMGetDiagInfoSeverity) X(LLVMParseIRInContext) X(LLVMDisposeModule) X(LLVMCreateMemoryBufferWithMemoryRangeCopy)         \
    X(LLVMDisposeMemoryBuffer) X(LLVMGetTargetFromTriple) X(LLVMGetFirstTarget) X(LLVMGetNextTarget) X(LLVMGetTargetName)        \
    X(LLVMTargetHasAsmBackend) X(LLVMNormalizeTargetTriple) X(LLVMCreateTargetMachine) X(LLVMDisposeTargetMachine)               \
    X(LLVMCreateBinary) X(LLVMDisposeBinary) X(LLVMObjectFileCopySymbolIterator) X(LLVMDisposeSymbolIterator)                    \
    X(LLVMObjectFileIsSymbolIteratorAtEnd) X(LLVMMoveToNextSymbol) X(LLVMGetSymbolName) X(LLVMObjectFileCopySectionIterator)     \
    X(LLVMDisposeSectionIterator) X(LLVMObjectFileIsSectionIteratorAtEnd) X(LLVMMoveToContainingSection)                         \
    X(LLVMInstallFatalErrorHandler)
// clang-format on

/// The targets that LLVM may be built with; those of the host and of AArch64 are initialised by llvm.cpp. Without GPUs: their
/// kernels have calling conventions of their own.
constexpr const char* possible_targets[] = {"AArch64", "ARC",     "ARM",  "AVR",    "BPF",    "CSKY",    "Hexagon",
                                            "Lanai",   "M68k",    "Mips", "MSP430", "RISCV",  "PowerPC", "LoongArch",
                                            "Sparc",   "SystemZ", "VE",   "XCore",  "Xtensa", "X86",     "WebAssembly"};

/// Takes the text that LLVM writes to stderr, from begin() to end(): LLVM reports unknown processors and features nowhere else.
/// The whole process's stderr is redirected for that time.
class StderrCapture {
public:
    void begin() {
        one_at_a_time().lock();
        file = memfd_create("pumice", MFD_CLOEXEC), before = dup(STDERR_FILENO);
        captures = file >= 0 && before >= 0 && dup2(file, STDERR_FILENO) >= 0;
        open = true;
    }
    std::string end() {
        if (!open) return "";
        std::string all;
        if (captures) {
            dup2(before, STDERR_FILENO);
            char buffer[512];
            for (off_t at = 0; const ssize_t bytes = pread(file, buffer, sizeof buffer, at); at += bytes) {
                if (bytes < 0) break;
                all.append(buffer, size_t(bytes));
            }
        }
        if (file >= 0) close(file);
        if (before >= 0) close(before);
        open = false;
        one_at_a_time().unlock();
        return all;
    }

private:
    static std::mutex& one_at_a_time() {
        static std::mutex mutex;
        return mutex;
    }
    int file = -1, before = -1;
    bool captures = false, open = false;
};

/// An object that a thread of its own makes. The thread that waits for it and the other one share it.
struct Making {
    const std::string text;
    const Machine machine;
    const bool assembly;
    StderrCapture capture;
    ForeignObject object;
    std::mutex mutex;  ///< guards all members below
    std::condition_variable changed;
    bool done = false, abandoned = false;
    std::string failure;

    Making(const std::string& text, const Machine& machine, bool assembly) : text(text), machine(machine), assembly(assembly) {}
    void finish(const std::string& why, bool gives_up) {
        const std::lock_guard lock(mutex);
        failure = why, abandoned = gives_up, done = true;
        changed.notify_all();
    }
};
/// Of a thread that makes an object.
thread_local Making* making = nullptr;

/// LLVM's fatal errors, such as an operation that a target cannot select, end the process after this function returns. On a
/// thread that makes an object it does not return: the object fails, and the thread sleeps for good with all that LLVM had begun.
void fatal_error(const char* reason) {
    if (!making) return static_cast<void>(std::fprintf(stderr, "LLVM ERROR: %s\n", reason));
    making->capture.end();
    const std::string all = reason;
    making->finish("LLVM has no code for this target: " + all.substr(0, all.find('\n')), true);
    while (true) pause();
}

struct LlvmFunctions {
#define X(name) decltype(&::name) name = nullptr;
    PUMICE_LLVM_FUNCTIONS(X)
#undef X
    const unsigned major;

    LlvmFunctions() : major(llvm_major()) {
        const char* lacks = nullptr;
#define X(name)                                                    \
    name = reinterpret_cast<decltype(name)>(llvm_function(#name)); \
    if (!name && !lacks) lacks = #name;
        PUMICE_LLVM_FUNCTIONS(X)
#undef X
        if (lacks) fail("The library libLLVM ", major, " of this machine makes no objects: it lacks the function ", lacks, ".");
        LLVMInstallFatalErrorHandler(fatal_error);
        for (const char* const target : possible_targets)
            for (const char* const part : {"TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"})
                if (void* const initialise = llvm_function(text("LLVMInitialize", target, part).c_str()))
                    reinterpret_cast<void (*)()>(initialise)();
    }
};

const LlvmFunctions& functions() {
    static const LlvmFunctions* const one = new LlvmFunctions;  // throws at every call if the library lacks a function
    return *one;
}

/// Lines about a processor or feature that LLVM does not know; the other lines go to stderr.
std::string unknown_names(const std::string& written) {
    std::string unknown;
    for (size_t begin = 0; begin < written.size();) {
        const size_t end = std::min(written.find('\n', begin), written.size() - 1) + 1;
        const std::string line = written.substr(begin, end - begin);
        const size_t cut = line.find(" (ignoring ");
        const std::string name = line.substr(0, cut);
        if (cut != line.npos)
            unknown += unknown.find(name) != unknown.npos ? "" : (unknown.empty() ? "" : "; ") + name;
        else if (write(STDERR_FILENO, line.data(), line.size()) < 0)
            break;
        begin = end;
    }
    return unknown;
}

/// Compiles one text to one object. Every failure is an Error.
class ForeignCompilation {
public:
    explicit ForeignCompilation(Making& making) : source(text_for_version(making.text, l.major)) {
        const Machine& machine = making.machine;
        LLVMTargetRef target = nullptr;
        char* message = nullptr;
        if (l.LLVMGetTargetFromTriple(machine.triple.c_str(), &target, &message)) {
            taken(message);
            std::string names;
            for (const std::string& name : llvm_targets()) names += (names.empty() ? "" : ", ") + name;
            fail("LLVM ", llvm_version(), " has no target for the triple \"", machine.triple, "\"; its targets are ", names);
        }
        if (!l.LLVMTargetHasAsmBackend(target)) fail("LLVM's target ", l.LLVMGetTargetName(target), " makes no object files");
        making.capture.begin();
        this->machine = l.LLVMCreateTargetMachine(target, machine.triple.c_str(), machine.cpu.c_str(), machine.features.c_str(),
                                                  LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
        const std::string unknown = unknown_names(making.capture.end());
        if (!unknown.empty() || !this->machine) {
            release();
            fail("LLVM ", llvm_version(), " refuses the processor or its features for ", machine.triple, ": ", unknown);
        }
        context = l.LLVMContextCreate();
        l.LLVMContextSetDiagnosticHandler(
            context, [](LLVMDiagnosticInfoRef info, void* self) { static_cast<ForeignCompilation*>(self)->note(info); }, this);
        try {
            read(machine);
        } catch (const Error&) {
            release();
            throw;
        }
    }
    ~ForeignCompilation() { release(); }
    ForeignCompilation(const ForeignCompilation&) = delete;

    void optimise() {
        const std::string passes = text("always-inline,function(", llvm_function_passes(l.major), "),globaldce");
        const std::string problem = cpu::optimise(module, machine, passes);
        if (!problem.empty()) fail("LLVM cannot optimise the code: ", problem);
    }
    void part_selections() const { part_selections_from_logic(module); }
    std::string code(bool assembly) {
        std::string problem, bytes = code_of(module, machine, assembly, problem);
        if (!problem.empty()) fail("LLVM cannot make the object: ", problem);
        if (!refused.empty()) fail("LLVM refuses the code: ", refused);
        return bytes;
    }
    /// The functions that an object calls and does not define, by their names in C.
    std::vector<std::string> undefined(const std::string& object) const {
        char* message = nullptr;
        const LLVMMemoryBufferRef buffer = l.LLVMCreateMemoryBufferWithMemoryRangeCopy(object.data(), object.size(), "object");
        const LLVMBinaryRef binary = l.LLVMCreateBinary(buffer, context, &message);
        if (!binary) {
            l.LLVMDisposeMemoryBuffer(buffer);
            fail("LLVM cannot read the object that it made: ", taken(message));
        }
        std::vector<std::string> names;
        const LLVMSymbolIteratorRef symbol = l.LLVMObjectFileCopySymbolIterator(binary);
        for (; !l.LLVMObjectFileIsSymbolIteratorAtEnd(binary, symbol); l.LLVMMoveToNextSymbol(symbol)) {
            const LLVMSectionIteratorRef section = l.LLVMObjectFileCopySectionIterator(binary);
            l.LLVMMoveToContainingSection(section, symbol);
            std::string name = l.LLVMGetSymbolName(symbol);
            if (prefixes_names(object) && name.starts_with('_')) name.erase(0, 1);
            if (l.LLVMObjectFileIsSectionIteratorAtEnd(binary, section) && !name.empty() && !is_of_linker(name))
                names.push_back(name);
            l.LLVMDisposeSectionIterator(section);
        }
        l.LLVMDisposeSymbolIterator(symbol);
        l.LLVMDisposeBinary(binary);
        l.LLVMDisposeMemoryBuffer(buffer);
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        return names;
    }

private:
    static constexpr const char* source_name = "pumice";

    /// True if names of C have an underscore before them: in Mach-O, and in COFF for x86 of 32 bits.
    static bool prefixes_names(const std::string& object) {
        return object.starts_with("\xcf\xfa\xed\xfe") || object.starts_with("\xce\xfa\xed\xfe") || object.starts_with("\x4c\x01");
    }
    /// True for a symbol without a section that is no function: the source file's, and those that assemblers, linkers and startup
    /// code define on ELF, COFF, WebAssembly and AVR. LLVM gives further bytes behind names of 8 letters in COFF and of globals
    /// in WebAssembly.
    static bool is_of_linker(const std::string& name) {
        constexpr std::string_view all[] = {
            source_name, "_GLOBAL_OFFSET_TABLE_", ".TOC.",        "_gp_disp", ".file", "_fltused", "__SP_H__", "__SP_L__",
            "__SREG__",  "__tmp_reg__",           "__zero_reg__", "__RAMPZ__"};
        return std::ranges::find(all, name) != std::end(all) || name.starts_with("@feat.00") ||
               name.starts_with("__stack_pointer");
    }

    void read(const Machine& given) {
        char* message = nullptr;
        const LLVMMemoryBufferRef buffer = l.LLVMCreateMemoryBufferWithMemoryRangeCopy(source.data(), source.size(), source_name);
        if (l.LLVMParseIRInContext(context, buffer, &module, &message))
            library_bug(text("LLVM cannot parse the text of an object: ", taken(message), "\n", source));
        const std::string broken = set_target(module, machine, given.triple);
        if (!broken.empty()) fail("LLVM's verifier refuses the code for ", given.triple, ": ", broken);
    }
    void note(LLVMDiagnosticInfoRef info) {
        if (l.LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
        std::string what = taken(l.LLVMGetDiagInfoDescription(info));
        while (!what.empty() && (what.back() == '\n' || what.back() == ' ')) what.pop_back();
        if (refused.find(what) == refused.npos) refused += (refused.empty() ? "" : "; ") + what;
    }
    void release() {
        if (module) l.LLVMDisposeModule(module);
        if (context) l.LLVMContextDispose(context);
        if (machine) l.LLVMDisposeTargetMachine(machine);
        module = nullptr, context = nullptr, machine = nullptr;
    }

    const LlvmFunctions& l = functions();
    const std::string source;
    LLVMTargetMachineRef machine = nullptr;
    LLVMContextRef context = nullptr;
    LLVMModuleRef module = nullptr;
    std::string refused;  ///< errors that LLVM has reported
};

}  // namespace

std::string normal_triple(const std::string& triple) {
    const LlvmFunctions& l = functions();
    return taken(l.LLVMNormalizeTargetTriple(triple.c_str()));
}

std::vector<std::string> llvm_targets() {
    const LlvmFunctions& l = functions();
    std::vector<std::string> names;
    for (LLVMTargetRef target = l.LLVMGetFirstTarget(); target; target = l.LLVMGetNextTarget(target))
        names.emplace_back(l.LLVMGetTargetName(target));
    std::sort(names.begin(), names.end());
    return names;
}

ForeignObject make_foreign_object(const std::string& text, const Machine& machine, bool assembly) {
    functions();  // fails here if LLVM lacks something
    const auto work = std::make_shared<Making>(text, machine, assembly);
    std::thread thread([work] {
        making = work.get();
        try {
            ForeignCompilation compilation(*work);
            compilation.optimise();
            // LLVM's code for AVX-512 has a defect (masked_merges.h), and any x86-64 target may have AVX-512, by its name or
            // features.
            if (work->machine.triple.starts_with("x86_64")) compilation.part_selections();
            if (work->assembly) work->object.assembly = compilation.code(true);
            work->object.bytes = compilation.code(false);
            work->object.undefined = compilation.undefined(work->object.bytes);
            work->finish("", false);
        } catch (const Error& e) { work->finish(e.what(), false); }
    });
    std::unique_lock lock(work->mutex);
    work->changed.wait(lock, [&] { return work->done; });
    if (work->abandoned)
        thread.detach();
    else {
        lock.unlock();
        thread.join();
    }
    if (!work->failure.empty()) throw Error(work->failure);
    return std::move(work->object);
}

#else  // without LLVM's headers

std::string normal_triple(const std::string&) { throw Error(llvm_unavailable()); }
std::vector<std::string> llvm_targets() { throw Error(llvm_unavailable()); }
ForeignObject make_foreign_object(const std::string&, const Machine&, bool) { throw Error(llvm_unavailable()); }

#endif

}  // namespace pumice::cpu
