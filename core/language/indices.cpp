#include "core/language/indices.h"

namespace pumice {
namespace detail {

Val<int> index_along(ir::Op which, int axis, Place place) {
    Recorder& r = Recorder::current("an index", place);
    return Val<int>(r.handle(r.at(place).build.index(which, axis)));
}

std::vector<Val<int>> folded_indices(ir::Op which, int n, Place place) {
    Recorder& r = Recorder::current("an index", place);
    const int folded = n - 2;
    const auto constant = [&](int value) { return Val<int>(r.handle(r.at(place).build.constant_int(Scalar::i32, value))); };
    const auto given = [&](ir::Given what, int d) { return Val<int>(r.handle(r.at(place).range_value(what, d))); };
    std::vector<Val<int>> all;
    if (which == ir::Op::global_index || which == ir::Op::group_index) {
        // Groups have extent 1 along these dimensions, so that group and item indices are equal.
        std::vector<Val<int>> reversed;
        Handle rest = index_along(which, 2, place).handle;
        for (int d = folded - 1; d >= 0; --d) {
            const Handle extent = d > 0 ? given(ir::Given::range_extent, d).handle : Handle{};
            const Handle at = d > 0 ? emit_op(ir::Op::rem, {rest, extent}, place) : rest;
            const bool offset = which == ir::Op::global_index;
            reversed.emplace_back(offset ? emit_op(ir::Op::add, {at, given(ir::Given::range_start, d).handle}, place) : at);
            if (d > 0) rest = emit_op(ir::Op::div, {rest, extent}, place);
        }
        for (size_t d = reversed.size(); d-- > 0;) all.push_back(reversed[d]);
    } else {
        for (int d = 0; d < folded; ++d)
            all.push_back(which == ir::Op::local_index  ? constant(0)
                          : which == ir::Op::group_size ? constant(1)
                                                        : given(ir::Given::range_extent, d));
    }
    all.push_back(index_along(which, 1, place));
    all.push_back(index_along(which, 0, place));
    return all;
}

Val<int> linear_index(ir::Op index, ir::Op size, Place place) {
    const auto along = [&](ir::Op op, int axis) { return index_along(op, axis, place); };
    return (along(index, 2) * along(size, 1) + along(index, 1)) * along(size, 0) + along(index, 0);
}

Val<int> linear_size(ir::Op size, Place place) {
    return index_along(size, 2, place) * index_along(size, 1, place) * index_along(size, 0, place);
}

Val<int> global_linear(Place place) {
    const auto along = [&](int axis) {  // without the range's offset
        return index_along(ir::Op::group_index, axis, place) * index_along(ir::Op::group_size, axis, place) +
               index_along(ir::Op::local_index, axis, place);
    };
    const auto size = [&](int axis) { return index_along(ir::Op::global_size, axis, place); };
    return (along(2) * size(1) + along(1)) * size(0) + along(0);
}

}  // namespace detail

Val<bool> in_range(const char* pm_file, int pm_line) {
    detail::Recorder& r = detail::Recorder::current("in_range()", PUMICE_HERE);
    return Val<bool>(r.handle(r.at(PUMICE_HERE).build.in_range()));
}

}  // namespace pumice
