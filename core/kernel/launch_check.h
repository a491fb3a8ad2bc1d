// The checks of a launch: arguments, overlaps, streams, range, group. Every message starts with the kernel.
#pragma once
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/host/device.h"
#include "core/ir/ir.h"
#include "core/kernel/host_argument.h"
#include "core/kernel/image_arguments.h"
#include "core/kernel/indirect.h"
#include "core/kernel/range.h"
#include "core/support/error.h"

namespace pumice::detail {

/// "16 x 8"
inline std::string extents_text(std::span<const int64_t> written) {
    std::string out;
    for (const int64_t n : written) out += text(out.empty() ? "" : " x ", n);
    return out;
}
/// The text of an axis array, in written order.
inline std::string extents_text(const std::array<int64_t, 3>& axes, int rank) {
    std::vector<int64_t> written(axes.rend() - rank, axes.rend());
    return extents_text(written);
}

/// Collects one launch and checks it; every message starts with the kernel.
class LaunchCheck {
public:
    LaunchCheck(const ir::Kernel& kernel, const Range& range, std::span<const HostArgument> arguments)
        : kernel(kernel), range(range), arguments(arguments) {}

    const std::shared_ptr<DeviceState>* device = nullptr;  // held by an argument, the range, or `opened`
    Launch launch;

    /// Returns false if the range is empty.
    bool collect() {
        check_arguments();
        check_aliases();
        return check_range();
    }
    void check_group(const Limits& limits) const {
        int64_t items = 1;
        bool too_many = false;
        for (int d = 0; d < launch.rank; ++d) {
            const int axis = launch.rank - 1 - d;
            const int64_t n = launch.group[axis], limit = limits.max_group_extent[axis];
            if (n < 1) refuse("its group has extent ", n, " along dimension ", d, ": extents are positive");
            if (n > limit)
                refuse("its group has extent ", n, " along dimension ", d, "; the limit of ", (*device)->name, " is ", limit);
            too_many = __builtin_mul_overflow(items, n, &items) || too_many;
        }
        if (too_many || items > limits.max_group_size)
            refuse("its group has ", too_many ? "more than 2^63" : text(items), " work-items; the limit of ", (*device)->name,
                   " is ", limits.max_group_size);
    }

private:
    template <class... Parts> [[noreturn]] void refuse(const Parts&... parts) const {
        fail("kernel \"", kernel.name, "\" (", kernel.where(kernel.loc), "): ", parts...);
    }

    /// "f32", or of a struct "{position.x f32, ...} of 28 bytes".
    static std::string text_of(const Element& element) {
        if (element.is_scalar()) return std::string(name_of(element.leaves[0].type));
        std::string leaves;
        for (const Leaf& leaf : element.leaves) leaves += text(leaves.empty() ? "" : ", ", leaf.path, " ", name_of(leaf.type));
        return text("{", leaves, "} of ", element.size, " bytes");
    }

    void check_arguments() {
        const size_t takes = size_t(std::ranges::count_if(
            kernel.params, [](const ir::Parameter& p) { return p.origin == ir::ParameterOrigin::argument; }));
        const auto is_extra = [](const ir::Parameter& p) { return p.identity.extra; };
        const size_t extra = size_t(std::ranges::count_if(kernel.params, is_extra));
        if (extra && arguments.size() + extra == takes)
            refuse("it is a derivative with a tape in a buffer (",
                   kernel.label(size_t(std::ranges::find_if(kernel.params, is_extra) - kernel.params.begin())),
                   "), whose length depends on the launch: call autodiff, which makes one; a derivative needs none if its loops "
                   "have constant bounds");
        if (arguments.size() != takes)
            refuse("it takes ", takes, takes == 1 ? " argument" : " arguments", " and is given ", arguments.size());
        launch.arguments.resize(kernel.params.size());
        size_t first = 0, next = 0;
        for (size_t i = 0; i < kernel.params.size(); ++i) {
            const ir::Parameter& wanted = kernel.params[i];
            if (wanted.origin != ir::ParameterOrigin::argument) {
                launch.arguments[i].bits = range_bits(wanted);
                continue;
            }
            const HostArgument& given = arguments[next++];
            if (given.is_array != wanted.is_array)
                refuse(kernel.label(i), " is ", given.is_array ? "an array" : "a scalar", ", and the kernel takes ",
                       wanted.is_array ? "an array" : "a scalar");
            if (given.is_array ? *given.element != kernel[wanted.memory].element : given.type != wanted.type)
                refuse(kernel.label(i), " is of type ", given.is_array ? text_of(*given.element) : text(name_of(given.type)),
                       ", and the kernel takes ",
                       wanted.is_array ? text_of(kernel[wanted.memory].element) : text(name_of(wanted.type)));
            launch.arguments[i].bits = given.bits;
            if (!given.is_array) continue;
            if (given.image || kernel[wanted.memory].image)
                if (const std::string wrong = wrong_image(kernel, i, given); !wrong.empty()) refuse(wrong);
            if (!given.array && !given.image) refuse(kernel.label(i), " is an array that was never allocated");
            if (given.array && given.array->released) refuse(kernel.label(i), " is an array that was released");
            if (given.rank != kernel[wanted.memory].rank)
                refuse(kernel.label(i), " is a ", given.rank, "-dimensional array, and the kernel takes a ",
                       kernel[wanted.memory].rank, "-dimensional one");
            if (!device) device = &given.device(), first = i;
            if (given.device()->backend != (*device)->backend)
                refuse(kernel.label(i), " lies on ", given.device()->name, ", and ", kernel.label(first), " on ",
                       (*device)->name);
            Launch::Array& array = launch.arguments[i].array;
            if (given.array) {
                array = {given.array->memory.get(), given.array->offset, given.array->bytes, Launch::Array::ones()};
                launch.arguments[i].image = {};
            } else {
                const ImageState& image = *given.image->image;
                array = {image.memory.get(), 0, image.memory ? image.memory->bytes : 0, Launch::Array::ones()};
                launch.arguments[i].image = {image.memory.get(), &image.shape};
            }
            for (int d = 0; d < given.rank; ++d) array.extents[given.rank - 1 - d] = given.extents[d];
        }
        if (range.counts) check_counts(first);
        const Stream& stream = range.stream;
        if (stream.state) {
            if (!stream.state->device) refuse("it is put on a stream that was released");
            if (device && (*device)->backend != stream.state->device->backend)
                refuse("it is put on a stream of ", stream.state->device->name, ", and ", kernel.label(first), " lies on ",
                       (*device)->name);
            device = &stream.state->device;
            launch.stream = stream.state->number;
        }
        if (!device) opened = Device::open().state, device = &opened;
    }

    /// Checks the counts of an indirect range. `first`: the first array argument, if there is one.
    void check_counts(size_t first) {
        if (const std::string wrong = wrong_counts(kernel, range); !wrong.empty()) refuse(wrong);
        const std::shared_ptr<DeviceState>& here = range.counts.array->device;
        if (!device) device = &here;
        if ((*device)->backend != here->backend)
            refuse("the counts of its indirect range lie on ", here->name, ", and ", kernel.label(first), " on ",
                   (*device)->name);
    }

    /// The value of a range parameter, as i32.
    uint64_t range_bits(const ir::Parameter& p) const {
        const size_t d = size_t(p.dimension);
        return uint32_t(p.origin == ir::ParameterOrigin::range_start ? uint64_t(range.from[d])
                                                                     : uint64_t(range.to[d]) - uint64_t(range.from[d]));
    }

    void check_aliases() const {
        for (size_t i = 0; i < launch.arguments.size(); ++i)
            for (size_t j = i + 1; j < launch.arguments.size(); ++j) {
                const Launch::Array &a = launch.arguments[i].array, &b = launch.arguments[j].array;
                if (!a.memory || a.memory != b.memory || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
                    continue;
                const bool written_a = kernel[kernel.params[i].memory].access != ir::Access::in,
                           written_b = kernel[kernel.params[j].memory].access != ir::Access::in;
                if (written_a || written_b)
                    refuse(kernel.label(i), " and ", kernel.label(j), " overlap in memory, and ", kernel.label(written_a ? i : j),
                           " is written");
            }
    }

    bool check_range() {
        if (range.rank == 0) return own_range();
        if (kernel.rank != 0 && kernel.dimensions() != range.rank)
            refuse("it is launched over a ", range.rank, "-dimensional range and uses ", kernel.dimensions(),
                   "-dimensional indices");
        launch.rank = std::min(range.rank, 3);
        bool empty = false;
        for (int d = 0; d < range.rank; ++d) {
            const int axis = std::min(range.rank - 1 - d, 2);
            if (range.from[d] > range.to[d] && range.from[d] == 0)
                refuse("its range has extent ", range.to[d], " along dimension ", d, ": extents are not negative");
            if (range.from[d] > range.to[d])
                refuse("its range reaches from ", range.from[d], " to ", range.to[d], " along dimension ", d,
                       ": the end is not before the start");
            if (range.to[d] > INT32_MAX || range.from[d] < INT32_MIN)
                refuse("its range reaches from ", range.from[d], " to ", range.to[d], " along dimension ", d,
                       "; indices are from ", INT32_MIN, " to ", INT32_MAX - 1);
            const int64_t extent = range.to[d] - range.from[d];
            if (extent > INT32_MAX) refuse("its range has extent ", extent, " along dimension ", d, "; the limit is ", INT32_MAX);
            // More than 3 dimensions: the first ones are folded into one axis, which starts at 0.
            const bool folds = range.rank > 3 && axis == 2;
            launch.start[axis] = folds ? 0 : range.from[d];
            launch.extent[axis] = folds && d > 0 ? launch.extent[axis] * extent : extent;
            if (launch.extent[axis] > INT32_MAX)
                refuse("the first ", range.rank - 2, " dimensions of its range have more than ", INT32_MAX,
                       " items, which is the limit for them together");
            empty = empty || extent == 0;
        }
        if (kernel.range[0] && launch.extent != kernel.range)
            refuse("its range is ", extents_text(launch.extent, range.rank), ", and the kernel fixes ",
                   extents_text(kernel.range, kernel.rank));
        take_group();
        if (!empty) check_items();
        return !empty;
    }

    /// Limits the items, since devices count in 64 bits both items and their work.
    void check_items() const {
        constexpr int64_t most = int64_t(1) << 48;
        int64_t items = 1;
        for (const int64_t extent : launch.extent) {
            if (extent > most / items)
                refuse("its range of ", extents_text(launch.extent, launch.rank), " has more than ", most,
                       " items, which is the limit");
            items *= extent;
        }
    }

    /// Takes the range that the kernel fixes.
    bool own_range() {
        if (!kernel.range[0]) refuse("it is launched over no range, and fixes none at its definition (static_range)");
        launch.rank = kernel.rank;
        launch.extent = kernel.range;
        take_group();
        check_items();
        return true;
    }

    void take_group() {
        if (range.group_rank) {
            const int dimensions = std::max(range.rank, launch.rank);
            if (range.group_rank != dimensions)
                refuse("its group has ", range.group_rank, " dimensions and its range ", dimensions);
            launch.group = {1, 1, 1};
            for (int d = 0; d < dimensions; ++d) {
                if (dimensions > 3 && d < dimensions - 2 && range.group_extents[d] != 1)
                    refuse("its group has extent ", range.group_extents[d], " along dimension ", d, "; of a ", dimensions,
                           "-dimensional range, groups have extent 1 along all dimensions but the last two");
                launch.group[std::min(dimensions - 1 - d, 2)] = range.group_extents[d];
            }
        }
        if (!kernel.group[0]) return;
        if (range.group_rank && launch.group != kernel.group)
            refuse("its group is ", extents_text(launch.group, launch.rank), ", and the kernel fixes ",
                   extents_text(kernel.group, kernel.rank));
        launch.group = kernel.group;
    }

    const ir::Kernel& kernel;
    const Range& range;
    std::span<const HostArgument> arguments;
    std::shared_ptr<DeviceState> opened;
};

}  // namespace pumice::detail
