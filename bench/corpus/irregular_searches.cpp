// Irregular kernels: clusters, counts by key, searches, distances of strings.
#include <algorithm>

#include "bench/corpus/irregular.h"
#include "bench/corpus/irregular_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- kmeans: steps of Lloyd's algorithm with 32 centres in 10 dimensions; sums are integers and centres multiples of 1 / 4 ----
constexpr int clusters = 32, dimensions = 10, kmeans_items = 128, kmeans_sums = clusters * dimensions;

const auto nearest_centres = kernel("kmeans_assign", [](Out<int> label, In<float, 2> points, In<float, 2> centres) {
    auto i = global_index();
    Private<float, dimensions> mine;
    for (int k = 0; k < dimensions; ++k) mine[k] = points(k, i);
    Var best = 0;
    Var least = 1e30f;
    $for(c, range(clusters)) {
        Var sum = 0.0f;
        for (int k = 0; k < dimensions; ++k) {
            const auto apart = mine[k] - centres(c, k);
            sum += apart * apart;
        }
        $if(sum < least) {
            least = sum;
            best = c;
        }
    }
    label[i] = best;
});
const auto sum_clusters = kernel("kmeans_sums", [](InOut<int> sums, InOut<int> counts, In<int> label, In<float, 2> points) {
    Local<int, kmeans_sums> sum;
    Local<int, clusters> count;
    auto l = local_index();
    $for(k, range(l, kmeans_sums, group_size())) { sum[k] = 0; }
    $for(k, range(l, clusters, group_size())) { count[k] = 0; }
    synchronize();
    $for(i, range(global_index(), label.size(0), global_size())) {
        const auto c = label[i];
        atomic_add(count[c], 1);
        for (int k = 0; k < dimensions; ++k) atomic_add(sum[c * dimensions + k], cast<int>(points(k, i)));
    }
    synchronize();
    $for(k, range(l, kmeans_sums, group_size())) { atomic_add(sums[k], sum[k]); }
    $for(k, range(l, clusters, group_size())) { atomic_add(counts[k], count[k]); }
});
const auto move_centres = kernel("kmeans_move", [](Out<float, 2> centres, InOut<int, 2> sums, In<int> counts) {
    auto [c, k] = global_index<2>();
    const auto count = max(counts[c], 1);
    centres(c, k) = 0.25f * cast<float>((4 * sums(c, k) + count / 2) / count);
    sums(c, k) = 0;
});

Kernel kmeans() {
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 203 : 60'000) {}
        int n, steps = 3;
        std::vector<float> points() const {
            std::vector<float> p;
            for (int v : uniform<int>(size_t(n * dimensions), 1, 0, 100)) p.push_back(float(v));
            return p;
        }
        std::vector<float> centres() const {
            std::vector<float> c;
            for (int v : uniform<int>(kmeans_sums, 2, 0, 100)) c.push_back(float(v));
            return c;
        }
    };
    return compared<Shape>("kmeans", 0, [](auto on, const Shape& s) {
        const auto points = on.of(s.points(), {dimensions, s.n}), input = on.of(s.centres(), {clusters, dimensions}),
                   centres = zeros<float>(on, {clusters, dimensions});
        const auto label = zeros<int>(on, s.n), counts = zeros<int>(on, clusters);
        const auto sums = zeros<int>(on, {clusters, dimensions});
        if constexpr (on.ours)
            return side(on.device, results_in(label, counts, centres), [=, steps = s.steps] {
                centres.copy_from(input);
                const int64_t groups = std::min<int64_t>((label.size() + kmeans_items - 1) / kmeans_items, 32);
                for (int t = 0; t < steps; ++t) {
                    nearest_centres(ndrange(label.size()), label, points, centres);
                    counts.fill(0);
                    sum_clusters(ndrange(groups * kmeans_items).group(kmeans_items), sums.flat(), counts, label, points);
                    move_centres(ndrange(clusters, dimensions), centres, sums, counts);
                }
            });
        else
            return side(results_in(label, counts, centres), [=, steps = s.steps] {
                std::copy_n(input.data(), input.size(), centres.data());
                openmp::kmeans(label, counts, centres, points, int(label.size()), steps);
            });
    });
}

// ---- sums_by_key: the counts and the sums of values for each of 1,000 keys, some of which are frequent ----
constexpr int keys = 1000, key_items = 256;

const auto sum_keys = kernel("sums_by_key", [](InOut<uint32_t> counts, InOut<int> sums, In<int> key, In<int> value) {
    Local<uint32_t, keys> count;
    Local<int, keys> sum;
    auto l = local_index();
    $for(k, range(l, keys, group_size())) {
        count[k] = 0u;
        sum[k] = 0;
    }
    synchronize();
    $for(i, range(global_index(), key.size(0), global_size())) {
        const auto k = key[i];
        atomic_add(count[k], 1u);
        atomic_add(sum[k], value[i]);
    }
    synchronize();
    $for(k, range(l, keys, group_size())) {
        atomic_add(counts[k], count[k]);
        atomic_add(sums[k], sum[k]);
    }
});

Kernel sums_by_key() {
    return compared("sums_by_key", 0, [](auto on, Size size) {
        const int n = size == Size::test ? 4001 : 6'000'001;
        const auto host_key = [&] {
            std::vector<int> all;
            for (double u : uniform<double>(size_t(n), 1)) all.push_back(int(keys * u * u * u));
            return all;
        };
        const auto key = on.of(host_key()), value = on.of(uniform<int>(size_t(n), 2, -100, 100)), sums = zeros<int>(on, keys);
        const auto counts = zeros<uint32_t>(on, keys);
        if constexpr (on.ours)
            return side(on.device, results_in(counts, sums), [=] {
                counts.fill(0), sums.fill(0);
                const int64_t groups = std::min<int64_t>((key.size() + key_items - 1) / key_items, 64);
                sum_keys(ndrange(groups * key_items).group(key_items), counts, sums, key, value);
            });
        else
            return side(results_in(counts, sums), [=] { openmp::sums_by_key(counts, sums, key, value, int(key.size())); });
    });
}

// ---- n_queens: how many ways there are to complete a board whose first rows are taken, by depth-first search ----
constexpr int rows_at_most = 16;

const auto complete_boards = kernel("n_queens", [](Out<uint32_t> ways, In<uint32_t> columns, In<uint32_t> falling,
                                                   In<uint32_t> rising, Val<uint32_t> board, Val<int> rows) {
    auto i = global_index();
    Private<uint32_t, rows_at_most> column, fall, rise, places;
    column[0] = columns[i];
    fall[0] = falling[i];
    rise[0] = rising[i];
    places[0] = board & ~(column[0] | fall[0] | rise[0]);
    Var row = 0;
    Var count = 0u;
    $while(row >= 0) {
        const auto left = places[row];
        $if(left == 0u) { --row; }
        $else {
            const auto place = left & (~left + 1u);
            places[row] = left ^ place;
            $if(row == rows - 1) { ++count; }
            $else {
                const auto taken = column[row] | place, falls = (fall[row] | place) << 1, rises = (rise[row] | place) >> 1;
                ++row;
                column[row] = taken;
                fall[row] = falls;
                rise[row] = rises;
                places[row] = board & ~(taken | falls | rises);
            }
        }
    }
    ways[i] = count;
});

Kernel n_queens() {
    struct Shape {
        explicit Shape(Size size) : edge(size == Size::test ? 7 : 12), taken(size == Size::test ? 2 : 3) { place(0, 0, 0, 0); }
        void place(int row, uint32_t column, uint32_t fall, uint32_t rise) {
            if (row == taken) {
                columns.push_back(column), falling.push_back(fall), rising.push_back(rise);
                return;
            }
            for (uint32_t bit = 1; bit < 1u << edge; bit *= 2)
                if (!(bit & (column | fall | rise))) place(row + 1, column | bit, (fall | bit) << 1, (rise | bit) >> 1);
        }
        int edge, taken;
        std::vector<uint32_t> columns, falling, rising;
        uint32_t board() const { return (1u << edge) - 1; }
    };
    return compared<Shape>("n_queens", 0, [](auto on, const Shape& s) {
        const auto columns = on.of(s.columns), falling = on.of(s.falling), rising = on.of(s.rising),
                   ways = zeros<uint32_t>(on, columns.size());
        if constexpr (on.ours)
            return side(on.device, results_in(ways), [=, board = s.board(), rows = s.edge - s.taken] {
                complete_boards(ndrange(ways.size()), ways, columns, falling, rising, board, rows);
            });
        else
            return side(results_in(ways),
                        [=, board = s.board()] { openmp::n_queens(ways, columns, falling, rising, int(ways.size()), board); });
    });
}

// ---- levenshtein: the edit distance of each of many pairs of strings, with one row of the table in private memory ----
constexpr int longest = 32;

const auto edit_distances = kernel("levenshtein", [](Out<int> distance, In<uint8_t, 2> first, In<uint8_t, 2> second,
                                                     In<int> first_length, In<int> second_length) {
    auto p = global_index();
    const auto lines = first_length[p], columns = second_length[p];
    Private<int, longest + 1> row;
    $for(j, range(columns + 1)) { row[j] = j; }
    $for(i, range(lines)) {
        const auto letter = first(p, i);
        Var corner = row[0];
        row[0] = i + 1;
        $for(j, range(columns)) {
            const auto above = row[j + 1];
            row[j + 1] = min(min(above, row[j]) + 1, corner + select(letter == second(p, j), 0, 1));
            corner = above;
        }
    }
    distance[p] = row[columns];
});

Kernel levenshtein() {
    return compared("levenshtein", 0, [](auto on, Size size) {
        const int pairs = size == Size::test ? 27 : 12'000;
        const auto letters = [&](uint32_t seed) { return uniform<uint8_t>(size_t(pairs * longest), seed, 'a', 'f'); };
        const auto lengths = [&](uint32_t seed) { return uniform<int>(size_t(pairs), seed, 12, longest + 1); };
        const auto first = on.of(letters(1), {pairs, longest}), second = on.of(letters(2), {pairs, longest});
        const auto first_length = on.of(lengths(3)), second_length = on.of(lengths(4)), distance = zeros<int>(on, pairs);
        if constexpr (on.ours)
            return side(on.device, results_in(distance),
                        [=] { edit_distances(ndrange(distance.size()), distance, first, second, first_length, second_length); });
        else
            return side(results_in(distance),
                        [=] { openmp::levenshtein(distance, first, second, first_length, second_length, int(distance.size())); });
    });
}

}  // namespace

std::vector<Kernel> searches() { return {kmeans(), sums_by_key(), n_queens(), levenshtein()}; }

}  // namespace bench::corpus
