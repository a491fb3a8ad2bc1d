// The GLSL compiler of the peer; apart, since programs with SPIR-V do without.
#include <shaderc/shaderc.hpp>

#include "bench/raw_vulkan.h"

namespace raw {

std::vector<uint32_t> compile_glsl(const std::string& glsl, const std::string& name) {
    static shaderc::Compiler compiler;
    shaderc::CompileOptions options;
    options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_2);
    options.SetOptimizationLevel(shaderc_optimization_level_performance);
    const auto result = compiler.CompileGlslToSpv(glsl, shaderc_compute_shader, name.c_str(), options);
    if (result.GetCompilationStatus() != shaderc_compilation_status_success) throw std::runtime_error(result.GetErrorMessage());
    return {result.begin(), result.end()};
}

}  // namespace raw
