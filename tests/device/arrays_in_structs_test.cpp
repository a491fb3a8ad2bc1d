// Struct members that are arrays of fixed size: constant and dynamic indices, reads and writes, and whole structs.
#include <algorithm>
#include <array>
#include <climits>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace arrays_in_structs {

struct Spot {
    float3 at;
    int hits;
    bool operator==(const Spot&) const = default;
};
struct Cell {
    float a[4];
    int kind;
    float m[2][3];
    Spot spots[3];
    std::array<int, 5> counts;
    bool on[2];
};
struct Wide {
    float weights[32];
    float total;
};
struct Planes {
    Array<float> planes[2];
    float scale[2];
};

}  // namespace arrays_in_structs

using arrays_in_structs::Cell;
using arrays_in_structs::Planes;
using arrays_in_structs::Spot;
using arrays_in_structs::Wide;
PUMICE_STRUCT(arrays_in_structs::Spot, at, hits);
PUMICE_STRUCT(arrays_in_structs::Cell, a, kind, m, spots, counts, on);
PUMICE_STRUCT(arrays_in_structs::Wide, weights, total);
PUMICE_STRUCT(arrays_in_structs::Planes, planes, scale);

namespace {

Cell cell(int seed) {
    const auto number = [&](int n) { return float(seed * 100 + n); };
    Cell c{};
    for (int n = 0; n < 4; ++n) c.a[n] = number(n);
    c.kind = seed;
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j) c.m[i][j] = number(10 + 3 * i + j);
    for (int n = 0; n < 3; ++n) c.spots[n] = {{number(20 + n), number(30 + n), number(40 + n)}, seed + n};
    for (int n = 0; n < 5; ++n) c.counts[size_t(n)] = 10 * seed + n;
    c.on[0] = seed % 2 == 0, c.on[1] = seed % 3 == 0;
    return c;
}
std::vector<Cell> cells(int n) {
    std::vector<Cell> all;
    for (int i = 0; i < n; ++i) all.push_back(cell(i));
    return all;
}

TEST(ArraysInStructs, ConstantAndDynamicIndicesRead) {
    const auto k = kernel("read_members", [](Out<float> y, Out<int> z, In<Cell> c, InOut<Cell> d) {
        auto i = global_index();
        const Val<int> at = i % 4;
        y[i] = c[i].a[1] + c[i].a[at] + d[i].a[at] + d[i].a[2] + c[i].m[i % 2][2] + d[i].m[1][i % 3] + d[i].m[i % 2][i % 3] +
               c[i].spots[i % 3].at.y + d[i].spots[i % 3].at.z + dot(d[i].spots[2].at, float3{1, 0, 0});
        z[i] = c[i].counts[i % 5] + d[i].counts[4] + d[i].spots[i % 3].hits + select(d[i].on[i % 2], 1000, 0) + c[i].kind;
    });
    const int n = 30;
    const std::vector<Cell> host = cells(n);
    Array<Cell> c = device().upload(host), d = device().upload(host);
    Array<float> y = device().zeros<float>(n);
    Array<int> z = device().zeros<int>(n);
    k(ndrange(n), y, z, c, d);
    const auto got = y.download();
    const auto whole = z.download();
    for (int i = 0; i < n; ++i) {
        const Cell& h = host[size_t(i)];
        EXPECT_EQ(got[size_t(i)], h.a[1] + h.a[i % 4] + h.a[i % 4] + h.a[2] + h.m[i % 2][2] + h.m[1][i % 3] + h.m[i % 2][i % 3] +
                                      h.spots[i % 3].at.y + h.spots[i % 3].at.z + h.spots[2].at.x)
            << i;
        EXPECT_EQ(whole[size_t(i)],
                  h.counts[size_t(i % 5)] + h.counts[4] + h.spots[i % 3].hits + (h.on[i % 2] ? 1000 : 0) + h.kind)
            << i;
    }
}

TEST(ArraysInStructs, ConstantAndDynamicIndicesWritten) {
    const auto k = kernel("write_members", [](InOut<Cell> c) {
        auto i = global_index();
        c[i].a[0] = 5.0f;
        c[i].a[i % 4] += 2.5f;
        c[i].m[i % 2][i % 3] = -1.0f;
        c[i].m[0][i % 3] *= 2.0f;
        c[i].spots[i % 3].at.x = 7.0f;
        c[i].spots[i % 3].hits++;
        c[i].spots[(i + 1) % 3] = Val<Spot>(Spot{{1, 2, 3}, 4});
        c[i].counts[i % 5] <<= i % 3;
        c[i].on[i % 2] = !c[i].on[i % 2];
    });
    const int n = 30;
    std::vector<Cell> host = cells(n);
    Array<Cell> c = device().upload(host);
    k(ndrange(n), c);
    const auto got = c.download();
    for (int i = 0; i < n; ++i) {
        Cell& h = host[size_t(i)];
        h.a[0] = 5.0f;
        h.a[i % 4] += 2.5f;
        h.m[i % 2][i % 3] = -1.0f;
        h.m[0][i % 3] *= 2.0f;
        h.spots[i % 3].at.x = 7.0f;
        h.spots[i % 3].hits++;
        h.spots[(i + 1) % 3] = {{1, 2, 3}, 4};
        h.counts[size_t(i % 5)] <<= i % 3;
        h.on[i % 2] = !h.on[i % 2];
        const Cell& g = got[size_t(i)];
        EXPECT_TRUE(std::equal(h.a, h.a + 4, g.a)) << i;
        EXPECT_TRUE(std::equal(h.m[0], h.m[0] + 3, g.m[0]) && std::equal(h.m[1], h.m[1] + 3, g.m[1])) << i;
        EXPECT_TRUE(std::equal(h.spots, h.spots + 3, g.spots)) << i;
        EXPECT_EQ(h.counts, g.counts) << i;
        EXPECT_TRUE(std::equal(h.on, h.on + 2, g.on)) << i;
        EXPECT_EQ(h.kind, g.kind) << i;
    }
}

TEST(ArraysInStructs, WholeStructsVariablesAndParameters) {
    const auto k = kernel("whole_structs", [](Out<Cell> to, In<Cell> from, Val<Cell> added, Out<float> y) {
        auto i = global_index();
        Var c = from[i];
        c.a[i % 4] = added.a[i % 4];
        c.m[i % 2][1] += added.m[1][i % 3];
        c.spots[i % 3].at = added.spots[(i + 1) % 3].at;
        c.counts[2] = added.counts[i % 5];
        auto row = c.m[i % 2];
        y[i] = row[i % 3] + added.a[3] + c.a[i % 4];
        to[i] = c;
    });
    const int n = 30;
    std::vector<Cell> host = cells(n);
    const Cell added = cell(77);
    Array<Cell> from = device().upload(host), to = device().zeros<Cell>(n);
    Array<float> y = device().zeros<float>(n);
    k(ndrange(n), to, from, added, y);
    const auto got = to.download();
    const auto read = y.download();
    for (int i = 0; i < n; ++i) {
        Cell& h = host[size_t(i)];
        h.a[i % 4] = added.a[i % 4];
        h.m[i % 2][1] += added.m[1][i % 3];
        h.spots[i % 3].at = added.spots[(i + 1) % 3].at;
        h.counts[2] = added.counts[size_t(i % 5)];
        const Cell& g = got[size_t(i)];
        EXPECT_TRUE(std::equal(h.a, h.a + 4, g.a) && std::equal(h.m[0], h.m[0] + 3, g.m[0]) &&
                    std::equal(h.m[1], h.m[1] + 3, g.m[1]))
            << i;
        EXPECT_TRUE(std::equal(h.spots, h.spots + 3, g.spots) && h.counts == g.counts) << i;
        EXPECT_EQ(read[size_t(i)], h.m[i % 2][i % 3] + added.a[3] + h.a[i % 4]) << i;
    }
}

// Only the chosen element is touched: the other elements belong to other items, and local memory is unset there.
TEST(ArraysInStructs, ItemsShareAnArrayOfOneElement) {
    const auto own = kernel("own_element", [](InOut<Cell> c) {
        auto i = local_index();
        $if(i < 4) { c[0].a[i] = c[0].a[i] + 1.0f; }
        atomic_add(c[0].spots[i % 3].hits, 1);
    });
    std::vector<Cell> host = cells(1);
    Array<Cell> c = device().upload(host);
    own(ndrange(32).group(32), c);
    Cell got = c.download()[0];
    for (int n = 0; n < 4; ++n) EXPECT_EQ(got.a[n], host[0].a[n] + 1);
    for (int n = 0; n < 3; ++n) EXPECT_EQ(got.spots[n].hits, host[0].spots[n].hits + (n < 2 ? 11 : 10)) << n;
    const auto local = kernel("local_element", [](Out<float> y) {
        auto i = local_index();
        Local<Wide, 1> tile;
        tile[0].weights[i] = cast<float>(i) * 0.5f;
        Var own = tile[0].weights[i];
        synchronize();
        y[i] = own + tile[0].weights[31 - i];
    });
    Array<float> y = device().zeros<float>(32);
    local(ndrange(32).group(32), y);
    for (const float v : y.download()) EXPECT_EQ(v, 15.5f);
}

TEST(ArraysInStructs, IndicesOutsideAreTheFirstOrTheLast) {
    const auto k = kernel("clamped", [](InOut<Cell> c, In<int> at, Out<float> y) {
        auto i = global_index();
        y[i] = c[i].a[at[i]] + c[i].m[at[i]][at[i]];
        Var v = Val<Cell>(c[i]);
        v.a[at[i]] = -1.0f;
        c[i].counts[at[i]] = 99;
        y[i] += v.a[0] + v.a[3];
    });
    const std::vector<int> at{-5, INT_MIN, 17, INT_MAX};
    const std::vector<Cell> host = cells(4);
    Array<Cell> c = device().upload(host);
    Array<float> y = device().zeros<float>(4);
    k(ndrange(4), c, device().upload(at), y);
    const auto got = y.download();
    const auto after = c.download();
    for (size_t i = 0; i < 4; ++i) {
        const Cell& h = host[i];
        const bool last = at[i] > 0;
        EXPECT_EQ(got[i], (last ? h.a[3] + h.m[1][2] : h.a[0] + h.m[0][0]) + (last ? h.a[0] - 1 : h.a[3] - 1)) << at[i];
        EXPECT_EQ(after[i].counts[last ? 4 : 0], 99);
        EXPECT_EQ(after[i].counts[2], h.counts[2]);
    }
}

TEST(ArraysInStructs, InConditionsOfLoopsAndBranches) {
    const auto k = kernel("conditions", [](InOut<Cell> c, Out<int> y) {
        auto i = global_index();
        Var n = 0;
        $while(n < 4 && c[i].a[n] < 102.0f) { ++n; }
        $if(c[i].a[n] > 1e6f) { n = -1; }
        $elif(c[i].counts[n] > 12) { n += 10; }
        $else { n += 100; }
        y[i] = n;
    });
    const int count = 5;
    const auto host = cells(count);
    Array<Cell> c = device().upload(host);
    Array<int> y = device().zeros<int>(count);
    k(ndrange(count), c, y);
    const auto got = y.download();
    for (int i = 0; i < count; ++i) {
        const Cell& h = host[size_t(i)];
        int n = 0;
        while (n < 4 && h.a[n] < 102.0f) ++n;
        n += h.counts[size_t(n)] > 12 ? 10 : 100;
        EXPECT_EQ(got[size_t(i)], n) << i;
    }
}

TEST(ArraysInStructs, ConstantIndicesOutsideAreRefused) {
    const auto k = kernel("outside", [](InOut<Cell> c) { c[global_index()].a[4] = 1.0f; });
    try {
        k.ir();
        FAIL();
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("an array in a struct is asked for its element 4; they are 0 to 3"),
                  std::string::npos)
            << e.what();
    }
}

TEST(ArraysInStructs, ArraysOfArraysAsOneParameter) {
    const auto k = kernel("planes", [](InOut<Planes> p) {
        auto i = global_index();
        p.planes[0][i] = p.planes[1][i] * p.scale[1] + p.scale[i % 2];
    });
    Planes p{{device().zeros<float>(8), device().full<float>(8, 3.0f)}, {0.5f, 2.0f}};
    k(ndrange(8), p);
    EXPECT_EQ(p.planes[0].download(), (std::vector<float>{6.5f, 8, 6.5f, 8, 6.5f, 8, 6.5f, 8}));
}

// y = w_k * a_k: the adjoint goes to the chosen element.
TEST(ArraysInStructs, Gradients) {
    const auto k = kernel("chosen_product", [](Out<float> y, In<Wide> w, In<int> at) {
        auto i = global_index();
        const Val<float> x = w[i].weights[at[i]];
        y[i] = x * x + w[i].weights[3];
    });
    const int n = 9;
    std::vector<Wide> host(n);
    std::vector<int> at;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < 32; ++j) host[size_t(i)].weights[j] = float(i + j) * 0.25f;
        at.push_back((i * 7) % 32);
    }
    Array<Wide> w = device().upload(host), dw = device().zeros<Wide>(n);
    Array<float> y = device().zeros<float>(n), dy = device().full<float>(n, 1.0f);
    autodiff(Reverse, k, ndrange(n), Duplicated(y, dy), Duplicated(w, dw), Const(device().upload(at)));
    const auto got = dw.download();
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < 32; ++j)
            EXPECT_EQ(got[size_t(i)].weights[j], (j == at[size_t(i)] ? 2 * host[size_t(i)].weights[j] : 0) + (j == 3 ? 1 : 0))
                << i << " " << j;
}

}  // namespace
