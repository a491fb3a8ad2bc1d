// Interface of derivative calls: the annotations of a call, as one slot for each parameter of the IR.
#pragma once
#include "autodiff/analysis/transform.h"
#include "autodiff/api/annotations.h"

namespace pumice::derive {

using detail::HostArgument;

/// The annotation of one parameter of the IR.
struct ArgumentSlot {
    Activity activity = Activity::constant;
    HostArgument value;
    std::vector<HostArgument> shadows;  ///< one a direction: shadows of an array, or tangents of a scalar (forward mode)
    void* target = nullptr;  ///< reverse mode, a scalar of a MixedDuplicated: the host scalar to which its adjoint is added
    bool mixed = false;      ///< it belongs to a struct, which may have integers beside its floats
    std::string label = {};  ///< name of an argument of a program: "argument 2 (h)"
};

/// A differentiated launch.
struct Call {
    const KernelBase& kernel;
    const Range& range;
    std::vector<ArgumentSlot> arguments;
    int width = 1;
};

/// The kernel for the images among the arguments, whose filters are arithmetic; the kernel itself if it has rules or takes no
/// images.
const KernelBase& for_images(const KernelBase& kernel, const std::vector<ArgumentSlot>& arguments);
const KernelBase& for_images(const KernelBase& kernel, std::span<const HostArgument> arguments);
/// Checks the call, runs the primal and the reverse sweep. Gives the adjoints of the Active scalars without a target, in order
/// and `width` of each, as bits. Throws Error for misuse; nothing has run then.
std::vector<uint64_t> reverse(const Call& call);
/// Checks the call, runs the primal and its tangents.
void forward(const Call& call);
/// The two halves of reverse mode: the first runs the primal and gives the tape for the second.
std::vector<Activity> activities_of(const Call& call);  ///< the activities of both halves
using TapeArrays = std::vector<std::shared_ptr<detail::ArrayState>>;
TapeArrays split_forward(const Call& call);
std::vector<uint64_t> split_reverse(const Call& call, const TapeArrays& tape);

/// Adds a number, as bits of its type, to the host scalar of a MixedDuplicated.
void add_to(void* target, Scalar type, uint64_t bits);

/// The kernel of a mode ("forward", "adjoint", "augmented", "reverse") for the activities of the parameters of the IR.
AnyKernel derivative(const KernelBase& kernel, const std::string& mode, const Signature& signature);

/// Throws Error if the derivative kernel takes tapes. Its files alone could not be launched, because they do not say how long the
/// tapes are.
void check_tapeless(const KernelBase& kernel);

// ---- annotations to slots ------------------------------------------------------------------------------------------

template <class T> std::vector<HostArgument> flat(const T& value) {
    const auto all = detail::host_arguments(value);
    return {all.begin(), all.end()};
}

/// `H` is the type that the kernel takes: a number of another type is converted.
template <class H, class T> void put_slots(const Const<T>& a, std::vector<ArgumentSlot>& arguments) {
    for (const HostArgument& value : flat(static_cast<const H&>(a.value)))
        arguments.push_back({Activity::constant, value, {}, nullptr, false});
}
template <class H, class T> void put_slots(const Active<T>& a, std::vector<ArgumentSlot>& arguments) {
    for (const HostArgument& value : flat(static_cast<const H&>(a.value)))
        arguments.push_back({Activity::active, value, {}, nullptr, !ScalarType<T>});
}
template <class H, class T, class Shadows>
void put_duplicated(Activity activity, const T& value, const Shadows& shadows, std::vector<ArgumentSlot>& arguments) {
    const size_t first = arguments.size();
    for (const HostArgument& v : flat(static_cast<const H&>(value))) {
        const bool member = !ScalarType<T> && !v.is_array && !is_float(v.type);  // an integer among the numbers of a struct
        arguments.push_back({member ? Activity::constant : activity, v, {}, nullptr, detail::HoldsArrays<T>});
    }
    for (const T& shadow : shadows) {
        const std::vector<HostArgument> given = flat(static_cast<const H&>(shadow));
        for (size_t i = 0; i < given.size(); ++i) arguments[first + i].shadows.push_back(given[i]);
    }
}
template <class H, class T> void put_slots(const Duplicated<T>& a, std::vector<ArgumentSlot>& arguments) {
    put_duplicated<H>(Activity::duplicated, a.value, std::array<T, 1>{a.shadow}, arguments);
}
template <class H, class I, class S>
void put_slots(const Duplicated<detail::Shadowed<I, S>>& a, std::vector<ArgumentSlot>& arguments) {
    arguments.push_back({Activity::duplicated, flat(a.value)[0], flat(a.shadow), nullptr, false});
}
template <class H, class T> void put_slots(const DuplicatedNoNeed<T>& a, std::vector<ArgumentSlot>& arguments) {
    put_duplicated<H>(Activity::duplicated_no_need, a.value, std::array<T, 1>{a.shadow}, arguments);
}
template <class H, class T, size_t N> void put_slots(const BatchDuplicated<T, N>& a, std::vector<ArgumentSlot>& arguments) {
    put_duplicated<H>(Activity::duplicated, a.value, a.shadows, arguments);
}
/// The addresses of the scalars of a struct, in the order of its arguments; null for arrays.
template <class T> void put_targets(T& value, std::vector<void*>& targets) {
    if constexpr (ScalarType<T>)
        targets.push_back(&value);
    else if constexpr (detail::is_array<T>::value)
        targets.push_back(nullptr);
    else
        structure<T>::each_value(value, [&](auto& member) { put_targets(member, targets); });
}
template <class H, class T> void put_slots(const MixedDuplicated<T>& a, std::vector<ArgumentSlot>& arguments) {
    const size_t first = arguments.size();
    put_duplicated<H>(Activity::duplicated, a.value, std::array<T, 1>{a.shadow}, arguments);
    std::vector<void*> targets;
    put_targets(a.shadow, targets);
    for (size_t i = 0; i < targets.size(); ++i) arguments[first + i].target = targets[i], arguments[first + i].mixed = true;
}

/// The scalar with these bits.
template <class T> T from_bits(uint64_t bits) {
    T value;
    __builtin_memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
}

}  // namespace pumice::derive
