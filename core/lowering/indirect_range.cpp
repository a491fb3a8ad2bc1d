// Indirect ranges: the extents of the range become loads from an additional array parameter of three i32.
// Why: the host does not know the extents when it gives the launch to the device. It launches a range that is large enough, or
// the device takes the number of groups from memory (vkCmdDispatchIndirect); both leave items past the extents in the last
// groups.
//
//   %n = global_size 0 : i32               |  %n = load arg3[%zero] : i32
//   %i = global_index 0 : i32              |  %i = global_index 0 : i32
//   %x = load arg2[%i] : f32               |  %in = lt %i, %n : bool
//   store arg1[%i], %x : f32               |  if %in {
//                                          |    %x = load arg2[%i] : f32
//                                          |    store arg1[%i], %x : f32 ...
//
// Method: global_size, group_count, in_range and the range's parameters are computed from the loads. A kernel without barriers
// that does not check in_range itself (whole_groups) runs under `if in_range`. Others run under a condition that is the same for
// the group: its first item is within the extents. Those with barriers that do not check in_range first go through
// predicate_range_tail. In functions the loads are repeated.
// Cost: a load and a comparison an axis. Limits: the range starts at 0.
// Textbook name: none; the condition is a loop guard, as after strip-mining.
#include "core/lowering/indirect_range.h"

#include <array>

#include "core/ir/rewriter.h"
#include "core/lowering/predicate_range_tail.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

Kernel with_counts(const Kernel& kernel) {
    Kernel k = kernel;
    Memory counts;
    counts.name = text("arg", k.params.size() + 1);
    counts.element = Element::of(Scalar::i32);
    counts.access = Access::in;
    counts.argument = int(k.params.size());
    counts.loc = k.loc;
    Parameter parameter;
    parameter.is_array = true;
    parameter.memory = {uint32_t(k.memories.size())};
    parameter.label = "the counts of its indirect range";
    parameter.identity.extra = true;
    k.memories.push_back(std::move(counts));
    k.params.push_back(std::move(parameter));
    return k;
}

class IndirectRange : public Rewriter {
public:
    IndirectRange(const Kernel& kernel, bool by_item) : Rewriter(kernel), by_item(by_item) {}

private:
    void body() override {
        const Inst& end = last_inst(from, BlockId{0});
        b.loc = from.loc;
        for (size_t axis = 0; axis < 3; ++axis) extents[axis] = load_extent(int(axis));
        const Value runs = by_item ? inside() : group_inside();
        Inst i;
        i.op = Op::if_;
        i.loc = from.loc;
        control(i, {&runs, 1}, {}, [&](int which, std::span<const Value>) {
            for (const InstId at : from.body().insts) {
                if (which != 0 || b.terminated()) break;
                if (&from[at] != &end) inst(at);
            }
            b.loc = end.loc;
            if (!b.terminated()) b.terminate(Op::yield);
        });
        b.loc = end.loc;
        b.terminate(Op::return_);
    }

    void inst(InstId id) override {
        const Inst& i = from[id];
        b.loc = i.loc;
        const int axis = int(i.immediate);
        switch (i.op) {
            case Op::global_size: return map(from.result(i), extent(axis));
            case Op::group_count: return map(from.result(i), groups(axis));
            case Op::in_range: return map(from.result(i), inside());
            case Op::argument: {
                const Parameter& p = from.params[i.immediate];
                if (p.origin != ParameterOrigin::range_extent) break;
                return map(from.result(i), extent(from.dimensions() - 1 - p.dimension));
            }
            default: break;
        }
        copy(id);
    }

    Value load_extent(int axis) {
        if (from.rank > 0 && axis >= from.rank) return b.constant_int(Scalar::i32, 1);
        const Value index = b.constant_int(Scalar::i32, axis);
        return b.load(of(from.params.back().memory), 0, {&index, 1});
    }
    Value extent(int axis) { return in_function ? load_extent(axis) : extents[size_t(axis)]; }

    Value groups(int axis) {
        const Value size = b.index(Op::group_size, axis), n = extent(axis), one = b.constant_int(Scalar::i32, 1);
        const Value full = b.op(Op::div, {n, size}), rest = b.op(Op::rem, {n, size});
        const Value more = b.op(Op::add, {full, one});
        return b.select(b.op(Op::eq, {rest, zero(Scalar::i32)}), full, more);
    }

    /// The conjunction over the axes of `value(axis) < extent`.
    template <class Along> Value below(const Along& along) {
        Value all = b.constant_bool(true);
        for (int axis = 0; axis < (from.rank > 0 ? from.rank : 3); ++axis) {
            const Value at = along(axis), end = extent(axis);
            const Value here = b.op(Op::lt, {at, end});
            all = b.op(Op::and_, {all, here});
        }
        return all;
    }
    Value inside() {
        return below([&](int axis) { return b.index(Op::global_index, axis); });
    }
    Value group_inside() {
        return below([&](int axis) {
            const Value group = b.index(Op::group_index, axis), size = b.index(Op::group_size, axis);
            return b.op(Op::mul, {group, size});
        });
    }

    const bool by_item;  ///< the guard asks for the item (inside()), else for the group's first item (group_inside())
    std::array<Value, 3> extents;
};

}  // namespace

Kernel indirect_range(const Kernel& kernel) {
    const bool by_item = !kernel.whole_groups && !contains_barrier(kernel);
    return IndirectRange(with_counts(by_item ? kernel : predicate_range_tail(kernel)), by_item).run();
}

}  // namespace pumice::ir
