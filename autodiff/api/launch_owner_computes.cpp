// Launch of the owner-computes strategy: the ranges of the owners, and the choice (autodiff/strategy/owner_computes.cpp).
//
//     multiply over (n, m), loop over k < l:    da over (n, l), each item loops over the m columns;
//                                               db over (l, m), each item loops over the n rows;    the rest over (n, m)
//
// Why: only the launch knows the extents. An owner does in sequence what the items of the primal along the other axes do in
// parallel, so there must be owners enough: the weights of a filter of 3 taps over a million samples have 3 owners.
// Cost: a launch for each load. Limits: a range of the kernel's rank; owners whose indices fit into 32 bits.
// Textbook name: the owner-computes rule.
#include <algorithm>

#include "autodiff/api/adjoint_strategy.h"
#include "autodiff/api/launch_derivative.h"
#include "core/host/next_launch_hint.h"
#include "core/support/error.h"

namespace pumice::derive {
namespace {

/// Owners are enough if they are this many, or a quarter of the items of the primal.
constexpr int64_t enough_owners = 1 << 14, items_an_owner = 4;
/// The limit on devices whose threads add to private copies. An addition costs little there, and a contribution must not cost
/// much more: a product of matrices has 2 instructions and gains (8.9 to 6.7 ms for 361 x 347 x 333), the pair forces of n bodies
/// have 20 and lose (3.3 to 10.7 ms).
constexpr int most_instructions = 8;

/// Owners may make so many times the iterations of the primal's loops.
constexpr int64_t most_waste = 4;

struct Extent {
    int64_t from = 0, to = 0;
    int64_t length() const { return std::max<int64_t>(to - from, 0); }
};
/// The mean number of iterations that items of the primal make, by a sample of items.
int64_t mean_trips(const OwnerComputesAdjoint::OwnerRange& range, const std::vector<Extent>& primal, HostValues known) {
    constexpr int64_t samples = 5;  // along each axis
    int64_t all = 0, count = 0;
    for (int64_t n = 0; n < samples * samples * samples; ++n) {
        int64_t left = n;
        for (size_t axis = 0; axis < primal.size(); ++axis, left /= samples)
            known.item[axis] = primal[axis].from + (2 * (left % samples) + 1) * primal[axis].length() / (2 * samples);
        if (left > 0) break;  // fewer than three axes
        all += range.trips(known), ++count;
    }
    return (all + count - 1) / std::max<int64_t>(count, 1);
}
/// The product of the lengths, at most 2^62.
int64_t items_in(const std::vector<Extent>& extents) {
    int64_t items = 1;
    for (const Extent& e : extents)
        if (__builtin_mul_overflow(items, e.length(), &items)) return int64_t(1) << 62;
    return items;
}

}  // namespace

std::string launch_owner_computes(const DerivedLaunch& l) {
    const auto* const made = l.derived.owner_computes.get();
    if (!made) return AdjointStrategy::not_made;
    const Range& range = l.range;
    if (range.rank != l.derived.primal->rank) return "the range does not have the kernel's rank";
    std::vector<Extent> primal;  // by axis
    for (int axis = 0; axis < range.rank; ++axis) {
        const size_t d = size_t(range.rank - 1 - axis);
        primal.push_back({range.from[d], range.to[d]});
    }
    std::vector<Range> ranges;  // rank 0: no items
    for (const auto& owner : made->owners) {
        if (!l.decided && l.device->backend->traits().private_sums && owner.instructions > most_instructions)
            return text("a contribution has ", owner.instructions, " instructions, and the device adds to private copies");
        const auto [first, end] = owner.range.iterations(l.known);
        std::vector<Extent> extents;
        for (size_t axis = 0; axis < owner.range.axes.size(); ++axis) {
            Extent e = owner.range.axes[axis] < 0 ? Extent{first, end} : primal[size_t(owner.range.axes[axis])];
            e.from += owner.range.shifts[axis], e.to += owner.range.shifts[axis];
            // A load under a condition may have indices outside of the array in other items.
            e.from = std::max<int64_t>(e.from, 0);
            e.to = std::min(e.to, l.known.extent(owner.range.parameter, owner.range.array_axes[axis]));
            if (e.from < INT32_MIN || e.to > INT32_MAX || e.length() > INT32_MAX) return "indices of owners exceed 32 bits";
            extents.push_back(e);
        }
        const int64_t items = items_in(extents);
        if (!l.decided && items > 0 && items < enough_owners && items < items_in(primal) / items_an_owner)
            return text("there are ", items, " owners for ", items_in(primal), " work-items");
        double own_trips = double(items), trips = double(items_in(primal)) * double(mean_trips(owner.range, primal, l.known));
        for (const int axis : owner.range.looped) own_trips *= double(primal[size_t(axis)].length());
        if (!l.decided && own_trips > double(most_waste) * trips)
            return "few work-items give to an element, and its owner would visit all";
        Range own = range;
        own.rank = items > 0 ? int(extents.size()) : 0, own.group_rank = 0;
        own.from = {}, own.to.fill(1);
        for (size_t axis = 0; axis < extents.size(); ++axis) {
            own.from[extents.size() - 1 - axis] = extents[axis].from;
            own.to[extents.size() - 1 - axis] = extents[axis].to;
        }
        ranges.push_back(own);
    }
    for (size_t n = 0; n < ranges.size(); ++n) {
        if (ranges[n].rank == 0) continue;
        const auto& owner = made->owners[n];
        std::vector<HostArgument> arguments = l.arguments;
        for (auto axis = owner.range.looped.rbegin(); axis != owner.range.looped.rend(); ++axis)
            for (const int64_t bound : {primal[size_t(*axis)].from, primal[size_t(*axis)].to}) {
                arguments.emplace_back();
                arguments.back().type = Scalar::i32, arguments.back().bits = uint32_t(int32_t(bound));
            }
        owner.kernel.launch(ranges[n], arguments);
    }
    const detail::NextLaunchHint hint(!l.derived.after.empty());
    launch_in_chunks(made->rest, *l.derived.primal, made->summed, range, l.arguments, *l.device);
    return "";
}

}  // namespace pumice::derive
