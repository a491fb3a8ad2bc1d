// Assembler: GLSL to SPIR-V by shaderc (glslang), and SPIR-V to text, validation and optimisation by SPIRV-Tools. The one file
// that includes their headers. Declared in codegen/artifact/assemble.h and codegen/glsl/codegen.h.
//
// Shaders are compiled at -O0, since drivers optimise anyway and the first launch should be early; spirv-opt -O runs for offline
// dumps.
//
//   assemble(glsl, name)                 words, target Vulkan 1.2
//   with_constants(spirv, {{5, bits}})   specialisation constant 5 set, all frozen and folded, for translators such as MoltenVK's
//   disassemble, validate                text; "" or spirv-val's messages
//
// Cost: milliseconds a kernel; the first compile in a process is slow, so warm_up() starts one on a thread, and every other
// compile waits for it. Limits: GLSL that does not compile is a library bug. SPIRV-Tools prints in the global C++ locale, which
// is replaced meanwhile.
#include <shaderc/shaderc.hpp>
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>

#include <algorithm>
#include <atomic>
#include <clocale>
#include <future>
#include <locale>
#include <mutex>
#include <system_error>
#include <unordered_map>

#include "codegen/artifact/assemble.h"
#include "codegen/glsl/codegen.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

// 1.2, not 1.3: for 1.3 glslang emits LocalSizeId, which needs maintenance4.
constexpr spv_target_env environment = SPV_ENV_VULKAN_1_2;

/// Never destroyed: its destructor takes a lock of glslang, which in a forked child nobody gives back if another thread had it.
const shaderc::Compiler& compiler() {
    static const shaderc::Compiler& one = *new shaderc::Compiler;
    return one;
}

/// shaderc has given up without a reason, as where the process is short of memory. It may have kept a lock of glslang, which the
/// next compilation would wait for.
std::atomic<bool> gave_up = false;

std::vector<uint32_t> compile_glsl(const std::string& glsl, const std::string& name, bool with_lines = false) {
    const auto refuse = [&] {
        gave_up = true;
        fail("the GLSL of kernel \"", name,
             "\" is not compiled: shaderc gives no reason, as where the process is short of memory");
    };
    if (gave_up) refuse();
    shaderc::CompileOptions options;
    options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_2);
    options.SetOptimizationLevel(shaderc_optimization_level_zero);
    if (with_lines) options.SetGenerateDebugInfo();
    const auto result = compiler().CompileGlslToSpv(glsl, shaderc_compute_shader, name.c_str(), options);
    const shaderc_compilation_status status = result.GetCompilationStatus();
    const bool has_reason = status == shaderc_compilation_status_compilation_error && !result.GetErrorMessage().empty();
    if (status != shaderc_compilation_status_success && !has_reason) refuse();
    if (status != shaderc_compilation_status_success)
        library_bug(text("the GLSL of kernel \"", name, "\" does not compile:\n", result.GetErrorMessage(), "\n", glsl));
    return {result.cbegin(), result.cend()};
}

/// The module after the optimizer's passes. `validated`: spirv-val runs before them.
std::vector<uint32_t> optimized(const std::vector<uint32_t>& spirv, const std::string& name, spvtools::Optimizer& optimizer,
                                bool validated) {
    std::string messages;
    optimizer.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t&, const char* message) {
        messages += std::string(message) + "\n";
    });
    spvtools::OptimizerOptions options;
    spvtools::ValidatorOptions valid;
    valid.SetScalarBlockLayout(true);
    options.set_validator_options(valid);
    options.set_run_validator(validated);
    std::vector<uint32_t> out;
    if (!optimizer.Run(spirv.data(), spirv.size(), &out, options))
        library_bug(text("spirv-opt refuses the SPIR-V of kernel \"", name, "\":\n", messages));
    return out;
}

/// The first compile, on a thread of its own, which the destructor of the future waits for at exit. Its failure is nobody's: the
/// first compile of a kernel fails in the same way, or does not.
const std::shared_future<void>& warm() {
    compiler();
    const auto compile = [] { compile_glsl("#version 450\nvoid main() {}\n", "warm_up"); };
    static const std::shared_future<void> first = [&] {
        try {
            return std::async(std::launch::async, compile).share();
        } catch (const std::system_error&) {  // no thread is available: the first wait compiles
            return std::async(std::launch::deferred, compile).share();
        }
    }();
    return first;
}

/// RAII: while it lives, the global C++ locale neither groups digits nor has another decimal point, since SPIRV-Tools writes
/// numbers with streams of its own, which take the global locale. C's locale stays as it is. Streams that other threads construct
/// meanwhile write plain numbers, too.
class PlainNumbers {
public:
    PlainNumbers() : alone(mutex()), before(std::locale()) {
        const auto& digits = std::use_facet<std::numpunct<char>>(before);
        if (digits.grouping().empty() && digits.decimal_point() == '.') return;
        changed = true;
        std::locale::global(std::locale(before, new std::numpunct<char>));  // a locale without a name leaves C's locale alone
    }
    ~PlainNumbers() {
        if (!changed) return;
        const std::string of_c = std::setlocale(LC_ALL, nullptr);
        std::locale::global(before);
        if (before.name() != "*") std::setlocale(LC_ALL, of_c.c_str());
    }

private:
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    const std::lock_guard<std::mutex> alone;
    const std::locale before;
    bool changed = false;
};

std::string disassembled(const uint32_t* words, size_t count, uint32_t options) {
    std::string out;
    const PlainNumbers plain;
    if (!spvtools::SpirvTools(environment).Disassemble(words, count, &out, options)) fail("these words are not SPIR-V");
    return out;
}

}  // namespace

void warm_up() { warm(); }

std::vector<uint32_t> assemble(const std::string& glsl, const std::string& name, bool optimize) {
    // Two concurrent first compiles would both be slow, so this one waits for the first.
    warm().wait();
    std::vector<uint32_t> spirv = compile_glsl(glsl, name);
    if (!optimize) return spirv;
    spvtools::Optimizer optimizer(environment);
    optimizer.RegisterPerformancePasses();
    return optimized(spirv, name, optimizer, true);
}

std::vector<uint32_t> assemble_with_lines(const std::string& glsl, const std::string& name) {
    warm().wait();
    return compile_glsl(glsl, name, true);
}

std::vector<uint32_t> with_constants(const std::vector<uint32_t>& spirv,
                                     const std::vector<std::pair<uint32_t, uint32_t>>& values) {
    std::unordered_map<uint32_t, std::vector<uint32_t>> bits;
    for (const auto& [id, value] : values) bits[id] = {value};
    spvtools::Optimizer optimizer(environment);
    optimizer.RegisterPass(spvtools::CreateSetSpecConstantDefaultValuePass(bits));
    optimizer.RegisterPass(spvtools::CreateFreezeSpecConstantValuePass());
    optimizer.RegisterPass(spvtools::CreateFoldSpecConstantOpAndCompositePass());
    return optimized(spirv, "with constants", optimizer, false);
}

std::string disassemble(const std::vector<uint32_t>& spirv) {
    return disassembled(spirv.data(), spirv.size(), SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES | SPV_BINARY_TO_TEXT_OPTION_INDENT);
}

namespace {
std::string validated(const std::vector<uint32_t>& spirv, bool scalar_layout) {
    spvtools::SpirvTools tools(environment);
    std::string messages;
    tools.SetMessageConsumer([&](spv_message_level_t, const char*, const spv_position_t& at, const char* message) {
        messages += text("word ", at.index, ": ", message, "\n");
    });
    spvtools::ValidatorOptions options;
    options.SetScalarBlockLayout(scalar_layout);
    if (tools.Validate(spirv.data(), spirv.size(), options)) return "";
    return messages.empty() ? "spirv-val refuses the module and does not say why" : messages;
}
}  // namespace

std::string validate(const std::vector<uint32_t>& spirv) { return validated(spirv, true); }

bool needs_scalar_layout(const std::vector<uint32_t>& spirv) {
    return !validated(spirv, false).empty() && validated(spirv, true).empty();
}

std::vector<std::string> capabilities_of(const std::vector<uint32_t>& spirv) {
    // A header of five words, then the capabilities, two words each, before every other instruction.
    constexpr uint32_t capability = 17, header = 5;
    size_t end = header;
    while (end + 1 < spirv.size() && (spirv[end] & 0xffff) == capability) end += 2;
    const std::string text = disassembled(spirv.data(), std::min(end, spirv.size()), SPV_BINARY_TO_TEXT_OPTION_NO_HEADER);
    constexpr std::string_view prefix = "OpCapability ";
    std::vector<std::string> out;
    for (size_t at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1))
        out.push_back(text.substr(at + prefix.size(), text.find('\n', at) - at - prefix.size()));
    return out;
}

}  // namespace pumice::codegen
