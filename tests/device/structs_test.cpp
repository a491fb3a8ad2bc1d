// Vectors and structs: as values, in arrays, in local and private memory, and as parameters that hold arrays.
#include <cmath>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

struct Ray {
    float3 origin;
    float2 direction;
    int hits;
};
PUMICE_STRUCT(Ray, origin, direction, hits);

struct Cell {
    Ray ray;
    uint32_t id;
};
PUMICE_STRUCT(Cell, ray, id);

struct Grid {
    Array<float> values;
    Array<Cell> cells;
    float3 scale;
    int count;
};
PUMICE_STRUCT(Grid, values, cells, scale, count);

struct Nested {
    Grid grid;
    Array<int> flags;
    float offset;
};
PUMICE_STRUCT(Nested, grid, flags, offset);

/// Names that are reserved in GLSL.
struct Words {
    float input, sample, filter;
    int buffer, active, main;
    float3 vec3, shared;
    int gl_x, a__b;
};
PUMICE_STRUCT(Words, input, sample, filter, buffer, active, main, vec3, shared, gl_x, a__b);

/// Member names that the macro may use for its own variables, too.
struct W {
    float act, source, value;
};
PUMICE_STRUCT(W, act, source, value);

namespace {

const auto vector_maths = kernel("vector_maths", [](Out<float> out, In<float3> a, In<float3> b) {
    auto i = global_index();
    auto u = a[i], v = b[i];
    Var w = cross(u, v);
    w += 2.0f * u - v / 4.0f;
    w *= float3{1.0f, 2.0f, 3.0f};
    w.y = w.y + 1.0f;
    out[i * 8 + 0] = w.x;
    out[i * 8 + 1] = w.y;
    out[i * 8 + 2] = w.z;
    out[i * 8 + 3] = dot(u, v);
    out[i * 8 + 4] = length(-u);
    out[i * 8 + 5] = max(u, v).x + min(u, 0.5f).y;
    out[i * 8 + 6] = normalize(v).z;
    out[i * 8 + 7] = distance(u, v);
});

TEST(Structs, FloatVectors) {
    const std::vector<float3> a{{1, 2, 3}, {-1, 0.5f, 4}}, b{{4, 5, 6}, {2, -2, 1}};
    Array<float> out = device().zeros<float>(16);
    vector_maths(ndrange(2), out, device().upload(a), device().upload(b));
    const std::vector<float> got = out.download();
    for (int i = 0; i < 2; ++i) {
        const float3 u = a[i], v = b[i];
        const float w[3] = {u.y * v.z - u.z * v.y + 2 * u.x - v.x / 4, u.z * v.x - u.x * v.z + 2 * u.y - v.y / 4,
                            u.x * v.y - u.y * v.x + 2 * u.z - v.z / 4};
        const float uv = u.x * v.x + u.y * v.y + u.z * v.z;
        const float want[8] = {w[0],
                               2 * w[1] + 1,
                               3 * w[2],
                               uv,
                               std::sqrt(u.x * u.x + u.y * u.y + u.z * u.z),
                               std::max(u.x, v.x) + std::min(u.y, 0.5f),
                               v.z / std::sqrt(v.x * v.x + v.y * v.y + v.z * v.z),
                               std::sqrt((u.x - v.x) * (u.x - v.x) + (u.y - v.y) * (u.y - v.y) + (u.z - v.z) * (u.z - v.z))};
        for (int k = 0; k < 8; ++k)
            EXPECT_NEAR(got[i * 8 + k], want[k], 1e-5f * std::max(1.0f, std::fabs(want[k]))) << i << ", " << k;
    }
}

const auto integer_vectors = kernel("integer_vectors", [](InOut<int3> a, In<uint2> b) {
    auto i = global_index();
    a[i] = ~((a[i] + i) % -+Val<int3>(5) - 1);
    a[i].z = cast<int>((b[i] >> 1u).x ^ ~(~b[i]).y);
});

TEST(Structs, IntegerVectors) {
    Array<int3> a = device().upload(std::vector<int3>{{1, 2, 3}, {10, -20, 30}});
    integer_vectors(ndrange(2), a, device().upload(std::vector<uint2>{{6, 1}, {9, 2}}));
    EXPECT_EQ(a.download(), (std::vector<int3>{{-1, -2, 2}, {-1, 4, 6}}));
}

const auto advance = kernel("advance", [](InOut<Cell> cells) {
    auto i = global_index();
    Var c = cells[i];
    Var copy = c;  // a copy, not another name
    copy.ray.origin.x = 1000.0f;
    $if(c.ray.hits > 1) { c.ray.origin += 0.5f; }
    $else { c.ray.direction = Val<float2>(c.ray.origin.x, 7.0f); }
    c.ray.hits += 1;
    cells[i] = c;
    cells[i].id = cells[i].id * 2u;
});

TEST(Structs, ElementsAndNestedMembers) {
    Array<Cell> cells = device().upload(std::vector<Cell>{{{{1, 2, 3}, {4, 5}, 1}, 10}, {{{6, 7, 8}, {9, 10}, 2}, 20}});
    advance(ndrange(2), cells);
    const std::vector<Cell> got = cells.download();
    EXPECT_EQ(got[0].ray.origin, (float3{1, 2, 3}));
    EXPECT_EQ(got[0].ray.direction, (float2{1, 7}));
    EXPECT_EQ(got[0].ray.hits, 2);
    EXPECT_EQ(got[0].id, 20u);
    EXPECT_EQ(got[1].ray.origin, (float3{6.5f, 7.5f, 8.5f}));
    EXPECT_EQ(got[1].ray.direction, (float2{9, 10}));
    EXPECT_EQ(got[1].ray.hits, 3);
    EXPECT_EQ(got[1].id, 40u);
}

const auto local_structs = kernel("local_structs", [](Out<Ray> out, In<Ray> in) {
    Local<Ray, 16> tile;
    Private<float2, 2> mine;
    auto l = local_index();
    tile[l] = in[global_index()];
    mine[0] = tile[l].direction;
    mine[1] = mine[0] + mine[0];
    synchronize();
    Var r = tile[15 - l];
    r.direction = mine[1];
    synchronize();
    atomic_add(tile[0].hits, 1);
    synchronize();
    $if(l == 3) { r.hits = tile[0].hits; }
    out[global_index()] = r;
});

/// A named copy of a member of an element keeps its value, as a named copy of the element would.
TEST(Structs, NamedMembersOfElements) {
    const auto named = kernel("named", [](InOut<Cell> cells, Out<float> y) {
        auto i = global_index();
        auto ray = cells[i].ray;
        auto origin = cells[i].ray.origin;
        auto x = cells[i].ray.origin.x;
        const auto halved = [](auto v) { return 0.5f * v; };
        cells[i].ray.origin = float3{9, 9, 9};
        cells[i].ray.hits = 4;
        y[i] = x + origin.y + ray.origin.z + cast<float>(ray.hits) + halved(x) + halved(origin).y;
        cells[i].ray.direction.y = ray.direction.x;
    });
    Array<Cell> cells = device().upload(std::vector<Cell>(3, {{{1, 10, 100}, {5, 6}, 1000}, 7}));
    Array<float> y = device().zeros<float>(3);
    named(ndrange(3), cells, y);
    EXPECT_EQ(y.download(), std::vector<float>(3, 1111 + 0.5f + 5));
    EXPECT_EQ(cells.get(2).ray.origin.x, 9);
    EXPECT_EQ(cells.get(2).ray.hits, 4);
    EXPECT_EQ(cells.get(2).ray.direction.y, 5);
}

TEST(Structs, LocalArraysOfStructs) {
    std::vector<Ray> host(32);
    for (int i = 0; i < 32; ++i) host[i] = {{float(i), 0, 1}, {float(i), 2}, 100 + i};
    Array<Ray> in = device().upload(host), out = device().upload(host);
    local_structs(ndrange(32).group(16), out, in);
    const std::vector<Ray> got = out.download();
    for (int i = 0; i < 32; ++i) {
        const int other = i / 16 * 16 + 15 - i % 16;
        EXPECT_EQ(got[i].origin.x, float(other));
        EXPECT_EQ(got[i].direction, (float2{2.0f * float(i), 4}));
        EXPECT_EQ(got[i].hits, i % 16 == 3 ? 100 + i / 16 * 16 + 16 : 100 + other);
    }
}

const auto use_nested = kernel("use_nested", [](InOut<Nested> nested, Val<float2> by) {
    auto i = global_index();
    nested.grid.values[i] = nested.grid.values[i] * nested.grid.scale.y + nested.offset + by.x;
    nested.grid.cells[i].id = cast<uint32_t>(nested.grid.count) + cast<uint32_t>(by.y);
    nested.flags[i] = cast<int>(nested.grid.cells[i].id) + i;
});

TEST(Structs, StructsOfArraysNestedTwoDeep) {
    const Device d = device();
    const Grid grid{d.upload(suite::iota<float>(4)), d.upload(std::vector<Cell>(4)), {1, 2, 3}, 40};
    Nested n{grid, d.zeros<int>(4), 0.5f};
    use_nested(ndrange(4), n, float2{10, 2});
    EXPECT_EQ(n.grid.values.download(), (std::vector<float>{10.5f, 12.5f, 14.5f, 16.5f}));
    EXPECT_EQ(n.flags.download(), (std::vector<int>{42, 43, 44, 45}));
    EXPECT_EQ(n.grid.cells.download()[2].id, 42u);
}

TEST(Structs, MembersAreNamedInErrors) {
    const Device d = device();
    Array<float> shared = d.zeros<float>(4);
    const Grid grid{shared, d.upload(std::vector<Cell>(4)), {}, 0};
    Nested n{grid, {}, 0};
    const std::string missing = suite::message_of([&] { use_nested(ndrange(4), n, float2{}); });
    EXPECT_NE(missing.find("argument 1 (flags) is an array that was never allocated"), std::string::npos) << missing;
    const auto twice = kernel("twice", [](InOut<Grid> grid, In<float> x) { grid.values[0] = x[0]; });
    const std::string alias = suite::message_of([&] { twice(ndrange(1), n.grid, shared); });
    EXPECT_NE(alias.find("argument 1 (values) and argument 2 overlap in memory, and argument 1 (values) is written"),
              std::string::npos)
        << alias;
}

TEST(Structs, SelectTakesWholeStructs) {
    const auto k = kernel("choices", [](Out<Cell> to, Out<float3> colour, In<Cell> from) {
        auto i = global_index();
        auto odd = i % 2 == 1;
        Var<Cell> other = from[i];
        other.ray.origin = select(odd, from[i].ray.origin, 7.0f);
        other.ray.hits += 100;
        to[i] = select(i > 2, other, from[i]);
        colour[i] = select(odd, float3{1, 2, 3}, select(i == 0, float3{4, 5, 6}, from[i].ray.origin * 2.0f));
    });
    const Device d = device();
    std::vector<Cell> cells;
    for (int i = 0; i < 6; ++i) cells.push_back({{{float(i), float(i) + 0.25f, -1}, {0.5f, float(i)}, i}, uint32_t(i * i)});
    const Array<Cell> to = d.zeros<Cell>(6);
    const Array<float3> colour = d.zeros<float3>(6);
    k(ndrange(6), to, colour, d.upload(cells)).wait();
    const std::vector<Cell> got = to.download();
    const std::vector<float3> seen = colour.download();
    for (int i = 0; i < 6; ++i) {
        const Cell& from = cells[size_t(i)];
        const bool other = i > 2, odd = i % 2 == 1;
        const float3 seven{7, 7, 7}, origin = from.ray.origin;
        EXPECT_EQ(got[size_t(i)].ray.origin, other && !odd ? seven : origin) << i;
        EXPECT_EQ(got[size_t(i)].ray.direction, from.ray.direction) << i;
        EXPECT_EQ(got[size_t(i)].ray.hits, other ? i + 100 : i) << i;
        EXPECT_EQ(got[size_t(i)].id, from.id) << i;
        const float3 first{4, 5, 6}, constant{1, 2, 3}, twice{2 * origin.x, 2 * origin.y, 2 * origin.z};
        EXPECT_EQ(seen[size_t(i)], odd ? constant : i == 0 ? first : twice) << i;
    }
}

TEST(Structs, FillCloneAndLayout) {
    Array<Ray> a = device().full<Ray>(3, Ray{{1, 2, 3}, {4, 5}, 6});
    Array<Ray> b = a.clone();
    EXPECT_EQ(b.download()[2].direction, (float2{4, 5}));
    EXPECT_EQ(b.download()[2].hits, 6);
    EXPECT_EQ(detail::element_of<Cell>().size, sizeof(Cell));
    EXPECT_EQ(detail::element_of<Cell>().leaves[4].path, "ray.direction.y");
    EXPECT_EQ(detail::element_of<Cell>().leaves[4].offset, 16u);
}

TEST(Structs, MembersMayHaveNamesThatTheMacroUses) {
    const auto k = kernel("turned", [](InOut<W> w) {
        Var<W> v = w[0];
        v.act += v.source * v.value;
        w[0] = v;
    });
    Array<W> w = device().upload(std::vector<W>{{1, 2, 3}});
    k(ndrange(1), w);
    const W got = w.download()[0];
    EXPECT_EQ(got.act, 7.0f);
    EXPECT_EQ(got.value, 3.0f);
}

TEST(Structs, MembersMayHaveReservedNamesOfGlsl) {
    const auto k = kernel("words", [](InOut<Words> w, Out<float> sums) {
        auto i = global_index();
        w[i].filter = w[i].input + w[i].sample;
        w[i].main = w[i].buffer - w[i].active;
        w[i].a__b = w[i].gl_x;
        sums[i] = w[i].vec3.y + w[i].shared.x;
    });
    Array<Words> w = device().upload(std::vector<Words>{{1, 2, 0, 9, 4, 0, {1, 2, 3}, {4, 5, 6}, 7, 0}});
    Array<float> sums = device().zeros<float>(1);
    k(ndrange(1), w, sums);
    const Words got = w.download()[0];
    EXPECT_EQ(got.filter, 3.0f);
    EXPECT_EQ(got.main, 5);
    EXPECT_EQ(got.a__b, 7);
    EXPECT_EQ(sums.download()[0], 6.0f);
}

}  // namespace
