// Barriers in every kind of control flow that all items of a group take together.
#include <algorithm>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

/// Each of the n items of a group holds its local index; passing it to the right `times` times rotates the indices.
Val<int> rotated(Local<int, 8>& tile, const Val<int>& value) {
    auto l = local_index();
    tile[l] = value;
    synchronize();
    Val<int> from = tile[(l + 7) % 8];
    synchronize();
    return from;
}
const auto after_while = kernel("after_while", [](InOut<int> a, Val<int> n) {
    Local<int, 8> tile;
    Var v = a[global_index()];
    Var k = 0;
    $while(v % 16 != 5 && k < n + local_index()) {
        k += 1;
        v += 1;
    }  // items leave at different times
    v = rotated(tile, v);
    a[global_index()] = v * 100 + k;
});
const auto in_nested_loops = kernel("in_nested_loops", [](InOut<int> a, Val<int> n) {
    Local<int, 8> tile;
    Var v = a[global_index()];
    $for(i, range(n)) {
        $for(j, range(i)) {
            v = rotated(tile, v);
            $if(v % 2 == 0) { v += 1; }
        }
        v = rotated(tile, v);
    }
    a[global_index()] = v;
});
const auto back_to_back = kernel("back_to_back", [](InOut<int> a, Val<int> n) {
    Local<int, 8> tile;
    Private<int, 4> mine;
    $for(i, range(4)) { mine[i] = a[global_index()] + i; }
    $for(i, range(n)) { mine[i % 4] = rotated(tile, mine[i % 4]); }
    $for(i, range(n, 0, -1)) { mine[i % 4] = rotated(tile, mine[i % 4] + 1); }
    a[global_index()] = mine[0] + 10 * mine[1] + 100 * mine[2] + 1000 * mine[3];
});
const auto trips_from_local = kernel("trips_from_local", [](InOut<int> a) {
    Local<int, 8> tile;
    Local<int, 1> count;
    $if(local_index() == 0) { count[0] = a[global_index()] % 5; }
    synchronize();
    Var v = a[global_index()];
    $for(i, range(count[0])) { v = rotated(tile, v) + i; }
    a[global_index()] = v;
});
const auto rotate_function = function("rotate_function", [](Val<int> v) {
    Local<int, 8> tile;
    return rotated(tile, v);
});
const auto in_called_functions = kernel("in_called_functions", [](InOut<int> a, Val<int> n) {
    Var v = rotate_function(a[global_index()]);
    $for(i, range(n)) { v = rotate_function(v + i); }
    a[global_index()] = v;
});
const auto after_return = kernel("after_return", [](InOut<int> a, Val<int> n) {
    Local<int, 8> tile;
    Local<int, 1> first;
    const auto i = global_index(), l = local_index();
    const Val<int> items = min(8, cast<int>(global_size()) - 8 * group_index());
    Var v = a[i];
    const auto pass = [&](const Val<int>& k) {
        tile[l] = v;
        synchronize();
        v = tile[(l + items - 1) % items] + k;
        synchronize();
    };
    $if(group_index() == n) { $return; }  // before the first barrier
    $if(l == 0) { first[0] = v; }
    pass(0);
    $if(first[0] % 5 == 1) {  // by local memory
        a[i] = -v;
        $return;
    }
    $for(k, range(n + 1)) {
        pass(k);
        $if(k + group_index() == 3) {  // in a loop, after and before a barrier
            a[i] = 1000 + v;
            $return;
        }
    }
    a[i] = v;
});

/// The expected values of one group after passing to the right.
void rotate(std::vector<int>& v) { std::rotate(v.begin(), v.end() - 1, v.end()); }
template <class K, class F, class... A> void check_groups(const K& k, F host, A... arguments) {
    Array<int> a = device().upload(suite::iota<int>(24, 3));
    k(ndrange(24).group(8), a, arguments...);
    const std::vector<int> got = a.download();
    for (int g = 0; g < 3; ++g) {
        std::vector<int> v = suite::iota<int>(8, 3 + 8 * g);
        host(v);
        EXPECT_EQ(std::vector<int>(got.begin() + 8 * g, got.begin() + 8 * g + 8), v) << k.name() << ", group " << g;
    }
}

TEST(Language, BarriersAfterAWhile) {
    check_groups(
        after_while,
        [](std::vector<int>& v) {
            std::vector<int> k(8);
            for (int l = 0; l < 8; ++l)
                while (v[size_t(l)] % 16 != 5 && k[size_t(l)] < 4 + l) ++k[size_t(l)], ++v[size_t(l)];
            rotate(v);
            for (size_t l = 0; l < 8; ++l) v[l] = v[l] * 100 + k[l];
        },
        4);
}
TEST(Language, BarriersInNestedLoops) {
    check_groups(
        in_nested_loops,
        [](std::vector<int>& v) {
            for (int i = 0; i < 4; ++i) {
                for (int j = 0; j < i; ++j) {
                    rotate(v);
                    for (int& x : v) x += x % 2 == 0;
                }
                rotate(v);
            }
        },
        4);
}
TEST(Language, BarriersInTwoLoopsBackToBackAroundAPrivateArray) {
    check_groups(
        back_to_back,
        [](std::vector<int>& v) {
            std::vector<int> mine[4] = {v, v, v, v};
            for (int i = 0; i < 4; ++i)
                for (int& x : mine[i]) x += i;
            for (int i = 0; i < 6; ++i) rotate(mine[i % 4]);
            for (int i = 6; i > 0; --i) {
                for (int& x : mine[i % 4]) ++x;
                rotate(mine[i % 4]);
            }
            for (size_t l = 0; l < 8; ++l) v[l] = mine[0][l] + 10 * mine[1][l] + 100 * mine[2][l] + 1000 * mine[3][l];
        },
        6);
}
TEST(Language, BarriersInATripCountFromLocalMemory) {
    check_groups(trips_from_local, [](std::vector<int>& v) {
        const int n = v[0] % 5;
        for (int i = 0; i < n; ++i) {
            rotate(v);
            for (int& x : v) x += i;
        }
    });
}
TEST(Language, BarriersInCalledFunctions) {
    check_groups(
        in_called_functions,
        [](std::vector<int>& v) {
            rotate(v);
            for (int i = 0; i < 5; ++i) {
                for (int& x : v) x += i;
                rotate(v);
            }
        },
        5);
}

/// Whole groups return. The last group may lack items.
TEST(Language, BarriersAfterReturnsOfWholeGroups) {
    constexpr int n = 2;
    for (const int items : {48, 45, 43}) {
        Array<int> a = device().upload(suite::iota<int>(items, 3));
        after_return(ndrange(items).group(8), a, n);
        std::vector<int> want = suite::iota<int>(items, 3);
        for (int g = 0; 8 * g < items; ++g) {
            if (g == n) continue;
            const auto begin = want.begin() + 8 * g, end = want.begin() + std::min(8 * g + 8, items);
            const int first = *begin;
            const auto change = [&](auto by) { std::transform(begin, end, begin, by); };
            const auto pass = [&](int k) {
                std::rotate(begin, end - 1, end);
                change([&](int x) { return x + k; });
            };
            pass(0);
            bool returned = first % 5 == 1;
            if (returned) change([](int x) { return -x; });
            for (int k = 0; k <= n && !returned; ++k) {
                pass(k);
                returned = k + g == 3;
                if (returned) change([](int x) { return 1000 + x; });
            }
        }
        EXPECT_EQ(a.download(), want) << items;
    }
}

}  // namespace
