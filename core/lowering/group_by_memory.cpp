// Lowers group reductions (tree, halving distances) and scans (Hillis-Steele) to local memory and barriers.
// Why: these have no `group` instruction: the interpreter, the CPU without its rule group_accumulators, derivatives of products,
// minima and maxima of floats (sums have rules of their own), and Vulkan for what goes_by_subgroups() refuses.
//
//   %sum = group reduce_add local1, %x : f32  |  store local1[%10], %2 : f32        # %10: number of the item in its group
//                                             |  barrier
//                                             |  for %18 = %9 to %17 step %8 {      # %17 = ceil(log2(items)), %8 = 1, %9 = 0
//                                             |    %21 = shl %8, %20 : i32          # the distance, 2^(%17 - 1 - %18)
//                                             |    if %25 {                         # %10 < %21 and %10 + %21 < items
//                                             |      %28 = add %26, %27 : f32       # local1[%10] + local1[%10 + %21]
//                                             |      store local1[%10], %28 : f32
//                                             |      yield
//                                             |    } else { yield }
//                                             |    barrier
//                                             |  %29 = load local1[%9] : f32
//                                             |  barrier
//
// Cost of the code: ceil(log2(items)) steps, each with one barrier in a reduction and two in a scan. An `and` or `or` of bools
// takes one flag and three barriers. The pass itself is linear in the kernel.
// Limits: a scan does O(n log n) operations (not Blelloch's O(n)); a float sum is rounded in the order of the tree.
// Source: W. Hillis, G. Steele, "Data parallel algorithms", CACM 1986.
#include "core/lowering/group_by_memory.h"

#include <algorithm>

#include "core/ir/ops.h"
#include "core/ir/rewriter.h"

namespace pumice::ir {
namespace {

class GroupByMemory : public Rewriter {
public:
    GroupByMemory(const Kernel& kernel, std::function<bool(const Inst&)> leaves) : Rewriter(kernel), leaves(std::move(leaves)) {}

private:
    void inst(InstId id) override {
        const Inst& i = from[id];
        if (!leaves(i)) return copy(id);
        b.loc = i.loc;
        scratch = of(i.memory);
        combine = *combines(Subgroup(i.immediate));
        number_items();
        const Value x = of(from.operands(i)[0]);
        const bool flags = i.type == Scalar::boolean && !is_scan(Subgroup(i.immediate)) && combine != Op::xor_;
        if (!flags) set(at, x), b.barrier();
        map(from.result(i), flags ? flag(x) : is_scan(Subgroup(i.immediate)) ? scan(i) : reduce());
        b.barrier();  // the next instruction on this memory writes
    }

    Value number(int64_t n) { return b.constant_int(Scalar::i32, n); }
    Value get(Value index) { return b.load(scratch, 0, {&index, 1}); }
    void set(Value index, Value x) { b.store(scratch, 0, {&index, 1}, x); }

    /// Numbers the items in the range consecutively, in the order of their linear indices. These items form a box of the group.
    void number_items() {
        const Value nx = members_along(0), ny = members_along(1);
        const auto local = [&](int axis) { return b.index(Op::local_index, axis); };
        const Value row = b.op(Op::add, {b.op(Op::mul, {local(2), ny}), local(1)});
        at = b.op(Op::add, {b.op(Op::mul, {row, nx}), local(0)});
        count = b.op(Op::mul, {b.op(Op::mul, {nx, ny}), members_along(2)});
        const Value last = b.op(Op::max, {b.op(Op::sub, {count, number(1)}), number(0)});
        const Value zeros = b.cast(Scalar::i32, b.op(Op::clz, {b.bitcast(Scalar::u32, last)}));
        steps = b.op(Op::sub, {number(32), zeros});
    }

    /// `for step = 0 to steps { body }`
    template <class Body> void each_step(const Body& body) {
        const Value first = number(0), one = number(1);
        emit_for(b, to, first, steps, one, body);
    }

    /// Tree reduction. The first distance is the largest power of two below the count.
    Value reduce() {
        each_step([&](Value step) {
            const Value half = b.op(Op::shl, {number(1), b.op(Op::sub, {b.op(Op::sub, {steps, number(1)}), step})});
            const Value other = b.op(Op::add, {at, half});
            const Value has_other = b.op(Op::and_, {b.op(Op::lt, {at, half}), b.op(Op::lt, {other, count})});
            choose(has_other, {}, [&] {
                const Value mine = get(at);
                set(at, b.op(combine, {mine, get(other)}));
            });
            b.barrier();
        });
        return get(number(0));
    }

    /// `and` or `or` of bools: an item whose operand decides the result sets a flag. Several items may do so, hence the atomic
    /// exchange.
    Value flag(Value x) {
        const Value decided = b.constant_bool(combine == Op::or_), open = b.constant_bool(combine != Op::or_), first = number(0);
        choose(b.op(Op::eq, {at, first}), {}, [&] { set(first, open); });
        b.barrier();
        choose(b.op(Op::eq, {x, decided}), {}, [&] { b.atomic(scratch, 0, Atomic::exchange, {&first, 1}, decided); });
        b.barrier();
        return get(first);
    }

    Value scan(const Inst& i) {
        each_step([&](Value step) {
            const Value distance = b.op(Op::shl, {number(1), step});
            const Value mine = get(at);
            const Value sum = choose(b.op(Op::ge, {at, distance}), mine,
                                     [&] { return b.op(combine, {get(b.op(Op::sub, {at, distance})), mine}); });
            b.barrier();
            set(at, sum);
            b.barrier();
        });
        if (Subgroup(i.immediate) < Subgroup::exclusive_add) return get(at);
        const Value first = b.constant(i.type, neutral_element(combine, i.type));
        return choose(b.op(Op::gt, {at, number(0)}), first, [&] { return get(b.op(Op::sub, {at, number(1)})); });
    }

    const std::function<bool(const Inst&)> leaves;  ///< true for instructions that are replaced
    MemoryId scratch;
    Op combine = Op::add;
    Value at, count, steps;
};

}  // namespace

Kernel group_by_memory(const Kernel& kernel, const std::function<bool(const Inst&)>& keep) {
    const auto leaves = [&](const Inst& i) { return i.op == Op::group && !(keep && keep(i)); };
    if (std::ranges::none_of(kernel.insts, leaves)) return kernel;
    return GroupByMemory(kernel, leaves).run();
}

}  // namespace pumice::ir
