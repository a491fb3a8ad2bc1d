// Kernels with groups and barriers: wavefronts and ghost zones. Sorts and scans, and batches of small problems, are in files of
// their own.
#include "bench/corpus/groups.h"

#include "bench/corpus/groups_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

std::vector<int> integers_below(int bound, size_t count, uint32_t seed) { return uniform<int>(count, seed, 0, bound); }

// ---- needleman_wunsch: scores of the global alignments of all prefixes of two sequences, one launch a diagonal of tiles ----
constexpr int tile = 16, letters = 20, gap = 5;

const auto alignment_border = kernel("alignment_border", [](Out<int, 2> score) {
    auto i = global_index();
    score(i, 0) = -gap * i;
    score(0, i) = -gap * i;
});
const auto alignment_tiles =
    kernel("needleman_wunsch", static_group<tile>,
           [](InOut<int, 2> score, In<int> down, In<int> across, In<int, 2> similarity, Val<int> diagonal, Val<int> first) {
               Local<int, tile + 1, tile + 1> h;
               Local<int, tile> letter;
               auto l = local_index();
               const auto n = down.size(0), block_row = first + group_index();
               const auto top = block_row * tile, left = (diagonal - block_row) * tile;
               h(l + 1, 0) = score(min(top + l + 1, n), left);
               h(0, l + 1) = score(top, min(left + l + 1, n));
               $if(l == 0) { h(0, 0) = score(top, left); }
               letter[l] = across[min(left + l, n - 1)];
               const auto mine = down[min(top + l, n - 1)];
               synchronize();
               $for(step, range(2 * tile - 1)) {
                   const auto j = step - l;
                   $if(j >= 0 && j < tile) {
                       h(l + 1, j + 1) = max(h(l, j) + similarity(mine, letter[j]), max(h(l, j + 1), h(l + 1, j)) - gap);
                   }
                   synchronize();
               }
               $for(r, range(1, min(tile, n - top) + 1)) {
                   $if(left + l < n) { score(top + r, left + l + 1) = h(r, l + 1); }
               }
           });

Kernel needleman_wunsch() {
    return compared("needleman_wunsch", 0, [](auto on, Size size) {
        const int n = size == Size::test ? 77 : 2200;
        const auto host_similarity = [&] {
            std::vector<int> s = integers_below(8, letters * letters, 3);
            for (size_t i = 0; i < letters; ++i)
                for (size_t j = 0; j < letters; ++j)
                    s[i * letters + j] = i == j ? 7 : s[std::min(i, j) * letters + std::max(i, j)] - 5;
            return s;
        };
        const auto down = on.of(integers_below(letters, size_t(n), 1)), across = on.of(integers_below(letters, size_t(n), 2));
        const auto similarity = on.of(host_similarity(), {letters, letters});
        const auto score = zeros<int>(on, {n + 1, n + 1});
        if constexpr (on.ours)
            return side(on.device, results_in(score), [=] {
                alignment_border(ndrange(n + 1), score);
                const int blocks = (n + tile - 1) / tile;
                for (int diagonal = 0; diagonal < 2 * blocks - 1; ++diagonal) {
                    const int first = std::max(0, diagonal - blocks + 1), last = std::min(diagonal, blocks - 1);
                    alignment_tiles(ndrange((last - first + 1) * tile), score, down, across, similarity, diagonal, first);
                }
            });
        else
            return side(results_in(score), [=] { openmp::needleman_wunsch(score, down, across, similarity, letters, gap, n); });
    });
}

// ---- pathfinder: the cheapest way down to each column of a grid; a launch does several rows, with ghost zones ----
constexpr int line_items = 256, line_rows = 16, line_columns = line_items - 2 * line_rows, far = 1 << 29;

const auto pathfinder_rows = kernel(
    "pathfinder", static_group<line_items>, [](Out<int> after, In<int> before, In<int, 2> cost, Val<int> row, Val<int> rows) {
        Local<int, line_items> line;
        auto l = local_index();
        const auto n = before.size(0), column = group_index() * line_columns - line_rows + l;
        const auto inside = column >= 0 && column < n;
        const auto at = clamp(column, 0, n - 1);
        Var mine = select(inside, before[at], far);
        line[l] = mine;
        synchronize();
        $for(k, range(rows)) {
            const auto best = min(mine, min(line[max(l - 1, 0)], line[min(l + 1, line_items - 1)]));
            $if(inside) { mine = best + cost(row + k, at); }
            synchronize();
            line[l] = mine;
            synchronize();
        }
        $if(inside && l >= line_rows && l < line_items - line_rows) { after[at] = mine; }
    });

Kernel pathfinder() {
    return compared("pathfinder", 0, [](auto on, Size size) {
        const int n = size == Size::test ? 700 : 100'000, rows = size == Size::test ? 21 : 161;
        const auto cost = on.of(integers_below(10, size_t(n) * size_t(rows), 1), {rows, n});
        const auto one = zeros<int>(on, n), other = zeros<int>(on, n);
        const int launches = (rows - 1 + line_rows - 1) / line_rows;
        if constexpr (on.ours)
            return side(on.device, results_in((launches % 2 ? other : one)), [=] {
                const Range range = ndrange((n + line_columns - 1) / line_columns * line_items);
                Array<int> before = one, after = other;
                before.copy_from(cost.row(0));
                for (int row = 1; row < rows; row += line_rows) {
                    pathfinder_rows(range, after, before, cost, row, std::min(line_rows, rows - row));
                    std::swap(before, after);
                }
            });
        else
            return side(results_in((rows % 2 ? one : other)), [=] { openmp::pathfinder(one, other, cost, n, rows); });
    });
}

// ---- heat_ghost_zones: heat in a plate with sources; a launch does several steps of a tile with ghost zones ----
constexpr int heat_steps = 2, heat_tile = 16, heat_inside = heat_tile - 2 * heat_steps;

const auto heat_launch = kernel(
    "heat_ghost_zones", static_group<heat_tile, heat_tile>, [](Out<float, 2> after, In<float, 2> before, In<float, 2> power) {
        Local<float, heat_tile, heat_tile> t;
        auto [y, x] = local_index<2>();
        auto [block_row, block_column] = group_index<2>();
        const auto rows = before.size(0), columns = before.size(1);
        const auto first_row = block_row * heat_inside - heat_steps, first_column = block_column * heat_inside - heat_steps;
        const auto i = first_row + y, j = first_column + x;
        const auto row = clamp(i, 0, rows - 1), column = clamp(j, 0, columns - 1);
        // Cells past the border of the plate or the tile are those at the border.
        const auto up = max(y - 1, max(0, -first_row)), down = min(y + 1, min(heat_tile, rows - first_row) - 1);
        const auto left = max(x - 1, max(0, -first_column)), right = min(x + 1, min(heat_tile, columns - first_column) - 1);
        const auto source = power(row, column);
        Var mine = before(row, column);
        t(y, x) = mine;
        synchronize();
        for (int step = 0; step < heat_steps; ++step) {
            mine += 0.1f * (t(up, x) + t(down, x) - 2 * mine) + 0.2f * (t(y, left) + t(y, right) - 2 * mine) + source +
                    0.01f * (20 - mine);
            synchronize();
            t(y, x) = mine;
            synchronize();
        }
        const auto kept = [](const auto& k) { return k >= heat_steps && k < heat_tile - heat_steps; };
        $if(kept(y) && kept(x) && i < rows && j < columns) { after(i, j) = mine; }
    });

Kernel heat_ghost_zones() {
    struct Shape {
        explicit Shape(Size size)
            : rows(size == Size::test ? 61 : 1021), columns(size == Size::test ? 45 : 1003), steps(size == Size::test ? 4 : 12) {}
        int rows, columns, steps;  // the launches are even in number
        size_t count() const { return size_t(rows) * size_t(columns); }
        std::vector<float> start() const { return uniform<float>(count(), 1, 20.0f, 90.0f); }
        std::vector<float> power() const { return uniform<float>(count(), 2); }
    };
    return compared<Shape>("heat_ghost_zones", 1e-6, [](auto on, const Shape& s) {
        const auto plate = [&](const std::vector<float>& of) { return on.of(of, {s.rows, s.columns}); };
        const auto input = plate(s.start()), power = plate(s.power()), a = plate(s.start()), b = plate(s.start());
        if constexpr (on.ours)
            return side(on.device, results_in(a), [=] {
                a.copy_from(input);
                const auto extent = [](int n) { return (n + heat_inside - 1) / heat_inside * heat_tile; };
                const Range range = ndrange(extent(s.rows), extent(s.columns));
                for (int t = 0; t < s.steps; t += 2 * heat_steps)
                    heat_launch(range, b, a, power), heat_launch(range, a, b, power);
            });
        else
            return side(results_in(a), [=] { openmp::heat(a, b, input, power, s.rows, s.columns, s.steps); });
    });
}

}  // namespace

std::vector<Kernel> wavefronts() { return {needleman_wunsch(), pathfinder(), heat_ghost_zones()}; }

std::vector<Kernel> groups() {
    std::vector<Kernel> all;
    for (const auto& part : {wavefronts, sorting, batches})
        for (Kernel& k : part()) all.push_back(std::move(k));
    return all;
}

}  // namespace bench::corpus
