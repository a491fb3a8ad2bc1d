// 64-bit integers in every place where values may stand.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace integers64_test {
struct Account {
    int32_t id;
    int64_t balance;
    uint64_t turnover;
    float share;
};
}  // namespace integers64_test
PUMICE_STRUCT(integers64_test::Account, id, balance, turnover, share);

namespace {
using integers64_test::Account;

TEST(Types, Integers64InMemoryAndControlFlow) {
    const auto k = kernel("accounts", [](InOut<Account> accounts, Out<int64_t> sums, Val<int64_t> offset, Val<uint64_t> big) {
        Local<int64_t, 8> local;
        Private<uint64_t, 4> own;
        auto i = global_index(), l = local_index();
        auto a = accounts[i];
        $for(j, range(4)) { own[j] = big + cast<uint64_t>(j); }
        local[l] = a.balance + offset;
        synchronize();
        Var sum = Val<int64_t>(0);
        $for(j, range(local[0] - local[0], cast<int64_t>(group_size()))) { sum += local[j]; }
        $for(j, range(Val<int64_t>(10), -Val<int64_t>(10), Val<int64_t>(-4))) { sum -= j; }
        $for(j, range(Val<uint64_t>(0u), Val<uint64_t>(9u), cast<uint64_t>(l + 1))) { sum += cast<int64_t>(j) << 33; }
        $while(sum > (int64_t(1) << 40)) { sum = sum / 3; }
        sums[i] = select(sum == 0, offset, sum);
        accounts[i].turnover = a.turnover + own[i % 4];
        accounts[i].balance = -a.balance;
    });
    const int n = 16;
    const int64_t offset = int64_t(-3) << 34;
    const uint64_t big = 0xfffffffffffffff0u;
    std::vector<Account> accounts;
    for (int i = 0; i < n; ++i) accounts.push_back({i, (int64_t(i) << 38) - 5, uint64_t(i) * 0x123456789abcdu, float(i)});
    Array<Account> a = device().upload(accounts);
    Array<int64_t> sums = device().zeros<int64_t>(n);
    k(ndrange(n).group(8), a, sums, offset, big);
    const std::vector<int64_t> got = sums.download();
    const std::vector<Account> after = a.download();
    for (int i = 0; i < n; ++i) {
        const int l = i % 8;
        uint64_t sum = 0;
        for (int j = 0; j < 8; ++j) sum += uint64_t(accounts[size_t(i / 8 * 8 + j)].balance + offset);
        for (int64_t j = 10; j > -10; j -= 4) sum -= uint64_t(j);
        for (uint64_t j = 0; j < 9; j += uint64_t(l + 1)) sum += j << 33;
        int64_t want = int64_t(sum);
        while (want > (int64_t(1) << 40)) want /= 3;
        EXPECT_EQ(got[size_t(i)], want == 0 ? offset : want) << i;
        EXPECT_EQ(after[size_t(i)].turnover, accounts[size_t(i)].turnover + big + uint64_t(i % 4)) << i;
        EXPECT_EQ(after[size_t(i)].balance, -accounts[size_t(i)].balance) << i;
        EXPECT_EQ(after[size_t(i)].id, i);
        EXPECT_EQ(after[size_t(i)].share, float(i));
    }
}

// A step that would carry the index past the limit of its type ends the loop.
const auto compare_widened = kernel("compare_widened", [](Out<int> y, In<int> a, Val<int64_t> from) {
    auto i = global_index();
    const auto wide = cast<int64_t>(a[i]);
    int n = 0;
    const auto put = [&](Val<bool> holds) { y[n++ * 8 + i] = select(holds, 1, 0); };
    put(wide < 29), put(wide <= 29), put(wide > 29), put(wide >= 29), put(wide == 29), put(wide != 29);
    put(wide < 0), put(29 < wide), put(-5 <= wide), put(wide <= (int64_t(1) << 40)), put(wide >= -(int64_t(1) << 40));
    put(cast<int64_t>(a[i] + 0x7fffffc0) < 0);
    put(min(wide, Val<int64_t>(29)) == 29), put(max(wide, Val<int64_t>(0)) == 0), put(abs(wide) < 6);
    Var below = 0;
    $for(q, range(from, wide, int64_t(1))) { below += select(q < 3, 1, 0); }
    y[n * 8 + i] = below;
});

/// Drivers fold comparisons of widened integers with constants, sometimes wrongly.
TEST(Types, WidenedIntegersCompareWithConstants) {
    const std::vector<int> a{-100, -5, -1, 0, 28, 29, 30, 100};
    Array<int> y = device().zeros<int>(16 * 8);
    compare_widened(ndrange(8), y, device().upload(a), int64_t(-2));
    const std::vector<int> got = y.download();
    for (int i = 0; i < 8; ++i) {
        const int64_t w = a[size_t(i)], wrapped = int32_t(uint32_t(a[size_t(i)]) + 0x7fffffc0u);
        const bool expected[] = {w < 29, w <= 29, w > 29,  w >= 29, w == 29, w != 29,
                                 w < 0,  w > 29,  w >= -5, true,    true,    wrapped<0, w >= 29, w <= 0, w> - 6 && w < 6};
        for (size_t n = 0; n < std::size(expected); ++n)
            EXPECT_EQ(got[n * 8 + size_t(i)], int(expected[n])) << "comparison " << n << " of " << w;
        EXPECT_EQ(got[15 * 8 + size_t(i)], std::max<int64_t>(0, std::min<int64_t>(w, 3) + 2)) << w;
    }
}

TEST(Types, Loops64EndAtTheLimitsOfTheirType) {
    const auto k = kernel("limits", [](Out<int> n, Val<int64_t> from, Val<int64_t> to, Val<int64_t> by) {
        Var count = Val<int>(0);
        $for(j, range(from, to, by)) { count += 1; }
        n[0] = count;
    });
    const auto times = [&](int64_t from, int64_t to, int64_t by) {
        Array<int> n = device().zeros<int>(1);
        k(ndrange(1), n, from, to, by);
        return n.download()[0];
    };
    EXPECT_EQ(times(INT64_MAX - 3, INT64_MAX, 2), 2);
    EXPECT_EQ(times(INT64_MIN + 3, INT64_MIN, -2), 2);
    EXPECT_EQ(times(-2, 3, INT64_MAX), 1);
    EXPECT_EQ(times(0, 5, 0), 0);
    EXPECT_EQ(times(5, 0, 1), 0);
    EXPECT_EQ(times(0, 5, 2), 3);
}

}  // namespace
