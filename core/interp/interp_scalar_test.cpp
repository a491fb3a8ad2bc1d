// The loops over items agree with ops.def for every op and type, and touch no other items.
#include "core/interp/interp_scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/ir/evaluate.h"
#include "core/ir/ops.h"

namespace pumice::interp {
namespace {

constexpr int count = 24;

/// Values at which types and ops have corner cases.
std::vector<uint64_t> samples(Scalar type, int turn) {
    constexpr double values[count] = {0,    -0.0, 1,   -1,   2,   3,    -3,   0.5,   0.25, -0.75, 7,   100,
                                      -100, 127,  128, 1e-3, 1e4, -1e5, 1e30, -1e30, 31,   32,    1.5, 2.5};
    std::vector<uint64_t> bits(count);
    for (int i = 0; i < count; ++i) {
        const double v = i == 5 && turn == 1 ? std::nan("") : values[(i * (2 * turn + 1)) % count];
        with_scalar(type, [&](auto t) { bits[size_t(i)] = to_bits(cast_scalar<decltype(t)>(v)); });
    }
    return bits;
}

struct Column {
    Column(Scalar type, const std::vector<uint64_t>& bits) : type(type), data(bits.size() * 8) {
        for (size_t i = 0; i < bits.size(); ++i)
            with_scalar(type, [&](auto t) { as<decltype(t)>()[i] = from_bits<decltype(t)>(bits[i]); });
    }
    uint64_t bits(int i) {
        return with_scalar(type, [&](auto t) { return to_bits(as<decltype(t)>()[i]); });
    }
    bool same(int i, uint64_t other) {
        return with_scalar(type, [&](auto t) {
            using T = decltype(t);
            const T a = as<T>()[i], b = from_bits<T>(other);
            if constexpr (std::is_same_v<T, half>)
                return to_bits(a) == other || (std::isnan(float(a)) && std::isnan(float(b)));
            else
                return to_bits(a) == other || (a != a && b != b);
        });
    }
    template <class T> T* as() { return reinterpret_cast<T*>(data.data()); }
    Scalar type;
    std::vector<std::byte> data;
};

/// Runs a loop over all items, and over some, and compares with `expected(item)`; the other items keep the bits of 1.
template <class F>
void check(ItemLoop loop, Scalar result, Column& a, Column& b, Column& c, F&& expected, const std::string& what) {
    std::vector<uint16_t> all, some;
    for (uint16_t i = 0; i < count; ++i) {
        all.push_back(i);
        if (i % 3 == 1) some.push_back(i);
    }
    const uint64_t one = with_scalar(result, [](auto t) { return to_bits(cast_scalar<decltype(t)>(1)); });
    for (auto* list : {&all, &some}) {
        Column r(result, std::vector<uint64_t>(count, one));
        loop({list->data(), int(list->size())}, r.data.data(), a.data.data(), b.data.data(), c.data.data());
        for (int i = 0; i < count; ++i) {
            const bool active = list == &all || i % 3 == 1;
            EXPECT_TRUE(r.same(i, active ? expected(i) : one)) << what << ", item " << i << ", bits " << r.bits(i);
        }
    }
}

TEST(interp_scalar, loops_agree_with_the_table_of_ops) {
    for (int o = 0; o < ir::scalar_op_count; ++o) {
        const ir::Op op = ir::Op(o);
        for (int t = 0; t < scalar_count; ++t) {
            const Scalar type = Scalar(t);
            const ItemLoop loop = scalar_loop(op, type);
            EXPECT_EQ(loop != nullptr, accepts(op, type)) << row(op).name << " of " << name_of(type);
            if (!loop) continue;
            Column a(type, samples(type, 0)), b(operand_type(op, 1, type), samples(operand_type(op, 1, type), 1)),
                c(type, samples(type, 2));
            const Scalar result = row(op).result == Result::boolean ? Scalar::boolean
                                  : row(op).result == Result::i32   ? Scalar::i32
                                                                    : type;
            const auto expected = [&](int i) {
                const uint64_t operands[3] = {a.bits(i), b.bits(i), c.bits(i)};
                uint64_t bits = 0;
                EXPECT_TRUE(evaluate_scalar(op, type, operands, bits));
                return bits;
            };
            check(loop, result, a, b, c, expected, std::string(row(op).name) + " of " + std::string(name_of(type)));
        }
    }
    EXPECT_EQ(scalar_loop(ir::Op::select, Scalar::f32), nullptr);
}

TEST(interp_scalar, casts_selects_and_copies) {
    for (int f = 0; f < scalar_count; ++f) {
        const Scalar from = Scalar(f);
        Column a(from, samples(from, 0)), b(from, samples(from, 1)), condition(Scalar::boolean, samples(Scalar::boolean, 2));
        for (int t = 0; t < scalar_count; ++t)
            check(
                cast_loop(from, Scalar(t)), Scalar(t), a, b, b, [&](int i) { return cast_bits(from, Scalar(t), a.bits(i)); },
                std::string(name_of(from)) + " to " + std::string(name_of(Scalar(t))));
        check(copy_loop(from), from, a, b, b, [&](int i) { return a.bits(i); }, "copy");
        check(
            select_loop(from), from, condition, a, b, [&](int i) { return condition.bits(i) ? a.bits(i) : b.bits(i); }, "select");
    }
}

}  // namespace
}  // namespace pumice::interp
