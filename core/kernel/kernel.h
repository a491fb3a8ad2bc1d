// Kernels: recorded once from a lambda, launched over ranges with host arguments.
#pragma once
#include <filesystem>
#include <functional>
#include <tuple>

#include "core/host/device.h"
#include "core/language/control.h"
#include "core/language/indices.h"

namespace pumice {

/// The index space of a launch: 1 to 6 dimensions, written like the indices (dimension 0 the slowest). Devices have 3 axes: of
/// more dimensions, all but the last two are folded into one axis, from which kernels recover the indices by division; groups
/// have extent 1 along them.
class Range {
public:
    /// Fixes the group's extents, one a dimension of the range. By default, the device chooses them.
    template <std::integral... E> Range group(E... extents) const { return with_group({int64_t(extents)...}); }
    /// Puts the launch on a stream instead of the default one.
    Range on(const Stream& stream) const;

    /// Measures the device's time of the launch, for Event::elapsed. A device may overlap less work around it.
    Range timed() const;

    int rank = 1;                                                          ///< 0: the kernel's own range
    std::array<int64_t, ir::max_rank> from{}, to = Launch::Array::ones();  ///< the end excluded
    std::array<int64_t, ir::max_rank> group_extents{};                     ///< zeros: the device chooses
    int group_rank = 0;
    Stream stream;
    bool is_timed = false;

private:
    Range with_group(std::initializer_list<int64_t> extents) const;
};
/// The range that a kernel fixes at its definition.
inline Range ndrange() {
    Range r;
    r.rank = 0;
    return r;
}
/// A range of extents.
template <std::integral... E>
    requires(sizeof...(E) >= 1)
Range ndrange(E... extents) {
    static_assert(sizeof...(E) <= ir::max_rank, "pumice: ranges have 1 to 6 dimensions");
    Range r;
    r.rank = int(sizeof...(E));
    r.to = {int64_t(extents)...};
    return r;
}
/// A range with an offset, the end excluded: ndrange({1, 1}, {nx - 1, ny - 1}).
template <std::size_t N> Range ndrange(const int64_t (&from)[N], const int64_t (&to)[N]) {
    static_assert(N <= ir::max_rank, "pumice: ranges have 1 to 6 dimensions");
    Range r;
    r.rank = int(N);
    for (std::size_t d = 0; d < N; ++d) r.from[d] = from[d], r.to[d] = to[d];
    return r;
}

/// A kernel option: items past the range run too, and the kernel checks in_range() itself.
struct WholeGroups {};
inline constexpr WholeGroups whole_groups;
using Math = ir::Math;

/// Kernel options that fix the extents of groups and of the range, written like the range: static_group<16, 16>. They are known
/// during recording; a launch must give the same extents or none.
template <int... E> struct StaticGroup {};
template <int... E> struct StaticRange {};
template <int... E> inline constexpr StaticGroup<E...> static_group;
template <int... E> inline constexpr StaticRange<E...> static_range;

/// Combined options of a kernel, passed to kernel() between the name and the lambda.
class KernelOptions {
public:
    KernelOptions() = default;
    KernelOptions(WholeGroups) : whole_groups(true) {}
    KernelOptions(Math math) : math(math) {}
    template <int... E> KernelOptions(StaticGroup<E...>) : group(fixed<E...>()) {}
    template <int... E> KernelOptions(StaticRange<E...>) : range(fixed<E...>()) {}
    /// Combines these options with `more`.
    KernelOptions with(const KernelOptions& more) const;
    bool whole_groups = false;
    Math math = Math::contract;
    std::vector<int64_t> group, range;  ///< in written order; empty: given by the launch

private:
    template <int... E> static std::vector<int64_t> fixed() {
        static_assert(sizeof...(E) >= 1 && sizeof...(E) <= 3, "pumice: static groups and ranges have 1 to 3 dimensions");
        static_assert(((E > 0) && ...), "pumice: the extents of a static group or range are positive");
        return {E...};
    }
};

namespace detail {

/// Throws Error if the name of `what` ("kernel") is invalid.
void check_name(const char* what, const std::string& name);

/// A host argument for one parameter of the IR.
struct HostArgument {
    bool is_array = false;
    const Element* element = nullptr;   ///< of an array
    const ArrayState* array = nullptr;  ///< null: never allocated
    std::shared_ptr<DeviceState> device;
    std::array<int64_t, ir::max_rank> extents = Launch::Array::ones();  ///< dimension 0 first
    int rank = 1;
    Scalar type = Scalar::f32;  ///< of a scalar
    uint64_t bits = 0;
    const void* followed_by = nullptr;  ///< of a traced scalar: its program's scalars, and its number among them
    int number = -1;
};

/// Writes `value` as arguments of the IR: one, or for a struct one a member, in order.
template <class T> void put_host(const T& value, HostArgument*& next) {
    if constexpr (ScalarType<T>) {
        next->type = *scalar_of<T>();
        __builtin_memcpy(&next->bits, &value, sizeof(T));
        ++next;
    } else {
        structure<T>::each_value(value, [&](const auto& member) { put_host(member, next); });
    }
}
template <class T, int N> void put_host(const Array<T, N>& value, HostArgument*& next) {
    next->is_array = true;
    next->element = &element_of<T>();
    next->array = value.state.get();
    if (next->array) next->device = value.state->device;
    next->rank = N;
    for (int d = 0; d < N; ++d) next->extents[size_t(d)] = value.extents[size_t(d)];
    ++next;
}
template <class T> constexpr size_t host_count() {
    if constexpr (ScalarType<T> || is_array<T>::value)
        return 1;
    else if constexpr (requires { typename T::traced; })
        return host_count<typename T::traced>();
    else {
        size_t n = 0;
        structure<T>::each_type([&]<class F>(const char*, size_t, F*) { n += host_count<F>(); });
        return n;
    }
}
template <class... H> auto host_arguments(const H&... values) {
    std::array<HostArgument, (host_count<H>() + ... + 0)> all;
    [[maybe_unused]] HostArgument* next = all.data();
    (put_host(values, next), ...);
    return all;
}

/// True for a traced number, or struct of such, of type T: put_host handles it.
template <class A, class T> concept Follows = std::is_same_v<typename A::traced, T>;
/// The argument for a parameter of host type H: traced values stay as they are.
template <class H, class A> decltype(auto) given_as(const A& a) {
    if constexpr (std::is_same_v<A, H> || Follows<A, H>)
        return (a);
    else
        return H(a);
}

// The host argument for a parameter of the lambda's signature.
template <class P> struct parameter {
    static_assert(never<P>, "pumice: a kernel's parameters are In<T, N>, Out<T, N>, InOut<T, N> and Val<T>, taken by value");
};
template <class T, int N> struct memory_parameter {
    using host = std::conditional_t<HoldsArrays<T>, T, Array<T, N>>;
    template <class A> static constexpr bool takes = std::is_same_v<A, host> || Follows<A, host>;
};
template <class T, int N> struct parameter<In<T, N>> : memory_parameter<T, N> {};
template <class T, int N> struct parameter<Out<T, N>> : memory_parameter<T, N> {};
template <class T, int N> struct parameter<InOut<T, N>> : memory_parameter<T, N> {};
template <class T> struct parameter<Val<T>> {
    using host = T;
    template <class A> static constexpr bool takes = std::is_same_v<A, T> || Adopts<T, A> || Follows<A, T>;
};
/// Checks one argument of a launch: the compiler's message shows its number, and the wanted and the given type.
template <int Number, class Wanted, class Given, bool right> struct Argument {
    static_assert(right,
                  "pumice: an argument of a kernel launch has the wrong type (see its number, the wanted and the given type)");
};

}  // namespace detail

/// The base of all kernels, without parameter types. Handles share one kernel.
class KernelBase {
public:
    // Moving a handle copies it, so that no handle is ever empty.
    KernelBase(const KernelBase&) = default;
    KernelBase& operator=(const KernelBase&) = default;
    /// The name given to kernel().
    const std::string& name() const;
    /// The recorded IR after cleaning (functions without rules inlined, variables promoted, dead code removed), as text for
    /// parse_ir.
    std::string ir() const;
    /// The kernel's GLSL and SPIR-V for a device of Vulkan 1.2; needs no device. Throws Error if recording fails.
    std::string glsl() const;
    std::vector<uint32_t> spirv() const;
    /// The IR as recorded, at the first use. Throws Error naming the kernel and the line of a misuse.
    std::shared_ptr<const ir::Kernel> recorded() const;
    /// Checks the arguments, compiles for their device if necessary, and starts the launch.
    Event launch(const Range& range, std::span<const detail::HostArgument> arguments) const;
    /// Data that other modules keep with the kernel, by name: made at the first call, alive as long as the kernel.
    std::shared_ptr<void> kept(const std::string& name, const std::function<std::shared_ptr<void>()>& make) const;

    struct State;
    std::shared_ptr<State> state;

protected:
    KernelBase(std::string name, KernelOptions options, detail::SourceLocation location,
               std::function<void(detail::Recorder&)> record);
    explicit KernelBase(std::shared_ptr<const ir::Kernel> recorded);
};

/// The result of kernel(): P are the lambda's parameter types.
template <class... P> class Kernel : public KernelBase {
public:
    template <class F> Kernel(std::string name, KernelOptions options, F f, detail::SourceLocation location)
        : KernelBase(std::move(name), options, location, [f = std::move(f), location](detail::Recorder& r) {
              [[maybe_unused]] int number = 0;
              (void)location;                                                                     // unused without parameters
              std::tuple<P...> params{P(detail::ParameterSource{r, location, ++number, ""})...};  // braces: from left to right
              std::apply(f, params);
          }) {}

    /// Starts the kernel over the range, asynchronously; the device is that of the arrays. Arrays stand for In, Out and InOut,
    /// host scalars for Val. Throws Error for misuse; the launch then did not happen.
    template <class... A> Event operator()(const Range& range, const A&... arguments) const {
        static_assert(sizeof...(A) == sizeof...(P),
                      "pumice: the kernel is launched with another number of arguments than it has parameters");
        if constexpr (sizeof...(A) == sizeof...(P))
            return launch_checked(range, std::index_sequence_for<P...>(), arguments...);
        else
            return {};
    }

    /// A call inside another kernel: a function on device values has the same name.
    template <detail::DeviceValue A, class... More> void operator()(const A&, const More&...) const {
        static_assert(
            detail::never<A>,
            "pumice: a kernel is called with device values: for a function of the same name write device_math::NAME(x)");
    }

    // Rules that replace the kernel's derivative; each returns the kernel itself. docs/autodiff.md defines the parameters of a
    // rule.
    template <class Rule> Kernel reverse(Rule rule) const;
    template <class Augmented, class Rule> Kernel reverse(Augmented augmented, Rule rule) const;
    template <class Rule> Kernel forward(Rule rule) const;
    /// The same kernel, whose results have no derivative.
    Kernel inactive() const;

private:
    template <std::size_t... I, class... A>
    Event launch_checked(const Range& range, std::index_sequence<I...>, const A&... arguments) const {
        constexpr bool right = (detail::parameter<P>::template takes<A> && ...);
        (void)std::tuple<
            detail::Argument<int(I) + 1, typename detail::parameter<P>::host, A, detail::parameter<P>::template takes<A>>...>();
        if constexpr (right) {
            return launch(range, detail::host_arguments(detail::given_as<typename detail::parameter<P>::host>(arguments)...));
        } else {
            return {};
        }
    }
};

/// A kernel without parameter types in C++, from text or derived: its arguments are checked at the launch.
class AnyKernel : public KernelBase {
public:
    explicit AnyKernel(std::shared_ptr<const ir::Kernel> kernel) : KernelBase(std::move(kernel)) {}
    template <class... A> Event operator()(const Range& range, const A&... arguments) const {
        return launch(range, detail::host_arguments(arguments...));
    }
};
/// Parses kernel text, as ir() writes it. Throws Error with the line of the text.
AnyKernel parse_ir(const std::string& text);

/// Writes NAME.ir, NAME.comp, NAME.spv, NAME.spvasm and NAME.json (the manifest) into a folder, which is made if missing.
/// docs/shipping.md defines the contents. Throws Error if a file cannot be written.
void dump(const KernelBase& kernel, const std::filesystem::path& folder);

namespace detail {
template <class> struct signature;
template <class R, class F, class... P> struct signature<R (F::*)(P...) const> {
    using kernel = Kernel<std::remove_cvref_t<P>...>;
};
template <class R, class F, class... P> struct signature<R (F::*)(P...)> {
    using kernel = Kernel<std::remove_cvref_t<P>...>;
};
template <class F> using kernel_of = typename signature<decltype(&F::operator())>::kernel;
}  // namespace detail

/// Defines a kernel. The name (letters, digits, _ - .) appears in messages and file names. Options, in any order:
/// whole_groups, Math::strict, static_group<...>, static_range<...>.
template <class F> auto kernel(std::string name, F f, PUMICE_AT) {
    return detail::kernel_of<F>(std::move(name), KernelOptions(), std::move(f), PUMICE_HERE);
}
template <class F> auto kernel(std::string name, KernelOptions option, F f, PUMICE_AT) {
    return detail::kernel_of<F>(std::move(name), option, std::move(f), PUMICE_HERE);
}
template <class F> auto kernel(std::string name, KernelOptions a, KernelOptions b, F f, PUMICE_AT) {
    return detail::kernel_of<F>(std::move(name), a.with(b), std::move(f), PUMICE_HERE);
}
template <class F> auto kernel(std::string name, KernelOptions a, KernelOptions b, KernelOptions c, F f, PUMICE_AT) {
    return detail::kernel_of<F>(std::move(name), a.with(b).with(c), std::move(f), PUMICE_HERE);
}
template <class F>
auto kernel(std::string name, KernelOptions a, KernelOptions b, KernelOptions c, KernelOptions d, F f, PUMICE_AT) {
    return detail::kernel_of<F>(std::move(name), a.with(b).with(c).with(d), std::move(f), PUMICE_HERE);
}

}  // namespace pumice
