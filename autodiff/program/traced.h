// Traced numbers: host scalars that the derivative of a program follows. A program receives one for a scalar that is Active or
// Duplicated.
#pragma once
#include <compare>
#include <vector>

#include "core/kernel/kernel.h"
#include "core/language/functions.h"

namespace pumice {
template <class T> class Traced;
namespace derive {

struct HostScalar;

/// A Wengert list: the followed numbers of one run of a program, each with its operands and its partial derivatives.
class HostScalars {
public:
    /// One followed number: an input of the program, or the result of an op.
    struct Node {
        struct Operand {
            int number = -1;    ///< -1: a plain number
            uint64_t bits = 0;  ///< its value
        };
        bool is_input = true;
        bool active = true;  ///< the derivative is asked for by an input that it depends on
        ir::Op op{};
        Scalar type = Scalar::f32;
        int count = 0;  ///< of operands
        std::array<Operand, 3> operands = {};
    };

    explicit HostScalars(int width) : width(width) {}
    /// An input of the program, with its tangents in forward mode.
    int input(Scalar type, const std::vector<double>& tangents, bool active);
    /// The result of a scalar op on numbers of one type; at least one operand is followed.
    int result(ir::Op op, Scalar type, std::span<const HostScalar> operands, uint64_t bits);
    const Node& node(int number) const { return nodes[size_t(number)]; }
    int count() const { return int(nodes.size()); }
    /// Throws Error if the program is kept for runs with other values, in which this one would be wrong.
    void value_is_read() const;
    /// The tangent of a number along a direction, or its adjoint so far.
    double& derivative(int number, int direction) { return derivatives[size_t(number * width + direction)]; }
    /// Reverse mode: propagates the adjoints of all numbers to the inputs.
    void sweep();

    const int width;
    bool refuses_values = false;

private:
    struct Edge {
        int from = -1;
        double partial = 0;
    };
    std::vector<Node> nodes;                 ///< by number
    std::vector<std::array<Edge, 3>> edges;  ///< by number
    std::vector<double> derivatives;
};

/// A number of any scalar type. Without `all` it is a constant.
struct HostScalar {
    uint64_t bits = 0;
    std::shared_ptr<HostScalars> all;
    int number = -1;
};
/// Computes a scalar op on numbers of one type. Throws Error if they belong to different programs, or the op has no
/// derivative.
HostScalar compute(ir::Op op, Scalar type, std::span<const HostScalar> operands);

}  // namespace derive

namespace derive {
template <class A> struct traced_in {
    using type = void;
};
template <ScalarType T> struct traced_in<Traced<T>> {
    using type = T;
};
template <class A, class B, class C> using traced_of = typename std::conditional_t<
    !std::is_void_v<typename traced_in<A>::type>, traced_in<A>,
    std::conditional_t<!std::is_void_v<typename traced_in<B>::type>, traced_in<B>, traced_in<C>>>::type;
template <class A, class T> concept TracedOr = std::is_same_v<A, Traced<T>> || std::is_arithmetic_v<A> || std::is_same_v<A, T>;
/// Operands of which at least one is traced; the others are of its type or plain numbers.
template <class A, class B, class C> concept TracedOperands = !std::is_void_v<traced_of<A, B, C>> &&
                                                              TracedOr<A, traced_of<A, B, C>> &&
                                                              TracedOr<B, traced_of<A, B, C>> && TracedOr<C, traced_of<A, B, C>>;
template <class T, class... A> Traced<T> compute(ir::Op op, const A&... a);

/// A function for each row that takes floats and gives one. They are friends of a base class of all traced numbers, and are
/// found by argument-dependent lookup.
struct TracedFunctions {
#define PUMICE_FLOATS(types, result)                                               \
    (takes(TypeClass::types, Scalar::f32) && TypeClass::types != TypeClass::F_I && \
     std::is_same_v<detail::result_##result, detail::result_same>)
#define OP1(name, types, result, ...)                           \
    template <ScalarType T>                                     \
        requires PUMICE_FLOATS                                  \
    (types, result) friend Traced<T> name(const Traced<T>& a) { \
        return compute<T>(ir::Op::name, a);                     \
    }
#define OP2(name, types, result, ...)                                     \
    template <class A, class B>                                           \
        requires(PUMICE_FLOATS(types, result) && TracedOperands<A, B, A>) \
    friend auto name(const A& a, const B& b) {                            \
        return compute<traced_of<A, B, A>>(ir::Op::name, a, b);           \
    }
#define OP3(name, types, result, ...)                                     \
    template <class A, class B, class C>                                  \
        requires(PUMICE_FLOATS(types, result) && TracedOperands<A, B, C>) \
    friend auto name(const A& a, const B& b, const C& c) {                \
        return compute<traced_of<A, B, C>>(ir::Op::name, a, b, c);        \
    }
#define INFIX1(...)
#define INFIX2(...)
#include "core/ir/ops.def"
#undef PUMICE_FLOATS
};
}  // namespace derive

/// A float, double or half on the host with a derivative through the launches of a program. Kernels take it, and it supports +
/// - * / and the functions of the language, also with plain numbers. value() is the plain number, through which no derivative
/// flows; comparisons compare it.
template <class T> class Traced : public derive::TracedFunctions {
public:
    using traced = T;
    explicit Traced(derive::HostScalar s) : scalar(std::move(s)) {}
    T value() const {
        if (scalar.all) scalar.all->value_is_read();
        T v;
        __builtin_memcpy(static_cast<void*>(&v), &scalar.bits, sizeof(T));
        return v;
    }
    /// The implementation of Array::fill for a traced number.
    void fill(const std::shared_ptr<detail::ArrayState>& array) const;
    derive::HostScalar scalar;
};

namespace derive {
template <class T, class A> HostScalar as_scalar(const A& a) {
    if constexpr (std::is_same_v<A, Traced<T>>)
        return a.scalar;
    else {
        const T value = T(a);
        HostScalar s;
        __builtin_memcpy(&s.bits, static_cast<const void*>(&value), sizeof(T));
        return s;
    }
}
template <class T, class... A> Traced<T> compute(ir::Op op, const A&... a) {
    const HostScalar operands[] = {as_scalar<T>(a)...};
    return Traced<T>(compute(op, *scalar_of<T>(), operands));
}
}  // namespace derive

#define PUMICE_TRACED(symbol, op)                                             \
    template <class A, class B>                                               \
        requires derive::TracedOperands<A, B, A>                              \
    auto operator symbol(const A& a, const B& b) {                            \
        return derive::compute<derive::traced_of<A, B, A>>(ir::Op::op, a, b); \
    }
PUMICE_TRACED(+, add)
PUMICE_TRACED(-, sub)
PUMICE_TRACED(*, mul)
PUMICE_TRACED(/, div)
#undef PUMICE_TRACED
template <internal::ScalarType T> Traced<T> operator-(const Traced<T>& a) { return derive::compute<T>(ir::Op::neg, a); }
// Comparisons compare the plain numbers.
template <internal::ScalarType T> auto operator<=>(const Traced<T>& a, const Traced<T>& b) { return a.value() <=> b.value(); }
template <internal::ScalarType T> auto operator<=>(const Traced<T>& a, const T& b) { return a.value() <=> b; }
template <internal::ScalarType T> bool operator==(const Traced<T>& a, const Traced<T>& b) { return a.value() == b.value(); }
template <internal::ScalarType T> bool operator==(const Traced<T>& a, const T& b) { return a.value() == b; }

namespace detail {
template <class T> void put_host(const Traced<T>& value, HostArgument*& next) {
    new (next) HostArgument;
    next->followed_by = value.scalar.all.get();
    next->number = value.scalar.number;
    next->type = *scalar_of<T>();
    next->bits = value.scalar.bits;
    ++next;
}
}  // namespace detail

namespace derive {
/// A fill with a traced value, as a kernel. The derivative of the value is the sum of the shadow of the array.
template <class T> const auto fill_followed = kernel("fill", [](Out<T> to, Val<T> value) { to[global_index()] = value; });
}  // namespace derive
template <class T> void Traced<T>::fill(const std::shared_ptr<detail::ArrayState>& array) const {
    const Array<T> all({detail::held(array).bytes / int64_t(sizeof(T))}, array);
    // One launch covers 2^31 - 1 items; longer arrays take several.
    for (int64_t first = 0; first < all.count(); first += INT32_MAX) {
        const Array<T> part = all.slice(first, std::min<int64_t>(first + INT32_MAX, all.count()));
        derive::fill_followed<T>(ndrange(part.count()), part, *this);
    }
}
}  // namespace pumice
