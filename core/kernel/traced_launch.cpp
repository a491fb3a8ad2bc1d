#include "core/kernel/traced_launch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "core/passes/dead.h"
#include "core/passes/promote.h"
#include "core/passes/simplify.h"
#include "core/tools/kernel_counts.h"

namespace pumice::detail {
namespace {

using tools::Bounds;
using tools::KernelCounts;
using tools::LaunchFacts;

/// A bound that is a number: the upper one, if there is one.
double number(const Bounds& b) { return std::isfinite(b.most) ? b.most : b.least; }

/// The counts of a kernel, kept for the last launch they were made for.
class Counted {
public:
    explicit Counted(const ir::Kernel& recorded)
        : kernel(ir::dead(ir::simplify(ir::promote(recorded)))), always(exact(KernelCounts(kernel))) {}

    const ir::Kernel kernel;

    KernelCounts counts(LaunchFacts facts) {
        if (always) facts = {};
        const std::lock_guard lock(mutex);
        const bool same = last && (always || (last->extent == facts.extent && last->group == facts.group &&
                                              last->arguments == facts.arguments && last->extents == facts.extents));
        if (!same) {
            made = std::make_unique<KernelCounts>(kernel, facts);
            last = std::make_unique<LaunchFacts>(std::move(facts));
        }
        return *made;
    }

private:
    /// True if no launch changes the counts.
    static bool exact(const KernelCounts& counts) {
        return counts.float_operations().exact() && counts.integer_operations().exact() && counts.bytes_read().exact() &&
               counts.bytes_written().exact();
    }

    const bool always;
    std::mutex mutex;
    std::unique_ptr<LaunchFacts> last;
    std::unique_ptr<KernelCounts> made;
};

LaunchFacts facts_of(const ir::Kernel& kernel, const Launch& launch) {
    LaunchFacts facts;
    facts.extent = launch.extent;
    facts.group = launch.group;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
        const Launch::Argument& given = launch.arguments[i];
        facts.arguments.push_back(kernel.params[i].is_array ? std::nullopt : std::optional(given.bits));
        facts.extents.push_back(given.array.extents);
    }
    return facts;
}

std::string extents_text(const std::array<int64_t, 3>& axes, int rank) {
    std::string out;
    for (int axis = rank; axis-- > 0;) out += text(out.empty() ? "" : " x ", axes[size_t(axis)]);
    return out;
}

}  // namespace

std::shared_ptr<TracedWork> traced_launch(const KernelBase& base, const ir::Kernel& kernel, const Launch& launch,
                                          DeviceState& device) {
    const Roof roof = roof_of(device);
    auto work = traced_work("launch", base.name(), device, launch.stream);
    work->roof = roof;
    const auto counted = std::static_pointer_cast<Counted>(
        base.kept("traced_launch", [&] { return std::static_pointer_cast<void>(std::make_shared<Counted>(kernel)); }));
    const KernelCounts counts = counted->counts(facts_of(kernel, launch));
    double items = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t whole = (launch.extent[axis] + launch.group[axis] - 1) / launch.group[axis] * launch.group[axis];
        items *= double(kernel.whole_groups ? whole : launch.extent[axis]);
    }
    for (size_t i = 0; i < kernel.params.size(); ++i) {
        if (!kernel.params[i].is_array) continue;
        const double spans = double(launch.arguments[i].array.bytes);
        const ir::MemoryId array = kernel.params[i].memory;
        work->bytes += std::min(spans, items * number(counts.bytes_read(array)));
        work->bytes += std::min(spans, items * number(counts.bytes_written(array)));
    }
    const Bounds floats = counts.float_operations() * items, integers = counts.integer_operations() * items;
    const Bounds accessed = (counts.bytes_read() * items) += counts.bytes_written() * items;
    work->operations = number(floats);
    const bool exact = floats.exact() && integers.exact() && accessed.exact();
    work->details.add("source", kernel.where(kernel.loc))
        .add("range", extents_text(launch.extent, launch.rank))
        .add("group", extents_text(launch.group, launch.rank))
        .add("bytes", int64_t(work->bytes))
        .add("accessed bytes", int64_t(number(accessed)))
        .add("operations", int64_t(number(floats)))
        .add("integer operations", int64_t(number(integers)))
        .add("counts", exact                                                        ? "exact"
                       : std::isfinite(floats.most + integers.most + accessed.most) ? "at most"
                                                                                    : "at least");
    return work;
}

}  // namespace pumice::detail
