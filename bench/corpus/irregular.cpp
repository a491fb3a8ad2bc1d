// Irregular kernels: graphs and sparse matrices. Gathers and searches are in files of their own.
#include "bench/corpus/irregular.h"

#include <cmath>

#include "bench/corpus/irregular_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- bfs: the distance of each node from node 0, one pair of launches a level, with flags ----
const auto bfs_expand = kernel("bfs_expand", [](InOut<int> level, InOut<bool> frontier, Out<bool> reached, In<bool> visited,
                                                In<int> starts, In<int> targets) {
    auto i = global_index();
    $if(frontier[i]) {
        frontier[i] = false;
        const auto next = level[i] + 1;
        $for(e, range(starts[i], starts[i + 1])) {
            const auto t = targets[e];
            $if(!visited[t]) {
                level[t] = next;
                reached[t] = true;
            }
        }
    }
});
const auto bfs_advance = kernel("bfs_advance", [](InOut<bool> reached, Out<bool> frontier, Out<bool> visited, Out<bool> more) {
    auto i = global_index();
    $if(reached[i]) {
        reached[i] = false;
        frontier[i] = true;
        visited[i] = true;
        more[0] = true;
    }
});

Kernel bfs() {
    return compared("bfs", 0, [](auto on, Size size) {
        const int n = size == Size::test ? 501 : 150'000;
        const Rows edges = Rows::random(n, 1, [](int i) { return 1 + i * 7 % 11; });
        const auto starts = on.of(edges.starts), targets = on.of(edges.columns), level = zeros<int>(on, n);
        const auto frontier = zeros<bool>(on, n), reached = zeros<bool>(on, n), visited = zeros<bool>(on, n),
                   more = zeros<bool>(on, 1);
        if constexpr (on.ours)
            return side(on.device, results_in(level), [=] {
                level.fill(-1), frontier.fill(false), reached.fill(false), visited.fill(false);
                level.slice(0, 1).fill(0), frontier.slice(0, 1).fill(true), visited.slice(0, 1).fill(true);
                const Range nodes = ndrange(starts.size() - 1);
                do {
                    more.fill(false);
                    bfs_expand(nodes, level, frontier, reached, visited, starts, targets);
                    bfs_advance(nodes, reached, frontier, visited, more);
                } while (more.get(0));
            });
        else
            return side(results_in(level), [=] { openmp::bfs(level, frontier, reached, visited, starts, targets, n); });
    });
}

// ---- components: the least node of each connected component; each edge lowers the labels of its ends until none changes ----
const auto lower_labels = kernel("components", [](InOut<int> after, In<int> before, Out<bool> changed, In<int> from, In<int> to) {
    auto e = global_index();
    const auto a = before[from[e]], b = before[to[e]];
    $if(a != b) {
        atomic_min(after[select(a < b, to[e], from[e])], min(a, b));
        changed[0] = true;
    }
});
const auto number = kernel("number", [](Out<int> a) {
    auto i = global_index();
    a[i] = i;
});

Kernel components() {
    return compared("components", 0, [](auto on, Size size) {
        // Edges lie within blocks of nodes, so that there are many components.
        constexpr int block = 100;
        const int n = size == Size::test ? 503 : 150'000;
        std::vector<int> one = uniform<int>(size_t(n) * 3 / 2, 1, 0, n), other = uniform<int>(one.size(), 2, 0, block);
        for (size_t e = 0; e < one.size(); ++e) other[e] = std::min(one[e] / block * block + other[e], n - 1);
        const auto from = on.of(one), to = on.of(other), label = zeros<int>(on, n), before = zeros<int>(on, n);
        const auto changed = zeros<bool>(on, 1);
        if constexpr (on.ours)
            return side(on.device, results_in(label), [=] {
                number(ndrange(label.size()), label);
                do {
                    changed.fill(false);
                    before.copy_from(label);
                    lower_labels(ndrange(from.size()), label, before, changed, from, to);
                } while (changed.get(0));
            });
        else
            return side(results_in(label), [=] { openmp::components(label, before, from, to, n, int(from.size())); });
    });
}

// ---- pagerank: steps of pulling ranks over the edges that come in, in double, of mean 1 ----
constexpr double damping = 0.85;

const auto share_ranks = kernel("pagerank_share", [](Out<double> share, In<double> rank, In<int> degree) {
    auto i = global_index();
    share[i] = rank[i] / cast<double>(degree[i]);
});
const auto pull_ranks = kernel("pagerank_pull", [](Out<double> rank, In<double> share, In<int> starts, In<int> sources) {
    auto i = global_index();
    Var sum = 0.0;
    $for(e, range(starts[i], starts[i + 1])) { sum += share[sources[e]]; }
    rank[i] = 1 - damping + damping * sum;
});

Kernel pagerank() {
    return compared("pagerank", 1e-13, [](auto on, Size size) {
        const int n = size == Size::test ? 401 : 200'000, steps = 4;
        const Rows edges = Rows::random(n, 1, [](int i) { return i * 5 % 17; });
        std::vector<int> degrees(size_t(n), 1);
        for (const int source : edges.columns) ++degrees[size_t(source)];
        const auto starts = on.of(edges.starts), sources = on.of(edges.columns), degree = on.of(degrees);
        const auto rank = zeros<double>(on, n), share = zeros<double>(on, n);
        if constexpr (on.ours)
            return side(on.device, results_in(rank), [=] {
                rank.fill(1);
                const Range nodes = ndrange(rank.size());
                for (int t = 0; t < steps; ++t)
                    share_ranks(nodes, share, rank, degree), pull_ranks(nodes, rank, share, starts, sources);
            });
        else
            return side(results_in(rank),
                        [=] { openmp::pagerank(rank, share, starts, sources, degree, int(rank.size()), steps, damping); });
    });
}

// ---- spmv_csr: a sparse matrix with rows of uneven length times a vector in double, one item a row ----
const auto multiply_csr = kernel("spmv_csr", [](Out<double> y, In<int> starts, In<int> columns, In<double> values, In<double> x) {
    auto i = global_index();
    Var sum = 0.0;
    $for(k, range(starts[i], starts[i + 1])) { sum += values[k] * x[columns[k]]; }
    y[i] = sum;
});

Kernel spmv_csr() {
    return compared("spmv_csr", 1e-13, [](auto on, Size size) {
        const int n = size == Size::test ? 301 : 300'000;
        const std::vector<double> u = uniform<double>(size_t(n), 4);
        const Rows matrix =
            Rows::random(n, 1, [&](int i) { return int(3 + 3 / std::sqrt(u[size_t(i)] + 2e-5)) * (i % 97 != 0); });
        const auto starts = on.of(matrix.starts), columns = on.of(matrix.columns);
        const auto values = on.of(uniform<double>(matrix.columns.size(), 2, -1.0, 1.0)),
                   x = on.of(uniform<double>(size_t(n), 3, -1.0, 1.0)), y = zeros<double>(on, n);
        if constexpr (on.ours)
            return side(on.device, results_in(y), [=] { multiply_csr(ndrange(y.size()), y, starts, columns, values, x); });
        else
            return side(results_in(y), [=] { openmp::spmv_csr(y, starts, columns, values, x, int(y.size())); });
    });
}

// ---- spmv_ell: a sparse matrix with equally many entries a row, entry by entry for all rows, times a vector in float ----
const auto multiply_ell = kernel("spmv_ell", [](Out<float> y, In<int, 2> columns, In<float, 2> values, In<float> x) {
    auto i = global_index();
    Var sum = 0.0f;
    $for(k, range(values.size(0))) { sum += values(k, i) * x[columns(k, i)]; }
    y[i] = sum;
});

Kernel spmv_ell() {
    return compared("spmv_ell", 1e-5, [](auto on, Size size) {
        const int n = size == Size::test ? 601 : 700'001, width = 12;
        const auto host_columns = [&] {
            std::vector<int> c = uniform<int>(size_t(n) * size_t(width), 1, -300, 300);
            for (size_t k = 0; k < c.size(); ++k) c[k] = std::clamp(int(k % size_t(n)) + c[k], 0, n - 1);
            return c;
        };
        const auto columns = on.of(host_columns(), {width, n});
        const auto values = on.of(uniform<float>(size_t(n) * size_t(width), 2, -1.0f, 1.0f), {width, n});
        const auto x = on.of(uniform<float>(size_t(n), 3, -1.0f, 1.0f)), y = zeros<float>(on, n);
        if constexpr (on.ours)
            return side(on.device, results_in(y), [=] { multiply_ell(ndrange(y.size()), y, columns, values, x); });
        else
            return side(results_in(y), [=] { openmp::spmv_ell(y, columns, values, x, n, width); });
    });
}

}  // namespace

std::vector<Kernel> graphs() { return {bfs(), components(), pagerank(), spmv_csr(), spmv_ell()}; }

std::vector<Kernel> irregular() {
    std::vector<Kernel> all;
    for (const auto& part : {graphs, gathers, searches})
        for (Kernel& k : part()) all.push_back(std::move(k));
    return all;
}

}  // namespace bench::corpus
