#include "core/ir/ops.h"

#include <cmath>
#include <limits>

#include "core/ir/builder.h"
#include "core/ir/evaluate.h"
#include "core/ir/scalar_math.h"
#include "core/support/error.h"
#include "core/support/float_mode.h"

namespace pumice::internal {

namespace {

struct Tolerance {
    double ulps, absolute;
    constexpr Tolerance(double u, double a) : ulps(u), absolute(a) {}
};

template <size_t intervals, size_t rules>
constexpr OpRow make_row(std::string_view name, TypeClass types, Result result, Cost cost, std::string_view glsl,
                         std::string_view llvm, const Interval (&domain)[intervals], Tolerance tolerance, std::string_view doc,
                         const std::string_view (&derivatives)[rules]) {
    OpRow r;
    r.name = ir::without_underscore(name);
    r.arity = int(rules);
    r.types = types;
    r.result = result;
    r.cost = cost;
    r.glsl = glsl;
    r.llvm = llvm;
    for (size_t i = 0; i < 3; ++i) r.domain[i] = domain[i < intervals ? i : intervals - 1];
    r.ulps = tolerance.ulps;
    r.absolute = tolerance.absolute;
    r.doc = doc;
    r.differentiable = takes(types, Scalar::f32) && result == Result::same;
    for (size_t i = 0; i < rules; ++i) {
        r.derivatives[i] = derivatives[i];
        if (derivatives[i] == "none") r.differentiable = false;
    }
    return r;
}

#define R(low, high) Interval{low, high},
#define OP1(name, types, result, cost, glsl, llvm, host, da, domain, tolerance, doc) \
    make_row(#name, TypeClass::types, Result::result, Cost::cost, glsl, llvm, {domain}, Tolerance tolerance, doc, {#da}),
#define OP2(name, types, result, cost, glsl, llvm, host, da, db, domain, tolerance, doc) \
    make_row(#name, TypeClass::types, Result::result, Cost::cost, glsl, llvm, {domain}, Tolerance tolerance, doc, {#da, #db}),
#define OP3(name, types, result, cost, glsl, llvm, host, da, db, dc, domain, tolerance, doc)                      \
    make_row(#name, TypeClass::types, Result::result, Cost::cost, glsl, llvm, {domain}, Tolerance tolerance, doc, \
             {#da, #db, #dc}),
constexpr OpRow rows[] = {
#include "core/ir/ops.def"
};
#undef R
static_assert(std::size(rows) == size_t(ir::scalar_op_count));

template <class T> Computed<T> operand(uint64_t bits) { return Computed<T>(from_bits<T>(bits)); }

/// T is the operand type. A result of type `same` is rounded to it.
template <class T, Result result, class Value> uint64_t result_bits(Value value) {
    if constexpr (result == Result::boolean)
        return to_bits(bool(value));
    else if constexpr (result == Result::i32)
        return to_bits(int32_t(value));
    else
        return to_bits(T(value));
}

// Each row as a function template over the operand's storage type; the second operand of F_I is an int32_t.
#define OP1(name, types, result, cost, glsl, llvm, host, ...)        \
    template <class T> uint64_t evaluate_##name(const uint64_t* x) { \
        const auto a = operand<T>(x[0]);                             \
        return result_bits<T, Result::result>(host);                 \
    }
#define OP2(name, types, result, cost, glsl, llvm, host, ...)                              \
    template <class T> uint64_t evaluate_##name(const uint64_t* x) {                       \
        using Second = std::conditional_t<TypeClass::types == TypeClass::F_I, int32_t, T>; \
        const auto a = operand<T>(x[0]);                                                   \
        const auto b = operand<Second>(x[1]);                                              \
        return result_bits<T, Result::result>(host);                                       \
    }
#define OP3(name, types, result, cost, glsl, llvm, host, ...)                        \
    template <class T> uint64_t evaluate_##name(const uint64_t* x) {                 \
        const auto a = operand<T>(x[0]), b = operand<T>(x[1]), c = operand<T>(x[2]); \
        return result_bits<T, Result::result>(host);                                 \
    }
#include "core/ir/ops.def"

}  // namespace

const OpRow& row(ir::Op op) {
    if (!ir::is_scalar_op(op)) library_bug(text("op ", int(op), " has no row, as it is no scalar op"));
    return rows[int(op)];
}

std::string_view OpRow::infix() const {
    // "x + y: ...": the text before the colon, without the operands.
    const size_t colon = doc.find(':');
    if (colon == std::string_view::npos || colon > 8) return "";
    std::string_view syntax = doc.substr(0, colon);
    if (arity == 2 && syntax.starts_with("x ") && syntax.ends_with(" y")) return syntax.substr(2, syntax.size() - 4);
    if (arity == 1 && syntax.size() == 2 && syntax[1] == 'x') return syntax.substr(0, 1);
    return "";
}

bool accepts(ir::Op op, Scalar operand) { return takes(row(op).types, operand); }

Scalar operand_type(ir::Op op, int index, Scalar operand) {
    return index > 0 && row(op).types == TypeClass::F_I ? Scalar::i32 : operand;
}

std::string_view glsl_text(ir::Op op, Scalar operand) {
    const std::string_view all = row(op).glsl;
    std::string_view parts[3];
    size_t begin = 0;
    int count = 0;
    for (size_t i = 1; i <= all.size(); ++i) {
        // A bar with a space beside it belongs to GLSL.
        const bool ends = i == all.size() || (all[i] == '|' && all[i - 1] != ' ' && i + 1 < all.size() && all[i + 1] != ' ');
        if (!ends || count == 3) continue;
        parts[count++] = all.substr(begin, i - begin);
        begin = i + 1;
    }
    const int wanted = is_float(operand) ? 0 : is_int(operand) ? 1 : 2;
    return wanted < count ? parts[wanted] : parts[0];
}

std::string_view llvm_text(ir::Op op, Scalar operand) {
    std::string_view rest = row(op).llvm;
    int wanted = is_float(operand) ? 0 : is_signed_int(operand) ? 1 : is_unsigned_int(operand) ? 2 : 3;
    for (size_t bar; wanted > 0 && (bar = rest.find('|')) != rest.npos; --wanted) rest.remove_prefix(bar + 1);
    return rest.substr(0, rest.find('|'));
}

bool evaluate_scalar(ir::Op op, Scalar operand, const uint64_t* operands, uint64_t& result) {
    const FloatMode mode;
    return with_scalar(operand, [&](auto zero) {
        using T = decltype(zero);
        switch (op) {
#define EVALUATE(name, types)                                     \
    case ir::Op::name:                                            \
        if constexpr (takes(TypeClass::types, *scalar_of<T>())) { \
            result = evaluate_##name<T>(operands);                \
            return true;                                          \
        } else                                                    \
            return false;
#define OP1(name, types, ...) EVALUATE(name, types)
#define OP2(name, types, ...) EVALUATE(name, types)
#define OP3(name, types, ...) EVALUATE(name, types)
#include "core/ir/ops.def"
#undef EVALUATE
            default: return false;
        }
    });
}

}  // namespace pumice::internal

namespace pumice::ir {

std::string_view name_of(Op op) { return is_scalar_op(op) ? rows[int(op)].name : instruction_row(op).name; }

std::optional<Op> op_named(std::string_view name) {
    for (int i = 0; i < op_count; ++i)
        if (name_of(Op(i)) == name) return Op(i);
    return std::nullopt;
}

Scalar result_type(Op op, Scalar operand) {
    switch (row(op).result) {
        case Result::same: return operand;
        case Result::boolean: return Scalar::boolean;
        case Result::i32: return Scalar::i32;
    }
    return operand;
}

uint64_t neutral_element(Op op, Scalar type) {
    return with_scalar(type, [&](auto zero) -> uint64_t {
        using T = decltype(zero);
        using C = Computed<T>;
        using Limits = std::numeric_limits<C>;
        const C largest = Limits::has_infinity ? Limits::infinity() : Limits::max();
        const C smallest = Limits::has_infinity ? C(-Limits::infinity()) : Limits::lowest();
        switch (op) {
            case Op::mul: return to_bits(T(C(1)));
            case Op::min: return to_bits(T(largest));
            case Op::max: return to_bits(T(smallest));
            case Op::and_:
                if constexpr (std::is_integral_v<T>) return to_bits(T(std::is_same_v<T, bool> ? T(1) : T(-1)));
                break;
            default: break;
        }
        return 0;
    });
}

}  // namespace pumice::ir
