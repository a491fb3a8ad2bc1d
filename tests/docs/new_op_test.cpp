// docs/adding-an-op.md: core/ir/ops.def would accept the row on the page. The library does not contain the row; the test reads it
// in the way in which the library and its tests read ops.def.
#include <gtest/gtest.h>

#include <cmath>

#include "codegen/glsl_text/expression.h"
#include "codegen/glsl_text/prelude.h"
#include "core/ir/ops.h"

using namespace pumice;
using namespace pumice::internal;

namespace {

#define R(low, high) Interval{low, high},
#define OP1(name, types, result, cost, glsl, llvm, host, da, domain, tolerance, doc) \
    constexpr std::string_view glsl_of_row = glsl, doc_of_row = doc;                 \
    constexpr Interval domain_of_row[] = {domain};                                   \
    static_assert(takes(TypeClass::types, Scalar::f32) && !doc_of_row.empty());      \
    double host_of_row(double a) { return host; }                                    \
    double derivative_of_row(double a, double r, double (*X)(double)) { return (void)a, (void)X, da; }
#include "row.def"
#undef OP1
#undef R

TEST(NewOp, DerivativeAgreesWithCentralDifferences) {
    const Interval domain = domain_of_row[0];
    const double h = 1e-5;
    for (int i = 0; i <= 100; ++i) {
        const double x = domain.low + (domain.high - domain.low) * i / 100;
        const double want = (host_of_row(x + h) - host_of_row(x - h)) / (2 * h);
        EXPECT_NEAR(derivative_of_row(x, host_of_row(x), [](double c) { return c; }), want, 1e-9) << "at " << x;
    }
}

TEST(NewOp, GlslIsFilledAndHasItsFunctions) {
    codegen::Expression x;
    x.text = "arg1[i]";
    const std::string filled = codegen::fill(glsl_of_row, {x}).text;
    EXPECT_EQ(filled.find('$'), filled.npos) << filled;
    EXPECT_NE(codegen::prelude_for(filled, {Scalar::f32}).find("float pm_exp(float x)"), std::string::npos);
}

}  // namespace
