// Every op of several float operands with constant operands, against the host column: drivers fold, join and reassociate
// constants, some of them wrongly. Unlike other tests of ops, this one compares signs of zeros under strict maths.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>

#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "tests/device/types.h"
#include "tests/kept_device.h"

using namespace pumice;
using namespace pumice::internal;
using suite::has_type;

namespace {

double value_of(Scalar type, uint64_t bits) {
    return with_scalar(type, [&](auto zero) { return cast_scalar<double>(from_bits<decltype(zero)>(bits)); });
}

/// The smallest normal number.
double smallest_normal(Scalar type) { return std::ldexp(1.0, type == Scalar::f16 ? -14 : type == Scalar::f64 ? -1022 : -126); }

/// Zeros, ones, infinities and NaN; `tiny` numbers, whose products are below all numbers of the type; and the ends of its range.
std::vector<uint64_t> special_floats(Scalar type, bool subnormal) {
    const double tiny = type == Scalar::f16 ? 0x1p-13 : type == Scalar::f64 ? 1e-200 : 1e-30, least = smallest_normal(type);
    const double large = type == Scalar::f16 ? 60000 : type == Scalar::f64 ? 1.7e308 : 3e38;
    std::vector<double> values{0.0, -0.0, 1, -1, 0.5, -2.5, 3, tiny, -tiny, -INFINITY, INFINITY, large, -least, NAN};
    if (subnormal) {
        const int digits = type == Scalar::f16 ? 11 : type == Scalar::bf16 ? 8 : type == Scalar::f32 ? 24 : 53;
        for (const double sign : {-1.0, 1.0}) values.push_back(sign * std::ldexp(least, 1 - digits));
    }
    std::vector<uint64_t> all;
    for (const double v : values) all.push_back(cast_bits(Scalar::f64, type, to_bits(v)));
    return all;
}

/// Exponents of ldexp: of one, two and three normal powers of two, and of none.
std::vector<uint64_t> special_exponents() {
    std::vector<uint64_t> all;
    for (const int n : {0,   1,    -3,  20,   -32,  33,   100,  -126,  -127,  127,   128,   -149,      -200,
                        200, -300, 300, 1023, 1024, 1100, 1500, -1022, -1023, -1500, -3000, INT32_MIN, INT32_MAX})
        all.push_back(to_bits(int32_t(n)));
    return all;
}

/// True if all devices give a zero the same sign under strict maths. Others are free to: min(-0.0, 0.0) is either.
bool has_signed_zeros(ir::Op op) {
    using enum ir::Op;
    constexpr ir::Op ops[] = {add, sub, mul, div, fma, copysign, nextafter, ldexp};
    return std::find(std::begin(ops), std::end(ops), op) != std::end(ops);
}

/// One result of the kernel: the operands that are constants, and their bits.
struct Case {
    bool is_constant[3] = {};
    uint64_t bits[3] = {};
};

struct Constants {
    ir::Op op;
    Scalar type;
    const OpRow& row = pumice::internal::row(op);

    Scalar type_of(int n) const { return operand_type(op, n, type); }
    std::vector<uint64_t> specials(int n) const {
        return is_float(type_of(n)) ? special_floats(type_of(n), op == ir::Op::nextafter) : special_exponents();
    }

    /// Each operand as each constant; of three operands, also each pair of them as constants that are folded most.
    std::vector<Case> cases() const {
        std::vector<Case> all;
        for (int n = 0; n < row.arity; ++n)
            for (const uint64_t bits : specials(n)) {
                Case c;
                c.is_constant[n] = true, c.bits[n] = bits;
                all.push_back(c);
            }
        if (row.arity < 3) return all;
        for (int variable = 0; variable < 3; ++variable)
            for (const double first : {0.0, -0.0, 1.0, -1.5})
                for (const double second : {0.0, -0.0, 1.0, -1.5}) {
                    Case c;
                    int constants = 0;
                    for (int n = 0; n < 3; ++n) {
                        if (n == variable) continue;
                        c.is_constant[n] = true;
                        c.bits[n] = cast_bits(Scalar::f64, type, to_bits(constants++ ? second : first));
                    }
                    all.push_back(c);
                }
        return all;
    }

    /// All combinations of special values, then draws from the row's domain.
    std::vector<std::vector<uint64_t>> samples() const {
        std::mt19937_64 random(uint64_t(op) * 16 + uint64_t(type));
        std::vector<std::vector<uint64_t>> out(static_cast<size_t>(row.arity));
        size_t all = 1, length = row.arity == 3 ? 1 : 0;
        for (int n = 0; n < row.arity; ++n) length = std::max(length, specials(n).size());
        all = length * length;
        for (size_t s = 0; s < all + 60; ++s)
            for (int n = 0; n < row.arity; ++n) {
                const std::vector<uint64_t> values = specials(n);
                const size_t chosen = n == 0 ? s % length : n == 1 ? s / length : (s + s / length) % length;
                const Interval domain = row.domain[n];
                if (s < all)
                    out[size_t(n)].push_back(values[chosen % values.size()]);
                else if (!is_float(type_of(n)))
                    out[size_t(n)].push_back(to_bits(int32_t(random() % 41) - 20));
                else
                    out[size_t(n)].push_back(cast_bits(
                        Scalar::f64, type, to_bits(std::uniform_real_distribution<double>(domain.low, domain.high)(random))));
            }
        return out;
    }

    /// Results as elements of `type`: arg1[i * cases + n] is case n of sample i.
    AnyKernel kernel(ir::Math math) const {
        auto k = std::make_shared<ir::Kernel>();
        k->name = text("constants_", row.name, "_", name_of(type));
        k->files = {"ops.def"};
        k->math = math;
        k->rank = 1;
        const auto array = [&](Scalar t, ir::Access access) {
            ir::Memory m;
            m.name = text("arg", k->params.size() + 1);
            m.element = Element::of(t);
            m.access = access;
            m.argument = int(k->params.size());
            k->memories.push_back(m);
            k->params.push_back({true, t, {uint32_t(k->memories.size() - 1)}});
            return k->params.back().memory;
        };
        const ir::MemoryId out = array(type, ir::Access::out);
        ir::Builder b(*k);
        b.enter(b.new_block());
        const ir::Value i = b.index(ir::Op::global_index, 0);
        std::vector<ir::Value> variables;
        for (int n = 0; n < row.arity; ++n) variables.push_back(b.load(array(type_of(n), ir::Access::in), 0, {&i, 1}));
        const std::vector<Case> all = cases();
        const ir::Value first = b.op(ir::Op::mul, {i, b.constant_int(Scalar::i32, int64_t(all.size()))});
        for (size_t c = 0; c < all.size(); ++c) {
            std::vector<ir::Value> operands;
            for (int n = 0; n < row.arity; ++n)
                operands.push_back(all[c].is_constant[n] ? b.constant(type_of(n), all[c].bits[n]) : variables[size_t(n)]);
            const ir::Value at = b.op(ir::Op::add, {first, b.constant_int(Scalar::i32, int64_t(c))});
            b.store(out, 0, {&at, 1}, b.cast(type, b.op(op, operands)));
        }
        b.terminate(ir::Op::return_);
        b.leave();
        EXPECT_EQ(ir::verify(*k), "");
        return AnyKernel(k);
    }

    /// Equal within the row's tolerance. Subnormals, and what is rounded from one, may be zero, of their sign.
    bool agrees(bool strict, uint64_t got_bits, uint64_t want_bits) const {
        const double got = value_of(type, got_bits), want = value_of(type, want_bits), least = smallest_normal(type);
        if (std::isnan(want)) return std::isnan(got);
        const bool signs = strict && has_signed_zeros(op);
        if (got == 0 && std::fabs(want) <= least) return !signs || std::signbit(got) == std::signbit(want);
        if (got == want) return true;
        if ((row.ulps == 0 && row.absolute == 0) || std::isinf(want)) return false;
        const int digits = type == Scalar::f16 ? 11 : type == Scalar::bf16 ? 8 : type == Scalar::f32 ? 24 : 53;
        const double ulp = std::ldexp(1.0, std::ilogb(std::max(std::fabs(want), least)) + 1 - digits);
        const double absolute = type == Scalar::f64 ? std::ldexp(row.absolute, -29) : row.absolute;
        return std::fabs(got - want) <= 2 * ((is_narrow_float(type) ? 1 : row.ulps) * ulp + absolute);
    }
};

/// Uploads `bits`, or makes `size` zeros, as an argument of the kernel; `kept` holds the array.
std::shared_ptr<void> array_of(const Device& device, Scalar type, const std::vector<uint64_t>* bits, size_t size,
                               std::vector<detail::HostArgument>& arguments) {
    return with_scalar(type, [&](auto zero) -> std::shared_ptr<void> {
        using T = decltype(zero);
        if constexpr (std::is_same_v<T, bool>) {
            return nullptr;
        } else {
            std::vector<T> host(size);
            for (size_t i = 0; bits && i < size; ++i) host[i] = from_bits<T>((*bits)[i]);
            const auto array = std::make_shared<Array<T>>(device.upload(host));
            arguments.push_back(detail::host_arguments(*array)[0]);
            return array;
        }
    });
}

std::vector<int> ops_of_floats() {
    std::vector<int> ops;
    for (int op = 0; op < ir::scalar_op_count; ++op)
        if (row(ir::Op(op)).arity > 1 && accepts(ir::Op(op), Scalar::f32)) ops.push_back(op);
    return ops;
}

class OpOfConstants : public testing::TestWithParam<int> {};

TEST_P(OpOfConstants, AgreesWithTheHostColumn) {
    const ir::Op op = ir::Op(GetParam());
    const Device device = kept_device->get();
    for (const Scalar type : {Scalar::f32, Scalar::f64, Scalar::f16, Scalar::bf16}) {
        if (!accepts(op, type) || !has_type(device, type)) continue;
        const Constants tested{op, type};
        const std::vector<Case> cases = tested.cases();
        const auto operands = tested.samples();
        const size_t samples = operands[0].size();
        for (const ir::Math math : {ir::Math::strict, ir::Math::contract}) {
            // Without strict maths, a device may compute with infinity and NaN as it likes in + - * / and what has tolerances.
            const bool strict = math == ir::Math::strict;
            if (!strict && op != ir::Op::ldexp && op != ir::Op::nextafter && op != ir::Op::copysign) continue;
            SCOPED_TRACE(text(tested.row.name, " on ", name_of(type), strict ? " (strict)" : "", " on ", device.name()));
            std::vector<detail::HostArgument> arguments;
            std::vector<std::shared_ptr<void>> kept{array_of(device, type, nullptr, samples * cases.size(), arguments)};
            for (int n = 0; n < tested.row.arity; ++n)
                kept.push_back(array_of(device, tested.type_of(n), &operands[size_t(n)], samples, arguments));
            tested.kernel(math).launch(ndrange(int64_t(samples)), arguments);
            std::vector<uint64_t> got;
            with_scalar(type, [&](auto zero) {
                using T = decltype(zero);
                if constexpr (!std::is_same_v<T, bool>)
                    for (const T v : static_cast<const Array<T>*>(kept[0].get())->download()) got.push_back(to_bits(v));
            });
            int wrong = 0;
            for (size_t g = 0; g < got.size() && wrong < 8; ++g) {
                const Case& c = cases[g % cases.size()];
                uint64_t bits[3] = {}, want = 0;
                std::string values;
                for (int n = 0; n < tested.row.arity; ++n) {
                    bits[n] = c.is_constant[n] ? c.bits[n] : operands[size_t(n)][g / cases.size()];
                    values += text(n ? ", " : "", c.is_constant[n] ? "constant " : "", value_of(tested.type_of(n), bits[n]));
                }
                ASSERT_TRUE(evaluate_scalar(op, type, bits, want));
                const Scalar result = ir::result_type(op, type);
                if (result != type) want = cast_bits(result, type, want);
                if (tested.agrees(strict, got[g], want)) continue;
                ++wrong;
                ADD_FAILURE() << tested.row.name << "(" << values << ") gives " << value_of(type, got[g]) << ", and the row says "
                              << value_of(type, want);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, OpOfConstants, testing::ValuesIn(ops_of_floats()),
                         [](const auto& info) { return std::string(ir::name_of(ir::Op(info.param))); });

/// ldexp of ldexp: factors of constant powers that leave the range if a driver joins them.
TEST(LdexpOfConstants, StepsStayApart) {
    const auto steps = [](Out<float, 2> y, In<float> x) {
        auto i = global_index();
        y(i, 0) = ldexp(ldexp(x[i], -100), -100);
        y(i, 1) = ldexp(ldexp(x[i], 100), 100);
        y(i, 2) = ldexp(ldexp(x[i], -100), 100);
        y(i, 3) = ldexp(ldexp(x[i], 3), 4) + 1.0f;
    };
    const Device device = kept_device->get();
    const std::vector<float> x{1, -3e38f, 3e38f, 1e-37f, -1.2e-38f, 1.5f};
    for (const auto& k : {kernel("steps", steps), kernel("strict_steps", Math::strict, steps)}) {
        Array<float, 2> y = device.zeros<float>({int64_t(x.size()), 4});
        k(ndrange(int64_t(x.size())), y, device.upload(x));
        const std::vector<float> got = y.download();
        for (size_t i = 0; i < x.size(); ++i) {
            const float want[] = {std::ldexp(std::ldexp(x[i], -100), -100), std::ldexp(std::ldexp(x[i], 100), 100),
                                  std::ldexp(std::ldexp(x[i], -100), 100), std::ldexp(x[i], 7) + 1.0f};
            for (size_t n = 0; n < 4; ++n) {
                if (got[4 * i + n] == 0 && std::fabs(std::ldexp(x[i], -100)) < 0x1p-126f) continue;  // flushed
                EXPECT_EQ(got[4 * i + n], want[n]) << "case " << n << " of " << x[i] << " on " << device.name();
            }
        }
    }
}

}  // namespace
