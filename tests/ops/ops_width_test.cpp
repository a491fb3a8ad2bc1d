// Every scalar op and cast on types whose width is not 32 bits, against the host column. A type that the device has must work
// completely.
#include <cmath>
#include <random>

#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "tests/device/types.h"
#include "tests/kept_device.h"

using namespace pumice;
using namespace pumice::internal;
using suite::has_type;

namespace {

const std::vector<Scalar> widths{Scalar::i8,  Scalar::i16, Scalar::i64, Scalar::u8,  Scalar::u16,
                                 Scalar::u64, Scalar::f16, Scalar::f64, Scalar::bf16};

/// A bool is stored in memory as an i32.
Scalar stored(Scalar t) { return t == Scalar::boolean ? Scalar::i32 : t; }

/// Kernel text that applies `compute` ("sin %v1", over %v1 %v2 ... of the operands' types) to arrays arg2, arg3, ... into arg1.
AnyKernel kernel_of(const std::string& name, const std::string& compute, Scalar result, const std::vector<Scalar>& operands) {
    std::string head = text("kernel \"", name, "\" math strict rank 1 (arg1: out ", name_of(stored(result)), "[1] @4"), body;
    for (size_t n = 0; n < operands.size(); ++n) {
        const std::string_view in_memory = name_of(stored(operands[n]));
        head += text(", arg", n + 2, ": in ", in_memory, "[1] @4");
        body += text("  %l", n + 1, " = load arg", n + 2, "[%i] : ", in_memory, " @5\n");
        body += text("  %v", n + 1, operands[n] == stored(operands[n]) ? " = bitcast %l" : " = cast %l", n + 1, " : ",
                     name_of(operands[n]), " @5\n");
    }
    const char* last = result == stored(result) ? "  %s = bitcast %r : " : "  %s = cast %r : ";
    return parse_ir(text(head, ") @4 files [\"widths.cpp\"] {\n  %i = global_index 0 : i32 @5\n", body, "  %r = ", compute, " : ",
                         name_of(result), " @7\n", last, name_of(stored(result)),
                         " @7\n  store arg1[%i], %s : ", name_of(stored(result)), " @7\n  return @7\n}\n"));
}

/// Runs the kernel on operands given as bits. Gives nothing if the device refuses, and the reason in `refused`.
std::vector<uint64_t> run(const Device& device, const AnyKernel& kernel, Scalar result, const std::vector<Scalar>& types,
                          const std::vector<std::vector<uint64_t>>& operands, std::string& refused) {
    const int64_t count = int64_t(operands[0].size());
    std::vector<std::shared_ptr<void>> kept;
    std::vector<detail::HostArgument> arguments;
    const auto array = [&](Scalar type, const std::vector<uint64_t>* bits) {
        with_scalar(stored(type), [&](auto zero) {
            using T = decltype(zero);
            if constexpr (!std::is_same_v<T, bool>) {
                std::vector<T> host(static_cast<size_t>(count));
                for (size_t i = 0; bits && i < host.size(); ++i) host[i] = from_bits<T>((*bits)[i]);
                const auto array = std::make_shared<Array<T>>(device.upload(host));
                arguments.push_back(detail::host_arguments(*array)[0]);
                kept.push_back(array);
            }
        });
    };
    array(result, nullptr);
    for (size_t n = 0; n < types.size(); ++n) array(types[n], &operands[n]);
    try {
        kernel.launch(ndrange(count), arguments);
    } catch (const Error& e) {
        refused = e.what();
        return {};
    }
    std::vector<uint64_t> out;
    with_scalar(stored(result), [&](auto zero) {
        using T = decltype(zero);
        if constexpr (!std::is_same_v<T, bool>)
            for (const T v : static_cast<const Array<T>*>(kept[0].get())->download()) out.push_back(to_bits(v));
    });
    return out;
}

double value_of(Scalar type, uint64_t bits) {
    return with_scalar(type, [&](auto zero) { return cast_scalar<double>(from_bits<decltype(zero)>(bits)); });
}

/// Corner cases: zeros, limits, shift counts past the width, infinities.
std::vector<uint64_t> specials(Scalar type) {
    std::vector<uint64_t> out;
    const int width = 8 * size_of(type);
    if (type == Scalar::boolean) return {0, 1};
    if (is_float(type))
        for (const double v : {0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, 3.0, double(INFINITY), -double(INFINITY), double(NAN)})
            out.push_back(cast_bits(Scalar::f64, type, to_bits(v)));
    else
        for (const int64_t v :
             {int64_t(0), int64_t(1), int64_t(-1), int64_t(2), int64_t(7), int64_t(-7), int64_t(width - 1), int64_t(width),
              int64_t(width + 9), int64_t(uint64_t(1) << (width - 1)), int64_t((uint64_t(1) << (width - 1)) - 1)})
            out.push_back(cast_bits(Scalar::i64, type, to_bits(v)));
    return out;
}

/// All combinations of special values, then draws: floats from the row's domain, integers of any magnitude.
std::vector<std::vector<uint64_t>> samples(const OpRow& row, const std::vector<Scalar>& types, size_t& special) {
    std::mt19937_64 random(uint64_t(row.name.size()) * 16 + uint64_t(types[0]));
    std::vector<std::vector<uint64_t>> out(types.size());
    special = 1;
    for (const Scalar t : types) special *= specials(t).size();
    for (size_t s = 0; s < special + 1000; ++s) {
        size_t combination = s;
        for (size_t n = 0; n < types.size(); ++n) {
            const std::vector<uint64_t> values = specials(types[n]);
            if (s < special)
                out[n].push_back(values[combination % values.size()]);
            else if (types[n] == Scalar::i32)  // the second operand of ldexp
                out[n].push_back(to_bits(int32_t(random() % 21) - 10));
            else if (is_float(types[n])) {
                const Interval domain = row.domain[n];
                const double v = std::uniform_real_distribution<double>(domain.low, domain.high)(random);
                out[n].push_back(cast_bits(Scalar::f64, types[n], to_bits(v)));
            } else
                out[n].push_back(cast_bits(Scalar::u64, types[n], random() >> (random() % 64)));
            combination /= values.size();
        }
    }
    return out;
}

/// Equal, except for the sign of zero and the payload of NaN. The tolerance of the row holds in units of the type; a narrow float
/// is rounded from a float within that tolerance, and so may be the neighbour of the exact one. Subnormals may be zero.
bool agrees(const OpRow& row, Scalar type, bool special, uint64_t got_bits, uint64_t want_bits) {
    if (!is_float(type)) return got_bits == want_bits;
    const double got = value_of(type, got_bits), want = value_of(type, want_bits);
    if (std::isnan(want)) return std::isnan(got);
    if (got == want) return true;
    const double smallest = std::ldexp(1.0, type == Scalar::f16 ? -14 : type == Scalar::bf16 ? -126 : -1022);
    if (std::fabs(want) < smallest && got == 0) return true;
    if (row.ulps == 0 && row.absolute == 0) return false;
    const int digits = type == Scalar::f16    ? half::digits
                       : type == Scalar::bf16 ? bfloat16::digits
                                              : 53,
              exponent = std::ilogb(std::max(std::fabs(want), smallest));
    const double ulp = std::ldexp(1.0, exponent + 1 - digits), ulps = is_narrow_float(type) ? 1 : row.ulps;
    const double absolute = type == Scalar::f64 ? std::ldexp(row.absolute, -29) : 0;
    return std::fabs(got - want) <= (special ? 2 : 1) * (ulps * ulp + absolute);
}

class OpWidths : public testing::TestWithParam<int> {};

TEST_P(OpWidths, AgreeWithTheHostColumn) {
    const ir::Op op = ir::Op(GetParam());
    const OpRow& row = pumice::internal::row(op);
    const Device device = kept_device->get();
    for (const Scalar type : widths) {
        if (!accepts(op, type)) continue;
        SCOPED_TRACE(text(row.name, " on ", name_of(type)));
        std::vector<Scalar> types;
        std::string compute(row.name);
        for (int n = 0; n < row.arity; ++n) {
            types.push_back(operand_type(op, n, type));
            compute += text(n ? ", %v" : " %v", n + 1);
        }
        size_t special = 0;
        const auto operands = samples(row, types, special);
        const Scalar result = ir::result_type(op, type);
        const std::string name = text("op_", row.name, "_", name_of(type));
        std::string refused;
        const auto got = run(device, kernel_of(name, compute, result, types), result, types, operands, refused);
        if (!has_type(device, type)) {
            EXPECT_NE(refused, "");
            continue;
        }
        ASSERT_EQ(refused, "");
        int wrong = 0;
        for (size_t s = 0; s < got.size() && wrong < 5; ++s) {
            uint64_t bits[3] = {}, want = 0;
            std::string values;
            for (size_t n = 0; n < types.size(); ++n)
                bits[n] = operands[n][s], values += text(n ? ", " : "", value_of(types[n], bits[n]));
            ASSERT_TRUE(evaluate_scalar(op, type, bits, want));
            if (agrees(row, result, s < special, got[s], want)) continue;
            ++wrong;
            ADD_FAILURE() << row.name << "(" << values << ") gives " << value_of(stored(result), got[s]) << ", and the row says "
                          << value_of(result, want) << " on " << device.name();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, OpWidths, testing::Range(0, ir::scalar_op_count),
                         [](const auto& info) { return std::string(ir::name_of(ir::Op(info.param))); });

/// Doubles have an fma even if the kernel does not require a single rounding.
TEST(Widths, ContractedFmaOfDoubles) {
    const Device device = kept_device->get();
    if (!has_type(device, Scalar::f64)) GTEST_SKIP() << "SKIPPED: " << device.name() << " has no doubles";
    const auto k = kernel("fma_f64", [](Out<double> r, In<double> x) { r[global_index()] = fma(x[global_index()], 3.0, 0.5); });
    Array<double> r = device.zeros<double>(3), x = device.upload<double>({1, 1e300, -2});
    k(ndrange(3), r, x);
    EXPECT_EQ(r.download(), (std::vector<double>{3.5, 3e300, -5.5}));
}

/// Constants without a literal need no other types, and keep their bits.
TEST(Widths, ConstantsWithoutLiterals) {
    const Device device = kept_device->get();
    for (const Scalar type : {Scalar::f16, Scalar::f64, Scalar::bf16}) {
        if (!has_type(device, type)) continue;
        for (const std::string constant : {"inf", "-inf"}) {
            const std::string_view t = name_of(type);
            const std::string head = text("(arg1: out ", t, "[1], arg2: in ", t, "[1]) files [] {\n");
            const AnyKernel k = parse_ir(text("kernel \"c\" math contract rank 1 ", head, "  %i = global_index 0 : i32\n",
                                              "  %x = load arg2[%i] : ", t, "\n  %c = constant ", constant, " : ", t,
                                              "\n  %b = lt %x, %c : bool\n  %r = select %b, %c, %x : ", t,
                                              "\n  store arg1[%i], %r : ", t, "\n  return\n}\n"));
            std::string refused;
            const auto got = run(device, k, type, {type}, {{cast_bits(Scalar::f32, type, to_bits(2.0f))}}, refused);
            ASSERT_EQ(refused, "");
            EXPECT_EQ(value_of(type, got[0]), constant == "inf" ? INFINITY : 2.0);
        }
    }
}

/// Casts between every two types, at special values and at the limits of every integer type.
TEST(Widths, CastsOfEveryPair) {
    const Device device = kept_device->get();
    for (int f = 0; f < scalar_count; ++f)
        for (int t = 0; t < scalar_count; ++t) {
            const Scalar from = Scalar(f), to = Scalar(t);
            if (from == to || !has_type(device, from) || !has_type(device, to)) continue;
            std::vector<uint64_t> values = specials(from);
            if (is_float(from))
                for (const int edge : {7, 8, 15, 16, 31, 32, 63, 64})
                    for (const double near : {-1.0, -0.5, 0.0, 0.5, 1.0})
                        for (const double side : {-1.0, 1.0})
                            values.push_back(cast_bits(Scalar::f64, from, to_bits(side * std::ldexp(1.0, edge) + near)));
            else if (from != Scalar::boolean)
                for (int shift = 0; shift < 64; shift += 3)
                    values.push_back(cast_bits(Scalar::u64, from, 0xfedcba9876543211u >> shift));
            std::string refused;
            const std::string name = text("cast_", name_of(from), "_", name_of(to));
            const auto got = run(device, kernel_of(name, "cast %v1", to, {from}), to, {from}, {values}, refused);
            ASSERT_EQ(refused, "") << name;
            for (size_t s = 0; s < values.size(); ++s) {
                const uint64_t want = cast_bits(from, to, values[s]);
                if (is_float(to) && std::isnan(value_of(to, want)))
                    EXPECT_TRUE(std::isnan(value_of(to, got[s]))) << name;
                else
                    EXPECT_EQ(got[s], want) << name << " of " << value_of(from, values[s]) << " on " << device.name();
            }
        }
}

/// Bitcasts to the integer of the same width and back.
TEST(Widths, Bitcasts) {
    const Device device = kept_device->get();
    for (const auto& [real, whole] :
         {std::pair(Scalar::f16, Scalar::i16), std::pair(Scalar::f16, Scalar::u16), std::pair(Scalar::f64, Scalar::i64),
          std::pair(Scalar::f64, Scalar::u64), std::pair(Scalar::bf16, Scalar::i16), std::pair(Scalar::bf16, Scalar::u16),
          std::pair(Scalar::bf16, Scalar::f16)}) {
        if (!has_type(device, real) || !has_type(device, whole)) continue;
        const uint64_t one = cast_bits(Scalar::f32, real, to_bits(-1.5f));
        for (const auto& [from, to] : {std::pair(real, whole), std::pair(whole, real)}) {
            std::string refused;
            const auto got = run(device, kernel_of("bits", "bitcast %v1", to, {from}), to, {from}, {{one}}, refused);
            ASSERT_EQ(refused, "");
            EXPECT_EQ(got[0], one) << name_of(from) << " to " << name_of(to);
        }
    }
}

}  // namespace
