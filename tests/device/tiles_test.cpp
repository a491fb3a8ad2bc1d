// Tiles of local memory to which many items add, along rows and columns, as in derivatives of tiled matrix products.
#include "tests/device/sums.h"

using namespace pumice;
using suite::device;
using suite::expect_sums;

namespace {

/// Items add a value times an element of a tile to rows and columns of other tiles, as in derivatives of tiled products; in
/// groups of the size of the tile and in others, whole and partial.
template <class T> void tiles(int height, int width) {
    const auto add = kernel("tiles", [](InOut<T, 2> rows, InOut<T, 2> columns, InOut<T, 2> pairs, In<T, 2> x, In<T, 2> w) {
        Local<T, 16, 16> tile, row, column, pair;
        const auto at = global_index<2>(), local = local_index<2>();
        auto mine = w(at[0], at[1]);
        $if(local[0] == 0 && local[1] == 0) {
            $for(a, range(16)) {
                $for(b, range(16)) { tile(a, b) = x(a, b), row(a, b) = T(0), column(a, b) = T(0), pair(a, b) = T(0); }
            }
        }
        $for(again, range(2)) {
            synchronize();
            $for(k, range(16)) {
                atomic_add(row(local[0], k), mine * tile(k, local[1]));
                atomic_sub(column(k, local[1]), mine * tile(local[0], k) + cast<T>(again));
                atomic_add(pair(local[0], k / 2), mine);
            }
            synchronize();
        }
        $if(local[0] == 0 && local[1] == 0) {
            $for(a, range(16)) {
                $for(b, range(16)) {
                    atomic_add(rows(a, b), row(a, b)), atomic_add(columns(a, b), column(a, b)),
                        atomic_add(pairs(a, b), pair(a, b));
                }
            }
        }
    });
    const Device d = device();
    for (const auto& [rows, columns] :
         {std::pair(height, width), std::pair(2 * height, 3 * width), std::pair(height + 1, 2 * width - 1)}) {
        std::vector<T> x(256), w(size_t(rows) * size_t(columns));
        for (size_t i = 0; i < x.size(); ++i) x[i] = T(int(i * 7 % 5) - 2);
        for (size_t i = 0; i < w.size(); ++i) w[i] = T(int(i * 5 % 7) - 3);
        std::vector<double> row(256), column(256), pair(256);
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j)
                for (int again = 0; again < 2; ++again)
                    for (int k = 0; k < 16; ++k) {
                        const int a = i % height, b = j % width;
                        const double mine = double(w[size_t(i * columns + j)]);
                        row[size_t(a * 16 + k)] += mine * double(x[size_t(k * 16 + b)]);
                        column[size_t(k * 16 + b)] -= mine * double(x[size_t(a * 16 + k)]) + again;
                        pair[size_t(a * 16 + k / 2)] += mine;
                    }
        Array<T, 2> got_rows = d.full<T>({16, 16}, T(0)), got_columns = got_rows.clone(), got_pairs = got_rows.clone();
        add(ndrange(rows, columns).group(height, width), got_rows, got_columns, got_pairs, d.upload(x).reshape({16, 16}),
            d.upload(w).reshape({rows, columns}));
        const std::string what = std::to_string(rows) + " x " + std::to_string(columns) + " by " + std::to_string(height) +
                                 " x " + std::to_string(width);
        expect_sums(got_rows.download(), row, what), expect_sums(got_columns.download(), column, what),
            expect_sums(got_pairs.download(), pair, what);
    }
}

TEST(Sums, TilesOfLocalMemory) {
    SKIP_WITHOUT_GROUPS_OF(256);
    for (const auto& [height, width] :
         {std::pair(16, 16), std::pair(4, 16), std::pair(8, 3), std::pair(1, 16), std::pair(7, 5)}) {
        tiles<float>(height, width);
        if (height == 4 || height == 7) tiles<int>(height, width);  // drivers take half a second for each kernel
    }
}

/// The same; then each item reads the sum at its own element, and clears the element for the next round.
template <class T> void taken_back(int height, int width, bool clears) {
    const auto add = kernel("taken_back", [clears](InOut<T, 2> rows, InOut<T, 2> columns, In<T, 2> x, In<T, 2> w) {
        Local<T, 16, 16> tile, row, column;
        const auto at = global_index<2>(), local = local_index<2>();
        const auto i = at[0], j = at[1], y = local[0], l = local[1];
        auto mine = w(i, j);
        $if(y == 0 && l == 0) {
            $for(a, range(16)) {
                $for(b, range(16)) { tile(a, b) = x(a, b), row(a, b) = T(0), column(a, b) = T(0); }
            }
        }
        synchronize();
        const auto round = [&](Val<T> factor) {
            $for(k, range(16)) {
                atomic_add(row(y, k), factor * mine * tile(k, l));
                atomic_sub(column(k, l), mine * tile(y, k));
            }
            synchronize();
            rows(i, j) += row(y, l), columns(i, j) += column(y, l);
            if (clears) row(y, l) = T(0), column(y, l) = T(0);
        };
        if (clears) {
            $for(again, range(3)) {
                synchronize();
                round(cast<T>(again + 1));
            }
        } else
            round(mine * T(0) + T(6));
    });
    const Device d = device();
    for (const auto& [high, wide] :
         {std::pair(height, width), std::pair(2 * height, 3 * width), std::pair(height + 1, 2 * width - 1)}) {
        std::vector<T> x(256), w(size_t(high) * size_t(wide));
        for (size_t i = 0; i < x.size(); ++i) x[i] = T(int(i * 7 % 5) - 2);
        for (size_t i = 0; i < w.size(); ++i) w[i] = T(int(i * 5 % 7) - 3);
        std::vector<double> rows(w.size()), columns(w.size());
        for (int i = 0; i < high; ++i)
            for (int j = 0; j < wide; ++j) {
                double &in_row = rows[size_t(i * wide + j)], &in_column = columns[size_t(i * wide + j)];
                const int y = i % height, l = j % width;
                for (int o = 0; o < width && j - l + o < wide; ++o)
                    in_row += 6 * double(w[size_t(i * wide + j - l + o)]) * double(x[size_t(l * 16 + o)]);
                for (int o = 0; o < height && i - y + o < high; ++o)
                    in_column -= (clears ? 3 : 1) * double(w[size_t((i - y + o) * wide + j)]) * double(x[size_t(o * 16 + y)]);
            }
        Array<T, 2> got_rows = d.full<T>({high, wide}, T(0)), got_columns = got_rows.clone();
        add(ndrange(high, wide).group(height, width), got_rows, got_columns, d.upload(x).reshape({16, 16}),
            d.upload(w).reshape({high, wide}));
        const std::string what = std::to_string(high) + " x " + std::to_string(wide) + " by " + std::to_string(height) + " x " +
                                 std::to_string(width) + (clears ? ", cleared" : "");
        expect_sums(got_rows.download(), rows, what + ", rows"), expect_sums(got_columns.download(), columns, what + ", columns");
    }
}

TEST(Sums, TilesThatAreReadBack) {
    SKIP_WITHOUT_GROUPS_OF(256);
    for (const auto& [height, width] : {std::pair(16, 16), std::pair(4, 16), std::pair(16, 2), std::pair(7, 5)})
        for (const bool clears : {true, false}) {
            taken_back<float>(height, width, clears);
            if (width < 16) taken_back<int>(height, width, clears);
        }
}

/// Random additions to local memory, with and without barriers, in loops upwards and downwards, to elements that items or
/// iterations share, of values that other items could or could not recompute. The results agree with the interpreter's.
TEST(Sums, RandomTiles) {
    const Device d = device(), reference = Device::open("interp");
    if (suite::is_checking_device()) GTEST_SKIP() << "SKIPPED: the interpreter is the reference";
    rng::Splittable random(11);
    for (int round = 0; round < 25; ++round) {
        const auto pick = [&](int n) { return int(random.next() % uint64_t(n)); };
        const bool down = pick(2), barriers = pick(5) > 0, conditional = pick(6) == 0;
        const int height = 1 + pick(8), width = 1 + pick(8), length = 7 + pick(6);
        const uint64_t seed = random.next();
        const auto add = kernel("random_tiles", [&](InOut<int, 2> out, In<int> x) {
            rng::Splittable choose(seed);
            const auto one_of = [&](int n) { return int(choose.next() % uint64_t(n)); };
            std::vector<Local<int, 16, 16>> tiles(3);
            const auto at = global_index<2>(), l = local_index<2>();
            $if(l[0] == 0 && l[1] == 0) {
                $for(a, range(256)) {
                    for (auto& t : tiles) t[a] = x[a];
                }
            }
            auto mine = x[at[0] * 3 + at[1]], other = x[at[1] + 2] - at[0];
            synchronize();
            $for(again, range(2)) {
                if (barriers) synchronize();
                $for(k, range(down ? length : 0, down ? 0 : length, down ? -1 : 1)) {
                    const auto place = [&]() -> Val<int> {
                        switch (one_of(8)) {
                            case 0: return l[0];
                            case 1: return l[1];
                            case 2: return k / 2;
                            case 3: return (l[0] + k) % 16;
                            case 4: return l[1] * 2;
                            default: return k;
                        }
                    };
                    const auto value = [&]() -> Val<int> {
                        switch (one_of(6)) {
                            case 0: return mine;
                            case 1: return mine * tiles[0](k, l[1]);
                            case 2: return tiles[0](l[0], k) - other * k;
                            case 3: return other * (l[1] + k);
                            case 4: return mine * tiles[0](l[0], l[1]) + again;
                            default: return tiles[0](k, l[0]) * tiles[0](k, l[1]) + at[1];
                        }
                    };
                    for (int n = 0; n < 2; ++n) {
                        auto row = place(), column = place(), v = value();
                        const auto act = [&] {
                            one_of(3) ? (void)atomic_add(tiles[size_t(1 + n)](row, column), v)
                                      : (void)atomic_sub(tiles[size_t(1 + n)](row, column), v);
                        };
                        if (conditional) {
                            $if(at[1] % 2 == 0) { act(); }
                        } else
                            act();
                    }
                }
                if (barriers) synchronize();
            }
            synchronize();
            $if(l[0] == 0 && l[1] == 0) {
                $for(a, range(256)) { atomic_add(out[a], tiles[1][a]), atomic_add(out[a + 256], tiles[2][a]); }
            }
        });
        std::vector<int> host(400);
        for (int& h : host) h = pick(9) - 4;
        std::vector<int> got[2];
        const int rows = 2 * height - pick(height), columns = 2 * width - pick(width);
        for (const Device& on : {reference, d}) {
            Array<int, 2> out = on.zeros<int>({2, 256});
            add(ndrange(rows, columns).group(height, width), out, on.upload(host));
            got[on.name() != reference.name()] = out.download();
        }
        ASSERT_EQ(got[1], got[0]) << "round " << round << ", " << rows << " x " << columns << " by " << height << " x " << width;
    }
}

}  // namespace
