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
    std::string array;      ///< in an argument that is a struct of arrays, the array: "grid.density"
    int64_t index = 0;      ///< the linear index of its element
    std::string member;     ///< of an element that is a struct or vector, the number: "velocity.x"
    double gradient = 0;    ///< the derivative by the component
    double difference = 0;  ///< the central difference by the component
    explicit operator bool() const { return good; }
    /// "the gradient agrees with central differences (worst error 1.2e-05)", or a sentence with the worst component.
    std::string text() const;
};

namespace derive {

/// An array that is checked.
struct CheckedArray {
    int argument = 0;                  ///< counted from 1
    std::string name;                  ///< in a struct of arrays
    std::vector<std::string> members;  ///< the names of an element's floats and doubles
};

/// A function of some arrays, each both input and output, as the check sees it. Below, values are those of each checked array.
struct Checked {
    std::vector<CheckedArray> arrays;
    std::vector<std::vector<double>> start;  ///< values: the floats and doubles of all elements
    bool single = false;                     ///< true where one of the arrays has floats
    /// Runs the function from these values. Gives the values of all checked arrays afterwards.
    std::function<std::vector<std::vector<double>>(const std::vector<std::vector<double>>&)> run;
    /// Runs reverse mode from `start` with these shadows. Gives the shadows afterwards.
    std::function<std::vector<std::vector<double>>(const std::vector<std::vector<double>>&)> reverse;
};
GradientCheck check(const Checked& checked, const GradientCheckOptions& options);
/// The floats and doubles of an element. Throws Error for numbers that are too coarse for differences.
std::vector<Leaf> checked_leaves(const Element& element, int argument, const std::string& name);

/// Calls act(number) for each float and double of an element.
template <class T, class Act> void each_checked_number(T& element, const Act& act) {
    using Host = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Host, float> || std::is_same_v<Host, double>)
        act(element);
    else if constexpr (!ScalarType<Host>)
        structure<Host>::each_value(element, [&](auto& member) { each_checked_number(member, act); });
}
template <class T> constexpr bool has_checked_numbers() {
    bool any = std::is_same_v<T, float> || std::is_same_v<T, double>;
    if constexpr (!ScalarType<T>)
        structure<T>::each_type([&]<class F>(const char*, size_t, F*) { any = any || has_checked_numbers<F>(); });
    return any;
}

/// Calls act(array, name) for an argument that is an array, or for each array in a struct of arrays.
template <class G, class Act> void each_array(G& argument, const Act& act, const std::string& name = {}) {
    using Host = std::remove_const_t<G>;
    if constexpr (detail::is_array<Host>::value) {
        act(argument, name);
    } else if constexpr (detail::HoldsArrays<Host>) {
        std::vector<const char*> names;
        structure<Host>::each_type([&]<class F>(const char* member, size_t, F*) { names.push_back(member); });
        size_t n = 0;
        structure<Host>::each_value(argument,
                                    [&](auto& member) { each_array(member, act, detail::member_path(name, names[n++])); });
    }
}
template <class A> struct elements_checked : std::false_type {};
template <class T, int N> struct elements_checked<Array<T, N>> : std::bool_constant<has_checked_numbers<T>()> {};
template <class G> constexpr bool is_checked() {
    if constexpr (detail::HoldsArrays<G>) {
        bool any = false;
        structure<G>::each_type([&]<class F>(const char*, size_t, F*) { any = any || is_checked<F>(); });
        return any;
    } else {
        return elements_checked<G>::value;
    }
}

/// A new array with these numbers, of the shape of the other array; what is not checked is that of the other one.
template <class A> A fresh(const A& like, const std::vector<double>& numbers) {
    A array = like.clone();
    auto host = like.download();
    size_t next = 0;
    for (auto& element : host) each_checked_number(element, [&]<class T>(T& number) { number = T(numbers[next++]); });
    array.copy_from(host);
    return array;
}
template <class A> std::vector<double> numbers_of(const A& array) {
    std::vector<double> numbers;
    for (const auto& element : array.download())
        each_checked_number(element, [&](const auto& number) { numbers.push_back(double(number)); });
    return numbers;
}

/// The argument with arrays of its own: those that are checked with the values from `next` on, the others as they are.
template <class G> G with_values(G argument, const std::vector<std::vector<double>>& values, size_t& next) {
    each_array(argument, [&]<class A>(A& array, const std::string&) {
        if constexpr (elements_checked<A>::value)
            array = fresh(array, values[next++]);
        else
            array = array.clone();
    });
    return argument;
}
template <class G> G with_own_arrays(G argument) {
    each_array(argument, [](auto& array, const std::string&) { array = array.clone(); });
    return argument;
}
template <class G> void put_values(const G& argument, std::vector<std::vector<double>>& values) {
    each_array(argument, [&]<class A>(const A& array, const std::string&) {
        if constexpr (elements_checked<A>::value) values.push_back(numbers_of(array));
    });
}

template <class A> constexpr bool is_held = false;
template <class T> constexpr bool is_held<Const<T>> = true;

/// `call(reverse, arguments...)` runs on plain arguments, or, in reverse mode, on annotated ones.
template <class Call, class... A>
GradientCheck check_arguments(const Call& call, const GradientCheckOptions& options, const A&... arguments) {
    Checked c;
    int number = 0;
    const auto collect = [&]<class G>(const G& a) {
        ++number;
        if constexpr (!is_held<G>)
            each_array(a, [&]<class T, int N>(const Array<T, N>& array, const std::string& name) {
                CheckedArray found{number, name, {}};
                for (const Leaf& leaf : checked_leaves(detail::element_of<T>(), number, name)) {
                    found.members.push_back(leaf.path);
                    c.single = c.single || leaf.type == Scalar::f32;
                }
                if (found.members.empty()) return;
                c.start.push_back(numbers_of(array));
                c.arrays.push_back(std::move(found));
            });
    };
    (collect(arguments), ...);
    c.run = [&](const std::vector<std::vector<double>>& at) {
        size_t next = 0;
        const auto own = [&]<class G>(const G& a) {
            if constexpr (is_held<G>)
                return with_own_arrays(a.value);
            else
                return with_values(a, at, next);
        };
        std::tuple<decltype(own(arguments))...> values{own(arguments)...};
        std::apply([&](auto&... v) { call(std::false_type(), v...); }, values);
        std::vector<std::vector<double>> after;
        const auto put = [&]<class G>(std::type_identity<G>, const auto& v) {
            if constexpr (!is_held<G>) put_values(v, after);
        };
        std::apply([&](auto&... v) { (put(std::type_identity<A>(), v), ...); }, values);
        return after;
    };
    c.reverse = [&](const std::vector<std::vector<double>>& seeds) {
        size_t next = 0;
        const auto annotated = [&]<class G>(const G& a) {
            if constexpr (is_held<G>) {
                return Const(with_own_arrays(a.value));
            } else if constexpr (is_checked<G>()) {
                size_t same = next;
                const G value = with_values(a, c.start, same);
                return Duplicated<G>(value, with_values(a, seeds, next));
            } else {
                return Const<G>(with_own_arrays(a));
            }
        };
        std::tuple<decltype(annotated(arguments))...> values{annotated(arguments)...};
        std::apply([&](auto&... v) { call(std::true_type(), v...); }, values);
        std::vector<std::vector<double>> after;
        const auto put = [&](const auto& v) {
            if constexpr (requires { v.shadow; }) put_values(v.shadow, after);
        };
        std::apply([&](auto&... v) { (put(v), ...); }, values);
        return after;
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

/// Compares the reverse mode of a kernel with central differences along random directions through all floats and doubles in
/// arrays that are given plainly, also in arrays of vectors and structs, and in structs of arrays. Const(array), scalars and
/// other types are held; narrow floats are too coarse for differences, so that their arrays must be Const. The arrays themselves
/// do not change; images do where the kernel writes them. Where the two disagree, the component that contributes most is found by
/// bisection. The options may be left out.
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
