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

/// Milliseconds since the last call, for PUMICE_TIME; the same as an event of PUMICE_TRACE.
class StageTimer {
public:
    explicit StageTimer(const std::string& kernel) : kernel(kernel) {}
    double lap(std::string_view traced = {}) {
        if (!traced.empty() && trace::on()) {
            const std::chrono::duration<int64_t, std::nano> began = last.time_since_epoch();
            const auto event = std::make_shared<trace::Description>();
            event->category = "compile";
            event->name = traced;
            event->details.add("kernel", kernel);
            trace::event_at(event, began.count(), trace::now());
        }
        const auto now = std::chrono::steady_clock::now();
        const std::chrono::duration<double, std::milli> passed = now - last;
        last = now;
        return passed.count();
    }

private:
    const std::string& kernel;
    std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

}  // namespace

Shader compile(const ir::Kernel& recorded, const Options& options) {
    try {
        StageTimer timer(recorded.name);
        const ir::Kernel lowered = lower(recorded, options);
        const double lowering = timer.lap("passes");
        Shader shader = emit_glsl(lowered, options);
        const double emitting = timer.lap("IR to GLSL");
        if (debug::dumps("glsl")) debug::dump_text("glsl", shader.name, "comp", shader.glsl);
        timer.lap();
        const bool for_debuggers = ir::source_debugging();
        shader.spirv = for_debuggers ? assemble_with_lines(shader.glsl, shader.name) : assemble(shader.glsl, shader.name);
        if (options.exact_conversions) shader.spirv = with_exact_conversions(shader.spirv);
        if (for_debuggers) shader.spirv = with_source_debug_info(shader.spirv, lowered);
        const double assembling = timer.lap("GLSL to SPIR-V");
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
