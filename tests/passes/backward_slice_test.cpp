// Backward slices of small kernels: the instructions and memories that they hold.
#include "core/analysis/backward_slice.h"

#include <gtest/gtest.h>

namespace pumice::ir {
namespace {

/// The slice of some stores: with what their memory needs, or without.
class OfStores : public BackwardSlice {
public:
    OfStores(const Kernel& kernel, const Structure& structure, MemoryId stored, bool follows_reads = true)
        : BackwardSlice(kernel, structure), follows_reads(follows_reads) {
        add_writes(stored);
        close();
    }

private:
    bool follows(const Inst&) const override { return follows_reads; }
    const bool follows_reads;
};

/// A kernel that stores to arg1 and arg3.
struct Sliced {
    explicit Sliced(const std::string& body, bool follows_reads = true)
        : k(parse("kernel \"k\" math contract rank 1 (arg1: out f32[1], arg2: in f32[1], arg3: out f32[1]) files [] {\n"
                  "  %0 = global_index 0 : i32\n" +
                  body + "  return\n}\n")),
          structure(k),
          slice(k, structure, {0}, follows_reads) {}

    /// True if the slice has the n-th instruction with this op.
    bool has(Op op, int n = 0) const {
        for (uint32_t i = 0; i < k.insts.size(); ++i)
            if (k.insts[i].op == op && n-- == 0) return slice.has(InstId{i});
        ADD_FAILURE() << "there is no such " << name_of(op);
        return false;
    }

    const Kernel k;
    const Structure structure;
    const OfStores slice;
};

TEST(backward_slice, a_store_needs_its_index_and_its_value_and_no_other_store) {
    const Sliced s(
        "  %1 = load arg2[%0] : f32\n  %2 = mul %1, %1 : f32\n  %3 = exp %1 : f32\n"
        "  store arg1[%0], %2 : f32\n  store arg3[%0], %3 : f32\n");
    EXPECT_TRUE(s.has(Op::global_index) && s.has(Op::load) && s.has(Op::mul) && s.has(Op::store, 0));
    EXPECT_FALSE(s.has(Op::exp) || s.has(Op::store, 1));
}

TEST(backward_slice, an_instruction_needs_the_condition_of_the_constructs_around_it) {
    const Sliced s(
        "  %1 = constant 8 : i32\n  %2 = lt %0, %1 : bool\n  %3 = constant 1.0 : f32\n  if %2 {\n"
        "    store arg1[%0], %3 : f32\n    yield\n  } else {\n    store arg3[%0], %3 : f32\n    yield\n  }\n");
    EXPECT_TRUE(s.has(Op::lt) && s.has(Op::if_) && s.has(Op::store, 0));
    EXPECT_FALSE(s.has(Op::store, 1));
}

const std::string two_columns =
    "  %1 = constant 0 : i32\n  %2 = constant 8 : i32\n  %3 = constant 1 : i32\n  %4 = constant 0.0 : f32\n"
    "  %5, %6 = for %7 = %1 to %2 step %3 carry (%8 = %4, %9 = %4) : (f32, f32) {\n"
    "    %10 = add %8, %4 : f32\n    %11 = mul %9, %4 : f32\n    yield %10, %11\n  }\n";

TEST(backward_slice, a_column_of_a_loop_is_needed_without_the_others) {
    const Sliced s(two_columns + "  store arg1[%0], %5 : f32\n  store arg3[%0], %6 : f32\n");
    EXPECT_TRUE(s.has(Op::for_) && s.has(Op::add));
    EXPECT_FALSE(s.has(Op::mul));
}

TEST(backward_slice, a_loop_needs_its_jumps) {
    const Sliced s(
        "  %1 = constant 0 : i32\n  %2 = constant 8 : i32\n  %3 = constant 1 : i32\n  %4 = constant 0.0 : f32\n"
        "  %5 = for %6 = %1 to %2 step %3 carry (%7 = %4) : f32 {\n    %8 = load arg2[%6] : f32\n"
        "    %9 = lt %8, %4 : bool\n    if %9 {\n      break %7\n    } else {\n      yield\n    }\n"
        "    %10 = add %7, %4 : f32\n    yield %10\n  }\n  store arg1[%0], %5 : f32\n");
    EXPECT_TRUE(s.has(Op::break_) && s.has(Op::lt) && s.has(Op::load));
}

const std::string through_memory =
    "  %1 = constant 1.0 : f32\n  %2 = exp %1 : f32\n  store arg3[%0], %2 : f32\n  %3 = load arg3[%0] : f32\n"
    "  store arg1[%0], %3 : f32\n";

TEST(backward_slice, a_read_that_is_followed_needs_all_writes_to_its_memory) {
    const Sliced s(through_memory);
    EXPECT_TRUE(s.has(Op::exp) && s.has(Op::store, 0));
    EXPECT_TRUE(s.slice.is_read({2}));
}

TEST(backward_slice, a_read_that_is_not_followed_ends_the_slice) {
    const Sliced s(through_memory, false);
    EXPECT_TRUE(s.has(Op::load));
    EXPECT_FALSE(s.has(Op::exp) || s.has(Op::store, 0) || s.slice.is_read({2}));
}

TEST(backward_slice, a_variable_needs_its_sets) {
    const Sliced s(
        "  %1 = constant 1.0 : f32\n  %2 = var %1 : f32\n  %3 = exp %1 : f32\n  set %2, %3 : f32\n"
        "  %4 = get %2 : f32\n  store arg1[%0], %4 : f32\n");
    EXPECT_TRUE(s.has(Op::set) && s.has(Op::exp));
}

}  // namespace
}  // namespace pumice::ir
