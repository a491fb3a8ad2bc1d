#include "core/indices.h"

namespace pumice {
namespace detail {

Val<int> index_along(ir::Op which, int axis, Place place) {
    Recorder& r = Recorder::current("an index", place);
    return Val<int>(r.handle(r.at(place).build.index(which, axis)));
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
        return index_along(ir::Op::group_index, axis, place) * index_along(ir::Op::group_size, axis, place) + index_along(ir::Op::local_index, axis, place);
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
