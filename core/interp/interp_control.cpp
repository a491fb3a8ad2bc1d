// Lockstep execution of structured control flow: SIMT with explicit lists of active items instead of a mask.
//
// A block is executed by a list of items (ascending indices); an instruction is done for all of them before the next one. An if
// splits the list, a loop keeps the items that go on; each construct owns its lists, which live on a stack (`free_list`).
//
//   if %c { A } else { B }      items {0,1,2,3}, c = 1,0,1,0:   A by {0,2}, B by {1,3}, then {0,1,2,3} go on
//   for ... { break }           an item that breaks gets fate `broke`, and is taken up again after the loop
//
// An item that leaves its block early (break, continue, return) gets a Fate and disappears from the list. rejoin() and end_loop()
// take the items up again at the next iteration or after the loop. Loop-carried values are copied as a parallel copy. A for ends
// when adding the step overflows the index type, as it does at the bound. Barriers: the number of items that arrive must be that
// of the group's items; each barrier begins an epoch (interp_shadow.h). Cost: one call for an instruction and group. Scalar
// ops, select, casts and variables are computed by the loops of interp_program.cpp. Limits: calls, group operations and samples
// of textures must have been lowered.
#include "core/interp/interp_control.h"

#include <algorithm>
#include <cstring>

#include "core/host/ring.h"
#include "core/interp/interp_fault.h"
#include "core/interp/interp_instructions.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"

namespace pumice::interp {

using namespace ir;

namespace {

/// with_scalar, restricted to the integer types of a loop's index.
template <class F> void with_integer(Scalar type, F&& f) {
    with_scalar(type, [&](auto t) {
        using T = decltype(t);
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
            f(t);
        else
            library_bug("an index that is no integer");
    });
}

/// Copies the items of `from` to `to`, whose list must have room for them.
void assign(Items& to, Items from) {
    std::memcpy(to.list, from.list, size_t(from.count) * sizeof(uint16_t));
    to.count = from.count;
}

/// Writes records to the host's ring: the items' prints, or the failed requirements.
void report(const InterpGroup& group, const Inst& inst, Items items) {
    const bool requirement = inst.op == Op::require;
    const auto operands = group.k.operands(inst);
    std::vector<uint32_t> words;
    for (int n = 0; n < items.count; ++n) {
        const int item = items.list[n];
        if (requirement && group.bits_of(operands[0], item)) continue;
        words.clear();
        for (const Value v : operands.subspan(requirement)) ring::put(words, group.k.type_of(v), group.bits_of(v, item));
        int32_t index[3];
        for (size_t axis = 0; axis < 3; ++axis)
            index[axis] = int32_t(group.launch.start[axis] + group.group_index[axis] * group.launch.group[axis] +
                                  group.local[axis][size_t(item)]);
        ring::write(group.scratch.ring.data(), requirement, group.scratch.launch_number, uint32_t(inst.immediate), index, words);
    }
}

}  // namespace

InterpRun::InterpRun(const InterpProgram& program, const Launch& launch, std::vector<View> views, Scratch& scratch)
    : group(program, launch, std::move(views), scratch), k(program.kernel) {}

void InterpRun::all_groups() {
    const std::array<int64_t, 3>& count = group.group_count;
    std::array<int64_t, 3>& index = group.group_index;
    for (index[2] = 0; index[2] < count[2]; ++index[2])
        for (index[1] = 0; index[1] < count[1]; ++index[1])
            for (index[0] = 0; index[0] < count[0]; ++index[0]) one_group();
}

void InterpRun::one_group() {
    group.begin();
    loop = {};
    free_list = group.present.list + group.present.count;
    Items items = take(group.present);
    execute(BlockId{0}, items);
}

/// Executes a block for these items. The items that remain afterwards have reached its terminator and executed it; the construct
/// that owns the block acts on a yield or test.
void InterpRun::execute(BlockId block, Items& items) {
    for (const InstId id : k[block].insts) {
        if (items.empty()) return;
        const Inst& inst = k[id];
        if (executions) executions[id.id] += uint64_t(items.count);
        if (const ItemLoop compute = group.program.loops[id.id]) {
            const auto operands = k.operands(inst);
            const size_t n = operands.size();
            const Value to = inst.op == Op::set ? operands[0] : k.result(inst);
            const Value from = inst.op == Op::set ? operands[1] : operands[0];
            compute(items, group.raw(to), group.raw(from), n > 1 ? group.raw(operands[1]) : nullptr,
                    n > 2 ? group.raw(operands[2]) : nullptr);
        } else {
            execute(inst, id.id, items);
        }
    }
}

void InterpRun::execute(const Inst& inst, uint32_t id, Items& items) {
    switch (inst.op) {
#define OP1(name, ...) case Op::name:
#define OP2(name, ...) case Op::name:
#define OP3(name, ...) case Op::name:
#include "core/ir/ops.def"
        case Op::select:
        case Op::cast:
        case Op::bitcast:
        case Op::var:
        case Op::get:
        case Op::set: library_bug("an instruction that a loop should compute: " + print(k, inst));
        case Op::constant:
        case Op::argument:
        case Op::global_size:
        case Op::local_index:
        case Op::group_size:
        case Op::group_count:
        case Op::subgroup_size:
        case Op::subgroup_lane:
        case Op::subgroup_index:
        case Op::subgroup_count:
        case Op::extent: return;  // prepare_constants has done it for all groups
        case Op::global_index:
        case Op::group_index:
        case Op::in_range: return group.indices(inst, items);
        case Op::load:
        case Op::store:
        case Op::atomic:
        case Op::compare_exchange: return access_memory(group, inst, id, items);
        case Op::uniform: return uniform(inst, items);
        case Op::barrier: return barrier(inst, items);
        case Op::sample: library_bug("the interpreter met a sample; specialise_images must run first: " + print(k, inst));
        case Op::call: library_bug("the interpreter met a call; inlining must run first: " + print(k, inst));
        case Op::subgroup: return subgroup(group, inst, items);
        case Op::group: library_bug("the interpreter met a group instruction; group_by_memory must run first: " + print(k, inst));
        case Op::print:
        case Op::require: return report(group, inst, items);
        case Op::if_: return if_(inst, items);
        case Op::for_: return for_(inst, items);
        case Op::while_: return while_(inst, items);
        case Op::yield:
        case Op::test: return;
        case Op::break_: return leave(inst, broke, items);
        case Op::continue_: return leave(inst, continues, items);
        case Op::return_: return leave(inst, returned, items);
    }
}

void InterpRun::uniform(const Inst& inst, Items items) {
    const Value from = k.operands(inst)[0];
    with_scalar(inst.type, [&](auto type) {
        using T = decltype(type);
        const T* value = group.at<T>(from);
        for (int n = 1; n < items.count; ++n)
            if (std::memcmp(value + items.list[0], value + items.list[n], sizeof(T)) != 0)
                fault::not_uniform(group, inst, items.list[0], to_bits(value[items.list[0]]), items.list[n],
                                   to_bits(value[items.list[n]]));
    });
    copy(k.result(inst), from, items);
}

void InterpRun::if_(const Inst& inst, Items& items) {
    uint16_t* const mark = free_list;
    const bool* condition = group.at<bool>(k.operands(inst)[0]);
    Items arms[2] = {take(items), take(items)};
    keep_if(arms[0], [&](int item) { return condition[item]; });
    keep_if(arms[1], [&](int item) { return !condition[item]; });
    bool all = true;
    for (int arm = 0; arm < 2; ++arm) {
        const int before = arms[arm].count;
        if (before == 0) continue;
        execute(inst.blocks[arm], arms[arm]);
        all = all && arms[arm].count == before;
        to_results(inst, k.operands(terminator(inst.blocks[arm])), arms[arm]);
    }
    if (!all) keep_if(items, [&](int item) { return group.fates[item] == runs; });
    free_list = mark;
}

/// Ends a loop: all items that did not return continue after it.
void InterpRun::end_loop(Items& items, const Enclosing& outer, uint16_t* mark) {
    keep_if(items, [&](int i) { return group.fates[i] != returned; });
    for (int n = 0; n < items.count; ++n) group.fates[items.list[n]] = runs;
    loop = outer;
    free_list = mark;
}

void InterpRun::for_(const Inst& inst, Items& items) {
    uint16_t* const mark = free_list;
    const Enclosing outer = loop;
    const auto operands = k.operands(inst);
    const BlockId block = inst.blocks[0];
    const auto& params = k[block].params;
    const std::span<const Value> carried(params.data() + 1, params.size() - 1);
    loop = {&inst, block, 1};
    copy(params[0], operands[0], items);
    carry(operands.subspan(3), block, 1, items);

    Items alive = take(items), ended = take(items), body = take(items);
    with_integer(k.type_of(params[0]), [&](auto type) {
        using T = decltype(type);
        T* index = group.at<T>(params[0]);
        const T* to = group.at<T>(operands[1]);
        const T* step = group.at<T>(operands[2]);
        const auto runs_on = [=](int i) { return step[i] > 0 ? index[i] < to[i] : step[i] != 0 && index[i] > to[i]; };
        bool first = true;
        while (true) {
            // If the index overflows its type, the loop ends as it does at `to`.
            const auto steps_on = [=](int i) { return !__builtin_add_overflow(index[i], step[i], &index[i]) && runs_on(i); };
            uint16_t* end = ended.list;
            keep_if(alive, [&](int i) {
                const bool on = first ? runs_on(i) : steps_on(i);
                *end = uint16_t(i);
                end += on ? 0 : 1;
                return on;
            });
            ended.count = int(end - ended.list);
            to_results(inst, carried, ended);
            if (alive.empty()) break;
            first = false;
            assign(body, alive);
            execute(block, body);
            carry(k.operands(terminator(block)), block, 1, body);
            if (body.count != alive.count) rejoin(alive);
        }
    });
    end_loop(items, outer, mark);
}

void InterpRun::while_(const Inst& inst, Items& items) {
    uint16_t* const mark = free_list;
    const Enclosing outer = loop;
    const BlockId test = inst.blocks[0], block = inst.blocks[1];
    loop = {&inst, test, 0};
    carry(k.operands(inst), test, 0, items);
    Items alive = take(items), ended = take(items), body = take(items);
    while (!alive.empty()) {
        execute(test, alive);
        if (alive.empty()) break;
        const auto tested = k.operands(terminator(test));
        const bool* condition = group.at<bool>(tested[0]);
        assign(ended, alive);
        keep_if(ended, [&](int i) { return !condition[i]; });
        to_results(inst, tested.subspan(1), ended);
        keep_if(alive, [&](int i) { return condition[i]; });
        assign(body, alive);
        execute(block, body);
        carry(k.operands(terminator(block)), test, 0, body);
        if (body.count != alive.count) rejoin(alive);
    }
    end_loop(items, outer, mark);
}

/// Keeps the items that begin the next iteration, of those that began this one.
void InterpRun::rejoin(Items& items) {
    keep_if(items, [&](int i) {
        if (group.fates[i] == continues) group.fates[i] = runs;
        return group.fates[i] == runs;
    });
}

void InterpRun::leave(const Inst& terminator, Fate fate, Items& items) {
    const auto operands = k.operands(terminator);
    if (fate == broke) to_results(*loop.inst, operands, items);
    if (fate == continues) carry(operands, loop.block, loop.first, items);
    for (int n = 0; n < items.count; ++n) group.fates[items.list[n]] = fate;
    items.count = 0;
}

void InterpRun::barrier(const Inst& inst, Items items) {
    if (items.count != group.present.count) fault::diverged(group, inst, items);
    group.next_epoch();
}

void InterpRun::copy(Value to, Value from, Items items) {
    if (to != from) copy_loop(k.type_of(to))(items, group.raw(to), group.raw(from), nullptr, nullptr);
}

void InterpRun::to_results(const Inst& inst, std::span<const Value> from, Items items) {
    if (items.empty()) return;
    for (int r = 0; r < int(inst.result_count); ++r) copy(k.result(inst, r), from[size_t(r)], items);
}

/// Copies to a block's parameters as a parallel copy: a parameter may be among the sources, in which case all values go through a
/// buffer.
void InterpRun::carry(std::span<const Value> from, BlockId to, uint32_t first, Items items) {
    if (items.empty()) return;
    const auto& params = k[to].params;
    bool overlap = false;
    for (size_t n = 0; n < from.size(); ++n) overlap = overlap || (k[from[n]].block == to && k[from[n]].index != first + n);
    if (!overlap) {
        for (size_t n = 0; n < from.size(); ++n) copy(params[first + n], from[n], items);
        return;
    }
    const size_t stride = size_t(group.group_items) * sizeof(uint64_t);
    group.scratch.carried.resize(std::max(group.scratch.carried.size(), from.size() * stride));
    std::byte* const aside = group.scratch.carried.data();
    for (size_t n = 0; n < from.size(); ++n)
        copy_loop(k.type_of(from[n]))(items, aside + n * stride, group.raw(from[n]), nullptr, nullptr);
    for (size_t n = 0; n < from.size(); ++n)
        copy_loop(k.type_of(from[n]))(items, group.raw(params[first + n]), aside + n * stride, nullptr, nullptr);
}

/// Pushes a copy of the items on the stack of lists.
Items InterpRun::take(Items items) {
    Items taken{free_list, 0};
    assign(taken, items);
    free_list += items.count;
    return taken;
}

}  // namespace pumice::interp
