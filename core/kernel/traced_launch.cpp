#include "core/kernel/traced_launch.h"

#include <algorithm>
#include <cmath>
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

/// A kernel's last launch and its description.
class Described {
public:
    explicit Described(const ir::Kernel& recorded)
        : kernel(ir::dead(ir::simplify(ir::promote(recorded)))), always(exact(KernelCounts(kernel))) {}

    std::shared_ptr<const TracedWork> work(const std::string& name, const Launch& launch, DeviceState& device) {
        const std::lock_guard lock(mutex);
        if (last && same(launch, device)) return last;
        last = describe(name, launch, device);
        of = launch;
        device_name = device.name;
        return last;
    }

private:
    /// True if no launch changes the counts.
    static bool exact(const KernelCounts& counts) {
        return counts.float_operations().exact() && counts.integer_operations().exact() && counts.bytes_read().exact() &&
               counts.bytes_written().exact();
    }
    bool same(const Launch& launch, const DeviceState& device) const {
        if (launch.stream != of.stream || launch.rank != of.rank || launch.extent != of.extent || launch.group != of.group ||
            !launch.counts.memory != !of.counts.memory || device.name != device_name)
            return false;
        for (size_t i = 0; i < of.arguments.size(); ++i) {
            const Launch::Argument &a = launch.arguments[i], &b = of.arguments[i];
            if (a.array.bytes != b.array.bytes || a.array.extents != b.array.extents) return false;
            if (!always && a.bits != b.bits) return false;
        }
        return true;
    }
    std::shared_ptr<const TracedWork> describe(const std::string& name, const Launch& launch, DeviceState& device) const;

    const ir::Kernel kernel;
    const bool always;
    std::mutex mutex;
    std::shared_ptr<const TracedWork> last;
    Launch of;
    std::string device_name;
};

std::shared_ptr<const TracedWork> Described::describe(const std::string& name, const Launch& launch, DeviceState& device) const {
    const Roof roof = roof_of(device);
    auto work = traced_work("launch", name, device, launch.stream);
    work->roof = roof;
    const KernelCounts counts(kernel, facts_of(kernel, launch));
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
    Bounds accessed = counts.bytes_read() * items;
    accessed += counts.bytes_written() * items;
    work->operations = number(floats);
    // An indirect range has at most these items.
    const bool exact = !launch.counts.memory && floats.exact() && integers.exact() && accessed.exact();
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

}  // namespace

std::shared_ptr<const TracedWork> traced_launch(const KernelBase& base, const ir::Kernel& kernel, const Launch& launch,
                                                DeviceState& device) {
    // The form of a kernel for indirect ranges may have one more parameter, and its own description.
    const bool more = launch.arguments.size() > base.recorded()->params.size();
    const auto described = std::static_pointer_cast<Described>(base.kept(more ? "traced_form" : "traced_launch", [&] {
        return std::static_pointer_cast<void>(std::make_shared<Described>(kernel));
    }));
    return described->work(base.name(), launch, device);
}

}  // namespace pumice::detail
