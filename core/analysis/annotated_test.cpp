// The text of PUMICE_DUMP=analysis.
#include "core/analysis/annotated.h"

#include <gtest/gtest.h>

namespace pumice::ir {
namespace {

TEST(Annotated, ScopesFormsAndTripCounts) {
    const Kernel k = parse(R"(kernel "rows" math contract rank 2 (arg1: out f32[2], arg2: in f32[2], arg3: i32) files [] {
  %0 = global_index 0 : i32
  %1 = global_index 1 : i32
  %2 = argument arg3 : i32
  %3 = mul %1, %2 : i32
  %4 = add %3, %0 : i32
  %5 = load arg2[%4] : f32
  %6 = constant 0 : i32
  %7 = constant 16 : i32
  %8 = constant 2 : i32
  %9 = lt %2, %7 : bool
  if %9 {
    for %10 = %6 to %7 step %8 {
      store arg1[%4], %5 : f32
      yield
    }
    yield
  } else {
    yield
  }
  return
}
)");
    ASSERT_EQ(verify(k), "");
    EXPECT_EQ(annotated(k), R"(# arg1: written
# arg2: read
kernel "rows" math contract rank 2 (arg1: out f32[2], arg2: in f32[2], arg3: i32) files [] {
  %0 = global_index 0 : i32  # item: global0; 1 use
  %1 = global_index 1 : i32  # item: global1; 1 use
  %2 = argument arg3 : i32  # launch; 2 uses
  %3 = mul %1, %2 : i32  # item: global1*%2 modulo 2^32; 1 use
  %4 = add %3, %0 : i32  # item: global0 + global1*%2 modulo 2^32; 2 uses
  %5 = load arg2[%4] : f32  # item; 1 use
  %6 = constant 0 : i32  # launch; 1 use
  %7 = constant 16 : i32  # launch; 2 uses
  %8 = constant 2 : i32  # launch; 1 use
  %9 = lt %2, %7 : bool  # launch; 1 use
  if %9 {  # control: launch
    for %10 = %6 to %7 step %8 {  # 8 iterations, control: launch
      store arg1[%4], %5 : f32
      yield
    }
    yield
  } else {
    yield
  }
  return
}
)");
    EXPECT_EQ(print(parse(annotated(k))), print(k));
}

}  // namespace
}  // namespace pumice::ir
