// The objects of random programs: shapes, memories, variables, functions, and the actions of the host.
#include "tests/fuzz/random_program.h"

#include <cstdlib>
#include <sstream>

#include "tests/fuzz/random_maker.h"

namespace fuzz {

using namespace pumice;
using namespace pumice::internal;
using ir::Op;

Options options_for(const Device& device) {
    Options options;
    options.scalars = {Scalar::boolean, Scalar::i32, Scalar::u32, Scalar::f32};
    const auto add = [&](Feature feature, std::initializer_list<Scalar> more) {
        if (device.supports(feature)) options.scalars.insert(options.scalars.end(), more);
    };
    if (const char* names = std::getenv("PUMICE_FUZZ_WITHOUT")) {
        std::istringstream all(names);
        for (std::string name; std::getline(all, name, ',');) {
            const auto found = std::find(std::begin(part_names), std::end(part_names), name);
            if (found == std::end(part_names))
                fail("PUMICE_FUZZ_WITHOUT names \"", name, "\", and random programs have no such part");
            options.leave_out(Part(found - std::begin(part_names)));
        }
    }
    add(Feature::int8, {Scalar::i8, Scalar::u8});
    add(Feature::int16, {Scalar::i16, Scalar::u16});
    if (options.has(Part::wide)) add(Feature::int64, {Scalar::i64, Scalar::u64});
    add(Feature::float16, {Scalar::f16});
    if (options.has(Part::bfloats)) options.scalars.push_back(Scalar::bf16);
    if (options.has(Part::doubles)) add(Feature::float64, {Scalar::f64});
    options.max_group = std::min<int64_t>(device.limits().max_group_size, 64);
    return options;
}

Program random_program(uint64_t seed, const Options& options) { return Maker(seed, options).make(); }

Program Maker::make() {
    program.smooth = options.only_smooth || (has(Part::smooth) && chance(4));
    choose_scalars();
    choose_shape();
    choose_twin();
    for (size_t n = 2 + roll(3); n > 0; --n) {
        Argument a{chance(2) ? Scalar::i32 : any_scalar(), 0};
        a.bits = constant(a.type).bits;
        program.arguments.push_back(a);
    }
    choose_memories();
    choose_variables();
    pool = &program.variables;
    choose_functions();
    pool = &program.variables;
    left = options.statements;
    start(program.body);
    while (left > 0) {
        Block more = block(3, 5);
        program.body.insert(program.body.end(), more.begin(), more.end());
    }
    finish(program.body);
    // Sometimes a few statements follow, such as a loop with stores.
    left = int(roll(3));
    while (left > 0) statement(program.body, 2);
    choose_steps();
    // By the seed alone, so that the other choices of a seed stay as they are.
    for (Shape* s : {&program.shape, &program.twin})
        if (has(Part::indirect) && program.seed % 3 == 0 && !s->static_range && s->from == std::vector<int64_t>(s->from.size()))
            s->beyond = int64_t(program.seed / 3 % 4) * 11;
    return std::move(program);
}

/// A few types in each program, so that values of one type are combined.
void Maker::choose_scalars() {
    scalars = {Scalar::boolean, Scalar::i32, Scalar::u32, Scalar::f32};
    std::vector<Scalar> more(options.scalars.begin() + 4, options.scalars.end());
    std::shuffle(more.begin(), more.end(), random);
    for (size_t n = 0; n < more.size() && n < 3; ++n) scalars.push_back(more[n]);
}

void Maker::choose_shape() {
    Shape& s = program.shape;
    const int rank = has(Part::dimensions) && chance(3) ? 2 + int(roll(2)) : 1;
    grouped = (has(Part::locals) || has(Part::groups)) && chance(3);
    const bool fixes_group = grouped || chance(3);
    static const int64_t groups[3][8] = {{1, 3, 4, 7, 16, 32, 33, 64}, {1, 2, 3, 4, 5, 8, 8, 4}, {1, 2, 3, 4, 2, 3, 4, 2}};
    whole_groups = grouped && (rank > 1 || chance(2));
    for (int d = 0; d < rank; ++d) {
        int64_t items = rank == 1   ? (chance(2) ? 1 + int64_t(roll(256)) : 1 + int64_t(roll(40)))
                        : rank == 2 ? 1 + int64_t(roll(18))
                                    : 1 + int64_t(roll(7));
        int64_t group = groups[rank - 1][roll(8)];
        if (rank == 1) group = std::min(group, options.max_group);
        if (whole_groups) items = std::max<int64_t>(1, items / group) * group;
        s.from.push_back(chance(3) ? int64_t(roll(9)) : 0);
        s.to.push_back(s.from.back() + items);
        if (fixes_group) s.group.push_back(group);
    }
    if (!has(Part::fixed_shapes)) return;
    s.static_group = fixes_group && chance(3);
    if (chance(5)) {
        for (int d = 0; d < rank; ++d) s.to[size_t(d)] -= s.from[size_t(d)], s.from[size_t(d)] = 0;
        s.static_range = true;
    }
}

/// A range of the same rank and start with at most as many items, so that elements of one item stay so.
void Maker::choose_twin() {
    Shape& t = program.twin = program.shape;
    if (grouped) return;
    t.static_group = t.static_range = false;
    t.group.clear();
    for (size_t d = 0; d < t.to.size(); ++d) t.to[d] -= int64_t(roll(uint64_t(t.to[d] - t.from[d])));
    if (chance(2)) {
        for (int d = 0; d < t.rank(); ++d)
            t.group.push_back(t.rank() == 1 ? std::min<int64_t>(int64_t(8) << roll(4), options.max_group) : 1 + int64_t(roll(4)));
        t.static_group = has(Part::fixed_shapes) && chance(2);
    }
    if (has(Part::fixed_shapes) && t.from == std::vector<int64_t>(t.from.size()) && chance(4)) t.static_range = true;
}

std::vector<int> Maker::composites() {
    std::vector<int> all;
    for (int type = scalar_count; type < type_count; ++type) {
        const Element& e = element(type);
        const bool described = e.leaves[0].path != "x" && e.leaves[0].path.find("row") != 0;
        bool fits = has(described || type == type_of(Scalar::f64) ? Part::structs : Part::vectors);
        uint32_t end = 0;
        for (const Leaf& leaf : e.leaves) {
            fits = fits && std::find(options.scalars.begin(), options.scalars.end(), leaf.type) != options.scalars.end();
            fits = fits && (has(Part::gaps) || leaf.offset == end);
            end = leaf.offset + uint32_t(size_of(leaf.type));
        }
        if (fits && (has(Part::gaps) || end == e.size)) all.push_back(type);
    }
    return all;
}

void Maker::add_input(int type) {
    Memory m;
    m.type = type;
    const int64_t sizes[] = {256, 256, 300, 512, 257 + int64_t(roll(400)), program.shape.items() * int64_t(1 + roll(4)) + 1};
    m.extents = {sizes[roll(6)]};
    if (has(Part::dimensions) && !is_composite(type) && chance(3)) {
        m.extents = {2 + int64_t(roll(20)), 2 + int64_t(roll(20))};
        if (chance(3)) m.extents.push_back(2 + int64_t(roll(6)));
    }
    if (has(Part::views)) m.view = int(roll(5));
    program.memories.push_back(m);
}

/// The element of each item: an injective map of the item's indices.
void Maker::choose_own_index(Memory& m) {
    const Shape& s = program.shape;
    const int64_t n = s.items();
    const auto i32 = [](int64_t v) { return number(Scalar::i32, v); };
    const auto with = [&](Scalar t) { return std::find(scalars.begin(), scalars.end(), t) != scalars.end(); };
    if (!is_composite(m.type) && has(Part::dimensions) && chance(3)) {
        m.by_dimension = true;
        m.turned = chance(3);
        for (const int64_t to : s.to) m.extents.push_back(to + int64_t(roll(3)));
        if (m.turned) std::reverse(m.extents.begin(), m.extents.end());
        return;
    }
    const Expr p = linear();
    if (has(Part::narrow_indices) && n <= 256 && chance(3)) {
        m.extents = {256};
        const int64_t plus = int64_t(roll(256));
        const Expr moved = make_op(Op::add, {p, i32(plus)});
        switch (roll(4)) {
            case 0:
                if (!with(Scalar::i8)) break;
                m.own = make_op(Op::add, {cast_to(Scalar::i32, cast_to(Scalar::i8, moved)), i32(128)});
                return;
            case 1:
                if (!with(Scalar::u16)) break;
                m.own =
                    make_op(Op::shr, {cast_to(Scalar::i32, cast_to(Scalar::u16, make_op(Op::mul, {moved, i32(256)}))), i32(8)});
                return;
            case 2:
                if (!with(Scalar::u8)) break;
                m.own = make_op(Op::add, {cast_to(Scalar::u8, p), number(Scalar::u8, plus)});
                return;
            default: break;
        }
        m.own = with(Scalar::u8) ? cast_to(Scalar::i32, cast_to(Scalar::u8, moved)) : make_op(Op::and_, {moved, i32(255)});
        return;
    }
    int64_t power = 1;
    while (power < n) power *= 2;
    switch (roll(6)) {
        case 0: {
            const int64_t plus = int64_t(roll(20));
            m.own = make_op(Op::add, {p, i32(plus)});
            m.extents = {n + plus};
            return;
        }
        case 1: m.own = make_op(Op::sub, {i32(n - 1), p}); break;
        case 2:
            m.own = make_op(Op::and_, {make_op(Op::mul, {p, i32(1 + 2 * int64_t(roll(20)))}), i32(power - 1)});
            m.extents = {power};
            return;
        case 3:
            m.own = make_op(Op::xor_, {p, i32(int64_t(roll(uint64_t(power))))});
            m.extents = {power};
            return;
        case 4:
            m.each = 2 + int(roll(2));
            m.own = make_op(Op::mul, {p, i32(m.each)});
            m.extents = {n * m.each};
            return;
        default: m.own = with(Scalar::i64) && chance(3) ? cast_to(Scalar::i64, p) : p; break;
    }
    m.extents = {n + int64_t(roll(3))};
}

void Maker::add_own(int type) {
    Memory m;
    m.type = type;
    m.use = Memory::owned;
    m.access = chance(3) ? ir::Access::out : ir::Access::inout;
    choose_own_index(m);
    if (has(Part::views) && m.extents.size() == 1) m.view = int(roll(2));
    program.memories.push_back(m);
}

void Maker::choose_memories() {
    const std::vector<int> structs = composites();
    const auto any_type = [&] { return !structs.empty() && chance(3) ? structs[roll(structs.size())] : type_of(any_scalar()); };
    const int base = type_of(Scalar::i32);
    add_input(base);
    add_input(type_of(Scalar::f32));
    for (size_t n = 1 + roll(3); n > 0; --n) add_input(any_type());
    add_own(base);
    add_own(type_of(Scalar::f32));
    for (size_t n = 1 + roll(3); n > 0; --n) add_own(any_type());
    if (has(Part::atomics))
        for (size_t n = 1 + roll(2); n > 0; --n) {
            static const ir::Atomic kinds[] = {ir::Atomic::add,  ir::Atomic::min, ir::Atomic::max,
                                               ir::Atomic::and_, ir::Atomic::or_, ir::Atomic::xor_};
            Memory m;
            m.type = n == 1 ? base : type_of(any_integer());
            m.use = Memory::counted;
            m.access = ir::Access::inout;
            m.extents = {n == 1 ? 8 : 256};
            m.atom = chance(2) ? ir::Atomic::add : kinds[roll(6)];
            program.memories.push_back(m);
        }
    if (has(Part::equal_stores) && chance(4)) {
        Memory m;
        m.type = type_of(any_scalar());
        m.use = Memory::flags;
        m.access = ir::Access::inout;
        m.extents = {4};
        program.memories.push_back(m);
    }
    if (has(Part::climbs) && chance(3)) {
        Memory m;
        const Scalar any = any_scalar();
        m.type = size_of(any) >= 4 && !(program.smooth && is_float(any)) ? type_of(any) : base;
        m.use = Memory::climbed;
        m.access = ir::Access::inout;
        choose_own_index(m);
        m.each = 1;
        if (m.by_dimension) m.by_dimension = false, m.own = item(Item::global_linear), m.extents = {program.shape.items()};
        program.memories.push_back(m);
    }
    if (has(Part::privates))
        for (size_t n = roll(3); n > 0; --n) {
            Memory m;
            m.kind = Memory::private_;
            m.type = any_type();
            m.extents = {chance(5) ? 30 + int64_t(roll(9)) : 2 + int64_t(roll(7))};  // drivers treat long arrays otherwise
            if (chance(3)) m.extents.push_back(1 + int64_t(roll(4)));
            program.memories.push_back(m);
        }
    if (grouped && has(Part::locals))
        for (size_t n = 1 + roll(2); n > 0; --n) choose_local();
}

Expr Maker::local_size(int64_t& size) {
    const int64_t g = size;
    const Expr group = item(Item::group_size);
    const auto i32 = [](int64_t v) { return number(Scalar::i32, v); };
    const auto plus = [&](Expr e, int64_t v) { return make_op(Op::add, {std::move(e), i32(v)}); };
    if (!has(Part::local_sizes)) {
        const int64_t v = int64_t(roll(4));
        size = g + v;
        return plus(group, v);
    }
    const int64_t by = int64_t(roll(5)) - 1;
    const auto quotient = [](int64_t a, int64_t b) { return b == 0 ? a : a / b; };
    const auto remainder = [](int64_t a, int64_t b) { return b == 0 ? 0 : a % b; };
    switch (roll(8)) {
        case 0:
            size = g + std::max<int64_t>(quotient(g, by), 0);
            return make_op(Op::add, {group, make_op(Op::max, {make_op(Op::div, {group, i32(by)}), i32(0)})});
        case 1: size = g + remainder(g, by); return make_op(Op::add, {group, make_op(Op::rem, {group, i32(by)})});
        case 2: size = g * 3 / 2 + 1; return plus(make_op(Op::div, {make_op(Op::mul, {group, i32(3)}), i32(2)}), 1);
        case 3:
            size = g + std::min<int64_t>(g * 70 % 255, 90);
            return make_op(
                Op::add, {group, make_op(Op::min, {make_op(Op::rem, {make_op(Op::mul, {group, i32(70)}), i32(255)}), i32(90)})});
        case 4: size = g + 2; return make_op(Op::sub, {group, make_op(Op::div, {i32(-5), i32(2)})});
        case 5: size = g * 2; return make_op(Op::shl, {group, i32(1)});
        case 6:  // the smallest int divided by -1 is itself
            size = g + 3;
            return plus(make_op(Op::add, {group, make_op(Op::max, {make_op(Op::div, {i32(INT32_MIN), i32(-1)}), i32(1)})}), 2);
        default: size = std::max<int64_t>(g, 5); return make_op(Op::max, {group, i32(5)});
    }
}

void Maker::choose_local() {
    Memory m;
    m.kind = Memory::local;
    m.type = type_of(any_scalar());
    int64_t size = 1;
    for (const int64_t g : program.shape.group) size *= g;
    if (chance(2)) {
        m.sized = true;
        m.size = local_size(size);
    }
    m.extents = {size};
    program.memories.push_back(m);
}

void Maker::choose_variables() {
    for (const Scalar t : scalars)
        program.variables.insert(program.variables.end(), t == Scalar::boolean ? 1 : 1 + roll(3), type_of(t));
    const std::vector<int> all = composites();
    if (all.empty()) return;
    for (size_t n = roll(3); n > 0; --n) {
        const int type = all[roll(all.size())];
        program.variables.push_back(type);
        program.variables.push_back(type);
        // A matrix that fits the vectors.
        static const std::pair<int, int> turns[] = {{12, 20}, {13, 21}, {15, 22}};
        for (const auto& [vector, matrix] : turns)
            if (type == vector) program.variables.push_back(matrix);
    }
}

void Maker::choose_functions() {
    if (!has(Part::functions)) return;
    in_function = true;
    for (size_t n = roll(4); n > 0; --n) {
        FunctionTree f;
        Scalar t = any_scalar();
        while (t == Scalar::boolean) t = any_scalar();
        f.type = type_of(t);
        f.variables = {f.type, f.type, type_of(Scalar::i32), f.type, type_of(any_scalar()), type_of(any_scalar())};
        pool = &f.variables;
        uniform = false;
        left = 5;
        f.body = block(2, 4);
        f.result = value(t, 2);
        program.functions.push_back(f);
        ++functions;
    }
    in_function = false;
    uniform = true;
}

void Maker::choose_steps() {
    std::vector<Step>& steps = program.steps;
    const bool streams = has(Part::calls) && chance(4);
    const auto add = [&](Step::Kind kind) {
        Step s;
        s.kind = kind;
        s.on_stream = streams;
        steps.push_back(s);
    };
    const auto between = [&] {
        if (!streams) return;
        add(Step::call);
        steps.back().memory = any_memory(Memory::parameter, Memory::owned);
        steps.back().reads = has(Part::call_reads) && chance(2);
    };
    const bool twins = has(Part::twins) && !grouped && chance(4);
    if (twins && chance(2)) add(Step::twin), between();
    add(Step::launch);
    between();
    if (twins)
        add(Step::twin);
    else if (chance(4))
        add(Step::launch);
}

int Maker::any_memory(Memory::Kind kind, Memory::Use use) {
    std::vector<int> all;
    for (size_t m = 0; m < program.memories.size(); ++m)
        if (program.memories[m].kind == kind && (kind != Memory::parameter || program.memories[m].use == use))
            all.push_back(int(m));
    return all.empty() ? -1 : all[roll(all.size())];
}

}  // namespace fuzz
