// Copies of strided regions. A region that is contiguous on both sides is one device copy; all others are done by a kernel of the
// library, so that a million rows take one launch.
#include "core/host/strided_region.h"

#include <algorithm>

#include "core/host/trace_hook.h"
#include "core/kernel/kernel.h"

namespace pumice::detail {
namespace {

/// A dimension of a copy: its extent, and its stride on either side.
struct CopyDimension {
    int64_t extent, from, to;
};

/// The copy's dimensions, the slowest first. Dimensions that are contiguous to each other on both sides are merged.
std::vector<CopyDimension> dimensions_of(const StridedRegion& from, const StridedRegion& to) {
    std::vector<CopyDimension> all;
    for (size_t d = 0; d < from.extents.size(); ++d) {
        const CopyDimension next{from.extents[d], from.strides[d], to.strides[d]};
        if (next.extent == 1) continue;
        if (!all.empty() && all.back().from == next.from * next.extent && all.back().to == next.to * next.extent)
            all.back() = {all.back().extent * next.extent, next.from, next.to};
        else
            all.push_back(next);
    }
    return all;
}

/// Number of elements from the first to the last one of the region, both included.
int64_t span_of(const StridedRegion& region) {
    int64_t last = 0;
    for (size_t d = 0; d < region.extents.size(); ++d) last += (region.extents[d] - 1) * region.strides[d];
    return last + 1;
}

int64_t count_of(const StridedRegion& region) {
    // If an extent is 0, the others may have any size.
    if (std::ranges::find(region.extents, 0) != region.extents.end()) return 0;
    int64_t n = 1;
    for (const int64_t e : region.extents) n *= e;
    return n;
}

bool dense(const StridedRegion& region) {
    uint64_t stride = 1;
    for (size_t d = region.extents.size(); d-- > 0; stride *= uint64_t(region.extents[d]))
        if (region.extents[d] != 1 && uint64_t(region.strides[d]) != stride) return false;
    return true;
}

/// A region over all of a new array.
struct Dense {
    Dense(const std::shared_ptr<DeviceState>& device, const StridedRegion& shape, const Element& element)
        : extents(shape.extents.begin(), shape.extents.end()), strides(extents.size()) {
        int64_t stride = 1;
        for (size_t d = extents.size(); d-- > 0; stride *= extents[d]) strides[d] = stride;
        state = allocate(device, extents.data(), int(extents.size()), element, false);
    }
    StridedRegion region() const { return {0, extents, strides}; }

    std::vector<int64_t> extents, strides;
    std::shared_ptr<ArrayState> state;
};

template <class T> const auto copy_strided =
    kernel("copy_strided", [](Out<T> to, In<T> from, Val<int> to_plane, Val<int> to_row, Val<int> to_step, Val<int> from_plane,
                              Val<int> from_row, Val<int> from_step) {
        auto [i, j, k] = global_index<3>();
        to[i * to_plane + j * to_row + k * to_step] = from[i * from_plane + j * from_row + k * from_step];
    });

/// `count` elements of the array, from `first` on, as units of type T.
template <class T> Array<T> units(const ArrayState& array, int64_t first, int64_t count) {
    const auto part = slice(array, first, count);
    part->element = &element_of<T>();
    part->element_size = sizeof(T);
    return {{part->bytes / int64_t(sizeof(T))}, part};
}

/// Copies by kernels over units of type T, with `per` units an element.
template <class T> void copy_units(const ArrayState& from, const StridedRegion& from_region, const ArrayState& to,
                                   const StridedRegion& to_region, const Stream* stream) {
    const int64_t per = from.element_size / int64_t(sizeof(T));
    std::vector<CopyDimension> dims = dimensions_of(from_region, to_region);
    for (CopyDimension& d : dims) d.from *= per, d.to *= per;
    if (per > 1) {
        if (!dims.empty() && dims.back().from == per && dims.back().to == per)
            dims.back() = {dims.back().extent * per, 1, 1};
        else
            dims.push_back({per, 1, 1});
    }
    while (dims.size() < 3) dims.insert(dims.begin(), {1, 0, 0});
    const Array<T> source = units<T>(from, from_region.offset, span_of(from_region)),
                   target = units<T>(to, to_region.offset, span_of(to_region));
    // More than three dimensions: one launch for each index of the slower ones.
    const size_t slow = dims.size() - 3;
    const CopyDimension &plane = dims[slow], &row = dims[slow + 1], &step = dims[slow + 2];
    std::vector<int64_t> at(slow, 0);
    for (;;) {
        int64_t first_from = 0, first_to = 0;
        for (size_t d = 0; d < slow; ++d) first_from += at[d] * dims[d].from, first_to += at[d] * dims[d].to;
        Range range = ndrange(plane.extent, row.extent, step.extent);
        if (stream) range = range.on(*stream);
        copy_strided<T>(range, target.slice(first_to, target.count()), source.slice(first_from, source.count()), int(plane.to),
                        int(row.to), int(step.to), int(plane.from), int(row.from), int(step.from));
        size_t d = slow;
        while (d > 0 && ++at[d - 1] == dims[d - 1].extent) at[--d] = 0;
        if (d == 0) return;
    }
}

/// One copy for each contiguous run: where the device lacks small types, or an index would not fit.
void copy_runs(const ArrayState& from, const StridedRegion& from_region, const ArrayState& to, const StridedRegion& to_region,
               int stream) {
    std::vector<CopyDimension> dims = dimensions_of(from_region, to_region);
    int64_t run = 1;
    if (!dims.empty() && dims.back().from == 1 && dims.back().to == 1) run = dims.back().extent, dims.pop_back();
    std::vector<int64_t> at(dims.size(), 0);
    for (;;) {
        int64_t first_from = from_region.offset, first_to = to_region.offset;
        for (size_t d = 0; d < dims.size(); ++d) first_from += at[d] * dims[d].from, first_to += at[d] * dims[d].to;
        copy(*slice(from, first_from, run), *slice(to, first_to, run), stream);
        size_t d = dims.size();
        while (d > 0 && ++at[d - 1] == dims[d - 1].extent) at[--d] = 0;
        if (d == 0) return;
    }
}

bool overlap(const ArrayState& a, const StridedRegion& x, const ArrayState& b, const StridedRegion& y) {
    if (a.memory != b.memory) return false;
    const int64_t first = a.offset + x.offset * a.element_size, other = b.offset + y.offset * b.element_size;
    return first < other + span_of(y) * b.element_size && other < first + span_of(x) * a.element_size;
}

int number_of(const Stream* stream, const ArrayState& array) {
    if (!stream) return 0;
    stream->record();  // throws if the stream was released
    if (stream->state->device->backend != array.device->backend)
        fail("a copy is put on a stream of ", stream->state->device->name, ", and its array lies on ", array.device->name);
    return stream->state->number;
}

}  // namespace

void copy_region(const ArrayState& from, const StridedRegion& from_region, const ArrayState& to, const StridedRegion& to_region,
                 const Stream* stream) {
    const int number = number_of(stream, to);
    const int64_t count = count_of(from_region);
    if (count == 0) return;
    const std::vector<CopyDimension> dims = dimensions_of(from_region, to_region);
    const bool elsewhere = from.device->backend != to.device->backend;
    if (dims.empty() || (dims.size() == 1 && dims[0].from == 1 && dims[0].to == 1))
        return copy(*slice(from, from_region.offset, count), *slice(to, to_region.offset, count), number);
    if (overlap(from, from_region, to, to_region) || (elsewhere && !dense(from_region))) {
        const Dense between(from.device, from_region, *from.element);
        copy_region(from, from_region, *between.state, between.region(), elsewhere ? nullptr : stream);
        return copy_region(*between.state, between.region(), to, to_region, stream);
    }
    if (elsewhere) {
        const Dense between(to.device, to_region, *to.element);
        copy(*slice(from, from_region.offset, count), *between.state);
        return copy_region(*between.state, between.region(), to, to_region, stream);
    }
    const Backend& device = *to.device->backend;
    const int64_t size = to.element_size, most = std::max(span_of(from_region), span_of(to_region));
    const auto all = [&](Scalar type) {
        return std::ranges::all_of(to.element->leaves, [&](const Leaf& l) { return l.type == type; });
    };
    // A traced copy is differentiated by the types of the elements, so elements that mix floats with other types are copied as
    // runs of bytes, and not as units that hide the types.
    const bool followed = trace_hook() && !all(Scalar::f32) && !all(Scalar::f64) &&
                          std::ranges::any_of(to.element->leaves, [](const Leaf& l) { return is_float(l.type); });
    const bool fits = most <= INT32_MAX / size && !dims.empty() && !followed;
    if (fits && all(Scalar::f32) && size % 4 == 0)
        copy_units<float>(from, from_region, to, to_region, stream);
    else if (fits && all(Scalar::f64) && size % 8 == 0 && device.supports(Feature::float64))
        copy_units<double>(from, from_region, to, to_region, stream);
    else if (fits && size % 4 == 0)
        copy_units<uint32_t>(from, from_region, to, to_region, stream);
    else if (fits && size % 2 == 0 && device.supports(Feature::int16))
        copy_units<uint16_t>(from, from_region, to, to_region, stream);
    else if (fits && device.supports(Feature::int8))
        copy_units<uint8_t>(from, from_region, to, to_region, stream);
    else
        copy_runs(from, from_region, to, to_region, number);
}

void read_region(const ArrayState& from, const StridedRegion& region, void* to, const Stream* stream) {
    const int number = number_of(stream, from);
    const int64_t count = count_of(region);
    if (!dense(region) && count > 0) {
        const Dense between(from.device, region, *from.element);
        copy_region(from, region, *between.state, between.region(), stream);
        return read_region(*between.state, between.region(), to, stream);
    }
    const bool whole = region.offset == 0 && count * from.element_size == from.bytes;
    const std::shared_ptr<ArrayState> part = whole ? nullptr : slice(from, region.offset, count);
    const ArrayState& array = whole ? from : *part;
    if (!stream) return read(array, to);
    if (!array.memory) return;
    if (TraceHook* o = trace_hook()) o->reading(array);
    array.device->backend->read_async(*array.memory, array.offset, to, array.bytes, number);
}

void write_region(const ArrayState& to, const StridedRegion& region, const void* from, const Stream* stream) {
    const int number = number_of(stream, to);
    const int64_t count = count_of(region);
    if (!dense(region) && count > 0) {
        const Dense between(to.device, region, *to.element);
        write_region(*between.state, between.region(), from, stream);
        return copy_region(*between.state, between.region(), to, region, stream);
    }
    const bool whole = region.offset == 0 && count * to.element_size == to.bytes;
    const std::shared_ptr<ArrayState> part = whole ? nullptr : slice(to, region.offset, count);
    const ArrayState& array = whole ? to : *part;
    if (!stream) return write(array, from, count, count);
    if (!array.memory) return;
    if (TraceHook* o = trace_hook()) o->writing(array, from, number);
    array.device->backend->write_async(*array.memory, array.offset, from, array.bytes, number);
}

}  // namespace pumice::detail
