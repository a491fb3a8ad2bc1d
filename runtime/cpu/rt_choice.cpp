#include "runtime/cpu/rt_choice.h"

#include "runtime/cpu/rt_processor.h"

namespace pumice_rt {
namespace {

constexpr int64_t line_bytes = 64;
// Alignment peeling pays from here on (cpu/runtime/launch_alignment.cpp).
constexpr int64_t least_row = 128, least_items = 16384, long_row = 4096;
// Private copies of sums pay up to here (cpu/plan/reduction_privatisation.cpp).
constexpr int64_t most_copied_bytes = 64 << 20, most_bytes_in_lanes = 1 << 20, most_elements_an_item = 4;
// Items own ranges of arrays with at least as many elements (cpu/runtime/cpu_program.cpp).
constexpr int64_t most_items_an_element = 16;
constexpr int64_t rows_of_stencil = 4, row_bytes = 1024;

using Group = int64_t[3];

int64_t items_in(const int64_t (&e)[3]) { return e[0] * e[1] * e[2]; }

/// The properties of a launch that its variant depends on.
struct Wanted {
    bool streaming = false, peeled = false, wide = false;
    uint32_t sum_kind = 0;
    int64_t width = 1;
    Group group = {0, 0, 0};
};

bool any_group(const KernelRecord& k) { return (k.flags & KernelRecord::movable) && !(k.flags & KernelRecord::reports); }

int64_t step(int64_t extent, int64_t a, int64_t b) { return extent <= a ? a : b; }
int64_t step(int64_t extent, int64_t a, int64_t b, int64_t c) { return extent <= a ? a : extent <= b ? b : c; }

void default_group(const Launch& l, Group& group) {
    const auto& e = l.extent;
    group[0] = group[1] = group[2] = 1;
    const bool local = l.record().locals.count > 0;
    if (l.rank == 1) {
        group[0] = local ? step(e[0], 64, 256) : e[0] > long_range ? 1024 : step(e[0], 64, 256);
    } else if (e[0] * e[1] >= long_range && l.record().across >= 0) {
        group[0] = group[1] = 16;
    } else {
        group[0] = step(e[0], 16, 64, 256);
        const int64_t rows = step(e[1], 1, 4, 16), most = 256 / group[0];
        group[1] = rows < most ? rows : most;
    }
}

void stencil_group(const Launch& l, Group& group) {
    const auto& e = l.extent;
    int64_t bytes = 1;  // of the largest element
    for (uint32_t i = 0; i < l.argument_count; ++i)
        if (l.arguments[i].memory && l.parameter(i).element_bytes > bytes) bytes = l.parameter(i).element_bytes;
    const int64_t row = bytes < 4 ? row_bytes / bytes : 256;
    group[0] = step(e[0], 16, 64, row), group[1] = group[2] = 1;
    group[l.record().stencil & 4 ? 2 : 1] = rows_of_stencil;
    const int64_t rows = step(e[1], 1, 4, 16), most = row / group[0], fits = rows < most ? rows : most;
    if (fits > group[1]) group[1] = fits;
    if (group[0] == row && e[0] % row != 0) group[0] += most_peeled;
}

/// True if some row may not begin at a cache line. Unknown cases count as true.
bool begins_within_lines(const Launch& l) {
    const RecordRange& stores = l.record().stores;
    if (stores.count == 0) return false;
    const StoreRecord& s = l.bundle->stores[stores.first];
    const Launch::Argument& array = l.arguments[s.parameter];
    if (!s.known || !array.memory) return true;
    const int64_t size = l.parameter(s.parameter).element_bytes, rows = l.extent[1] * l.extent[2];
    return (array.offset + (l.start[0] + s.offset) * size) % line_bytes != 0 ||
           (rows > 1 && array.extents[0] * size % line_bytes != 0);
}

bool worth_peeling(const Launch& l, bool streaming) {
    if (l.extent[0] < least_row || items_in(l.extent) < least_items) return false;
    const bool gains = streaming || l.extent[0] >= long_row || (l.record().flags & KernelRecord::mostly_stores) != 0;
    return gains && begins_within_lines(l);
}

void choose_group(const Launch& l, const Wanted& wanted, int threads, Group& group) {
    const KernelRecord& k = l.record();
    default_group(l, group);
    if (!any_group(k)) return;
    if (group[1] < int64_t(k.jammed_rows) && k.across < 0 && l.extent[1] >= 2 * threads * int64_t(k.jammed_rows)) {
        group[1] = k.jammed_rows;
        return;
    }
    if (l.rank > 1 && k.across < 0 && !k.stencil && !(k.flags & KernelRecord::swapped)) {
        if (group[0] == 256 && group[1] == 1) group[0] = 1024;
        return;
    }
    if (items_in(l.extent) < long_range) return;
    if (k.stencil) return stencil_group(l, group);
    if (k.across >= 0 && worth_peeling(l, wanted.streaming)) group[0] = 32, group[1] = 16, group[2] = 1;
    if (k.across < 0 && (k.flags & KernelRecord::swapped)) group[0] = group[1] = 16, group[2] = 1;
}

uint32_t choose_sums(const Launch& l, int threads, int64_t width) {
    int64_t bytes = 0, elements = 0, copied_bytes = 0, copied = 0;
    for (uint32_t i = 0; i < l.argument_count; ++i) {
        if (!l.parameter(i).added_to) continue;
        const int64_t n = l.arguments[i].count(), size = n * l.parameter(i).element_bytes;
        elements += n, bytes += size;
        if (!items_own(l, i)) copied += n, copied_bytes += size;
    }
    const int64_t most = most_elements_an_item * items_in(l.extent);
    if (elements == 0 || copied > most || copied_bytes * threads > most_copied_bytes) return 0;
    return width > 1 && elements <= most && bytes * width <= most_bytes_in_lanes ? 2 : 1;
}

/// Sets all but the width.
void describe(const Launch& l, int threads, int64_t cache_bytes, Wanted& wanted) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < l.argument_count; ++i) {
        bytes += l.arguments[i].memory ? l.arguments[i].bytes : 0;
        wanted.wide = wanted.wide || (l.arguments[i].memory && l.arguments[i].count() > INT32_MAX);
    }
    wanted.streaming = bytes >= cache_bytes;
    if (l.group[0]) memcpy(wanted.group, l.group, sizeof wanted.group);
    if (!l.group[0] || any_group(l.record())) choose_group(l, wanted, threads, wanted.group);
    wanted.sum_kind = choose_sums(l, threads, wanted.width);
    wanted.peeled = any_group(l.record()) && wanted.sum_kind != 2 && wanted.group[0] % most_peeled == 0 && wanted.width > 1 &&
                    worth_peeling(l, wanted.streaming);
}

/// The distance of a record from the wanted one; less is better, negative: it cannot be used.
int64_t distance(const Launch& l, const NativeRecord& n, const Wanted& wanted, bool any_group) {
    const auto has = [&](uint32_t flag) { return (n.flags & flag) != 0; };
    if (has(NativeRecord::wide_offsets) < wanted.wide || (has(NativeRecord::peeled) && !wanted.peeled)) return -1;
    if (has(NativeRecord::no_tail))
        for (int axis = 0; axis < 3; ++axis)
            if (l.extent[axis] % n.group[axis] != 0) return -1;
    int64_t far = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const int64_t a = n.group[axis], b = wanted.group[axis];
        if (a != b && !any_group) return -1;
        far += 16 * (a < b ? b / a - 1 : a / b - 1) + (a != b);
    }
    // Code with SLEEF's functions is usable only where these are there, and then faster.
    far += 8192 * !has(NativeRecord::vector_functions) + 4096 * (has(NativeRecord::wide_offsets) != wanted.wide) +
           1024 * (n.sum_kind != wanted.sum_kind);
    if (n.sum_kind > 0 && wanted.sum_kind == 0) return -1;  // no memory for copies
    far += !has(NativeRecord::no_tail);                     // code for whole groups is better where it may be used
    return far + 2 * (has(NativeRecord::peeled) != wanted.peeled) + 4 * (has(NativeRecord::streaming) != wanted.streaming);
}

}  // namespace

bool items_own(const Launch& l, uint32_t parameter) {
    if (l.stream || !l.parameter(parameter).bounds) return false;
    int64_t elements = 0;
    for (uint32_t i = 0; i < l.argument_count; ++i)
        if (l.parameter(i).bounds) elements += l.arguments[i].count();
    return items_in(l.extent) <= most_items_an_element * elements;
}

NativeCode* choose_native(const Launch& l, NativeCode* codes, uint32_t most_level, int threads, int64_t cache_bytes) {
    const KernelRecord& k = l.record();
    NativeCode* const all = codes + k.natives.first;
    Wanted wanted;
    uint32_t level = 0;
    for (uint32_t i = 0; i < k.natives.count; ++i) {
        const uint32_t one = all[i].record->level;
        const bool allowed = one <= most_level || one == uint32_t(NativeLevel::generic);
        // Code of no level is the last choice; the records of a level have one width.
        if (all[i].entry && allowed &&
            (level == 0 || level == uint32_t(NativeLevel::generic) || (one > level && one <= most_level)))
            level = one, wanted.width = all[i].record->width;
    }
    describe(l, threads, cache_bytes, wanted);
    // Items that cannot tell their group take any; so does a launch that leaves the group open.
    const bool open_group = any_group(k) || !l.group[0];
    NativeCode* best = nullptr;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < k.natives.count; ++i) {
        if (!all[i].entry || all[i].record->level != level) continue;
        const int64_t far = distance(l, *all[i].record, wanted, open_group);
        if (far >= 0 && far < least) best = &all[i], least = far;
    }
    return best;
}

}  // namespace pumice_rt
