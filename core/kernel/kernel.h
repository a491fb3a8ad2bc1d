// Kernels: recorded once from a lambda, launched over ranges with host arguments.
#pragma once
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <tuple>

#include "core/host/object_code.h"
#include "core/kernel/host_argument.h"
#include "core/kernel/range.h"
#include "core/language/control.h"
#include "core/language/indices.h"

namespace pumice {

namespace detail {

/// Throws Error if the name of `what` ("kernel") is invalid.
void check_name(const char* what, const std::string& name);
/// Throws the Error of a global `what` ("kernel") that is used before its definition has run. Until then it consists of zeros.
[[noreturn]] void fail_undefined(const char* what);

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
    /// The same for code without a launch. Throws Error if the kernel takes images.
    std::shared_ptr<const ir::Kernel> recorded_without_images() const;
    /// Checks the arguments, compiles for their device if necessary, and starts the launch.
    Event launch(const Range& range, std::span<const detail::HostArgument> arguments) const;
    /// The kernel for the images among the arguments, from a cache; the kernel itself if it takes none, or knows their formats.
    /// `keep_fast`: native textures of Sampling::fast are sampled by the device. Throws Error for images that do not fit.
    const KernelBase& for_images(std::span<const detail::HostArgument> arguments, bool keep_fast) const;
    /// This kernel, whose images are known, over the arrays of words in place of those that the device has no memory for.
    const KernelBase& over_words() const;
    /// Data that other modules keep with the kernel, by name: made at the first call, alive as long as the kernel.
    std::shared_ptr<void> kept(const std::string& name, const std::function<std::shared_ptr<void>()>& make) const;

    struct State;
    std::shared_ptr<State> state;

protected:
    Event launch_with_images(const Range& range, std::span<const detail::HostArgument> arguments) const;
    /// Throws Error: the type of the IR's parameter does not hold the number that a launch gives, whole (in two's complement) or
    /// real.
    [[noreturn]] void refuse_number(size_t parameter, bool is_negative, uint64_t whole) const;
    [[noreturn]] void refuse_number(size_t parameter, double real) const;
    /// Names the parameters of the user's function: see Kernel::names.
    void name_parameters(size_t count, std::span<const std::string_view> names) const;
    KernelBase(std::string name, KernelOptions options, detail::SourceLocation location,
               std::function<void(detail::Recorder&)> record);
    explicit KernelBase(std::shared_ptr<const ir::Kernel> recorded);
};

/// The result of kernel(): P are the lambda's parameter types.
template <class... P> class Kernel : public KernelBase {
    // After the message for a wrong parameter none follows from it.
    static constexpr bool is_right = (detail::Parameter<P> && ...);

public:
    template <class F> Kernel(std::string name, KernelOptions options, F f, detail::SourceLocation location)
        : KernelBase(std::move(name), options, location, [f = std::move(f), location](detail::Recorder& r) {
              (void)location;  // unused without parameters
              if constexpr (is_right) {
                  [[maybe_unused]] int number = 0;
                  // Braces: from left to right.
                  std::tuple<P...> params{P(detail::ParameterSource{r, location, ++number, ""})...};
                  std::apply(f, params);
              }
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

    /// The same kernel, whose parameters have names, one each, in order: in messages, kernel text, derivatives and manifests.
    /// Call it where the kernel is defined, before its first use. No code depends on names. Throws Error for another number of
    /// names than parameters, for a name that is no identifier of C, or that two parameters would have, and for other names
    /// after the first use.
    Kernel names(std::initializer_list<std::string_view> names) const {
        name_parameters(sizeof...(P), {names.begin(), names.size()});
        return *this;
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
        if constexpr (is_right) {
            (void)std::tuple<detail::Argument<int(I) + 1, typename detail::parameter<P>::host, A,
                                              detail::parameter<P>::template takes<A>>...>();
            if constexpr ((detail::parameter<P>::template takes<A> && ...)) {
                [[maybe_unused]] size_t next = 0;  // parameter of the IR
                (require_held<typename detail::parameter<P>::host>(next, arguments), ...);
                return launch(range, detail::host_arguments(detail::given_as<typename detail::parameter<P>::host>(arguments)...));
            }
        }
        return {};
    }
    template <class H, class A> void require_held(size_t& next, const A& argument) const {
        if constexpr (detail::narrows<H, A>)
            if (!detail::holds<H>(argument)) {
                if constexpr (std::is_integral_v<A>)
                    refuse_number(next, detail::is_negative(argument), uint64_t(argument));
                else
                    refuse_number(next, double(argument));
            }
        next += detail::host_count<H>();
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
/// docs/dump.md defines the contents. Throws Error if a file cannot be written.
void dump(const KernelBase& kernel, const std::filesystem::path& folder);

/// The kernel as an object file for a target of LLVM: a C function that runs the whole range on the calling thread. The triple
/// and the processor have LLVM's names; "" is the triple's generic processor. Throws Error if this machine's LLVM lacks the
/// target, or if the target lacks what the kernel uses. docs/objects.md defines the function's parameters.
ObjectCode compile_object(const KernelBase& kernel, const std::string& triple, const std::string& cpu = "",
                          const ObjectOptions& options = {});

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
