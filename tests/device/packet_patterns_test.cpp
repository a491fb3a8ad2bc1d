// Indices made from the item's index by divisions, remainders and bits, in groups with local memory: the CPU knows of some what
// the items of a packet have in common. Groups of many sizes, ranges that begin anywhere, elements of one and of two scalars.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

constexpr int most_items = 64;  ///< of a group

/// A permutation of the items of a group of 64, or a map of them into 0 to 63.
struct Pattern {
    const char* name;
    bool permutes;
    Val<int> (*of)(const Val<int>&);
};
const Pattern patterns[] = {
    {"itself", true, [](const Val<int>& i) { return i & 63; }},
    {"xor 1", true, [](const Val<int>& i) { return (i ^ 1) & 63; }},
    {"xor 5", true, [](const Val<int>& i) { return (i ^ 5) & 63; }},
    {"xor 16", true, [](const Val<int>& i) { return (i ^ 16) & 63; }},
    {"xor 48", true, [](const Val<int>& i) { return (i & 63) ^ 48; }},
    {"halves of 4 apart", true, [](const Val<int>& i) { return i % 4 + i / 4 % 2 * 32 + (i & 63) / 8 * 4; }},
    {"quarters of 8 apart", true, [](const Val<int>& i) { return i % 8 + (i & 63) / 16 * 8 + (i >> 3 & 1) * 32; }},
    {"fours turned", true, [](const Val<int>& i) { return (i & 60) + ((i + 1) & 3); }},
    {"transposed", true, [](const Val<int>& i) { return i % 8 * 8 + (i & 63) / 8; }},
    {"transposed by 4", true, [](const Val<int>& i) { return i % 4 * 16 + (i & 63) / 4; }},
    {"backwards in eights", true, [](const Val<int>& i) { return (i & 56) + 7 - i % 8; }},
    {"or 3", false, [](const Val<int>& i) { return (i | 3) & 63; }},
    {"or 24", false, [](const Val<int>& i) { return (i | 24) & 63; }},
    {"by 3", false, [](const Val<int>& i) { return (i & 63) / 3; }},
    {"by 16", false, [](const Val<int>& i) { return (i & 63) / 16; }},
    {"by 24, the rest", false, [](const Val<int>& i) { return (i & 63) % 24; }},
    {"shifted by 2", false, [](const Val<int>& i) { return (i & 63) >> 2; }},
    {"pairs 4 apart", false, [](const Val<int>& i) { return (2 * (i & 31) - (i & 3)) & 63; }},
    {"pairs 16 apart", false, [](const Val<int>& i) { return (2 * (i & 31) - (i & 15)) & 63; }},
    {"less 8", false, [](const Val<int>& i) { return ((i - 8) & 16) + ((i + 40) & 7); }},
};

template <class T> T made(int n) { return T(n * 37 % 101); }
template <> inline double2 made<double2>(int n) { return {double(n), double(-3 * n)}; }
template <> inline float2 made<float2>(int n) { return {float(n), float(-3 * n)}; }

bool equal(const auto& a, const auto& b) {
    if constexpr (requires { a.x; })
        return a.x == b.x && a.y == b.y;
    else
        return a == b;
}

/// Each item stores by one pattern into local memory, loads by another one, and stores to the array by its own index. `global`:
/// the patterns are of the global index. From kernel `first_kernel` on every third one, or all.
template <class T> void check(bool global, size_t first_kernel = 0, size_t step = 3) {
    const Device d = device(), interp = Device::open("interp");
    for (size_t n = first_kernel; n < std::size(patterns); n += step) {
        const Pattern &to = patterns[n % 11], &from = patterns[n * 7 % std::size(patterns)];
        const auto k = kernel("patterns", whole_groups, [&](InOut<T> out, In<T> in) {
            Local<T, most_items> local, other;
            const auto l = local_index(), g = global_index(), i = global ? g : l;
            // All slots are written, also in groups of fewer items.
            $for(s, range(l, most_items, group_size())) {
                local[s] = in[s];
                other[s] = in[s + 1];
            }
            synchronize();
            local[to.of(i)] = in[g];  // the items of a group are at different places among 64
            synchronize();
            other[to.of(i)] = local[from.of(i)];
            synchronize();
            $if(in_range()) { out[g] = other[from.of(l)]; }
        });
        constexpr int groups[] = {16, 24, 32, 8};
        for (const int group : {64, groups[n % 4]}) {
            if (group > d.limits().max_group_size) continue;
            for (const int first : {0, 3, 8, 16}) {
                constexpr int all = 3 * most_items;
                std::vector<T> values;
                for (int e = 0; e < all + 2 * most_items; ++e) values.push_back(made<T>(e));
                const auto run = [&](const Device& on) {
                    const Array<T> out = on.upload(values), in = on.upload(values);
                    k(ndrange({first}, {first + all - 5}).group(group), out, in);
                    return out.download();
                };
                const auto want = run(interp), got = run(d);
                for (size_t e = 0; e < want.size(); ++e)
                    ASSERT_TRUE(equal(got[e], want[e]))
                        << to.name << ", " << from.name << ", groups of " << group << " from " << first << ", element " << e;
            }
        }
    }
}

TEST(PacketPatterns, WordsByLocalIndices) { check<int>(false, 0, 1); }
TEST(PacketPatterns, WordsByGlobalIndices) { check<float>(true); }
TEST(PacketPatterns, PairsByLocalIndices) { check<float2>(false, 1); }
TEST(PacketPatterns, PairsByGlobalIndices) { check<float2>(true, 2); }
TEST(PacketPatterns, BytesAndDoubles) {
    if (device().supports(Feature::int8)) check<uint8_t>(false);
    if (device().supports(Feature::float64)) check<double>(true, 1), check<double2>(true, 2);
}

}  // namespace
