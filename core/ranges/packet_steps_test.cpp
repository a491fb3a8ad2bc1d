#include "core/ranges/packet_steps.h"

#include <gtest/gtest.h>

#include <random>

#include "core/ir/builder.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

constexpr int64_t items = 8;

/// The effects of a kernel's instructions: u, k, or - for none.
std::string effects(const std::string& body, PacketAlignment packets = {items, true}) {
    const Kernel k = parse(
        text("kernel \"k\" math contract rank 1 (arg1: inout i32[1], arg2: i32) files [\"k.cpp\"] {\n", body, "return\n}\n"));
    EXPECT_EQ(verify(k), "");
    const PacketSteps steps(k, packets);
    std::string all;
    for (const InstId i : k.body().insts) all += "-uk"[int(steps.effect_of(k[i]))];
    all.pop_back();  // the return
    return all;
}

TEST(PacketSteps, a_packet_lies_within_one_quotient_of_a_multiple_of_its_items) {
    const auto by = [](const char* op, int number, const char* index = "local_index") {
        return effects(text("%0 = ", index, " 0 : i32\n%1 = constant ", number, " : i32\n%2 = ", op, " %0, %1 : i32\n"))
            .substr(2);
    };
    for (const int number : {8, 16, 24, 64}) {
        EXPECT_EQ(by("div", number), "u") << number;
        EXPECT_EQ(by("rem", number), "k") << number;
        EXPECT_EQ(by("div", number, "global_index"), "u") << number;
    }
    for (const int number : {2, 4, 12}) EXPECT_EQ(by("div", number), "-") << number;
    for (const int number : {2, 4, 12, 0, -8}) EXPECT_EQ(by("rem", number), "-") << number;
    EXPECT_EQ(by("shr", 3), "u");
    EXPECT_EQ(by("shr", 2), "-");
    EXPECT_EQ(by("and", 24), "u");
    EXPECT_EQ(by("and", 15), "k");
    EXPECT_EQ(by("and", 3), "-");
    EXPECT_EQ(by("xor", 8), "k");
    EXPECT_EQ(by("xor", 1), "-");
    EXPECT_EQ(by("or", 7), "u");
    EXPECT_EQ(by("or", 16), "k");
}

TEST(PacketSteps, unknown_places_of_packets_and_values) {
    const std::string by = " = constant 8 : i32\n%2 = div %0, %1 : i32\n";
    EXPECT_EQ(effects("%0 = global_index 0 : i32\n%1" + by, {items, false}), "---");
    EXPECT_EQ(effects("%0 = local_index 0 : i32\n%1" + by, {1, false}), "---");
    // The addend may be negative, or no multiple of 8.
    EXPECT_EQ(effects("%0 = local_index 0 : i32\n%1 = argument arg2 : i32\n%2 = add %0, %1 : i32\n%3 = constant 8 : i32\n"
                      "%4 = div %2, %3 : i32\n%5 = and %2, %3 : i32\n"),
              "------");
}

/// Random chains of operations on the index: what PacketSteps says holds in all packets.
TEST(PacketSteps, agrees_with_the_values_of_items) {
    int uniform = 0, keeps = 0, patterns = 0;
    for (uint64_t seed = 1; seed <= 3000; ++seed) {
        std::mt19937_64 random(seed);
        const auto roll = [&](uint64_t n) { return random() % n; };
        Kernel k;
        k.name = "k", k.rank = 1;
        Builder b(k);
        b.enter(b.new_block());
        const Scalar t = roll(3) ? Scalar::i32 : Scalar::u32;
        const Value index = b.index(Op::local_index, 0);
        std::vector<Value> made = {t == Scalar::i32 ? index : b.cast(t, index)};
        for (int n = 1 + int(roll(5)); n > 0; --n) {
            constexpr Op ops[] = {Op::div, Op::rem, Op::and_, Op::or_, Op::xor_, Op::shr, Op::shl, Op::mul, Op::add, Op::sub};
            const Op op = ops[roll(std::size(ops))];
            constexpr int64_t numbers[] = {1, 2, 3, 4, 7, 8, 12, 15, 16, 24, 31, 32, 64, 100, -1, -8, -16};
            const bool shifts = op == Op::shr || op == Op::shl;
            const Value other = (op == Op::add || op == Op::sub) && roll(2) ? made[roll(made.size())]
                                : shifts                                    ? b.constant_int(t, int64_t(roll(7)))
                                         : b.constant_int(t, numbers[roll(std::size(numbers))]);
            made.push_back(b.op(op, {made[roll(made.size())], other}));
        }
        b.terminate(Op::return_);
        b.leave();
        const PacketSteps steps(k, {items, false});
        // The values of 64 packets, as bits.
        std::vector<std::vector<uint32_t>> of(k.values.size(), std::vector<uint32_t>(size_t(64 * items)));
        for (size_t item = 0; item < size_t(64 * items); ++item)
            for (const InstId id : k.body().insts) {
                const Inst& i = k[id];
                if (i.result_count == 0) continue;
                std::vector<uint64_t> v;
                for (const Value o : k.operands(i)) v.push_back(of[o.id][item]);
                uint64_t bits = i.op == Op::local_index ? item : i.immediate;
                if (i.op != Op::local_index && i.op != Op::constant) {
                    ASSERT_TRUE(evaluate(i, k.type_of(k.operands(i)[0]), v, bits)) << print(k);
                }
                of[k.result(i).id][item] = uint32_t(bits);
            }
        for (const InstId id : k.body().insts) {
            const Inst& i = k[id];
            if (i.result_count == 0) continue;
            const std::vector<uint32_t>& all = of[k.result(i).id];
            const auto effect = steps.effect_of(i);
            const auto lanes = steps.lanes_of(k.result(i), [](Value) { return false; });
            uniform += effect == PacketSteps::Effect::uniform, keeps += effect == PacketSteps::Effect::keeps_step;
            patterns += lanes.has_value();
            for (size_t item = 0; item < all.size(); ++item) {
                const size_t first = item / size_t(items) * size_t(items);
                const uint32_t moved = all[item] - all[first];
                if (effect == PacketSteps::Effect::uniform) { ASSERT_EQ(moved, 0u) << seed << "\n" << print(k); }
                if (effect == PacketSteps::Effect::keeps_step) {
                    const std::vector<uint32_t>& from = of[k.operands(i)[0].id];
                    ASSERT_EQ(moved, from[item] - from[first]) << seed << "\n" << print(k);
                }
                if (lanes) { ASSERT_EQ(moved, uint32_t((*lanes)[item - first])) << seed << "\n" << print(k); }
            }
        }
    }
    EXPECT_GT(uniform, 100);
    EXPECT_GT(keeps, 100);
    EXPECT_GT(patterns, 1000);
}

}  // namespace
}  // namespace pumice::ir
