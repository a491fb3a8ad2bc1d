// Kernels without groups: elementwise ones of every type, neighbours, structs, and ranges of all ranks.
#include "tests/runtime/rt_compare.h"
#include "tests/runtime/rt_kernels.h"

using namespace rt_test;
using pumice::ndrange;

namespace {

const int64_t sizes[] = {0, 1, 7, 63, 64, 65, 1000, 4097, 1 << 20};

TEST(RuntimeEqual, FloatsOfAllSizesAndOffsets) {
    for (const int64_t n : sizes)
        for (const int64_t shift : {0, 1, 5}) {
            if (n == 1 << 20 && shift == 5) continue;
            same(rt_kernels::saxpy, ndrange(n), random<float>({n}, shift), random<float>({n}, 3 - shift / 2), 0.37f);
            same(rt_kernels::strict, ndrange(n), random<float>({n}, shift), random<float>({n}), -1.25f);
            same(rt_kernels::clear, ndrange(n), random<float>({n}, shift), -0.0f);
        }
    same(rt_kernels::saxpy, ndrange({5}, {990}), random<float>({1000}, 1), random<float>({1000}), 0.37f);
    // Fewer items than elements, so that the rest must stay.
    same(rt_kernels::clear, ndrange({3}, {1000003}), random<float>({1 << 20}, 2), 7.0f);
}

TEST(RuntimeEqual, FunctionsOfFloats) {
    for (const int64_t n : {7, 1000, 4097}) {
        same(rt_kernels::fast, ndrange(n), random<float>({n}, 1), random<float>({n}));
        same(rt_kernels::floats, ndrange(n), random<float>({n}), random<float>({n}, 3));
        same(rt_kernels::doubles, ndrange(n), random<double>({n}, 1), random<double>({n}), 0.81);
    }
}

TEST(RuntimeEqual, NarrowAndWideTypes) {
    using pumice::bfloat16, pumice::half;
    for (const int64_t n : sizes)
        for (const int64_t shift : {0, 2}) {
            if (n == 1 << 20 && shift) continue;
            same(rt_kernels::halves, ndrange(n), random<half>({n}, shift), random<bfloat16>({n}, 2 * shift),
                 random<bfloat16>({n}), half(0.7f), bfloat16(-1.5f));
            same(rt_kernels::narrow, ndrange(n), random<int8_t>({n}, shift / 2), random<bool>({n}, 3 * shift / 2),
                 random<bool>({n}), random<uint16_t>({n}, shift), random<int16_t>({n}), random<uint8_t>({n}, shift / 2),
                 int8_t(-3), true, uint16_t(40001));
            same(rt_kernels::wide, ndrange(n), random<int64_t>({n}, shift / 2), random<uint64_t>({n}), int64_t(1) << 40,
                 uint64_t(0x9e3779b97f4a7c15u));
        }
}

TEST(RuntimeEqual, LoopsAndRandomNumbers) {
    same(rt_kernels::escape, ndrange(100, 150), random<int>({100, 150}), 0.02f);
    same(rt_kernels::escape, ndrange(1, 1), random<int>({1, 1}), 0.02f);
    for (const int64_t n : {1, 65, 4097}) same(rt_kernels::dice, ndrange(n), random<float>({n}), random<uint32_t>({n}), 7u);
    same(rt_kernels::private_sort, ndrange(100), random<int>({800}));
}

TEST(RuntimeEqual, AdjointOfSaxpy) {
    const auto adjoint = pumice::adjoint<pumice::Duplicated, pumice::Duplicated, pumice::Active>(rt_kernels::saxpy);
    // The derivative of `a` is a float sum of all items, whose order depends on the threads.
    for (const int64_t n : {1, 64, 1000, 4097, 100000})
        same(adjoint, ndrange(n), random<float>({n}), random<float>({n}, 1), random<float>({n}), random<float>({n}, 2), 0.5f,
             about(made<float>({1}, [](int64_t) { return 0.25; }), 1e-3 * double(n)));
}

TEST(RuntimeEqual, Stencils) {
    for (const auto& [h, w] : {std::pair<int64_t, int64_t>(3, 3), {5, 70}, {66, 130}, {67, 1025}, {1024, 1024}, {300, 4098}})
        for (const int64_t shift : {0, 1}) {
            if (h * w > 1000000 && shift) continue;
            same(rt_kernels::stencil, ndrange({1, 1}, {h - 1, w - 1}), random<float>({h, w}, shift), random<float>({h, w}, 3));
        }
    for (const auto& [p, h, w] : {std::tuple<int64_t, int64_t, int64_t>(3, 3, 3), {5, 7, 66}, {34, 35, 260}, {100, 100, 100}})
        same(rt_kernels::cube, ndrange({1, 1, 1}, {p - 1, h - 1, w - 1}), random<float>({p, h, w}, 1), random<float>({p, h, w}));
}

TEST(RuntimeEqual, Transposes) {
    for (const auto& [h, w] : {std::pair<int64_t, int64_t>(1, 1),
                               {3, 200},
                               {200, 3},
                               {63, 65},
                               {257, 512},
                               {1000, 1001},
                               {33, 9000},
                               {9000, 33},
                               {2048, 1024}}) {
        same(rt_kernels::transposed, ndrange(h, w), random<float>({w, h}, 1), random<float>({h, w}));
        same(rt_kernels::transposed_bytes, ndrange(h, w), random<uint8_t>({h, w}), random<uint8_t>({w, h}, 5));
        same(rt_kernels::swapped, ndrange(h, w), random<float>({w, h}));
    }
    same(rt_kernels::transposed, ndrange({5, 9}, {700, 800}), random<float>({1000, 800}), random<float>({800, 1000}, 7));
}

TEST(RuntimeEqual, Structs) {
    for (const int64_t n : {1, 7, 64, 1000, 4097}) {
        Data<RtBody, 1> all = random<RtBody>({n}, n % 3);
        for (int64_t i = 0; i < n; ++i) all.data()[i].kind = int8_t(i), all.data()[i].hits = int(i * 7);
        same(rt_kernels::bodies, ndrange(n), all, random<pumice::float3>({n}, 1), 0.125f, pumice::float3{0.1f, 0.2f, -0.3f});
        same(rt_kernels::squares, ndrange(n), random<pumice::float4x4>({n}, 1), random<pumice::double2>({n}),
             random<double>({n}));
    }
}

TEST(RuntimeEqual, RangesOfManyDimensions) {
    for (const bool grouped : {false, true}) {
        const pumice::Range range = ndrange({1, 0, 0, 0, 0}, {3, 4, 2, 5, 5}), plane = ndrange(2, 3, 2, 2, 3, 70);
        same(rt_kernels::five, grouped ? range.group(1, 1, 1, 2, 4) : range, random<int>({3, 4, 2, 5, 6}, 1));
        same(rt_kernels::six, grouped ? plane.group(1, 1, 1, 1, 1, 64) : plane, random<int>({2, 3, 2, 2, 3, 70}, 3));
    }
    same(rt_kernels::four, ndrange(2, 3, 4, 5), random<float>({2, 3, 4, 5}), random<float>({2, 3, 4, 5}, 1));
    same(rt_kernels::four, ndrange({0, 1, 0, 3}, {20, 20, 20, 77}), random<float>({20, 20, 20, 77}),
         random<float>({20, 20, 20, 77}));
    same(rt_kernels::any_rank, ndrange(2, 3, 2, 4), random<int>({48}));
    same(rt_kernels::any_rank, ndrange(1000), random<int>({1000}));
    same(rt_kernels::any_rank, ndrange(30, 41), random<int>({1230}, 1));
    same(rt_kernels::any_rank, ndrange(5, 6, 41), random<int>({1230}, 1));
}

TEST(RuntimeEqual, ArraysBeyondTheCaches) {
    // Streaming and peeled variants; 5 floats off the cache line.
    const int64_t n = 40 << 20;
    Data<float, 1> y = empty<float, 1>({n}, 5);
    same(rt_kernels::clear, ndrange({1}, {n}), y, 1.5f);
}

}  // namespace
