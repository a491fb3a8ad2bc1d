#include "samples/relight/relight.h"

#include <algorithm>
#include <cmath>

#include "samples/photo/stopwatch.h"

namespace relight {
namespace {

using namespace pumice;

// The room is the box -1 < x < 1, 0 < y < 2, -1 < z < 1. Its front, z = 1, is open; the camera stands before it.
constexpr float eye_z = 3.6f;
constexpr float panel_half = 0.4f;  ///< of the edge of the panel of light in the ceiling
constexpr int bounces = 3;
constexpr float pi = 3.14159265f;
struct Ball {
    float3 centre;
    float radius;
};
constexpr Ball white_ball{{-0.42f, 0.4f, -0.25f}, 0.4f}, glowing_ball{{0.55f, 0.22f, 0.3f}, 0.22f};

enum Surface : int { floor_, ceiling, left, right, wall, ball, glowing, outside };

Val<float3> constant(const float3& v) { return Val<float3>(Val<float>(v.x), Val<float>(v.y), Val<float>(v.z)); }

/// The distance along a ray to a ball, from outside; 1e9 if it misses. `direction` has length 1.
Val<float> distance_to(const Ball& target, const Val<float3>& origin, const Val<float3>& direction) {
    const Val<float3> to = constant(target.centre) - origin;
    const Val<float> along = dot(to, direction), inside = along * along - dot(to, to) + target.radius * target.radius;
    const Val<float> near = along - sqrt(max(inside, 0.0f));
    return select(inside > 0.0f && near > 1e-3f, near, 1e9f);
}

/// Two vectors that are orthogonal to a unit vector and to each other (Duff et al., 2017).
std::pair<Val<float3>, Val<float3>> basis(const Val<float3>& n) {
    const Val<float> sign = select(n.z >= 0.0f, 1.0f, Val<float>(-1.0f)), a = -1.0f / (sign + n.z), b = n.x * n.y * a;
    return {Val<float3>(1.0f + sign * n.x * n.x * a, sign * b, -sign * n.x), Val<float3>(b, sign + n.y * n.y * a, -n.y)};
}

/// A direction around a unit vector, with probability density cos / pi.
Val<float3> diffuse_direction(const Val<float3>& n, const Val<float>& a, const Val<float>& b) {
    const auto [t, s] = basis(n);
    const Val<float> r = sqrt(a), angle = 2 * pi * b;
    return normalize(t * (r * cos(angle)) + s * (r * sin(angle)) + n * sqrt(max(1.0f - a, 0.0f)));
}

/// The texture's value by linear interpolation, u and v from 0 to 1.
Val<float3> sampled(const In<float4, 2>& texture, const Val<float>& u, const Val<float>& v) {
    const Val<int> rows = texture.size(0), columns = texture.size(1);
    const Val<float> x = clamp(u * cast<float>(columns) - 0.5f, 0.0f, cast<float>(columns - 1));
    const Val<float> y = clamp(v * cast<float>(rows) - 0.5f, 0.0f, cast<float>(rows - 1));
    const Val<int> j = cast<int>(x), i = cast<int>(y), k = min(j + 1, columns - 1), l = min(i + 1, rows - 1);
    const Val<float> a = x - cast<float>(j), b = y - cast<float>(i);
    const auto at = [&](const Val<int>& row, const Val<int>& column) {
        return swizzle<"xyz">(Val<float4>(texture(row, column)));
    };
    return (at(i, j) * (1.0f - a) + at(i, k) * a) * (1.0f - b) + (at(l, j) * (1.0f - a) + at(l, k) * a) * b;
}

const auto trace = kernel("trace", [](Out<float4, 2> seen, In<Room> room, Val<int> samples, Val<int> seed) {
    auto [row, column] = global_index<2>();
    const Val<int> rows = seen.size(0), columns = seen.size(1);
    rng::Counter random(cast<uint32_t>(seed), cast<uint32_t>(row * columns + column));
    const Val<float3> panel_light = swizzle<"xyz">(Val<float4>(room.lights[0])),
                      ball_light = swizzle<"xyz">(Val<float4>(room.lights[1]));
    Var<float3> sum = float3{0, 0, 0};
    $for(path, range(samples)) {
        // The ray begins where the camera's pixel lies in the open side.
        const Val<float> px = (cast<float>(column) + random.uniform<float>()) * 2.0f / cast<float>(columns) - 1.0f;
        const Val<float> py = 2.0f - (cast<float>(row) + random.uniform<float>()) * 2.0f / cast<float>(rows);
        Var<float3> origin = Val<float3>(px, py, 1.0f);
        Var<float3> direction = normalize(Val<float3>(px, py - 1.0f, 1.0f - eye_z));
        Var<float3> weight = float3{1, 1, 1};
        $for(depth, range(bounces)) {
            // The nearest surface.
            const Val<float3> o = origin, d = direction;
            const auto plane = [](const Val<float>& from, const Val<float>& speed, float low, float high) {
                return select(speed > 0.0f, (high - from) / max(speed, 1e-9f), (low - from) / min(speed, -1e-9f));
            };
            const Val<float> tx = plane(o.x, d.x, -1, 1), ty = plane(o.y, d.y, 0, 2), tz = plane(o.z, d.z, -1, 1);
            const Val<float> t_white = distance_to(white_ball, o, d), t_glowing = distance_to(glowing_ball, o, d);
            const Val<float> t_box = min(tx, min(ty, tz)), t = min(t_box, min(t_white, t_glowing));
            const Val<float3> at = o + d * t;
            Var<int> surface = select(d.z > 0.0f, int(outside), Val<int>(int(wall)));
            $if(tx <= min(ty, tz)) { surface = select(d.x > 0.0f, int(right), Val<int>(int(left))); }
            $elif(ty <= tz) { surface = select(d.y > 0.0f, int(ceiling), Val<int>(int(floor_))); }
            $if(t_white < min(t_box, t_glowing)) { surface = int(ball); }
            $if(t_glowing < min(t_box, t_white)) { surface = int(glowing); }
            const Val<bool> on_panel = surface == int(ceiling) && abs(at.x) < panel_half && abs(at.z) < panel_half;
            // Lights are seen directly by the camera only: later bounces have sampled them already.
            $if(depth == 0) {
                $if(on_panel) { sum += panel_light; }
                $if(surface == int(glowing)) { sum += ball_light; }
            }
            $if(on_panel || surface == int(glowing) || surface == int(outside)) { $break; }

            // Its normal and its reflectance.
            Var<float3> normal = float3{0, 1, 0}, reflectance = float3{0.75f, 0.75f, 0.75f};
            $if(surface == int(floor_)) { reflectance = sampled(room.floor, (at.x + 1.0f) * 0.5f, (at.z + 1.0f) * 0.5f); }
            $elif(surface == int(wall)) {
                normal = Val<float3>(0.0f, 0.0f, 1.0f);
                reflectance = sampled(room.wall, (at.x + 1.0f) * 0.5f, 1.0f - at.y * 0.5f);
            }
            $elif(surface == int(ceiling)) { normal = Val<float3>(0.0f, -1.0f, 0.0f); }
            $elif(surface == int(left)) {
                normal = Val<float3>(1.0f, 0.0f, 0.0f), reflectance = Val<float3>(0.65f, 0.16f, 0.12f);
            }
            $elif(surface == int(right)) {
                normal = Val<float3>(-1.0f, 0.0f, 0.0f), reflectance = Val<float3>(0.15f, 0.45f, 0.2f);
            }
            $else { normal = (at - constant(white_ball.centre)) / white_ball.radius; }
            weight *= reflectance;
            const Val<float3> n = normal, from = at + n * 1e-3f;

            // A point of each light.
            const Val<float> across = 2.0f * random.uniform<float>() - 1.0f, deep = 2.0f * random.uniform<float>() - 1.0f;
            const Val<float3> panel_point(panel_half * across, 1.999f, panel_half * deep);
            const Val<float> up = 2.0f * random.uniform<float>() - 1.0f, turn = 2 * pi * random.uniform<float>();
            const Val<float> around = sqrt(max(1.0f - up * up, 0.0f));
            const Val<float3> ball_normal(around * cos(turn), up, around * sin(turn));
            const Val<float3> ball_point = constant(glowing_ball.centre) + ball_normal * (glowing_ball.radius * 1.001f);
            const auto lit_by = [&](const Val<float3>& point, const Val<float3>& light_normal, float area,
                                    const Val<float3>& light) {
                const Val<float3> to = point - from;
                const Val<float> squared = dot(to, to), far = sqrt(squared);
                const Val<float3> way = to / far;
                const Val<float> cosines = max(dot(way, n), 0.0f) * max(-dot(way, light_normal), 0.0f);
                const Val<bool> hidden =
                    min(distance_to(white_ball, from, way), distance_to(glowing_ball, from, way)) < far * 0.999f;
                $if(cosines > 0.0f && !hidden) { sum += weight * light * (cosines * (area / pi) / squared); }
            };
            lit_by(panel_point, Val<float3>(0.0f, -1.0f, 0.0f), 4 * panel_half * panel_half, panel_light);
            lit_by(ball_point, ball_normal, 4 * pi * glowing_ball.radius * glowing_ball.radius, ball_light);

            const Val<float> a = random.uniform<float>(), b = random.uniform<float>();
            origin = from;
            direction = diffuse_direction(n, a, b);
        }
    }
    const Val<float3> mean = Val<float3>(sum) / cast<float>(samples);
    seen(row, column) = Val<float4>(mean, 0.0f);
});

/// Half the product of two pictures' differences from the target. The pictures have independent noise, so that its expectation,
/// and that of its gradient, are those of half the squared difference of the noiseless picture.
const auto compare = kernel("compare", [](InOut<float> loss, In<float4, 2> first, In<float4, 2> second, In<float4, 2> target) {
    auto [i, j] = global_index<2>();
    const Val<float4> a = first(i, j), b = second(i, j), wanted = target(i, j);
    const Val<float> part = dot(swizzle<"xyz">(a - wanted), swizzle<"xyz">(b - wanted));
    atomic_add(loss[0], part * 0.5f / cast<float>(first.size(0) * first.size(1) * 3));
});

const auto adam = kernel("adam", [](InOut<float4> at, InOut<float4> first, InOut<float4> second, In<float4> gradient,
                                    Val<float> rate, Val<float> high, Val<float> first_correction, Val<float> second_correction) {
    auto i = global_index();
    const Val<float4> g = gradient[i], m = Val<float4>(first[i]) * 0.9f + g * 0.1f,
                      v = Val<float4>(second[i]) * 0.99f + g * g * 0.01f;
    first[i] = m;
    second[i] = v;
    at[i] = clamp(Val<float4>(at[i]) - m * (rate * first_correction) / (sqrt(v * second_correction) + 1e-8f), 0.0f, high);
});

void objective(Array<float>& loss, Room& room, const Colours& target, int samples, int seed) {
    const Device device = target.device();
    Colours first = device.empty<float4>({target.extents[0], target.extents[1]}),
            second = device.empty<float4>({target.extents[0], target.extents[1]});
    render(first, room, samples, 2 * seed + 1);
    render(second, room, samples, 2 * seed + 2);
    compare(ndrange(target.extents[0], target.extents[1]), loss, first, second, target);
}

/// The components of the colours.
std::vector<double> components(const std::vector<float4>& colours) {
    std::vector<double> all;
    for (const float4& c : colours) all.insert(all.end(), {c.x, c.y, c.z});
    return all;
}

Progress progress_of(int step, double loss, const Room& room, const Room& truth) {
    std::vector<double> errors;
    for (const auto member : {&Room::floor, &Room::wall}) {
        const std::vector<double> is = components((room.*member).download()), should = components((truth.*member).download());
        for (size_t i = 0; i < is.size(); ++i) errors.push_back(std::abs(is[i] - should[i]));
    }
    const std::vector<double> is = components(room.lights.download()), should = components(truth.lights.download());
    double squares = 0, all = 0;
    for (size_t i = 0; i < is.size(); ++i) squares += std::pow(is[i] - should[i], 2), all += std::pow(should[i], 2);
    return {step, loss, median_of(errors), std::sqrt(squares / all)};
}

float linear_of(uint32_t byte) { return std::pow(float(byte & 255) / 255, 2.2f); }

}  // namespace

Room grey_room(const Device& device, int texels) {
    return {device.full<float4>({texels, texels}, float4{0.5f, 0.5f, 0.5f, 0}),
            device.full<float4>({texels, texels}, float4{0.5f, 0.5f, 0.5f, 0}), device.full<float4>(2, float4{3, 3, 3, 0})};
}

Room true_room(const Device& device, int texels, const Picture& picture) {
    std::vector<float4> floor(size_t(texels) * size_t(texels)), wall(floor.size());
    for (int i = 0; i < texels; ++i)
        for (int j = 0; j < texels; ++j) {
            const bool dark = (i * 8 / texels + j * 8 / texels) % 2;
            floor[size_t(i * texels + j)] = dark ? float4{0.12f, 0.16f, 0.35f, 0} : float4{0.75f, 0.68f, 0.5f, 0};
            // The mean of the pixels under the texel.
            float4 sum{};
            int count = 0;
            const auto bounds = [&](int at, int size) {
                return std::pair(at * size / texels, std::max((at + 1) * size / texels, at * size / texels + 1));
            };
            const auto [top, bottom] = bounds(i, picture.height);
            const auto [first, last] = bounds(j, picture.width);
            for (int y = top; y < bottom; ++y)
                for (int x = first; x < last; ++x, ++count) {
                    const uint32_t p = picture.pixels[size_t(y) * size_t(picture.width) + size_t(x)];
                    sum = {sum.x + linear_of(p), sum.y + linear_of(p >> 8), sum.z + linear_of(p >> 16), 0};
                }
            wall[size_t(i * texels + j)] = {sum.x / float(count), sum.y / float(count), sum.z / float(count), 0};
        }
    return {device.upload(floor, {texels, texels}), device.upload(wall, {texels, texels}),
            device.upload<float4>({float4{7, 6, 4.5f, 0}, float4{1.2f, 2.4f, 5, 0}})};
}

void render(const Colours& seen, const Room& room, int samples, int seed) {
    trace(ndrange(seen.extents[0], seen.extents[1]), seen, room, samples, seed);
}

Result recover(const Colours& target, const Room& truth, int steps, int samples,
               const std::function<void(const Progress&)>& report) {
    const Device device = target.device();
    const int texels = int(truth.floor.extents[0]);
    Room room = grey_room(device, texels);
    const auto zeros = [&] {
        return Room{device.zeros<float4>({texels, texels}), device.zeros<float4>({texels, texels}), device.zeros<float4>(2)};
    };
    Room gradient = zeros(), first = zeros(), second = zeros();
    Array<float> loss = device.zeros<float>(1), seed = device.zeros<float>(1);
    Result result{room, progress_of(0, 0, room, truth), {}, 0, 0};
    std::vector<double> gradient_ms, primal_ms;
    double smoothed = 0;
    for (int step = 1; step <= steps; ++step) {
        gradient_ms.push_back(milliseconds([&] {
            loss.fill(0.0f), seed.fill(1.0f);
            gradient.floor.fill(float4{}), gradient.wall.fill(float4{}), gradient.lights.fill(float4{});
            autodiff(Reverse, objective, Duplicated(loss, seed), Duplicated(room, gradient), Const(target), Const(samples),
                     Const(step));
            device.synchronize();
        }));
        const float corrections[] = {1 / (1 - std::pow(0.9f, float(step))), 1 / (1 - std::pow(0.99f, float(step)))};
        const float slower = step > steps * 2 / 3 ? 0.3f : 1.0f;
        const auto descend = [&](const Array<float4>& at, const Array<float4>& m, const Array<float4>& v, const Array<float4>& g,
                                 float rate, float high) {
            adam(ndrange(at.count()), at, m, v, g, rate * slower, high, corrections[0], corrections[1]);
        };
        descend(room.floor.flat(), first.floor.flat(), second.floor.flat(), gradient.floor.flat(), 0.02f, 1);
        descend(room.wall.flat(), first.wall.flat(), second.wall.flat(), gradient.wall.flat(), 0.02f, 1);
        descend(room.lights, first.lights, second.lights, gradient.lights, 0.1f, 100);
        const double now = loss.download()[0];
        smoothed = step == 1 ? now : 0.8 * smoothed + 0.2 * now;
        if (step == 1) result.first = progress_of(step, now, grey_room(device, texels), truth);
        if (step % 20 == 0 || step == steps) report(result.last = progress_of(step, smoothed, room, truth));
    }
    for (int run = 0; run < 5; ++run)
        primal_ms.push_back(milliseconds([&] {
            loss.fill(0.0f);
            objective(loss, room, target, samples, run);
            device.synchronize();
        }));
    result.primal_ms = median_of(primal_ms);
    result.gradient_ms = median_of(gradient_ms);
    return result;
}

Picture picture_of(const Colours& radiance, int scale) {
    const std::vector<float4> values = radiance.download();
    const int height = int(radiance.extents[0]), width = int(radiance.extents[1]);
    const auto byte = [](float light) { return uint32_t(std::pow(std::clamp(light, 0.0f, 1.0f), 1 / 2.2f) * 255 + 0.5f); };
    Picture picture{width * scale, height * scale, {}};
    for (int y = 0; y < picture.height; ++y)
        for (int x = 0; x < picture.width; ++x) {
            const float4 c = values[size_t(y / scale * width + x / scale)];
            picture.pixels.push_back(byte(c.x) | byte(c.y) << 8 | byte(c.z) << 16 | 0xff000000u);
        }
    return picture;
}

}  // namespace relight
