// Assembly of a kernel's GLSL text: version, extensions, declarations, the prelude functions it calls, its own functions, main.
//
// The order of emission is not the order of the text. main is written first, because the body decides what has to be declared:
// push constants, bindings, extensions, helper functions. Interface collects these, then the parts are put together:
//
//   #version 450, #extension ...          <- Interface::extension_lines
//   layout(...) push, buffers, shared     <- Interface::declarations
//   float pm_...(...)                     <- prelude_for: the reachable part of shaders/
//   float atomic_add_arg1(...)            <- GlslEmitter::functions
//   void main() { ... }                   <- GlslEmitter::main_function
//
// float_modes() adds SPIR-V's execution modes for strict maths: denormals, signed zeros, NaN and infinities are preserved, and
// results rounded to nearest even.
//
// Cost: linear in the instructions. A kernel whose push constants exceed Options::push_bytes is emitted twice: the second time
// with an argument block in a storage buffer. The hash covers lowered IR, options and text, so it also keys on the emitter's
// version.
// Limits: one entry point, main; at most one argument block.
#include "codegen/glsl/codegen.h"
#include "codegen/glsl_body/emit_block.h"
#include "codegen/glsl_text/prelude.h"
#include "core/ir/cache_key.h"
#include "core/source/source_text.h"
#include "core/support/error.h"
#include "core/support/hash.h"

namespace pumice::codegen {
namespace {

std::string hash_of(const ir::Kernel& lowered, const Options& options, const std::string& glsl) {
    Hash hash;
    hash.add(ir::print(ir::without_identities(lowered)));
    CacheKey of_options;
    of_options.add(options);
    hash.add(of_options.bytes);
    // The text is part of the key: a library with another emitter or prelude never finds this one's SPIR-V in the cache.
    hash.add(glsl);
    return hash.text();
}

/// Execution modes for floats, as spirv_execution_mode lines. Those of 32 bits that Options::float_modes has are for strict
/// maths. Doubles keep their specials under contract maths, too: without the mode, NVIDIA's driver (580) turns comparisons of
/// doubles around as if there were no NaN, also those of the library's own functions.
std::string float_modes(const ir::Kernel& kernel, const Options& options, Interface& interface) {
    struct ExecutionMode {
        uint32_t bit, capability, number, width;  // the numbers of SPIR-V's capability and execution mode
        Scalar type;
    };
    constexpr ExecutionMode modes[] = {{FloatModes::specials, 4466, 4461, 32, Scalar::f32},
                                       {FloatModes::subnormals, 4464, 4459, 32, Scalar::f32},
                                       {FloatModes::to_even, 4467, 4462, 32, Scalar::f32},
                                       {FloatModes::double_specials, 4466, 4461, 64, Scalar::f64}};
    const auto& types = interface.value_types();
    const auto has = [&](Scalar type) {  // narrow floats are computed in f32
        return types.count(type) || (type == Scalar::f32 && (types.count(Scalar::f16) || types.count(Scalar::bf16)));
    };
    std::string out;
    for (const ExecutionMode& mode : modes) {
        const bool is_wanted = mode.type == Scalar::f64 ? kernel.math != ir::Math::fast : kernel.math == ir::Math::strict;
        if (is_wanted && options.float_modes & mode.bit && has(mode.type))
            out += text("spirv_execution_mode(capabilities = [", mode.capability, "], ", mode.number, ", ", mode.width, ");\n");
    }
    if (!out.empty()) interface.need("GL_EXT_spirv_intrinsics");
    return out;
}

Shader emit(const ir::Kernel& lowered, const Options& options, const Usage& usage, bool with_block) {
    Interface interface(lowered, options, usage, with_block);
    for (const ir::InstId i : usage.structure.order())
        if (lowered[i].first_result != ir::none) interface.need_type(lowered[i].type);

    // The body first: it decides what has to be declared.
    GlslEmitter emitter(lowered, options, usage, interface, ir::source_debugging());
    const std::string main = emitter.main_function();
    const std::string functions = emitter.functions();
    const std::string declarations = interface.declarations();
    const std::string modes = float_modes(lowered, options, interface);
    const std::string prelude = prelude_for(functions + main, interface.value_types(), options.parted_merges);

    Shader shader;
    shader.name = lowered.name;
    shader.glsl = "#version 450\n" + interface.extension_lines() +
                  "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n" + modes + declarations + "\n" +
                  prelude + functions + main;
    interface.describe(shader);
    shader.hash = hash_of(lowered, options, shader.glsl);
    return shader;
}

}  // namespace

Shader emit_glsl(const ir::Kernel& lowered, const Options& options) {
    const Usage usage(lowered);
    Shader shader = emit(lowered, options, usage, false);
    // The size of the push-constant block is known only after emission; if it is too large, emit again with an argument block.
    return shader.push_bytes <= options.push_bytes ? shader : emit(lowered, options, usage, true);
}

}  // namespace pumice::codegen
