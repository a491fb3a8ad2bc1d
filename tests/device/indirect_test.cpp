// Indirect ranges: extents that kernels compute.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;
using suite::message_of;

namespace {

const auto count_items = kernel("count_items", [](InOut<int> hits, InOut<int> groups) {
    auto i = global_index();
    hits[i] += 1;
    $if(local_index() == 0) { atomic_add(groups[0], 1); }
});

Array<int> counts_of(std::vector<int> counts) { return device().upload(counts); }

std::vector<int> ones_before(int n, int size) {
    std::vector<int> all(size_t(size), 0);
    std::fill_n(all.begin(), n, 1);
    return all;
}

TEST(Indirect, RunsTheItemsBelowTheCount) {
    for (const int n : {0, 1, 63, 64, 65, 127, 128, 500}) {
        Array<int> hits = device().zeros<int>(600), groups = device().zeros<int>(1);
        count_items(indirect(counts_of({n}), 500).group(64), hits, groups);
        EXPECT_EQ(hits.download(), ones_before(n, 600)) << n;
        EXPECT_EQ(groups.get(0), (n + 63) / 64) << n;
    }
}

TEST(Indirect, TakesTheCountOfTheTimeOfTheLaunch) {
    const auto set = kernel("set", [](Out<uint32_t> counts, Val<uint32_t> n) { counts[0] = n; });
    Array<uint32_t> counts = device().zeros<uint32_t>(1);
    Array<int> a = device().zeros<int>(300), b = device().zeros<int>(300), groups = device().zeros<int>(1);
    set(ndrange(1), counts, 7u);
    count_items(indirect(counts, 300), a, groups);
    set(ndrange(1), counts, 250u);
    count_items(indirect(counts, 300), b, groups);
    count_items(indirect(counts, 300), b, groups);  // two launches from one array
    set(ndrange(1), counts, 9u);
    EXPECT_EQ(a.download(), ones_before(7, 300));
    std::vector<int> twice = ones_before(250, 300);
    for (int& n : twice) n *= 2;
    EXPECT_EQ(b.download(), twice);
}

template <int N> void every_index(const Range& range, const std::vector<int>& extents) {
    const auto write = kernel("write", [](Out<int> out) {
        const auto size = global_size<N>();
        Var<int> product = 1;
        for (int d = 0; d < N; ++d) product = product * size[size_t(d)];
        out[global_index_linear()] = product;
    });
    Array<int> out = device().full<int>(2000, -1);
    write(range, out);
    int items = 1;
    for (const int n : extents) items *= n;
    const std::vector<int> got = out.download();
    for (int i = 0; i < 2000; ++i)
        if (i < items)
            EXPECT_EQ(got[size_t(i)], items) << i;
        else
            EXPECT_EQ(got[size_t(i)], -1) << i;
}

TEST(Indirect, TwoAndThreeDimensionsInWrittenOrder) {
    every_index<2>(indirect(counts_of({5, 17}), 40, 20), {5, 17});
    every_index<2>(indirect(counts_of({1, 20}), 40, 20), {1, 20});
    every_index<2>(indirect(counts_of({0, 20}), 40, 20), {0, 20});
    every_index<3>(indirect(counts_of({3, 5, 17}), 4, 6, 20), {3, 5, 17});
    every_index<3>(indirect(counts_of({9, 9, 3, 5, 17, 9}).slice(2, 5), 4, 6, 20), {3, 5, 17});
}

TEST(Indirect, GroupsAndSizesAreThoseOfTheCount) {
    const auto sizes = kernel("sizes", static_group<4, 8>, [](Out<int, 2> out) {
        auto [i, j] = global_index<2>();
        auto [rows, columns] = global_size<2>();
        auto [down, across] = group_count<2>();
        out(i, j) = ((rows * 100 + columns) * 10 + down) * 10 + across;
    });
    Array<int, 2> out = device().zeros<int>({16, 40});
    sizes(indirect(counts_of({5, 33}), 16, 40), out);
    std::vector<int> want(16 * 40, 0);
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 33; ++j) want[size_t(i * 40 + j)] = ((5 * 100 + 33) * 10 + 2) * 10 + 5;
    EXPECT_EQ(out.download(), want);
}

TEST(Indirect, WholeGroupsRunTheLastGroupWhole) {
    const auto reverse = kernel("reverse", static_group<8>, whole_groups, [](InOut<int> out, InOut<int> ran) {
        Local<int> tile(group_size());
        tile[local_index()] = local_index() + select(in_range(), 0, 100);
        synchronize();
        ran[global_index()] = 1;
        $if(in_range()) { out[global_index()] = tile[group_size() - 1 - local_index()]; }
    });
    Array<int> out = device().full<int>(32, -1), ran = device().zeros<int>(32);
    reverse(indirect(counts_of({11}), 24), out, ran);
    std::vector<int> want(32, -1);
    for (int i = 0; i < 11; ++i) want[size_t(i)] = 7 - i % 8 + (i / 8 * 8 + 7 - i % 8 < 11 ? 0 : 100);
    EXPECT_EQ(out.download(), want);
    EXPECT_EQ(ran.download(), ones_before(16, 32));
}

TEST(Indirect, BarriersAndGroupReductions) {
    const auto sums = kernel("sums", static_group<16>, [](In<int> x, Out<int> sums, Out<int> shifted) {
        Local<int> tile(16);
        auto l = local_index();
        auto i = global_index();
        tile[l] = x[i];
        synchronize();
        shifted[i] = tile[max(l - 1, 0)];
        Val<int> sum = group::reduce_add(x[i]);
        $if(l == 0) { sums[group_index()] = sum; }
    });
    Array<int> x = device().upload(suite::iota<int>(100)), out = device().full<int>(10, -1),
               shifted = device().full<int>(100, -1);
    sums(indirect(counts_of({37}), 100), x, out, shifted);
    EXPECT_EQ(out.download(), (std::vector<int>{120, 376, 32 + 33 + 34 + 35 + 36, -1, -1, -1, -1, -1, -1, -1}));
    std::vector<int> want(100, -1);
    for (int i = 0; i < 37; ++i) want[size_t(i)] = i % 16 == 0 ? i : i - 1;
    EXPECT_EQ(shifted.download(), want);
}

TEST(Indirect, SumsOfAllItems) {
    const auto add = kernel("add", [](In<float> x, InOut<float> sum, InOut<int> histogram) {
        auto i = global_index();
        atomic_add(sum[0], x[i]);
        atomic_add(histogram[i % 4], 1);
    });
    Array<float> x = device().full<float>(5000, 2), sum = device().zeros<float>(1);
    Array<int> histogram = device().zeros<int>(4);
    add(indirect(counts_of({4001}), 5000), x, sum, histogram);
    EXPECT_EQ(sum.get(0), 8002);
    EXPECT_EQ(histogram.download(), (std::vector<int>{1001, 1000, 1000, 1000}));
}

TEST(Indirect, FunctionsSeeTheCount) {
    const auto last = function("last", [](Val<int> i) { return select(i == global_size() - 1, 1, 0); });
    const auto mark = kernel("mark", [last](Out<int> out) { out[global_index()] = last(global_index()); });
    Array<int> out = device().full<int>(20, -1);
    mark(indirect(counts_of({5}), 20), out);
    std::vector<int> want(20, -1);
    std::copy_n(std::vector<int>{0, 0, 0, 0, 1}.begin(), 5, want.begin());
    EXPECT_EQ(out.download(), want);
}

TEST(Indirect, TheLaunchMayOverwriteItsCounts) {
    const auto grow = kernel("grow", [](InOut<int> counts, InOut<int> hits) {
        hits[global_index()] += 1;
        $if(global_index() == 0) { counts[0] = counts[0] * 2; }
    });
    Array<int> counts = counts_of({3}), hits = device().zeros<int>(100);
    for (int n = 0; n < 4; ++n) grow(indirect(counts, 100), counts, hits);
    std::vector<int> want(100, 0);
    for (const int n : {3, 6, 12, 24})
        for (int i = 0; i < n; ++i) ++want[size_t(i)];
    EXPECT_EQ(hits.download(), want);
    EXPECT_EQ(counts.get(0), 48);
}

TEST(Indirect, InOrderOnAStream) {
    const auto produce = kernel("produce", [](In<int> x, InOut<int> counts) { atomic_add(counts[0], x[global_index()]); });
    const Stream stream = device().stream();
    Array<int> x = device().full<int>(1000, 2), counts = device().zeros<int>(1);
    Array<int> hits = device().zeros<int>(4000), groups = device().zeros<int>(1);
    device().synchronize();
    produce(ndrange(1000).on(stream), x, counts);
    count_items(indirect(counts, 4000).on(stream), hits, groups).wait();
    EXPECT_EQ(hits.download(), ones_before(2000, 4000));
}

TEST(Indirect, FromAFunctionThatAStreamCalls) {
    const Stream stream = device().stream();
    Array<int> counts = counts_of({30}), hits = device().zeros<int>(100), groups = device().zeros<int>(1);
    stream.call([&] { count_items(indirect(counts, 100), hits, groups); }).wait();
    device().synchronize();
    EXPECT_EQ(hits.download(), ones_before(30, 100));
}

TEST(Indirect, TimedLaunchesHaveATime) {
    Array<int> hits = device().zeros<int>(100), groups = device().zeros<int>(1);
    const Event launched = count_items(indirect(counts_of({30}), 100).timed(), hits, groups);
    EXPECT_GE(launched.elapsed().count(), 0);
    EXPECT_EQ(hits.download(), ones_before(30, 100));
}

TEST(Indirect, CompactionOfAStream) {
    const auto compact = kernel("compact", [](In<float> x, InOut<uint32_t> count, Out<int> kept) {
        auto i = global_index();
        $if(x[i] > 0.5f) { kept[cast<int>(atomic_add(count[0], 1u))] = i; }
    });
    const auto halve = kernel("halve", [](In<int> kept, InOut<float> x) { x[kept[global_index()]] *= 0.5f; });
    const int n = 3000;
    std::vector<float> host;
    for (int i = 0; i < n; ++i) host.push_back(float(i * 37 % 101) / 100);
    Array<float> x = device().upload(host);
    Array<uint32_t> count = device().zeros<uint32_t>(1);
    Array<int> kept = device().zeros<int>(n);
    compact(ndrange(n), x, count, kept);
    halve(indirect(count, n), kept, x);
    for (float& v : host)
        if (v > 0.5f) v *= 0.5f;
    EXPECT_EQ(x.download(), host);
}

TEST(Indirect, ACountPastItsLimitIsClampedAndReported) {
    Array<int> hits = device().zeros<int>(100), groups = device().zeros<int>(1);
    count_items(indirect(counts_of({60}), 50), hits, groups);
    const std::string message = message_of([] { device().synchronize(); });
    EXPECT_NE(
        message.find("Kernel \"count_items\" fails a requirement: its indirect range has a count of 60 along dimension 0, and "
                     "counts are from 0 to 50: it takes 50"),
        message.npos)
        << message;
    EXPECT_NE(message.find("indirect_test.cpp:10"), message.npos) << message;
    EXPECT_EQ(hits.download(), ones_before(50, 100));  // the application goes on
    count_items(indirect(counts_of({-3}), 50), hits, groups);
    const std::string negative = message_of([] { device().synchronize(); });
    EXPECT_NE(negative.find("a count of -3 along dimension 0, and counts are from 0 to 50: it takes 0"), negative.npos)
        << negative;
    EXPECT_EQ(hits.download(), ones_before(50, 100));
    Array<uint32_t> large = device().upload(std::vector<uint32_t>{4, 4000000000u});
    const auto fill = kernel("fill", [](Out<int, 2> out) { out(global_index<2>()[0], global_index<2>()[1]) = 1; });
    Array<int, 2> out = device().zeros<int>({4, 5});
    fill(indirect(large, 4, 5), out);
    const std::string unsigned_count = message_of([] { device().synchronize(); });
    EXPECT_NE(unsigned_count.find("a count of 4000000000 along dimension 1"), unsigned_count.npos) << unsigned_count;
    EXPECT_EQ(out.download(), std::vector<int>(20, 1));
    count_items(indirect(counts_of({1}), 0), hits, groups);
    EXPECT_NE(message_of([] { device().synchronize(); }).find("counts are from 0 to 0"), message.npos);
}

TEST(Indirect, PrintsAndRequirementsOfItsItems) {
    const Device held = device();
    std::vector<std::string> lines;
    held.on_print([&](const std::string& line) { lines.push_back(line); });
    const auto tell = kernel("tell", [](In<int> x) {
        print("item {} of {}", global_index(), global_size());
        require(x[global_index()] < 2, "{} is small", x[global_index()]);
    });
    Array<int> x = device().upload(suite::iota<int>(10));
    tell(indirect(counts_of({3}), 10), x);
    const std::string message = message_of([] { device().synchronize(); });
    held.on_print({});
    EXPECT_EQ(lines, (std::vector<std::string>{"item 0 of 3", "item 1 of 3", "item 2 of 3"}));
    EXPECT_NE(message.find("Kernel \"tell\" fails a requirement: 2 is small (work-item 2"), message.npos) << message;
}

TEST(Indirect, MoreGroupsThanADispatchMayHave) {
    SKIP_WITHOUT_GROUPS_OF(1);
    const int limit = 70000;  // of groups of one item: lavapipe dispatches 65535
    Array<int> hits = device().zeros<int>(limit), groups = device().zeros<int>(1);
    count_items(indirect(counts_of({69000}), limit).group(1), hits, groups);
    EXPECT_EQ(hits.download(), ones_before(69000, limit));
}

TEST(Indirect, ManyLaunchesOfDifferentKernels) {
    const auto scale = kernel("scale", [](InOut<float> x, Val<float> a) { x[global_index()] *= a; });
    const auto shift = kernel("shift", [](In<float> x, Out<float> y) { y[global_index()] = x[global_index()] + 1.0f; });
    const auto shrink = kernel("shrink", [](InOut<int> counts) { counts[0] = counts[0] - 100; });
    Array<float> x = device().full<float>(2000, 1), y = device().zeros<float>(2000);
    Array<int> counts = counts_of({2000});
    std::vector<float> a(2000, 1), b(2000, 0);
    for (int n = 2000; n > 0; n -= 100) {
        scale(indirect(counts, 2000), x, 2.0f);
        shift(indirect(counts, 2000), x, y);
        shrink(ndrange(1), counts);
        for (int i = 0; i < n; ++i) a[size_t(i)] *= 2, b[size_t(i)] = a[size_t(i)] + 1;
    }
    EXPECT_EQ(x.download(), a);
    EXPECT_EQ(y.download(), b);
}

TEST(Indirect, WrongCountsAreRefused) {
    Array<int> hits = device().zeros<int>(100), groups = device().zeros<int>(1), counts = counts_of({3, 4});
    const auto refusal = [&](const Range& range) { return message_of([&] { count_items(range, hits, groups); }); };
    const auto expect = [&](const Range& range, const std::string& part) {
        const std::string message = refusal(range);
        EXPECT_EQ(message.find("kernel \"count_items\" (indirect_test.cpp:10): "), 0u) << message;
        EXPECT_NE(message.find(part), message.npos) << message;
    };
    expect(indirect(counts, 5), "its indirect range has 1 limit, and the array of its counts has 2 elements");
    expect(indirect(counts, 5, 6), "it is launched over a 2-dimensional range and uses 1-dimensional indices");
    expect(indirect(Array<int>(), 5), "the counts of its indirect range are an array that was never allocated");
    expect(indirect(counts_of({3}), -5), "its indirect range has the limit -5 along dimension 0");
    expect(indirect(counts_of({3}), int64_t(1) << 40), "its indirect range has the limit 1099511627776 along dimension 0");
    Array<int> gone = counts_of({3});
    gone.release();
    expect(indirect(gone, 5), "the counts of its indirect range are an array that was released");
    if (suite::is_checking_device()) return;
    const Device other = Device::open("interp");
    expect(indirect(other.zeros<int>(1), 5), "the counts of its indirect range lie on interp, and argument 1 on ");
}

TEST(Indirect, AKernelWithARangeOfItsOwnIsRefused) {
    const auto fixed = kernel("fixed", static_range<12>, [](Out<int> out) { out[global_index()] = 1; });
    Array<int> out = device().zeros<int>(12);
    const std::string message = message_of([&] { fixed(indirect(counts_of({12}), 12), out); });
    EXPECT_NE(message.find("its range is indirect, and the kernel fixes its range (static_range)"), message.npos) << message;
}

TEST(Indirect, AKernelWithoutArraysRunsOnTheDeviceOfTheCounts) {
    const Device held = device();
    std::vector<std::string> lines;
    held.on_print([&](const std::string& line) { lines.push_back(line); });
    const auto tell = kernel("tell", [] { print("item {}", global_index()); });
    tell(indirect(counts_of({2}), 10));
    device().synchronize();
    held.on_print({});
    EXPECT_EQ(lines, (std::vector<std::string>{"item 0", "item 1"}));
}

}  // namespace
