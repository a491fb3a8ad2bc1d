// Accesses at a constant distance from item to item: members of structs, every n-th element, of every size and length. The bytes
// between them do not change.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

struct Five {
    float a, b, c, d, e;
};
PUMICE_STRUCT(Five, a, b, c, d, e);

struct Eight {
    float3 at, speed;
    int kind;
    uint32_t hits;
};
PUMICE_STRUCT(Eight, at, speed, kind, hits);

/// Members of several sizes.
struct Odd {
    float weight;
    double sum;
    int16_t low, high;
    bool on;
    uint8_t tag;
};
PUMICE_STRUCT(Odd, weight, sum, low, high, on, tag);

namespace {

/// Around packets of 4 to 64 items, without and with a given group.
const std::vector<int> lengths{1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 255, 257, 1030};

template <class T> std::vector<T> numbers(int64_t n) {
    std::vector<T> v(static_cast<size_t>(n));
    for (size_t i = 0; i < v.size(); ++i) v[i] = T(int(i * 37 % 101) - 50);
    return v;
}

/// y[s i + o + 1] = x[s i + o] + 1 for some of the o below s, at each stride.
template <class T, int stride> void every_nth(const std::vector<int>& some) {
    const Device d = device();
    const auto k = kernel("every_nth", [=](InOut<T> y, In<T> x) {
        auto i = global_index();
        for (const int o : some) y[stride * i + (o + 1)] = x[stride * i + o] + T(1);
    });
    for (const int n : lengths) {
        const int64_t size = int64_t(stride) * (n - 1) + some.back() + 2;  // the array ends with the last item's element
        const std::vector<T> x = numbers<T>(size);
        Array<T> y = d.upload(numbers<T>(size));
        std::vector<T> want = y.download();
        k(ndrange(n), y, d.upload(x));
        for (int i = 0; i < n; ++i)
            for (const int o : some) want[size_t(stride * i + o + 1)] = T(x[size_t(stride * i + o)] + T(1));
        ASSERT_EQ(y.download(), want) << n << " items, stride " << stride << ", " << some.size() << " of them";
    }
}

template <class T> class Strided : public testing::Test {};
using Elements = testing::Types<float, int32_t, double, int64_t, int16_t, uint8_t>;
TYPED_TEST_SUITE(Strided, Elements);

TYPED_TEST(Strided, EveryNthElement) {
    using T = TypeParam;
    if (const auto missing =
            suite::message_of([] { kernel("missing", [](InOut<T> y) { y[0] = T(1); })(ndrange(1), device().zeros<T>(1)); });
        missing != "(no error)")
        GTEST_SKIP() << "SKIPPED: " << missing;
    every_nth<T, 2>({0, 1}), every_nth<T, 3>({0, 2}), every_nth<T, 8>({0, 1, 2, 3, 4, 5, 6, 7});
    // The others are about the vectors of the device cpu. Drivers take long to compile so many kernels.
    if (device().name().starts_with("vulkan")) return;
    every_nth<T, 2>({0}), every_nth<T, 3>({1}), every_nth<T, 3>({0, 1, 2});
    every_nth<T, 4>({0}), every_nth<T, 4>({0, 1, 3}), every_nth<T, 4>({0, 1, 2, 3});
    every_nth<T, 5>({0, 1, 2, 3, 4}), every_nth<T, 6>({0, 1, 2, 3, 4, 5}), every_nth<T, 7>({1, 5});
    every_nth<T, 12>({0, 3, 4, 7}), every_nth<T, 16>({0, 1, 2, 3, 8, 9, 10, 11}), every_nth<T, 19>({0, 1, 2, 3, 4});
}

TEST(StridedStructs, WholeStructsAndSingleMembers) {
    const Device d = device();
    const auto whole = kernel("whole", [](Out<Five> to, In<Five> from) {
        auto i = global_index();
        Var<Five> v = from[i];
        v.a = v.b + v.e, v.d = v.c * 2.0f;
        to[i] = v;
    });
    const auto part = kernel("part", [](InOut<Five> p, In<float> x) {
        auto i = global_index();
        p[i].b = p[i].a + x[i];
        p[i].d = p[i].b * 2.0f;
    });
    for (const int n : lengths) {
        std::vector<Five> host(size_t(n) + 1), want;
        for (size_t i = 0; i < host.size(); ++i) host[i] = {float(i), float(i) + 0.25f, -float(i), 7, float(i) * 0.5f};
        Array<Five> from = d.upload(host), to = d.upload(host);
        whole(ndrange(n), to, from);
        const std::vector<Five> got = to.download();
        for (int i = 0; i <= n; ++i) {
            const Five& f = host[size_t(i)];
            const Five expected = i == n ? f : Five{f.b + f.e, f.b, f.c, f.c * 2, f.e};
            ASSERT_TRUE(got[size_t(i)].a == expected.a && got[size_t(i)].b == expected.b && got[size_t(i)].c == expected.c &&
                        got[size_t(i)].d == expected.d && got[size_t(i)].e == expected.e)
                << i << " of " << n;
        }
        part(ndrange(n), from, d.upload(numbers<float>(n)));
        const std::vector<Five> changed = from.download();
        const std::vector<float> x = numbers<float>(n);
        for (int i = 0; i <= n; ++i) {
            Five f = host[size_t(i)];
            if (i < n) f.b = f.a + x[size_t(i)], f.d = f.b * 2;
            const Five& g = changed[size_t(i)];
            ASSERT_TRUE(g.a == f.a && g.b == f.b && g.c == f.c && g.d == f.d && g.e == f.e) << i << " of " << n;
        }
    }
}

/// Loads and stores of neighbours' members in program order, with an offset and under a condition.
TEST(StridedStructs, MembersOfNeighboursUnderConditions) {
    const Device d = device();
    const auto k = kernel("neighbours", [](InOut<Eight> p, In<Eight> q, Val<int> from, Val<int> most) {
        auto i = global_index() + from;
        $if(i < most) {
            p[i].at = q[i - 1].at + q[i + 1].at;
            p[i].speed.y = p[i].at.x - q[i].speed.z;
            p[i].kind = q[i + 1].kind - q[i].kind;
            $if(i % 3 == 0) { p[i].hits = q[i].hits + 1u; }
        }
    });
    for (const int n : lengths)
        for (const int from : {1, 2, 5}) {
            std::vector<Eight> q(size_t(n) + 8);
            for (size_t i = 0; i < q.size(); ++i) {
                const float f = float(i);
                q[i] = {{f, f + 1, f + 2}, {2 * f, 3 * f, 5 * f}, int(i * i), uint32_t(i)};
            }
            std::vector<Eight> want = q;
            Array<Eight> p = d.upload(q);
            const int most = n + from - (n > 2 ? 2 : 0);
            k(ndrange(n), p, d.upload(q), from, most);
            for (int i = from; i < std::min(n + from, most); ++i) {
                Eight& w = want[size_t(i)];
                const Eight &a = q[size_t(i - 1)], &b = q[size_t(i)], &c = q[size_t(i + 1)];
                w.at = {a.at.x + c.at.x, a.at.y + c.at.y, a.at.z + c.at.z};
                w.speed.y = w.at.x - b.speed.z, w.kind = c.kind - b.kind;
                if (i % 3 == 0) w.hits = b.hits + 1;
            }
            const std::vector<Eight> got = p.download();
            for (size_t i = 0; i < got.size(); ++i)
                ASSERT_TRUE(got[i].at == want[i].at && got[i].speed == want[i].speed && got[i].kind == want[i].kind &&
                            got[i].hits == want[i].hits)
                    << i << " of " << n << " from " << from;
        }
}

TEST(StridedStructs, MembersOfSeveralSizes) {
    const Device d = device();
    const auto k = kernel("sizes", [](InOut<Odd> p) {
        auto i = global_index();
        p[i].weight = p[i].weight + 1.0f;
        p[i].low = p[i].high;
        p[i].on = !p[i].on;
        p[i].tag = p[i].tag + uint8_t(3);
    });
    Array<Odd> probe = d.upload(std::vector<Odd>(1));
    if (const std::string missing = suite::message_of([&] { k(ndrange(1), probe); }); missing != "(no error)")
        GTEST_SKIP() << "SKIPPED: " << missing;
    for (const int n : lengths) {
        std::vector<Odd> host(size_t(n) + 1);
        for (size_t i = 0; i < host.size(); ++i)
            host[i] = {float(i), double(i) / 3, int16_t(i), int16_t(-int(i)), i % 2 == 0, uint8_t(i)};
        Array<Odd> p = d.upload(host);
        k(ndrange(n), p);
        const std::vector<Odd> got = p.download();
        for (size_t i = 0; i < got.size(); ++i) {
            const bool run = int(i) < n;
            const Odd &h = host[i], &g = got[i];
            ASSERT_TRUE(g.weight == h.weight + float(run) && g.sum == h.sum && g.low == (run ? h.high : h.low) &&
                        g.high == h.high && g.on == (h.on != run) && g.tag == uint8_t(h.tag + 3 * run))
                << i << " of " << n;
        }
    }
}

TEST(StridedStructs, ShortIndices) {
    const Device d = device();
    const auto k = kernel("short_indices", [](InOut<float> y, In<float> x) {
        auto i = cast<int16_t>(global_index());
        y[i * int16_t(3)] = x[i * int16_t(2)] + x[i * int16_t(2) + int16_t(1)];
    });
    Array<float> y = d.zeros<float>(1);
    const std::vector<float> x = numbers<float>(200);
    if (const std::string missing = suite::message_of([&] { k(ndrange(1), y, d.upload(x)); }); missing != "(no error)")
        GTEST_SKIP() << "SKIPPED: " << missing;
    y = d.zeros<float>(298);
    k(ndrange(100), y, d.upload(x));
    const std::vector<float> got = y.download();
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i % 3 ? 0.0f : x[i / 3 * 2] + x[i / 3 * 2 + 1]) << i;
}

/// Rows of pictures with interleaved colours, whose ends are not the ends of packets; also local memory, across a barrier.
TEST(StridedStructs, PicturesAndLocalMemory) {
    const Device d = device();
    const auto planes = kernel("planes", [](Out<float, 3> planes, In<float, 3> picture) {
        auto [i, j] = global_index<2>();
        for (int c = 0; c < 3; ++c) planes(c, i, j) = picture(i, j, c);
    });
    const auto back = kernel("picture", [](Out<float, 3> picture, In<float, 3> planes) {
        auto [i, j] = global_index<2>();
        for (int c = 0; c < 3; ++c) picture(i, j, c) = planes(c, i, j);
    });
    for (const int columns : {1, 5, 16, 37, 70}) {
        const int rows = 9;
        const std::vector<float> host = numbers<float>(rows * columns * 3);
        Array<float, 3> picture = d.upload(host, {rows, columns, 3}), apart = d.zeros<float>({3, rows, columns}),
                        again = d.zeros<float>({rows, columns, 3});
        planes(ndrange(rows, columns), apart, picture);
        back(ndrange(rows, columns), again, apart);
        ASSERT_EQ(again.download(), host) << columns;
        const std::vector<float> got = apart.download();
        for (int i = 0; i < rows * columns; ++i)
            for (int c = 0; c < 3; ++c)
                ASSERT_EQ(got[size_t(c * rows * columns + i)], host[size_t(3 * i + c)]) << i << ", " << columns;
    }
    const auto pairs = kernel("pairs", whole_groups, [](Out<float> sums, In<float> x) {
        Local<float, 128> tile;
        auto l = local_index(), i = global_index();
        tile[2 * l] = x[i];
        tile[2 * l + 1] = x[i] * 0.5f;
        synchronize();
        sums[i] = tile[2 * (63 - l)] - tile[2 * l + 1];
    });
    const std::vector<float> x = numbers<float>(256);
    Array<float> sums = d.zeros<float>(256);
    pairs(ndrange(256).group(64), sums, d.upload(x));
    const std::vector<float> got = sums.download();
    for (int i = 0; i < 256; ++i) ASSERT_EQ(got[size_t(i)], x[size_t(i / 64 * 64 + 63 - i % 64)] - x[size_t(i)] * 0.5f) << i;
}

}  // namespace
