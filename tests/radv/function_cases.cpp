// Kernels whose time is arithmetic, and functions under Math::fast.
#include "tests/radv/code_cases.h"

namespace radv {
namespace {

using namespace pumice;

constexpr int n = 1000, rows = 70, columns = 90;

const auto nbody =
    kernel("nbody", [](Out<float> ax, Out<float> ay, Out<float> az, In<float> x, In<float> y, In<float> z, In<float> m) {
        auto i = global_index();
        auto xi = x[i], yi = y[i], zi = z[i];
        Var sx = 0.0f, sy = 0.0f, sz = 0.0f;
        $for(j, range(x.size())) {
            auto dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
            auto r = rsqrt(dx * dx + dy * dy + dz * dz + 1e-2f);
            auto f = m[j] * r * r * r;
            sx += f * dx;
            sy += f * dy;
            sz += f * dz;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    });
const char* const nbody_glsl = R"(#version 450
layout(local_size_x = 256) in;
layout(binding = 0) writeonly restrict buffer Ax { float ax[]; };
layout(binding = 1) writeonly restrict buffer Ay { float ay[]; };
layout(binding = 2) writeonly restrict buffer Az { float az[]; };
layout(binding = 3) readonly restrict buffer X { float x[]; };
layout(binding = 4) readonly restrict buffer Y { float y[]; };
layout(binding = 5) readonly restrict buffer Z { float z[]; };
layout(binding = 6) readonly restrict buffer M { float m[]; };
layout(push_constant) uniform Push { int n; };
void main() {
    const int i = int(gl_GlobalInvocationID.x);
    if (i >= n) return;
    const vec3 mine = vec3(x[i], y[i], z[i]);
    vec3 sum = vec3(0);
    for (int j = 0; j < n; ++j) {
        const vec3 d = vec3(x[j], y[j], z[j]) - mine;
        const float r = inversesqrt(dot(d, d) + 1e-2);
        sum += m[j] * r * r * r * d;
    }
    ax[i] = sum.x;
    ay[i] = sum.y;
    az[i] = sum.z;
}
)";

const auto mandelbrot = kernel("mandelbrot", [](Out<float, 2> steps, Val<int> most) {
    auto [j, i] = global_index<2>();
    auto cx = -2.0f + 3.0f * cast<float>(i) / cast<float>(steps.size(1)),
         cy = -1.5f + 3.0f * cast<float>(j) / cast<float>(steps.size(0));
    Var x = 0.0f, y = 0.0f;
    Var k = 0;
    $while(k < most && x * x + y * y < 4.0f) {
        auto t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        k += 1;
    }
    steps(j, i) = cast<float>(k);
});
const char* const mandelbrot_glsl = R"(#version 450
layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) writeonly restrict buffer Steps { float steps[]; };
layout(push_constant) uniform Push { int width, height, most; };
void main() {
    const int i = int(gl_GlobalInvocationID.x), j = int(gl_GlobalInvocationID.y);
    if (any(greaterThanEqual(ivec2(i, j), ivec2(width, height)))) return;  // a branch less than by ||
    const float cx = -2.0 + 3.0 * float(i) / float(width), cy = -1.5 + 3.0 * float(j) / float(height);
    float x = 0.0, y = 0.0, xx = 0.0, yy = 0.0;
    int k = 0;
    while (k < most && xx + yy < 4.0) {
        y = 2.0 * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
        ++k;
    }
    steps[j * width + i] = float(k);
}
)";

/// Math::fast if the library has it, which allows the device's own functions; otherwise the default maths.
template <class M = Math> constexpr M fastest() {
    if constexpr (requires { M::fast; })
        return M::fast;
    else
        return M::contract;
}

const auto fast_exp = kernel("fast_exp", fastest<>(), [](Out<float> y, In<float> x) {
    auto i = global_index();
    y[i] = exp(x[i]);
});
const auto fast_sin = kernel("fast_sin", fastest<>(), [](Out<float> y, In<float> x) {
    auto i = global_index();
    y[i] = sin(x[i]);
});
const auto fast_pow = kernel("fast_pow", fastest<>(), [](Out<float> y, In<float> x) {
    auto i = global_index();
    y[i] = pow(x[i], 1.7f);
});
#define FUNCTION_GLSL(call)                                             \
    "#version 450\n"                                                    \
    "layout(local_size_x = 256) in;\n"                                  \
    "layout(binding = 0) writeonly restrict buffer Y { float y[]; };\n" \
    "layout(binding = 1) readonly restrict buffer X { float x[]; };\n"  \
    "layout(push_constant) uniform Push { int n; };\n"                  \
    "void main() {\n"                                                   \
    "    const int i = int(gl_GlobalInvocationID.x);\n"                 \
    "    if (i < n) y[i] = " call                                       \
    ";\n"                                                               \
    "}\n"

template <class Kernel> Case function(const char* name, const Kernel& kernel, const char* glsl) {
    return {name, [=](Sides& s) {
                s.run(kernel, ndrange(n).group(256), {glsl, {word(n)}, {4}}, s.device.zeros<float>(n),
                      s.device.upload(noise(n, 0.1f, 3)));
            }};
}

}  // namespace

std::vector<Case> function_cases() {
    return {
        {"nbody",
         [](Sides& s) {
             const auto place = s.device.upload(noise(n)), zeros = s.device.zeros<float>(n);
             s.run(nbody, ndrange(n).group(256), {nbody_glsl, {word(n)}, {4}}, s.device.zeros<float>(n), s.device.zeros<float>(n),
                   zeros, place, s.device.upload(noise(n, 0, 2)), s.device.upload(noise(n, -3, 0)),
                   s.device.upload(noise(n, 0, 1)));
         }},
        {"mandelbrot",
         [](Sides& s) {
             s.run(mandelbrot, ndrange(rows, columns).group(8, 32),
                   {mandelbrot_glsl, {word(columns), word(rows), word(50)}, {(columns + 31) / 32, (rows + 7) / 8}},
                   s.device.zeros<float>({rows, columns}), 50);
         }},
        function("fast_exp", fast_exp, FUNCTION_GLSL("exp(x[i])")),
        function("fast_sin", fast_sin, FUNCTION_GLSL("sin(x[i])")),
        function("fast_pow", fast_pow, FUNCTION_GLSL("pow(x[i], 1.7)")),
    };
}

}  // namespace radv
