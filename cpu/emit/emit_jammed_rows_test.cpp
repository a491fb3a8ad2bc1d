// Rows that run together give the results of rows that run alone; which kernels gain by it.
#include <gtest/gtest.h>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/interp/interp.h"
#include "core/kernel/kernel.h"
#include "core/language/control.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
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

std::vector<uint32_t> numbers(int64_t count, uint32_t seed) {
    std::vector<uint32_t> all(static_cast<size_t>(count), 0u);
    for (uint32_t& one : all) one = seed = seed * 1664525u + 1013904223u, one >>= 7;
    return all;
}

template <class K> std::vector<uint32_t> result(const Device& d, const K& k, int rows, int columns, int inner, bool grouped) {
    const Array<uint32_t, 2> a = d.upload(numbers(int64_t(rows) * inner, 1)).reshape({rows, inner});
    const Array<uint32_t, 2> b = d.upload(numbers(int64_t(inner) * columns, 2)).reshape({inner, columns});
    const Array<uint32_t, 2> c = d.zeros<uint32_t>({rows, columns});
    if (grouped)
        k(ndrange(rows, columns).group(8, 32), c, a, b);
    else
        k(ndrange(rows, columns), c, a, b);
    return c.download();
}

template <class K> void same_as_interpreter(const K& k, int inner) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const Device device(open()), reference(open_interp());
    for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{{1, 5}, {3, 40}, {4, 64}, {17, 33}, {64, 70}, {67, 129}})
        for (const bool grouped : {false, true})
            ASSERT_EQ(result(device, k, rows, columns, inner, grouped), result(reference, k, rows, columns, inner, grouped))
                << rows << " x " << columns << (grouped ? " in groups" : "");
}

TEST(UnrollAndJam, products_of_matrices) { same_as_interpreter(products, 19); }
TEST(UnrollAndJam, bounds_that_depend_on_the_row) { same_as_interpreter(triangles, 23); }
TEST(UnrollAndJam, branches_and_jumps) { same_as_interpreter(branches, 9); }

int64_t rows_of(const ir::Kernel& recorded) { return rows_worth_jamming(lower(recorded, false)); }

TEST(UnrollAndJam, kernels_that_gain_run_four_rows) {
    EXPECT_EQ(rows_of(ir::parse(products.ir())), 4);
    EXPECT_EQ(rows_of(ir::parse(triangles.ir())), 4);
    EXPECT_EQ(rows_of(ir::parse(branches.ir())), 4);
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
