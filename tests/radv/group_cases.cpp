// Kernels whose items cooperate: tiles in local memory, sums and scans of a group, a histogram.
#include "bench/kernels.h"
#include "tests/radv/code_cases.h"

namespace radv {
namespace {

using namespace pumice;

constexpr int n = 1000, groups = 4, size = 64;  // groups of 256; square matrices, in tiles of 16 x 16

const auto matmul = bench::tiled_matmul();
const char* const matmul_glsl = R"(#version 450
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) writeonly restrict buffer C { float c[]; };
layout(binding = 1) readonly restrict buffer A { float a[]; };
layout(binding = 2) readonly restrict buffer B { float b[]; };
layout(push_constant) uniform Push { int inner, columns; };
shared float tile_a[16][16], tile_b[16][16];
void main() {
    const int row = int(gl_GlobalInvocationID.y), column = int(gl_GlobalInvocationID.x);
    const int i = int(gl_LocalInvocationID.y), j = int(gl_LocalInvocationID.x);
    float sum = 0;
    for (int tile = 0; tile < inner; tile += 16) {
        tile_a[i][j] = a[row * inner + tile + j];
        tile_b[i][j] = b[(tile + i) * columns + column];
        barrier();
        [[unroll]] for (int k = 0; k < 16; ++k) sum += tile_a[i][k] * tile_b[k][j];
        barrier();
    }
    c[row * columns + column] = sum;
}
)";

const auto transpose_tiles = kernel("transpose_tiles", whole_groups, [](Out<float, 2> to, In<float, 2> from) {
    Local<float, 16, 17> tile;  // a column more keeps columns apart
    auto [i, j] = local_index<2>();
    auto [row, column] = group_index<2>();
    tile(i, j) = from(column * 16 + i, row * 16 + j);
    synchronize();
    to(row * 16 + i, column * 16 + j) = tile(j, i);
});
const char* const transpose_glsl = R"(#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) writeonly restrict buffer To { float to[]; };
layout(binding = 1) readonly restrict buffer From { float from[]; };
layout(push_constant) uniform Push { int to_columns, from_columns; };
shared float tile[16][17];
void main() {
    const ivec2 at = ivec2(gl_LocalInvocationID.xy), group = ivec2(gl_WorkGroupID.xy) * 16;
    tile[at.y][at.x] = from[(group.x + at.y) * from_columns + group.y + at.x];
    barrier();
    to[(group.y + at.y) * to_columns + group.x + at.x] = tile[at.x][at.y];
}
)";

const auto sum_groups = kernel("sum_groups", [](Out<float> sums, In<float> x) {
    auto sum = group::reduce_add(x[global_index()]);
    $if(local_index() == 0) { sums[group_index()] = sum; }
});
const char* const sum_glsl = R"(#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(binding = 0) writeonly restrict buffer Sums { float sums[]; };
layout(binding = 1) readonly restrict buffer X { float x[]; };
layout(push_constant) uniform Push { int n; };
shared float partial[256];
void main() {
    const int i = int(gl_GlobalInvocationID.x);
    const float mine = subgroupAdd(i < n ? x[i] : 0.0);
    if (subgroupElect()) partial[gl_SubgroupID] = mine;
    barrier();
    if (gl_LocalInvocationIndex == 0) {
        float sum = partial[0];
        for (uint s = 1; s < gl_NumSubgroups; ++s) sum += partial[s];
        sums[gl_WorkGroupID.x] = sum;
    }
}
)";

const auto scan_groups = kernel("scan_groups", [](Out<float> y, In<float> x) {
    auto i = global_index();
    y[i] = group::inclusive_add(x[i]);
});
const char* const scan_glsl = R"(#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(binding = 0) writeonly restrict buffer Y { float y[]; };
layout(binding = 1) readonly restrict buffer X { float x[]; };
layout(push_constant) uniform Push { int n; };
shared float partial[256];
void main() {
    const int i = int(gl_GlobalInvocationID.x);
    float sum = subgroupInclusiveAdd(i < n ? x[i] : 0.0);
    if (gl_SubgroupInvocationID == gl_SubgroupSize - 1) partial[gl_SubgroupID] = sum;
    barrier();
    for (uint s = 0; s < gl_SubgroupID; ++s) sum += partial[s];
    if (i < n) y[i] = sum;
}
)";

const auto histogram = kernel("histogram", whole_groups, [](InOut<uint32_t> all, In<uint32_t> data) {
    Local<uint32_t, 256> partial;
    auto l = local_index();
    partial[l] = 0u;
    synchronize();
    $if(in_range()) { atomic_add(partial[data[global_index()]], 1u); }
    synchronize();
    atomic_add(all[l], partial[l]);
});
const char* const histogram_glsl = R"(#version 450
layout(local_size_x = 256) in;
layout(binding = 0) restrict buffer All { uint all[]; };
layout(binding = 1) readonly restrict buffer Data { uint data[]; };
layout(push_constant) uniform Push { int n; };
shared uint partial[256];
void main() {
    const int l = int(gl_LocalInvocationID.x), i = int(gl_GlobalInvocationID.x);
    partial[l] = 0;
    barrier();
    if (i < n) atomicAdd(partial[data[i]], 1);
    barrier();
    atomicAdd(all[l], partial[l]);
}
)";

std::vector<uint32_t> bins() {
    std::vector<uint32_t> all(n);
    for (uint32_t i = 0; i < n; ++i) all[i] = i * 2654435761u >> 24;
    return all;
}

}  // namespace

std::vector<Case> group_cases() {
    return {
        {"matmul_tiled",
         [](Sides& s) {
             const auto matrix = s.device.upload(noise(size * size), {size, size});
             s.run(matmul, ndrange(size, size).group(16, 16), {matmul_glsl, {word(size), word(size)}, {size / 16, size / 16}},
                   s.device.zeros<float>({size, size}), matrix, matrix);
         }},
        {"transpose_tiled",
         [](Sides& s) {
             s.run(transpose_tiles, ndrange(size, size).group(16, 16),
                   {transpose_glsl, {word(size), word(size)}, {size / 16, size / 16}}, s.device.zeros<float>({size, size}),
                   s.device.upload(noise(size * size), {size, size}));
         }},
        {"group_reduce_add",
         [](Sides& s) {
             s.run(sum_groups, ndrange(n).group(256), {sum_glsl, {word(n)}, {groups}}, s.device.zeros<float>(groups),
                   s.device.upload(noise(n)));
         }},
        {"group_inclusive_add",
         [](Sides& s) {
             s.run(scan_groups, ndrange(n).group(256), {scan_glsl, {word(n)}, {groups}}, s.device.zeros<float>(n),
                   s.device.upload(noise(n)));
         }},
        {"histogram_local",
         [](Sides& s) {
             s.run(histogram, ndrange(n).group(256), {histogram_glsl, {word(n)}, {groups}}, s.device.zeros<uint32_t>(256),
                   s.device.upload(bins()));
         }},
    };
}

}  // namespace radv
