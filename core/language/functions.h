// The language's functions on device values: one for each row of ops.def that is no operator (operators are in value.h),
// componentwise for vectors; those of vectors and matrices; casts and select, and functions made of them.
//
// All but those that name a type (cast, bitcast, swizzle) are friends of a base of all device values, and are found by
// argument-dependent lookup only: after `using namespace pumice`, a user's own function `dot` is still found by its name.
// device_math declares the same functions as ordinary names.
#pragma once
#include "core/ir/ops.h"
#include "core/language/matrix.h"

namespace pumice {
namespace detail {

struct result_same {
    template <class T> using of = T;
};
struct result_boolean {
    template <class T> using of = bool;
};
struct result_i32 {
    template <class T> using of = int32_t;
};

// The handle of an operand of device type T; host scalars adopt the type.
template <class T, class A> Handle operand(const A& a, SourceLocation location) {
    return Operand<T>(a, location.file, location.line).handle;
}

template <TypeClass c, class T> constexpr bool in_class() {
    if constexpr (!ScalarType<T>)
        return false;
    else
        return takes(c, *scalar_of<T>());
}
template <TypeClass c, class A, class B> using first_type =
    std::conditional_t<c == TypeClass::F_I, device_type_t<A>, common_t<A, B>>;
template <TypeClass c, class T> using second_type = std::conditional_t<c == TypeClass::F_I, int32_t, T>;
template <TypeClass c, class A, class B> concept Pair =
    in_class<c, first_type<c, A, B>>() && (c != TypeClass::F_I || OperandOf<B, int32_t>);
template <class A, class B, class C> using triple_type =
    std::conditional_t<DeviceValue<A>, device_type_t<A>, std::conditional_t<DeviceValue<B>, device_type_t<B>, device_type_t<C>>>;
template <TypeClass c, class A, class B, class C> concept Triple =
    in_class<c, triple_type<A, B, C>>() && OperandOf<A, triple_type<A, B, C>> && OperandOf<B, triple_type<A, B, C>> &&
    OperandOf<C, triple_type<A, B, C>>;

/// The composite type of a choice between A and B, on the device or the host.
template <class A> using composite_t = std::conditional_t<Composite<device_type_t<A>>, device_type_t<A>, A>;
template <class A, class B> using chosen_t = std::conditional_t<Composite<composite_t<A>>, composite_t<A>, composite_t<B>>;

}  // namespace detail
template <class A, internal::TypeClass c> concept DeviceValueIn = detail::in_class<c, detail::device_type_t<A>>();

namespace detail {

// A user's file may have declared these names before it includes this one: the deleted functions are found first.
// clang-format off
#define OP1(name, ...) void name() = delete;
#define OP2(name, ...) void name() = delete;
#define OP3(name, ...) void name() = delete;
#define INFIX1(...)
#define INFIX2(...)
#include "core/ir/ops.def"
#define PUMICE_NAMED(name) void name() = delete;
#define PUMICE_NAMES                                                                                        \
    PUMICE_NAMED(select) PUMICE_NAMED(uniform) PUMICE_NAMED(clamp) PUMICE_NAMED(lerp) PUMICE_NAMED(dot) PUMICE_NAMED(length) \
    PUMICE_NAMED(distance) PUMICE_NAMED(normalize) PUMICE_NAMED(cross) PUMICE_NAMED(transpose) PUMICE_NAMED(inverse)
PUMICE_NAMES
#undef PUMICE_NAMED
// clang-format on

struct LanguageFunctions {
#define OP1(name, types, result, ...)                                                                         \
    template <DeviceValueIn<TypeClass::types> A> friend auto name(const A& a, PUMICE_AT) {                    \
        using T = device_type_t<A>;                                                                           \
        return Val<result_##result::of<T>>(emit_op(ir::Op::name, {operand<T>(a, PUMICE_HERE)}, PUMICE_HERE)); \
    }                                                                                                         \
    template <VectorValue A>                                                                                  \
        requires(takes(TypeClass::types, *scalar_of<typename structure<device_type_t<A>>::component>()) &&    \
                 std::is_same_v<result_##result, result_same>)                                                \
    friend auto name(const A& a, PUMICE_AT) {                                                                 \
        using T = device_type_t<A>;                                                                           \
        const Operand<T> each(a, pm_file, pm_line);                                                           \
        return emit_each<T>(ir::Op::name, {&each}, PUMICE_HERE);                                              \
    }
#define OP2(name, types, result, ...)                                                                      \
    template <class A, class B>                                                                            \
        requires Pair<TypeClass::types, A, B>                                                              \
    friend auto name(const A& a, const B& b, PUMICE_AT) {                                                  \
        using T = first_type<TypeClass::types, A, B>;                                                      \
        using U = second_type<TypeClass::types, T>;                                                        \
        return Val<result_##result::of<T>>(                                                                \
            emit_op(ir::Op::name, {operand<T>(a, PUMICE_HERE), operand<U>(b, PUMICE_HERE)}, PUMICE_HERE)); \
    }                                                                                                      \
    template <class A, class B>                                                                            \
        requires(VectorPair<A, B> && std::is_same_v<result_##result, result_same>)                         \
    friend auto name(const A& a, const B& b, PUMICE_AT) {                                                  \
        using T = vector_type_t<A, B>;                                                                     \
        const Operand<T> first(a, pm_file, pm_line), second(b, pm_file, pm_line);                          \
        return emit_each<T>(ir::Op::name, {&first, &second}, PUMICE_HERE);                                 \
    }
#define OP3(name, types, result, ...)                                                                                          \
    template <class A, class B, class C>                                                                                       \
        requires Triple<TypeClass::types, A, B, C>                                                                             \
    friend auto name(const A& a, const B& b, const C& c, PUMICE_AT) {                                                          \
        using T = triple_type<A, B, C>;                                                                                        \
        return Val<result_##result::of<T>>(emit_op(                                                                            \
            ir::Op::name, {operand<T>(a, PUMICE_HERE), operand<T>(b, PUMICE_HERE), operand<T>(c, PUMICE_HERE)}, PUMICE_HERE)); \
    }                                                                                                                          \
    template <VectorValue A, class B, class C>                                                                                 \
        requires(VectorPair<A, B> && VectorPair<A, C>)                                                                         \
    friend auto name(const A& a, const B& b, const C& c, PUMICE_AT) {                                                          \
        using T = device_type_t<A>;                                                                                            \
        const Operand<T> first(a, pm_file, pm_line), second(b, pm_file, pm_line), third(c, pm_file, pm_line);                  \
        return emit_each<T>(ir::Op::name, {&first, &second, &third}, PUMICE_HERE);                                             \
    }
// Operators are in value.h: functions named add or div would take these names from the user.
#define INFIX1(...)
#define INFIX2(...)
#include "core/ir/ops.def"

    /// a where the condition holds, else b. Both are computed.
    template <class A, class B>
        requires Mix<A, B>
    friend Val<common_t<A, B>> select(Operand<bool> condition, const A& a, const B& b, PUMICE_AT) {
        using T = common_t<A, B>;
        Recorder& r = Recorder::current("select", PUMICE_HERE);
        const ir::Value c = condition.use(r), x = Operand<T>(a, pm_file, pm_line).use(r),
                        y = Operand<T>(b, pm_file, pm_line).use(r);
        return Val<T>(r.handle(r.at(PUMICE_HERE).build.select(c, x, y)));
    }
    /// For two host constants, which keep their type (a double gives a float).
    template <class A>
        requires std::is_arithmetic_v<A>
    friend auto select(Operand<bool> condition, A a, A b, PUMICE_AT) {
        using T = std::conditional_t<std::is_same_v<A, double>, float, A>;
        return select(condition, Val<T>(a, pm_file, pm_line), Val<T>(b, pm_file, pm_line), pm_file, pm_line);
    }
    /// For whole vectors, matrices and structs. Beside a vector, a scalar stands for all components.
    template <class A, class B>
        requires(CompositeOperandOf<A, chosen_t<A, B>> && CompositeOperandOf<B, chosen_t<A, B>>)
    friend auto select(Operand<bool> condition, const A& a, const B& b, PUMICE_AT) {
        using T = chosen_t<A, B>;
        Operand<T> chosen(a, pm_file, pm_line);
        const Operand<T> other(b, pm_file, pm_line);
        Recorder& r = Recorder::current("select", PUMICE_HERE);
        const ir::Value c = condition.use(r);
        for (size_t n = 0; n < chosen.handles.size(); ++n) {
            const ir::Value x = r.use(chosen.handles[n], PUMICE_HERE), y = r.use(other.handles[n], PUMICE_HERE);
            chosen.handles[n] = r.handle(r.at(PUMICE_HERE).build.select(c, x, y));
        }
        return Val<T>(chosen);
    }

    /// Returns x, with the kernel's promise that it is equal for all work-items of the group that reach the call. Devices may
    /// compute it and what depends on it once for the group; the interpreter checks the promise.
    template <DeviceValue A>
        requires ScalarType<device_type_t<A>>
    friend auto uniform(const A& x, PUMICE_AT) {
        Recorder& r = Recorder::current("uniform", PUMICE_HERE);
        const ir::Value v = r.use(handle_of(x, PUMICE_HERE), PUMICE_HERE);
        return Val<device_type_t<A>>(r.handle(r.at(PUMICE_HERE).build.uniform(v)));
    }
    /// The same for each scalar of a composite.
    template <DeviceValue A>
        requires Composite<device_type_t<A>>
    friend auto uniform(const A& x, PUMICE_AT) {
        using T = device_type_t<A>;
        Operand<T> scalars(x, pm_file, pm_line);
        Recorder& r = Recorder::current("uniform", PUMICE_HERE);
        for (Handle& h : scalars.handles) h = r.handle(r.at(PUMICE_HERE).build.uniform(r.use(h, PUMICE_HERE)));
        return Val<T>(scalars);
    }

    /// x limited to [low, high]: min(max(x, low), high).
    template <DeviceValue A, class L, class H> friend auto clamp(const A& x, const L& low, const H& high, PUMICE_AT) {
        return min(max(x, low, pm_file, pm_line), high, pm_file, pm_line);
    }
    /// a + t (b - a).
    template <class A, class B, class W>
        requires(DeviceValue<A> || DeviceValue<B> || DeviceValue<W>)
    friend auto lerp(const A& a, const B& b, const W& t) {
        return a + t * (b - a);
    }

    /// The sum of the products of the components, added from first to last.
    template <class A, class B>
        requires VectorPair<A, B>
    friend auto dot(const A& a, const B& b, PUMICE_AT) {
        using T = vector_type_t<A, B>;
        const Operand<T> x(a, pm_file, pm_line), y(b, pm_file, pm_line);
        Handle sum = emit_op(ir::Op::mul, {x.handles[0], y.handles[0]}, PUMICE_HERE);
        for (size_t n = 1; n < x.handles.size(); ++n)
            sum = emit_op(ir::Op::add, {sum, emit_op(ir::Op::mul, {x.handles[n], y.handles[n]}, PUMICE_HERE)}, PUMICE_HERE);
        return Val<typename structure<T>::component>(sum);
    }
    /// The Euclidean length: sqrt(dot(v, v)).
    template <VectorValue A> friend auto length(const A& v, PUMICE_AT) {
        return sqrt(dot(v, v, pm_file, pm_line), pm_file, pm_line);
    }
    /// length(a - b).
    template <class A, class B>
        requires VectorPair<A, B>
    friend auto distance(const A& a, const B& b, PUMICE_AT) {
        return length(a - b, pm_file, pm_line);
    }
    /// v / length(v); components are NaN for a zero vector.
    template <VectorValue A> friend auto normalize(const A& v, PUMICE_AT) { return v / length(v, pm_file, pm_line); }
    /// The cross product of two vectors of 3.
    template <class A, class B>
        requires(VectorPair<A, B> && leaf_count<vector_type_t<A, B>>() == 3)
    friend auto cross(const A& a, const B& b, PUMICE_AT) {
        using T = vector_type_t<A, B>;
        const Val<T> u(a, pm_file, pm_line), v(b, pm_file, pm_line);
        return Val<T>(u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x);
    }

    /// The transposed matrix.
    template <MatrixValue A> friend auto transpose(const A& m, PUMICE_AT) {
        using T = device_type_t<A>;
        constexpr size_t n = size_t(matrix_size<T>);
        Operand<T> t(m, pm_file, pm_line);
        for (size_t i = 0; i < n; ++i)
            for (size_t j = 0; j < i; ++j) std::swap(t.handles[i * n + j], t.handles[j * n + i]);
        return Val<T>(t);
    }
    /// The determinant, by Laplace expansion along the first row.
    template <MatrixValue A> friend auto determinant(const A& m, PUMICE_AT) {
        using T = device_type_t<A>;
        const auto all = terms(Operand<T>(m, pm_file, pm_line), PUMICE_HERE);
        return Val<scalar_of_matrix<T>>(determinant(all.data(), matrix_size<T>).handle);
    }
    /// The inverse, by Cramer's rule: the adjugate divided by the determinant. inf and NaN for a singular matrix.
    template <MatrixValue A> friend auto inverse(const A& m, PUMICE_AT) {
        using T = device_type_t<A>;
        const auto all = terms(Operand<T>(m, pm_file, pm_line), PUMICE_HERE);
        Terms<T> result;
        adjugate(all.data(), matrix_size<T>, result.data());
        const ScalarTerm d = determinant(all.data(), matrix_size<T>);
        for (ScalarTerm& t : result) t = t / d;
        return from_terms<T>(result);
    }
};

}  // namespace detail

/// x as T, by value. Float to integer truncates towards zero and saturates, NaN gives 0; integers wrap; to bool is x != 0.
template <internal::ScalarType T, detail::DeviceValue A>
    requires internal::ScalarType<detail::device_type_t<A>>
Val<T> cast(const A& x, PUMICE_AT) {
    return Val<T>(detail::emit_cast(*internal::scalar_of<T>(), detail::handle_of(x, PUMICE_HERE), PUMICE_HERE));
}
/// The same for a host number.
template <internal::ScalarType T, detail::HostScalar A>
    requires internal::ScalarType<A>
Val<T> cast(const A& x, PUMICE_AT) {
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &x, sizeof(A));
    return Val<T>(detail::emit_host_cast(*internal::scalar_of<T>(), *internal::scalar_of<A>(), bits, PUMICE_HERE));
}

/// The bits of x as T, a scalar type of the same size.
template <class T, detail::DeviceValue A>
    requires(size_of(*internal::scalar_of<T>()) == size_of(*internal::scalar_of<detail::device_type_t<A>>()))
Val<T> bitcast(const A& x, PUMICE_AT) {
    detail::Recorder& r = detail::Recorder::current("bitcast", PUMICE_HERE);
    const ir::Value v = r.use(detail::handle_of(x, PUMICE_HERE), PUMICE_HERE);
    return Val<T>(r.handle(r.at(PUMICE_HERE).build.bitcast(*internal::scalar_of<T>(), v)));
}

// Function objects that call by name, with argument-dependent lookup. device_math has them for scopes where the user's code hides
// a name: `device_math::dot(a, b)` in a kernel named dot.
// clang-format off
#define PUMICE_NAMED(name)                                                                                             \
    namespace detail {                                                                                                 \
    struct call_##name {                                                                                               \
        template <class A>                                                                                             \
        auto operator()(const A& a, PUMICE_AT) const -> decltype(name(a, pm_file, pm_line)) { return name(a, pm_file, pm_line); } \
        template <class A, class B>                                                                                    \
        auto operator()(const A& a, const B& b, PUMICE_AT) const -> decltype(name(a, b, pm_file, pm_line)) { return name(a, b, pm_file, pm_line); } \
        template <class A, class B, class C>                                                                           \
        auto operator()(const A& a, const B& b, const C& c, PUMICE_AT) const -> decltype(name(a, b, c, pm_file, pm_line)) { \
            return name(a, b, c, pm_file, pm_line);                                                                    \
        }                                                                                                              \
    };                                                                                                                 \
    }                                                                                                                  \
    namespace device_math { inline constexpr detail::call_##name name{}; }
#define OP1(name, ...) PUMICE_NAMED(name)
#define OP2(name, ...) PUMICE_NAMED(name)
#define OP3(name, ...) PUMICE_NAMED(name)
#define INFIX1(...)
#define INFIX2(...)
#include "core/ir/ops.def"
PUMICE_NAMES PUMICE_NAMED(determinant)
#undef PUMICE_NAMED
#undef PUMICE_NAMES
// clang-format on

}  // namespace pumice
