#include "core/language/group_ops.h"

namespace pumice::detail {

GroupPlace group_place(Place place) {
    const Recorder& r = Recorder::current("a group operation", place);
    if (r.kernel.whole_groups) return {local_index_linear(place.file, place.line), group_size_linear(place.file, place.line)};
    // Along each axis the last group may have fewer items inside the range.
    const auto along = [&](ir::Op op, int axis) { return index_along(op, axis, place); };
    const auto inside = [&](int axis) {
        const Val<int> size = along(ir::Op::group_size, axis);
        return min(size, along(ir::Op::global_size, axis) - along(ir::Op::group_index, axis) * size);
    };
    const Val<int> nx = inside(0), ny = inside(1);
    return {(along(ir::Op::local_index, 2) * ny + along(ir::Op::local_index, 1)) * nx + along(ir::Op::local_index, 0),
            nx * ny * inside(2)};
}

Handle emit_group(ir::Subgroup what, ir::MemoryId scratch, const Handle& x, Place place) {
    Recorder& r = Recorder::current("a group operation", place);
    const ir::Value value = r.use(x, place);
    return r.handle(r.at(place).build.group(what, scratch, value));
}

Val<bool> group_any(const Operand<bool>& condition, bool negated) {
    const Val<bool> given(condition.handle), holds = negated ? !given : given;
    return Val<bool>(emit_group(ir::Subgroup::reduce_or, group_scratch<bool>(condition.place).id, holds.handle, condition.place));
}

}  // namespace pumice::detail
