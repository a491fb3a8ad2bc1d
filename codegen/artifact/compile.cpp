// Driver of the code generator: recorded IR to SPIR-V by lower, emit_glsl and assemble, in that order.
//
//   ir::Kernel -> lower (passes) -> emit_glsl (text, interface) -> assemble (SPIR-V) [-> with_exact_conversions] -> Shader
//
//   kernel "saxpy" ... {                          #version 450                                OpCapability Shader
//     %1 = global_index 0 : i32             =>    ...                                   =>    ...
//     store arg1[%1], ... : f32                   arg1[i] = arg1[i] + arg3 * arg2[i];         %24 = OpFMul %float ...
//   }
//
// Why by GLSL: its text is readable, and users can ask for it (`glsl()` of a kernel). PUMICE_TIME prints the milliseconds of each
// stage, PUMICE_DUMP=glsl and =spirv the text and the disassembly. Errors gain the kernel's name and source line.
// Cost: milliseconds a kernel, and more for the first one of a process (assemble.cpp). Limits: nothing is cached here; the caller
// has the disk cache (vulkan/vulkan_launch.cpp).
#include <chrono>
#include <cstdio>

#include "codegen/artifact/assemble.h"
#include "codegen/artifact/exact_conversions.h"
#include "codegen/artifact/source_debug_info.h"
#include "codegen/glsl/codegen.h"
#include "core/source/source_text.h"
#include "core/support/debug.h"
#include "core/support/error.h"
#include "core/support/trace.h"

namespace pumice::codegen {
namespace {

/// Runs a stage, which is an event of PUMICE_TRACE. `milliseconds` is set to its length, for PUMICE_TIME.
template <class Work> auto stage(const char* name, const std::string& kernel, double& milliseconds, Work&& work) {
    trace::Span span("compile", name);
    span.add("kernel", kernel);
    const auto begin = std::chrono::steady_clock::now();
    auto result = work();
    milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

}  // namespace

Shader compile(const ir::Kernel& recorded, const Options& options) {
    try {
        double lowering = 0, emitting = 0, assembling = 0;
        const ir::Kernel lowered = stage("passes", recorded.name, lowering, [&] { return lower(recorded, options); });
        Shader shader = stage("IR to GLSL", recorded.name, emitting, [&] { return emit_glsl(lowered, options); });
        if (debug::dumps("glsl")) debug::dump_text("glsl", shader.name, "comp", shader.glsl);
        shader.spirv = stage("GLSL to SPIR-V", recorded.name, assembling, [&] {
            const bool for_debuggers = ir::source_debugging();
            auto words = for_debuggers ? assemble_with_lines(shader.glsl, shader.name) : assemble(shader.glsl, shader.name);
            if (options.exact_conversions) words = with_exact_conversions(words);
            if (for_debuggers) words = with_source_debug_info(words, lowered);
            return words;
        });
        shader.capabilities = capabilities_of(shader.spirv);
        if (debug::dumps("spirv")) debug::dump_text("spirv", shader.name, "spvasm", disassemble(shader.spirv));
        if (debug::time())
            std::fputs(text("pumice: ", shader.name, ": passes ", fixed_text(lowering, 3), " ms, GLSL ", fixed_text(emitting, 3),
                            " ms, SPIR-V ", fixed_text(assembling, 3), " ms\n")
                           .c_str(),
                       stderr);
        return shader;
    } catch (const Error& e) {
        throw e.within(text("while compiling kernel \"", recorded.name, "\" (", recorded.where(recorded.loc), ")"));
    }
}

}  // namespace pumice::codegen
