#include "core/language/group_ops.h"

namespace pumice::detail {

GroupRank group_rank(SourceLocation location) {
    const Recorder& r = Recorder::current("a group operation", location);
    if (r.kernel.whole_groups)
        return {local_index_linear(location.file, location.line), group_size_linear(location.file, location.line)};
    // Along each axis the last group may have fewer items inside the range.
    const auto along = [&](ir::Op op, int axis) { return index_along(op, axis, location); };
    const auto inside = [&](int axis) {
        const Val<int> size = along(ir::Op::group_size, axis);
        return min(size, along(ir::Op::global_size, axis) - along(ir::Op::group_index, axis) * size);
    };
    const Val<int> nx = inside(0), ny = inside(1);
    return {(along(ir::Op::local_index, 2) * ny + along(ir::Op::local_index, 1)) * nx + along(ir::Op::local_index, 0),
            nx * ny * inside(2)};
}

Handle emit_group(ir::Subgroup what, ir::MemoryId scratch, const Handle& x, SourceLocation location) {
    Recorder& r = Recorder::current("a group operation", location);
    const ir::Value value = r.use(x, location);
    return r.handle(r.at(location).build.group(what, scratch, value));
}

Val<bool> group_any(const Operand<bool>& condition, bool negated) {
    const Val<bool> given(condition.handle), holds = negated ? !given : given;
    return Val<bool>(
        emit_group(ir::Subgroup::reduce_or, group_scratch<bool>(condition.location).id, holds.handle, condition.location));
}

}  // namespace pumice::detail
