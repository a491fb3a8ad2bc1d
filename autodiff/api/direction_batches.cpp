// Batches of directions, strip-mined: a batch with many directions of a long kernel runs as several launches.
//
// Why: each direction repeats the derivative code, and the time of compilers grows faster than the length of straight-line code.
// A batch is split so that a kernel has at most about 4,096 instructions. The primal runs in each launch, on copies of the arrays
// it writes, except in the last one.
//
//     12 directions, at most 5 a kernel:   3 launches with 4 directions each
//     before:   forward kernel of width 12, of f, once
//     after:    width 4 with copies of y, width 4 with copies of y, width 4 with y itself
//
// Cost: the primal runs once for each part. Limits: a kernel that prints is not split, because it would print once for each part.
// Textbook name: vector mode of forward and reverse differentiation (Griewank and Walther, section 3.2), strip-mined.
#include <algorithm>

#include "autodiff/api/launch_derivative.h"
#include "autodiff/api/shadow_arrays.h"

namespace pumice::derive {
namespace {

constexpr size_t most_instructions = 4096;  ///< of a derivative with several directions, roughly

size_t instructions_of(const ir::Kernel& k) {
    size_t n = 0;
    for (const ir::Block& block : k.blocks) n += block.insts.size();
    return n;
}

/// True for a kernel that prints: it would print once for each part.
bool reports(const ir::Kernel& k) {
    return std::ranges::any_of(k.insts, [](const ir::Inst& i) { return i.op == ir::Op::print; });
}

/// The number of directions of one kernel: each direction adds as many instructions as the first one adds to the primal.
int directions_at_once(const Call& call, DerivativeMode mode) {
    const ir::Kernel& primal = *call.kernel.recorded();
    const size_t own = instructions_of(primal);
    if (call.width == 1 || reports(primal) || own * size_t(call.width) < most_instructions / 4) return call.width;
    const Signature signature = signature_of(primal, call.arguments, 1, mode);
    const Derived& one = derived(call.kernel, mode, signature);
    const size_t with_one = instructions_of(*one.kernel.recorded()), each = with_one > own ? with_one - own : 1;
    return int(std::clamp<size_t>(most_instructions > own ? (most_instructions - own) / each : 1, 1, size_t(call.width)));
}

/// The slots of `count` directions. `apart`: with copies of the arrays that the derivative writes, because later parts need the
/// contents from before.
std::vector<ArgumentSlot> slots_of(const Call& call, const Derived& derived, size_t first, size_t count, bool apart,
                                   OtherMemory& copies) {
    std::vector<ArgumentSlot> slots = call.arguments;
    for (size_t i = 0; i < slots.size(); ++i) {
        ArgumentSlot& slot = slots[i];
        if (slot.shadows.size() > count)
            slot.shadows = {slot.shadows.begin() + long(first), slot.shadows.begin() + long(first + count)};
        if (apart && derived.writes[i] && has_memory(slot.value)) slot.value = copies.copy_of(slot.value, derived.reads[i]);
    }
    return slots;
}

/// Inserts the results of the directions of a part into the results of all directions; both are ordered by scalar, then by
/// direction.
template <class T> void place(std::vector<T>& all, const std::vector<T>& part, size_t width, size_t first, size_t count) {
    all.resize(part.size() / count * width);
    for (size_t n = 0; n < part.size(); ++n) all[n / count * width + first + n % count] = part[n];
}

}  // namespace

void launch(const Call& call, DerivativeMode mode, std::vector<uint64_t>* adjoints, TapeArrays* sums) {
    const size_t width = size_t(call.width), most = size_t(directions_at_once(call, mode)), parts = (width + most - 1) / most;
    if (parts == 1) {
        const Signature signature = signature_of(*call.kernel.recorded(), call.arguments, call.width, mode);
        return launch(derived(call.kernel, mode, signature), call.range, call.arguments, adjoints, nullptr, sums);
    }
    const size_t each = (width + parts - 1) / parts;
    for (size_t first = 0; first < width; first += each) {
        const size_t count = std::min(each, width - first);
        const Signature signature = signature_of(*call.kernel.recorded(), call.arguments, int(count), mode);
        const Derived& part = derived(call.kernel, mode, signature);
        OtherMemory copies;
        const std::vector<ArgumentSlot> slots = slots_of(call, part, first, count, first + count < width, copies);
        std::vector<uint64_t> bits;
        TapeArrays arrays;
        launch(part, call.range, slots, adjoints ? &bits : nullptr, nullptr, sums ? &arrays : nullptr);
        if (adjoints) place(*adjoints, bits, width, first, count);
        if (sums) place(*sums, arrays, width, first, count);
    }
}

}  // namespace pumice::derive
