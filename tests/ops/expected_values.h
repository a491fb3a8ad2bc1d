// The host column of ops.def on C++ values.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/ir/builder.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/ir/scalar_math.h"

namespace ops_test {

using namespace pumice;
using namespace pumice::internal;
using ir::Op;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// evaluate_scalar on C++ values; Out is the result's type.
template <class Out, class First, class... Rest> Out evaluate(Op op, First first, Rest... rest) {
    const uint64_t operands[] = {to_bits(first), to_bits(rest)...};
    uint64_t bits = 0;
    EXPECT_TRUE(evaluate_scalar(op, *internal::scalar_of<First>(), operands, bits)) << ir::name_of(op);
    return from_bits<Out>(bits);
}

}  // namespace ops_test
