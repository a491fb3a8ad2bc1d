// Kernels, and the GLSL of a peer, that several benchmarks time.
#pragma once
#include <pumice/pumice.h>

#include "autodiff/analysis/transform.h"

namespace bench {

/// y = a x + y. A new kernel object each time, as the first use in a process sees it; all have the same text.
inline auto fresh_saxpy() {
    using namespace pumice;
    return kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
        auto i = global_index();
        y[i] = a * x[i] + y[i];
    });
}
/// Differentiated by all it takes.
inline const pumice::derive::Signature saxpy_gradient{
    {pumice::derive::Activity::duplicated, pumice::derive::Activity::duplicated, pumice::derive::Activity::active}, 1};
inline constexpr const char* saxpy_glsl = R"(#version 450
layout(local_size_x = 64) in;
layout(binding = 0) restrict buffer Y { float y[]; };
layout(binding = 1) readonly restrict buffer X { float x[]; };
layout(push_constant) uniform Push { uint n; float a; };
void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
)";

/// C = A B by 16 x 16 tiles in local memory, for sizes that are multiples of 16.
inline auto tiled_matmul() {
    using namespace pumice;
    return kernel("matmul", whole_groups, [](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
        Local<float, 16, 16> tile_a, tile_b;
        auto [row, column] = global_index<2>();
        auto [i, j] = local_index<2>();
        Var sum = 0.0f;
        $for(tile, range(0, a.size(1) / 16)) {
            tile_a(i, j) = a(row, tile * 16 + j);
            tile_b(i, j) = b(tile * 16 + i, column);
            synchronize();
            for (int k = 0; k < 16; ++k) sum += tile_a(i, k) * tile_b(k, j);
            synchronize();
        }
        c(row, column) = sum;
    });
}

/// One sum a group of 256, by a tree in local memory.
inline auto block_sum_tree() {
    using namespace pumice;
    return kernel("block_sum", whole_groups, [](Out<float> sums, In<float> x) {
        Local<float, 256> tile;
        auto l = local_index();
        tile[l] = 0.0f;
        $if(in_range()) { tile[l] = x[global_index()]; }
        synchronize();
        for (int width = 128; width > 0; width /= 2) {
            $if(l < width) { tile[l] += tile[l + width]; }
            synchronize();
        }
        $if(l == 0) { sums[group_index()] = tile[0]; }
    });
}

}  // namespace bench
