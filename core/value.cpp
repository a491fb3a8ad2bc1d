#include "core/value.h"

namespace pumice::detail {

Handle emit_op(ir::Op op, std::initializer_list<Handle> operands, Place place) {
    Recorder& r = Recorder::current("an operation on device values", place);
    ir::Value values[3];
    size_t n = 0;
    for (const Handle& h : operands) values[n++] = r.use(h, place);
    return r.handle(r.at(place).build.op(op, std::span<const ir::Value>(values, n)));
}

}  // namespace pumice::detail
