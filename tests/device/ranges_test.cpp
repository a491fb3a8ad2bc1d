// Ranges, groups and indices.
#include <limits>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

const auto count_items = kernel("count_items", [](InOut<int> hits, InOut<int> groups) {
    auto i = global_index();
    hits[i] += 1;
    $if(local_index() == 0) { atomic_add(groups[0], 1); }
});

TEST(Ranges, GroupsOf64) {
    for (const auto& [n, groups] : {std::pair{128, 2}, {129, 3}, {1, 1}, {63, 1}}) {
        Array<int> hits = device().zeros<int>(n + 64), group_hits = device().zeros<int>(1);
        count_items(ndrange(n).group(64), hits, group_hits);
        std::vector<int> want(n + 64, 0);
        std::fill_n(want.begin(), n, 1);
        EXPECT_EQ(hits.download(), want);
        EXPECT_EQ(group_hits.download()[0], groups);
    }
}

TEST(Ranges, NoGroupGiven) {
    for (const int n : {1, 7, 1000, 4099}) {
        Array<int> hits = device().zeros<int>(n), groups = device().zeros<int>(1);
        count_items(ndrange(n), hits, groups);
        EXPECT_EQ(hits.download(), std::vector<int>(n, 1));
    }
}

const auto static_sizes = kernel("static_sizes", static_group<4, 8>, static_range<16, 20>, [](Out<int, 2> out) {
    auto [i, j] = global_index<2>();
    auto [gy, gx] = group_size<2>();
    auto [y, x] = local_index<2>();
    out(i, j) = (y * gx + x) * 100 + gy + global_size<2>()[1] + group_count<2>()[1];
});
const auto static_group_only = kernel("static_group_only", static_group<8>, whole_groups, [](InOut<int> out) {
    Local<int> tile(group_size());
    tile[local_index()] = local_index();
    synchronize();
    $if(in_range()) { out[global_index()] = tile[group_size() - 1 - local_index()]; }
});
const auto static_range_only =
    kernel("static_range_only", static_range<12>, [](Out<int> out) { out[global_index()] = global_index() + global_size(); });

TEST(Ranges, StaticGroupAndRange) {
    std::vector<int> want(16 * 20);
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 20; ++j) want[size_t(i * 20 + j)] = (i % 4 * 8 + j % 8) * 100 + 4 + 20 + 3;
    for (const Range& range : {ndrange(16, 20).group(4, 8), ndrange(16, 20), ndrange().group(4, 8), ndrange()}) {
        Array<int, 2> out = device().zeros<int>({16, 20});
        static_sizes(range, out);
        EXPECT_EQ(out.download(), want);
    }
    Array<int> out = device().full<int>(12, -1);
    static_group_only(ndrange(12), out);
    EXPECT_EQ(out.download(), (std::vector<int>{7, 6, 5, 4, 3, 2, 1, 0, 7, 6, 5, 4}));
    static_range_only(ndrange().group(5), out);
    EXPECT_EQ(out.download(), suite::iota<int>(12, 12));
    static_range_only(ndrange(), out);
    EXPECT_EQ(out.download(), suite::iota<int>(12, 12));
    const AnyKernel read = parse_ir(static_sizes.ir());
    Array<int, 2> again = device().zeros<int>({16, 20});
    read(ndrange(), again);
    EXPECT_EQ(again.download(), want);
}

// Kernels that differ only in their static sizes have separate code, in this process and in the disk cache.
TEST(Ranges, KernelsThatDifferOnlyInTheirStaticSizes) {
    const auto body = [](InOut<int> out) { out[global_index()] += 1; };
    const auto fixed = kernel("same", static_group<64>, static_range<1024>, body),
               group_only = kernel("same", static_group<64>, body), free = kernel("same", body);
    Array<int> out = device().zeros<int>(1024);
    fixed(ndrange(), out);
    EXPECT_EQ(out.download(), std::vector<int>(1024, 1));
    std::vector<int> want(1024, 1);
    free(ndrange(1000).group(64), out);
    std::fill_n(want.begin(), 1000, 2);
    EXPECT_EQ(out.download(), want) << "items past the range write";
    group_only(ndrange(900), out);
    std::fill_n(want.begin(), 900, 3);
    EXPECT_EQ(out.download(), want) << "items past the range write";
    const auto folded = [](InOut<int, 4> out) {
        auto [a, b, c, d] = global_index<4>();
        out(a, b, c, d) += 1;
    };
    const auto cube = [](InOut<int, 3> out) {
        auto [a, b, c] = global_index<3>();
        out(a, b, c) += 1;
    };
    Array<int, 4> four = device().zeros<int>({3, 2, 2, 5});
    Array<int, 3> three = device().zeros<int>({6, 2, 5});
    kernel("same", folded)(ndrange(3, 2, 2, 5), four);
    kernel("same", cube)(ndrange(6, 2, 5), three);
    EXPECT_EQ(four.download(), std::vector<int>(60, 1));
    EXPECT_EQ(three.download(), std::vector<int>(60, 1));
}

const auto linear_2d = kernel("linear_2d", [](InOut<int> hits, InOut<int, 2> place) {
    auto [i, j] = global_index<2>();
    hits[global_index_linear()] += 1;
    place(i, j) = global_index_linear();
});

TEST(Ranges, GlobalLinearIndexCoversTheRangeOnce) {
    Array<int> hits = device().zeros<int>(256);
    Array<int, 2> place = device().full<int>({16, 16}, -1);
    linear_2d(ndrange(16, 16).group(8, 8), hits, place);
    EXPECT_EQ(hits.download(), std::vector<int>(256, 1));
    EXPECT_EQ(place.download(), suite::iota<int>(256));  // row-major
}

const auto local_1d = kernel("local_1d", [](Out<int> out) { out[global_index()] = local_index(); });
const auto local_2d = kernel("local_2d", [](Out<int, 2> out) {
    auto [i, j] = global_index<2>();
    out(i, j) = local_index_linear();
});

TEST(Ranges, LocalIndexRestartsInEachGroup) {
    for (const int g : {8, 16}) {
        Array<int> out = device().zeros<int>(64);
        local_1d(ndrange(64).group(g), out);
        std::vector<int> want(64);
        for (int i = 0; i < 64; ++i) want[i] = i % g;
        EXPECT_EQ(out.download(), want);
    }
    Array<int, 2> out = device().zeros<int>({16, 4});
    local_2d(ndrange(16, 4).group(8, 2), out);
    std::vector<int> want(64);
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 4; ++j) want[i * 4 + j] = i % 8 * 2 + j % 2;
    EXPECT_EQ(out.download(), want);
}

const auto mark_2d = kernel("mark_2d", [](InOut<int, 2> out) {
    auto [i, j] = global_index<2>();
    out(i, j) += 1;
});

TEST(Ranges, PartialGroups) {
    Array<int, 2> out = device().zeros<int>({9, 9});
    mark_2d(ndrange(7, 7).group(4, 4), out);
    std::vector<int> want(81, 0);
    for (int i = 0; i < 7; ++i)
        for (int j = 0; j < 7; ++j) want[i * 9 + j] = 1;
    EXPECT_EQ(out.download(), want);

    Array<int> line = device().zeros<int>(8);
    local_1d(ndrange(5).group(8), line);
    EXPECT_EQ(line.download(), (std::vector<int>{0, 1, 2, 3, 4, 0, 0, 0}));
}

const auto sizes_3d = kernel("sizes_3d", [](Out<int> out) {
    auto [x, y, z] = global_size<3>();
    auto [gx, gy, gz] = group_size<3>();
    auto [cx, cy, cz] = group_count<3>();
    auto [i, j, k] = group_index<3>();
    $if(global_index_linear() == 5 * 7 * 13 - 1) {
        out[0] = x;
        out[1] = y;
        out[2] = z;
        out[3] = gx;
        out[4] = gy;
        out[5] = gz;
        out[6] = cx;
        out[7] = cy;
        out[8] = cz;
        out[9] = i;
        out[10] = j;
        out[11] = k;
        out[12] = group_size_linear();
        out[13] = group_count_linear();
        out[14] = group_index_linear();
    }
});

TEST(Ranges, SizesInThreeDimensions) {
    Array<int> out = device().zeros<int>(15);
    sizes_3d(ndrange(5, 7, 13).group(2, 4, 8), out);
    EXPECT_EQ(out.download(), (std::vector<int>{5, 7, 13, 2, 4, 8, 3, 2, 2, 2, 1, 1, 64, 12, 11}));
}

TEST(Ranges, WrongRankIsAnError) {
    Array<int> hits = device().zeros<int>(4), groups = device().zeros<int>(1);
    const std::string message = suite::message_of([&] { count_items(ndrange(2, 2), hits, groups); });
    EXPECT_NE(message.find("kernel \"count_items\" (ranges_test.cpp:"), std::string::npos) << message;
    EXPECT_NE(message.find("it is launched over a 2-dimensional range and uses 1-dimensional indices"), std::string::npos)
        << message;
}

const auto five = kernel("five", [](Out<int, 5> out, InOut<int> sizes) {
    auto [a, b, c, d, e] = global_index<5>();
    auto size = global_size<5>();
    auto group = group_index<5>();
    auto local = local_index<5>();
    out(a, b, c, d, e) = (((a * 10 + b) * 10 + c) * 10 + d) * 10 + e;
    // Groups extend along the last two dimensions.
    $if((group[0] != a - 1) || (group[1] != b) || (group[2] != c) || (group[3] * group_size<5>()[3] + local[3] != d) ||
        (local[0] + local[1] + local[2] != 0)) {
        atomic_add(sizes[5], 1);
    }
    $if(global_index_linear() == global_size_linear() - 1) {
        for (int k = 0; k < 5; ++k) sizes[k] = size[size_t(k)] * 100 + out.size(k);
    }
});

TEST(Ranges, FiveDimensionsWithOffsets) {
    for (const bool grouped : {false, true}) {
        Array<int, 5> out = device().full<int>({3, 4, 2, 5, 6}, -1);
        Array<int> sizes = device().zeros<int>(6);
        const Range range = ndrange({1, 0, 0, 0, 0}, {3, 4, 2, 5, 5});
        five(grouped ? range.group(1, 1, 1, 2, 4) : range, out, sizes);
        const std::vector<int> got = out.download();
        size_t n = 0;
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 4; ++b)
                for (int c = 0; c < 2; ++c)
                    for (int d = 0; d < 5; ++d)
                        for (int e = 0; e < 6; ++e, ++n)
                            EXPECT_EQ(got[n], a == 0 || e == 5 ? -1 : (((a * 10 + b) * 10 + c) * 10 + d) * 10 + e) << n;
        EXPECT_EQ(sizes.download(), (std::vector<int>{203, 404, 202, 505, 506, 0}));
    }
    // The text names the sizes that the launch sets.
    const AnyKernel read = parse_ir(five.ir());
    Array<int, 5> out = device().full<int>({3, 4, 2, 5, 6}, -1);
    Array<int> sizes = device().zeros<int>(6);
    read(ndrange(3, 4, 2, 5, 6), out, sizes);
    EXPECT_EQ(out.download()[719], 23145);
}

const auto six = kernel("six", [](InOut<int, 6> a) {
    auto i = global_index<6>();
    Private<int, 1, 2, 1, 2, 1, 3> p;
    p(0, 1, 0, 1, 0, 2) = a(i[0], i[1], i[2], i[3], i[4], i[5]);
    a(i[0], i[1], i[2], i[3], i[4], i[5]) = p[11] * 2 + i[5];
});
const auto any_rank =
    kernel("any_rank", [](Out<int> a) { a[global_index_linear()] = global_index_linear() + global_size_linear(); });

TEST(Ranges, SixDimensionsAndAnyRank) {
    Array<int, 6> a = device().upload(suite::iota<int>(64), {2, 2, 2, 2, 2, 2});
    six(ndrange(2, 2, 2, 2, 2, 2), a);
    for (int n = 0; n < 64; ++n) EXPECT_EQ(a.download()[size_t(n)], 2 * n + n % 2);
    Array<int> b = device().zeros<int>(48);
    any_rank(ndrange(2, 3, 2, 4), b);
    EXPECT_EQ(b.download(), suite::iota<int>(48, 48));
}

TEST(Ranges, EmptyRangesDoNothing) {
    Array<int> hits = device().zeros<int>(4), groups = device().zeros<int>(1);
    count_items(ndrange(1), hits, groups);
    count_items(ndrange(0), hits, groups).wait();
    count_items(ndrange(1), hits, groups);
    EXPECT_EQ(hits.download(), (std::vector<int>{2, 0, 0, 0}));
    Array<int, 2> plane = device().zeros<int>({2, 2});
    mark_2d(ndrange(0, 2), plane);
    mark_2d(ndrange(2, 0), plane);
    EXPECT_EQ(plane.download(), std::vector<int>(4, 0));
    Array<int> out = device().full<int>(15, -1);
    for (const Range& range : {ndrange(0, 7, 13), ndrange(5, 0, 13), ndrange(5, 7, 0)}) sizes_3d(range, out);
    EXPECT_EQ(out.download(), std::vector<int>(15, -1));
    sizes_3d(ndrange(5, 7, 13), out);
    EXPECT_EQ(out.get(2), 13);
}

TEST(Ranges, GroupPastTheLimitIsAnError) {
    Array<int> hits = device().zeros<int>(4), groups = device().zeros<int>(1);
    const int64_t limit = device().limits().max_group_extent[0];
    const std::string message = suite::message_of([&] { count_items(ndrange(4).group(limit * 2), hits, groups); });
    EXPECT_NE(
        message.find(text("its group has extent ", limit * 2, " along dimension 0; the limit of ", device().name(), " is ")),
        std::string::npos)
        << message;
    EXPECT_NE(
        suite::message_of([&] { count_items(ndrange(-3), hits, groups); }).find("its range has extent -3 along dimension 0"),
        std::string::npos);
    EXPECT_NE(suite::message_of([&] {
                  count_items(ndrange(4).group(0), hits, groups);
              }).find("its group has extent 0 along dimension 0"),
              std::string::npos);
    EXPECT_NE(suite::message_of([&] {
                  count_items(ndrange(4).group(2, 2), hits, groups);
              }).find("its group has 2 dimensions and its range 1"),
              std::string::npos);
    count_items(ndrange(4), hits, groups);
    EXPECT_EQ(hits.download(), std::vector<int>(4, 1));
}

const auto group_extents = kernel("group_extents", [](Out<int> out) {
    $if(global_index_linear() == 0) { out[0] = group_size_linear(); }
});

TEST(Ranges, ChosenGroupsAreWithinLimits) {
    const Limits limits = device().limits();
    Array<int> out = device().zeros<int>(1);
    for (const Range& r :
         {ndrange(1), ndrange(1000), ndrange(100, 3), ndrange(1, 77), ndrange(5, 7, 13), ndrange(1, 1, 1), ndrange(300, 1, 2)}) {
        group_extents(r, out);
        const int n = out.download()[0];
        EXPECT_GE(n, 1);
        EXPECT_LE(n, limits.max_group_size);
    }
    for (const Range& r : {ndrange(100'000), ndrange(300, 400), ndrange(50, 70, 13)}) {  // no lane of a subgroup is left idle
        group_extents(r, out);
        EXPECT_GE(out.download()[0], limits.subgroup_size);
    }
}

const auto offset_2d = kernel("offset_2d", [](Out<int, 2> out) {
    auto [i, j] = global_index<2>();
    out(i, j) = 100 * i + j;
});

TEST(Ranges, OffsetsAreIncludedInTheIndex) {
    Array<int, 2> out = device().full<int>({6, 5}, -1);
    offset_2d(ndrange({2, 1}, {5, 4}), out);
    std::vector<int> want(30, -1);
    for (int i = 2; i < 5; ++i)
        for (int j = 1; j < 4; ++j) want[i * 5 + j] = 100 * i + j;
    EXPECT_EQ(out.download(), want);
}

const auto neighbours = kernel("neighbours", [](Out<int> out) {
    Local<int, 16> seen;
    auto i = global_index(), l = local_index();
    seen[l] = i;
    synchronize();
    out[i] = select(in_range(), seen[l ^ 1], -2);
});
const auto neighbours_whole = kernel("neighbours_whole", whole_groups, [](Out<int> out, Out<int> inside) {
    Local<int, 16> seen;
    auto i = global_index(), l = local_index();
    seen[l] = i;
    synchronize();
    out[i] = seen[l ^ 1];
    inside[i] = select(in_range(), 1, 0);
});

TEST(Ranges, LaunchesWithFullAndPartialGroupsAlternate) {
    // Ranges with and without a partial group alternate: each launch gets the right version.
    for (const int n : {32, 30, 64, 18, 48}) {
        Array<int> out = device().full<int>(64, -1), whole = device().full<int>(64, -1), inside = device().full<int>(64, -1);
        Array<int> hits = device().zeros<int>(64), groups = device().zeros<int>(1);
        neighbours(ndrange(n).group(16), out);
        neighbours_whole(ndrange(n).group(16), whole, inside);
        count_items(ndrange(n).group(16), hits, groups);
        std::vector<int> want(64, -1), want_whole(64, -1), want_inside(64, -1), want_hits(64, 0);
        for (int i = 0; i < (n + 15) / 16 * 16; ++i) want_whole[size_t(i)] = i ^ 1, want_inside[size_t(i)] = i < n;
        for (int i = 0; i < n; ++i) want[size_t(i)] = i ^ 1, want_hits[size_t(i)] = 1;
        EXPECT_EQ(out.download(), want) << n;
        EXPECT_EQ(whole.download(), want_whole) << n;
        EXPECT_EQ(inside.download(), want_inside) << n;
        EXPECT_EQ(hits.download(), want_hits) << n;
    }
}

const auto many_groups = kernel("many_groups", [](Out<int> out) {
    auto i = global_index();
    $if(local_index() == group_size() - 1) { out[group_index()] = i; }
});

TEST(Ranges, MoreGroupsThan65535) {
    const int groups = 65'536 + 3, size = 2;
    Array<int> out = device().full<int>(groups, -1);
    many_groups(ndrange(groups * size).group(size), out);
    std::vector<int> want(groups);
    for (int g = 0; g < groups; ++g) want[g] = g * size + size - 1;
    EXPECT_EQ(out.download(), want);
}

const auto whole = kernel("whole", whole_groups, [](InOut<int> inside, InOut<int> outside) {
    $if(in_range()) { atomic_add(inside[0], 1); }
    $else { atomic_add(outside[0], 1); }
});

TEST(Ranges, WholeGroupsRunPastTheRange) {
    Array<int> inside = device().zeros<int>(1), outside = device().zeros<int>(1);
    whole(ndrange(10).group(8), inside, outside);
    EXPECT_EQ(inside.download()[0], 10);
    EXPECT_EQ(outside.download()[0], 6);
}

// Kernels may be compiled without guards for whole groups: one kernel and group, with and without a partial group, in turns.
const auto turn = kernel("turn", [](InOut<int> a) {
    Local<int, 16> ring;
    auto i = global_index();
    auto l = local_index();
    ring[l] = a[i];
    synchronize();
    auto next = ring[(l + 1) % 8];
    synchronize();
    a[i] = next;
});

TEST(Ranges, OneKernelWithWholeAndPartialGroups) {
    Array<int> a = device().zeros<int>(40);
    for (const int n : {32, 40, 24}) {  // groups of 8, all whole; then the last group of 16 is half full
        a.copy_from(suite::iota<int>(40));
        turn(ndrange(n).group(8), a);
        std::vector<int> want = suite::iota<int>(40);
        for (int i = 0; i < n; ++i) want[size_t(i)] = i / 8 * 8 + (i + 1) % 8;
        EXPECT_EQ(a.download(), want);
        a.copy_from(suite::iota<int>(40));
        turn(ndrange(n).group(16), a);
        want = suite::iota<int>(40);
        for (int i = 0; i < n; ++i) want[size_t(i)] = i / 16 * 16 + (i % 16 + 1) % 8;
        EXPECT_EQ(a.download(), want);
    }
}

// Grid-stride loops: each item goes through its own elements, none is visited twice, and carried values belong to the item.
const auto strides = kernel("strides", [](InOut<int> hits, Out<int> sums, In<int> x, Val<int> end) {
    Var sum = 0, last = -1;
    $for(i, range(global_index(), end, global_size())) {
        hits[i] += 1;
        sum += x[i];
        last = i;
    }
    sums[global_index()] = sum * 1000 + last % 1000;
});
const auto group_strides = kernel("group_strides", [](InOut<int> totals, In<int> x) {
    Local<int, 1> total;
    $if(local_index() == 0) { total[0] = 0; }
    synchronize();
    $for(i, range(local_index(), x.size(), group_size())) {
        $if(x[i] % 3 == 0) { atomic_add(total[0], x[i]); }
    }
    synchronize();
    $if(local_index() == 0) { totals[group_index()] = total[0]; }
});

TEST(Ranges, StridedLoops) {
    constexpr int n = 1000;
    const Array<int> x = device().upload(suite::iota<int>(n));
    for (const auto& [items, group, end] :
         {std::tuple{64, 16, n}, {50, 16, n}, {37, 32, 999}, {7, 8, 3}, {100, 64, 0}, {n, 64, n}}) {
        const Array<int> hits = device().zeros<int>(n), sums = device().zeros<int>(n);
        strides(ndrange(items).group(group), hits, sums, x, end);
        std::vector<int> want(n), want_sums(n);
        std::fill_n(want.begin(), end, 1);
        for (int item = 0; item < items; ++item) {
            int sum = 0, last = -1;
            for (int i = item; i < end; i += items) sum += i, last = i;
            want_sums[size_t(item)] = sum * 1000 + last % 1000;
        }
        EXPECT_EQ(hits.download(), want);
        EXPECT_EQ(sums.download(), want_sums);
    }
    const Array<int> totals = device().zeros<int>(3);
    group_strides(ndrange(90).group(32), totals, x);
    std::vector<int> want(3);
    for (int g = 0; g < 3; ++g)  // the last group has 26 items, which stride by 32
        for (int i = 0; i < n; ++i)
            if (i % 3 == 0 && (g < 2 || i % 32 < 26)) want[size_t(g)] += i;
    EXPECT_EQ(totals.download(), want);
}

const auto span_of_indices = kernel("span_of_indices", [](InOut<int> seen) {
    auto i = global_index();
    atomic_min(seen[0], i);
    atomic_max(seen[1], i);
    atomic_add(seen[2], 1);
});
const auto span_in_rows = kernel("span_in_rows", [](InOut<int> seen) {
    auto [i, j] = global_index<2>();
    atomic_min(seen[0], i);
    atomic_max(seen[1], j);
    atomic_add(seen[2], 1);
});

/// The last group has items beyond the range, whose indices are beyond those of an int.
TEST(Ranges, AtBothEndsOfTheIntegers) {
    constexpr int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
    const auto ran = [](const auto& kernel, const Range& range) {
        const Array<int> seen = device().upload<int>({most, least, 0});
        kernel(range, seen);
        return seen.download();
    };
    using Seen = std::vector<int>;
    for (const int group : {0, 1, 3, 64}) {
        const auto with = [&](Range range) { return group ? range.group(group) : range; };
        EXPECT_EQ(ran(span_of_indices, with(ndrange({most - 100}, {most - 1}))), (Seen{most - 100, most - 2, 99})) << group;
        EXPECT_EQ(ran(span_of_indices, with(ndrange({most - 3}, {most - 1}))), (Seen{most - 3, most - 2, 2})) << group;
        EXPECT_EQ(ran(span_of_indices, with(ndrange({least}, {least + 77}))), (Seen{least, least + 76, 77})) << group;
    }
    EXPECT_EQ(ran(span_in_rows, ndrange({most - 6, most - 5}, {most - 1, most - 1})), (Seen{most - 6, most - 2, 20}));
    EXPECT_EQ(ran(span_in_rows, ndrange({least, most - 5}, {least + 3, most - 1})), (Seen{least, most - 2, 12}));
}

/// One use of in_range(), which is an operand of other operators.
const auto beyond = kernel("beyond", whole_groups, [](InOut<int> seen) { atomic_add(seen[0], select(!in_range(), 1, 100)); });
const auto beyond_rows = kernel("beyond_rows", whole_groups, [](InOut<int> seen) {
    auto [i, j] = global_index<2>();
    atomic_add(seen[0], select((!in_range()) == (i >= 2 || j >= 3), 1, 100));
});

TEST(Ranges, InRangeIsAnOperand) {
    const Array<int> seen = device().zeros<int>(1);
    beyond(ndrange(5).group(4), seen);
    EXPECT_EQ(seen.get(0), 503);
    beyond_rows(ndrange(2, 3).group(2, 2), seen);
    EXPECT_EQ(seen.get(0), 511);
}

}  // namespace
