// Traced structs: host structs whose numbers the derivative of a program follows.
#pragma once
#include "autodiff/api/custom_rules.h"
#include "autodiff/program/traced.h"

namespace pumice {
namespace derive {

class ProgramDerivative;

/// The source of the members of an argument, in order: the slots of the annotation.
struct TracedSource {
    ProgramDerivative& program;
    const ArgumentSlot* next;
    TracedSource& named(const char*) { return *this; }
    /// A float, double or half is followed.
    operator HostScalar();
    /// An integer or an array is passed as it is.
    template <class F>
        requires(std::is_integral_v<F>)
    operator F() {
        return from_bits<F>((next++)->value.bits);
    }
    template <class F>
        requires(detail::is_array<F>::value)
    operator F() {
        return array_like((next++)->value, static_cast<F*>(nullptr));
    }

private:
    template <class T, int N> static Array<T, N> array_like(const HostArgument& given, Array<T, N>*) {
        return array_of<T, N>(given);
    }
};

template <class F> using traced_member = std::conditional_t<std::is_integral_v<F> || detail::is_array<F>::value, F, Traced<F>>;

/// True if there are floats among the members of T, including nested members; floats in arrays do not count.
template <class T> constexpr bool has_numbers() {
    if constexpr (detail::is_array<T>::value)
        return false;
    else if constexpr (ScalarType<T>)
        return is_float(*scalar_of<T>());
    else {
        bool any = false;
        structure<T>::each_type([&]<class F>(const char*, size_t, F*) { any = any || has_numbers<F>(); });
        return any;
    }
}

}  // namespace derive

/// A struct with a Traced number for each float, double and half of S, and the other members as they are. Kernels take it for S.
template <detail::Composite S> class Traced<S> : public structure<S>::template members<derive::traced_member> {
public:
    using traced = S;
    explicit Traced(derive::TracedSource& source) : structure<S>::template members<derive::traced_member>(source) {}
};

namespace detail {
template <Composite S> void put_host(const Traced<S>& value, HostArgument*& next) {
    value.each([&](const auto& member) { put_host(member, next); });
}
}  // namespace detail
}  // namespace pumice
