// The language's functions on device values: one for each row of ops.def, then casts, select, and what is made of them.
#pragma once
#include "core/ops.h"
#include "core/value.h"

namespace pumice {
namespace detail {

struct result_same { template <class T> using of = T; };
struct result_boolean { template <class T> using of = bool; };
struct result_i32 { template <class T> using of = int32_t; };

// An operand of device type T; host scalars adopt it.
template <class T, class A>
Handle operand(const A& a, Place place) { return Operand<T>(a, place.file, place.line).handle; }

}  // namespace detail

namespace detail {
template <TypeClass c, class T>
constexpr bool in_class() {
    if constexpr (!ScalarType<T>) return false;
    else return takes(c, *scalar_of<T>());
}
template <TypeClass c, class A, class B>
using first_type = std::conditional_t<c == TypeClass::F_I, device_type_t<A>, common_t<A, B>>;
template <TypeClass c, class T> using second_type = std::conditional_t<c == TypeClass::F_I, int32_t, T>;
template <TypeClass c, class A, class B>
concept Pair = in_class<c, first_type<c, A, B>>() && (c != TypeClass::F_I || OperandOf<B, int32_t>);
template <class A, class B, class C>
using triple_type = std::conditional_t<DeviceValue<A>, device_type_t<A>, std::conditional_t<DeviceValue<B>, device_type_t<B>, device_type_t<C>>>;
template <TypeClass c, class A, class B, class C>
concept Triple = in_class<c, triple_type<A, B, C>>() && OperandOf<A, triple_type<A, B, C>> && OperandOf<B, triple_type<A, B, C>> &&
                 OperandOf<C, triple_type<A, B, C>>;
}  // namespace detail
template <class A, TypeClass c>
concept DeviceValueIn = detail::in_class<c, detail::device_type_t<A>>();

#define OP1(name, types, result, ...)                                                                                  \
    template <DeviceValueIn<TypeClass::types> A>                                                                   \
    auto name(const A& a, PUMICE_AT) {                                                                                 \
        using T = detail::device_type_t<A>;                                                                            \
        return Val<detail::result_##result::of<T>>(detail::emit_op(ir::Op::name, {detail::operand<T>(a, PUMICE_HERE)}, PUMICE_HERE)); \
    }
#define OP2(name, types, result, ...)                                                                                  \
    template <class A, class B> requires detail::Pair<TypeClass::types, A, B>                                      \
    auto name(const A& a, const B& b, PUMICE_AT) {                                                                     \
        using T = detail::first_type<TypeClass::types, A, B>;                                                      \
        using U = detail::second_type<TypeClass::types, T>;                                                        \
        return Val<detail::result_##result::of<T>>(detail::emit_op(                                                    \
            ir::Op::name, {detail::operand<T>(a, PUMICE_HERE), detail::operand<U>(b, PUMICE_HERE)}, PUMICE_HERE));     \
    }
#define OP3(name, types, result, ...)                                                                                  \
    template <class A, class B, class C> requires detail::Triple<TypeClass::types, A, B, C>                        \
    auto name(const A& a, const B& b, const C& c, PUMICE_AT) {                                                         \
        using T = detail::triple_type<A, B, C>;                                                                        \
        return Val<detail::result_##result::of<T>>(detail::emit_op(                                                    \
            ir::Op::name, {detail::operand<T>(a, PUMICE_HERE), detail::operand<T>(b, PUMICE_HERE), detail::operand<T>(c, PUMICE_HERE)}, PUMICE_HERE)); \
    }

// Operators are in value.h; functions named add or div would only take these names from the user.
#define INFIX1(...)
#define INFIX2(...)
#include "core/ops.def"

/// x as T, by value. Float to integer truncates towards zero and saturates, NaN gives 0; integers wrap; to bool is x != 0.
template <ScalarType T, detail::DeviceValue A> requires ScalarType<detail::device_type_t<A>>
Val<T> cast(const A& x, PUMICE_AT) {
    detail::Recorder& r = detail::Recorder::current("cast", PUMICE_HERE);
    const ir::Value v = r.use(detail::handle_of(x, PUMICE_HERE), PUMICE_HERE);
    return Val<T>(r.handle(r.at(PUMICE_HERE).build.cast(*scalar_of<T>(), v)));
}

/// The bits of x as T, a scalar type of the same size.
template <class T, detail::DeviceValue A>
    requires(size_of(*scalar_of<T>()) == size_of(*scalar_of<detail::device_type_t<A>>()))
Val<T> bitcast(const A& x, PUMICE_AT) {
    detail::Recorder& r = detail::Recorder::current("bitcast", PUMICE_HERE);
    const ir::Value v = r.use(detail::handle_of(x, PUMICE_HERE), PUMICE_HERE);
    return Val<T>(r.handle(r.at(PUMICE_HERE).build.bitcast(*scalar_of<T>(), v)));
}

/// a where the condition holds, else b. Both are computed.
template <class A, class B> requires detail::Mix<A, B>
Val<detail::common_t<A, B>> select(detail::Operand<bool> condition, const A& a, const B& b, PUMICE_AT) {
    using T = detail::common_t<A, B>;
    detail::Recorder& r = detail::Recorder::current("select", PUMICE_HERE);
    const ir::Value c = condition.use(r), x = detail::Operand<T>(a, pm_file, pm_line).use(r), y = detail::Operand<T>(b, pm_file, pm_line).use(r);
    return Val<T>(r.handle(r.at(PUMICE_HERE).build.select(c, x, y)));
}

/// x, which the kernel promises to be the same for all work-items of a group that come here. Devices may then treat it, and what is
/// computed from it, once for the group; the interpreter checks it.
template <detail::DeviceValue A> requires ScalarType<detail::device_type_t<A>>
auto uniform(const A& x, PUMICE_AT) {
    detail::Recorder& r = detail::Recorder::current("uniform", PUMICE_HERE);
    const ir::Value v = r.use(detail::handle_of(x, PUMICE_HERE), PUMICE_HERE);
    return Val<detail::device_type_t<A>>(r.handle(r.at(PUMICE_HERE).build.uniform(v)));
}

/// select of two host constants, which keep their type (a double gives a float).
template <class A> requires std::is_arithmetic_v<A>
auto select(detail::Operand<bool> condition, A a, A b, PUMICE_AT) {
    using T = std::conditional_t<std::is_same_v<A, double>, float, A>;
    return select(condition, Val<T>(a, pm_file, pm_line), Val<T>(b, pm_file, pm_line), pm_file, pm_line);
}

/// x limited to [low, high]: min(max(x, low), high).
template <detail::DeviceValue A, class L, class H>
auto clamp(const A& x, const L& low, const H& high, PUMICE_AT) {
    return min(max(x, low, pm_file, pm_line), high, pm_file, pm_line);
}
/// a + t (b - a).
template <class A, class B, class W>
auto lerp(const A& a, const B& b, const W& t) { return a + t * (b - a); }

}  // namespace pumice
