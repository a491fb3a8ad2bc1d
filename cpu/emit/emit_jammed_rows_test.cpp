// Rows that run together give the results of rows that run alone; which kernels gain by it.
#include <gtest/gtest.h>

#include <functional>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/interp/interp.h"
#include "core/kernel/kernel.h"
#include "core/language/control.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
#include "core/support/error.h"
#include "cpu/emit/emit_module.h"
#include "cpu/plan/lower_for_cpu.h"
#include "cpu/plan/unroll_and_jam.h"
#include "cpu/runtime/cpu.h"

namespace pumice::cpu {
namespace {

const auto products = kernel("products", [](Out<uint32_t, 2> c, In<uint32_t, 2> a, In<uint32_t, 2> b) {
    auto [i, j] = global_index<2>();
    Var sum = 0u;
    $for(k, range(a.size(1))) { sum += a(i, k) * b(k, j); }
    c(i, j) = sum;
});

/// Loops that begin, end, or begin and end at the row's index; bounds below and above the matrix's.
const auto triangles = kernel("triangles", [](Out<uint32_t, 2> c, In<uint32_t, 2> a, In<uint32_t, 2> b) {
    auto [i, j] = global_index<2>();
    const auto n = a.size(1);
    Var above = 1u, below = 2u, band = 3u;
    $for(k, range(min(i + 1, n), n)) { above = above * 3u + a(i, k) * b(k, j); }
    $for(k, range(min(i, n))) { below = below * 5u + a(i, k) * b(k, j); }
    $for(k, range(max(i - 2, 0), min(i + 3, n))) { band = band * 7u + (a(i, k) ^ b(k, j)); }
    c(i, j) = above + (below << 1u) + (band << 2u);
});

/// A range with a margin, and a triangle: conditions that hold for all rows of most packets.
const auto guarded = kernel("guarded", [](Out<uint32_t, 2> c, In<uint32_t, 2> a, In<uint32_t, 2> b) {
    auto [i, j] = global_index<2>();
    $if(i + 3 < c.size(0) && j > 1) {
        Var sum = 0u;
        $for(k, range(a.size(1))) { sum += a(i, k) * b(k, j); }
        c(i, j) = sum;
    }
});
const auto half = kernel("half", [](Out<uint32_t, 2> c, In<uint32_t, 2> a, In<uint32_t, 2> b) {
    auto [i, j] = global_index<2>();
    Var sum = 7u;
    $if(j < i) { sum = cast<uint32_t>(j); }
    $else {
        $for(k, range(a.size(1))) { sum = sum * 3u + (a(i, k) ^ b(k, j)); }
    }
    c(i, j) = sum;
});

/// Control flow that the rows share, that columns do not share, and that differs from row to row.
const auto branches = kernel("branches", [](Out<uint32_t, 2> c, In<uint32_t, 2> a, In<uint32_t, 2> b) {
    auto [i, j] = global_index<2>();
    Var sum = cast<uint32_t>(i), last = 0u;
    $for(k, range(a.size(1))) {
        $if(b(k, j) % 11u == 3u) { $continue; }
        $if(b(k, j) % 13u == 5u) { $break; }
        $if(k % 2 == 0) { sum += a(i, k) * b(k, j); }
        $else { last = sum ^ b(k, j); }
        $if(a(i, k) % 3u == 0u) { sum += last; }
    }
    Var steps = a(i, 0) % 7u;
    $while(steps > 0u) {
        sum = sum * 3u + b(0, j);
        steps -= 1u;
    }
    $while(sum % 4u != 1u) { sum = sum * 5u + 1u; }
    c(i, j) = sum + last;
});

/// Tiles in local memory, whose rows load the same elements; groups may lie past the end.
const auto tiles =
    kernel("tiles", static_group<8, 16>, whole_groups, [](Out<uint32_t, 2> c, In<uint32_t, 2> a, In<uint32_t, 2> b) {
        Local<uint32_t, 8, 8> left;
        Local<uint32_t, 8, 16> upper;
        auto [i, j] = global_index<2>();
        auto [y, x] = local_index<2>();
        const auto n = a.size(1);
        $if(group_index<2>()[1] == 3) { $return; }
        Var sum = 1u;
        $for(from, range(0, n, 8)) {
            $if(x < 8) {
                left(y, x) = 0u;
                $if(i < a.size(0) && from + x < n) { left(y, x) = a(i, from + x); }
            }
            upper(y, x) = 0u;
            $if(from + y < n && j < b.size(1)) { upper(y, x) = b(from + y, j); }
            synchronize();
            $for(k, range(8)) { sum = sum * 3u + left(y, k) * upper(k, x); }
            synchronize();
        }
        $if(in_range() && (i + j) % 5 != 0) { c(i, j) = sum; }
    });

/// The same with tiles that loops fill, as for any size of group: a loop from the item's column on, and one from its row on.
const auto filled_tiles =
    kernel("filled_tiles", static_group<8, 16>, whole_groups, [](Out<uint32_t, 2> c, In<uint32_t, 2> a, In<uint32_t, 2> b) {
        Local<uint32_t, 8, 16> left;
        Local<uint32_t, 16, 16> upper;
        auto [i, j] = global_index<2>();
        auto [y, x] = local_index<2>();
        const auto n = a.size(1);
        Var sum = 1u;
        $for(from, range(0, n, 16)) {
            $for(k, range(x, 16, 16)) {
                left(y, k) = 0u;
                $if(i < a.size(0) && from + k < n) { left(y, k) = a(i, from + k); }
            }
            $for(k, range(y, 16, 8)) {
                upper(k, x) = 0u;
                $if(from + k < n && j < b.size(1)) { upper(k, x) = b(from + k, j); }
            }
            synchronize();
            $for(k, range(16)) { sum = sum * 3u + left(y, k) * upper(k, x); }
            synchronize();
        }
        $if(in_range()) { c(i, j) = sum; }
    });

/// Steps of a stencil in local memory: values that are alive across barriers, in a loop whose condition is computed.
const auto steps =
    kernel("steps", static_group<8, 32>, whole_groups, [](Out<uint32_t, 2> c, In<uint32_t, 2> a, In<uint32_t, 2> b) {
        Local<uint32_t, 10, 34> tile;
        auto [i, j] = global_index<2>();
        auto [y, x] = local_index<2>();
        Var own = a(i % a.size(0), j % a.size(1)) + 1u;
        const Val<uint32_t> kept = b(i % b.size(0), j % b.size(1)) * 3u;
        Var step = 0;
        $while(step < a.size(1)) {
            tile(y + 1, x + 1) = own;
            $if(y == 0) { tile(0, x + 1) = own, tile(9, x + 1) = own * 9u; }
            $if(x == 0) { tile(y + 1, 0) = own, tile(y + 1, 33) = 4u; }
            $if(x == 0 && y == 0) { tile(0, 0) = own, tile(9, 0) = own; }
            synchronize();
            Var sum = kept;
            $for(k, range(8)) { sum = sum * 5u + tile(k, x) + tile(9, x + 1); }
            sum += tile(y, x + 1) + tile(y + 2, x + 1);
            synchronize();
            own = own * 7u + sum;
            step += 1;
        }
        $if(in_range()) { c(i, j) = own; }
    });

std::vector<uint32_t> numbers(int64_t count, uint32_t seed) {
    std::vector<uint32_t> all(static_cast<size_t>(count), 0u);
    for (uint32_t& one : all) one = seed = seed * 1664525u + 1013904223u, one >>= 7;
    return all;
}

template <class K> std::vector<uint32_t> result(const Device& d, const K& k, int rows, int columns, int inner, bool grouped) {
    const Array<uint32_t, 2> a = d.upload(numbers(int64_t(rows) * inner, 1)).reshape({rows, inner});
    const Array<uint32_t, 2> b = d.upload(numbers(int64_t(inner) * columns, 2)).reshape({inner, columns});
    const Array<uint32_t, 2> c = d.zeros<uint32_t>({rows, columns});
    if (grouped && ir::parse(k.ir()).group[0] == 0)
        k(ndrange(rows, columns).group(8, 32), c, a, b);
    else
        k(ndrange(rows, columns), c, a, b);
    return c.download();
}

using Shapes = std::vector<std::pair<int, int>>;
const Shapes usual{{1, 5}, {3, 40}, {4, 64}, {17, 33}, {64, 70}, {67, 129}};

template <class K> void same_as_interpreter(const K& k, int inner, const Shapes& shapes = usual) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const Device device(open()), reference(open_interp());
    for (const auto& [rows, columns] : shapes)
        for (const bool grouped : {false, true})
            ASSERT_EQ(result(device, k, rows, columns, inner, grouped), result(reference, k, rows, columns, inner, grouped))
                << rows << " x " << columns << (grouped ? " in groups" : "");
}

TEST(UnrollAndJam, products_of_matrices) { same_as_interpreter(products, 19); }
TEST(UnrollAndJam, bounds_that_depend_on_the_row) { same_as_interpreter(triangles, 23); }
TEST(UnrollAndJam, conditions_that_depend_on_the_row) {
    same_as_interpreter(guarded, 13);
    same_as_interpreter(half, 13);
}
TEST(UnrollAndJam, branches_and_jumps) { same_as_interpreter(branches, 9); }
TEST(UnrollAndJam, groups_with_barriers) {
    same_as_interpreter(tiles, 21);
    same_as_interpreter(filled_tiles, 21);
    same_as_interpreter(steps, 6);
}

/// Records random statements about items of a 2-dimensional range: nested loops whose bounds depend on the row, on the column or
/// on neither, branches, jumps, and loads that rows share or do not share.
class RandomBody {
public:
    RandomBody(uint32_t seed, const Val<int>& i, const Val<int>& j, const In<uint32_t, 2>& a, const In<uint32_t, 2>& b)
        : state(seed * 2654435761u + 1), i(i), j(j), a(a), b(b), x(cast<uint32_t>(i) + 1u), y(b(0, j)) {}

    void statements(int depth) {
        for (int n = 1 + roll(3); n > 0; --n) statement(depth);
    }
    Val<uint32_t> result() const { return x + y * 3u; }
    /// From here on values may be elements of local memory, at [row, column] below 9.
    void reads(const std::function<Val<uint32_t>(Val<int>, Val<int>)>& local) { tile = local; }

private:
    int roll(int n) { return int((state = state * 1664525u + 1013904223u) >> 9) % n; }
    Var<uint32_t>& variable() { return roll(2) ? x : y; }

    Val<int> index() { return !loops.empty() && roll(4) ? loops[size_t(roll(int(loops.size())))] : cast<int>(value(0) % 5u); }
    Val<uint32_t> value(int depth) {
        switch (roll(depth > 0 ? 7 : 5)) {
            case 0: return x;
            case 1: return y;
            case 2: return cast<uint32_t>(roll(2) ? i : j);
            case 3:
                if (tile && roll(2)) return tile(local_index<2>()[0], index());
                return depth > 0 ? Val<uint32_t>(a(i, index())) : Val<uint32_t>(uint32_t(roll(9)));
            case 4:
                if (tile && roll(3)) return tile(index(), local_index<2>()[1]);
                return depth > 0 ? Val<uint32_t>(b(index(), j)) : Val<uint32_t>(x ^ y);
            case 5: return value(depth - 1) * value(depth - 1);
            default: return value(depth - 1) + (value(depth - 1) >> 3u);
        }
    }
    Val<bool> condition() {
        return roll(3) ? value(1) % 3u == uint32_t(roll(3)) : roll(2) ? i % 2 == 0 : Val<bool>(b(index(), j) % 2u == 0u);
    }
    Val<int> bound() {
        const auto n = a.size(1);
        switch (roll(6)) {
            case 0: return Val<int>(0);
            case 1: return min(i, n);
            case 2: return min(max(i - 2, 0), n);
            case 3: return min(j, n);
            case 4: return cast<int>(value(0) % 6u);
            default: return n;
        }
    }
    void statement(int depth) {
        const int kind = roll(depth > 0 ? 8 : 3);
        if (kind < 3) {
            variable() += value(2);
        } else if (kind < 5) {
            $if(condition()) { statements(depth - 1); }
            $else { statement(depth - 1); }
        } else if (kind < 7) {
            const Val<int> from = bound(), to = bound();
            const bool jumps = roll(4) == 0, leaves = roll(2) == 0;
            $for(k, range(from, to)) {
                loops.push_back(k);
                statements(depth - 1);
                if (jumps) {
                    $if(condition()) {
                        if (leaves)
                            $break;
                        else
                            $continue;
                    }
                    variable() ^= value(1);
                }
                loops.pop_back();
            }
        } else {
            Var left = value(1) % 5u;
            $while(left > 0u) {
                statement(depth - 1);
                left -= 1u;
            }
        }
    }

    uint32_t state;
    Val<int> i, j;
    const In<uint32_t, 2>&a, &b;

public:
    Var<uint32_t> x, y;

private:
    std::vector<Val<int>> loops;  ///< the indices of the loops around
    std::function<Val<uint32_t>(Val<int>, Val<int>)> tile;
};

int64_t rows_of(const ir::Kernel& recorded) { return rows_worth_jamming(lower(recorded, false)); }

/// Runs the pass's kernel in the interpreter, an item for each `rows` rows.
template <class K> void rows_in_one_item(const K& k, int64_t rows) {
    const Device reference(open_interp());
    const int64_t all = 12, columns = 11, inner = 9;
    const AnyKernel together(std::make_shared<const ir::Kernel>(unroll_and_jam(lower(ir::parse(k.ir()), false), rows)));
    const Array<uint32_t, 2> a = reference.upload(numbers(all * inner, 1)).reshape({all, inner});
    const Array<uint32_t, 2> b = reference.upload(numbers(inner * columns, 2)).reshape({inner, columns});
    const Array<uint32_t, 2> c = reference.zeros<uint32_t>({all, columns});
    for (int64_t row = 0; row < all; row += rows) together(ndrange({row, 0}, {row + 1, columns}), c, a, b);
    ASSERT_EQ(c.download(), result(reference, k, all, columns, inner, false)) << rows << " rows";
}

TEST(UnrollAndJam, random_kernels) {
    for (uint32_t seed = 1; seed <= 150; ++seed) {
        const auto k = kernel("random", [seed](Out<uint32_t, 2> c, In<uint32_t, 2> a, In<uint32_t, 2> b) {
            auto [i, j] = global_index<2>();
            RandomBody body(seed, i, j, a, b);
            body.statements(3);
            c(i, j) = body.result();
        });
        SCOPED_TRACE(text("seed ", seed, "\n", k.ir()));
        for (const int64_t rows : {2, 3, 4}) rows_in_one_item(k, rows);
        if (rows_of(ir::parse(k.ir())) > 1) same_as_interpreter(k, 9, {{5, 40}, {18, 33}});
        if (HasFatalFailure()) return;
    }
}

// Items exchange values through local memory, in a loop around the barriers and outside of one; groups lie in the range, or items
// past it do the work of the last ones. In square groups they read a tile transposed, too.
TEST(UnrollAndJam, random_kernels_with_barriers) {
    int together = 0;
    for (uint32_t seed = 1; seed <= 150; ++seed) {
        const bool whole = seed % 2, square = seed % 5 < 2;
        const auto record = [=](Out<uint32_t, 2> c, In<uint32_t, 2> a, In<uint32_t, 2> b) {
            Local<uint32_t, 12, 16> tile;
            Local<uint32_t, 12, 12> turned;
            auto [i, j] = global_index<2>();
            const auto local = local_index<2>();
            const Val<int> y = local[0], x = local[1];
            RandomBody body(seed, whole ? min(i, c.size(0) - 1) : i, whole ? min(j, c.size(1) - 1) : j, a, b);
            const auto exchange = [&] {
                body.reads({});
                body.statements(1);
                tile(y, x) = body.result();
                if (square) turned(y, x) = body.result() * 3u;
                synchronize();
                body.reads([&](Val<int> row, Val<int> column) { return Val<uint32_t>(tile(row, column)); });
                if (square) body.x += turned(x, y);
                body.statements(2);
                synchronize();
            };
            exchange();
            if (seed % 3 == 0) {
                $for(_, range(2)) { exchange(); }
            }
            $if(in_range()) { c(i, j) = body.result(); }
        };
        const auto check = [&](const auto& k) {
            SCOPED_TRACE(text("seed ", seed, "\n", k.ir()));
            if (rows_of(ir::parse(k.ir())) == 1) return;
            ++together;
            same_as_interpreter(k, 9, whole ? Shapes{{12, 16}, {29, 45}} : Shapes{{12, 48}, {36, 48}});
        };
        if (square)
            whole ? check(kernel("random", static_group<12, 12>, whole_groups, record))
                  : check(kernel("random", static_group<12, 12>, record));
        else
            whole ? check(kernel("random", static_group<12, 16>, whole_groups, record))
                  : check(kernel("random", static_group<12, 16>, record));
        if (HasFatalFailure()) return;
    }
    EXPECT_GE(together, 15);
}

TEST(UnrollAndJam, kernels_that_gain_run_four_rows) {
    EXPECT_EQ(rows_of(ir::parse(tiles.ir())), 4);
    EXPECT_EQ(rows_of(ir::parse(filled_tiles.ir())), 4);
    EXPECT_EQ(rows_of(ir::parse(steps.ir())), 4);
    EXPECT_EQ(rows_of(ir::parse(products.ir())), 4);
    EXPECT_EQ(rows_of(ir::parse(triangles.ir())), 4);
    EXPECT_EQ(rows_of(ir::parse(guarded.ir())), 4);
    EXPECT_EQ(rows_of(ir::parse(half.ir())), 4);
    EXPECT_EQ(rows_of(ir::parse(branches.ir())), 4);
}

/// The rows that the emitter runs together.
template <class K> int planned(const K& k, Isa isa, const std::array<int64_t, 3>& group = {256, 4, 1}) {
    Target target;
    target.width = isa == Isa::avx512 ? 16 : 8, target.isa = isa;
    const std::string plan = packet_plan(lower(ir::parse(k.ir()), false), target, {group});
    return plan.find("4 rows together") != plan.npos ? 4 : plan.find("2 rows together") != plan.npos ? 2 : 1;
}

TEST(UnrollAndJam, groups_with_barriers_run_rows_that_divide_theirs) {
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        EXPECT_EQ(planned(tiles, isa, {16, 8, 1}), 4);
        EXPECT_EQ(planned(steps, isa, {32, 8, 1}), 4);
        EXPECT_EQ(planned(tiles, isa, {16, 6, 1}), 2);
        EXPECT_EQ(planned(tiles, isa, {16, 3, 1}), 1);
    }
}

// Registers count for what a loop uses: what is only kept across it is spilled once. With doubles, four rows take 8 registers of
// 16 for the sums, and what is kept exceeds the rest.
TEST(UnrollAndJam, rows_are_limited_by_the_registers_of_loops) {
    const auto kept = kernel("kept", [](Out<double, 2> y, In<double, 2> a, In<double, 2> b) {
        auto [i, j] = global_index<2>();
        auto p = b(0, j), q = b(1, j), r = b(2, j);
        Var sum = 0.0;
        $for(k, range(a.size(1))) { sum += a(i, k) * b(k, j); }
        y(i, j) = sum / (p * q * r + p + q + r);
    });
    const auto held = kernel("held", [](Out<double, 2> y, In<double, 2> a, In<double, 2> b) {
        auto [i, j] = global_index<2>();
        auto p = b(0, j), q = b(1, j), r = b(2, j);
        Var sum = 0.0;
        $for(k, range(a.size(1))) { sum += (a(i, k) + p) * (b(k, j) + q) * r; }
        y(i, j) = sum / (p * q * r + p + q + r);
    });
    EXPECT_EQ(planned(kept, Isa::avx2), 4);
    EXPECT_LT(planned(held, Isa::avx2), 4);
    EXPECT_EQ(planned(held, Isa::avx512), 4);
}

TEST(UnrollAndJam, kernels_without_shared_work_run_single_rows) {
    const auto own = kernel("own", [](Out<float, 2> y, In<float, 3> x) {
        auto [i, j] = global_index<2>();
        Var sum = 0.0f;
        $for(k, range(x.size(0))) { sum += x(k, i, j); }
        y(i, j) = sum;
    });
    EXPECT_EQ(rows_of(ir::parse(own.ir())), 1);
    const auto no_loop = kernel("no_loop", [](Out<float, 2> y, In<float> x) {
        auto [i, j] = global_index<2>();
        y(i, j) = x[j] * 2.0f;
    });
    EXPECT_EQ(rows_of(ir::parse(no_loop.ir())), 1);
}

TEST(UnrollAndJam, kernels_whose_items_meet_run_single_rows) {
    const auto adds = kernel("adds", [](InOut<int> y, In<int, 2> x) {
        auto [i, j] = global_index<2>();
        $for(k, range(x.size(0))) { atomic_add(y[i], x(k, j)); }
    });
    EXPECT_EQ(rows_of(ir::parse(adds.ir())), 1);
    const auto line = kernel("line", [](Out<int> y, In<int, 2> x) {
        auto i = global_index();
        Var sum = 0;
        $for(k, range(x.size(0))) { sum += x(k, i); }
        y[i] = sum;
    });
    EXPECT_EQ(rows_of(ir::parse(line.ir())), 1);
}

}  // namespace
}  // namespace pumice::cpu
