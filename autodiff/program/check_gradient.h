// Gradient check: reverse mode against central differences, for the tests of users.
#pragma once
#include "autodiff/api/derivative_functions.h"
#include "autodiff/program/program.h"

namespace pumice {

/// The options of check_gradient.
struct GradientCheckOptions {
    int directions = 4;    ///< random directions, each through all arrays at once
    double step = 0;       ///< step of the differences, relative to 1 or the element; 0: 5e-3 for float, 1e-5 for double
    double tolerance = 0;  ///< relative; 0: 1e-2 for float, 1e-6 for double
    uint64_t seed = 1;
};

/// The result of check_gradient: the worst component of the worst direction.
struct GradientCheck {
    bool good = true;       ///< every direction agreed within the tolerance
    double error = 0;       ///< the worst relative disagreement along a direction
    int argument = 0;       ///< the argument of the component, counted from 1
    int64_t index = 0;      ///< its linear index
    double gradient = 0;    ///< the derivative by the component
    double difference = 0;  ///< the central difference by the component
    explicit operator bool() const { return good; }
    /// "the gradient agrees with central differences (worst error 1.2e-05)", or a sentence with the worst component.
    std::string text() const;
};

namespace derive {

/// A function of some arrays, each both input and output, as the check sees it.
struct Checked {
    std::vector<std::vector<double>> start;  ///< elements of each checked array
    std::vector<int> arguments;              ///< the number of each checked argument
    bool single = false;                     ///< true where one of the arrays is of float, not double
    /// Runs the function from these elements. Gives the elements of all checked arrays afterwards.
    std::function<std::vector<std::vector<double>>(const std::vector<std::vector<double>>&)> run;
    /// Runs reverse mode from `start` with these shadows. Gives the shadows afterwards.
    std::function<std::vector<std::vector<double>>(const std::vector<std::vector<double>>&)> reverse;
};
GradientCheck check(const Checked& checked, const GradientCheckOptions& options);

template <class A> struct is_checked : std::false_type {};
template <class T, int N>
    requires(std::is_same_v<T, float> || std::is_same_v<T, double>)
struct is_checked<Array<T, N>> : std::true_type {
    static constexpr bool single = std::is_same_v<T, float>;
};

/// A new array with these elements, of the shape of the other array.
template <class T, int N> Array<T, N> fresh(const Array<T, N>& like, const std::vector<double>& elements) {
    Array<T, N> a(like.device(), like.extents, false);
    std::vector<T> host(elements.size());
    for (size_t i = 0; i < host.size(); ++i) host[i] = T(elements[i]);
    a.copy_from(host);
    return a;
}
template <class A> std::vector<double> elements_of(const A& array) {
    const auto host = array.download();
    return {host.begin(), host.end()};
}

/// `call(reverse, arguments...)` runs on plain arguments, or, in reverse mode, on annotated ones.
template <class Call, class... A>
GradientCheck check_arguments(const Call& call, const GradientCheckOptions& options, const A&... arguments) {
    Checked c;
    int number = 0;
    const auto collect = [&]<class G>(const G& a) {
        ++number;
        if constexpr (is_checked<G>::value) {
            c.start.push_back(elements_of(a));
            c.arguments.push_back(number);
            c.single = c.single || is_checked<G>::single;
        }
    };
    (collect(arguments), ...);
    const auto collected = [](auto& values, const auto& array_of) {
        std::vector<std::vector<double>> after;
        const auto add = [&]<class G>(std::type_identity<G>, auto& v) {
            if constexpr (is_checked<G>::value) after.push_back(elements_of(array_of(v)));
        };
        std::apply([&](auto&... v) { (add(std::type_identity<A>(), v), ...); }, values);
        return after;
    };
    c.run = [&](const std::vector<std::vector<double>>& at) {
        size_t next = 0;
        const auto own = [&]<class G>(const G& a) {
            if constexpr (is_checked<G>::value)
                return fresh(a, at[next++]);
            else if constexpr (requires { a.value; })
                return a.value.clone();
            else
                return a;
        };
        std::tuple<decltype(own(arguments))...> values{own(arguments)...};
        std::apply([&](auto&... v) { call(std::false_type(), v...); }, values);
        return collected(values, [](auto& v) -> auto& { return v; });
    };
    c.reverse = [&](const std::vector<std::vector<double>>& seeds) {
        size_t next = 0;
        const auto annotated = [&]<class G>(const G& a) {
            if constexpr (is_checked<G>::value) {
                const size_t n = next++;
                return Duplicated<G>(fresh(a, c.start[n]), fresh(a, seeds[n]));
            } else if constexpr (requires { a.value; }) {
                return Const(a.value.clone());
            } else {
                return Const<G>(a);
            }
        };
        std::tuple<decltype(annotated(arguments))...> values{annotated(arguments)...};
        std::apply([&](auto&... v) { call(std::true_type(), v...); }, values);
        return collected(values, [](auto& v) -> auto& { return v.shadow; });
    };
    return check(c, options);
}

/// The kernel parameter for a parameter of a function: an array of one element; for an integer a scalar.
template <class P> using CheckedParameter = std::conditional_t<std::is_floating_point_v<P>, In<P>, Val<P>>;

template <class... R, class... P>
GradientCheck check_function(const GradientCheckOptions& options, const Function<std::tuple<R...>, P...>& f, const P&... x) {
    static_assert((std::is_arithmetic_v<P> && ...) && (std::is_floating_point_v<R> && ...),
                  "pumice: check_gradient takes functions of numbers that give floats or doubles; for others write a kernel "
                  "around the function");
    const Device device = Device::open("interp");
    const auto k = kernel(f.name(), [f](CheckedParameter<P>... a, Out<R>... y) {
        const auto value = [](const auto& parameter) {
            if constexpr (requires { parameter.size(0); })
                return parameter[0];
            else
                return parameter;
        };
        if constexpr (sizeof...(R) == 1)
            ((y[0] = f(value(a)...)), ...);
        else
            std::apply([&](const auto&... result) { ((y[0] = result), ...); }, f(value(a)...));
    });
    const auto argument = [&](const auto& value) {
        if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(value)>>)
            return device.full(1, value);
        else
            return value;
    };
    return check_gradient(options, k, ndrange(1), argument(x)..., device.zeros<R>(1)...);
}

}  // namespace derive

/// Compares the reverse mode of a kernel with central differences along random directions through all its float and double arrays
/// that are given plainly; Const(array) and scalars are held. The arrays themselves do not change. Where the two disagree, the
/// component that contributes most is found by bisection. The options may be left out.
template <derive::KernelType K, class... A>
GradientCheck check_gradient(const GradientCheckOptions& options, const K& kernel, const Range& range, const A&... arguments) {
    return derive::check_arguments(
        [&](auto reverse, auto&... a) {
            if constexpr (decltype(reverse)::value)
                autodiff(Reverse, kernel, range, a...);
            else
                kernel(range, a...);
        },
        options, arguments...);
}
template <derive::KernelType K, class... A>
GradientCheck check_gradient(const K& kernel, const Range& range, const A&... arguments) {
    return check_gradient(GradientCheckOptions(), kernel, range, arguments...);
}
/// The same for a program.
template <derive::ProgramFunction F, class... A>
GradientCheck check_gradient(const GradientCheckOptions& options, F&& program, const A&... arguments) {
    return derive::check_arguments(
        [&](auto reverse, auto&... a) {
            if constexpr (decltype(reverse)::value)
                autodiff(Reverse, program, a...);
            else
                program(a...);
        },
        options, arguments...);
}
template <derive::ProgramFunction F, class... A>
    requires(!std::is_same_v<std::remove_cvref_t<F>, GradientCheckOptions>)
GradientCheck check_gradient(F&& program, const A&... arguments) {
    return check_gradient(GradientCheckOptions(), program, arguments...);
}
/// The same for a function of scalars at a point, on the interpreter; integers are held fixed. If the function has a rule for
/// reverse mode, the rule is checked.
template <class... R, class... P, class... X>
    requires(sizeof...(X) == sizeof...(P))
GradientCheck check_gradient(const GradientCheckOptions& options, const Function<std::tuple<R...>, P...>& f, const X&... x) {
    return derive::check_function(options, f, P(x)...);
}
template <class... R, class... P, class... X>
    requires(sizeof...(X) == sizeof...(P))
GradientCheck check_gradient(const Function<std::tuple<R...>, P...>& f, const X&... x) {
    return derive::check_function({}, f, P(x)...);
}

}  // namespace pumice
