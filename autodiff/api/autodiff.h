// Derivatives of kernels: the public functions. docs/autodiff.md explains them by example.
#pragma once
#include "autodiff/api/derivative_call.h"

namespace pumice {
namespace derive {

/// The host type of a parameter of a kernel; for a kernel that was read from text, the type of the argument.
template <class K, std::size_t I, class T> struct host_type {
    using type = T;
};
template <class... P, std::size_t I, class T> struct host_type<Kernel<P...>, I, T> {
    using type = typename detail::parameter<std::tuple_element_t<I, std::tuple<P...>>>::host;
};
template <class K, std::size_t I, class A> using host_of = typename host_type<K, I, typename detail::annotation<A>::type>::type;

/// Compiles if each annotation holds the type that the parameter takes; otherwise the message of the compiler names the
/// annotation.
template <class K, class... A> struct Annotated {
    static constexpr void check() {}
};
template <class... P, class... A> struct Annotated<Kernel<P...>, A...> {
    static_assert(sizeof...(P) == sizeof...(A),
                  "pumice: autodiff is given another number of annotated arguments than the kernel has parameters");
    template <class Parameter, class Given> static constexpr bool right =
        detail::parameter<Parameter>::template takes<typename detail::annotation<Given>::type>;
    static constexpr void check() {
        if constexpr (sizeof...(P) == sizeof...(A))
            []<std::size_t... I>(std::index_sequence<I...>) {
                (void)std::tuple<detail::Argument<int(I) + 1, typename detail::parameter<P>::host,
                                                  typename detail::annotation<A>::type, right<P, A>>...>();
            }(std::index_sequence_for<P...>());
    }
};

template <class K, class... A> Call make_call(const K& kernel, const Range& range, const A&... annotations) {
    Annotated<K, A...>::check();
    std::vector<ArgumentSlot> arguments;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (put_slots<host_of<K, I, A>>(annotations, arguments), ...);
    }(std::index_sequence_for<A...>());
    const KernelBase& for_arguments = for_images(kernel, arguments);
    return Call{for_arguments, range, std::move(arguments), int(detail::batch_width<A...>())};
}

// The derivatives of the Active scalars, as a tuple: one number each (for a struct, a struct), or an array of them for several
// directions.
template <class H, class A, std::size_t W> auto take_active(const std::vector<uint64_t>& bits, std::size_t& next) {
    if constexpr (!requires(A a) { []<class T>(const Active<T>&) {}(a); } || detail::is_array<H>::value ||
                  detail::HoldsArrays<H>) {
        return std::tuple<>();
    } else {
        std::array<H, W> all{};
        std::vector<void*> members[W];
        for (std::size_t w = 0; w < W; ++w) put_targets(all[w], members[w]);
        const std::vector<HostArgument> types = flat(all[0]);
        for (std::size_t m = 0; m < types.size(); ++m)
            for (std::size_t w = 0; w < W && next < bits.size(); ++w)
                __builtin_memcpy(members[w][m], &bits[next++], std::size_t(size_of(types[m].type)));
        if constexpr (W == 1)
            return std::tuple<H>(all[0]);
        else
            return std::tuple<std::array<H, W>>(all);
    }
}
template <class K, class... A> auto actives(const std::vector<uint64_t>& bits) {
    std::size_t next = 0;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        using All = decltype(std::tuple_cat(take_active<host_of<K, I, A>, A, detail::batch_width<A...>()>(bits, next)...));
        // Braces evaluate from left to right, unlike the arguments of a call.
        std::tuple<decltype(take_active<host_of<K, I, A>, A, detail::batch_width<A...>()>(bits, next))...> each{
            take_active<host_of<K, I, A>, A, detail::batch_width<A...>()>(bits, next)...};
        return All(std::apply([](const auto&... one) { return std::tuple_cat(one...); }, each));
    }(std::index_sequence_for<A...>());
}

template <class K> concept KernelType = std::is_base_of_v<KernelBase, K>;

}  // namespace derive

/// Runs the kernel over the range, then its reverse sweep. The shadows of read arrays are added to, the shadows of overwritten
/// arrays are consumed. Gives the derivatives of the Active scalars as a tuple, in order (arrays of them for a batch), and
/// waits for them if there are any. Each argument has one annotation. Throws Error for misuse; nothing has run then.
template <derive::KernelType K, detail::Annotation... A>
auto autodiff(ReverseMode, const K& kernel, const Range& range, const A&... annotations) {
    return derive::actives<K, A...>(derive::reverse(derive::make_call(kernel, range, annotations...)));
}
/// Runs the kernel and its tangents. The shadow of each Duplicated array is its tangent, before and after.
template <derive::KernelType K, detail::Annotation... A>
std::tuple<> autodiff(ForwardMode, const K& kernel, const Range& range, const A&... annotations) {
    derive::forward(derive::make_call(kernel, range, annotations...));
    return {};
}

/// The data that the reverse half of a split call needs in addition to the arguments. Copies share it.
class Tape {
public:
    /// Bytes of device memory.
    int64_t bytes() const {
        int64_t sum = 0;
        for (const auto& array : arrays) sum += array->bytes;
        return sum;
    }
    derive::TapeArrays arrays;
    std::shared_ptr<const ir::Kernel> kernel;  ///< the kernel to which the tape belongs
    std::vector<derive::Activity> activities;  ///< activities of its arguments
};

namespace derive {
/// The first half of autodiff_split.
template <KernelType K> class SplitForward {
public:
    K kernel;
    Range range;
    /// Runs the primal on the annotated arguments. Gives the tape for the second half.
    template <detail::Annotation... A> pumice::Tape operator()(const A&... annotations) const {
        const Call call = make_call(kernel, range, annotations...);
        return {split_forward(call), kernel.recorded(), activities_of(call)};
    }
};
/// The second half.
template <KernelType K> class SplitReverse {
public:
    K kernel;
    Range range;
    /// Takes the annotated arguments, then the tape; gives the derivatives of the Active scalars as autodiff does. Throws Error
    /// for a tape of another kernel.
    template <class... A> auto operator()(const A&... annotations_and_tape) const {
        const auto all = std::tie(annotations_and_tape...);
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            const pumice::Tape& tape = std::get<sizeof...(I)>(all);
            if (tape.kernel && tape.kernel != kernel.recorded())
                fail("the reverse half of kernel \"", kernel.name(), "\" is given a tape of kernel \"", tape.kernel->name, "\"");
            const Call call = make_call(kernel, range, std::get<I>(all)...);
            if (tape.kernel && tape.activities != activities_of(call))
                fail("the reverse half of kernel \"", kernel.name(),
                     "\" is given a tape for other annotations: both halves take the same ones");
            return actives<K, std::remove_cvref_t<std::tuple_element_t<I, std::tuple<A...>>>...>(
                split_reverse(call, tape.arrays));
        }(std::make_index_sequence<sizeof...(A) - 1>());
    }
};
}  // namespace derive

/// The two halves of reverse mode: `tape = forward(annotations...)` runs the primal, `reverse(annotations..., tape)` runs the
/// reverse sweep, as often as wanted. Between them the arrays may change, because the tape holds the values that the sweep
/// needs.
template <derive::KernelType K, detail::Annotation... A>
auto autodiff_split(const K& kernel, const Range& range, const A&... annotations) {
    derive::make_call(kernel, range, annotations...);  // checks the types now
    return std::pair(derive::SplitForward<K>{kernel, range}, derive::SplitReverse<K>{kernel, range});
}

namespace derive {
template <template <class> class A> constexpr Activity named = Activity::duplicated;
template <> inline constexpr Activity named<Const> = Activity::constant;
template <> inline constexpr Activity named<Active> = Activity::active;
template <> inline constexpr Activity named<DuplicatedNoNeed> = Activity::duplicated_no_need;

/// Appends the activity of one parameter. In reverse mode the floats of a struct are active.
template <class H> void put_named(Activity activity, bool reverse, Signature& signature) {
    if constexpr (ScalarType<H>)
        signature.params.push_back(activity);
    else if constexpr (detail::is_array<H>::value || detail::is_image<H>::value)
        signature.params.push_back(activity);
    else
        structure<H>::each_type([&]<class F>(const char*, size_t, F*) {
            Activity member = activity;
            if constexpr (ScalarType<F>)
                member = activity == Activity::constant || !is_float(*scalar_of<F>()) ? Activity::constant
                         : reverse                                                    ? Activity::active
                                                                                      : Activity::duplicated;
            put_named<F>(member, reverse, signature);
        });
}
template <template <class> class... A, class... P> Signature signature_of(const Kernel<P...>&, bool reverse) {
    static_assert(sizeof...(A) == sizeof...(P), "pumice: name one annotation for each of the kernel's parameters");
    Signature signature;
    (put_named<typename detail::parameter<P>::host>(named<A>, reverse, signature), ...);
    return signature;
}
}  // namespace derive

/// The kernel of reverse mode for these annotations (`adjoint<Duplicated, Active>(scale)`), to be inspected, dumped, launched
/// or differentiated. Its parameters are those of the primal in order; each Duplicated array is followed by its shadow, each
/// Active scalar by an array of one element, to which its derivative is added; tapes come last. Its name is "scale.adjoint".
template <template <class> class... A, class... P> AnyKernel adjoint(const Kernel<P...>& kernel) {
    return derive::derivative(kernel, "adjoint", derive::signature_of<A...>(kernel, true));
}
/// The kernel of forward mode, "scale.forward". Each Duplicated array or scalar is followed by its tangent.
template <template <class> class... A, class... P> AnyKernel tangent(const Kernel<P...>& kernel) {
    return derive::derivative(kernel, "forward", derive::signature_of<A...>(kernel, false));
}

}  // namespace pumice
