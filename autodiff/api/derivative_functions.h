// Derivatives of device functions: on the host, and inside kernels as functions.
#pragma once
#include "autodiff/api/autodiff.h"
#include "core/kernel/function.h"

namespace pumice {
namespace derive {

/// Records the tangents of the function. `directions` has a tangent for each floating scalar parameter, one direction after
/// another. Gives the tangents of the scalars of the results in the same way (zero for scalars that are no floats). Functions
/// use their rules for forward mode, or with `as_reverse` their rules for reverse mode.
std::vector<detail::Handle> record_tangents(detail::Recorder& r, const FunctionBase& f, std::span<const detail::Handle> params,
                                            const std::vector<std::vector<detail::Handle>>& directions, bool as_reverse = false);
/// The tangent of the one result along each floating parameter in turn.
std::vector<detail::Handle> record_gradient(detail::Recorder& r, const FunctionBase& f, std::span<const detail::Handle> params);

/// Reverse mode of the function at a point, on the host; every scalar of the result has adjoint 1. Gives bits: the results,
/// then the adjoints of the Active scalars in order.
struct HostDerivative {
    std::vector<uint64_t> results, adjoints;
};
HostDerivative reverse_function(const FunctionBase& f, std::vector<ArgumentSlot> arguments);

/// The derived function of `f`; `make` makes it once.
std::shared_ptr<void> derived_function(const FunctionBase& f, const char* what,
                                       const std::function<std::shared_ptr<void>()>& make);
std::string derived_name(const std::string& name, const char* what);

}  // namespace derive

/// The gradient of f as a function: (x...) -> df/dx for each parameter, several in a tuple (zero for integers). It works in
/// kernels and on the host, and can be differentiated again. f must have one result, a floating scalar.
template <class R, class... P> auto gradient(const Function<std::tuple<R>, P...>& f) {
    static_assert(internal::ScalarType<R> && (std::is_floating_point_v<R> || NarrowFloat<R>),
                  "pumice: the gradient is that of a function with one floating scalar as its result");
    using Gradient = Function<std::tuple<P...>, P...>;
    return *static_cast<const Gradient*>(derive::derived_function(f, "gradient", [&]() -> std::shared_ptr<void> {
                                             detail::FunctionBody body = *f.body();
                                             body.name = derive::derived_name(f.name(), "gradient");
                                             body.reverse = body.forward = nullptr;
                                             body.record = [f](detail::Recorder& r, std::span<const detail::Handle> params) {
                                                 return derive::record_gradient(r, f, params);
                                             };
                                             return std::make_shared<Gradient>(std::move(body));
                                         }).get());
}
/// The tangent of f as a function: (x..., dx...) -> df, the derivative of f at x along dx.
template <class... R, class... P> auto tangent(const Function<std::tuple<R...>, P...>& f) {
    using Tangent = Function<std::tuple<R...>, P..., P...>;
    return *static_cast<const Tangent*>(derive::derived_function(f, "tangent", [&]() -> std::shared_ptr<void> {
                                            detail::FunctionBody body = *f.body();
                                            body.name = derive::derived_name(f.name(), "tangent");
                                            body.reverse = body.forward = nullptr;
                                            const std::size_t count = body.params.size();
                                            const std::vector<internal::Scalar> types = body.params;
                                            body.params.insert(body.params.end(), types.begin(), types.end());
                                            body.record = [f, count, types](detail::Recorder& r,
                                                                            std::span<const detail::Handle> params) {
                                                std::vector<detail::Handle> direction;
                                                for (std::size_t i = 0; i < count; ++i)
                                                    if (is_float(types[i])) direction.push_back(params[count + i]);
                                                return derive::record_tangents(r, f, params.first(count), {direction});
                                            };
                                            return std::make_shared<Tangent>(std::move(body));
                                        }).get());
}
/// The gradient at a point: of device values in a kernel, of host values on the host. One parameter gives a value, several a
/// tuple.
template <class R, class... P, class... X>
    requires(sizeof...(X) == sizeof...(P) && (detail::DeviceValue<X> || ...))
auto gradient(const Function<std::tuple<R>, P...>& f, const X&... x) {
    return gradient(f)(x...);
}

namespace derive {
/// The value of a Duplicated or Const argument, and its tangent in a direction.
template <class P, class A> P tangent_of(const A& a, std::size_t direction) {
    if constexpr (requires { a.shadow; })
        return P(a.shadow);
    else if constexpr (requires { a.shadows; })
        return P(a.shadows[direction]);
    else {
        static_assert(
            !requires { []<class T>(const Active<T>&) {}(a); },
            "pumice: an Active argument in forward mode, which gives no derivative back: write Duplicated(value, tangent)");
        return P{};
    }
}
template <class T> T value_of_bits(const std::vector<uint64_t>& bits, std::size_t& next) {
    T value{};
    const uint64_t* at = bits.data() + next;
    const uint64_t* const before = at;
    detail::take_bits(value, at);
    next += std::size_t(at - before);
    return value;
}
template <class P, class A> auto take_function_active(const HostDerivative& d, std::size_t& next) {
    if constexpr (requires(A a) { []<class T>(const Active<T>&) {}(a); })
        return std::tuple<P>(value_of_bits<P>(d.adjoints, next));
    else
        return std::tuple<>();
}
/// The results of the function, in a tuple; an empty one for a function without results.
template <class... R, class... P>
auto given_by([[maybe_unused]] const Function<std::tuple<R...>, P...>& f, [[maybe_unused]] const P&... x) {
    if constexpr (sizeof...(R) == 0)
        return std::tuple();
    else
        return std::tuple(f(x...));
}
}  // namespace derive

/// Reverse mode of a function on the host, at a point, with Const and Active arguments. Gives a tuple of the derivatives of the
/// Active ones, in order. The adjoints of the results are 1.
template <class... R, class... P, detail::Annotation... A>
    requires(sizeof...(A) == sizeof...(P))
auto autodiff(ReverseMode, const Function<std::tuple<R...>, P...>& f, const A&... annotations) {
    static_assert(((detail::annotation<A>::width == 0) && ...),
                  "pumice: a function's arguments in reverse mode are Const or Active: derivatives come back as values");
    std::vector<derive::ArgumentSlot> arguments;
    (derive::put_slots<P>(annotations, arguments), ...);
    if constexpr (sizeof...(R) == 0) f(P(annotations.value)...);
    const derive::HostDerivative d = derive::reverse_function(f, std::move(arguments));
    [[maybe_unused]] std::size_t next = 0;
    std::tuple<decltype(derive::take_function_active<P, A>(d, next))...> each{
        derive::take_function_active<P, A>(d, next)...};  // left to right
    return std::apply([](const auto&... one) { return std::tuple_cat(one...); }, each);
}
/// The derivatives, followed by the results of the function.
template <class... R, class... P, detail::Annotation... A>
    requires(sizeof...(A) == sizeof...(P))
auto autodiff(ReverseWithPrimalMode mode, const Function<std::tuple<R...>, P...>& f, const A&... annotations) {
    return std::tuple_cat(autodiff(ReverseMode(mode), f, annotations...), derive::given_by(f, P(annotations.value)...));
}
/// Forward mode of a function on the host, with Const, Duplicated(value, tangent) and BatchDuplicated arguments. Gives a tuple
/// of the derivatives of the results; for a batch a tuple of one array, an element a direction.
template <class... R, class... P, detail::Annotation... A>
    requires(sizeof...(A) == sizeof...(P))
auto autodiff(ForwardMode, const Function<std::tuple<R...>, P...>& f, const A&... annotations) {
    constexpr std::size_t width = detail::batch_width<A...>();
    const auto along = [&](std::size_t w) {
        return tangent(f)(P(annotations.value)..., derive::tangent_of<P>(annotations, w)...);
    };
    if constexpr (sizeof...(R) == 0)
        return along(0), std::tuple();
    else if constexpr (width == 1)
        return std::tuple(along(0));
    else {
        std::array<decltype(along(0)), width> all;
        for (std::size_t w = 0; w < width; ++w) all[w] = along(w);
        return std::tuple(all);
    }
}
/// The derivative, followed by the results of the function.
template <class... R, class... P, detail::Annotation... A>
    requires(sizeof...(A) == sizeof...(P))
auto autodiff(ForwardWithPrimalMode mode, const Function<std::tuple<R...>, P...>& f, const A&... annotations) {
    return std::tuple_cat(autodiff(ForwardMode(mode), f, annotations...), derive::given_by(f, P(annotations.value)...));
}

/// The gradient at a point on the host, by reverse mode. One parameter: a value; several: a tuple (a zero for integers).
template <class R, class... P, class... X>
    requires(sizeof...(X) == sizeof...(P) && !(detail::DeviceValue<X> || ...))
auto gradient(const Function<std::tuple<R>, P...>& f, const X&... x) {
    if constexpr (sizeof...(P) == 1 && (std::is_integral_v<P> && ...))
        return (P(), ...);
    else {
        auto all = autodiff(Reverse, f, Active<P>(P(x))...);
        if constexpr (sizeof...(P) == 1)
            return std::get<0>(all);
        else
            return all;
    }
}

/// The derivatives of each result (a row) by each parameter, on the host. f's results and parameters are scalars of one floating
/// type.
template <class... R, class... P, class... X>
    requires(sizeof...(X) == sizeof...(P))
auto jacobian(const Function<std::tuple<R...>, P...>& f, const X&... x) {
    using T = std::tuple_element_t<0, std::tuple<R..., P...>>;
    static_assert(
        (std::is_floating_point_v<T> || NarrowFloat<T>) && (std::is_same_v<R, T> && ...) && (std::is_same_v<P, T> && ...),
        "pumice: a jacobian is that of a function of scalars of one floating type");
    std::array<std::array<T, sizeof...(P)>, sizeof...(R)> rows{};
    for (std::size_t column = 0; column < sizeof...(P); ++column) {
        const auto along = [&]<std::size_t... I>(std::index_sequence<I...>) {
            return tangent(f)(P(x)..., P(I == column)...);
        }(std::index_sequence_for<P...>{});
        if constexpr (sizeof...(R) == 1)
            rows[0][column] = along;
        else
            std::apply(
                [&](const auto&... y) {
                    std::size_t row = 0;
                    ((rows[row++][column] = y), ...);
                },
                along);
    }
    return rows;
}

/// The Hessian of f times a vector, by forward over reverse: hessian_vector(f, x..., v...), on the host or, with device values,
/// in a kernel. One parameter: a value; several: a tuple.
template <class R, class... P, class... XV>
    requires(sizeof...(XV) == 2 * sizeof...(P))
auto hessian_vector(const Function<std::tuple<R>, P...>& f, const XV&... x_and_v) {
    return tangent(gradient(f))(x_and_v...);
}

}  // namespace pumice
