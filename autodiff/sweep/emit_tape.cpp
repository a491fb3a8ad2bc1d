// Tape code: pushes of the forward sweep and pops of the reverse sweep.
//
// The reverse sweep pops values in the opposite order of the pushes, so each scalar type has one stack with one cursor, whatever
// control flow lies between. tape_size_bound.cpp bounds the elements of an item; from the bound follows the storage:
//
//     constants, in all at most private_elements, one kernel      private memory: tape[height]
//     constants, or exact by the arguments                        device buffer: tape[height * items + item]   (adjacent items
//                                                                 touch adjacent elements)
//     no bound                                                    device buffer: tape[offset[item] + height]; a counting kernel
//                                                                 and a prefix sum of the counts make the offsets
//
// In halves an item also stores its final height, unless that is a known number.
// Cost: a store and a load for each value, and the cursor. Limits: a tape has at most 2^31 - 1 elements.
// Textbook name: the tape (value stack) of store-all reverse mode; Griewank and Walther, "Evaluating Derivatives".
#include "autodiff/sweep/emit_tape.h"

#include "autodiff/sweep/kept_values.h"
#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

void TapeEmitter::add_stacks() {
    const bool split_mode = part == SweepPart::augmented || part == SweepPart::reverse || plan.is_split();
    int64_t all = 0;
    bool bounded = true;
    for (int t = 0; t < scalar_count; ++t) {
        const Scalar type = Scalar(t);
        if (type == Scalar::boolean) continue;  // stored as i32
        Stack stack;
        stack.type = type;
        stack.bound = plan.bound(type);
        if (stack.bound && stack.bound->number == 0 && !stack.bound->more) continue;
        bounded = bounded && stack.bound && !stack.bound->more;
        if (stack.bound) all += stack.bound->number;
        stacks.push_back(stack);
    }
    for (Stack& stack : stacks) {
        stack.kind = !stack.bound                                                  ? TapeParameter::Sizing::counted
                     : !split_mode && bounded && all <= signature.private_elements ? TapeParameter::Sizing::fixed
                                                                                   : TapeParameter::Sizing::item;
        const bool counting = part == SweepPart::count;
        const std::string name = text("tape_", name_of(stack.type)), label = text("the tape of ", name_of(stack.type));
        if (stack.kind == TapeParameter::Sizing::fixed) {
            Memory m;
            m.kind = MemoryKind::private_;
            m.name = name;
            m.element = Element::of(stack.type);
            m.extents = {stack.bound->number};
            m.loc = from.loc;
            stack.memory = {uint32_t(to.memories.size())};
            if (!counting) stack.memory = add_own_memory(to, m);
        } else if (stack.kind == TapeParameter::Sizing::item) {
            state.tapes.push_back({stack.type, TapeParameter::Sizing::item, stack.bound->number, stack.bound->more});
            if (!counting) stack.memory = Shadows::add_array(to, stack.type, Access::inout, name, label);
        } else {
            state.tapes.push_back({Scalar::i32, TapeParameter::Sizing::offsets, 1});
            state.tapes.push_back({stack.type, TapeParameter::Sizing::counted, 0});
            stack.offsets = Shadows::add_array(to, Scalar::i32, counting ? Access::inout : Access::in, name + "_offsets",
                                               text("the offsets of ", label));
            if (!counting) stack.memory = Shadows::add_array(to, stack.type, Access::inout, name, label);
        }
        if (split_mode && !stack.known_height()) {
            state.tapes.push_back({Scalar::i32, TapeParameter::Sizing::item, 1});
            if (!counting)
                stack.final = Shadows::add_array(to, Scalar::i32, Access::inout, name + "_height", text("the height of ", label));
        }
        stack.cursor = b.var(zero(Scalar::i32));
        if (stack.kind == TapeParameter::Sizing::counted && !counting && sweep_kind != SweepKind::owner)
            stack.base = b.load(stack.offsets, 0, std::span(&state.members.linear, 1));
    }
}

/// The address of an element. Tapes with a fixed size an item interleave the items; in counted tapes the items follow one
/// another.
Value TapeEmitter::address(const Stack& stack, Value slot) const {
    switch (stack.kind) {
        case TapeParameter::Sizing::item:
            return b.op(Op::add, {b.op(Op::mul, {slot, state.members.items}), state.members.linear});
        case TapeParameter::Sizing::counted: return b.op(Op::add, {stack.base, slot});
        default: return slot;
    }
}

void TapeEmitter::push(BlockId block) {
    for (Stack& stack : stacks) {
        std::vector<Value> values;
        for (const Value v : plan.taped(block, stack.type)) values.push_back(part == SweepPart::count ? v : kept.copied(v));
        if (stack.type == Scalar::i32)
            for (const InstId loop : plan.taped_counts(block))
                values.push_back(part == SweepPart::count ? Value{} : kept.counts.at(loop.id));
        if (values.empty()) continue;
        Value height = b.get(stack.cursor);
        // A count does not wrap: it saturates at a number that the launch refuses.
        if (part == SweepPart::count)
            height = b.op(Op::min, {height, b.constant_int(Scalar::i32, INT32_MAX - int64_t(values.size()))});
        for (size_t n = 0; n < values.size() && part != SweepPart::count; ++n) {
            const Value at = address(stack, b.op(Op::add, {height, b.constant_int(Scalar::i32, int64_t(n))}));
            b.store(stack.memory, 0, {&at, 1}, b.cast(stack.type, values[n]));
        }
        b.set(stack.cursor, b.op(Op::add, {height, b.constant_int(Scalar::i32, int64_t(values.size()))}));
    }
}

void TapeEmitter::pop(BlockId block) {
    for (Stack& stack : stacks) {
        const std::vector<Value> values = plan.taped(block, stack.type);
        const std::vector<InstId> loops = stack.type == Scalar::i32 ? plan.taped_counts(block) : std::vector<InstId>();
        const int64_t size = int64_t(values.size() + loops.size());
        if (size == 0) continue;
        const Value height = b.op(Op::sub, {b.get(stack.cursor), b.constant_int(Scalar::i32, size)});
        b.set(stack.cursor, height);
        const auto popped = [&](size_t n) {
            const Value at = address(stack, b.op(Op::add, {height, b.constant_int(Scalar::i32, int64_t(n))}));
            return b.load(stack.memory, 0, {&at, 1});
        };
        for (size_t n = 0; n < values.size(); ++n) kept.known[values[n].id] = b.cast(from.type_of(values[n]), popped(n));
        for (size_t n = 0; n < loops.size(); ++n) kept.counts[loops[n].id] = popped(values.size() + n);
    }
}

void TapeEmitter::save_cursors() {
    for (Stack& stack : stacks)
        if (!stack.known_height()) b.store(stack.final, 0, std::span(&state.members.linear, 1), b.get(stack.cursor));
}

void TapeEmitter::restore_cursors() {
    for (Stack& stack : stacks)
        b.set(stack.cursor, stack.known_height() ? b.constant_int(Scalar::i32, stack.bound->number)
                                                 : b.load(stack.final, 0, std::span(&state.members.linear, 1)));
}

void TapeEmitter::count_pushes() {
    for (Stack& stack : stacks)
        if (stack.kind == TapeParameter::Sizing::counted)
            b.store(stack.offsets, 0, std::span(&state.members.linear, 1), b.get(stack.cursor));
}

}  // namespace pumice::derive
