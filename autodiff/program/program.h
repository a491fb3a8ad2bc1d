// Derivatives of programs: host functions that launch kernels.
#pragma once
#include "autodiff/api/autodiff.h"
#include "autodiff/api/custom_rules.h"
#include "autodiff/program/traced_struct.h"
#include "core/host/trace_hook.h"
#include "core/kernel/function.h"

namespace pumice {
namespace derive {

class ProgramBuffers;
template <class T> struct FollowedConst;
}  // namespace derive
namespace detail {
template <class T> struct annotation<derive::FollowedConst<T>> : annotated<T> {};
}  // namespace detail
namespace derive {

/// One derivative of one run of a program. Reverse mode records the commands of the function and reverses them; forward mode
/// runs the tangents along with them.
class ProgramDerivative {
public:
    ProgramDerivative(ReverseMode mode, int width);
    ProgramDerivative(ForwardMode mode, int width);
    ~ProgramDerivative();
    void annotate(const std::vector<ArgumentSlot>& arguments);
    /// Runs the function on this thread.
    void run(const std::function<void()>& function);
    /// The function has returned this array: its shadow starts as 1 everywhere.
    void seed(const HostArgument& array);
    /// Reverse mode: the reverse sweep over the recorded commands. Forward mode: checks that no result has lost its tangent.
    void reverse();
    /// A followed number for a differentiated scalar argument.
    HostScalar follow(const ArgumentSlot& slot);
    /// Reverse mode, after the reverse sweep: the derivative by such a number along a direction, as bits of its type.
    uint64_t derivative(const HostArgument& number, int direction) const;
    /// Forward mode: the tangent of an array, one a direction.
    std::shared_ptr<detail::ArrayState> tangent(const HostArgument& array, int direction);

private:
    std::unique_ptr<ProgramBuffers> record;
    bool is_forward;
    struct ScalarShadow {
        void* to;
        HostArgument number;
    };
    std::vector<ScalarShadow> scalar_shadows;  ///< numbers of a MixedDuplicated: their derivatives are added to the shadow
};

/// The tangents of the result of the function where it is an array (for several directions an array of them), else nothing.
template <std::size_t W, class T> std::tuple<> result_tangents(ProgramDerivative&, const T&) { return {}; }
template <std::size_t W, class T, int N> auto result_tangents(ProgramDerivative& program, const Array<T, N>& result) {
    const auto along = [&](int w) { return Array<T, N>(result.extents, program.tangent(flat(result)[0], w)); };
    if constexpr (W == 1)
        return std::tuple(along(0));
    else {
        std::array<Array<T, N>, W> all;
        for (std::size_t w = 0; w < W; ++w) all[w] = along(int(w));
        return std::tuple(all);
    }
}
/// Of an image: arrays like its shadow.
template <std::size_t W, class T, int N, ImageLayout L>
auto result_tangents(ProgramDerivative& program, const Image<T, N, L>& result) {
    constexpr int rank = N + (L != ImageLayout::plain);
    const HostArgument argument = flat(result)[0];
    std::array<Array<T, rank>, W> all;
    for (std::size_t w = 0; w < W; ++w) {
        for (int d = 0; d < rank; ++d) all[w].extents[std::size_t(d)] = argument.extents[std::size_t(d)];
        all[w].state = program.tangent(argument, int(w));
    }
    if constexpr (W == 1)
        return std::tuple(all[0]);
    else
        return std::tuple(all);
}

/// The names of the scalars and arrays of an argument in messages: "" or, in a struct, " (grid.step)".
template <class T> void put_names(const std::string& path, std::vector<std::string>& names) {
    if constexpr (ScalarType<T> || detail::is_array<T>::value || detail::is_image<T>::value)
        names.push_back(path.empty() ? "" : " (" + path + ")");
    else
        structure<T>::each_type(
            [&]<class F>(const char* name, size_t, F*) { put_names<F>(detail::member_path(path, name), names); });
}
template <class A> void put_labelled(const A& annotation, int number, std::vector<ArgumentSlot>& arguments) {
    using T = typename detail::annotation<A>::type;
    const std::size_t first = arguments.size();
    put_slots<T>(annotation, arguments);
    std::vector<std::string> names;
    put_names<T>("", names);
    for (std::size_t i = 0; i < names.size(); ++i) arguments[first + i].label = text("argument ", number, names[i]);
}

/// A scalar that the program receives as a Traced number, and by which no derivative is asked for: a parameter of a shipped
/// program.
template <class T> struct FollowedConst {
    T value;
    explicit FollowedConst(const T& value) : value(value) {}
};
template <class A> struct is_followed_const : std::false_type {};
template <class T> struct is_followed_const<FollowedConst<T>> : std::true_type {};
template <class H, class T> void put_slots(const FollowedConst<T>& a, std::vector<ArgumentSlot>& arguments) {
    put_slots<H>(Const<T>(a.value), arguments);
}

/// True if the derivative follows the numbers of the argument. For a struct that holds arrays this needs a MixedDuplicated,
/// which has a place for the derivatives.
template <class A> constexpr bool is_followed() {
    using T = typename detail::annotation<A>::type;
    if constexpr (std::is_same_v<A, Const<T>> || detail::is_array<T>::value || detail::is_image<T>::value)
        return false;
    else if constexpr (is_followed_const<A>::value)
        return true;
    else
        return has_numbers<T>() && (!detail::HoldsArrays<T> || std::is_same_v<A, MixedDuplicated<T>>);
}
/// The value that the function receives for an annotated argument, whose slots begin at `next`: followed numbers, else the
/// argument itself.
template <class A> decltype(auto) given(ProgramDerivative& program, A& annotation, const ArgumentSlot*& next) {
    using T = typename detail::annotation<A>::type;
    TracedSource source{program, next};
    next += detail::host_count<T>();
    if constexpr (is_followed<A>())
        return Traced<T>(source);
    else
        return (annotation.value);
}
/// The derivatives of the numbers of an Active argument, one a direction, as a tuple; nothing for other arguments.
template <class A, std::size_t W, class Given> auto active_of(const ProgramDerivative& program, const Given& given) {
    using T = typename detail::annotation<A>::type;
    if constexpr (std::is_same_v<A, Active<T>> && is_followed<A>()) {
        std::array<T, W> all{};
        const std::vector<HostArgument> numbers = flat(given);
        for (std::size_t w = 0; w < W; ++w) {
            std::vector<void*> to;
            put_targets(all[w], to);
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                if (!numbers[i].followed_by) continue;
                const uint64_t bits = program.derivative(numbers[i], int(w));
                __builtin_memcpy(to[i], &bits, std::size_t(size_of(numbers[i].type)));
            }
        }
        if constexpr (W == 1)
            return std::tuple<T>(all[0]);
        else
            return std::tuple<std::array<T, W>>(all);
    } else {
        return std::tuple<>();
    }
}

/// Runs the function in the mode. Gives a tuple of the derivatives of the Active scalars (reverse mode) or of the tangents of
/// the result (forward mode), and the result where it is asked for.
template <bool primal, class Mode, class F, class... A> auto run_program(Mode mode, F& f, A&... annotations) {
    constexpr std::size_t width = detail::batch_width<A...>();
    ProgramDerivative program(mode, int(width));
    std::vector<ArgumentSlot> annotated;
    int number = 0;
    (put_labelled(annotations, ++number, annotated), ...);
    program.annotate(annotated);
    const ArgumentSlot* next = annotated.data();
    // Braces evaluate from left to right, unlike the arguments of a call.
    std::tuple<decltype(given(program, annotations, next))...> arguments{given(program, annotations, next)...};
    const auto inputs = arguments;  // the program may assign other values to its arguments
    static_assert(std::is_invocable_v<F&, std::remove_reference_t<decltype(given(program, annotations, next))>&...>,
                  "pumice: the program does not take what is annotated; a scalar that is Active or Duplicated it takes as auto, "
                  "or as Traced<float>, "
                  "so that the derivative can follow what it computes with it, and a struct S that is so, or MixedDuplicated, "
                  "and has numbers, as Traced<S>");
    const auto call = [&](auto&... given) -> decltype(auto) { return f(given...); };
    using Result = std::remove_cvref_t<decltype(std::apply(call, arguments))>;
    const auto actives = [&] {
        return std::apply([&](const auto&... given) { return std::tuple_cat(active_of<A, width>(program, given)...); }, inputs);
    };
    if constexpr (std::is_void_v<Result>) {
        program.run([&] { std::apply(call, arguments); });
        program.reverse();
        return actives();
    } else {
        std::optional<Result> result;
        program.run([&] { result.emplace(std::apply(call, arguments)); });
        constexpr bool has_shadow = detail::is_array<Result>::value || detail::is_image<Result>::value;
        if constexpr (has_shadow && std::is_base_of_v<ReverseMode, Mode>) program.seed(flat(*result)[0]);
        program.reverse();
        const auto derivatives = [&] {
            if constexpr (std::is_base_of_v<ForwardMode, Mode>)
                return result_tangents<width>(program, *result);
            else
                return actives();
        }();
        if constexpr (primal)
            return std::tuple_cat(derivatives, std::tuple<Result>(*result));
        else
            return derivatives;
    }
}

template <class F> concept ProgramFunction =
    !KernelType<std::remove_cvref_t<F>> && !std::is_base_of_v<FunctionBase, std::remove_cvref_t<F>>;

}  // namespace derive

/// Reverse mode of a program: runs the host function with the annotated values, records its launches, copies, fills, uploads
/// and allocations on this thread, and reverses them. Shadows accumulate as they do for kernels. Arrays that the function
/// allocates have shadows of their own. The shadow of an array that the function returns starts as 1. For an Active scalar the
/// function takes a Traced number (or auto). Gives a tuple of the derivatives of the Active scalars, in order; arrays of them
/// for a batch. Throws Error for misuse, and where the function uploads floats that the result depends on after it has read
/// back active data.
template <derive::ProgramFunction F, detail::Annotation... A> auto autodiff(ReverseMode mode, F&& f, A... annotations) {
    return derive::run_program<false>(mode, f, annotations...);
}
/// Reverse mode of a program, whose result follows the derivatives.
template <derive::ProgramFunction F, detail::Annotation... A> auto autodiff(ReverseWithPrimalMode mode, F&& f, A... annotations) {
    return derive::run_program<true>(mode, f, annotations...);
}
/// Forward mode of a program: tangents run along with its commands. Gives a tuple of the tangent of the array that the function
/// returns, if it returns one; ForwardWithPrimal adds the array.
template <derive::ProgramFunction F, detail::Annotation... A> auto autodiff(ForwardMode mode, F&& f, A... annotations) {
    return derive::run_program<false>(mode, f, annotations...);
}
template <derive::ProgramFunction F, detail::Annotation... A> auto autodiff(ForwardWithPrimalMode mode, F&& f, A... annotations) {
    return derive::run_program<true>(mode, f, annotations...);
}

/// Runs `act` inside a program without derivatives: arrays that it writes are constant, and its reads end no derivative.
void no_derivative(const std::function<void()>& act);

/// A host function that a program calls as one step: it may read arrays, compute, and write them. P are its parameters:
/// `Array<T, N>&` for arrays that it writes, `const Array<T, N>&` for arrays that it only reads, and scalars.
template <class... P> class HostStep {
public:
    HostStep(std::string name, std::function<void(P...)> f) : name(std::move(name)), function(std::move(f)) {}

    /// The rule of reverse mode. It receives each array as Duplicated, with the contents from before the step; the shadow of a
    /// constant array is empty. It adds to the shadows of arrays that are read and consumes the shadows of arrays that are
    /// written.
    template <class Rule> HostStep reverse(Rule rule) const { return with(rule, &HostStep::reverse_rule); }
    /// The rule of forward mode: the shadows are tangents. It runs before the step.
    template <class Rule> HostStep forward(Rule rule) const { return with(rule, &HostStep::forward_rule); }
    /// Arrays that the step writes have no derivative.
    HostStep inactive() const {
        HostStep other = *this;
        other.is_inactive = true;
        return other;
    }

    /// Runs the step; in a program that is differentiated, as one command of its tape.
    void operator()(P... arguments) const {
        detail::TraceHook* hook = detail::trace_hook();
        const auto flat = detail::host_arguments(static_cast<const std::remove_cvref_t<P>&>(arguments)...);
        if (!hook || !hook->calling(call(), flat)) function(arguments...);
    }

private:
    using Rule = std::function<void(std::span<const detail::HostArgument>, std::span<const detail::HostArgument>)>;
    template <class Given> HostStep with(Given given, Rule HostStep::* rule) const {
        HostStep other = *this;
        other.*rule = [given](std::span<const detail::HostArgument> values, std::span<const detail::HostArgument> shadows) {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                given(derive::RuleArgumentFrom<std::remove_cvref_t<P>>::take(slot(values[I], shadows[I]))...);
            }(std::index_sequence_for<P...>());
        };
        return other;
    }
    static derive::ArgumentSlot slot(const detail::HostArgument& value, const detail::HostArgument& shadow) {
        derive::ArgumentSlot s;
        s.value = value;
        if (value.is_array) s.shadows = {shadow};
        return s;
    }
    detail::HostCall call() const {
        detail::HostCall c;
        c.name = name;
        c.reverse = reverse_rule;
        c.forward = forward_rule;
        c.inactive = is_inactive;
        c.written = {(std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>)...};
        c.primal = [f = function](std::span<const detail::HostArgument> values) {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                std::tuple<std::remove_cvref_t<P>...> own{value_of<std::remove_cvref_t<P>>(values[I])...};
                f(std::get<I>(own)...);
            }(std::index_sequence_for<P...>());
        };
        return c;
    }
    template <class T> static T value_of(const detail::HostArgument& a) {
        if constexpr (internal::ScalarType<T>)
            return derive::from_bits<T>(a.bits);
        else if constexpr (detail::is_image<T>::value)
            return T(a.image ? std::make_shared<detail::ImageBinding>(*a.image) : nullptr);
        else
            return derive::RuleArgumentFrom<T>::take(slot(a, {})).value;
    }

    std::string name;
    std::function<void(P...)> function;
    Rule reverse_rule, forward_rule;
    bool is_inactive = false;
};

namespace derive {
template <class> struct step_type;
template <class R, class F, class... P> struct step_type<R (F::*)(P...) const> {
    using type = HostStep<P...>;
};
}  // namespace derive
/// A host step with rules for its derivative:
/// `host_step("clip", [](Array<float>& y, const Array<float>& x) { ... }).reverse(rule)`.
template <class F> auto host_step(std::string name, F f) {
    return typename derive::step_type<decltype(&F::operator())>::type(std::move(name), std::move(f));
}

}  // namespace pumice
