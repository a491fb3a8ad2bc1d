// Emits ifs and loops whose blocks are filled by functions.
#pragma once
#include <type_traits>

#include "core/ir/builder.h"

namespace pumice::ir {

/// Fills a block by `fill`, and ends it with a yield of the value that `fill` returns, if it returns one.
template <class Fill> void emit_block(Builder& b, BlockId block, const Fill& fill) {
    Value given;
    b.enter(block);
    if constexpr (std::is_void_v<decltype(fill())>)
        fill();
    else
        given = fill();
    if (!b.terminated()) b.terminate(Op::yield, {&given, given ? 1u : 0u});
    b.leave();
}

/// `if condition { yes() } else { no() }`: the value of the arms, none if they return none.
template <class Yes, class No> Value emit_if(Builder& b, const Kernel& k, Value condition, const Yes& yes, const No& no) {
    const Loc loc = b.loc;
    const BlockId arms[] = {b.new_block(), b.new_block()};
    emit_block(b, arms[0], yes);
    emit_block(b, arms[1], no);
    b.loc = loc;
    const Inst& made = k[b.control(Op::if_, {&condition, 1}, {arms[0], arms[1]})];
    return made.result_count ? k.result(made) : Value{};
}

/// `for index = first to limit step by { body(index) }`
template <class Body> void emit_for(Builder& b, const Kernel& k, Value first, Value limit, Value by, const Body& body) {
    const Loc loc = b.loc;
    const Scalar type = k.type_of(first);
    const BlockId block = b.new_block({&type, 1});
    emit_block(b, block, [&] { body(k[block].params[0]); });
    b.loc = loc;
    const Value bounds[] = {first, limit, by};
    b.control(Op::for_, bounds, {block});
}

/// `for index = first to limit carry (value = initial) { yield next(index, value) }`: the last value.
template <class Next> Value emit_fold(Builder& b, const Kernel& k, Value first, Value limit, Value initial, const Next& next) {
    const Loc loc = b.loc;
    const Scalar types[] = {k.type_of(first), k.type_of(initial)};
    const Value operands[] = {first, limit, b.constant_int(types[0], 1), initial};
    const BlockId block = b.new_block(types);
    emit_block(b, block, [&] {
        const Value index = k[block].params[0], value = k[block].params[1];
        return next(index, value);
    });
    b.loc = loc;
    return k.result(k[b.control(Op::for_, operands, {block})]);
}

}  // namespace pumice::ir
