// Kernels that stream through memory in order, one element a work-item.
#include "tests/radv/code_cases.h"

namespace radv {
namespace {

using namespace pumice;

// No multiple of the group sizes: both sides have items past the range.
constexpr int n = 1000, rows = 70, columns = 90;

const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] = a * x[i] + y[i];
});
const char* const saxpy_glsl = R"(#version 450
layout(local_size_x = 256) in;
layout(binding = 0) restrict buffer Y { float y[]; };
layout(binding = 1) readonly restrict buffer X { float x[]; };
layout(push_constant) uniform Push { int n; float a; };
void main() {
    const int i = int(gl_GlobalInvocationID.x);
    if (i < n) y[i] = a * x[i] + y[i];
}
)";

const auto saxpy4 = kernel("saxpy4", [](InOut<float4> y, In<float4> x, Val<float> a) {
    auto i = global_index();
    y[i] = a * x[i] + y[i];
});
const char* const saxpy4_glsl = R"(#version 450
layout(local_size_x = 256) in;
layout(binding = 0) restrict buffer Y { vec4 y[]; };
layout(binding = 1) readonly restrict buffer X { vec4 x[]; };
layout(push_constant) uniform Push { int n; float a; };
void main() {
    const int i = int(gl_GlobalInvocationID.x);
    if (i < n) y[i] = a * x[i] + y[i];
}
)";

const auto diffuse = kernel("diffuse", [](Out<float, 2> next, In<float, 2> now, Val<float> c) {
    auto [i, j] = global_index<2>();
    next(i, j) = now(i, j) + c * (now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1) - 4.0f * now(i, j));
});
const char* const diffuse_glsl = R"(#version 450
layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) writeonly restrict buffer Next { float next[]; };
layout(binding = 1) readonly restrict buffer Now { float now[]; };
layout(push_constant) uniform Push { ivec2 size; float c; };
void main() {
    const ivec2 at = ivec2(gl_GlobalInvocationID.xy) + 1;
    if (any(greaterThanEqual(at, size - 1))) return;  // a branch less than by ||
    const int row = size.x, p = at.y * row + at.x;
    next[p] = now[p] + c * (now[p - row] + now[p + row] + now[p - 1] + now[p + 1] - 4.0 * now[p]);
}
)";

constexpr int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
constexpr float weights[9] = {4.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};

const auto lbm = kernel("lbm", [](Out<float, 3> next, In<float, 3> now, Val<float> omega) {
    auto [j, i] = global_index<2>();
    auto height = now.size(1), width = now.size(2);
    auto left = select(i == 0, width - 1, i - 1), right = select(i == width - 1, 0, i + 1);
    auto below = select(j == 0, height - 1, j - 1), above = select(j == height - 1, 0, j + 1);
    std::vector<Val<float>> f;
    for (int q = 0; q < 9; ++q)
        f.push_back(now(q, ey[q] == 0 ? j : ey[q] > 0 ? below : above, ex[q] == 0 ? i : ex[q] > 0 ? left : right));
    auto rho = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
    auto ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / rho, uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / rho;
    auto still = 1.0f - 1.5f * (ux * ux + uy * uy);
    for (int q = 0; q < 9; ++q) {
        auto eu = float(ex[q]) * ux + float(ey[q]) * uy;
        next(q, j, i) = f[size_t(q)] + omega * (weights[q] * rho * (still + 3.0f * eu + 4.5f * eu * eu) - f[size_t(q)]);
    }
});
const char* const lbm_glsl = R"(#version 450
layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) writeonly restrict buffer Next { float next[]; };
layout(binding = 1) readonly restrict buffer Now { float now[]; };
layout(push_constant) uniform Push { int width, height; float omega; };
int plane, here;
void relax(int q, float ex, float ey, float weight, float f, float rho, vec2 u, float still) {
    const float eu = ex * u.x + ey * u.y;
    next[here + q * plane] = f + omega * (weight * rho * (still + 3.0 * eu + 4.5 * eu * eu) - f);
}
void main() {
    const int i = int(gl_GlobalInvocationID.x), j = int(gl_GlobalInvocationID.y);
    if (any(greaterThanEqual(ivec2(i, j), ivec2(width, height)))) return;
    const int left = i == 0 ? width - 1 : i - 1, right = i == width - 1 ? 0 : i + 1;
    const int row = j * width, below = (j == 0 ? height - 1 : j - 1) * width, above = (j == height - 1 ? 0 : j + 1) * width;
    plane = width * height;
    here = row + i;
    const float f0 = now[here], f1 = now[plane + row + left], f2 = now[2 * plane + below + i], f3 = now[3 * plane + row + right],
                f4 = now[4 * plane + above + i], f5 = now[5 * plane + below + left], f6 = now[6 * plane + below + right],
                f7 = now[7 * plane + above + right], f8 = now[8 * plane + above + left];
    const float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
    const vec2 u = vec2(f1 - f3 + f5 - f6 - f7 + f8, f2 - f4 + f5 + f6 - f7 - f8) / rho;
    const float still = 1.0 - 1.5 * dot(u, u);
    relax(0, 0, 0, 4.0 / 9, f0, rho, u, still);
    relax(1, 1, 0, 1.0 / 9, f1, rho, u, still);
    relax(2, 0, 1, 1.0 / 9, f2, rho, u, still);
    relax(3, -1, 0, 1.0 / 9, f3, rho, u, still);
    relax(4, 0, -1, 1.0 / 9, f4, rho, u, still);
    relax(5, 1, 1, 1.0 / 36, f5, rho, u, still);
    relax(6, -1, 1, 1.0 / 36, f6, rho, u, still);
    relax(7, -1, -1, 1.0 / 36, f7, rho, u, still);
    relax(8, 1, -1, 1.0 / 36, f8, rho, u, still);
}
)";

}  // namespace

std::vector<Case> streaming_cases() {
    const auto tiles = [](int extent, int tile) { return uint32_t((extent + tile - 1) / tile); };
    return {
        {"saxpy",
         [=](Sides& s) {
             s.run(saxpy, ndrange(n).group(256), {saxpy_glsl, {word(n), word(0.5f)}, {tiles(n, 256)}}, s.device.upload(noise(n)),
                   s.device.upload(noise(n)), 0.5f);
         }},
        {"saxpy_float4",
         [=](Sides& s) {
             std::vector<float4> vectors;
             for (const float x : noise(n)) vectors.push_back({x, 2 * x, 3 - x, x * x});
             s.run(saxpy4, ndrange(n).group(256), {saxpy4_glsl, {word(n), word(0.5f)}, {tiles(n, 256)}}, s.device.upload(vectors),
                   s.device.upload(vectors), 0.5f);
         }},
        {"diffusion_2d",
         [=](Sides& s) {
             s.run(diffuse, ndrange({1, 1}, {rows - 1, columns - 1}).group(8, 32),
                   {diffuse_glsl, {word(columns), word(rows), word(0.1f)}, {tiles(columns - 2, 32), tiles(rows - 2, 8)}},
                   s.device.zeros<float>({rows, columns}), s.device.upload(noise(rows * columns), {rows, columns}), 0.1f);
         }},
        {"lbm",
         [=](Sides& s) {
             s.run(lbm, ndrange(rows, columns).group(8, 32),
                   {lbm_glsl, {word(columns), word(rows), word(1.2f)}, {tiles(columns, 32), tiles(rows, 8)}},
                   s.device.zeros<float>({9, rows, columns}),
                   s.device.upload(noise(9 * rows * columns, 0.1f, 1), {9, rows, columns}), 1.2f);
         }},
    };
}

}  // namespace radv
