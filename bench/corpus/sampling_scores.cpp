// Scores of molecules, densities, pairs, trajectories.
#include <cmath>

#include "bench/corpus/sampling.h"
#include "bench/corpus/sampling_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

std::vector<float4> fours(const std::vector<float>& from) {
    std::vector<float4> out;
    for (size_t k = 0; k < from.size(); k += 4) out.push_back({from[k], from[k + 1], from[k + 2], from[k + 3]});
    return out;
}

// ---- docking: the score of each of many poses of a ligand against a protein, by types of atoms, a pose an item ----
const auto docking_kernel =
    kernel("docking", [](Out<float> scores, In<float, 2> transforms, In<float4> ligand, In<int> ligand_types, In<float4> protein,
                         In<int> protein_types, In<float2> parameters) {
        auto pose = global_index();
        const auto row = [&](int k) {
            return Val<float4>(transforms(4 * k, pose), transforms(4 * k + 1, pose), transforms(4 * k + 2, pose),
                               transforms(4 * k + 3, pose));
        };
        auto row_x = row(0), row_y = row(1), row_z = row(2);
        Var score = 0.0f;
        $for(a, range(ligand.size(0))) {
            auto atom = ligand[a];
            auto mine = parameters[ligand_types[a]];
            Val<float4> at(atom.x, atom.y, atom.z, 1.0f);
            Val<float3> place(dot(row_x, at), dot(row_y, at), dot(row_z, at));
            $for(b, range(protein.size(0))) {
                auto other = protein[b];
                auto theirs = parameters[protein_types[b]];
                auto away = place - swizzle<"xyz">(other);
                auto r = sqrt(dot(away, away) + 0.01f);
                auto touch = mine.x + theirs.x;
                $if(r < touch) { score += 4.0f * (touch - r); }
                $if(ligand_types[a] < 2 && protein_types[b] < 2) {
                    $if(r < 6.0f) { score += atom.w * other.w * (1.0f / r - 1.0f / 6.0f); }
                }
                $elif(r < 8.0f) { score -= mine.y * theirs.y * (1.0f - r * 0.125f); }
            }
        }
        scores[pose] = score;
    });

Kernel docking() {
    struct Shape {
        explicit Shape(Size size)
            : poses(size == Size::test ? 71 : 2003),
              ligand(size == Size::test ? 5 : 17),
              protein(size == Size::test ? 19 : 301) {}
        int poses, ligand, protein;
        int types = 6;
        std::vector<float> transforms() const {
            std::vector<float> out(12 * size_t(poses));
            const std::vector<float> angle = uniform<float>(2 * size_t(poses), 1, 0.0f, 6.28f),
                                     shift = uniform<float>(3 * size_t(poses), 2, -8.0f, 8.0f);
            for (size_t p = 0; p < size_t(poses); ++p) {
                const float c = std::cos(angle[2 * p]), s = std::sin(angle[2 * p]), u = std::cos(angle[2 * p + 1]),
                            v = std::sin(angle[2 * p + 1]);
                const float rows[12] = {c,     -s,    0, shift[3 * p],    u * s, u * c, -v, shift[3 * p + 1],
                                        v * s, v * c, u, shift[3 * p + 2]};
                for (size_t k = 0; k < 12; ++k) out[k * size_t(poses) + p] = rows[k];
            }
            return out;
        }
        std::vector<float> atoms(int count, uint32_t seed, float extent) const {
            std::vector<float> out = uniform<float>(4 * size_t(count), seed, -extent, extent);
            for (size_t k = 3; k < out.size(); k += 4) out[k] /= extent;
            return out;
        }
        std::vector<int32_t> types_of(int count, uint32_t seed) const { return uniform<int32_t>(size_t(count), seed, 0, types); }
        std::vector<float> ligand_atoms() const { return atoms(ligand, 3, 3.0f); }
        std::vector<float> protein_atoms() const { return atoms(protein, 4, 12.0f); }
        std::vector<float> parameters() const { return uniform<float>(2 * size_t(types), 5, 0.5f, 2.0f); }
    };
    return compared<Shape>("docking", 2.5e-4, [](auto on, const Shape& s) {
        std::vector<float2> pairs;
        for (size_t k = 0; k < s.parameters().size(); k += 2) pairs.push_back({s.parameters()[k], s.parameters()[k + 1]});
        const auto transforms = on.of(s.transforms(), {12, s.poses});
        const auto ligand = on.of(fours(s.ligand_atoms())), protein = on.of(fours(s.protein_atoms()));
        const auto ligand_types = on.of(s.types_of(s.ligand, 6)), protein_types = on.of(s.types_of(s.protein, 7));
        const auto parameters = on.of(pairs);
        const auto scores = zeros<float>(on, s.poses);
        if constexpr (on.ours)
            return side(on.device, results_in(scores), [=] {
                docking_kernel(ndrange(s.poses), scores, transforms, ligand, ligand_types, protein, protein_types, parameters);
            });
        else
            return side(results_in(scores), [=] {
                openmp::docking(scores, transforms, ligand.scalars(), ligand_types, s.ligand, protein.scalars(), protein_types,
                                s.protein, parameters.scalars(), s.poses);
            });
    });
}

// ---- mixture_density: the log density of points in 8 dimensions under 16 Gaussians, in double ----
const auto mixture_density_kernel = kernel("mixture_density", [](Out<double> density, In<double, 2> points, In<double, 2> means,
                                                                 In<double, 3> factors, In<double> constants) {
    auto i = global_index();
    Private<double, 16> terms;
    Private<double, 8> away;
    Var most = -1e300;
    $for(k, range(16)) {
        for (int d = 0; d < 8; ++d) away[d] = points(d, i) - means(k, d);
        Var square = 0.0;
        for (int d = 0; d < 8; ++d) {
            Var y = 0.0;
            for (int e = 0; e <= d; ++e) y += factors(k, d, e) * away[e];
            square += y * y;
        }
        terms[k] = constants[k] - 0.5 * square;
        most = max(most, terms[k]);
    }
    Var sum = 0.0;
    $for(k, range(16)) { sum += exp(terms[k] - most); }
    density[i] = most + log(sum);
});

Kernel mixture_density() {
    return compared("mixture_density", 1e-12, [](auto on, Size size) {
        const int count = size == Size::test ? 123 : 80003;
        const auto host_factors = [&] {
            std::vector<double> out = uniform<double>(16 * 64, 10, -0.3, 0.3);
            for (size_t k = 0; k < 16; ++k)
                for (size_t d = 0; d < 8; ++d) out[64 * k + 9 * d] += 1.2;
            return out;
        };
        const auto points = on.of(uniform<double>(8 * size_t(count), 8, -2.0, 2.0), {8, count}),
                   means = on.of(uniform<double>(16 * 8, 9, -1.5, 1.5), {16, 8});
        const auto factors = on.of(host_factors(), {16, 8, 8});
        const auto constants = on.of(uniform<double>(16, 11, -12.0, -9.0)), density = zeros<double>(on, count);
        if constexpr (on.ours)
            return side(on.device, results_in(density),
                        [=] { mixture_density_kernel(ndrange(count), density, points, means, factors, constants); });
        else
            return side(results_in(density), [=] { openmp::mixture_density(density, points, means, factors, constants, count); });
    });
}

// ---- pair_counts: how many pairs of points are nearer than each of eight distances; the coordinates are whole numbers ----
const auto pair_counts_kernel = kernel("pair_counts", static_group<128>, whole_groups,
                                       [](InOut<uint32_t> counts, In<float> x, In<float> y, In<float> z, In<float> squares) {
                                           auto i = global_index();
                                           Private<uint32_t, 8> mine;
                                           for (int b = 0; b < 8; ++b) mine[b] = 0u;
                                           $if(in_range()) {
                                               $for(j, range(x.size(0))) {
                                                   Val<float3> away(x[j] - x[i], y[j] - y[i], z[j] - z[i]);
                                                   auto square = dot(away, away);
                                                   for (int b = 0; b < 8; ++b) mine[b] += cast<uint32_t>(square < squares[b]);
                                               }
                                           }
                                           for (int b = 0; b < 8; ++b) {
                                               auto sum = group::reduce_add(mine[b]);
                                               $if(local_index() == 0) { atomic_add(counts[b], sum); }
                                           }
                                       });

Kernel pair_counts() {
    return compared("pair_counts", 0, [](auto on, Size size) {
        const int points = size == Size::test ? 203 : 5003;
        const auto coordinate = [&](uint32_t seed) {
            std::vector<float> out = uniform<float>(size_t(points), seed, 0.0f, 1000.0f);
            for (float& v : out) v = std::floor(v);
            return out;
        };
        const auto host_squares = [&] {
            std::vector<float> out;
            for (int b = 1; b <= 8; ++b) out.push_back(float(b * b * 2500) + 0.5f);
            return out;
        };
        const auto x = on.of(coordinate(12)), y = on.of(coordinate(13)), z = on.of(coordinate(14)),
                   squares = on.of(host_squares());
        const auto counts = zeros<uint32_t>(on, 8);
        if constexpr (on.ours)
            return side(on.device, results_in(counts), [=] {
                counts.fill(0u);
                pair_counts_kernel(ndrange(points), counts, x, y, z, squares);
            });
        else
            return side(results_in(counts), [=] { openmp::pair_counts(counts, x, y, z, squares, points); });
    });
}

// ---- coulomb_grid: the potential of point charges at the points of a grid, summed directly ----
const auto coulomb_grid_kernel = kernel("coulomb_grid", [](Out<float, 3> potential, In<float4> atoms, Val<float> spacing) {
    auto [i, j, k] = global_index<3>();
    auto place = Val<float3>(cast<float>(i), cast<float>(j), cast<float>(k)) * spacing;
    Var sum = 0.0f;
    $for(a, range(atoms.size(0))) {
        auto away = place - swizzle<"xyz">(atoms[a]);
        sum += atoms[a].w * rsqrt(dot(away, away));
    }
    potential(i, j, k) = sum;
});

Kernel coulomb_grid() {
    struct Shape {
        explicit Shape(Size size) : size(size == Size::test ? 11 : 43), atoms(size == Size::test ? 23 : 301) {}
        int size, atoms;
        float spacing = 0.5f;
        /// No charge is nearer than a tenth to a point of the grid: each lies a little off the middle of a cell.
        std::vector<float> charges() const {
            std::vector<float> out = uniform<float>(4 * size_t(atoms), 15, -1.0f, 1.0f);
            for (size_t k = 0; k < out.size(); ++k)
                if (k % 4 != 3) out[k] = (std::floor((out[k] + 1.0f) * 0.5f * float(size)) + 0.5f + 0.2f * out[k]) * spacing;
            return out;
        }
    };
    return compared<Shape>("coulomb_grid", 2e-5, [](auto on, const Shape& s) {
        const auto atoms = on.of(fours(s.charges()));
        const auto potential = zeros<float>(on, {s.size, s.size, s.size});
        if constexpr (on.ours)
            return side(on.device, results_in(potential),
                        [=] { coulomb_grid_kernel(ndrange(s.size, s.size, s.size), potential, atoms, s.spacing); });
        else
            return side(results_in(potential),
                        [=] { openmp::coulomb_grid(potential, atoms.scalars(), s.spacing, s.atoms, s.size); });
    });
}

// ---- lorenz: many trajectories of the Lorenz system by Runge and Kutta's steps of fourth order, in double ----
const auto lorenz_kernel =
    kernel("lorenz", [](Out<double> x, Out<double> y, Out<double> z, In<double, 2> starts, Val<double> step, Val<int> steps) {
        auto i = global_index();
        const auto slope = [](Val<double3> p) {
            return Val<double3>(10.0 * (p.y - p.x), p.x * (28.0 - p.z) - p.y, p.x * p.y - (8.0 / 3.0) * p.z);
        };
        Var<double3> p = Val<double3>(starts(0, i), starts(1, i), starts(2, i));
        $for(s, range(steps)) {
            auto a = slope(p);
            auto b = slope(p + 0.5 * step * a);
            auto c = slope(p + 0.5 * step * b);
            auto d = slope(p + step * c);
            p += step / 6.0 * (a + 2.0 * b + 2.0 * c + d);
        }
        x[i] = p.x;
        y[i] = p.y;
        z[i] = p.z;
    });

Kernel lorenz() {
    return compared("lorenz", 1e-11, [](auto on, Size size) {
        const int count = size == Size::test ? 101 : 24003, steps = size == Size::test ? 11 : 200;
        const double step = 0.005;
        const auto starts = on.of(uniform<double>(3 * size_t(count), 16, 5.0, 15.0), {3, count});
        const auto x = zeros<double>(on, count), y = zeros<double>(on, count), z = zeros<double>(on, count);
        if constexpr (on.ours)
            return side(on.device, results_in(x, y, z), [=] { lorenz_kernel(ndrange(count), x, y, z, starts, step, steps); });
        else
            return side(results_in(x, y, z), [=] { openmp::lorenz(x, y, z, starts, step, count, steps); });
    });
}

}  // namespace

std::vector<Kernel> scores() { return {docking(), mixture_density(), pair_counts(), coulomb_grid(), lorenz()}; }

}  // namespace bench::corpus
