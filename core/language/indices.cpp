#include "core/language/indices.h"

namespace pumice {

using namespace internal;
namespace detail {

Val<int> index_along(ir::Op which, int axis, SourceLocation location) {
    Recorder& r = Recorder::current("an index", location);
    return Val<int>(r.handle(r.at(location).build.index(which, axis)));
}

std::vector<Val<int>> folded_indices(ir::Op which, int n, SourceLocation location) {
    Recorder& r = Recorder::current("an index", location);
    const int folded = n - 2;
    const auto constant = [&](int value) { return Val<int>(r.handle(r.at(location).build.constant_int(Scalar::i32, value))); };
    const auto given = [&](ir::ParameterOrigin what, int d) { return Val<int>(r.handle(r.at(location).range_value(what, d))); };
    std::vector<Val<int>> all;
    if (which == ir::Op::global_index || which == ir::Op::group_index) {
        // Groups have extent 1 along these dimensions, so that group and item indices are equal.
        std::vector<Val<int>> reversed;
        Handle rest = index_along(which, 2, location).handle;
        for (int d = folded - 1; d >= 0; --d) {
            const Handle extent = d > 0 ? given(ir::ParameterOrigin::range_extent, d).handle : Handle{};
            const Handle at = d > 0 ? emit_op(ir::Op::rem, {rest, extent}, location) : rest;
            const bool offset = which == ir::Op::global_index;
            reversed.emplace_back(offset ? emit_op(ir::Op::add, {at, given(ir::ParameterOrigin::range_start, d).handle}, location)
                                         : at);
            if (d > 0) rest = emit_op(ir::Op::div, {rest, extent}, location);
        }
        for (size_t d = reversed.size(); d-- > 0;) all.push_back(reversed[d]);
    } else {
        for (int d = 0; d < folded; ++d)
            all.push_back(which == ir::Op::local_index  ? constant(0)
                          : which == ir::Op::group_size ? constant(1)
                                                        : given(ir::ParameterOrigin::range_extent, d));
    }
    all.push_back(index_along(which, 1, location));
    all.push_back(index_along(which, 0, location));
    return all;
}

Val<int> linear_index(ir::Op index, ir::Op size, SourceLocation location) {
    const auto along = [&](ir::Op op, int axis) { return index_along(op, axis, location); };
    return (along(index, 2) * along(size, 1) + along(index, 1)) * along(size, 0) + along(index, 0);
}

Val<int> linear_size(ir::Op size, SourceLocation location) {
    return index_along(size, 2, location) * index_along(size, 1, location) * index_along(size, 0, location);
}

Val<int> global_linear(SourceLocation location) {
    const auto along = [&](int axis) {  // without the range's offset
        return index_along(ir::Op::group_index, axis, location) * index_along(ir::Op::group_size, axis, location) +
               index_along(ir::Op::local_index, axis, location);
    };
    const auto size = [&](int axis) { return index_along(ir::Op::global_size, axis, location); };
    return (along(2) * size(1) + along(1)) * size(0) + along(0);
}

}  // namespace detail

Val<bool> in_range(const char* pm_file, int pm_line) {
    detail::Recorder& r = detail::Recorder::current("in_range()", PUMICE_HERE);
    return Val<bool>(r.handle(r.at(PUMICE_HERE).build.in_range()));
}

}  // namespace pumice
