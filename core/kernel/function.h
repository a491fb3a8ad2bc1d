// Device functions: called in kernels with device values, on the host with host values, and differentiable.
#pragma once
#include <mutex>
#include <tuple>

#include "core/kernel/kernel.h"

namespace pumice {
namespace detail {

/// The result type of a function's lambda, as device types: a device value, a host number, a tuple of such, or nothing.
template <class R> struct returned {
    using types = std::tuple<device_type_t<R>>;
};
template <class R>
    requires HostScalar<R>
struct returned<R> {
    using types = std::tuple<std::remove_cvref_t<R>>;
};
template <class R>
    requires Composite<R>
struct returned<R> {
    using types = std::tuple<R>;
};
template <> struct returned<void> {
    using types = std::tuple<>;
};
template <class... R> struct returned<std::tuple<R...>> {
    using types = decltype(std::tuple_cat(std::declval<typename returned<R>::types>()...));
};

template <class All, class First> constexpr bool starts_with = false;
template <class... A> constexpr bool starts_with<std::tuple<A...>, std::tuple<>> = true;
template <class X, class... A, class... B> constexpr bool starts_with<std::tuple<X, A...>, std::tuple<X, B...>> =
    starts_with<std::tuple<A...>, std::tuple<B...>>;

/// Appends the scalars of T, in order.
template <class T> void append_scalars(std::vector<Scalar>& all) {
    if constexpr (ScalarType<T>)
        all.push_back(*scalar_of<T>());
    else
        structure<T>::each_type([&]<class F>(const char*, size_t, F*) { append_scalars<F>(all); });
}
/// Number of scalars in the types of a tuple.
template <class Types> size_t scalar_count() {
    std::vector<Scalar> all;
    [&]<class... T>(const std::tuple<T...>*) { (append_scalars<T>(all), ...); }(static_cast<const Types*>(nullptr));
    return all.size();
}
template <class T> void append_handles(const Operand<T>& operand, std::vector<Handle>& all) {
    if constexpr (ScalarType<T>)
        all.push_back(operand.handle);
    else
        all.insert(all.end(), operand.handles.begin(), operand.handles.end());
}
template <class T> Val<T> take_value(const Handle*& next) {
    if constexpr (ScalarType<T>)
        return Val<T>(*next++);
    else {
        HandleSource source{next};
        Val<T> value(source);
        next = source.next;
        return value;
    }
}
/// A host T from the bits of its scalars.
template <class T> void take_bits(T& value, const uint64_t*& next) {
    if constexpr (ScalarType<T>)
        __builtin_memcpy(&value, next++, sizeof(T));
    else
        structure<T>::each_value(value, [&](auto& member) { take_bits(member, next); });
}

template <class Types> struct results;
template <class... R> struct results<std::tuple<R...>> {
    /// The result of a call: nothing, the one result, or a tuple of all.
    template <template <class> class W> static auto pick(std::tuple<W<R>...> all) {
        if constexpr (sizeof...(R) == 1)
            return std::get<0>(std::move(all));
        else if constexpr (sizeof...(R) > 1)
            return all;
    }
    static auto device(const std::vector<Handle>& handles) {
        [[maybe_unused]] const Handle* next = handles.data();
        return pick<Val>(std::tuple<Val<R>...>{take_value<R>(next)...});
    }
    static auto host(const std::vector<uint64_t>& bits) {
        [[maybe_unused]] const uint64_t* next = bits.data();
        std::tuple<R...> all;
        std::apply([&](auto&... value) { (take_bits(value, next), ...); }, all);
        return pick<std::type_identity_t>(std::move(all));
    }
    /// The scalars of a lambda's results; a tuple holds one value for each R.
    template <class Given> static std::vector<Handle> handles(const Given& given) {
        std::vector<Handle> all;
        if constexpr (requires { std::tuple_size<Given>::value; })
            std::apply([&](const auto&... g) { (append_handles<R>(Operand<R>(g, "", 0), all), ...); }, given);
        else
            (append_handles<R>(Operand<R>(given, "", 0), all), ...);
        return all;
    }
};

/// A FunctionBody that records `f`, which is called with Val<P>... and returns the device types in the tuple R.
template <class R, class... P, class F> FunctionBody function_body(std::string name, SourceLocation location, F f) {
    FunctionBody body;
    body.name = std::move(name);
    body.location = location;
    (append_scalars<P>(body.params), ...);
    body.record = [f = std::move(f)](Recorder&, std::span<const Handle> params) {
        [[maybe_unused]] const Handle* next = params.data();
        std::tuple<Val<P>...> values{take_value<P>(next)...};  // braces: from left to right
        if constexpr (std::tuple_size_v<R> == 0) {
            std::apply(f, values);
            return std::vector<Handle>();
        } else {
            return results<R>::handles(std::apply(f, values));
        }
    };
    return body;
}

template <class P> struct value_parameter {
    static_assert(never<P>, "pumice: a function's parameters are Val<T>, taken by value");
};
template <class T> struct value_parameter<Val<T>> {
    using type = T;
};

template <class Given, class Wanted> struct tuple_fits : std::false_type {};
template <class... G, class... W>
    requires(sizeof...(G) == sizeof...(W))
struct tuple_fits<std::tuple<G...>, std::tuple<W...>> : std::bool_constant<(std::is_convertible_v<const G&, Operand<W>> && ...)> {
};
/// True if a rule returns a value for each of these types, alone or in a tuple.
template <class Given, class... Wanted> concept RuleGives =
    (sizeof...(Wanted) == 1 && (std::is_convertible_v<const Given&, Operand<Wanted>> && ...)) ||
    tuple_fits<Given, std::tuple<Wanted...>>::value;
template <class Rule, class... A> concept RuleTakes = std::is_invocable_v<Rule, A...>;

}  // namespace detail

/// The base of all device functions, without parameter types. Handles share one function.
class FunctionBase {
public:
    const std::string& name() const;
    /// The function as a kernel of one work-item with the same parameters. It stores the results to an array "result", whose
    /// element has a member "r0", "r1", ... for each scalar. Throws Error naming the line of a misuse.
    std::shared_ptr<const ir::Kernel> recorded() const;
    /// The text of recorded().
    std::string ir() const;
    /// The body, which kernels record when they call the function.
    const std::shared_ptr<const detail::FunctionBody>& body() const;

protected:
    explicit FunctionBase(detail::FunctionBody body);
    /// Runs the function on the interpreter, from the bits of each scalar parameter to those of each result.
    std::vector<uint64_t> evaluate(std::span<const detail::HostArgument> arguments) const;

private:
    struct State {
        std::shared_ptr<const detail::FunctionBody> body;
        std::mutex mutex;
        std::shared_ptr<const ir::Kernel> recorded;
        std::shared_ptr<internal::Executable> executable;
    };
    std::shared_ptr<State> state;
};

/// The result of function(): R is a tuple of the device types of the results, P those of the parameters.
template <class R, class... P> class Function : public FunctionBase {
public:
    template <class F> Function(std::string name, F f, detail::SourceLocation location)
        : Function(detail::function_body<R, P...>(std::move(name), location, std::move(f))) {}
    explicit Function(detail::FunctionBody body) : FunctionBase(std::move(body)) {}

    /// In a kernel: returns the results for device values, as Val, or as a tuple of Val for several.
    auto operator()(detail::Operand<P>... arguments) const {
        [[maybe_unused]] detail::SourceLocation location;
        ((location = location.line ? location : arguments.location), ...);
        detail::Recorder& r = detail::Recorder::current("a device function", location);
        std::vector<detail::Handle> handles;
        (detail::append_handles<P>(arguments, handles), ...);
        return detail::results<R>::device(r.call(body(), handles, location));
    }
    /// On the host: evaluated at once by the reference interpreter, without a device. Throws Error if the function needs a launch
    /// (indices, barriers).
    auto operator()(P... arguments) const
        requires(sizeof...(P) > 0)
    {
        return detail::results<R>::host(evaluate(detail::host_arguments(arguments...)));
    }

    /// The same function with a rule for its reverse-mode derivative. The rule takes the parameters, the results and an adjoint
    /// for each result (dy); it returns the adjoint of each parameter, several in a std::tuple.
    template <class G> Function reverse(G rule, PUMICE_AT) const {
        return std::apply(
            [&]<class... Y>(const std::type_identity<Y>&...) {
                static_assert(
                    detail::RuleTakes<G, Val<P>..., Val<Y>..., Val<Y>...>,
                    "pumice: a reverse rule takes the function's parameters, its results, and an adjoint for each result");
                using Given = std::invoke_result_t<G, Val<P>..., Val<Y>..., Val<Y>...>;
                static_assert(detail::RuleGives<Given, P...>,
                              "pumice: a reverse rule gives an adjoint for each parameter, several in a std::tuple");
                detail::FunctionBody with = *body();
                with.reverse = std::make_shared<detail::FunctionBody>(
                    detail::function_body<std::tuple<P...>, P..., Y..., Y...>(name() + ".reverse", PUMICE_HERE, std::move(rule)));
                return Function(std::move(with));
            },
            identities(static_cast<R*>(nullptr)));
    }
    /// The same with an augmented primal, which takes the parameters and returns, in a std::tuple, the results followed by values
    /// for the rule. It replaces the function in kernels, so it must compute the same; the extra values cost nothing without a
    /// derivative. The rule takes the parameters, the results, the extra values, and an adjoint for each result.
    template <class Augmented, class G>
        requires std::is_invocable_v<Augmented, Val<P>...>
    Function reverse(Augmented augmented, G rule, PUMICE_AT) const {
        using All = typename detail::returned<std::invoke_result_t<Augmented, Val<P>...>>::types;
        return std::apply(
            [&]<class... Y>(const std::type_identity<Y>&...) {
                constexpr std::size_t given = sizeof...(P) + sizeof...(Y) + std::tuple_size_v<R>;
                auto without_kept = [rule = std::move(rule)](const auto&... all) {
                    return [&]<std::size_t... I>(std::index_sequence<I...>) {
                        return rule(std::get<I>(std::tie(all...))...);
                    }(std::make_index_sequence<given>());
                };
                detail::FunctionBody inner =
                    detail::function_body<All, P...>(name() + ".augmented", PUMICE_HERE, std::move(augmented));
                inner.reverse = std::make_shared<detail::FunctionBody>(detail::function_body<std::tuple<P...>, P..., Y..., Y...>(
                    name() + ".reverse", PUMICE_HERE, std::move(without_kept)));
                static_assert(detail::starts_with<All, R>,
                              "pumice: an augmented primal gives the function's results first, then what the rule is to have");
                detail::FunctionBody with = *body();
                with.reverse = nullptr;
                with.record = [kept = std::make_shared<const detail::FunctionBody>(std::move(inner)), location = PUMICE_HERE](
                                  detail::Recorder& r, std::span<const detail::Handle> params) {
                    std::vector<detail::Handle> all = r.call(kept, params, location);
                    all.resize(detail::scalar_count<R>());
                    return all;
                };
                return Function(std::move(with));
            },
            identities(static_cast<All*>(nullptr)));
    }
    /// The same function with a forward-mode rule, from the parameters and their tangents to the tangent of each result.
    template <class G> Function forward(G rule, PUMICE_AT) const {
        return std::apply(
            [&]<class... Y>(const std::type_identity<Y>&...) {
                static_assert(detail::RuleTakes<G, Val<P>..., Val<P>...>,
                              "pumice: a forward rule takes the function's parameters and a tangent for each");
                static_assert(detail::RuleGives<std::invoke_result_t<G, Val<P>..., Val<P>...>, Y...>,
                              "pumice: a forward rule gives the tangent of each result, several in a std::tuple");
                detail::FunctionBody with = *body();
                with.forward = std::make_shared<detail::FunctionBody>(
                    detail::function_body<R, P..., P...>(name() + ".forward", PUMICE_HERE, std::move(rule)));
                return Function(std::move(with));
            },
            identities(static_cast<R*>(nullptr)));
    }
    /// The same function, treated as constant by derivatives.
    Function inactive() const {
        detail::FunctionBody with = *body();
        with.inactive = true;
        return Function(std::move(with));
    }

private:
    template <class... Y> static std::tuple<std::type_identity<Y>...> identities(std::tuple<Y...>*) { return {}; }
};

/// The function as an object file for a target of LLVM: a C function of the same scalars. One result is returned by value,
/// several are stored through pointers. See compile_object of a kernel.
ObjectCode compile_object(const FunctionBase& function, const std::string& triple, const std::string& cpu = "",
                          const ObjectOptions& options = {});

namespace detail {
template <class> struct function_signature;
template <class R, class F, class... P> struct function_signature<R (F::*)(P...) const> {
    using type = Function<typename returned<R>::types, typename value_parameter<std::remove_cvref_t<P>>::type...>;
};
template <class R, class F, class... P> struct function_signature<R (F::*)(P...)> : function_signature<R (F::*)(P...) const> {};
}  // namespace detail

/// Defines a device function of Val<T> parameters, T a scalar, vector or struct. It returns the lambda's result: a device value,
/// a tuple of them, or nothing. The lambda sees only its parameters. It may call other functions, but not itself.
template <class F> auto function(std::string name, F f, PUMICE_AT) {
    return typename detail::function_signature<decltype(&F::operator())>::type(std::move(name), std::move(f), PUMICE_HERE);
}

}  // namespace pumice
