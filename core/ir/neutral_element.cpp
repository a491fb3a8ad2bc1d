#include "core/ir/neutral_element.h"

#include <limits>

#include "core/ir/evaluate.h"

namespace pumice::ir {

uint64_t neutral_element(Op op, Scalar type) {
    return with_scalar(type, [&](auto zero) -> uint64_t {
        using T = decltype(zero);
        using Computed = std::conditional_t<std::is_same_v<T, half>, float, T>;
        using Limits = std::numeric_limits<Computed>;
        const Computed largest = Limits::has_infinity ? Limits::infinity() : Limits::max();
        const Computed smallest = Limits::has_infinity ? Computed(-Limits::infinity()) : Limits::lowest();
        switch (op) {
            case Op::mul: return to_bits(T(Computed(1)));
            case Op::min: return to_bits(T(largest));
            case Op::max: return to_bits(T(smallest));
            case Op::and_:
                if constexpr (std::is_integral_v<T>) return to_bits(T(std::is_same_v<T, bool> ? T(1) : T(-1)));
                break;
            default: break;
        }
        return 0;
    });
}

}  // namespace pumice::ir
