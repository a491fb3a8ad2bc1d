#include "samples/fluid/fluid_kernels.h"

#include <cmath>
#include <utility>

namespace fluid {
namespace {

using namespace pumice;

/// The value of `field` at a place between cell centres, in cells; places outside are moved to the rim.
template <class T> Val<T> between_cells(const In<T, 2>& field, const Val<float>& x, const Val<float>& y) {
    const Val<int> rows = field.size(0), columns = field.size(1);
    const Val<float> cx = clamp(x, 0.0f, cast<float>(columns - 1)), cy = clamp(y, 0.0f, cast<float>(rows - 1));
    const Val<int> j = cast<int>(cx), i = cast<int>(cy);
    const Val<int> right = min(j + 1, columns - 1), below = min(i + 1, rows - 1);
    const Val<float> u = cx - cast<float>(j), v = cy - cast<float>(i);
    const Val<T> top = lerp(Val<T>(field(i, j)), Val<T>(field(i, right)), u);
    const Val<T> bottom = lerp(Val<T>(field(below, j)), Val<T>(field(below, right)), u);
    return lerp(top, bottom, v);
}

const auto push =
    kernel("push", Math::fast, [](InOut<float2, 2> velocity, InOut<float4, 2> dye, Val<Jet> jet, Val<float> seconds) {
        auto [i, j] = global_index<2>();
        const Val<float> dx = cast<float>(j) - jet.at.x, dy = cast<float>(i) - jet.at.y;
        const Val<float> weight = exp(-(dx * dx + dy * dy) / (jet.radius * jet.radius));
        $if(weight > 1e-4f) {
            velocity(i, j) += (jet.velocity - Val<float2>(velocity(i, j))) * min(8.0f * seconds * weight, 1.0f);
            dye(i, j) += jet.dye * (seconds * weight);
        }
    });

const auto curl = kernel("curl", [](Out<float, 2> vorticity, In<float2, 2> velocity) {
    auto [i, j] = global_index<2>();
    const Val<int> up = max(i - 1, 0), down = min(i + 1, velocity.size(0) - 1);
    const Val<int> left = max(j - 1, 0), right = min(j + 1, velocity.size(1) - 1);
    vorticity(i, j) = 0.5f * (velocity(i, right).y - velocity(i, left).y - velocity(down, j).x + velocity(up, j).x);
});

const auto confine = kernel("confine", [](InOut<float2, 2> velocity, In<float, 2> vorticity, Val<float> strength) {
    auto [i, j] = global_index<2>();
    const Val<int> up = max(i - 1, 0), down = min(i + 1, vorticity.size(0) - 1);
    const Val<int> left = max(j - 1, 0), right = min(j + 1, vorticity.size(1) - 1);
    const Val<float> gx = 0.5f * (abs(vorticity(i, right)) - abs(vorticity(i, left)));
    const Val<float> gy = 0.5f * (abs(vorticity(down, j)) - abs(vorticity(up, j)));
    const Val<float> force = strength * vorticity(i, j) / sqrt(gx * gx + gy * gy + 1e-4f);
    velocity(i, j) += Val<float2>(gy * force, -gx * force);
});

const auto advect_velocity = kernel("advect_velocity", [](Out<float2, 2> to, In<float2, 2> velocity, Val<float> seconds) {
    auto [i, j] = global_index<2>();
    const Val<float2> v = velocity(i, j);
    to(i, j) = between_cells(velocity, cast<float>(j) - seconds * v.x, cast<float>(i) - seconds * v.y);
});

const auto advect_dye =
    kernel("advect_dye", [](Out<float4, 2> to, In<float4, 2> dye, In<float2, 2> velocity, Val<float> seconds, Val<float> kept) {
        auto [i, j] = global_index<2>();
        const Val<float2> v = velocity(i, j);
        to(i, j) = between_cells(dye, cast<float>(j) - seconds * v.x, cast<float>(i) - seconds * v.y) * kept;
    });

/// The normal velocity at a wall is the negative of the cell's own, so that none flows through it.
const auto diverge = kernel("diverge", [](Out<float, 2> divergence, In<float2, 2> velocity) {
    auto [i, j] = global_index<2>();
    const Val<int> rows = velocity.size(0), columns = velocity.size(1);
    const Val<float2> here = velocity(i, j);
    const Val<float> left = select(j > 0, velocity(i, max(j - 1, 0)).x, -here.x);
    const Val<float> right = select(j < columns - 1, velocity(i, min(j + 1, columns - 1)).x, -here.x);
    const Val<float> up = select(i > 0, velocity(max(i - 1, 0), j).y, -here.y);
    const Val<float> down = select(i < rows - 1, velocity(min(i + 1, rows - 1), j).y, -here.y);
    divergence(i, j) = 0.5f * (right - left + down - up);
});

const auto relax = kernel("relax", [](Out<float, 2> to, In<float, 2> pressure, In<float, 2> divergence) {
    auto [i, j] = global_index<2>();
    const Val<int> up = max(i - 1, 0), down = min(i + 1, pressure.size(0) - 1);
    const Val<int> left = max(j - 1, 0), right = min(j + 1, pressure.size(1) - 1);
    to(i, j) = 0.25f * (pressure(i, left) + pressure(i, right) + pressure(up, j) + pressure(down, j) - divergence(i, j));
});

const auto project = kernel("project", [](InOut<float2, 2> velocity, In<float, 2> pressure) {
    auto [i, j] = global_index<2>();
    const Val<int> up = max(i - 1, 0), down = min(i + 1, pressure.size(0) - 1);
    const Val<int> left = max(j - 1, 0), right = min(j + 1, pressure.size(1) - 1);
    velocity(i, j) -= Val<float2>(pressure(i, right) - pressure(i, left), pressure(down, j) - pressure(up, j)) * 0.5f;
});

/// Dye to light by 1 - exp(-dye), and to 8 bits by gamma 2.2.
const auto shade = kernel("shade", Math::fast, [](Out<uint32_t, 2> pixels, In<float4, 2> dye, Val<int> bgra) {
    auto [i, j] = global_index<2>();
    const Val<float> y = (cast<float>(i) + 0.5f) * cast<float>(dye.size(0)) / cast<float>(pixels.size(0)) - 0.5f;
    const Val<float> x = (cast<float>(j) + 0.5f) * cast<float>(dye.size(1)) / cast<float>(pixels.size(1)) - 0.5f;
    const Val<float4> c = between_cells(dye, x, y);
    const auto byte = [](const Val<float>& light) { return cast<uint32_t>(pow(1.0f - exp(-light), 1 / 2.2f) * 255.0f + 0.5f); };
    const Val<uint32_t> red = byte(c.x), green = byte(c.y), blue = byte(c.z);
    pixels(i, j) = select(bgra != 0, blue | red << 16, red | blue << 16) | green << 8 | 0xff000000u;
});

}  // namespace

Fluid::Fluid(const Device& device, int width, int height) : width(width), height(height) {
    const auto zeros = [&]<class T>(Array<T, 2>& field) { field = device.zeros<T>({height, width}); };
    zeros(velocity), zeros(moved_velocity), zeros(dye), zeros(moved_dye);
    zeros(pressure), zeros(next_pressure), zeros(divergence), zeros(vorticity);
}

void Fluid::advance(const Step& step) {
    const auto cells = ndrange(height, width);
    for (const Jet& jet : step.jets) push(cells, velocity, dye, jet, step.seconds);
    curl(cells, vorticity, velocity);
    confine(cells, velocity, vorticity, step.confinement * step.seconds);
    diverge(cells, divergence, velocity);
    for (int n = 0; n < iterations; ++n) {
        relax(cells, next_pressure, pressure, divergence);
        std::swap(pressure, next_pressure);
    }
    project(cells, velocity, pressure);
    advect_velocity(cells, moved_velocity, velocity, step.seconds);
    advect_dye(cells, moved_dye, dye, velocity, step.seconds, std::exp(-step.dissipation * step.seconds));
    std::swap(velocity, moved_velocity);
    std::swap(dye, moved_dye);
}

void Fluid::paint(const Array<uint32_t, 2>& pixels, Order order) const {
    shade(ndrange(pixels.extents[0], pixels.extents[1]), pixels, dye, order == Order::bgra ? 1 : 0);
}

Step step_at(double seconds, int width, int height) {
    Step step;
    const float size = float(std::min(width, height)), turn = float(std::sin(0.9 * seconds)),
                hue = float(0.5 + 0.5 * std::sin(0.37 * seconds));
    step.jets[0] = {{0.08f * float(width), 0.5f * float(height)},
                    {0.9f * size, 0.35f * size * turn},
                    {9.0f, 2.0f + 3 * hue, 0.6f, 0},
                    0.035f * size};
    step.jets[1] = {{0.92f * float(width), 0.5f * float(height)},
                    {-0.9f * size, -0.35f * size * turn},
                    {0.5f, 2.5f, 7.0f + 2 * hue, 0},
                    0.035f * size};
    return step;
}

}  // namespace fluid
