// The GLSL of a pure instruction, as a pattern over its operands.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/glsl/codegen.h"
#include "core/ir/ir.h"

namespace pumice::codegen {

/// True for constants, arguments and index instructions: they cost nothing, so every use writes them out.
constexpr bool is_leaf(ir::Op op) { return op == ir::Op::constant || ir::is_given(op); }

/// True for + - * / neg sqrt and fma of floats under strict maths, where the kernel promises their bits. GLSL's `precise` applies
/// only to what is assigned to a precise variable in the same function, so each such operation gets a variable.
bool is_strict(const ir::Kernel& k, const ir::Inst& i);

/// True if strict operations are emitted as calls of functions with precise variables. glslang propagates `precise` to the
/// operands of a precise variable, and that propagation does not terminate where arrays are reached by address; it stops at
/// calls.
bool strict_by_call(const Options& options);

/// True for a constant zero of a floating-point type, of either sign.
bool is_float_zero(const ir::Kernel& k, ir::Value v);
/// The zero as a number that the driver cannot know (Options::folded_zeros).
std::string hidden_zero(ir::Scalar type, std::string_view zero);

/// Selects the text of an instruction.
class InstructionPatterns {
public:
    InstructionPatterns(const ir::Kernel& kernel, const Options& options);

    /// The GLSL pattern of a pure instruction: the one of its row in ops.def, or a plain GLSL operator if a constant operand
    /// rules out the cases that the row guards against (division by zero, shift counts past the width).
    std::string pattern_of(const ir::Inst& i) const;

private:
    std::string exact_pattern(const ir::Inst& i) const;

    const ir::Kernel& k;
    const Options& options;
    const std::vector<int64_t> most_extents;  ///< by memory; empty: unknown
    const std::vector<bool> foldable;         ///< by value, under Options::folded_zeros
};

}  // namespace pumice::codegen
