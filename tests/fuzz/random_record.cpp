// Statements of random programs, recorded.
#include "tests/fuzz/random_record.h"
#include "tests/fuzz/random_recording.h"

namespace fuzz {

using namespace pumice;
using namespace pumice::internal;
using ir::Op;

namespace {

KernelOptions options_of(const Program& program, bool twin) {
    KernelOptions options;
    options.math = program.smooth ? Math::contract : Math::strict;
    const Shape& shape = twin ? program.twin : program.shape;
    if (shape.static_group) options.group = shape.group;
    if (shape.static_range) options.range = shape.to;
    return options;
}

}  // namespace

RandomKernel::RandomKernel(std::shared_ptr<const Program> program, bool twin, uint64_t shaken)
    : KernelBase(text("random_", program->seed), options_of(*program, twin), SourceLocation{"program", 1},
                 [program, twin, shaken](detail::Recorder& r) { Recording(*program, twin, shaken).kernel(r); }) {}

Recording::Recording(const Recording& caller, Inside)
    : program(caller.program),
      shaken(caller.shaken),
      twin(caller.twin),
      line(caller.line),
      functions(caller.functions),
      errors(caller.errors) {}

void Recording::kernel(detail::Recorder& r) {
    int number = 0;
    for (const Memory& m : program.memories) {
        Held held;
        held.type = m.type;
        held.read_only = m.kind == Memory::parameter && m.access == ir::Access::in;
        if (m.kind == Memory::parameter)
            static_cast<detail::MemoryBase&>(held) =
                detail::declare_array({r, here(), ++number, ""}, element(m.type), int(m.extents.size()), m.access);
        memories.push_back(held);
    }
    for (const Argument& a : program.arguments)
        arguments.push_back({a.type, detail::declare_scalar({r, here(), ++number, ""}, a.type)});
    declare_memories(r);
    for (const int type : program.variables) declare_variable(type, nullptr);
    block(program.body);
}

void Recording::declare_memories(detail::Recorder& r) {
    for (size_t n = 0; n < memories.size(); ++n) {
        const Memory& m = program.memories[n];
        if (m.kind == Memory::parameter) continue;
        const auto kind = m.kind == Memory::local ? ir::MemoryKind::local : ir::MemoryKind::private_;
        Held& held = memories[n];
        if (m.sized) {
            const ir::Value size = detail::IndexOperand(whole_number(m.size), here().file, here().line).use(r);
            held.id = detail::add_array(r, held, kind, element(m.type), {}, size, here());
        } else {
            held.id = detail::add_array(r, held, kind, element(m.type), m.extents, {}, here());
        }
    }
}

void Recording::declare_variable(int type, const std::vector<Handle>* initial) {
    with_type(type, [&]<class T>(std::type_identity<T>) {
        const SourceLocation p = here();
        if (initial)
            variables.push_back(std::make_unique<SlotOf<T>>(typed<T>(*initial), p));
        else
            variables.push_back(std::make_unique<SlotOf<T>>(Val<T>(T(), p.file, p.line), p));
    });
}

void Recording::block(const Block& b) {
    for (const Statement& s : b) statement(s);
}

void Recording::statement(const Statement& s) {
    ++line;
    switch (s.kind) {
        case Statement::set: return set(s);
        case Statement::together: {
            std::vector<Value> all = values(s.of, 0, s.of.size());
            for (Value& v : all) v = tamed(v);
            for (size_t n = 0; n < all.size(); ++n) assign(s.targets[n], all[n]);
            return;
        }
        case Statement::whole: return whole(s);
        case Statement::fetch: return fetch(s);
        case Statement::store: return store(s);
        case Statement::put:
            return store_all(memories[size_t(s.memory)], values(s.of, 0, s.of.size()), all_of(s.targets[0].first));
        case Statement::branch: return branch(s);
        case Statement::loop: return loop(s);
        case Statement::while_: return while_loop(s);
        case Statement::climb: return climb(s);
        case Statement::leave: return leave(s);
        case Statement::exchange: return exchange(s);
        case Statement::count: return count(s);
        case Statement::atomic: return atomic(memories[size_t(s.memory)], s.atom, value(s.of[0]), value(s.of[1]));
        case Statement::group: return group(s);
        case Statement::subgroup: return subgroup(s);
    }
}

void Recording::assign(std::pair<int, int> target, Value v) {
    const Slot::Leaf& leaf = variables[size_t(target.first)]->leaves[size_t(target.second)];
    with_scalar(leaf.type, [&]<class T>(std::type_identity<T>) { *static_cast<Var<T>*>(leaf.variable) = Val<T>(v.handle); });
}

void Recording::set(const Statement& s) {
    const Value v = value(s.of[0]);
    if (!s.updates) return assign({s.which, s.part}, tamed(v));
    const Slot::Leaf& leaf = variables[size_t(s.which)]->leaves[size_t(s.part)];
    with_scalar(leaf.type, [&]<class T>(std::type_identity<T>) {
        if constexpr (!std::is_same_v<T, bool>) {
            Var<T>& x = *static_cast<Var<T>*>(leaf.variable);
            const Val<T> by(moved(v, 0, 0).handle);
            switch (s.op) {
                case Op::sub: x -= by; break;
                case Op::mul: x *= by; break;
                case Op::xor_:
                    if constexpr (is_int(*scalar_of<T>())) x ^= by;
                    break;
                case Op::shl:
                    if constexpr (is_int(*scalar_of<T>())) x <<= by;
                    break;
                case Op::rem:
                    if constexpr (is_int(*scalar_of<T>())) x %= by;
                    break;
                default: x += by; break;
            }
        }
    });
}

namespace {

template <class M> struct column_of {
    using type = void;
};
template <> struct column_of<float2x2> {
    using type = float2;
};
template <> struct column_of<float3x3> {
    using type = float3;
};
template <> struct column_of<double2x2> {
    using type = double2;
};

/// The operations on vectors of a type.
template <class T, class S> Val<T> vector_operation(int mode, const Val<T>& a, const Val<T>& b, const Val<S>& x) {
    switch (mode % 10) {
        case 0: return a + b;
        case 1: return a - b;
        case 2: return a * b;
        case 3: return a * x;
        case 4: return swizzle<"yx">(a).x * b;
        case 5: return max(a, b);
        case 6: return a + dot(a, b) * b;
        case 7: return -a;
        case 8:
            if constexpr (detail::leaf_count<T>() == 3)
                return b + cross(a, b);
            else
                return a - b * x;
        default:
            if constexpr (is_float(*scalar_of<S>()))
                return a / (1.0f + length(a));
            else
                return a % (b | 1);
    }
}
template <class T, class S> Val<T> matrix_operation(int mode, const Val<T>& a, const Val<T>& b, const Val<S>& x) {
    switch (mode % 6) {
        case 0: return a * b;
        case 1: return a + b;
        case 2: return a - transpose(b);
        case 3: return a * x;
        case 4: return x * b - a;
        default: return -(b * a);
    }
}

}  // namespace

/// targets: two operands of the variable's type, and perhaps a matrix with columns of that type.
void Recording::whole(const Statement& s) {
    std::vector<Handle> result;
    const std::vector<Handle> first = all_of(s.targets[0].first), second = all_of(s.targets[1].first);
    with_type(s.part, [&]<class T>(std::type_identity<T>) {
        if constexpr (detail::Composite<T>) {
            const Val<T> a = typed<T>(first), b = typed<T>(second);
            std::optional<Val<T>> r;
            if constexpr (structure<T>::is_vector || detail::Matrix<T>) {
                using S = typename structure<T>::component;
                const Val<S> x = Val<S>(cast_to(*scalar_of<S>(), value(s.of[0])).handle);
                if (s.targets.size() > 2) {
                    with_type(program.variables[size_t(s.targets[2].first)], [&]<class M>(std::type_identity<M>) {
                        if constexpr (std::is_same_v<typename column_of<M>::type, T>)
                            r.emplace(typed<M>(all_of(s.targets[2].first)) * a);
                    });
                } else if constexpr (structure<T>::is_vector) {
                    r.emplace(vector_operation<T, S>(s.mode, a, b, x));
                } else {
                    r.emplace(matrix_operation<T, S>(s.mode, a, b, x));
                }
            } else {
                r.emplace(select(condition(s.of[0]), a, b));
            }
            const detail::Operand<T> all(*r, here().file, here().line);
            result.assign(all.handles.begin(), all.handles.end());
        }
    });
    const Slot& to = *variables[size_t(s.which)];
    for (size_t n = 0; n < result.size(); ++n) result[n] = tamed({to.leaves[n].type, result[n]}).handle;
    variables[size_t(s.which)]->assign(result);
}

void Recording::fetch(const Statement& s) {
    const Held& memory = memories[size_t(s.memory)];
    const std::vector<Value> indices = values(s.of, 0, s.of.size());
    std::vector<Handle> all;
    for (size_t n = 0; n < element(memory.type).leaves.size(); ++n) all.push_back(load(memory, int(n), indices).handle);
    variables[size_t(s.which)]->assign(all);
}

void Recording::store(const Statement& s) {
    const std::vector<Value> indices = values(s.of, 0, s.of.size() - 1);
    const Value v = value(s.of.back());
    // A flag is the same number for all items, in shaken programs, too.
    const bool flag = program.memories[size_t(s.memory)].use == Memory::flags;
    store_part(memories[size_t(s.memory)], s.part, indices, flag ? v : tamed(v));
}

void Recording::branch(const Statement& s) {
    const auto arm = [&](size_t n) {
        if (n < s.blocks.size()) block(s.blocks[n]);
    };
    const bool otherwise = s.blocks.size() > s.of.size();
    if (s.of.size() == 1) {
        if (otherwise)
            if_(condition(s.of[0]), [&] { arm(0); }, [&] { arm(1); });
        else
            if_(condition(s.of[0]), [&] { arm(0); });
        return;
    }
    $if(condition(s.of[0])) { arm(0); }
    $elif(condition(s.of[1])) { arm(1); }
    $else { arm(2); }
}

void Recording::loop(const Statement& s) {
    with_scalar(s.type, [&]<class T>(std::type_identity<T>) {
        if constexpr (is_int(*scalar_of<T>())) {
            const Val<T> from = typed<T>(s.of[0]), to = typed<T>(s.of[1]), step = typed<T>(s.of[2]);
            const auto all = range(from, to, step, here().file, here().line);
            for_(s.unrolled ? all.unroll() : all, [&](const Val<T>& index) {
                loops.push_back(value_of(index));
                block(s.blocks[0]);
                loops.pop_back();
            });
        }
    });
}

void Recording::while_loop(const Statement& s) {
    Var<int> turns = 0;
    while_([&] { return condition(s.of[0]) & (turns < s.mode); },
           [&] {
               turns += 1;
               loops.push_back(value_of(Val<int>(turns)));
               block(s.blocks[0]);
               loops.pop_back();
           });
}

/// Emits a statement that makes an element grow by at least half of its value, from 1 or more.
void Recording::climb(const Statement& s) {
    const Held& memory = memories[size_t(s.memory)];
    with_type(memory.type, [&]<class T>(std::type_identity<T>) {
        if constexpr (ScalarType<T>) {
            if constexpr (!std::is_same_v<T, bool> && sizeof(T) >= 4) {
                const auto at = [&] { return std::vector<Value>{value(s.of[0])}; };
                const auto now = [&] { return Val<T>(load(memory, 0, at()).handle); };
                while_([&] { return now() < typed<T>(s.of[1]); },
                       [&] {
                           const Val<T> old = now();
                           if constexpr (is_float(*scalar_of<T>()))
                               store_part(memory, 0, at(),
                                          value_of(old * (1.5f + select(typed<T>(s.of[2]) > 1, Val<T>(0.25f), Val<T>(0.5f)))));
                           else
                               store_part(memory, 0, at(), value_of(old + old + (typed<T>(s.of[2]) & 3)));
                           block(s.blocks[0]);
                       });
            }
        }
    });
}

void Recording::leave(const Statement& s) {
    const auto go = [&] {
        switch (s.op) {
            case Op::break_: break_(here().file, here().line); break;
            case Op::continue_: continue_(here().file, here().line); break;
            default: return_(here().file, here().line); break;
        }
    };
    if (s.op != Op::return_ && loops.empty()) return;
    if (s.of.empty())
        go();
    else
        if_(condition(s.of[0]), go);
}

void Recording::exchange(const Statement& s) {
    const Held& memory = memories[size_t(s.memory)];
    store_part(memory, 0, {value(s.of[0])}, tamed(value(s.of[1])));
    synchronize(here().file, here().line);
    assign({s.which, s.part}, load(memory, 0, {value(s.of[2])}));
    synchronize(here().file, here().line);
}

void Recording::count(const Statement& s) {
    const Held& memory = memories[size_t(s.memory)];
    store_part(memory, 0, {value(s.of[0])}, value(s.of[1]));
    synchronize(here().file, here().line);
    atomic(memory, s.atom, value(s.of[2]), value(s.of[3]));
    synchronize(here().file, here().line);
    assign({s.which, s.part}, load(memory, 0, {value(s.of[4])}));
    synchronize(here().file, here().line);
}

void Recording::atomic(const Held& memory, ir::Atomic what, Value index, Value v) {
    const Val<int> i(cast_to(Scalar::i32, index).handle);
    with_scalar(v.type, [&]<class T>(std::type_identity<T>) {
        if constexpr (is_int(*scalar_of<T>())) {
            const Val<T> by(v.handle);
            const auto at = [&] { return memory.refer<T>({detail::IndexOperand(i, here().file, here().line)}); };
            switch (what) {
                case ir::Atomic::sub: atomic_sub(at(), by); break;
                case ir::Atomic::min: atomic_min(at(), by); break;
                case ir::Atomic::max: atomic_max(at(), by); break;
                case ir::Atomic::and_: atomic_and(at(), by); break;
                case ir::Atomic::or_: atomic_or(at(), by); break;
                case ir::Atomic::xor_: atomic_xor(at(), by); break;
                default: atomic_add(at(), by); break;
            }
        }
    });
}

void Recording::group(const Statement& s) {
    const Value x = value(s.of[0]);
    if (x.type == Scalar::boolean) {
        const Val<bool> c(x.handle);
        return assign({s.which, s.part}, value_of(s.mode % 2 ? pumice::group::any(c) : pumice::group::all(c)));
    }
    // The reduction or scan by the operation of the statement; the first one of its kind is a sum.
    const auto built_in = [&]<class T>(const Val<T>& v, ir::Subgroup add) {
        int what = int(add);
        while (ir::combines(ir::Subgroup(what)) != s.op) ++what;
        return Val<T>(detail::emit_group(ir::Subgroup(what), detail::group_scratch<T>(here()).id, v.handle, here()));
    };
    const auto operate = [&]<class T>(const Val<T>& v) -> Val<T> {
        const auto combine = [&](const Val<T>& a, const Val<T>& b) {
            return Val<T>(detail::emit_op(s.op, {a.handle, b.handle}, here()));
        };
        switch (s.mode % 8) {
            case 0: return pumice::group::reduce(v, combine);
            case 1: return pumice::group::inclusive_scan(v, combine);
            case 2: return pumice::group::exclusive_scan(v, Val<T>(1), combine);
            case 3: return pumice::group::broadcast(v, 0);
            case 4: return built_in(v, ir::Subgroup::reduce_add);
            case 5: return built_in(v, ir::Subgroup::inclusive_add);
            case 6: return built_in(v, ir::Subgroup::exclusive_add);
            default: return pumice::group::reduce_add(v) + pumice::group::exclusive_max(v);
        }
    };
    with_scalar(x.type, [&]<class T>(std::type_identity<T>) {
        if constexpr (is_int(*scalar_of<T>())) assign({s.which, s.part}, value_of(operate(Val<T>(x.handle))));
    });
}

/// memory: a counted array, updated by the operation of the reduction; of: x, a uniform number, a condition.
void Recording::subgroup(const Statement& s) {
    namespace sub = pumice::subgroup;
    const Val<int> x = whole_number(s.of[0]);
    const auto give = [&](const Val<int>& v) { assign({s.which, s.part}, value_of(v)); };
    const auto lead = [&](const Val<int>& v) {
        if_(sub::elect(),
            [&] { atomic(memories[size_t(s.memory)], s.atom, constant(Scalar::i32, uint64_t(s.unrolled)), value_of(v)); });
    };
    const auto reduced = [&] {
        switch (s.atom) {
            case ir::Atomic::min: return sub::reduce_min(x);
            case ir::Atomic::max: return sub::reduce_max(x);
            case ir::Atomic::and_: return sub::reduce_and(x);
            case ir::Atomic::or_: return sub::reduce_or(x);
            case ir::Atomic::xor_: return sub::reduce_xor(x);
            default: return sub::reduce_add(x);
        }
    };
    switch (s.mode % 9) {
        case 0:
        case 1: return lead(reduced());
        case 2: return give(sub::inclusive_add(x) - sub::exclusive_add(x));
        case 3: return give(sub::shuffle(x, sub::lane()));
        case 4: return give(sub::broadcast_first(whole_number(s.of[1])));
        case 5: return give(sub::shuffle_up(sub::shuffle_xor(x, 0), 0) + sub::shuffle_down(x, 0));
        case 6: return give(sub::reduce_max(whole_number(s.of[1])) ^ x);
        case 7: {
            const Val<bool> c = condition(s.of[2]);
            return give(select((sub::any(c) | !c) & (c | !sub::all(c)), x, Val<int>(77)));
        }
        default: {
            const Val<uint4> bits = sub::ballot(condition(s.of[2]));
            const Val<int> set = cast<int>(popcount(bits.x) + popcount(bits.y) + popcount(bits.z) + popcount(bits.w));
            if (s.atom == ir::Atomic::add) return lead(set);
            return give(select(set > 0, x, x));
        }
    }
}

}  // namespace fuzz
