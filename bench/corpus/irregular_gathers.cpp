// Irregular kernels: gathers over meshes and cell lists, look-ups in tables.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/corpus/irregular.h"
#include "bench/corpus/irregular_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- mesh_flux: steps of a gas on an unstructured mesh: Rusanov's flux over the four faces of each cell, walls around ----
constexpr int faces = 4;
constexpr float adiabatic = 1.4f;

struct Gas {  // of one cell, seen along the normal of a face
    Val<float> density, momentum_x, momentum_y, energy, along, pressure, speed;
    Gas(const Val<float>& density, const Val<float>& momentum_x, const Val<float>& momentum_y, const Val<float>& energy,
        const Val<float>& normal_x, const Val<float>& normal_y)
        : density(density),
          momentum_x(momentum_x),
          momentum_y(momentum_y),
          energy(energy),
          along((momentum_x * normal_x + momentum_y * normal_y) / density),
          pressure((adiabatic - 1) * (energy - 0.5f * (momentum_x * momentum_x + momentum_y * momentum_y) / density)),
          speed(abs(along) + sqrt(adiabatic * pressure / density)) {}
};

const auto mesh_step = kernel("mesh_flux", [](Out<float, 2> after, In<float, 2> before, In<int, 2> neighbours,
                                              In<float, 2> normals_x, In<float, 2> normals_y, Val<float> step) {
    auto i = global_index();
    const auto density = before(0, i), momentum_x = before(1, i), momentum_y = before(2, i), energy = before(3, i);
    Var d_density = 0.0f, d_momentum_x = 0.0f, d_momentum_y = 0.0f, d_energy = 0.0f;
    $for(f, range(faces)) {
        const auto x = normals_x(f, i), y = normals_y(f, i);
        const auto neighbour = neighbours(f, i);
        const auto wall = neighbour < 0;
        const auto other = select(wall, i, neighbour);
        // Behind a wall is the same gas with its velocity mirrored.
        const auto u = before(1, other), v = before(2, other);
        const auto mirrored = select(wall, 2.0f * (u * x + v * y), 0.0f);
        const Gas a(density, momentum_x, momentum_y, energy, x, y);
        const Gas b(before(0, other), u - mirrored * x, v - mirrored * y, before(3, other), x, y);
        const auto speed = max(a.speed, b.speed);
        const auto flux = [&](const Val<float>& of_a, const Val<float>& of_b, const Val<float>& pressure) {
            return 0.5f * (of_a * a.along + of_b * b.along + pressure - speed * (of_b - of_a));
        };
        d_density += flux(a.density, b.density, 0.0f);
        d_momentum_x += flux(a.momentum_x, b.momentum_x, (a.pressure + b.pressure) * x);
        d_momentum_y += flux(a.momentum_y, b.momentum_y, (a.pressure + b.pressure) * y);
        d_energy += flux(a.energy, b.energy, a.pressure * a.along + b.pressure * b.along);
    }
    after(0, i) = density - step * d_density;
    after(1, i) = momentum_x - step * d_momentum_x;
    after(2, i) = momentum_y - step * d_momentum_y;
    after(3, i) = energy - step * d_energy;
});

Kernel mesh_flux() {
    struct Shape {
        explicit Shape(Size size)
            : width(size == Size::test ? 23 : 300), height(size == Size::test ? 21 : 260), n(width * height) {
            // A grid whose cells are numbered irregularly within stretches of 1,000.
            std::vector<int> number(size_t(n), 0);
            std::iota(number.begin(), number.end(), 0);
            const std::vector<float> order = uniform<float>(size_t(n), 1);
            for (int from = 0; from < n; from += 1000)
                std::sort(number.begin() + from, number.begin() + std::min(from + 1000, n),
                          [&](int a, int b) { return order[size_t(a)] < order[size_t(b)]; });
            neighbours.assign(size_t(faces * n), -1), normals_x.assign(size_t(faces * n), 0), normals_y = normals_x;
            const int dx[] = {1, 0, -1, 0}, dy[] = {0, 1, 0, -1};
            for (int f = 0; f < faces; ++f)
                for (int k = 0; k < n; ++k) {
                    const int x = k % width + dx[f], y = k / width + dy[f];
                    const size_t at = size_t(f * n + number[size_t(k)]);
                    if (x >= 0 && x < width && y >= 0 && y < height) neighbours[at] = number[size_t(y * width + x)];
                    normals_x[at] = float(dx[f]), normals_y[at] = float(dy[f]);
                }
            start = uniform<float>(size_t(4 * n), 2, -0.1f, 0.1f);
            for (size_t k = 0; k < size_t(n); ++k) start[k] += 1, start[3 * size_t(n) + k] += 2.5f;
        }
        int width, height, n, steps = 6;
        float step = 0.1f;
        std::vector<int> neighbours;
        std::vector<float> normals_x, normals_y, start;
    };
    return compared<Shape>("mesh_flux", 1e-5, [](auto on, const Shape& s) {
        const auto neighbours = on.of(s.neighbours, {faces, s.n});
        const auto field = [&](const std::vector<float>& v) { return on.of(v, {4, s.n}); };
        const auto x = field(s.normals_x), y = field(s.normals_y), input = field(s.start), a = zeros<float>(on, {4, s.n}),
                   b = zeros<float>(on, {4, s.n});
        if constexpr (on.ours)
            return side(on.device, results_in(a), [=, steps = s.steps, step = s.step] {
                a.copy_from(input);
                const Range cells = ndrange(a.size(1));
                for (int t = 0; t < steps; t += 2)
                    mesh_step(cells, b, a, neighbours, x, y, step), mesh_step(cells, a, b, neighbours, x, y, step);
            });
        else
            return side(results_in(a), [=, n = s.n, steps = s.steps, step = s.step] {
                openmp::mesh_flux(a, b, input, neighbours, x, y, n, steps, step);
            });
    });
}

// ---- cell_list_forces: Lennard-Jones forces and energies of particles in periodic cells of fixed capacity ----
constexpr int capacity = 8;
constexpr float cell_edge = 2.5f, cutoff_squared = cell_edge * cell_edge;

// Positions are relative to the cell's corner.
const auto cell_forces =
    kernel("cell_list_forces", [](Out<float4, 2> forces, In<float4, 2> places, In<int> counts, Val<int> edge) {
        auto [cell, slot] = global_index<2>();
        const auto z = cell / (edge * edge), y = cell / edge % edge, x = cell % edge;
        Var force = Val<float3>(0.0f, 0.0f, 0.0f);
        Var energy = 0.0f;
        $if(slot < counts[cell]) {
            const auto mine = places(cell, slot);
            $for(dz, range(-1, 2)) {
                $for(dy, range(-1, 2)) {
                    $for(dx, range(-1, 2)) {
                        const auto wrapped = [&](const auto& k) { return (k + edge) % edge; };
                        const auto other = (wrapped(z + dz) * edge + wrapped(y + dy)) * edge + wrapped(x + dx);
                        const auto shift = cell_edge * Val<float3>(cast<float>(dx), cast<float>(dy), cast<float>(dz));
                        const auto origin = swizzle<"xyz">(mine) - shift;
                        $for(k, range(counts[other])) {
                            const auto apart = origin - swizzle<"xyz">(places(other, k));
                            const auto squared = dot(apart, apart);
                            $if(squared < cutoff_squared && squared > 0.0f) {
                                const auto inverse = 1.0f / squared, sixth = inverse * inverse * inverse;
                                force += (24.0f * inverse * sixth * (2.0f * sixth - 1.0f)) * apart;
                                energy += 2.0f * sixth * (sixth - 1.0f);
                            }
                        }
                    }
                }
            }
        }
        forces(cell, slot) = Val<float4>(force, energy);
    });

Kernel cell_list_forces() {
    struct Shape {
        explicit Shape(Size size) : edge(size == Size::test ? 3 : 16), cells(edge * edge * edge) {
            // A lattice of 2 x 2 x 2 places a cell, 4 of 5 taken. Multiples of 1 / 64 make the squared distances exact.
            const std::vector<float> random = uniform<float>(size_t(cells * capacity * 4), 1);
            places.assign(size_t(cells * capacity * 4), 0), counts.assign(size_t(cells), 0);
            for (size_t k = 0; k < size_t(cells * capacity); ++k) {
                if (random[4 * k + 3] > 0.8f) continue;
                const size_t cell = k / capacity, slot = size_t(counts[cell]++);
                for (size_t axis = 0; axis < 3; ++axis)
                    places[(cell * capacity + slot) * 4 + axis] =
                        std::round(64 * (0.4f + 1.25f * float(k >> axis & 1) + 0.25f * random[4 * k + axis])) / 64;
            }
        }
        int edge, cells;
        std::vector<float> places;
        std::vector<int> counts;
    };
    return compared<Shape>("cell_list_forces", 1e-5, [](auto on, const Shape& s) {
        const auto counts = on.of(s.counts);
        if constexpr (on.ours) {
            std::vector<float4> four;
            for (size_t k = 0; k < s.places.size(); k += 4) four.push_back({s.places[k], s.places[k + 1], s.places[k + 2], 0});
            const auto places = on.of(four, {s.cells, capacity}), forces = zeros<float4>(on, {s.cells, capacity});
            return side(on.device, results_in(forces),
                        [=, edge = s.edge] { cell_forces(ndrange(counts.size(), capacity), forces, places, counts, edge); });
        } else {
            const auto places = on.of(s.places), forces = zeros<float>(on, int64_t(places.size()));
            return side(results_in(forces), [=, edge = s.edge] { openmp::cell_list_forces(forces, places, counts, edge); });
        }
    });
}

// ---- neighbour_count: how many points lie within a radius of each, points sorted by the cells of a grid as wide as the radius
// ----
constexpr int radius = 64;

const auto count_near = kernel("neighbour_count", [](Out<int> near, In<int> x, In<int> y, In<int> starts, Val<int> edge) {
    auto i = global_index();
    const auto my_x = x[i], my_y = y[i], column = my_x / radius, row = my_y / radius;
    Var count = 0;
    $for(r, range(max(row - 1, 0), min(row + 2, edge))) {
        // The cells of a row of the grid follow each other.
        $for(k, range(starts[r * edge + max(column - 1, 0)], starts[r * edge + min(column + 2, edge)])) {
            const auto dx = x[k] - my_x, dy = y[k] - my_y;
            $if(dx * dx + dy * dy <= radius * radius) { ++count; }
        }
    }
    near[i] = count;
});

Kernel neighbour_count() {
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 501 : 120'000), edge(size == Size::test ? 8 : 127) {
            // Denser towards one corner.
            const std::vector<double> u = uniform<double>(size_t(2 * n), 1);
            std::vector<int> all_x, all_y, order(size_t(n), 0);
            for (size_t k = 0; k < size_t(n); ++k) {
                all_x.push_back(int(edge * radius * u[2 * k] * std::sqrt(u[2 * k])));
                all_y.push_back(int(edge * radius * u[2 * k + 1]));
            }
            const auto cell = [&](int k) { return all_y[size_t(k)] / radius * edge + all_x[size_t(k)] / radius; };
            std::iota(order.begin(), order.end(), 0);
            std::ranges::stable_sort(order, [&](int a, int b) { return cell(a) < cell(b); });
            starts.assign(size_t(edge * edge) + 1, 0);
            for (int k : order) x.push_back(all_x[size_t(k)]), y.push_back(all_y[size_t(k)]), ++starts[size_t(cell(k)) + 1];
            for (size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
        }
        int n, edge;
        std::vector<int> x, y, starts;
    };
    return compared<Shape>("neighbour_count", 0, [](auto on, const Shape& s) {
        const auto x = on.of(s.x), y = on.of(s.y), starts = on.of(s.starts), near = zeros<int>(on, s.n);
        if constexpr (on.ours)
            return side(on.device, results_in(near),
                        [=, edge = s.edge] { count_near(ndrange(near.size()), near, x, y, starts, edge); });
        else
            return side(results_in(near),
                        [=, edge = s.edge] { openmp::neighbour_count(near, x, y, starts, int(near.size()), edge, radius); });
    });
}

// ---- cross_sections: five quantities at random energies, by binary search in a sorted table and interpolation, in double ----
constexpr int channels = 5;

const auto look_up =
    kernel("cross_sections", [](Out<double, 2> found, In<double> wanted, In<double> energies, In<double, 2> table) {
        auto i = global_index();
        const auto energy = wanted[i];
        Var low = 0, high = energies.size(0) - 1;
        $while(high - low > 1) {
            const auto middle = (low + high) / 2;
            $if(energies[middle] > energy) { high = middle; }
            $else { low = middle; }
        }
        const auto part = (energy - energies[low]) / (energies[low + 1] - energies[low]);
        for (int c = 0; c < channels; ++c) found(i, c) = lerp(table(low, c), table(low + 1, c), part);
    });

Kernel cross_sections() {
    return compared("cross_sections", 1e-13, [](auto on, Size size) {
        const int entries = size == Size::test ? 997 : 60'000, lookups = size == Size::test ? 301 : 100'000;
        std::vector<double> sorted = uniform<double>(size_t(entries), 1, 0.5, 1.5);
        std::partial_sum(sorted.begin(), sorted.end(), sorted.begin());
        const auto wanted = on.of(uniform<double>(size_t(lookups), 3, sorted.front(), sorted.back())), energies = on.of(sorted);
        const auto table = on.of(uniform<double>(size_t(entries * channels), 2), {entries, channels}),
                   found = zeros<double>(on, {lookups, channels});
        if constexpr (on.ours)
            return side(on.device, results_in(found), [=] { look_up(ndrange(wanted.size()), found, wanted, energies, table); });
        else
            return side(results_in(found), [=] {
                openmp::cross_sections(found, wanted, energies, table, int(wanted.size()), int(energies.size()), channels);
            });
    });
}

}  // namespace

std::vector<Kernel> gathers() { return {mesh_flux(), cell_list_forces(), neighbour_count(), cross_sections()}; }

}  // namespace bench::corpus
