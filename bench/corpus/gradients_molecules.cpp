// Gradients of forces and scores of pairs of atoms.
#include "bench/corpus/gradients.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- lennard_jones: forces over a fixed list in which each atom has all its neighbours ----
const auto pair_forces = kernel("pair_forces", [](Out<double> fx, Out<double> fy, Out<double> fz, In<double> x, In<double> y,
                                                  In<double> z, In<int> starts, In<int> neighbours) {
    auto i = global_index();
    auto xi = x[i], yi = y[i], zi = z[i];
    Var sx = 0.0, sy = 0.0, sz = 0.0;
    $for(e, range(starts[i], starts[i + 1])) {
        auto j = neighbours[e];
        auto dx = xi - x[j], dy = yi - y[j], dz = zi - z[j];
        auto s = 1.0 / (dx * dx + dy * dy + dz * dz), s3 = s * s * s;
        auto f = 24.0 * s * s3 * (2.0 * s3 - 1.0);
        sx += f * dx, sy += f * dy, sz += f * dz;
    }
    fx[i] = sx, fy[i] = sy, fz[i] = sz;
});
/// The list is symmetric: of a pair each atom gets what the other gives, negated.
const auto pair_forces_by_hand =
    kernel("pair_forces_by_hand", [](In<double> gx, In<double> gy, In<double> gz, In<double> x, In<double> y, In<double> z,
                                     In<int> starts, In<int> neighbours, InOut<double> dx, InOut<double> dy, InOut<double> dz) {
        auto i = global_index();
        auto xi = x[i], yi = y[i], zi = z[i], ui = gx[i], vi = gy[i], wi = gz[i];
        Var sx = 0.0, sy = 0.0, sz = 0.0;
        $for(e, range(starts[i], starts[i + 1])) {
            auto j = neighbours[e];
            auto ex = xi - x[j], ey = yi - y[j], ez = zi - z[j], u = ui - gx[j], v = vi - gy[j], w = wi - gz[j];
            auto s = 1.0 / (ex * ex + ey * ey + ez * ez), s3 = s * s * s, s4 = s * s3;
            // f, and twice its derivative in the square of the distance times the product of the two differences.
            auto f = 24.0 * s4 * (2.0 * s3 - 1.0);
            auto slope = s * s4 * (192.0 - 672.0 * s3) * (ex * u + ey * v + ez * w);
            sx += f * u + slope * ex, sy += f * v + slope * ey, sz += f * w + slope * ez;
        }
        dx[i] += sx, dy[i] += sy, dz[i] += sz;
    });

Gradient lennard_jones() {
    return {"lennard_jones", 1e-10, [](const Device& d, Size size) {
                // A lattice whose atoms are moved a little.
                const int side = size == Size::test ? 5 : 27, n = side * side * side;
                std::vector<std::vector<double>> at;
                for (uint32_t k = 0; k < 3; ++k) at.push_back(uniform<double>(size_t(n), k + 1, -0.1, 0.1));
                for (int i = 0; i < n; ++i)
                    at[0][size_t(i)] += 1.2 * (i % side), at[1][size_t(i)] += 1.2 * (i / side % side),
                        at[2][size_t(i)] += 1.2 * (i / side / side);
                std::vector<int> starts{0}, neighbours;
                const auto near = [&](int i, int j) {
                    double square = 0;
                    for (const auto& p : at) square += (p[size_t(i)] - p[size_t(j)]) * (p[size_t(i)] - p[size_t(j)]);
                    return i != j && square < 2.5 * 2.5;
                };
                const auto around = [&](int k) { return std::pair(std::max(k - 3, 0), std::min(k + 4, side)); };
                for (int i = 0; i < n; ++i) {
                    const auto [x0, x1] = around(i % side);
                    const auto [y0, y1] = around(i / side % side);
                    const auto [z0, z1] = around(i / side / side);
                    for (int z = z0; z < z1; ++z)
                        for (int y = y0; y < y1; ++y)
                            for (int x = x0; x < x1; ++x)
                                if (const int j = (z * side + y) * side + x; near(i, j)) neighbours.push_back(j);
                    starts.push_back(int(neighbours.size()));
                }
                const Array<int> first = d.upload(starts), list = d.upload(neighbours);
                std::vector<Array<double>> p, f, dp, df, seeds;
                for (uint32_t k = 0; k < 3; ++k) {
                    p.push_back(d.upload(at[k])), seeds.push_back(d.upload(uniform<double>(size_t(n), k + 4, -1, 1)));
                    for (auto* all : {&f, &dp, &df}) all->push_back(d.zeros<double>(n));
                }
                return sides(
                    d, results_in(dp, df),
                    [=] {
                        for (size_t k = 0; k < 3; ++k) dp[k].fill(0), df[k].copy_from(seeds[k]);
                    },
                    [=] { pair_forces(ndrange(n), f[0], f[1], f[2], p[0], p[1], p[2], first, list); },
                    [=] {
                        autodiff(Reverse, pair_forces, ndrange(n), DuplicatedNoNeed(f[0], df[0]), DuplicatedNoNeed(f[1], df[1]),
                                 DuplicatedNoNeed(f[2], df[2]), Duplicated(p[0], dp[0]), Duplicated(p[1], dp[1]),
                                 Duplicated(p[2], dp[2]), Const(first), Const(list));
                    },
                    [=] {
                        pair_forces_by_hand(ndrange(n), df[0], df[1], df[2], p[0], p[1], p[2], first, list, dp[0], dp[1], dp[2]);
                        for (const auto& g : df) g.fill(0);
                    });
            }};
}

// ---- docking_score: of a ligand in many poses beside a protein; derivatives in the three shifts and three angles of a pose ----
// Atoms are rows of x, y, z, radius and charge. Energy and force are continuous where the branches meet.
constexpr float depth = 0.2f, reach = 3.0f, stiffness = 2.0f, charge_reach = 8.0f;
/// The rows of the rotation by a about x, then b about y, then c about z.
struct Rotation {
    Val<float> r[3][3];
    Val<float> sin_a, cos_a, sin_b, cos_b, sin_c, cos_c;
};
Rotation rotation(Val<float> a, Val<float> b, Val<float> c) {
    auto sa = sin(a), ca = cos(a), sb = sin(b), cb = cos(b), sc = sin(c), cc = cos(c);
    return {{{cc * cb, cc * sb * sa - sc * ca, cc * sb * ca + sc * sa},
             {sc * cb, sc * sb * sa + cc * ca, sc * sb * ca - cc * sa},
             {-sb, cb * sa, cb * ca}},
            sa,
            ca,
            sb,
            cb,
            sc,
            cc};
}
const auto docking = kernel("docking", [](Out<float> scores, In<float, 2> poses, In<float, 2> ligand, In<float, 2> protein) {
    auto p = global_index();
    const Rotation m = rotation(poses(3, p), poses(4, p), poses(5, p));
    auto tx = poses(0, p), ty = poses(1, p), tz = poses(2, p);
    Var score = 0.0f;
    $for(l, range(ligand.size(0))) {
        auto x = ligand(l, 0), y = ligand(l, 1), z = ligand(l, 2);
        auto px = m.r[0][0] * x + m.r[0][1] * y + m.r[0][2] * z + tx, py = m.r[1][0] * x + m.r[1][1] * y + m.r[1][2] * z + ty,
             pz = m.r[2][0] * x + m.r[2][1] * y + m.r[2][2] * z + tz;
        $for(a, range(protein.size(0))) {
            auto dx = px - protein(a, 0), dy = py - protein(a, 1), dz = pz - protein(a, 2);
            auto r = sqrt(dx * dx + dy * dy + dz * dz), gap = r - (ligand(l, 3) + protein(a, 3));
            $if(gap < 0.0f) { score += stiffness * gap * gap - depth; }
            $elif(gap < reach) {
                auto q = gap * (1.0f / reach), well = 1.0f - q * q;
                score -= depth * well * well;
            }
            $if(r < charge_reach) {
                auto fade = 1.0f - r * (1.0f / charge_reach);
                score += ligand(l, 4) * protein(a, 4) * fade * fade / r;
            }
        }
    }
    scores[p] = score;
});
/// A pose's derivatives are made of the force on each atom of the ligand: of the forces' sum, and of their products with the
/// atoms' places, whose sum is the adjoint of the rotation.
const auto docking_by_hand = kernel("docking_by_hand", [](InOut<float> dscores, In<float, 2> poses, In<float, 2> ligand,
                                                          In<float, 2> protein, InOut<float, 2> dposes) {
    auto p = global_index();
    const Rotation m = rotation(poses(3, p), poses(4, p), poses(5, p));
    auto tx = poses(0, p), ty = poses(1, p), tz = poses(2, p);
    std::vector<Var<float>> force(3, 0.0f), g(9, 0.0f);
    $for(l, range(ligand.size(0))) {
        const Val<float> place[] = {ligand(l, 0), ligand(l, 1), ligand(l, 2)};
        auto px = m.r[0][0] * place[0] + m.r[0][1] * place[1] + m.r[0][2] * place[2] + tx,
             py = m.r[1][0] * place[0] + m.r[1][1] * place[1] + m.r[1][2] * place[2] + ty,
             pz = m.r[2][0] * place[0] + m.r[2][1] * place[1] + m.r[2][2] * place[2] + tz;
        Var fx = 0.0f, fy = 0.0f, fz = 0.0f;
        $for(a, range(protein.size(0))) {
            auto dx = px - protein(a, 0), dy = py - protein(a, 1), dz = pz - protein(a, 2);
            auto r = sqrt(dx * dx + dy * dy + dz * dz), gap = r - (ligand(l, 3) + protein(a, 3));
            Var slope = 0.0f;
            $if(gap < 0.0f) { slope = 2.0f * stiffness * gap; }
            $elif(gap < reach) { slope = (4.0f * depth / (reach * reach)) * gap * (1.0f - gap * gap * (1.0f / (reach * reach))); }
            auto inverse = 1.0f / r;
            $if(r < charge_reach) {
                slope += ligand(l, 4) * protein(a, 4) * (1.0f / (charge_reach * charge_reach) - inverse * inverse);
            }
            auto f = slope * inverse;
            fx += f * dx, fy += f * dy, fz += f * dz;
        }
        const Val<float> f[] = {fx, fy, fz};
        for (size_t row = 0; row < 3; ++row) {
            force[row] += f[row];
            for (size_t column = 0; column < 3; ++column) g[3 * row + column] += f[row] * place[column];
        }
    }
    auto d = dscores[p];
    for (int k = 0; k < 3; ++k) dposes(k, p) += d * force[size_t(k)];
    Var by_a = 0.0f, by_c = 0.0f;
    for (size_t k = 0; k < 3; ++k) {
        by_a += g[3 * k + 1] * m.r[k][2] - g[3 * k + 2] * m.r[k][1];
        by_c += g[3 + k] * m.r[0][k] - g[k] * m.r[1][k];
    }
    auto first = g[0] * m.cos_c + g[3] * m.sin_c, second = g[1] * m.cos_c + g[4] * m.sin_c,
         third = g[2] * m.cos_c + g[5] * m.sin_c;
    auto by_b = m.cos_b * (m.sin_a * second + m.cos_a * third - g[6]) - m.sin_b * (first + m.sin_a * g[7] + m.cos_a * g[8]);
    dposes(3, p) += d * by_a, dposes(4, p) += d * by_b, dposes(5, p) += d * by_c;
    dscores[p] = 0.0f;
});

Gradient docking_score() {
    return {"docking_score", 1e-4, [](const Device& d, Size size) {
                const bool test = size == Size::test;
                const int n = test ? 45 : 1001, ligand_atoms = test ? 7 : 21, protein_atoms = test ? 31 : 151;
                const auto atoms = [&](int count, uint32_t seed, float extent) {
                    std::vector<float> rows = uniform<float>(size_t(count) * 5, seed, -extent, extent);
                    const std::vector<float> radii = uniform<float>(size_t(count), seed + 1, 0.8f, 1.6f),
                                             charges = uniform<float>(size_t(count), seed + 2, -1, 1);
                    for (size_t k = 0; k < size_t(count); ++k) rows[5 * k + 3] = radii[k], rows[5 * k + 4] = charges[k];
                    return d.upload(rows, {count, 5});
                };
                const Array<float, 2> ligand = atoms(ligand_atoms, 1, 2.5f), protein = atoms(protein_atoms, 4, 8),
                                      poses = d.upload(uniform<float>(size_t(6 * n), 7, -3, 3), {6, n}),
                                      dposes = d.zeros<float>({6, n});
                const Array<float> scores = d.zeros<float>(n), dscores = d.zeros<float>(n),
                                   seeds = d.upload(uniform<float>(size_t(n), 8, 0.5f, 1.5f));
                return sides(
                    d, results_in(dposes, dscores), [=] { dposes.fill(0), dscores.copy_from(seeds); },
                    [=] { docking(ndrange(n), scores, poses, ligand, protein); },
                    [=] {
                        autodiff(Reverse, docking, ndrange(n), DuplicatedNoNeed(scores, dscores), Duplicated(poses, dposes),
                                 Const(ligand), Const(protein));
                    },
                    [=] { docking_by_hand(ndrange(n), dscores, poses, ligand, protein, dposes); });
            }};
}

}  // namespace

std::vector<Gradient> gradients_of_molecules() { return {lennard_jones(), docking_score()}; }

}  // namespace bench::corpus
