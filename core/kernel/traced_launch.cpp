#include "core/kernel/traced_launch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

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

/// A launch, and the description that it shares with launches alike.
struct LaunchKind {
    Launch launch;
    std::string device;
    std::vector<bool> counted;  ///< scalar arguments on which the description depends
    std::shared_ptr<const TracedWork> work;

    bool holds(const Launch& other, const DeviceState& on) const {
        if (other.stream != launch.stream || other.rank != launch.rank || other.extent != launch.extent ||
            other.group != launch.group || !other.counts.memory != !launch.counts.memory || on.name != device)
            return false;
        for (size_t i = 0; i < launch.arguments.size(); ++i) {
            const Launch::Argument &a = other.arguments[i], &b = launch.arguments[i];
            if (a.array.bytes != b.array.bytes || a.array.extents != b.array.extents) return false;
            if (i < counted.size() && counted[i] && a.bits != b.bits) return false;
        }
        return true;
    }
};

/// A kernel's launches with their descriptions.
class LaunchKinds {
public:
    explicit LaunchKinds(const ir::Kernel& recorded) : kernel(ir::dead(ir::simplify(ir::promote(recorded)))) {}

    std::shared_ptr<const LaunchKind> kind(const std::string& name, const Launch& launch, DeviceState& device) {
        const std::lock_guard lock(mutex);
        for (const auto& one : kinds)
            if (one->holds(launch, device)) return one;
        auto made = describe(name, launch, device);
        if (kinds.size() < most_kinds)
            kinds.push_back(made);
        else
            kinds[oldest++ % most_kinds] = made;
        return made;
    }

private:
    std::shared_ptr<const LaunchKind> describe(const std::string& name, const Launch& launch, DeviceState& device) const;

    static constexpr size_t most_kinds = 32;
    const ir::Kernel kernel;
    std::mutex mutex;
    std::vector<std::shared_ptr<const LaunchKind>> kinds;
    size_t oldest = 0;
};

/// The last launches of a thread, found without a lock. They are on the heap: dlopen finds room for few thread-local bytes.
struct Recent {
    uint64_t number = 0;
    bool more = false;
    std::shared_ptr<const LaunchKind> kind;
};
constexpr size_t most_recent = 64;
thread_local std::unique_ptr<std::array<Recent, most_recent>> recent;

Recent& recent_place(uint64_t number, const Launch& launch) {
    uint64_t hash = number;
    for (const int64_t extent : launch.extent) hash = (hash ^ uint64_t(extent)) * 0x9e3779b97f4a7c15;
    if (!recent) recent = std::make_unique<std::array<Recent, most_recent>>();
    return (*recent)[(hash ^ hash >> 32) % most_recent];
}

std::shared_ptr<const LaunchKind> LaunchKinds::describe(const std::string& name, const Launch& launch,
                                                        DeviceState& device) const {
    const Roof roof = trace::writes_file() ? roof_of(device) : Roof();
    auto work = traced_work("launch", name, device, launch.stream);
    work->roof = roof;
    work->source = kernel.where(kernel.loc);
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
    auto kind = std::make_shared<LaunchKind>();
    kind->launch = launch;
    kind->device = device.name;
    for (size_t i = 0; i < kernel.params.size(); ++i) kind->counted.push_back(counts.depends_on(i));
    kind->work = std::move(work);
    return kind;
}

}  // namespace

const char* lasting_name(const std::string& name, std::atomic<const char*>& known) {
    const char* there = known.load(std::memory_order_relaxed);
    if (!there) known.store(there = trace::lasting(name), std::memory_order_relaxed);
    return there;
}

std::shared_ptr<const TracedWork> traced_launch(const KernelBase& base, uint64_t number, const ir::Kernel& kernel,
                                                const Launch& launch, DeviceState& device) {
    // The form of a kernel for indirect ranges may have one more parameter, and its own description.
    const bool more = launch.arguments.size() > base.recorded()->params.size();
    Recent& place = recent_place(number, launch);
    if (place.kind && place.number == number && place.more == more && place.kind->holds(launch, device)) return place.kind->work;
    const auto described = std::static_pointer_cast<LaunchKinds>(base.kept(more ? "traced_form" : "traced_launch", [&] {
        return std::static_pointer_cast<void>(std::make_shared<LaunchKinds>(kernel));
    }));
    place = {number, more, described->kind(base.name(), launch, device)};
    return place.kind->work;
}

}  // namespace pumice::detail
