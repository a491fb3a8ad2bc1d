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
    struct Shape {
        explicit Shape(Size size)
            : n(size == Size::test ? 501 : 150'000), edges(Rows::random(n, 1, [](int i) { return 1 + i * 7 % 11; })) {}
        int n;
        Rows edges;
    };
    return compared<Shape>(
        "bfs", 0,
        [](const Device& d, const Shape& s) {
            const Array<int> starts = d.upload(s.edges.starts), targets = d.upload(s.edges.columns), level = d.zeros<int>(s.n);
            const Array<bool> frontier = d.zeros<bool>(s.n), reached = d.zeros<bool>(s.n), visited = d.zeros<bool>(s.n),
                              more = d.zeros<bool>(1);
            return side(results_in(level), [=] {
                level.fill(-1), frontier.fill(false), reached.fill(false), visited.fill(false);
                level.slice(0, 1).fill(0), frontier.slice(0, 1).fill(true), visited.slice(0, 1).fill(true);
                const Range nodes = ndrange(starts.size() - 1);
                do {
                    more.fill(false);
                    bfs_expand(nodes, level, frontier, reached, visited, starts, targets);
                    bfs_advance(nodes, reached, frontier, visited, more);
                } while (more.get(0));
            });
        },
        [](const Shape& s) {
            const Buffer<int> starts(s.edges.starts), targets(s.edges.columns), level(size_t(s.n));
            const Buffer<bool> frontier(size_t(s.n)), reached(size_t(s.n)), visited(size_t(s.n));
            return side(results_in(level), [=] { openmp::bfs(level, frontier, reached, visited, starts, targets, s.n); });
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
    struct Shape {
        explicit Shape(Size size)
            : n(size == Size::test ? 503 : 150'000),
              from(uniform<int>(size_t(n) * 3 / 2, 1, 0, n)),
              to(uniform<int>(from.size(), 2)) {
            // Edges lie within blocks of nodes, so that there are many components.
            constexpr int block = 100;
            to = uniform<int>(from.size(), 2, 0, block);
            for (size_t e = 0; e < from.size(); ++e) to[e] = std::min(from[e] / block * block + to[e], n - 1);
        }
        int n;
        std::vector<int> from, to;
    };
    return compared<Shape>(
        "components", 0,
        [](const Device& d, const Shape& s) {
            const Array<int> from = d.upload(s.from), to = d.upload(s.to), label = d.zeros<int>(s.n), before = d.zeros<int>(s.n);
            const Array<bool> changed = d.zeros<bool>(1);
            return side(results_in(label), [=] {
                number(ndrange(label.size()), label);
                do {
                    changed.fill(false);
                    before.copy_from(label);
                    lower_labels(ndrange(from.size()), label, before, changed, from, to);
                } while (changed.get(0));
            });
        },
        [](const Shape& s) {
            const Buffer<int> from(s.from), to(s.to), label(size_t(s.n)), before(size_t(s.n));
            return side(results_in(label), [=] { openmp::components(label, before, from, to, s.n, int(from.size())); });
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
    struct Shape {
        explicit Shape(Size size)
            : n(size == Size::test ? 401 : 200'000),
              edges(Rows::random(n, 1, [](int i) { return i * 5 % 17; })),
              degree(size_t(n), 1) {
            for (int source : edges.columns) ++degree[size_t(source)];
        }
        int n, steps = 4;
        Rows edges;
        std::vector<int> degree;
    };
    return compared<Shape>(
        "pagerank", 1e-13,
        [](const Device& d, const Shape& s) {
            const Array<int> starts = d.upload(s.edges.starts), sources = d.upload(s.edges.columns), degree = d.upload(s.degree);
            const Array<double> rank = d.zeros<double>(s.n), share = d.zeros<double>(s.n);
            return side(d, results_in(rank), [=, steps = s.steps] {
                rank.fill(1);
                const Range nodes = ndrange(rank.size());
                for (int t = 0; t < steps; ++t)
                    share_ranks(nodes, share, rank, degree), pull_ranks(nodes, rank, share, starts, sources);
            });
        },
        [](const Shape& s) {
            const Buffer<int> starts(s.edges.starts), sources(s.edges.columns), degree(s.degree);
            const Buffer<double> rank(size_t(s.n)), share(size_t(s.n));
            return side(results_in(rank), [=, steps = s.steps] {
                openmp::pagerank(rank, share, starts, sources, degree, int(rank.size()), steps, damping);
            });
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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 301 : 300'000) {
            const std::vector<double> u = uniform<double>(size_t(n), 4);
            matrix = Rows::random(n, 1, [&](int i) { return int(3 + 3 / std::sqrt(u[size_t(i)] + 2e-5)) * (i % 97 != 0); });
            values = uniform<double>(matrix.columns.size(), 2, -1.0, 1.0);
            x = uniform<double>(size_t(n), 3, -1.0, 1.0);
        }
        int n;
        Rows matrix;
        std::vector<double> values, x;
    };
    return compared<Shape>(
        "spmv_csr", 1e-13,
        [](const Device& d, const Shape& s) {
            const Array<int> starts = d.upload(s.matrix.starts), columns = d.upload(s.matrix.columns);
            const Array<double> values = d.upload(s.values), x = d.upload(s.x), y = d.zeros<double>(s.n);
            return side(d, results_in(y), [=] { multiply_csr(ndrange(y.size()), y, starts, columns, values, x); });
        },
        [](const Shape& s) {
            const Buffer<int> starts(s.matrix.starts), columns(s.matrix.columns);
            const Buffer<double> values(s.values), x(s.x), y(size_t(s.n));
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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 601 : 700'001) {}
        int n, width = 12;
        std::vector<int> columns() const {
            std::vector<int> c = uniform<int>(size_t(n) * size_t(width), 1, -300, 300);
            for (size_t k = 0; k < c.size(); ++k) c[k] = std::clamp(int(k % size_t(n)) + c[k], 0, n - 1);
            return c;
        }
        std::vector<float> values() const { return uniform<float>(size_t(n) * size_t(width), 2, -1.0f, 1.0f); }
        std::vector<float> x() const { return uniform<float>(size_t(n), 3, -1.0f, 1.0f); }
    };
    return compared<Shape>(
        "spmv_ell", 1e-5,
        [](const Device& d, const Shape& s) {
            const Array<int, 2> columns = d.upload(s.columns(), {s.width, s.n});
            const Array<float, 2> values = d.upload(s.values(), {s.width, s.n});
            const Array<float> x = d.upload(s.x()), y = d.zeros<float>(s.n);
            return side(d, results_in(y), [=] { multiply_ell(ndrange(y.size()), y, columns, values, x); });
        },
        [](const Shape& s) {
            const Buffer<int> columns(s.columns());
            const Buffer<float> values(s.values()), x(s.x()), y(size_t(s.n));
            return side(results_in(y), [=] { openmp::spmv_ell(y, columns, values, x, s.n, s.width); });
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
