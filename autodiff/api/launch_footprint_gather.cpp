// Launch of the footprint gather: the intervals of items, and the choice (autodiff/strategy/footprint_gather.cpp).
//
//     zoom over (h, w), samples a picture of (m, n) texels:    d_picture over (m, n), each item loops over the few items around
//                                                              its texel;    the rest over (h, w)
//
// Why: scale and extents decide how many items touch a texel. A gather computes indices and weights of an item again for each
// element that the item may touch; so it pays where these are few beside the additions that it saves, and where no element has
// so many items that the others wait for it. A picture that is made smaller has texels that few items touch, or none: its
// adjoint is scattered. So is one to whose copies threads add without atomics.
// Cost: a launch for each texture. Limits: a range of the kernel's rank; what item_footprint.cpp refuses.
// Textbook name: multi-versioning with run-time dispatch.
#include <algorithm>
#include <bit>

#include "autodiff/api/adjoint_strategy.h"
#include "autodiff/api/launch_derivative.h"
#include "core/host/next_launch_hint.h"
#include "core/support/error.h"

namespace pumice::derive {
namespace {

/// The cost of a gather, in atomic additions of a scatter: of an element, and of a visit of an item by it, by the additions of an
/// item. Measured on lavapipe and on the cpu without private copies (linear and cubic filters, 1 and 4 channels, 128 to 4,608
/// texels a side): an addition takes 2 to 8 ns, a visit of 4, 16 and 64 taps 0.5, 0.8 and 1.3 times as long.
constexpr double cost_of_element = 2, cost_of_visit = 0.5, cost_of_addition = 1.0 / 64;
/// Threads have private copies of smaller arrays: the copies of all threads take 64 MiB at most. Adding to them takes less than a
/// gather: 1.5 and 3.0 ms for a linear float4 picture of 256^2 sampled at 512^2, one thread.
constexpr int64_t most_copied = 64 << 20;
/// Visits of one element, at most. An item of the gather that takes longer keeps the others of its group waiting.
constexpr double most_visits = 4096;

struct AxisEnds {
    int64_t from = 0, to = 0;
    int64_t length() const { return std::max<int64_t>(to - from, 0); }
};

void add_int(std::vector<HostArgument>& to, int64_t value) {
    to.emplace_back();
    to.back().type = Scalar::i32, to.back().bits = uint32_t(int32_t(value));
}
void add_real(std::vector<HostArgument>& to, double value) {
    to.emplace_back();
    to.back().type = Scalar::f32, to.back().bits = std::bit_cast<uint32_t>(float(value));
}

int64_t bytes_of_shadow(const DerivedLaunch& l, size_t parameter) {
    const ir::Memory& m = (*l.derived.primal)[l.derived.primal->params[parameter].memory];
    int64_t bytes = m.element.size;
    for (int axis = 0; axis < m.rank; ++axis) bytes *= l.known.extent(parameter, axis);
    return bytes;
}

/// The arguments of the intervals, in the order that FootprintGatherAdjoint::Gatherer gives.
void add_intervals(std::vector<HostArgument>& to, const FootprintGatherAdjoint::Dimension& d, const ItemFootprint& f) {
    add_real(to, f.slope), add_real(to, f.low), add_real(to, f.high);
    if (d.cut && !d.periodic) add_int(to, f.open_before), add_int(to, f.open_after);
    if (d.reflected) add_real(to, f.turned_low), add_real(to, f.turned_high);
    const double period = f.period > 0 ? f.period : 1;
    if (d.periodic) add_real(to, period), add_real(to, 1 / period);
}

}  // namespace

std::string launch_footprint_gather(const DerivedLaunch& l) {
    const auto* const made = l.derived.footprint_gather.get();
    if (!made) return AdjointStrategy::not_made;
    const Range& range = l.range;
    if (range.rank != l.derived.primal->rank) return "the range does not have the kernel's rank";
    std::vector<AxisEnds> primal;  // by axis
    double items = 1;
    for (int axis = 0; axis < range.rank; ++axis) {
        const size_t d = size_t(range.rank - 1 - axis);
        primal.push_back({range.from[d], range.to[d]});
        items *= double(primal.back().length());
    }
    struct GatherLaunch {
        const AnyKernel* kernel;
        Range range;
        std::vector<HostArgument> arguments;
    };
    std::vector<GatherLaunch> launches;
    double gathered = 0, scattered = 0;
    for (const auto& g : made->gatherers) {
        if (!l.decided && l.device->backend->traits().private_sums && bytes_of_shadow(l, g.parameter) <= most_copied)
            return "the device adds to private copies";
        GatherLaunch launch{&g.kernel, range, l.arguments};
        for (const AxisEnds& e : primal) add_int(launch.arguments, e.from), add_int(launch.arguments, e.to);
        launch.range.rank = int(g.axes.size()), launch.range.group_rank = 0;
        launch.range.from = {}, launch.range.to.fill(1);
        std::vector<AxisEnds> elements(g.axes.size(), AxisEnds{INT32_MAX, 0});
        double cost = 0, most = 0;
        for (const auto& [group, additions] : g.groups) {
            double own_visits = items, own_most = items;
            for (size_t n = 0; n < group.size(); ++n) {
                const FootprintGatherAdjoint::Dimension& d = group[n];
                const size_t axis = group.size() - 1 - n;  // of the gather's range
                const AxisEnds along = primal[size_t(d.axis)];
                ItemFootprint f;
                const std::string refusal =
                    d.footprint(l.known, along.from, along.to, l.known.extent(g.parameter, g.axes[axis]), f);
                if (!refusal.empty()) return refusal;
                add_intervals(launch.arguments, d, f);
                elements[axis].from = std::min(elements[axis].from, f.first);
                elements[axis].to = std::max(elements[axis].to, f.last + 1);
                own_visits *= f.visits / double(along.length()), own_most *= f.most_visits / double(along.length());
            }
            cost += own_visits * (cost_of_visit + cost_of_addition * double(additions)), most += own_most;
            scattered += items * double(additions);
        }
        if (!l.decided && most > most_visits) return text("a texel would visit ", int64_t(most), " work-items");
        double owned = 1;
        for (size_t axis = 0; axis < elements.size(); ++axis) {
            owned *= double(elements[axis].length());
            if (elements[axis].length() == 0) launch.range.rank = 0;
            launch.range.from[elements.size() - 1 - axis] = elements[axis].from;
            launch.range.to[elements.size() - 1 - axis] = elements[axis].to;
        }
        gathered += cost + owned * cost_of_element;
        if (launch.range.rank > 0) launches.push_back(std::move(launch));
    }
    if (!l.decided && gathered > scattered)
        return text("its gather costs as much as ", int64_t(gathered), " additions, and there are ", int64_t(scattered));
    for (const GatherLaunch& launch : launches) launch.kernel->launch(launch.range, launch.arguments);
    const detail::NextLaunchHint hint(!l.derived.after.empty());
    launch_in_chunks(made->rest, *l.derived.primal, made->summed, range, l.arguments, *l.device);
    return "";
}

}  // namespace pumice::derive
