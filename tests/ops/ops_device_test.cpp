// Every scalar op on the device, from the rows of ops.def: each row, for each operand type the device suite knows, becomes a
// kernel; its results on sampled and special operands are compared with the row's host column.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "tests/kept_device.h"

using namespace pumice;
using namespace pumice::internal;

namespace {

constexpr int samples = 2000;

/// Memory holds no bools: a bool operand is stored as i32 and compared with zero; a bool result is cast.
Scalar stored(Scalar t) { return t == Scalar::boolean ? Scalar::i32 : t; }

AnyKernel op_kernel(ir::Op op, Scalar operand) {
    const OpRow& row = pumice::internal::row(op);
    auto k = std::make_shared<ir::Kernel>();
    k->name = text("op_", row.name, "_", name_of(operand));
    k->files = {"ops.def"};
    k->math = ir::Math::strict;
    k->rank = 1;
    const auto array = [&](Scalar t, ir::Access access) {
        ir::Memory m;
        m.name = text("arg", k->params.size() + 1);
        m.element = Element::of(stored(t));
        m.access = access;
        m.argument = int(k->params.size());
        k->memories.push_back(m);
        k->params.push_back({true, stored(t), {uint32_t(k->memories.size() - 1)}});
        return k->params.back().memory;
    };
    const Scalar result = ir::result_type(op, operand);
    const ir::MemoryId out = array(result, ir::Access::out);
    ir::Builder b(*k);
    b.enter(b.new_block());
    const ir::Value i = b.index(ir::Op::global_index, 0);
    std::vector<ir::Value> operands;
    for (int n = 0; n < row.arity; ++n) {
        const Scalar t = row.types == TypeClass::F_I && n == 1 ? Scalar::i32 : operand;
        operands.push_back(b.cast(t, b.load(array(t, ir::Access::in), 0, {&i, 1})));
    }
    const ir::Value r = b.cast(stored(result), b.op(op, operands));
    b.store(out, 0, {&i, 1}, r);
    b.terminate(ir::Op::return_);
    b.leave();
    EXPECT_EQ(ir::verify(*k), "");
    return AnyKernel(k);
}

/// Operand n of every sample: first all combinations of special values, then draws from the row's domain.
std::vector<uint64_t> operand_samples(const OpRow& row, int n, Scalar type, std::mt19937_64& random) {
    std::vector<double> special_floats{0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, 3.0, INFINITY, -INFINITY, NAN};
    std::vector<int64_t> special_ints{0, 1, -1, 2, 7, -7, 31, 32, 40, INT32_MIN, INT32_MAX, -2, 1000};
    std::vector<uint64_t> bits;
    const int specials = is_float(type) ? int(special_floats.size()) : int(special_ints.size());
    for (int s = 0; s < samples; ++s) {
        int combination = s;
        for (int m = 0; m < n; ++m) combination /= specials;
        int64_t all = 1;
        for (int m = 0; m < row.arity; ++m) all *= specials;
        const Interval domain = row.domain[n];
        if (type == Scalar::boolean)
            bits.push_back((s >> n) & 1);
        else if (s < all && is_float(type))
            bits.push_back(to_bits(float(special_floats[combination % specials])));
        else if (s < all)
            bits.push_back(to_bits(int32_t(special_ints[combination % specials])));
        else if (is_float(type))
            bits.push_back(to_bits(float(std::uniform_real_distribution<double>(domain.low, domain.high)(random))));
        else if (domain.low != domain.high && n == 1 && row.types == TypeClass::F_I)
            bits.push_back(to_bits(int32_t(std::uniform_int_distribution<int>(int(domain.low), int(domain.high))(random))));
        else
            bits.push_back(uint32_t(random() >> (random() % 2 ? 32 : 58)));
    }
    return bits;
}

Array<int32_t> upload_bits(const Device& d, const std::vector<uint64_t>& bits) {
    return d.upload(std::vector<int32_t>(bits.begin(), bits.end()));
}

/// The bits as elements of the type in which the array is stored.
detail::HostArgument array_argument(const Array<int32_t>& bits, Scalar type) {
    detail::HostArgument a = detail::host_arguments(bits)[0];
    if (stored(type) == Scalar::f32) a.element = &detail::element_of<float>();
    if (stored(type) == Scalar::u32) a.element = &detail::element_of<uint32_t>();
    return a;
}

/// In the sampled domain the tolerance of the row holds. At special operands the result must be of the same kind: NaN, infinite
/// with the same sign, or finite within a multiple of the tolerance; the sign of zero is not compared.
bool agrees(const OpRow& row, Scalar type, bool special, uint64_t got_bits, uint64_t want_bits) {
    if (type != Scalar::f32) return got_bits == want_bits;
    const float got = from_bits<float>(got_bits), want = from_bits<float>(want_bits);
    if (std::isnan(want)) return std::isnan(got);
    if (got == want || std::isinf(want)) return got == want;
    const double ulp =
        std::max(std::ldexp(1.0, -149), std::fabs(double(std::nextafter(std::fabs(want), INFINITY)) - std::fabs(double(want))));
    // A device may flush a denormal result to zero: Vulkan allows it.
    if (std::fabs(want) < 1.2e-38f && got == 0) return true;
    return std::fabs(double(got) - double(want)) <= (special ? 2 : 1) * (row.ulps * ulp + row.absolute);
}

class OpOnDevice : public testing::TestWithParam<int> {};

TEST_P(OpOnDevice, AgreesWithTheHostColumn) {
    const ir::Op op = ir::Op(GetParam());
    const OpRow& row = pumice::internal::row(op);
    const Device device = kept_device->get();
    int tested = 0;
    for (const Scalar type : {Scalar::f32, Scalar::i32, Scalar::u32, Scalar::boolean}) {
        if (!accepts(op, type)) continue;
        ++tested;
        std::mt19937_64 random(uint64_t(op) * 16 + uint64_t(type));
        const AnyKernel kernel = op_kernel(op, type);
        const Scalar result = ir::result_type(op, type);
        std::vector<std::vector<uint64_t>> operands;
        std::vector<Array<int32_t>> uploaded;  // the bits of 4-byte elements of any type
        std::vector<detail::HostArgument> arguments;
        Array<int32_t> out = device.zeros<int32_t>(samples);
        const auto argument = [&](const Array<int32_t>& a, Scalar t) { arguments.push_back(array_argument(a, t)); };
        argument(out, result);
        for (int n = 0; n < row.arity; ++n) {
            const Scalar t = row.types == TypeClass::F_I && n == 1 ? Scalar::i32 : type;
            operands.push_back(operand_samples(row, n, t, random));
            uploaded.push_back(upload_bits(device, operands.back()));
        }
        for (int n = 0; n < row.arity; ++n) argument(uploaded[n], row.types == TypeClass::F_I && n == 1 ? Scalar::i32 : type);
        kernel.launch(ndrange(samples), arguments);
        const std::vector<int32_t> got = out.download();

        int wrong = 0;
        int64_t specials = 1;
        for (int n = 0; n < row.arity; ++n) specials *= is_float(type) && !(row.types == TypeClass::F_I && n == 1) ? 11 : 13;
        for (int s = 0; s < samples; ++s) {
            uint64_t bits[3] = {}, want = 0;
            for (int n = 0; n < row.arity; ++n) bits[n] = operands[n][s];
            ASSERT_TRUE(evaluate_scalar(op, type, bits, want));
            if (agrees(row, result, s < specials, uint32_t(got[s]), want) || ++wrong > 5) continue;
            std::string values;
            for (int n = 0; n < row.arity; ++n)
                values += text(n ? ", " : "", is_float(type) ? double(from_bits<float>(bits[n])) : double(int32_t(bits[n])));
            ADD_FAILURE() << row.name << "(" << values << ") as " << name_of(type) << " gives "
                          << (result == Scalar::f32 ? double(from_bits<float>(uint32_t(got[s]))) : double(got[s]))
                          << ", and the row says "
                          << (result == Scalar::f32 ? double(from_bits<float>(want)) : double(int32_t(want))) << " on "
                          << device.name();
        }
        if (wrong > 5) ADD_FAILURE() << row.name << ": " << wrong << " results in all differ";
    }
    EXPECT_GT(tested, 0);
}

INSTANTIATE_TEST_SUITE_P(Rows, OpOnDevice, testing::Range(0, ir::scalar_op_count),
                         [](const auto& info) { return std::string(ir::name_of(ir::Op(info.param))); });

/// Casts between every pair of the types, over special and random values.
TEST(CastOnDevice, EveryPair) {
    const Device device = kept_device->get();
    const Scalar types[] = {Scalar::f32, Scalar::i32, Scalar::u32, Scalar::boolean};
    for (const Scalar from : types)
        for (const Scalar to : types) {
            auto k = std::make_shared<ir::Kernel>();
            k->name = text("cast_", name_of(from), "_", name_of(to));
            k->rank = 1;
            for (const Scalar t : {to, from}) {
                ir::Memory m;
                m.name = text("arg", k->params.size() + 1);
                m.element = Element::of(stored(t));
                m.access = k->params.empty() ? ir::Access::out : ir::Access::in;
                m.argument = int(k->params.size());
                k->memories.push_back(m);
                k->params.push_back({true, stored(t), {uint32_t(k->memories.size() - 1)}});
            }
            k->files = {"cast"};
            ir::Builder b(*k);
            b.enter(b.new_block());
            const ir::Value i = b.index(ir::Op::global_index, 0);
            const ir::Value x = b.cast(from, b.load({1}, 0, {&i, 1}));
            b.store({0}, 0, {&i, 1}, b.cast(stored(to), b.cast(to, x)));
            b.terminate(ir::Op::return_);
            b.leave();

            std::vector<int32_t> bits;
            if (from == Scalar::f32)
                for (const float f : {0.0f, -0.0f, 0.5f, -0.5f, 1.9f, -1.9f, 2147483520.0f, 2147483648.0f, -2147483648.0f,
                                      -2147483904.0f, 4294967040.0f, 4294967296.0f, 1e20f, -1e20f, INFINITY, -INFINITY, NAN})
                    bits.push_back(int32_t(to_bits(f)));
            else
                for (const int64_t n : {int64_t(0), int64_t(1), int64_t(-1), int64_t(INT32_MAX), int64_t(INT32_MIN),
                                        int64_t(16777217), int64_t(-16777219)})
                    bits.push_back(int32_t(n));
            Array<int32_t> in = device.upload(bits), out = device.zeros<int32_t>(int64_t(bits.size()));
            const std::vector<detail::HostArgument> arguments{array_argument(out, to), array_argument(in, from)};
            AnyKernel(k).launch(ndrange(int64_t(bits.size())), arguments);
            const std::vector<int32_t> got = out.download();
            for (size_t s = 0; s < bits.size(); ++s) {
                const uint64_t x_bits = from == Scalar::boolean ? uint64_t(bits[s] != 0) : uint64_t(uint32_t(bits[s]));
                const uint64_t want = cast_bits(to, stored(to), cast_bits(from, to, x_bits));
                EXPECT_EQ(uint32_t(got[s]), want)
                    << name_of(from) << " to " << name_of(to) << " of bits " << bits[s] << " on " << device.name();
            }
        }
}

/// Angles over the whole range of floats, and angles near multiples of pi/2, where leading digits cancel.
TEST(OpsOnDevice, AnglesOfAnySize) {
    std::mt19937 random(3);
    std::vector<float> x{
        16367173.0f * 0x1p+72f, 13176795.0f, 0x1.921fb6p+17f, 3.4028235e38f, 1e10f, 20000.0f, 20000.002f, 1e6f, 1e7f};
    for (int s = 0; s < 4000; ++s)
        x.push_back(std::ldexp(std::uniform_real_distribution<float>(1, 2)(random), int(random() % 124) + 4));
    for (int s = 0; s < 1000; ++s) x.push_back(float(double(random()) * 1.5707963267948966));
    for (size_t s = 0; s < x.size(); s += 2) x[s] = -x[s];
    const auto k = kernel("angles", [](Out<float> sines, Out<float> cosines, Out<float> tangents, In<float> x) {
        auto i = global_index();
        sines[i] = sin(x[i]);
        cosines[i] = cos(x[i]);
        tangents[i] = tan(x[i]);
    });
    const Device device = kept_device->get();
    const int64_t n = int64_t(x.size());
    Array<float> sines = device.zeros<float>(n), cosines = device.zeros<float>(n), tangents = device.zeros<float>(n);
    k(ndrange(n), sines, cosines, tangents, device.upload(x));
    const auto s = sines.download(), c = cosines.download(), t = tangents.download();
    const auto expect = [&](const char* name, float at, float got, double want, double ulps) {
        const double ulp = std::ldexp(1.0, std::ilogb(want) - 23);
        EXPECT_LE(std::fabs(double(got) - want), ulps * ulp)
            << name << " of " << at << " is " << got << ", want " << want << " on " << device.name();
    };
    for (size_t i = 0; i < x.size(); ++i) {
        expect("sin", x[i], s[i], std::sin(double(x[i])), 3);
        expect("cos", x[i], c[i], std::cos(double(x[i])), 3);
        expect("tan", x[i], t[i], std::tan(double(x[i])), 5);
    }
}

/// Drivers fold sums, products and quotients of constant zeros, some of them wrongly.
TEST(OpsOnDevice, ConstantZeros) {
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x{1.5f, -2.0f, 0.0f, -0.0f, infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 1e-30f};
    const auto k = kernel("constant_zeros", Math::strict, [](Out<float, 2> y, In<float> x) {
        auto i = global_index();
        y(i, 0) = x[i] / 0.0f;
        y(i, 1) = x[i] / -0.0f;
        y(i, 2) = 0.0f / x[i];
        y(i, 3) = x[i] * 0.0f;
        y(i, 4) = -0.0f * x[i];
        y(i, 5) = x[i] + 0.0f;
        y(i, 6) = -0.0f + x[i];
        y(i, 7) = 0.0f - x[i];
        y(i, 8) = -0.0f - x[i];
        y(i, 9) = x[i] - 0.0f;
        y(i, 10) = x[i] - -0.0f;
        y(i, 11) = fma(x[i], Val<float>(2.0f), Val<float>(0.0f));
        y(i, 12) = fma(x[i], Val<float>(2.0f), Val<float>(-0.0f));
    });
    const Device device = kept_device->get();
    constexpr size_t cases = 13;
    Array<float, 2> y = device.zeros<float>({int64_t(x.size()), int64_t(cases)});
    k(ndrange(int64_t(x.size())), y, device.upload(x));
    const std::vector<float> got = y.download();
    for (size_t i = 0; i < x.size(); ++i) {
        const float zero = 0, want[] = {x[i] / zero,  x[i] / -zero,    zero / x[i],     x[i] * zero,  -zero * x[i],
                                        x[i] + zero,  -zero + x[i],    zero - x[i],     -zero - x[i], x[i] - zero,
                                        x[i] - -zero, 2 * x[i] + zero, 2 * x[i] + -zero};
        static_assert(std::size(want) == cases);
        for (size_t n = 0; n < cases; ++n) {
            const float is = got[cases * i + n];
            EXPECT_TRUE(std::isnan(want[n]) ? std::isnan(is) : is == want[n] && std::signbit(is) == std::signbit(want[n]))
                << "case " << n << " of " << x[i] << " is " << is << ", want " << want[n] << " on " << device.name();
        }
    }
}

}  // namespace
