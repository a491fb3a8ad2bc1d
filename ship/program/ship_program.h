// Programs in a shipped library: host functions that allocate arrays, launch kernels, copy and fill, and their gradients. Public.
//
//   PUMICE_SHIP(ship::program("inverse", loss_of, ship::inout<float>("loss", {1}), ship::in<float>("u0", {ship::size("n", 256)}),
//                             ship::constant<float>("target", {ship::size("n", 256)}), ship::scalar("rate", 0.2f))
//                   .gradient(8));
//
// The program runs once for each form of it that is shipped, on a device that writes down what it is asked for. docs/shipping.md,
// "Programs", says what a program may do.
#pragma once
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "autodiff/program/program.h"

namespace pumice::ship {

/// An extent of an array: a number, or a size that the caller of the shipped program chooses, or a multiple of one plus a number.
struct Size {
    std::string name = {};  ///< "": the number `plus`
    int64_t example = 0, least = 0, step = 1;
    int64_t times = 0, plus = 0;

    Size() = default;
    template <std::integral T> Size(T number) : plus(int64_t(number)) {}
    /// Callers give at least this. By default a fourth of the example.
    Size at_least(int64_t number) const;
    /// Callers give `least` plus a multiple of this.
    Size in_steps_of(int64_t number) const;
    friend Size operator*(Size a, int64_t b) { return a.times *= b, a.plus *= b, a; }
    friend Size operator*(int64_t a, Size b) { return b * a; }
    friend Size operator+(Size a, int64_t b) { return a.plus += b, a; }
    friend Size operator-(Size a, int64_t b) { return a.plus -= b, a; }
};
/// A size with this name; the program is captured with the example and with other values. As an argument of the program: an
/// int64_t.
Size size(std::string name, int64_t example);

/// The form of a program.
enum class Entry { forward, gradient };

/// A parameter of a program, without its C++ type.
struct ProgramParameter {
    std::string name = {};
    bool is_array = false, is_size = false;
    const Element* element = nullptr;  ///< of an array
    Scalar type = Scalar::f32;         ///< of a scalar
    std::vector<Size> extents = {};
    ir::Access access = ir::Access::in;
    bool active = false;  ///< the gradient has a derivative by it
    uint64_t example = 0;
};

/// One run of a program that is captured.
class ProgramCapture {
public:
    virtual ~ProgramCapture() = default;
    virtual Device device() = 0;
    virtual int64_t value_of(const Size& size) = 0;
    /// The array is an argument of the shipped program.
    virtual void is_argument(const detail::ArrayState& array, int parameter, bool shadow) = 0;
    /// The number is an argument of the shipped program.
    virtual void is_argument(const derive::HostScalar& number, int parameter) = 0;
    /// A number of a run without a derivative.
    virtual derive::HostScalar number(Scalar type, uint64_t bits) = 0;
    /// The primal run has ended; what follows is the reverse sweep.
    virtual void primal_is_done() = 0;
};

template <class T, int N> struct ArrayParameter : ProgramParameter {
    static constexpr bool has_floats = derive::has_numbers<T>();
    Array<T, N> array(ProgramCapture& capture, int number, bool shadow) const {
        std::array<int64_t, size_t(N)> e;
        for (size_t d = 0; d < size_t(N); ++d) e[d] = capture.value_of(extents[d]);
        Array<T, N> made(capture.device(), e, false);
        if (made.state->memory) capture.is_argument(*made.state, number, shadow);
        return made;
    }
    Array<T, N> plain(ProgramCapture& capture, int number) const { return array(capture, number, false); }
};
template <class T, int N> struct ConstantParameter : ArrayParameter<T, N> {
    Const<Array<T, N>> annotated(ProgramCapture& capture, int number) const {
        return Const<Array<T, N>>(this->array(capture, number, false));
    }
};
template <class T, int N> struct DifferentiatedParameter : ArrayParameter<T, N> {
    auto annotated(ProgramCapture& capture, int number) const {
        const Array<T, N> value = this->array(capture, number, false);
        if constexpr (derive::has_numbers<T>())
            return Duplicated<Array<T, N>>(value, this->array(capture, number, true));
        else
            return Const<Array<T, N>>(value);
    }
};
template <class T> struct ScalarParameter : ProgramParameter {
    Traced<T> plain(ProgramCapture& capture, int number) const {
        const Traced<T> made(capture.number(type, example));
        capture.is_argument(made.scalar, number);
        return made;
    }
    derive::FollowedConst<T> annotated(ProgramCapture&, int) const {
        return derive::FollowedConst<T>(derive::from_bits<T>(example));
    }
};
template <class T> struct ActiveParameter : ScalarParameter<T> {
    Active<T> annotated(ProgramCapture&, int) const { return Active<T>(derive::from_bits<T>(this->example)); }
};
struct SizeParameter : ProgramParameter {
    int64_t plain(ProgramCapture& capture, int) const { return capture.value_of(extents[0]); }
    Const<int64_t> annotated(ProgramCapture& capture, int) const { return Const<int64_t>(capture.value_of(extents[0])); }
};

template <class P, class T, std::size_t N>
P array_parameter(std::string name, const Size (&extents)[N], ir::Access access, bool active) {
    P p;
    p.name = std::move(name), p.is_array = true, p.element = &detail::element_of<T>(), p.access = access, p.active = active;
    p.extents.assign(extents, extents + N);
    return p;
}
/// Arrays that the program reads, writes, or both; a gradient has a shadow for each that has floats.
template <class T, std::size_t N> auto in(std::string name, const Size (&extents)[N]) {
    using P = DifferentiatedParameter<T, int(N)>;
    return array_parameter<P, T>(std::move(name), extents, ir::Access::in, P::has_floats);
}
template <class T, std::size_t N> auto out(std::string name, const Size (&extents)[N]) {
    using P = DifferentiatedParameter<T, int(N)>;
    return array_parameter<P, T>(std::move(name), extents, ir::Access::out, P::has_floats);
}
template <class T, std::size_t N> auto inout(std::string name, const Size (&extents)[N]) {
    using P = DifferentiatedParameter<T, int(N)>;
    return array_parameter<P, T>(std::move(name), extents, ir::Access::inout, P::has_floats);
}
/// An array that the program reads, by which no derivative is asked for.
template <class T, std::size_t N> auto constant(std::string name, const Size (&extents)[N]) {
    return array_parameter<ConstantParameter<T, int(N)>, T>(std::move(name), extents, ir::Access::in, false);
}
template <class P, class T> P scalar_parameter(std::string name, T example, bool active) {
    P p;
    p.name = std::move(name), p.type = *scalar_of<T>(), p.active = active;
    __builtin_memcpy(&p.example, &example, sizeof(T));
    return p;
}
/// A scalar. The program takes it as Traced<T>, or as auto.
template <ScalarType T> auto scalar(std::string name, T example) {
    return scalar_parameter<ScalarParameter<T>>(std::move(name), example, false);
}
/// A scalar by which the gradient gives the derivative.
template <ScalarType T> auto active(std::string name, T example) {
    return scalar_parameter<ActiveParameter<T>>(std::move(name), example, true);
}

/// A program that is shipped.
struct ProgramItem {
    std::string name = {};
    detail::SourceLocation location = {};
    std::vector<ProgramParameter> parameters = {};
    std::function<void(ProgramCapture&, Entry, ReverseMode)> run = {};
    bool has_gradient = false;
    ReverseMode mode = Reverse;

    /// Ships the gradient, too. `checkpoints`: the largest number of states that it keeps (Reverse.checkpoints); 0: all.
    ProgramItem gradient(int checkpoints = 0) const;
};

template <class P> const P& as_parameter(const P& p) { return p; }
inline SizeParameter as_parameter(const Size& s) {
    SizeParameter p;
    p.name = s.name, p.is_size = true, p.type = Scalar::i64, p.extents = {s};
    return p;
}

namespace detail_of_programs {
template <class F, class Parameters, size_t... I>
void run_forward(F& f, const Parameters& parameters, ProgramCapture& capture, std::index_sequence<I...>) {
    // Braces evaluate from left to right.
    std::tuple arguments{std::get<I>(parameters).plain(capture, int(I))...};
    static_assert(std::is_invocable_v<F&, std::tuple_element_t<I, decltype(arguments)>&...>,
                  "pumice: the program does not take the parameters that it is shipped with; it takes a scalar as auto, or as "
                  "Traced<float>");
    std::apply([&](auto&... a) { f(a...); }, arguments);
}
template <class F, class Parameters, size_t... I>
void run_gradient(F& f, const Parameters& parameters, ProgramCapture& capture, ReverseMode mode, std::index_sequence<I...>) {
    const auto bind = [&](const auto& argument, int number) {
        if constexpr (requires { argument.scalar.number; }) capture.is_argument(argument.scalar, number);
    };
    const auto program = [&](auto&... a) {
        (bind(a, int(I)), ...);
        f(a...);
        capture.primal_is_done();
    };
    std::tuple annotations{std::get<I>(parameters).annotated(capture, int(I))...};
    std::apply([&](auto&... a) { autodiff(mode, program, a...); }, annotations);
}
}  // namespace detail_of_programs

/// A program with its parameters, which are given to `f` in order: arrays, Traced scalars, and sizes as int64_t. It returns
/// nothing.
template <class F, class... P> ProgramItem make_program(std::string name, F f, detail::SourceLocation location, P... given) {
    ProgramItem item;
    item.name = std::move(name), item.location = location;
    item.parameters = {static_cast<const ProgramParameter&>(given)...};
    const std::tuple<P...> parameters(given...);
    item.run = [f, parameters](ProgramCapture& capture, Entry entry, ReverseMode mode) {
        F own = f;
        if (entry == Entry::forward)
            detail_of_programs::run_forward(own, parameters, capture, std::index_sequence_for<P...>());
        else
            detail_of_programs::run_gradient(own, parameters, capture, mode, std::index_sequence_for<P...>());
    };
    return item;
}
/// The name of a program with the line of its definition.
struct ProgramName {
    std::string name;
    detail::SourceLocation location;
    ProgramName(const char* name, PUMICE_AT) : name(name), location(PUMICE_HERE) {}
    ProgramName(std::string name, PUMICE_AT) : name(std::move(name)), location(PUMICE_HERE) {}
};
template <class F, class... P> ProgramItem program(const ProgramName& name, F f, const P&... parameters) {
    return make_program(name.name, std::move(f), name.location, as_parameter(parameters)...);
}

/// Registers a program of a file that pumice_add_library is given, as add() of kernels.
bool add(std::function<ProgramItem()> make);
inline ProgramItem item(const ProgramItem& program) { return program; }

}  // namespace pumice::ship
