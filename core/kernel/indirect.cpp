// Launches over indirect ranges: a small kernel on the same stream reads the counts, clamps them to the limits, reports a count
// that is outside of them (by `require`: the next wait for the device throws), and writes the extents and numbers of groups that
// the launch takes.
//
//     k(indirect(counts, limit), x)     counts: now = clamp(counts, 0, limit); groups = now / group, rounded up
//                                       k over `now`, in the same groups
//
// Why a copy: a later write to the counts, even by the launch itself, does not change the range; derivatives keep the copy.
// The device takes the extents from the copy when the launch begins, or runs the kernel's indirect form, which reads them.
#include "core/kernel/indirect.h"

#include <algorithm>

#include "core/host/trace_hook.h"
#include "core/language/console.h"
#include "core/lowering/indirect_range.h"
#include "core/passes/inlining.h"
#include "core/passes/promote.h"

namespace pumice::detail {
namespace {

constexpr int64_t counts_size = counts_bytes / sizeof(int32_t);

/// The extent along axis a is counts[first + step * a].
template <class T> const auto check_counts =
    kernel("counts", [](In<T> counts, Out<int> now, Val<int> rank, Val<int> first, Val<int> step, Val<int> limit0,
                        Val<int> limit1, Val<int> limit2, Val<int> group0, Val<int> group1, Val<int> group2) {
        const Val<int> limits[] = {limit0, limit1, limit2}, groups[] = {group0, group1, group2};
        for (int axis = 0; axis < 3; ++axis) {
            Var<int> extent = 1;
            $if(rank > axis) {
                const Val<T> count = counts[first + step * axis];
                const Val<T> most = cast<T>(limits[axis]);
                const Val<int> taken = cast<int>(min(max(count, T(0)), most));
                const Val<int> dimension = rank - 1 - axis;
                const Val<bool> good = count >= T(0) && count <= most;
                require(good, "its indirect range has a count of {} along dimension {}, and counts are from 0 to {}: it takes {}",
                        count, dimension, most, taken);
                extent = taken;
            };
            now[axis] = extent;
            const Val<int> full = extent / groups[axis];
            const Val<int> rest = extent % groups[axis];
            now[3 + axis] = full + select(rest == 0, 0, 1);
        }
    });

/// The kernel that checks the counts, with the name and line of the kernel that is launched: for messages.
const KernelBase& check_for(const KernelBase& kernel, bool is_signed) {
    const auto made = kernel.kept(is_signed ? "signed counts" : "unsigned counts", [&]() -> std::shared_ptr<void> {
        const std::shared_ptr<const ir::Kernel> of = kernel.recorded();
        const KernelBase& check = is_signed ? static_cast<const KernelBase&>(check_counts<int32_t>) : check_counts<uint32_t>;
        ir::Kernel k = *check.recorded();
        k.name = of->name, k.files = of->files, k.loc = of->loc;
        for (ir::Inst& inst : k.insts) inst.loc = of->loc;
        for (ir::Memory& memory : k.memories) memory.loc = of->loc;
        return std::make_shared<AnyKernel>(std::make_shared<const ir::Kernel>(std::move(k)));
    });
    return *static_cast<const AnyKernel*>(made.get());
}

/// True if the kernel's meaning may depend on the extents of groups.
bool sees_groups(const ir::Kernel& k) {
    return k.whole_groups || std::ranges::any_of(k.insts, [](const ir::Inst& i) {
               switch (i.op) {
                   case ir::Op::local_index:
                   case ir::Op::group_index:
                   case ir::Op::group_size:
                   case ir::Op::group_count:
                   case ir::Op::subgroup_lane:
                   case ir::Op::subgroup_index:
                   case ir::Op::subgroup: return true;
                   default: return ir::is_barrier(i.op);
               }
           });
}

/// Fixes the groups to those that a launch of the kernel has by default.
Range with_group_of(const Range& range, const ir::Kernel& kernel, const Backend& backend) {
    Launch launch;
    launch.rank = range.rank;
    for (int axis = 0; axis < range.rank; ++axis) launch.extent[size_t(axis)] = range.to[size_t(range.rank - 1 - axis)];
    launch.arguments.resize(kernel.params.size());
    const bool empty = std::ranges::find(launch.extent, 0) != launch.extent.end();
    if (range.group_rank || kernel.group[0] || empty || !sees_groups(kernel)) return range;
    const std::array<int64_t, 3> group = backend.choose_group(kernel, launch);
    Range fixed = range;
    fixed.group_rank = range.rank;
    fixed.group_extents = Launch::Array::ones();
    for (int d = 0; d < range.rank; ++d) fixed.group_extents[size_t(d)] = group[size_t(range.rank - 1 - d)];
    return fixed;
}

Launch::Argument array_argument(const ArrayState& array) {
    Launch::Argument argument;
    argument.array = {array.memory.get(), array.offset, array.bytes, Launch::Array::ones()};
    argument.array.extents[0] = array.bytes / int64_t(sizeof(int32_t));
    return argument;
}

Launch::Argument number(int64_t value) {
    Launch::Argument argument;
    argument.bits = uint32_t(int32_t(value));
    return argument;
}

}  // namespace

std::string wrong_counts(const ir::Kernel& kernel, const Range& range) {
    const Range::Counts& counts = range.counts;
    if (!counts.array) return "the counts of its indirect range are an array that was never allocated";
    if (counts.array->released) return "the counts of its indirect range are an array that was released";
    const int64_t elements = counts.array->bytes / int64_t(sizeof(int32_t));
    if (!counts.checked && elements != range.rank)
        return text("its indirect range has ", range.rank, range.rank == 1 ? " limit" : " limits",
                    ", and the array of its counts has ", elements, elements == 1 ? " element" : " elements",
                    ": both have one for each dimension");
    for (int d = 0; d < range.rank; ++d)
        if (range.to[size_t(d)] < 0 || range.to[size_t(d)] > INT32_MAX)
            return text("its indirect range has the limit ", range.to[size_t(d)], " along dimension ", d,
                        ": limits are from 0 to ", INT32_MAX);
    if (kernel.range[0]) return "its range is indirect, and the kernel fixes its range (static_range)";
    return "";
}

std::shared_ptr<ArrayState> counts_now(const KernelBase& kernel, const Range& range, const std::array<int64_t, 3>& group) {
    const ScopedTraceHook aside(nullptr);
    const Range::Counts& counts = range.counts;
    const std::shared_ptr<DeviceState>& device = counts.array->device;
    const int64_t size = counts_size;
    const std::shared_ptr<ArrayState> now = allocate(device, &size, 1, element_of<int32_t>(), false);
    const KernelBase& check = check_for(kernel, counts.is_signed);
    Launch launch;
    launch.group = {1, 1, 1};
    if (range.stream.state) launch.stream = range.stream.state->number;
    launch.arguments = {array_argument(*counts.array), array_argument(*now), number(range.rank),
                        number(counts.checked ? 0 : range.rank - 1), number(counts.checked ? 1 : -1)};
    for (int axis = 0; axis < 3; ++axis)
        launch.arguments.push_back(number(axis < range.rank ? range.to[size_t(range.rank - 1 - axis)] : 1));
    for (const int64_t extent : group) launch.arguments.push_back(number(std::max<int64_t>(extent, 1)));
    device->backend->launch(executable_of(check, device), launch);
    return now;
}

Range with_counts(const Range& range, std::shared_ptr<ArrayState> counts) {
    Range r = range;
    r.counts = {true, true, true, std::move(counts)};
    return r;
}

Range range_now(const KernelBase& kernel, const Range& range, const DeviceState* device) {
    if (!range.counts || range.counts.checked) return range;
    const std::shared_ptr<const ir::Kernel> recorded = kernel.recorded();
    std::string wrong = wrong_counts(*recorded, range);
    if (wrong.empty() && device && device->backend != range.counts.array->device->backend)
        wrong = text("the counts of its indirect range lie on ", range.counts.array->device->name, ", and its arguments on ",
                     device->name);
    if (!wrong.empty()) fail("kernel \"", recorded->name, "\" (", recorded->where(recorded->loc), "): ", wrong);
    return with_counts(range, counts_now(kernel, range, {1, 1, 1}));
}

HostArgument counts_argument(const ArrayState& counts) {
    HostArgument argument;
    argument.is_array = true;
    argument.element = counts.element;
    argument.array = &counts;
    argument.extents[0] = counts_size;
    return argument;
}

const KernelBase& indirect_form(const KernelBase& kernel, bool with_rules) {
    const auto made = kernel.kept(with_rules ? "indirect form with rules" : "indirect form", [&]() -> std::shared_ptr<void> {
        const std::shared_ptr<const ir::Kernel> recorded = kernel.recorded();
        const ir::Kernel inlined = with_rules ? ir::inlining_without_rules(*recorded) : ir::inlining(*recorded);
        const bool barriers = std::ranges::any_of(inlined.insts, [](const ir::Inst& i) { return ir::is_barrier(i.op); });
        if (barriers && !inlined.functions.empty())
            fail("kernel \"", inlined.name, "\" (", inlined.where(inlined.loc),
                 ") is differentiated over an indirect range, and has barriers and functions with derivative rules (\"",
                 inlined.functions.front().name, "\"), which do not go together there");
        return std::make_shared<AnyKernel>(std::make_shared<const ir::Kernel>(ir::indirect_range(ir::promote(inlined))));
    });
    return *static_cast<const AnyKernel*>(made.get());
}

DirectLaunch direct_launch(const KernelBase& kernel, const Range& range) {
    const std::shared_ptr<const ir::Kernel> recorded = kernel.recorded();
    const std::shared_ptr<ArrayState>& counts = range.counts.array;
    const Backend& backend = *counts->device->backend;
    Range direct = recorded->functions.empty() ? with_group_of(range, *recorded, backend)
                                               : with_group_of(range, ir::inlining(*recorded), backend);
    direct.counts = {};
    return {indirect_form(kernel, true), direct, counts, counts_argument(*counts)};
}

}  // namespace pumice::detail
