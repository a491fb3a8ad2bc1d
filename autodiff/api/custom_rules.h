// Custom rules: functions that replace the derivative of a kernel.
#pragma once
#include <any>

#include "autodiff/api/derivative_call.h"

namespace pumice {
namespace derive {

/// The rules of one kernel. They receive the arrays with the contents from before the launch.
struct KernelRules {
    bool inactive = false;
    std::function<std::any(const Call&)> augmented;                              ///< runs instead of the primal
    std::function<std::vector<uint64_t>(const Call&, const std::any&)> reverse;  ///< adjoints of the active scalars, one each
    std::function<void(const Call&)> forward;                                    ///< tangents; the primal runs after it
};
/// The rules of the kernel; created empty.
KernelRules& rules_of(const KernelBase& kernel);
/// The rules of the kernel; null if it has none.
const KernelRules* find_rules(const KernelBase& kernel);

/// The argument of a rule for a parameter of host type H: an array with its shadow (null if it is constant), or the scalar.
template <class H> struct RuleArgument {
    using type = H;
};
template <class T, int N> struct RuleArgument<Array<T, N>> {
    using type = Duplicated<Array<T, N>>;
};

template <class T, int N> Array<T, N> array_of(const HostArgument& given) {
    Array<T, N> array;
    if (!given.array) return array;
    array.state = const_cast<detail::ArrayState*>(given.array)->shared_from_this();
    for (int d = 0; d < N; ++d) array.extents[size_t(d)] = given.extents[size_t(d)];
    return array;
}
template <class H> struct RuleArgumentFrom {
    static H take(const ArgumentSlot& slot) { return from_bits<H>(slot.value.bits); }
};
template <class T, int N> struct RuleArgumentFrom<Array<T, N>> {
    static Duplicated<Array<T, N>> take(const ArgumentSlot& slot) {
        return Duplicated<Array<T, N>>(array_of<T, N>(slot.value),
                                       slot.shadows.empty() ? Array<T, N>() : array_of<T, N>(slot.shadows[0]));
    }
};
/// The shadow of an image or texture of one level: an array with a dimension for each index of a texel.
template <class H, class T, int N> Duplicated<detail::Shadowed<H, Array<T, N>>> image_from(const ArgumentSlot& slot) {
    if (slot.value.image->info.has_level_index())
        fail("a rule of a derivative is given an ", slot.value.image->image->shape.text(), " with ",
             slot.value.image->info.levels, " levels: rules take images and textures of one level");
    return Duplicated<detail::Shadowed<H, Array<T, N>>>(H(std::make_shared<detail::ImageBinding>(*slot.value.image)),
                                                        slot.shadows.empty() ? Array<T, N>() : array_of<T, N>(slot.shadows[0]));
}
template <class T, int N, ImageLayout L> struct RuleArgumentFrom<Image<T, N, L>> {
    static auto take(const ArgumentSlot& slot) { return image_from<Image<T, N, L>, T, N + (L != ImageLayout::plain)>(slot); }
};
template <class T, int N, ImageLayout L> struct RuleArgumentFrom<Texture<T, N, L>> {
    static auto take(const ArgumentSlot& slot) { return image_from<Texture<T, N, L>, T, N + (L != ImageLayout::plain)>(slot); }
};

template <class T> void put_bits(const T& value, std::vector<uint64_t>& bits) {
    bits.push_back(0);
    __builtin_memcpy(&bits.back(), &value, sizeof(T));
}

/// Calls `rule` with `first`, the range and the arguments of the kernel. Its result is the adjoints of the floating scalars.
template <class... P, class Rule, class... First>
std::vector<uint64_t> call_rule(const Rule& rule, const Call& call, const First&... first) {
    static_assert((!detail::HoldsArrays<typename detail::parameter<P>::host> && ...),
                  "pumice: a kernel with a rule of its own takes arrays and scalars, no structs of arrays");
    std::vector<uint64_t> bits;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const auto act = [&] {
            return rule(first..., call.range, RuleArgumentFrom<typename detail::parameter<P>::host>::take(call.arguments[I])...);
        };
        if constexpr (std::is_void_v<decltype(act())>)
            act();
        else if constexpr (requires { std::tuple_size<decltype(act())>::value; })
            std::apply([&](const auto&... each) { (put_bits(each, bits), ...); }, act());
        else
            put_bits(act(), bits);
    }(std::index_sequence_for<P...>());
    return bits;
}

/// The result of the augmented primal, for the reverse rule.
template <class... P, class Augmented> auto call_augmented(const Augmented& augmented, const Call& call) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return augmented(call.range, RuleArgumentFrom<typename detail::parameter<P>::host>::take(call.arguments[I])...);
    }(std::index_sequence_for<P...>());
}

}  // namespace derive

template <class... P> template <class Rule> Kernel<P...> Kernel<P...>::reverse(Rule rule) const {
    derive::rules_of(*this).reverse = [rule](const derive::Call& call, const std::any&) {
        return derive::call_rule<P...>(rule, call);
    };
    return *this;
}
template <class... P> template <class Augmented, class Rule>
Kernel<P...> Kernel<P...>::reverse(Augmented augmented, Rule rule) const {
    derive::KernelRules& rules = derive::rules_of(*this);
    using Kept = decltype(derive::call_augmented<P...>(augmented, std::declval<const derive::Call&>()));
    rules.augmented = [augmented](const derive::Call& call) { return std::any(derive::call_augmented<P...>(augmented, call)); };
    rules.reverse = [rule](const derive::Call& call, const std::any& tape) {
        return derive::call_rule<P...>(rule, call, std::any_cast<const Kept&>(tape));
    };
    return *this;
}
template <class... P> template <class Rule> Kernel<P...> Kernel<P...>::forward(Rule rule) const {
    derive::rules_of(*this).forward = [rule](const derive::Call& call) { derive::call_rule<P...>(rule, call); };
    return *this;
}
template <class... P> Kernel<P...> Kernel<P...>::inactive() const {
    derive::rules_of(*this).inactive = true;
    return *this;
}

}  // namespace pumice
