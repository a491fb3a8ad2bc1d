// Random typed kernels: straight-line code, variables, branches and bounded loops, on the device against the interpreter. A
// failure prints its seed; PUMICE_FUZZ_SEED=n runs that one kernel, PUMICE_FUZZ_COUNT=n so many.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "core/ops.h"

using namespace pumice;

namespace {

/// Ops whose results are exact on every device in strict mode, or defined bit for bit.
const std::vector<ir::Op>& exact_ops() {
    static const std::vector<ir::Op> ops = [] {
        std::vector<ir::Op> found;
        for (int n = 0; n < ir::scalar_op_count; ++n) {
            const ir::Op op = ir::Op(n);
            const OpRow& row = pumice::row(op);
            const bool inexact = row.ulps != 0 || row.absolute != 0;
            // Division and square root round exactly under strict mathematics. What tells -0.0 from 0.0 is left out: the sign of
            // min(-0.0, 0.0) is the device's choice.
            if (inexact && op != ir::Op::div && op != ir::Op::sqrt) continue;
            if (op == ir::Op::copysign || op == ir::Op::signbit || op == ir::Op::nextafter || op == ir::Op::rsqrt) continue;
            found.push_back(op);
        }
        return found;
    }();
    return ops;
}

class Generator {
public:
    explicit Generator(uint64_t seed) : random(seed), b(k) {
        k.name = text("fuzz_", seed);
        k.files = {"fuzz"};
        k.math = ir::Math::strict;
        k.rank = 1;
    }

    ir::Kernel make() {
        const ir::MemoryId out_f = array(Scalar::f32, ir::Access::out), out_i = array(Scalar::i32, ir::Access::out);
        const ir::MemoryId in_f = array(Scalar::f32, ir::Access::in), in_i = array(Scalar::i32, ir::Access::in), in_u = array(Scalar::u32, ir::Access::in);
        b.enter(b.new_block());
        const ir::Value i = b.index(ir::Op::global_index, 0);
        add(i);
        add(b.load(in_f, 0, {&i, 1}));
        add(b.load(in_i, 0, {&i, 1}));
        add(b.load(in_u, 0, {&i, 1}));
        for (const Scalar t : {Scalar::f32, Scalar::i32, Scalar::u32, Scalar::boolean})
            for (int n = 0; n < 2; ++n) variables.push_back(b.var(pick(t)));
        block(3);
        // Everything that may differ flows into the outputs.
        for (const ir::Value v : std::vector<ir::Value>(variables)) add(b.get(v));
        ir::Value f = pick(Scalar::f32), n = pick(Scalar::i32);
        for (const ir::Value v : values) {
            const Scalar t = k.type_of(v);
            if (t == Scalar::f32) f = tamed(b.op(ir::Op::add, {b.op(ir::Op::mul, {f, b.constant_float(t, 0.5)}), v}));
            else n = b.op(ir::Op::xor_, {b.op(ir::Op::mul, {n, b.constant_int(Scalar::i32, 31)}), b.cast(Scalar::i32, v)});
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

    void add(ir::Value v) { values.push_back(v); }

    ir::Value pick(Scalar t) {
        std::vector<ir::Value> of_type;
        for (const ir::Value v : values)
            if (k.type_of(v) == t) of_type.push_back(v);
        if (!of_type.empty() && roll(4) != 0) return of_type[roll(of_type.size())];
        switch (t) {
            case Scalar::f32: return b.constant_float(t, double(int(roll(129)) - 64) / 8);
            case Scalar::boolean: return b.constant_bool(roll(2));
            default: return b.constant_int(t, roll(5) == 0 ? int64_t(int32_t(random())) : int64_t(roll(41)) - 8);
        }
    }

    /// Keeps floats far from overflow, NaN and denormals, where devices may differ even in strict mode.
    ir::Value tamed(ir::Value v) {
        const ir::Value size = b.op(ir::Op::abs, {v});
        const ir::Value good = b.op(ir::Op::and_, {b.op(ir::Op::ge, {size, b.constant_float(Scalar::f32, 1e-9)}),
                                                   b.op(ir::Op::le, {size, b.constant_float(Scalar::f32, 1e9)})});
        return b.select(good, v, b.constant_float(Scalar::f32, 1.5));
    }

    ir::Value operation() {
        const ir::Op op = exact_ops()[roll(exact_ops().size())];
        const OpRow& row = pumice::row(op);
        const Scalar types[] = {Scalar::f32, Scalar::i32, Scalar::u32, Scalar::boolean};
        Scalar t = types[roll(4)];
        while (!accepts(op, t)) t = types[roll(4)];
        std::vector<ir::Value> operands;
        for (int n = 0; n < row.arity; ++n) operands.push_back(pick(operand_type(op, n, t)));
        const ir::Value r = b.op(op, operands);
        return k.type_of(r) == Scalar::f32 ? tamed(r) : r;
    }

    void block(int depth) {
        const size_t kept = values.size();
        const int statements = 2 + int(roll(6));
        for (int s = 0; s < statements; ++s) {
            switch (roll(depth > 0 ? 10 : 6)) {
                case 0: case 1: case 2: add(operation()); break;
                case 3: {
                    const Scalar t = k.type_of(values[roll(values.size())]);
                    add(b.select(pick(Scalar::boolean), pick(t), pick(t)));
                    break;
                }
                case 4: {
                    const ir::Value v = variables[roll(variables.size())];
                    b.set(v, pick(k.type_of(v)));
                    break;
                }
                case 5: add(b.get(variables[roll(variables.size())])); break;
                case 6: case 7: case 8: branch(depth - 1); break;
                default: loop(depth - 1); break;
            }
        }
        values.resize(kept);  // what the block computed is not seen outside
    }

    void branch(int depth) {
        const ir::Value condition = pick(Scalar::boolean);
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
        const ir::Value from = b.constant_int(Scalar::i32, int64_t(roll(5)) - 2), to = b.op(ir::Op::and_, {pick(Scalar::i32), b.constant_int(Scalar::i32, 3)});
        const ir::Value operands[] = {from, to, b.constant_int(Scalar::i32, 1 + int64_t(roll(2)))};
        const Scalar i32 = Scalar::i32;
        const ir::BlockId body = b.new_block({&i32, 1});
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

    std::mt19937_64 random;
    ir::Kernel k;
    ir::Builder b;
    std::vector<ir::Value> values, variables;
    int loops = 0;
};

struct Outputs {
    std::vector<float> f;
    std::vector<int> i;
};

Outputs run(const Device& device, const AnyKernel& kernel, uint64_t seed) {
    const int n = 97;
    std::mt19937_64 random(seed + 1);
    std::vector<float> f(n);
    std::vector<int> i(n);
    std::vector<uint32_t> u(n);
    for (int s = 0; s < n; ++s) {
        f[s] = float(int(random() % 2001) - 1000) / 16;
        i[s] = s % 3 ? int(random() % 101) - 50 : int(random());
        u[s] = s % 3 ? uint32_t(random() % 70) : uint32_t(random());
    }
    Array<float> out_f = device.zeros<float>(n), in_f = device.upload(f);
    Array<int> out_i = device.zeros<int>(n), in_i = device.upload(i);
    Array<uint32_t> in_u = device.upload(u);
    kernel(ndrange(n), out_f, out_i, in_f, in_i, in_u);
    return {out_f.download(), out_i.download()};
}

void check_seed(uint64_t seed) {
    SCOPED_TRACE(text("PUMICE_FUZZ_SEED=", seed));
    auto kernel = std::make_shared<ir::Kernel>(Generator(seed).make());
    ASSERT_EQ(ir::verify(*kernel), "");
    const AnyKernel any(kernel);
    EXPECT_EQ(parse_ir(any.ir()).ir(), any.ir());
    const Outputs want = run(Device::open("interp"), any, seed), got = run(Device::open(), any, seed);
    for (size_t s = 0; s < want.f.size(); ++s) {
        ASSERT_TRUE(want.f[s] == got.f[s] || (std::isnan(want.f[s]) && std::isnan(got.f[s])))
            << "item " << s << ": " << got.f[s] << ", and the interpreter " << want.f[s] << "\n" << any.ir();
        ASSERT_EQ(want.i[s], got.i[s]) << "item " << s << "\n" << any.ir();
    }
}

TEST(Fuzz, DevicesAgreeWithTheInterpreter) {
    if (const char* seed = std::getenv("PUMICE_FUZZ_SEED")) return check_seed(std::strtoull(seed, nullptr, 10));
    const char* count = std::getenv("PUMICE_FUZZ_COUNT");
    const uint64_t n = count ? std::strtoull(count, nullptr, 10) : 150;
    for (uint64_t seed = 1; seed <= n && !testing::Test::HasFailure(); ++seed) check_seed(seed);
}

}  // namespace
