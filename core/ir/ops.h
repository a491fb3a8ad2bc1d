// Run-time access to the rows of ops.def.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ir/ir.h"

namespace pumice::internal {

/// Allowed operand types of a scalar op; ops.def explains the letters.
enum class TypeClass : uint8_t { F, W, I, S, U, B, N, L, SF, A, F_I };
/// True if an operand of the class may have the type (for F_I: the first).
constexpr bool takes(TypeClass types, Scalar t) {
    switch (types) {
        case TypeClass::F:
        case TypeClass::F_I: return is_float(t);
        case TypeClass::W: return t == Scalar::f32 || t == Scalar::f64;
        case TypeClass::I: return is_int(t);
        case TypeClass::S: return is_signed_int(t);
        case TypeClass::U: return is_unsigned_int(t);
        case TypeClass::B: return t == Scalar::boolean;
        case TypeClass::N: return t != Scalar::boolean;
        case TypeClass::L: return !is_float(t);
        case TypeClass::SF: return is_signed_int(t) || is_float(t);
        case TypeClass::A: return true;
    }
    return false;
}
/// The type of a scalar op's result.
enum class Result : uint8_t { same, boolean, i32 };
/// The cost of one operation: one instruction or a few (cheap); about six, as divisions and roots (moderate); about 16 and more,
/// as functions (costly).
enum class Cost : uint8_t { cheap, moderate, costly };

struct Interval {
    double low = 0, high = 0;
};

/// One row of ops.def.
struct OpRow {
    std::string_view name;  ///< in kernel text
    int arity = 0;
    TypeClass types = TypeClass::A;
    Result result = Result::same;
    Cost cost = Cost::cheap;
    std::string_view glsl;          ///< all variants; glsl_text selects one
    std::string_view llvm;          ///< all variants; llvm_text selects one
    Interval domain[3];             ///< range of test samples for each operand
    double ulps = 0, absolute = 0;  ///< tolerance of a device in f32
    std::string_view doc;
    bool differentiable = false;      ///< takes and gives floats, and has a rule for every operand
    std::string_view derivatives[3];  ///< text of the rules

    /// "+" if the language writes `x + y`, "" if it writes a function.
    std::string_view infix() const;
};

const OpRow& row(ir::Op op);
inline bool is_costly(ir::Op op) { return is_scalar_op(op) && row(op).cost == Cost::costly; }

/// True if the first operand may have the type.
bool accepts(ir::Op op, Scalar operand);
/// The type of operand `index` if the first has `operand`: the same, except ldexp's i32.
Scalar operand_type(ir::Op op, int index, Scalar operand);
/// The row's GLSL text for operands of this type.
std::string_view glsl_text(ir::Op op, Scalar operand);
/// The row's LLVM text for operands of this type, as ops.def describes it.
std::string_view llvm_text(ir::Op op, Scalar operand);

/// Evaluates the host column on values held as bits in the low bytes of a word whose other bytes are zero (integers in two's
/// complement, f16 computed in float and rounded). Returns false if the row does not take the type.
bool evaluate_scalar(ir::Op op, Scalar operand, const uint64_t* operands, uint64_t& result);

}  // namespace pumice::internal

namespace pumice::ir {

/// The op with this name in kernel text, if there is one.
std::optional<Op> op_named(std::string_view name);

/// The bits of the neutral element of add, mul, min, max, and, or, xor for the type; an exclusive scan gives it to its first
/// item.
uint64_t neutral_element(Op op, Scalar type);

}  // namespace pumice::ir
