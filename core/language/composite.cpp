#include "core/language/composite.h"

#include "core/support/error.h"

namespace pumice::detail {

void check_item(int64_t n, int count) {
    if (n < 0 || n >= count) fail("an array in a struct is asked for its element ", n, "; they are 0 to ", count - 1);
}

Handle item_position(const IndexOperand& index, int count) {
    Recorder& r = Recorder::current("a subscript", index.location);
    const ir::Value at = index.use(r);
    const Scalar type = r.kernel.type_of(at);
    const ir::Value first = r.build.constant_int(type, 0), last = r.build.constant_int(type, count - 1);
    const ir::Value inside = r.build.op(ir::Op::min, {r.build.op(ir::Op::max, {at, first}), last});
    return r.handle(r.build.cast(Scalar::i32, inside));
}

namespace {
ir::Value pick_among(Recorder& r, std::span<const Handle> scalars, ir::Value position, size_t from, size_t to,
                     SourceLocation location) {
    if (to - from == 1) return r.use(scalars[from], location);
    const size_t middle = from + (to - from) / 2;
    const ir::Value before = r.build.op(ir::Op::lt, {position, r.build.constant_int(Scalar::i32, int64_t(middle))});
    const ir::Value low = pick_among(r, scalars, position, from, middle, location);
    return r.build.select(before, low, pick_among(r, scalars, position, middle, to, location));
}
}  // namespace

Handle pick(std::span<const Handle> scalars, Handle position, SourceLocation location) {
    Recorder& r = Recorder::current("a subscript", location);
    r.at(location);
    return r.handle(pick_among(r, scalars, r.use(position, location), 0, scalars.size(), location));
}

std::shared_ptr<const Choice> choice_within(const ElementAddress& whole, const IndexOperand& index, int count, int leaves) {
    Choice made;
    Handle position = item_position(index, count);
    if (whole.choice) {
        made.variables = whole.choice->variables;
        Recorder& r = Recorder::current("a subscript", index.location);
        const ir::Value outer = r.use(whole.choice->position, index.location);
        const ir::Value first = r.build.op(ir::Op::mul, {outer, r.build.constant_int(Scalar::i32, count)});
        position = r.handle(r.build.op(ir::Op::add, {first, r.use(position, index.location)}));
    }
    made.position = position;
    const std::vector<uint32_t> none{0};
    for (const uint32_t first : whole.choice ? whole.choice->first : none)
        for (int n = 0; n < count; ++n) made.first.push_back(first + whole.leaf + uint32_t(n * leaves));
    return std::make_shared<const Choice>(std::move(made));
}

std::shared_ptr<const Choice> choice_of(std::vector<Handle> variables, const IndexOperand& index, int count, int leaves) {
    Choice made;
    made.position = item_position(index, count);
    for (int n = 0; n < count; ++n) made.first.push_back(uint32_t(n * leaves));
    made.variables = std::move(variables);
    return std::make_shared<const Choice>(std::move(made));
}

}  // namespace pumice::detail
