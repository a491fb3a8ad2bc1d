// Launches of the C interface: the checks of arguments and range, which come before anything happens.
//
// The messages have the form of the library's (core/kernel/launch_check.h): the kernel with its source line, then the fault with
// the value and the limit. Cost: some tens of nanoseconds for a kernel of few arguments; no memory is allocated.
#include <stdio.h>

#include "runtime/device/bundles.h"
#include "runtime/device/rt_device.h"

namespace pumice_rt {
namespace {

constexpr int64_t most_group_items = 1 << 20;

/// One launch while it is checked.
class LaunchCheck {
public:
    LaunchCheck(const Bundle& bundle, uint32_t kernel, pumice_device device, const pumice_range& range)
        : bundle(bundle), kernel(bundle.kernels[kernel]), device(device), range(range) {}

    pumice_status arguments(const pumice_argument* given, uint32_t count, Launch::Argument* to) const {
        uint32_t takes = 0;
        for (uint32_t i = 0; i < kernel.parameters.count; ++i) takes += parameter(i).origin == 0;
        if (count != takes) return refuse("it takes %u argument%s and is given %u", takes, takes == 1 ? "" : "s", count);
        if (count > 0 && !given) return refuse("its %u argument%s are in no memory", count, count == 1 ? "" : "s");
        uint32_t next = 0;
        for (uint32_t i = 0; i < kernel.parameters.count; ++i) {
            const ParameterRecord& p = parameter(i);
            new (&to[i]) Launch::Argument;
            if (p.origin != 0)
                to[i].bits = range_bits(p);
            else
                RT_TRY(argument(i, p, given[next++], to[i]));
        }
        return aliases(to);
    }

    /// Sets rank, start, extent and group; `empty` is true if the range has no items.
    pumice_status items(Launch& launch, bool& empty) const {
        empty = false;
        if (range.rank == 0) {
            if (!kernel.range[0]) return refuse("it is launched over no range, and fixes none at its definition");
            launch.rank = int(kernel.rank);
            for (int axis = 0; axis < 3; ++axis) launch.extent[axis] = kernel.range[axis];
            return group(launch);
        }
        if (range.rank < 0 || range.rank > PUMICE_MAX_RANK)
            return refuse("its range has %d dimensions; the limit is %d", range.rank, PUMICE_MAX_RANK);
        const int wanted = kernel.rank == 0 ? range.rank : int(kernel.rank + kernel.folded - 1);
        if (wanted != range.rank)
            return refuse("it is launched over a %d-dimensional range and uses %d-dimensional indices", range.rank, wanted);
        launch.rank = range.rank < 3 ? range.rank : 3;
        for (int d = 0; d < range.rank; ++d) RT_TRY(dimension(d, launch, empty));
        for (int axis = 0; axis < 3 && kernel.range[0]; ++axis)
            if (launch.extent[axis] != kernel.range[axis])
                return refuse("its range has extent %lld along axis %d, and the kernel fixes %u", longest(launch.extent[axis]),
                              axis, kernel.range[axis]);
        RT_TRY(group(launch));
        return empty ? PUMICE_OK : few_enough(launch);
    }

private:
    const ParameterRecord& parameter(uint32_t i) const { return bundle.parameters[kernel.parameters.first + i]; }

    template <class... A> pumice_status refuse(const char* format, A... values) const {
        fail(PUMICE_ERROR_ARGUMENT, "kernel \"%s\" (%s): ", bundle.text(kernel.name), bundle.text(kernel.source));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        return within(PUMICE_ERROR_ARGUMENT, format, values...);
#pragma GCC diagnostic pop
    }
    /// "argument 2 (x)", or "argument 2".
    struct ArgumentLabel {
        char text[96];
    };
    ArgumentLabel label(uint32_t i) const {
        ArgumentLabel l;
        const char* const name = bundle.text(parameter(i).name);
        const char* const path = bundle.text(parameter(i).path);
        const char* const shown = *path ? path : name;
        if (*shown)
            snprintf(l.text, sizeof l.text, "argument %u (%s)", i + 1, shown);
        else
            snprintf(l.text, sizeof l.text, "argument %u", i + 1);
        return l;
    }

    uint64_t range_bits(const ParameterRecord& p) const {
        const uint32_t d = p.dimension;
        return uint32_t(p.origin == 1 ? uint64_t(range.from[d]) : uint64_t(range.to[d]) - uint64_t(range.from[d]));
    }

    pumice_status argument(uint32_t i, const ParameterRecord& p, const pumice_argument& given, Launch::Argument& to) const {
        if (!given.array && p.is_array && given.type == 0 && given.bits == 0)  // as the generated functions pass it on
            return refuse("%s is no array", label(i).text);
        if ((given.array != nullptr) != (p.is_array != 0))
            return refuse("%s is %s, and the kernel takes %s", label(i).text, given.array ? "an array" : "a scalar",
                          p.is_array ? "an array" : "a scalar");
        if (!given.array) {
            if (uint32_t(given.type) >= type_count)
                return refuse("%s is of an unknown type, and the kernel takes %s", label(i).text, type_name(p.type));
            if (uint32_t(given.type) != p.type)
                return refuse("%s is of type %s, and the kernel takes %s", label(i).text, type_name(uint32_t(given.type)),
                              type_name(p.type));
            to.bits = field_bytes(p.type) == 8 ? given.bits : given.bits & mask(p.type);
            if (p.type == PUMICE_BOOL) to.bits = to.bits != 0;
            return PUMICE_OK;
        }
        const pumice_array& a = *given.array;
        if (a.rank == 0) return refuse("%s is an array that was never created, or was released", label(i).text);
        if (uint32_t(a.type) != p.type || uint32_t(a.element_bytes) != p.element_bytes)
            return refuse("%s is of type %s of %d bytes, and the kernel takes %s of %u bytes", label(i).text,
                          type_name(uint32_t(a.type)), a.element_bytes, type_name(p.type), p.element_bytes);
        if (uint32_t(a.rank) != p.rank)
            return refuse("%s is a %d-dimensional array, and the kernel takes a %u-dimensional one", label(i).text, a.rank,
                          p.rank);
        return place(i, p, a, to);
    }
    static uint64_t mask(uint32_t type) {
        const bool byte = type == PUMICE_BOOL || type == PUMICE_I8 || type == PUMICE_U8;
        const bool half = type == PUMICE_I16 || type == PUMICE_U16 || type == PUMICE_F16 || type == PUMICE_BF16;
        return byte ? 0xff : half ? 0xffff : 0xffffffffu;
    }
    pumice_status place(uint32_t i, const ParameterRecord& p, const pumice_array& a, Launch::Argument& to) const {
        int64_t elements = 1;
        for (int32_t d = 0; d < a.rank; ++d) {
            const int64_t e = a.extents[d];
            if (e < 0) return refuse("%s has extent %lld along dimension %d", label(i).text, longest(e), d);
            if (__builtin_mul_overflow(elements, e, &elements)) return refuse("%s has more than 2^63 elements", label(i).text);
            to.extents[a.rank - 1 - d] = e;
        }
        if (__builtin_mul_overflow(elements, int64_t(p.element_bytes), &to.bytes))
            return refuse("%s has more than 2^63 bytes", label(i).text);
        if (elements == 0) return PUMICE_OK;
        if (!a.memory) return refuse("%s is an array that was never created, or was released", label(i).text);
        if (a.memory->device != device)
            return refuse("%s lies on %s, and the launch is on %s", label(i).text, a.memory->device->name, device->name);
        if (a.offset < 0 || a.offset > a.memory->bytes || to.bytes > a.memory->bytes - a.offset)
            return refuse("%s has %lld bytes from byte %lld on, and its memory has %lld", label(i).text, longest(to.bytes),
                          longest(a.offset), longest(a.memory->bytes));
        const int64_t step = p.element_bytes % 4 == 0 ? 4 : p.element_bytes % 2 == 0 ? 2 : 1;
        if (a.offset % step != 0)
            return refuse("%s begins at byte %lld, which is no multiple of %lld", label(i).text, longest(a.offset),
                          longest(step));
        to.memory = a.memory, to.offset = a.offset;
        return PUMICE_OK;
    }

    pumice_status aliases(const Launch::Argument* all) const {
        for (uint32_t i = 0; i < kernel.parameters.count; ++i)
            for (uint32_t j = 0; all[i].memory && j < i; ++j) {
                const Launch::Argument &a = all[i], &b = all[j];
                if (a.memory != b.memory || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) continue;
                const bool written_a = Access(parameter(i).access) != Access::in,
                           written_b = Access(parameter(j).access) != Access::in;
                if (written_a || written_b)
                    return refuse("%s and %s overlap in memory, and %s is written", label(j).text, label(i).text,
                                  label(written_b ? j : i).text);
            }
        return PUMICE_OK;
    }

    pumice_status dimension(int d, Launch& launch, bool& empty) const {
        const int axis = range.rank - 1 - d < 2 ? range.rank - 1 - d : 2;
        const int64_t from = range.from[d], to = range.to[d];
        if (from > to && from == 0)
            return refuse("its range has extent %lld along dimension %d: extents are not negative", longest(to), d);
        if (from > to)
            return refuse("its range reaches from %lld to %lld along dimension %d: the end is not before the start",
                          longest(from), longest(to), d);
        if (to > INT32_MAX || from < INT32_MIN)
            return refuse("its range reaches from %lld to %lld along dimension %d; indices are from %d to %d", longest(from),
                          longest(to), d, INT32_MIN, INT32_MAX - 1);
        const int64_t extent = to - from;
        if (extent > INT32_MAX)
            return refuse("its range has extent %lld along dimension %d; the limit is %d", longest(extent), d, INT32_MAX);
        // More than 3 dimensions: the first ones are folded into one axis, which starts at 0.
        const bool folds = range.rank > 3 && axis == 2;
        launch.start[axis] = folds ? 0 : from;
        launch.extent[axis] = folds && d > 0 ? launch.extent[axis] * extent : extent;
        if (launch.extent[axis] > INT32_MAX)
            return refuse("the first %d dimensions of its range have more than %d items, which is the limit for them together",
                          range.rank - 2, INT32_MAX);
        empty = empty || extent == 0;
        return PUMICE_OK;
    }

    pumice_status few_enough(const Launch& launch) const {
        constexpr int64_t most = int64_t(1) << 48;
        int64_t items = 1;
        for (const int64_t extent : launch.extent) {
            if (extent > most / items) return refuse("its range has more than %lld items, which is the limit", longest(most));
            items *= extent;
        }
        return PUMICE_OK;
    }

    pumice_status group(Launch& launch) const {
        const int rank = range.rank ? range.rank : launch.rank;
        if (range.group[0]) {
            for (int axis = 0; axis < 3; ++axis) launch.group[axis] = 1;
            int64_t items = 1;
            for (int d = 0; d < rank; ++d) {
                const int64_t n = range.group[d];
                if (n < 1) return refuse("its group has extent %lld along dimension %d: extents are positive", longest(n), d);
                if (rank > 3 && d < rank - 2 && n != 1)
                    return refuse(
                        "its group has extent %lld along dimension %d; of a %d-dimensional range, groups have extent 1 "
                        "along all dimensions but the last two",
                        longest(n), d, rank);
                launch.group[rank - 1 - d < 2 ? rank - 1 - d : 2] = n;
                if (n > most_group_items || items > most_group_items / n)
                    return refuse("its group has more than %lld work-items, which is the limit", longest(most_group_items));
                items *= n;
            }
        }
        if (!kernel.group[0]) return PUMICE_OK;
        for (int axis = 0; axis < 3; ++axis) {
            if (range.group[0] && launch.group[axis] != kernel.group[axis])
                return refuse("its group has extent %lld along axis %d, and the kernel fixes %u", longest(launch.group[axis]),
                              axis, kernel.group[axis]);
            launch.group[axis] = kernel.group[axis];
        }
        return PUMICE_OK;
    }

    const Bundle& bundle;
    const KernelRecord& kernel;
    const pumice_device device;
    const pumice_range& range;
};

}  // namespace

Launch::Launch() = default;

/// Finds bundle and kernel of a call.
static pumice_status find(const pumice_library* library, uint32_t kernel, const Bundle*& bundle) {
    RT_TRY(bundle_of(library, bundle));
    if (kernel >= bundle->kernel_count)
        return fail(PUMICE_ERROR_ARGUMENT, "kernel number %u of the library %s is launched, which has %u kernels", kernel,
                    library->name, bundle->kernel_count);
    return PUMICE_OK;
}

static pumice_status launch(pumice_device device, const pumice_library* library, uint32_t kernel, const pumice_range* range,
                            const pumice_argument* arguments, uint32_t count) {
    if (!device) return fail(PUMICE_ERROR_ARGUMENT, "a launch is given no device");
    if (!range) return fail(PUMICE_ERROR_ARGUMENT, "a launch is given no range");
    const Bundle* bundle = nullptr;
    RT_TRY(find(library, kernel, bundle));
    const LaunchCheck check(*bundle, kernel, device, *range);
    alignas(Launch::Argument) char room[most_arguments * sizeof(Launch::Argument)];  // not initialised as a whole
    Launch::Argument* const checked = reinterpret_cast<Launch::Argument*>(room);
    RT_TRY(check.arguments(arguments, count, checked));
    Launch launch;
    launch.bundle = bundle, launch.library = library, launch.kernel = kernel;
    launch.arguments = checked, launch.argument_count = bundle->kernels[kernel].parameters.count;
    launch.stream = range->stream;
    if (launch.stream && launch.stream->device != device)
        return fail(PUMICE_ERROR_ARGUMENT, "kernel \"%s\" is put on a stream of %s, and the launch is on %s",
                    launch.kernel_name(), launch.stream->device->name, device->name);
    bool empty = false;
    RT_TRY(check.items(launch, empty));
    return empty ? PUMICE_OK : device->launch(launch);
}

static pumice_status prepare(pumice_device device, const pumice_library* library, uint32_t kernel) {
    if (!device) return fail(PUMICE_ERROR_ARGUMENT, "a kernel is prepared for no device");
    const Bundle* bundle = nullptr;
    RT_TRY(find(library, kernel, bundle));
    return device->prepare(*bundle, *library, kernel);
}

}  // namespace pumice_rt

pumice_status pumice_launch(pumice_device device, const pumice_library* library, uint32_t kernel, const pumice_range* range,
                            const pumice_argument* arguments, uint32_t count) {
    return pumice_rt::report(device, pumice_rt::launch(device, library, kernel, range, arguments, count));
}

pumice_status pumice_prepare(pumice_device device, const pumice_library* library, uint32_t kernel) {
    return pumice_rt::report(device, pumice_rt::prepare(device, library, kernel));
}
