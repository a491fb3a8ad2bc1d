#include "cpu/native/llvm.h"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "core/support/debug.h"
#include "core/support/error.h"
#include "cpu/native/llvm_library.h"
#include "cpu/native/llvm_versions.h"
#include "cpu/native/masked_merges.h"

#ifdef PUMICE_HAVE_LLVM
#include <dlfcn.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/OrcEE.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#endif

namespace pumice::cpu {

// The passes that pay on vectorised text: mem2reg, loop rotation and unrolling, CSE. default<O2> takes two to three times as long
// for code of the same speed: its interprocedural passes find one function only.
std::string llvm_function_passes(unsigned major) {
    // Before version 18 instcombine did not check for a fixpoint, and lacks the option.
    const char* const instcombine = major >= 18 ? "instcombine<no-verify-fixpoint>" : "instcombine";
    return text("sroa,early-cse<memssa>,simplifycfg,", instcombine, ",loop-mssa(loop-rotate,licm),simplifycfg,",
                "loop(indvars,loop-unroll-full),sroa,gvn,", instcombine, ",simplifycfg,loop-unroll<O2>,loop-mssa(licm)");
}

bool Machine::has(std::string_view feature) const {
    const std::string all = "," + features + ",", wanted = ",+" + std::string(feature) + ",";
    return all.find(wanted) != all.npos;
}

int native_width(const Machine& machine) {
    if (machine.has("avx512f") && machine.has("avx512vl") && machine.has("avx512dq") && machine.has("avx512bw")) return 16;
    return machine.has("avx2") && machine.has("fma") ? 8 : 4;
}

bool has_fast_gathers(const Machine& machine) {
    // LLVM's processors with its tuning "fast-gather" and no AVX-512.
    constexpr std::string_view names[] = {"skylake",   "alderlake",   "raptorlake", "meteorlake",
                                          "arrowlake", "arrowlake-s", "lunarlake",  "pantherlake"};
    if (!machine.has("avx2")) return false;
    return native_width(machine) == 16 || std::ranges::find(names, machine.cpu) != std::end(names);
}

#ifdef PUMICE_HAVE_LLVM
namespace {

// The functions used of LLVM's C API.
// clang-format off
#define PUMICE_LLVM_FUNCTIONS(X)                                                                                                 \
    X(LLVMDisposeMessage) X(LLVMGetErrorMessage) X(LLVMDisposeErrorMessage) X(LLVMConsumeError)                \
    X(LLVMContextCreate) X(LLVMContextDispose) X(LLVMParseIRInContext) X(LLVMDisposeModule) X(LLVMCloneModule)                   \
    X(LLVMVerifyModule) X(LLVMPrintModuleToString) X(LLVMSetTarget) X(LLVMSetModuleDataLayout) X(LLVMCreateTargetDataLayout)     \
    X(LLVMDisposeTargetData) X(LLVMCreateMemoryBufferWithMemoryRangeCopy) X(LLVMGetBufferStart) X(LLVMGetBufferSize)             \
    X(LLVMDisposeMemoryBuffer) X(LLVMGetDefaultTargetTriple) X(LLVMGetHostCPUName) X(LLVMGetHostCPUFeatures)                     \
    X(LLVMGetTargetFromTriple) X(LLVMCreateTargetMachine) X(LLVMDisposeTargetMachine) X(LLVMTargetMachineEmitToMemoryBuffer)     \
    X(LLVMCreatePassBuilderOptions) X(LLVMDisposePassBuilderOptions) X(LLVMPassBuilderOptionsSetLoopVectorization)               \
    X(LLVMPassBuilderOptionsSetSLPVectorization) X(LLVMPassBuilderOptionsSetLoopInterleaving) X(LLVMRunPasses)                   \
    X(LLVMInitializeX86TargetInfo) X(LLVMInitializeX86Target) X(LLVMInitializeX86TargetMC) X(LLVMInitializeX86AsmPrinter)        \
    X(LLVMInitializeX86AsmParser) X(LLVMInitializeAArch64TargetInfo) X(LLVMInitializeAArch64Target)                              \
    X(LLVMInitializeAArch64TargetMC) X(LLVMInitializeAArch64AsmPrinter) X(LLVMInitializeAArch64AsmParser)                        \
    X(LLVMOrcCreateLLJITBuilder) X(LLVMOrcCreateLLJIT) X(LLVMOrcDisposeLLJIT) X(LLVMOrcLLJITGetExecutionSession)                 \
    X(LLVMOrcLLJITMangleAndIntern) X(LLVMOrcLLJITGetObjLinkingLayer)                                                             \
    X(LLVMOrcExecutionSessionCreateBareJITDylib) X(LLVMOrcExecutionSessionSetErrorReporter) X(LLVMOrcJITDylibClear)              \
    X(LLVMOrcLLJITAddObjectFile) X(LLVMOrcExecutionSessionLookup) X(LLVMOrcRetainSymbolStringPoolEntry)                          \
    X(LLVMOrcReleaseSymbolStringPoolEntry)                                                                                       \
    X(LLVMOrcSymbolStringPoolEntryStr) X(LLVMOrcCreateCustomCAPIDefinitionGenerator) X(LLVMOrcJITDylibAddGenerator)              \
    X(LLVMOrcAbsoluteSymbols) X(LLVMOrcJITDylibDefine) X(LLVMOrcDisposeMaterializationUnit)
// clang-format on

/// In order of preference: the version of most tests, then newer and older ones.
constexpr int versions[] = {19, 20, 21, 22, 18, 17, 16, 15};

struct Llvm {
#define X(name) decltype(&::name) name = nullptr;
    PUMICE_LLVM_FUNCTIONS(X)
#undef X
    decltype(&::LLVMGetVersion) LLVMGetVersion = nullptr;  ///< null before version 16
    // For version 17 only: see create_jit().
    decltype(&::LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator) LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator = nullptr;
    decltype(&::LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager)
        LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager = nullptr;
    // For perf only; null in a library without it.
    decltype(&::LLVMCreatePerfJITEventListener) LLVMCreatePerfJITEventListener = nullptr;
    decltype(&::LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener) LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener =
        nullptr;
    void* library = nullptr;
    bool complete = false;
    std::string unavailable;
    std::string version;
    unsigned major = 0;

    /// Loads the first version that is installed and complete, or the one that the debug switch names.
    Llvm() {
        const std::string& asked = debug::value("PUMICE_CPU_LLVM");
        std::string absent;
        for (const int version : versions) {
            if (!asked.empty() && asked != text(version)) continue;
            if ((library = loaded(version, absent)) && take_functions(version)) break;
        }
        if (!complete) {
            if (unavailable.empty()) unavailable = missing(asked, absent);
            return;
        }
        unavailable.clear();
        unsigned minor = 0, patch = 0;
        if (LLVMGetVersion) LLVMGetVersion(&major, &minor, &patch);
        version = text(major, ".", minor, ".", patch);
        LLVMInitializeX86TargetInfo(), LLVMInitializeX86Target(), LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter(), LLVMInitializeX86AsmParser();
        LLVMInitializeAArch64TargetInfo(), LLVMInitializeAArch64Target(), LLVMInitializeAArch64TargetMC();
        LLVMInitializeAArch64AsmPrinter(), LLVMInitializeAArch64AsmParser();
    }

    /// RTLD_LOCAL keeps these symbols from drivers with an LLVM of their own (lavapipe). `absent`: the loader's first error; that
    /// of a file that is there and cannot be loaded comes before those of missing files.
    static void* loaded(int version, std::string& absent) {
        for (const std::string& name : {text("libLLVM.so.", version, ".1"), text("libLLVM-", version, ".so.1"),
                                        text("libLLVM-", version, ".so"), text("libLLVM.so.", version)}) {
            if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
            const char* const error = dlerror();
            const std::string why = error ? error : "";
            if (absent.empty() || (is_missing(absent) && !is_missing(why))) absent = why;
        }
        return nullptr;
    }
    static bool is_missing(const std::string& error) { return error.find("No such file") != error.npos; }
    /// Returns false, with the reason in `unavailable`, if the library lacks a function.
    bool take_functions(int version) {
        const char* lacks = nullptr;
#define X(function)                                                             \
    function = reinterpret_cast<decltype(function)>(dlsym(library, #function)); \
    if (!function && !lacks) lacks = #function;
        PUMICE_LLVM_FUNCTIONS(X)
#undef X
        complete = !lacks;
        if (!complete && unavailable.empty())
            unavailable = text("The library libLLVM ", version, " of this machine lacks the function ", lacks, ".");
        major = unsigned(version);
#define X(function) function = reinterpret_cast<decltype(function)>(dlsym(library, #function));
        X(LLVMGetVersion)
        X(LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator)
        X(LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager)
        X(LLVMCreatePerfJITEventListener)
        X(LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener)
#undef X
        return complete;
    }
    static std::string missing(const std::string& asked, const std::string& absent) {
        const auto [oldest, newest] = std::minmax_element(std::begin(versions), std::end(versions));
        if (asked.empty() && !is_missing(absent)) return text("LLVM is installed and cannot be loaded (", absent, ").");
        if (asked.empty())
            return text("No LLVM of version ", *oldest, " to ", *newest, " is installed (", absent,
                        "); Debian has version 19 in the package libllvm19.");
        if (std::find_if(std::begin(versions), std::end(versions), [&](int v) { return asked == text(v); }) == std::end(versions))
            return text("PUMICE_CPU_LLVM is \"", asked, "\"; it is a version from ", *oldest, " to ", *newest, ".");
        return text("LLVM ", asked, ", which PUMICE_CPU_LLVM asks for, is not installed (", absent, ").");
    }
};

const Llvm& llvm() {
    static const Llvm* const one = new Llvm;  // never unloaded: code may run until the process ends
    return *one;
}

const Llvm& required() {
    if (!llvm().unavailable.empty()) throw Error(llvm().unavailable);
    return llvm();
}

}  // namespace

std::string taken(char* message) {
    std::string copy = message ? message : "";
    if (message) required().LLVMDisposeMessage(message);
    return copy;
}

std::string taken(LLVMErrorRef error) {
    if (!error) return "";
    char* const message = required().LLVMGetErrorMessage(error);
    std::string copy = message;
    required().LLVMDisposeErrorMessage(message);
    return copy;
}

std::string set_target(LLVMModuleRef module, LLVMTargetMachineRef machine, const std::string& triple) {
    const Llvm& l = required();
    const LLVMTargetDataRef layout = l.LLVMCreateTargetDataLayout(machine);
    l.LLVMSetTarget(module, triple.c_str());
    l.LLVMSetModuleDataLayout(module, layout);
    l.LLVMDisposeTargetData(layout);
    char* message = nullptr;
    const bool broken = l.LLVMVerifyModule(module, LLVMReturnStatusAction, &message);
    const std::string why = taken(message);
    return broken ? why : "";
}

std::string optimise(LLVMModuleRef module, LLVMTargetMachineRef machine, const std::string& passes) {
    const Llvm& l = required();
    const LLVMPassBuilderOptionsRef options = l.LLVMCreatePassBuilderOptions();
    l.LLVMPassBuilderOptionsSetLoopVectorization(options, false);
    l.LLVMPassBuilderOptionsSetSLPVectorization(options, false);
    l.LLVMPassBuilderOptionsSetLoopInterleaving(options, false);
    const std::string problem = taken(l.LLVMRunPasses(module, passes.c_str(), machine, options));
    l.LLVMDisposePassBuilderOptions(options);
    return problem;
}

std::string code_of(LLVMModuleRef module, LLVMTargetMachineRef machine, bool assembly, std::string& problem) {
    const Llvm& l = required();
    LLVMMemoryBufferRef buffer = nullptr;
    char* message = nullptr;
    const LLVMModuleRef from = assembly ? l.LLVMCloneModule(module) : module;  // code generation changes it
    const bool failed =
        l.LLVMTargetMachineEmitToMemoryBuffer(machine, from, assembly ? LLVMAssemblyFile : LLVMObjectFile, &message, &buffer);
    if (assembly) l.LLVMDisposeModule(from);
    if (failed) {
        problem = taken(message);
        return "";
    }
    std::string bytes(l.LLVMGetBufferStart(buffer), l.LLVMGetBufferSize(buffer));
    l.LLVMDisposeMemoryBuffer(buffer);
    return bytes;
}

namespace {

/// Versions 15 and 16 crash on some byte shuffles with AVX-512BW (a null node in the x86 DAG combiner); AVX2 uses other shuffles.
std::string features_for_version(const Machine& machine, unsigned major) {
    if (major >= 17 || !machine.has("avx512bw")) return machine.features;
    return machine.features + ",-avx512bw";
}

/// Compiles one text to an object.
class Compilation {
public:
    Compilation(const Llvm& l, const std::string& given, const Machine& machine, bool for_debuggers)
        : l(l), source(text_for_version(given, l.major)) {
        char* message = nullptr;
        LLVMTargetRef target = nullptr;
        if (l.LLVMGetTargetFromTriple(machine.triple.c_str(), &target, &message))
            fail("LLVM makes no code for ", machine.triple, ": ", taken(message));
        const std::string features = features_for_version(machine, l.major);
        this->machine = l.LLVMCreateTargetMachine(target, machine.triple.c_str(), machine.cpu.c_str(), features.c_str(),
                                                  for_debuggers ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                                  LLVMCodeModelDefault);
        context = l.LLVMContextCreate();
        LLVMMemoryBufferRef buffer = l.LLVMCreateMemoryBufferWithMemoryRangeCopy(source.data(), source.size(), "kernel");
        if (l.LLVMParseIRInContext(context, buffer, &module, &message)) refuse("parse", taken(message));
        const std::string broken = set_target(module, this->machine, machine.triple);
        if (!broken.empty()) refuse("verify", broken);
    }
    ~Compilation() {
        l.LLVMDisposeModule(module);
        l.LLVMContextDispose(context);
        l.LLVMDisposeTargetMachine(machine);
    }

    void optimise() const {
        const std::string problem = cpu::optimise(module, machine, text("function(", llvm_function_passes(l.major), ")"));
        if (!problem.empty()) refuse("optimise", problem);
    }
    void part_selections() const { part_selections_from_logic(module); }
    std::string readable() const { return taken(l.LLVMPrintModuleToString(module)); }
    std::string code(bool assembly) const {
        std::string problem, code = code_of(module, machine, assembly, problem);
        if (!problem.empty()) refuse("make code of", problem);
        return code;
    }

private:
    [[noreturn]] void refuse(const char* step, const std::string& why) const {
        library_bug(text("LLVM cannot ", step, " the text that Pumice made of a kernel: ", why, "\n", source));
    }

    const Llvm& l;
    const std::string source;
    LLVMTargetMachineRef machine = nullptr;
    LLVMContextRef context = nullptr;
    LLVMModuleRef module = nullptr;
};

/// The ORC JIT, with one library for each object, so that their names do not clash.
class OrcLoader final : public Loader, public std::enable_shared_from_this<OrcLoader> {
public:
    OrcLoader(const Llvm& l, Resolve resolve) : l(l), resolve(std::move(resolve)) {
        const std::string problem = taken(create_jit());
        if (!problem.empty()) fail("LLVM cannot make native code on this machine: ", problem, ".");
        session = l.LLVMOrcLLJITGetExecutionSession(jit);
        l.LLVMOrcExecutionSessionSetErrorReporter(
            session, [](void* self, LLVMErrorRef error) { static_cast<OrcLoader*>(self)->report(error); }, this);
    }
    ~OrcLoader() override { l.LLVMConsumeError(l.LLVMOrcDisposeLLJIT(jit)); }

    std::shared_ptr<Code> load(const std::string& object, const std::string& symbol, std::string& reason) override {
        const std::lock_guard lock(mutex);
        reported.clear();
        const LLVMOrcJITDylibRef library = take_library();
        LLVMMemoryBufferRef buffer = l.LLVMCreateMemoryBufferWithMemoryRangeCopy(object.data(), object.size(), "object");
        reason = taken(l.LLVMOrcLLJITAddObjectFile(jit, library, buffer));
        LLVMOrcExecutorAddress address = 0;
        if (reason.empty()) reason = find(library, symbol, address);
        if (!reason.empty() && !reported.empty()) reason += text(" (", reported, ")");
        if (reason.empty() && address != 0) {
            auto code = std::make_shared<LoadedCode>();
            code->loader = shared_from_this();
            code->library = library;
            code->entry = reinterpret_cast<void*>(address);
            return code;
        }
        give_back(library);
        return nullptr;
    }

private:
    struct LoadedCode : Code {
        std::shared_ptr<OrcLoader> loader;
        LLVMOrcJITDylibRef library = nullptr;
        ~LoadedCode() override {
            const std::lock_guard lock(loader->mutex);
            loader->give_back(library);
        }
    };

    LLVMErrorRef create_jit() {
        const LLVMOrcLLJITBuilderRef builder = l.LLVMOrcCreateLLJITBuilder();
        // JITLink, the default of version 17 for x86-64, looks in the process for a function of libLLVM, which dlopen keeps
        // local. Earlier versions use RTDyld by default, and later ones do not need the function.
        if ((l.major == 17 || writes_for_perf()) && l.LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator &&
            l.LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager)
            l.LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(
                builder,
                [](void* self, LLVMOrcExecutionSessionRef made, const char*) {
                    const OrcLoader& loader = *static_cast<OrcLoader*>(self);
                    const auto layer = loader.l.LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(made);
                    // LLVM may be built without perf: the listener is then null.
                    if (const auto perf = loader.writes_for_perf() ? loader.l.LLVMCreatePerfJITEventListener() : nullptr)
                        loader.l.LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener(layer, perf);
                    return layer;
                },
                this);
        return l.LLVMOrcCreateLLJIT(&jit, builder);
    }
    /// True if LLVM writes a jitdump for perf: with PUMICE_DEBUG=source, into the folder that LLVM's variable JITDUMPDIR names.
    bool writes_for_perf() const {
        return debug::value("PUMICE_DEBUG") == "source" && debug::variable("JITDUMPDIR") && l.LLVMCreatePerfJITEventListener &&
               l.LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener;
    }
    /// Returns an empty library. ORC cannot remove libraries, so they are reused.
    LLVMOrcJITDylibRef take_library() {
        if (!unused.empty()) {
            const LLVMOrcJITDylibRef library = unused.back();
            unused.pop_back();
            return library;
        }
        const LLVMOrcJITDylibRef library =
            l.LLVMOrcExecutionSessionCreateBareJITDylib(session, text("kernel", ++libraries).c_str());
        l.LLVMOrcJITDylibAddGenerator(library, l.LLVMOrcCreateCustomCAPIDefinitionGenerator(&OrcLoader::define, this, nullptr));
        return library;
    }
    void give_back(LLVMOrcJITDylibRef library) {
        l.LLVMConsumeError(l.LLVMOrcJITDylibClear(library));
        unused.push_back(library);
    }

    void report(LLVMErrorRef error) { reported += taken(error); }

    std::string find(LLVMOrcJITDylibRef library, const std::string& symbol, LLVMOrcExecutorAddress& address) {
        struct SymbolLookup {
            const Llvm* l;
            LLVMOrcExecutorAddress* address;
            std::string problem;
        } found{&l, &address, ""};
        LLVMOrcCJITDylibSearchOrderElement order{library, LLVMOrcJITDylibLookupFlagsMatchAllSymbols};
        LLVMOrcCLookupSetElement wanted{l.LLVMOrcLLJITMangleAndIntern(jit, symbol.c_str()),
                                        LLVMOrcSymbolLookupFlagsRequiredSymbol};
        // LLJIT has no thread of its own: the callback runs before the call returns.
        l.LLVMOrcExecutionSessionLookup(
            session, LLVMOrcLookupKindStatic, &order, 1, &wanted, 1,
            [](LLVMErrorRef error, LLVMOrcCSymbolMapPairs pairs, size_t count, void* context) {
                SymbolLookup& out = *static_cast<SymbolLookup*>(context);
                out.problem = taken(error);
                if (out.problem.empty() && count == 1) *out.address = pairs[0].Sym.Address;
            },
            &found);
        return found.problem;
    }

    /// Called by ORC for the functions that an object calls.
    static LLVMErrorRef define(LLVMOrcDefinitionGeneratorRef, void* self, LLVMOrcLookupStateRef*, LLVMOrcLookupKind,
                               LLVMOrcJITDylibRef library, LLVMOrcJITDylibLookupFlags, LLVMOrcCLookupSet wanted, size_t count) {
        const OrcLoader& loader = *static_cast<OrcLoader*>(self);
        const Llvm& l = loader.l;
        std::vector<LLVMOrcCSymbolMapPair> pairs;
        for (size_t i = 0; i < count; ++i) {
            void* const address = loader.resolve(l.LLVMOrcSymbolStringPoolEntryStr(wanted[i].Name));
            if (!address) continue;
            l.LLVMOrcRetainSymbolStringPoolEntry(wanted[i].Name);
            const LLVMJITSymbolFlags flags{LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
            pairs.push_back({wanted[i].Name, {reinterpret_cast<LLVMOrcExecutorAddress>(address), flags}});
        }
        if (pairs.empty()) return nullptr;
        const LLVMOrcMaterializationUnitRef unit = l.LLVMOrcAbsoluteSymbols(pairs.data(), pairs.size());
        const LLVMErrorRef error = l.LLVMOrcJITDylibDefine(library, unit);
        if (error) l.LLVMOrcDisposeMaterializationUnit(unit);
        return error;
    }

    const Llvm& l;
    const Resolve resolve;
    LLVMOrcLLJITRef jit = nullptr;
    LLVMOrcExecutionSessionRef session = nullptr;
    std::mutex mutex;  ///< guards all members below
    std::vector<LLVMOrcJITDylibRef> unused;
    int libraries = 0;
    std::string reported;
};

}  // namespace

const std::string& llvm_unavailable() { return llvm().unavailable; }
std::string llvm_version() { return llvm().version; }
const Machine& host_machine() {
    static const Llvm& l = required();
    static const Machine host{taken(l.LLVMGetDefaultTargetTriple()), taken(l.LLVMGetHostCPUName()),
                              taken(l.LLVMGetHostCPUFeatures())};
    return host;
}
void* llvm_function(const char* name) { return dlsym(required().library, name); }
unsigned llvm_major() { return required().major; }

Object make_object(const std::string& source, const Machine& machine, bool readable, bool for_debuggers) {
    const Compilation compilation(required(), source, machine, for_debuggers);
    if (!for_debuggers) compilation.optimise();
    if (!for_debuggers && machine.has("avx512f")) compilation.part_selections();
    Object object;
    if (readable) {
        object.optimised = compilation.readable();
        object.assembly = compilation.code(true);
    }
    object.bytes = compilation.code(false);
    return object;
}

std::shared_ptr<Loader> make_loader(Loader::Resolve resolve) {
    return std::make_shared<OrcLoader>(required(), std::move(resolve));
}

#else  // without LLVM's headers

const std::string& llvm_unavailable() {
    static const std::string reason = "Pumice was built without LLVM's headers (Debian has them in the package llvm-19-dev).";
    return reason;
}
std::string llvm_version() { return ""; }
const Machine& host_machine() { throw Error(llvm_unavailable()); }
void* llvm_function(const char*) { throw Error(llvm_unavailable()); }
unsigned llvm_major() { throw Error(llvm_unavailable()); }
Object make_object(const std::string&, const Machine&, bool, bool) { throw Error(llvm_unavailable()); }
std::shared_ptr<Loader> make_loader(Loader::Resolve) { throw Error(llvm_unavailable()); }

#endif

}  // namespace pumice::cpu
