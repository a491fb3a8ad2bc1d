// Random kernels of every type that the device has: straight-line code, variables, branches, bounded loops, casts, private
// memory, local memory with barriers, commutative atomics, and images; on the device against the interpreter. A failure prints
// its seed and the shortest kernel of that seed that fails. PUMICE_FUZZ_SEED=n runs seed n alone, PUMICE_FUZZ_COUNT=n runs n
// seeds.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <cmath>
#include <random>

#include "core/ir/ops.h"
#include "tests/fuzz/random_images.h"
#include "tests/fuzz/seeds.h"
#include "tests/kept_device.h"

using namespace pumice;
using namespace pumice::internal;

namespace {

/// Ops whose results are exact on every device under strict maths, or defined bit for bit.
const std::vector<ir::Op>& exact_ops() {
    static const std::vector<ir::Op> ops = [] {
        std::vector<ir::Op> found;
        for (int n = 0; n < ir::scalar_op_count; ++n) {
            const ir::Op op = ir::Op(n);
            const OpRow& row = pumice::internal::row(op);
            const bool inexact = row.ulps != 0 || row.absolute != 0;
            // Division and square root round exactly under strict maths. Ops that tell -0.0 from 0.0 are left out: a device
            // chooses the sign of min(-0.0, 0.0).
            if (inexact && op != ir::Op::div && op != ir::Op::sqrt) continue;
            if (op == ir::Op::copysign || op == ir::Op::signbit || op == ir::Op::nextafter || op == ir::Op::rsqrt) continue;
            found.push_back(op);
        }
        return found;
    }();
    return ops;
}

constexpr int items = 96, group = 32, slots = 8;

/// The types that a kernel of this device may use.
std::vector<Scalar> types_of(const Device& device) {
    std::vector<Scalar> types{Scalar::f32, Scalar::i32, Scalar::u32, Scalar::boolean};
    const auto add = [&](Feature feature, std::initializer_list<Scalar> more) {
        if (device.supports(feature)) types.insert(types.end(), more);
    };
    add(Feature::int8, {Scalar::i8, Scalar::u8});
    add(Feature::int16, {Scalar::i16, Scalar::u16});
    add(Feature::int64, {Scalar::i64, Scalar::u64});
    add(Feature::float16, {Scalar::f16});
    add(Feature::float64, {Scalar::f64});
    types.push_back(Scalar::bf16);
    return types;
}

/// Makes one kernel of a seed. `budget` is the number of statements: a smaller budget gives a shorter kernel with the same start.
class Generator {
public:
    Generator(uint64_t seed, std::vector<Scalar> of, int budget)
        : random(seed), types(std::move(of)), budget(budget), b(k), images(seed) {
        k.name = text("fuzz_", seed);
        k.files = {"fuzz"};
        k.math = ir::Math::strict;
        k.rank = 1;
        k.whole_groups = true;  // every slot of local memory has an item that writes it
    }

    ir::Kernel make() {
        const ir::MemoryId out_f = array(Scalar::f32, ir::Access::out), out_i = array(Scalar::i32, ir::Access::out);
        const ir::MemoryId in_f = array(Scalar::f32, ir::Access::in), in_i = array(Scalar::i32, ir::Access::in),
                           in_u = array(Scalar::u32, ir::Access::in);
        const ir::MemoryId sums = array(Scalar::i32, ir::Access::inout);
        if (images.used) {
            texture = image(images.texture_parameter(), ir::Access::in);
            own = image(images.own_parameter(), ir::Access::inout);
        }
        b.enter(b.new_block());
        const ir::Value i = item = b.index(ir::Op::global_index, 0);
        add(i);
        add(b.load(in_f, 0, {&i, 1}));
        add(b.load(in_i, 0, {&i, 1}));
        add(b.load(in_u, 0, {&i, 1}));
        for (const Scalar t : types)
            for (int n = 0; n < 2; ++n) variables.push_back(b.var(pick(t)));
        for (int phase = 0; phase < 4; ++phase) {
            block(3);
            switch (roll(5)) {
                case 0: exchange(); break;
                case 1: counted(); break;
                case 2: uniform_loop(); break;
                case 3: fill_table(); break;
                default: break;
            }
        }
        const ir::Value slot = b.op(ir::Op::and_, {pick(Scalar::i32), b.constant_int(Scalar::i32, slots - 1)});
        b.atomic(sums, 0, commuting[roll(std::size(commuting))], {&slot, 1}, pick(Scalar::i32));
        // All values that may differ flow into the outputs.
        for (const ir::Value v : std::vector<ir::Value>(variables)) add(b.get(v));
        ir::Value f = pick(Scalar::f32), n = pick(Scalar::i32);
        for (const ir::Value v : values) {
            const Scalar t = k.type_of(v);
            const ir::Value half = b.constant_float(Scalar::f32, 0.5);
            if (is_float(t))
                f = tamed(b.op(ir::Op::add, {b.op(ir::Op::mul, {f, half}), b.cast(Scalar::f32, v)}));
            else
                n = b.op(ir::Op::xor_, {b.op(ir::Op::mul, {n, b.constant_int(Scalar::i32, 31)}), b.cast(Scalar::i32, v)});
        }
        b.store(out_f, 0, {&i, 1}, f);
        b.store(out_i, 0, {&i, 1}, n);
        b.terminate(ir::Op::return_);
        b.leave();
        return std::move(k);
    }

private:
    uint64_t roll(uint64_t n) { return random() % n; }

    ir::MemoryId array(Scalar t, ir::Access access) {
        ir::Memory m;
        m.name = text("arg", k.params.size() + 1);
        m.element = Element::of(t);
        m.access = access;
        m.argument = int(k.params.size());
        k.memories.push_back(m);
        k.params.push_back({true, t, {uint32_t(k.memories.size() - 1)}});
        return k.params.back().memory;
    }

    ir::MemoryId memory(ir::MemoryKind kind, Scalar t, int64_t size) {
        ir::Memory m;
        m.kind = kind;
        m.name = text(kind == ir::MemoryKind::local ? "local" : "private", ++memories);
        m.element = Element::of(t);
        m.extents = {size};
        k.memories.push_back(m);
        return {uint32_t(k.memories.size() - 1)};
    }

    ir::MemoryId image(ir::Memory m, ir::Access access) {
        m.name = text("arg", k.params.size() + 1);
        m.access = access;
        m.argument = int(k.params.size());
        k.memories.push_back(m);
        k.params.push_back({true, m.element.leaves[0].type, {uint32_t(k.memories.size() - 1)}});
        return k.params.back().memory;
    }

    void add(ir::Value v) { values.push_back(v); }

    ir::Value i32(int64_t value) { return b.constant_int(Scalar::i32, value); }
    Scalar any_type() { return types[roll(types.size())]; }

    /// Every item writes its slot and reads another's, in code that all items of the group run.
    void exchange() {
        const Scalar t = any_type();
        const ir::MemoryId m = memory(ir::MemoryKind::local, t, group);
        const ir::Value own = b.index(ir::Op::local_index, 0);
        // A permutation of the slots, as that of a butterfly or of turned fours.
        const ir::Value bits = i32(int64_t(roll(group))), low = i32(int64_t(group >> roll(5)) - 1);
        const ir::Value turned = b.op(ir::Op::and_, {b.op(ir::Op::add, {own, bits}), low});
        const ir::Value rest = b.op(ir::Op::sub, {own, b.op(ir::Op::and_, {own, low})});
        const ir::Value slot = roll(2) ? own : roll(2) ? b.op(ir::Op::xor_, {own, bits}) : b.op(ir::Op::add, {rest, turned});
        b.store(m, 0, {&slot, 1}, pick(t));
        b.barrier();
        const ir::Value other = b.op(ir::Op::and_, {roll(2) ? pick(Scalar::i32) : of_index(), i32(group - 1)});
        const ir::Value read = b.load(m, 0, {&other, 1});
        b.barrier();
        for (const ir::Value v : variables)
            if (k.type_of(v) == t) b.set(v, read);
    }

    /// A table in local memory, of one row or two: it is written whole, and read anywhere in what follows.
    void fill_table() {
        const int64_t rows = 1 + int64_t(roll(2)), columns = 1 + int64_t(roll(uint64_t(group / rows)));
        const Scalar t = any_type();
        const ir::MemoryId m = memory(ir::MemoryKind::local, t, columns);
        if (rows > 1) k.memories.back().extents = {rows, columns}, k.memories.back().rank = 2;
        const ir::Value at = b.index(ir::Op::local_index, 0), first = pick(t);
        const ir::Value inside = b.op(ir::Op::lt, {at, i32(rows * columns)});
        const ir::BlockId arms[] = {b.new_block(), b.new_block()};
        for (const ir::BlockId arm : arms) {
            b.enter(arm);
            if (arm == arms[0]) b.store(m, 0, place_in({m, rows, columns}, at, at), first);
            b.terminate(ir::Op::yield);
            b.leave();
        }
        b.control(ir::Op::if_, {&inside, 1}, {arms[0], arms[1]});
        b.barrier();
        tables.push_back({m, rows, columns});
    }

    struct Table {
        ir::MemoryId memory;
        int64_t rows, columns;
    };
    /// The place of slot `at` in a table; the row may be that of another slot.
    std::vector<ir::Value> place_in(const Table& t, ir::Value row_of, ir::Value at) {
        const ir::Value column = b.op(ir::Op::rem, {at, i32(t.columns)});
        if (t.rows == 1) return {column};
        return {b.op(ir::Op::rem, {b.op(ir::Op::div, {row_of, i32(t.columns)}), i32(t.rows)}), column};
    }

    /// An element of a table: by an index that is clamped, or the remainder of one, in a row that all items share or not.
    ir::Value look_up() {
        const Table& t = tables[roll(tables.size())];
        const ir::Value any = b.op(ir::Op::and_, {roll(2) ? pick(Scalar::i32) : of_index(), i32(0xffff)});
        if (roll(2) == 0) return b.load(t.memory, 0, place_in(t, roll(2) ? any : i32(int64_t(roll(64))), any));
        const ir::Value own = b.op(ir::Op::sub, {b.index(ir::Op::local_index, 0), i32(int64_t(roll(20)))});
        const ir::Value clamped = b.op(ir::Op::min, {b.op(ir::Op::max, {own, i32(0)}), i32(t.columns - 1)});
        return b.load(t.memory, 0, place_in(t, i32(int64_t(roll(64))), clamped));
    }

    /// A chain of divisions and bit operations on an index of the item: packets may share what it gives.
    ir::Value of_index() {
        const ir::Value own = b.index(roll(2) ? ir::Op::local_index : ir::Op::global_index, 0);
        ir::Value v = own;
        for (uint64_t n = 1 + roll(3); n > 0; --n) {
            constexpr ir::Op ops[] = {ir::Op::div, ir::Op::rem, ir::Op::and_, ir::Op::or_, ir::Op::xor_,
                                      ir::Op::shr, ir::Op::mul, ir::Op::add,  ir::Op::sub};
            constexpr int64_t numbers[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 24, 31, 32};
            const ir::Op op = ops[roll(std::size(ops))];
            const bool sums = op == ir::Op::add || op == ir::Op::sub;
            v = b.op(op, {v, op == ir::Op::shr ? i32(int64_t(roll(5)))
                             : sums && roll(2) ? own
                                               : i32(numbers[roll(std::size(numbers))])});
        }
        return v;
    }

    /// Items update slots by atomics whose result does not depend on the order.
    void counted() {
        Scalar t = any_type();
        while (t == Scalar::boolean || is_float(t) || size_of(t) == 8) t = any_type();
        const ir::MemoryId m = memory(ir::MemoryKind::local, t, group);
        const ir::Value own = b.index(ir::Op::local_index, 0);
        b.store(m, 0, {&own, 1}, b.constant_int(t, int64_t(roll(5))));
        b.barrier();
        const ir::Value slot = b.op(ir::Op::and_, {pick(Scalar::i32), i32(slots - 1)});
        b.atomic(m, 0, commuting[roll(std::size(commuting))], {&slot, 1}, pick(t));
        b.barrier();
        const ir::Value read = b.load(m, 0, {&slot, 1});
        b.barrier();
        for (const ir::Value v : variables)
            if (k.type_of(v) == t) b.set(v, read);
    }

    /// A loop with barriers, with one trip count for all items.
    void uniform_loop() {
        const ir::Value operands[] = {i32(0), i32(int64_t(roll(4))), i32(1)};
        const Scalar index = Scalar::i32;
        const ir::BlockId body = b.new_block({&index, 1});
        b.enter(body);
        const size_t kept = values.size();
        add(k[body].params[0]);
        block(1);
        if (roll(2))
            exchange();
        else
            counted();
        b.terminate(ir::Op::yield);
        b.leave();
        values.resize(kept);
        b.control(ir::Op::for_, operands, {body});
    }

    /// Private memory: it is written whole, then read anywhere.
    ir::Value kept_in_private(Scalar t) {
        const ir::MemoryId m = memory(ir::MemoryKind::private_, t, 4);
        for (int n = 0; n < 4; ++n) {
            const ir::Value at = i32(n);
            b.store(m, 0, {&at, 1}, pick(t));
        }
        const ir::Value at = b.op(ir::Op::and_, {pick(Scalar::i32), i32(3)});
        return b.load(m, 0, {&at, 1});
    }

    /// A sample or a texel of the texture, or the item's own texel, which it may also store to.
    void access_image() {
        const auto channel = [&](ir::MemoryId m) { return uint32_t(roll(k[m].element.leaves.size())); };
        if (roll(3) == 0) {
            const uint32_t leaf = channel(own);
            if (roll(2)) return b.store(own, leaf, {&item, 1}, pick(k[own].element.leaves[leaf].type));
            const ir::Value v = b.load(own, leaf, {&item, 1});
            return add(is_float(k.type_of(v)) ? tamed(v) : v);
        }
        std::vector<ir::Value> operands;
        if (images.filters() && roll(3) != 0) {
            constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
            constexpr double astray[] = {nan, infinity, -infinity, 1e30, -1e30, -0.0};
            const auto anywhere = [&] {
                return roll(12) ? pick(Scalar::f32) : b.constant_float(Scalar::f32, astray[roll(std::size(astray))]);
            };
            operands.push_back(anywhere());  // the level of detail
            for (int n = 0; n < images.shape.dimensions; ++n) {
                const ir::Value at = anywhere(), part = b.constant_float(Scalar::f32, 1.0 / 64);
                operands.push_back(roll(4) ? b.op(ir::Op::mul, {at, part}) : at);
            }
            return add(tamed(b.sample(texture, channel(texture), operands)));
        }
        const auto inside = [&](int64_t extent) {
            return b.op(ir::Op::max, {b.op(ir::Op::min, {pick(Scalar::i32), i32(extent - 1)}), i32(0)});
        };
        operands.push_back(inside(images.shape.levels));
        for (int axis = images.shape.dimensions - 1; axis >= 0; --axis)
            operands.push_back(inside(images.shape.extent(axis, images.shape.levels - 1)));
        const ir::Value v = b.load(texture, channel(texture), operands);
        add(is_float(k.type_of(v)) ? tamed(v) : v);
    }

    ir::Value pick(Scalar t) {
        std::vector<ir::Value> of_type;
        for (const ir::Value v : values)
            if (k.type_of(v) == t) of_type.push_back(v);
        if (!of_type.empty() && roll(4) != 0) return of_type[roll(of_type.size())];
        switch (t) {
            case Scalar::f16:
            case Scalar::f32:
            case Scalar::f64:
            case Scalar::bf16: return b.constant_float(t, double(int(roll(129)) - 64) / 8);
            case Scalar::boolean: return b.constant_bool(roll(2));
            default: return b.constant_int(t, roll(5) == 0 ? int64_t(random()) : int64_t(roll(41)) - 8);
        }
    }

    /// Keeps floats far from overflow, NaN and denormals, where devices may differ even in strict mode.
    ir::Value tamed(ir::Value v) {
        const Scalar t = k.type_of(v);
        const ir::Value size = b.op(ir::Op::abs, {v});
        const double largest = t == Scalar::f16 ? 1024 : 1e9;
        const ir::Value good = b.op(ir::Op::and_, {b.op(ir::Op::ge, {size, b.constant_float(t, 1 / largest)}),
                                                   b.op(ir::Op::le, {size, b.constant_float(t, largest)})});
        return b.select(good, v, b.constant_float(t, 1.5));
    }

    ir::Value operation() {
        const ir::Op op = exact_ops()[roll(exact_ops().size())];
        const OpRow& row = pumice::internal::row(op);
        Scalar t = any_type();
        while (!accepts(op, t)) t = any_type();
        std::vector<ir::Value> operands;
        for (int n = 0; n < row.arity; ++n) operands.push_back(pick(operand_type(op, n, t)));
        if (op == ir::Op::ldexp && roll(2)) return scaled(operands[0]);
        const ir::Value r = b.op(op, operands);
        return is_float(k.type_of(r)) ? tamed(r) : r;
    }

    /// ldexp by constants: from a number far from 1, by a step that is no power of two of the type, and back.
    ir::Value scaled(ir::Value v) {
        const Scalar t = k.type_of(v);
        v = tamed(v);
        if (t == Scalar::f16) return tamed(b.op(ir::Op::ldexp, {v, i32(int(roll(9)) - 4)}));
        const int away = t == Scalar::f64 ? 896 : 88, step = t == Scalar::f64 ? 1200 : 160, back = step - away - 3 + int(roll(7));
        const bool up = roll(2);
        const auto by = [&](ir::Value n, bool more) { return more ? n : b.op(ir::Op::sub, {i32(0), n}); };
        const ir::Value some = b.op(ir::Op::add, {b.op(ir::Op::and_, {pick(Scalar::i32), i32(7)}), i32(away)});
        v = b.op(ir::Op::ldexp, {v, by(some, up)});
        v = b.op(ir::Op::ldexp, {v, i32(up ? -step : step)});
        return tamed(b.op(ir::Op::ldexp, {v, i32(up ? back : -back)}));
    }

    ir::Value conversion() {
        const ir::Value r = b.cast(any_type(), pick(any_type()));
        return is_float(k.type_of(r)) ? tamed(r) : r;
    }

    void block(int depth) {
        const size_t kept = values.size();
        const int statements = 2 + int(roll(6));
        for (int s = 0; s < statements && budget > 0; ++s, --budget) {
            if (images.used && roll(4) == 0) {
                access_image();
                continue;
            }
            if (!tables.empty() && roll(5) == 0) {
                add(look_up());
                continue;
            }
            switch (roll(depth > 0 ? 10 : 6)) {
                case 0:
                case 1: add(operation()); break;
                case 2: add(roll(3) ? conversion() : roll(4) ? operation() : kept_in_private(any_type())); break;
                case 3: {
                    const Scalar t = k.type_of(values[roll(values.size())]);
                    add(b.select(roll(3) ? pick(Scalar::boolean) : in_stretch(), pick(t), pick(t)));
                    break;
                }
                case 4: {
                    const ir::Value v = variables[roll(variables.size())];
                    b.set(v, pick(k.type_of(v)));
                    break;
                }
                case 5: add(b.get(variables[roll(variables.size())])); break;
                case 6:
                case 7:
                case 8: branch(depth - 1); break;
                default: loop(depth - 1); break;
            }
        }
        values.resize(kept);  // values of the block are not visible outside
    }

    /// A comparison of the item's index with a number, or two of them: it holds for the items of a stretch.
    ir::Value in_stretch() {
        const ir::Value own = b.index(roll(2) ? ir::Op::local_index : ir::Op::global_index, 0);
        const auto compared = [&](ir::Op how) {
            const ir::Value x = roll(2)   ? own
                                : roll(2) ? b.op(ir::Op::sub, {own, i32(int64_t(roll(20)))})
                                          : b.op(ir::Op::add, {own, of_index()});
            return b.op(how, {x, roll(3) ? i32(int64_t(roll(40)) - 4) : of_index()});
        };
        const ir::Value from = compared(roll(2) ? ir::Op::ge : ir::Op::gt), to = compared(roll(2) ? ir::Op::le : ir::Op::lt);
        return roll(3) == 0 ? from : roll(2) ? to : b.op(ir::Op::and_, {from, to});
    }

    void branch(int depth) {
        const ir::Value condition = roll(4) ? pick(Scalar::boolean) : in_stretch();
        const ir::BlockId arms[] = {b.new_block(), b.new_block()};
        for (const ir::BlockId arm : arms) {
            b.enter(arm);
            block(depth);
            const uint64_t how = loops > 0 ? roll(6) : 9;
            b.terminate(how == 0 ? ir::Op::break_ : how == 1 ? ir::Op::continue_ : ir::Op::yield);
            b.leave();
        }
        b.control(ir::Op::if_, {&condition, 1}, {arms[0], arms[1]});
    }

    void loop(int depth) {
        const ir::Value from = b.constant_int(Scalar::i32, int64_t(roll(5)) - 2),
                        to = b.op(ir::Op::and_, {pick(Scalar::i32), b.constant_int(Scalar::i32, 3)});
        const ir::Value operands[] = {from, to, b.constant_int(Scalar::i32, 1 + int64_t(roll(2)))};
        const Scalar index = Scalar::i32;
        const ir::BlockId body = b.new_block({&index, 1});
        b.enter(body);
        const size_t kept = values.size();
        add(k[body].params[0]);
        ++loops;
        block(depth);
        --loops;
        b.terminate(ir::Op::yield);
        b.leave();
        values.resize(kept);
        b.control(ir::Op::for_, operands, {body});
    }

    static constexpr ir::Atomic commuting[] = {ir::Atomic::add,  ir::Atomic::min, ir::Atomic::max,
                                               ir::Atomic::and_, ir::Atomic::or_, ir::Atomic::xor_};

    std::mt19937_64 random;
    const std::vector<Scalar> types;
    int budget;
    ir::Kernel k;
    ir::Builder b;
    std::vector<ir::Value> values, variables;
    std::vector<Table> tables;
    int loops = 0, memories = 0;
    const fuzz::RandomImages images;
    ir::MemoryId texture, own;
    ir::Value item;
};

struct Outputs {
    std::vector<float> f;
    std::vector<int> i, sums;
    std::vector<uint32_t> texels;
};

Outputs run(const Device& device, const AnyKernel& kernel, uint64_t seed) {
    std::mt19937_64 random(seed + 1);
    std::vector<float> f(items);
    std::vector<int> i(items);
    std::vector<uint32_t> u(items);
    for (size_t s = 0; s < items; ++s) {
        f[s] = float(int(random() % 2001) - 1000) / 16;
        i[s] = s % 3 ? int(random() % 101) - 50 : int(random());
        u[s] = s % 3 ? uint32_t(random() % 70) : uint32_t(random());
    }
    Array<float> out_f = device.zeros<float>(items), in_f = device.upload(f);
    Array<int> out_i = device.zeros<int>(items), in_i = device.upload(i), sums = device.full<int>(slots, 3);
    Array<uint32_t> in_u = device.upload(u);
    const Range range = ndrange(items).group(group);
    const fuzz::RandomImages images(seed);
    if (!images.used) {
        kernel(range, out_f, out_i, in_f, in_i, in_u, sums);
        return {out_f.download(), out_i.download(), sums.download(), {}};
    }
    const auto texture = images.make_texture(device), own = images.make_own(device, items);
    const auto arrays = detail::host_arguments(out_f, out_i, in_f, in_i, in_u, sums);
    std::vector<detail::HostArgument> all(arrays.begin(), arrays.end());
    all.push_back(fuzz::RandomImages::argument(texture));
    all.push_back(fuzz::RandomImages::argument(own));
    kernel.launch(range, all);
    return {out_f.download(), out_i.download(), sums.download(), fuzz::RandomImages::channels_of(own)};
}

/// The first difference between the device and the interpreter; "" if they agree.
std::string difference(uint64_t seed, const std::vector<Scalar>& types, int budget) {
    auto kernel = std::make_shared<ir::Kernel>(Generator(seed, types, budget).make());
    if (const std::string broken = ir::verify(*kernel); !broken.empty()) return broken;
    const AnyKernel any(kernel);
    if (parse_ir(any.ir()).ir() != any.ir()) return "the text reads back as another kernel\n" + any.ir();
    const Outputs want = run(Device::open("interp"), any, seed), got = run(kept_device->get(), any, seed);
    for (size_t s = 0; s < items; ++s) {
        if (want.f[s] != got.f[s] && !(std::isnan(want.f[s]) && std::isnan(got.f[s])))
            return text("item ", s, ": ", got.f[s], ", and the interpreter ", want.f[s], "\n", any.ir());
        if (want.i[s] != got.i[s]) return text("item ", s, ": ", got.i[s], ", and the interpreter ", want.i[s], "\n", any.ir());
    }
    for (size_t s = 0; s < slots; ++s)
        if (want.sums[s] != got.sums[s])
            return text("sum ", s, ": ", got.sums[s], ", and the interpreter ", want.sums[s], "\n", any.ir());
    if (want.texels != got.texels) return text("texels differ: ", fuzz::RandomImages(seed).text(), "\n", any.ir());
    return "";
}

void check_seed(uint64_t seed) {
    static int kernels = 0;
    if (++kernels % 64 == 0) kept_device->close();  // the caches for its kernels would take all memory
    // A few types in each kernel, so that values of one type are combined.
    std::vector<Scalar> all = types_of(kept_device->get()), types(all.begin(), all.begin() + 4);
    for (size_t n = 0; n < 2 && all.size() > 4; ++n) types.push_back(all[4 + (seed * 2 + n) % (all.size() - 4)]);
    constexpr int most = 60;
    std::string found = difference(seed, types, most);
    if (found.empty()) return;
    for (int budget = 0; budget < most; ++budget)
        if (const std::string shorter = difference(seed, types, budget); !shorter.empty()) {
            found = shorter;
            break;
        }
    ADD_FAILURE() << "PUMICE_FUZZ_SEED=" << seed << " on " << kept_device->get().name() << ": " << found;
}

TEST(Fuzz, DevicesAgreeWithTheInterpreter) { fuzz::each_seed(150, check_seed); }

}  // namespace
