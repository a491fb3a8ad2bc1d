// Kernels with barriers whose indices are clamped, and whose conditions hold for the items of a stretch: the CPU has a version of
// the packets in the interior. Groups of many packets, ranges and arrays that end anywhere, values that several regions use.
#include "tests/device/suite.h"

#include <climits>

using namespace pumice;
using suite::device;

namespace {

template <class T> std::vector<T> numbers(int count, int seed) {
    std::vector<T> all;
    for (int e = 0; e < count; ++e) all.push_back(T((e * 37 + seed * 11) % 101));
    return all;
}

/// Compares the results of a kernel with the interpreter's: `launch` launches it on a device and returns them.
template <class Launch> void agree(const Launch& launch, const std::string& what) {
    const auto got = launch(device()), want = launch(Device::open("interp"));
    ASSERT_EQ(got.size(), want.size());
    for (size_t e = 0; e < want.size(); ++e) ASSERT_EQ(got[e], want[e]) << what << ", element " << e;
}

/// Steps of a minimum over neighbours in groups that overlap, as in a search for the cheapest way through a grid.
template <class T, int items> void check_line() {
    static constexpr int halo = 3, inner = items - 2 * halo;
    const auto k = kernel("line", static_group<items>, [](Out<T> after, In<T> before, In<T, 2> cost, Val<int> rows) {
        Local<T, items> line;
        const auto l = local_index();
        const auto n = before.size(0), column = group_index() * inner - halo + l;
        const auto inside = column >= 0 && column < n;
        const auto at = clamp(column, 0, n - 1);
        Var<T> mine = select(inside, before[at], T(100));
        line[l] = mine;
        synchronize();
        $for(r, range(rows)) {
            const auto best = min(mine, min(line[max(l - 1, 0)], line[min(l + 1, items - 1)]));
            $if(inside) { mine = best + cost(r, at); }
            synchronize();
            line[l] = mine;
            synchronize();
        }
        $if(inside && l >= halo && l < items - halo) { after[at] = mine; }
    });
    if (items > device().limits().max_group_size) return;
    for (const int n : {1, 2 * inner - 1, 3 * inner + 5})
        agree(
            [&](const Device& on) {
                const Array<T> before = on.upload(numbers<T>(n, 1)), after = on.zeros<T>(n);
                const Array<T, 2> cost = on.upload(numbers<T>(3 * n, 2), {3, n});
                k(ndrange((n + inner - 1) / inner * items), after, before, cost, 3);
                return after.download();
            },
            "groups of " + std::to_string(items) + ", " + std::to_string(n) + " columns");
}

/// Indices and conditions of so many instructions that regions save them; stretches that are empty, that begin behind the group,
/// and where the index wraps.
template <class T, int items> void check_saved() {
    const auto k =
        kernel("saved", static_group<items>, whole_groups, [](InOut<T> out, In<T> in, Val<int> a, Val<int> b, Val<int> c) {
            Local<T, items> one, other;
            const auto l = local_index(), i = global_index();
            const auto shifted = l + a - b + c - a + b - c + a - b + c - a + a + b - c;  // l + a
            const auto near = clamp(shifted, 0, items - 1);
            const auto stretch = shifted >= b && shifted < c;
            const auto safe = min(i, in.size(0) - 1);
            Var<T> first = in[safe];
            $if(stretch) { first = in[near]; }
            one[l] = first;
            other[l] = select(shifted > b, in[max(safe - 2, 0)], T(3));
            synchronize();
            Var<T> sum = one[near];
            // Packets that were in the interior until here are at the rim of what is clamped now.
            $if(stretch) { sum += other[near] + in[near] + one[max(l - 20, 0)]; }
            synchronize();
            one[l] = sum;
            $if(stretch) { other[l] = sum + T(1); }
            synchronize();
            $if(!stretch) { sum = T(7); }
            sum += one[near] + other[min(near + 2, items - 1)];
            $if(i < out.size(0) - 1 && l > 0) { out[i + 1] = sum; }
        });
    if (items > device().limits().max_group_size) return;
    struct Shift {
        int a, b, c;
    };
    for (const Shift s :
         {Shift{0, 0, items}, Shift{5, -100, 1000}, Shift{-5, -100, 1000}, Shift{-3, 5, items - 9}, Shift{7, 20, 20},
          Shift{-items, -40, INT_MAX}, Shift{INT_MAX - items / 2, 0, INT_MAX}, Shift{INT_MIN + 5, INT_MIN, 0}})
        agree(
            [&](const Device& on) {
                constexpr int n = 3 * items - 11;
                const Array<T> in = on.upload(numbers<T>(n, 3)), out = on.upload(numbers<T>(n, 4));
                k(ndrange(n), out, in, s.a, s.b, s.c);
                return out.download();
            },
            "groups of " + std::to_string(items) + ", shifted by " + std::to_string(s.a));
}

/// Steps over growing distances, by divisions that are selected; rows of a group of two dimensions.
template <class T, int items> void check_rows() {
    const auto k = kernel("rows", static_group<2, items>, [](Out<T, 2> x, In<T, 2> in, Val<int> from) {
        Local<T, 2, items> a;
        auto [s, i] = global_index<2>();
        auto [y, l] = local_index<2>();
        const auto columns = in.size(1);
        Var<T> mine = in(s, min(i, columns - 1));
        a(y, l) = mine;
        synchronize();
        for (int reach = 1; reach < items; reach *= 2) {
            const auto up = select(l >= reach, mine - a(y, max(l - reach, 0)), T(0)),
                       down = select(l < items - reach, mine - a(1 - y, min(l + reach, items - 1)), T(0));
            $if(s + reach > from && i < columns) { mine = up + down + T(reach); }
            synchronize();
            a(y, l) = mine;
            synchronize();
        }
        $if(i < columns) { x(s, i) = mine; }
    });
    if (2 * items > device().limits().max_group_size) return;
    for (const int columns : {items, 2 * items - 13})
        agree(
            [&](const Device& on) {
                const Array<T, 2> in = on.upload(numbers<T>(6 * columns, 5), {6, columns}), x = on.zeros<T>({6, columns});
                k(ndrange(6, (columns + items - 1) / items * items), x, in, 3);
                return x.download();
            },
            "rows of " + std::to_string(items) + ", " + std::to_string(columns) + " columns");
}

/// Indices and limits that are one for a packet, or step by 1 in it, but not from packet to packet.
template <class T, int items> void check_quotients() {
    const auto k = kernel("quotients", static_group<items>, whole_groups, [](InOut<T> out, In<T> in) {
        Local<T, items> a;
        const auto l = local_index(), i = global_index(), block = l / 16;
        a[l] = in[min(i, in.size(0) - 1)];
        synchronize();
        Var<T> sum = a[max(l, block * 16 + 3)] + a[clamp(l + block * 5 - 20, 0, items - 1)] + a[min(l + 1, items - 1)];
        $if(l - block * 9 >= 20) { sum += a[max(l - block, 2)]; }
        $if(l >= 5 + block * 7 && block != 1) { sum += a[min(l - block * 3 + 9, items - 1 - block)]; }
        synchronize();
        a[l] = select(l >= block * 12 + 6, sum, T(1));
        synchronize();
        $if(i < out.size(0)) { out[i] = sum + a[items - 1 - l]; }
    });
    if (items > device().limits().max_group_size) return;
    agree(
        [&](const Device& on) {
            constexpr int n = 3 * items - 11;
            const Array<T> in = on.upload(numbers<T>(n, 6)), out = on.zeros<T>(n);
            k(ndrange(n), out, in);
            return out.download();
        },
        "groups of " + std::to_string(items));
}

TEST(GroupInteriors, Lines) { check_line<int, 64>(), check_line<float, 128>(), check_line<int, 100>(); }
TEST(GroupInteriors, SavedValues) { check_saved<int, 64>(), check_saved<float, 128>(), check_saved<uint32_t, 72>(); }
TEST(GroupInteriors, Rows) { check_rows<int, 64>(), check_rows<float, 128>(), check_rows<int, 56>(); }
TEST(GroupInteriors, Quotients) { check_quotients<int, 64>(), check_quotients<float, 128>(), check_quotients<int, 80>(); }
TEST(GroupInteriors, DoublesAndBytes) {
    if (device().supports(Feature::float64)) check_line<double, 64>(), check_saved<double, 64>(), check_rows<double, 128>();
    if (device().supports(Feature::int8)) check_saved<uint8_t, 128>(), check_rows<uint8_t, 64>();
}

}  // namespace
