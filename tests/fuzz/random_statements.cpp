// Random statements.
#include "tests/fuzz/random_maker.h"

namespace fuzz {

using namespace pumice;
using namespace pumice::internal;
using ir::Op;

/// Emits the beginning of a program, which sets the variables to elements of the arrays and writes all private memory.
void Maker::start(Block& b) {
    starting = true;
    for (size_t v = 0; v < program.variables.size(); ++v) {
        const auto& leaves = element(program.variables[v]).leaves;
        for (size_t n = 0; n < leaves.size(); ++n) {
            if (leaves.size() > 1 && chance(3)) continue;
            Statement s;
            s.which = int(v), s.part = int(n);
            const auto loaded = load_of(leaves[n].type);
            s.of = {loaded ? *loaded : value(leaves[n].type, 1)};
            b.push_back(s);
        }
    }
    for (size_t m = 0; m < program.memories.size(); ++m) {
        const Memory& memory = program.memories[m];
        if (memory.kind != Memory::private_) continue;
        for (size_t leaf = 0; leaf < element(memory.type).leaves.size(); ++leaf) {
            Statement s, *inner = &s;
            std::vector<Expr> at;
            for (size_t d = 0; d < memory.extents.size(); ++d) {
                inner->kind = Statement::loop;
                inner->unrolled = chance(3);
                inner->of = {number(Scalar::i32, 0), number(Scalar::i32, memory.extents[d]), number(Scalar::i32, 1)};
                inner->blocks.resize(1);
                inner->blocks[0].resize(1);
                inner = &inner->blocks[0][0];
                Expr k;
                k.kind = Expr::loop_index;
                k.which = int(memory.extents.size() - 1 - d);
                at.push_back(k);
            }
            inner->kind = Statement::store;
            inner->memory = int(m);
            inner->part = int(leaf);
            inner->of = at;
            const Scalar t = element(memory.type).leaves[leaf].type;
            // The other operands are not private memory, which may still be unset.
            inner->of.push_back(variable_of(t).value_or(constant(t)));
            b.push_back(s);
        }
    }
    starting = false;
}

/// All values that may differ flow into the arrays.
void Maker::finish(Block& b) {
    for (size_t m = 0; m < program.memories.size(); ++m) {
        const Memory& memory = program.memories[m];
        if (memory.kind != Memory::parameter || memory.use != Memory::owned) continue;
        const auto& leaves = element(memory.type).leaves;
        for (size_t n = 0; n < leaves.size(); ++n) {
            if (leaves.size() > 1 && chance(3)) continue;
            for (int e = 0; e < memory.each; ++e) {
                Statement s;
                s.kind = Statement::store;
                s.memory = int(m);
                s.part = int(n);
                s.of = memory.each == 1 ? own_indices(memory)
                                        : std::vector<Expr>{make_op(Op::add, {memory.own, number(Scalar::i32, e)})};
                Expr v = variable_of(leaves[n].type).value_or(value(leaves[n].type, 1));
                if (!program.smooth || is_int(leaves[n].type))
                    if (const auto more = variable_of(leaves[n].type); more && leaves[n].type != Scalar::boolean)
                        v = make_op(Op::add, {v, *more});
                s.of.push_back(v);
                b.push_back(s);
            }
        }
    }
}

Block Maker::block(int depth, int most) {
    Block b;
    for (uint64_t n = 1 + roll(uint64_t(most)); n > 0 && left > 0; --n) {
        if (uniform && grouped && !in_function && chance(3))
            uniform_statement(b, depth);
        else
            statement(b, depth);
    }
    return b;
}

void Maker::statement(Block& b, int depth) {
    --left;
    const auto add = [&](std::optional<Statement> s) { b.push_back(s ? std::move(*s) : set()); };
    // In the statements below control flow diverges.
    const bool was_uniform = uniform, was_leavable = leavable;
    uniform = false;
    switch (roll(depth > 0 ? 22 : 12)) {
        case 0:
        case 1: add(store()); break;
        case 2: add(whole()); break;
        case 3: add(fetch()); break;
        case 4: add(atomic()); break;
        case 5: add(private_store()); break;
        case 6: add(leavable && has(Part::leaves) ? std::optional(leave()) : std::nullopt); break;
        case 7: add(subgroup()); break;
        case 8:
        case 9: add(has(Part::together) ? together() : set()); break;
        case 12:
        case 13:
        case 14: add(branch(depth - 1)); break;
        case 15:
        case 16:
        case 17:
        case 18: add(trips <= 24 ? std::optional(loop(depth - 1, false)) : std::nullopt); break;
        case 19: add(trips <= 16 && has(Part::whiles) ? std::optional(while_loop(depth - 1)) : std::nullopt); break;
        case 20: add(trips <= 8 && has(Part::climbs) ? climb(depth - 1) : std::nullopt); break;
        default: add(set()); break;
    }
    uniform = was_uniform;
    leavable = was_leavable;
}

void Maker::uniform_statement(Block& b, int depth) {
    --left;
    const bool was_leavable = leavable;
    switch (roll(depth > 0 ? 8 : 5)) {
        case 0:
        case 1:
        case 2:
            if (auto s = exchange()) {
                b.push_back(*s);
                break;
            }
            [[fallthrough]];
        case 3:
        case 4:
            if (has(Part::groups)) b.push_back(group());
            break;
        case 5: {
            Statement s;
            s.kind = Statement::branch;
            s.of = {make_op(Op::gt, {uniform_number(), number(Scalar::i32, int64_t(roll(10)))})};
            s.blocks = {block(depth - 1, 2)};
            if (chance(2)) s.blocks.push_back(block(depth - 1, 2));
            if (has(Part::leaves) && chance(3)) {  // whole groups leave, before barriers too
                static const Op how[] = {Op::break_, Op::continue_, Op::return_};
                Statement last;
                last.kind = Statement::leave;
                last.op = loops > 0 && chance(2) ? how[roll(2)] : Op::return_;
                s.blocks[roll(s.blocks.size())].push_back(last);
            }
            b.push_back(s);
            break;
        }
        default:
            if (trips <= 6) b.push_back(loop(depth - 1, true));
            break;
    }
    leavable = was_leavable;
}

Statement Maker::set() {
    Statement s;
    s.which = int(roll(pool->size()));
    const auto& leaves = element((*pool)[size_t(s.which)]).leaves;
    s.part = int(roll(leaves.size()));
    const Scalar t = leaves[size_t(s.part)].type;
    static const Op updates[] = {Op::add, Op::add, Op::sub, Op::mul, Op::xor_, Op::shl, Op::rem};
    if (t != Scalar::boolean && !is_narrow_float(t) && chance(3)) {
        s.updates = true;
        s.op = updates[roll(is_int(t) ? std::size(updates) : 3)];
        s.of = {leaf(t)};
    } else {
        s.of = {value(t, 1 + int(roll(3)))};
    }
    return s;
}

/// Variables that are computed from each other.
Statement Maker::together() {
    const Scalar t = any_scalar();
    auto all = variables_of(t);
    for (const Scalar more : {Scalar::i32, Scalar::f32, Scalar::u32})
        if (all.size() < 3 && more != t) {
            const auto others = variables_of(more);
            all.insert(all.end(), others.begin(), others.end());
        }
    std::shuffle(all.begin(), all.end(), random);
    if (all.size() > 4) all.resize(3 + roll(2));
    Statement s;
    s.kind = Statement::together;
    s.targets = all;
    for (size_t n = 0; n < all.size(); ++n) {
        const auto type_at = [&](size_t k) { return element((*pool)[size_t(all[k].first)]).leaves[size_t(all[k].second)].type; };
        const auto get = [&](size_t k) {
            Expr e;
            e.kind = Expr::variable;
            e.type = type_at(k);
            std::tie(e.which, e.part) = all[k];
            return e;
        };
        const Scalar own = type_at(n);
        Expr a = get((n + 1) % all.size()), b = get((n + 2) % all.size());
        if (program.smooth && is_int(own) && (is_float(a.type) || is_float(b.type))) a = b = get(n);
        a = cast_to(own, a), b = cast_to(own, b);
        if (own == Scalar::boolean) {
            s.of.push_back(program.smooth && (is_float(type_at((n + 1) % all.size())) || is_float(type_at((n + 2) % all.size())))
                               ? get(n)
                               : make_op(Op::xor_, {a, b}));
            continue;
        }
        static const Op ops[] = {Op::add, Op::sub, Op::mul, Op::add};
        s.of.push_back(chance(3) ? a : make_op(ops[roll(4)], {a, chance(3) ? value(own, 1) : b}));
    }
    return s;
}

std::optional<Statement> Maker::whole() {
    std::vector<int> all, same;
    for (size_t v = 0; v < pool->size(); ++v)
        if (is_composite((*pool)[v])) all.push_back(int(v));
    if (all.empty()) return std::nullopt;
    Statement s;
    s.kind = Statement::whole;
    s.which = all[roll(all.size())];
    s.part = (*pool)[size_t(s.which)];
    for (const int v : all)
        if ((*pool)[size_t(v)] == s.part) same.push_back(v);
    s.targets = {{same[roll(same.size())], 0}, {same[roll(same.size())], 0}};
    s.mode = int(roll(60));
    const Element& e = element(s.part);
    const bool numbers = e.leaves[0].path == "x" && e.leaves.back().type == e.leaves[0].type;
    const bool matrix = e.leaves[0].path.find("row") == 0;
    if (s.part >= number_of<Gap>())
        s.of = {boolean(1)};
    else if (numbers || matrix)
        s.of = {is_float(e.leaves[0].type) ? leaf(e.leaves[0].type) : cast_to(e.leaves[0].type, value(Scalar::i32, 1))};
    static const std::pair<int, int> turns[] = {{number_of<float2>(), number_of<float2x2>()},
                                                {number_of<float3>(), number_of<float3x3>()},
                                                {number_of<double2>(), number_of<double2x2>()}};
    for (const auto& [vector, turning] : turns)
        if (s.part == vector && chance(2))
            for (const int v : all)
                if ((*pool)[size_t(v)] == turning) {
                    s.targets.push_back({v, 0});
                    break;
                }
    return s;
}

std::optional<Statement> Maker::fetch() {
    if (in_function) return std::nullopt;
    for (size_t m = 0; m < program.memories.size(); ++m) {
        const Memory& memory = program.memories[m];
        if (memory.kind != Memory::parameter || memory.use != Memory::input || !is_composite(memory.type)) continue;
        for (size_t v = 0; v < pool->size(); ++v)
            if ((*pool)[v] == memory.type) {
                Statement s;
                s.kind = Statement::fetch;
                s.which = int(v);
                s.memory = int(m);
                s.of = {bounded(memory.extents[0])};
                return s;
            }
    }
    return std::nullopt;
}

std::optional<Statement> Maker::store() {
    if (in_function) return std::nullopt;
    Statement s;
    s.kind = Statement::store;
    if (const int flags = any_memory(Memory::parameter, Memory::flags); flags >= 0 && chance(3)) {
        s.memory = flags;
        const Scalar t = Scalar(program.memories[size_t(flags)].type);
        s.of = {wrapped(value(Scalar::i32, 1), 4), is_float(t) ? real(t, 2) : number(t, 1)};
        return s;
    }
    s.memory = any_memory(Memory::parameter, Memory::owned);
    const Memory& m = program.memories[size_t(s.memory)];
    s.of = own_indices(m);
    if (is_composite(m.type) && chance(2))
        for (size_t v = 0; v < pool->size(); ++v)
            if ((*pool)[v] == m.type) {
                s.kind = Statement::put;
                s.targets = {{int(v), 0}};
                return s;
            }
    const auto& leaves = element(m.type).leaves;
    s.part = int(roll(leaves.size()));
    s.of.push_back(value(leaves[size_t(s.part)].type, 2));
    return s;
}

std::optional<Statement> Maker::private_store() {
    const int memory = any_memory(Memory::private_, Memory::input);
    if (in_function || memory < 0) return std::nullopt;
    const Memory& m = program.memories[size_t(memory)];
    Statement s;
    s.kind = Statement::store;
    s.memory = memory;
    for (const int64_t extent : m.extents) s.of.push_back(bounded(extent));
    const auto& leaves = element(m.type).leaves;
    s.part = int(roll(leaves.size()));
    s.of.push_back(value(leaves[size_t(s.part)].type, 2));
    return s;
}

Statement Maker::branch(int depth) {
    Statement s;
    s.kind = Statement::branch;
    s.of = {boolean(2)};
    s.blocks = {block(depth, 3)};
    if (chance(4)) {
        s.of.push_back(boolean(1));
        s.blocks.push_back(block(depth, 2));
    }
    if (chance(2)) s.blocks.push_back(block(depth, 2));
    if (leavable && has(Part::leaves) && chance(6)) {
        Statement last;
        last.kind = Statement::leave;
        last.op = chance(2) ? Op::break_ : Op::continue_;
        s.blocks[0].push_back(last);
    }
    return s;
}

Statement Maker::leave() {
    Statement s;
    s.kind = Statement::leave;
    static const Op how[] = {Op::break_, Op::break_, Op::continue_, Op::return_};
    s.op = how[roll(in_function || grouped ? 3 : 4)];
    s.of = {boolean(2)};
    return s;
}

namespace {

/// The trip count of a loop, at most 100.
uint64_t trips_of(Scalar type, Expr from, Expr to, Expr step) {
    const auto whole = [&](const Expr& e) -> __int128 {
        const int unused = 64 - size_of(type) * 8;
        if (is_signed_int(type)) return int64_t(e.bits << unused) >> unused;
        return e.bits << unused >> unused;
    };
    const __int128 a = whole(from), b = whole(to), s = whole(step);
    uint64_t n = 0;
    if (s > 0)
        for (__int128 i = a; i < b && n < 100; i += s) ++n;
    if (s < 0)
        for (__int128 i = a; i > b && n < 100; i += s) ++n;
    return n;
}

}  // namespace

/// Bounds anywhere in the type and steps of any size, for short loops.
void Maker::extreme_bounds(Statement& s, uint64_t& most) {
    const Scalar t = s.type = any_integer();
    const int bits = size_of(t) * 8;
    const auto near = [&]() -> int64_t {
        const uint64_t d = roll(12) - 4, smallest = uint64_t(1) << (bits - 1);  // wraps like the numbers of the type
        switch (roll(4)) {
            case 0: return int64_t(smallest + d);
            case 1: return int64_t(smallest - 1 - d);
            case 2: return int64_t(-1 - d);
            default: return int64_t(d);
        }
    };
    const auto step = [&]() -> int64_t {
        switch (roll(4)) {
            case 0: return int64_t(1) << roll(uint64_t(bits));
            case 1: return near();
            default: return int64_t(roll(7)) - 3;
        }
    };
    for (int attempt = 0; attempt < 40; ++attempt) {
        s.of = {number(t, near()), number(t, near()), number(t, step())};
        const uint64_t n = trips_of(t, s.of[0], s.of[1], s.of[2]);
        if (n <= 9 && (n > 0 || attempt > 30)) {
            most = n;
            return;
        }
    }
    s.of = {number(t, 0), number(t, 3), number(t, 1)};
    most = 3;
}

void Maker::loop_bounds(Statement& s, bool simple, uint64_t& most) {
    const auto small = [&](uint64_t n) { return number(s.type, int64_t(roll(n))); };
    if (has(Part::extreme_loops) && chance(3)) {
        extreme_bounds(s, most);
        // Some bounds are unknown to the compiler.
        if (!in_function)
            for (Expr& e : s.of)
                if (chance(3)) {
                    Expr a;
                    a.kind = Expr::argument;
                    a.type = e.type;
                    a.which = int(program.arguments.size());
                    program.arguments.push_back({e.type, e.bits});
                    e = a;
                }
        return;
    }
    s.type = chance(2) ? Scalar::i32 : any_integer();
    most = 1 + roll(7);
    s.of = {number(s.type, 0), number(s.type, int64_t(most)), number(s.type, 1)};
    if (simple || chance(2)) return;
    switch (roll(4)) {
        case 0: s.of[1] = make_op(Op::and_, {value(s.type, 1), number(s.type, 3)}), most = 3; break;
        case 1: s.of[0] = make_op(Op::and_, {value(s.type, 1), number(s.type, 7)}); break;
        case 2:
            if (!is_signed_int(s.type)) break;
            s.of = {make_op(Op::and_, {value(s.type, 1), number(s.type, 3)}), number(s.type, -2),
                    number(s.type, -1 - int64_t(roll(2)))};
            most = 6;
            break;
        default:
            s.of[0] = small(3);
            s.of[2] = make_op(Op::add, {make_op(Op::and_, {value(s.type, 1), number(s.type, 1)}), number(s.type, 1)});
            break;
    }
}

Statement Maker::loop(int depth, bool with_barriers) {
    Statement s;
    s.kind = Statement::loop;
    uint64_t most = 1;
    loop_bounds(s, with_barriers, most);
    s.unrolled = chance(6);
    const uint64_t before = trips;
    const bool was_leavable = leavable;
    trips *= std::max<uint64_t>(most, 1);
    leavable = !with_barriers;
    ++loops;
    s.blocks = {block(depth, 4)};
    --loops;
    leavable = was_leavable;
    trips = before;
    return s;
}

Statement Maker::while_loop(int depth) {
    Statement s;
    s.kind = Statement::while_;
    s.mode = 1 + int(roll(6));
    const uint64_t before = trips;
    const bool was_leavable = leavable;
    trips *= uint64_t(s.mode);
    leavable = true;
    ++loops;
    s.of = {boolean(2)};
    s.blocks = {block(depth, 3)};
    --loops;
    leavable = was_leavable;
    trips = before;
    return s;
}

std::optional<Statement> Maker::climb(int depth) {
    const int memory = any_memory(Memory::parameter, Memory::climbed);
    if (in_function || memory < 0) return std::nullopt;
    const Memory& m = program.memories[size_t(memory)];
    const Scalar t = Scalar(m.type);
    Statement s;
    s.kind = Statement::climb;
    s.memory = memory;
    const Expr n = make_op(Op::and_, {value(Scalar::i32, 1), number(Scalar::i32, 63)});
    s.of = {m.own, is_float(t) ? make_op(Op::mul, {real(t, 3), cast_to(t, n)}) : cast_to(t, n), leaf(t)};
    const uint64_t before = trips;
    const bool was_leavable = leavable;
    trips *= 12;
    leavable = false;
    s.blocks = {block(depth, 2)};
    leavable = was_leavable;
    trips = before;
    return s;
}

Expr Maker::items_in_group() {
    int64_t size = 1;
    for (const int64_t g : program.shape.group) size *= g;
    const Expr all = number(Scalar::i32, size);
    if (whole_groups) return all;
    const Expr before = make_op(Op::mul, {item(Item::group), all});
    return make_op(Op::min, {all, make_op(Op::sub, {item(Item::global_size), before})});
}

/// Each item writes its element of local memory and reads another one; or the items count in it.
std::optional<Statement> Maker::exchange() {
    const int memory = any_memory(Memory::local, Memory::input);
    if (memory < 0) return std::nullopt;
    const Memory& m = program.memories[size_t(memory)];
    const Scalar t = Scalar(m.type);
    const auto place = [&] {
        return make_op(Op::rem, {cast_to(Scalar::u32, value(Scalar::i32, 1)), cast_to(Scalar::u32, items_in_group())});
    };
    Statement s;
    s.memory = memory;
    const auto targets = variables_of(t);
    std::tie(s.which, s.part) = targets[roll(targets.size())];
    s.of = {item(Item::local_linear), value(t, 1)};
    if (is_int(t) && has(Part::atomics) && chance(3)) {
        static const ir::Atomic kinds[] = {ir::Atomic::add, ir::Atomic::min,  ir::Atomic::max, ir::Atomic::and_,
                                           ir::Atomic::or_, ir::Atomic::xor_, ir::Atomic::sub};
        s.kind = Statement::count;
        s.atom = kinds[roll(7)];
        s.of.push_back(place());
        s.of.push_back(value(t, 1));
    } else {
        s.kind = Statement::exchange;
    }
    s.of.push_back(place());
    return s;
}

std::optional<Statement> Maker::atomic() {
    const int memory = any_memory(Memory::parameter, Memory::counted);
    if (in_function || memory < 0) return std::nullopt;
    const Memory& m = program.memories[size_t(memory)];
    Statement s;
    s.kind = Statement::atomic;
    s.memory = memory;
    s.atom = m.atom;
    s.of = {cast_to(Scalar::i32, bounded(m.extents[0])), value(Scalar(m.type), 1)};
    return s;
}

Statement Maker::group() {
    Statement s;
    s.kind = Statement::group;
    Scalar t = any_scalar();
    while (is_float(t)) t = any_scalar();
    const auto targets = variables_of(t);
    std::tie(s.which, s.part) = targets[roll(targets.size())];
    s.mode = int(roll(8));
    static const Op ops[] = {Op::add, Op::mul, Op::min, Op::max, Op::and_, Op::or_, Op::xor_};
    s.op = ops[roll(7)];
    s.of = {value(t, 2)};
    return s;
}

std::optional<Statement> Maker::subgroup() {
    if (in_function || !has(Part::subgroups) || !has(Part::atomics)) return std::nullopt;
    for (size_t m = 0; m < program.memories.size(); ++m)
        if (program.memories[m].use == Memory::counted && program.memories[m].type == type_of(Scalar::i32)) {
            Statement s;
            s.kind = Statement::subgroup;
            s.memory = int(m);
            s.atom = program.memories[m].atom;
            s.mode = int(roll(9));
            s.unrolled = chance(2);  // one of two forms
            const auto targets = variables_of(Scalar::i32);
            std::tie(s.which, s.part) = targets[roll(targets.size())];
            s.of = {value(Scalar::i32, 1), uniform_number(), boolean(1)};
            return s;
        }
    return std::nullopt;
}

}  // namespace fuzz
