// The derivative columns of ops.def: against central differences of the host column, and at documented corners.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/ops/expected_values.h"

namespace {

using namespace ops_test;

/// The derivative columns as functions of double.
namespace rules {

using scalar::digamma, scalar::sign, scalar::trigamma;
using std::abs, std::sqrt, std::exp, std::log, std::sin, std::cos, std::sinh, std::cosh, std::pow;
double ldexp(double a, double b) { return std::ldexp(a, int(b)); }
double select(bool condition, double a, double b) { return condition ? a : b; }
double X(double constant) { return constant; }
constexpr double zero = 0, none = nan_value;

using Rule = double (*)(double a, double b, double c, double r);
struct Rules {
    Rule of[3];
};

#define RULE(text)                                         \
    [](double a, double b, double c, double r) -> double { \
        (void)a, (void)b, (void)c, (void)r;                \
        return text;                                       \
    }
#define OP1(name, types, result, cost, glsl, llvm, host, da, ...) Rules{{RULE(da), nullptr, nullptr}},
#define OP2(name, types, result, cost, glsl, llvm, host, da, db, ...) Rules{{RULE(da), RULE(db), nullptr}},
#define OP3(name, types, result, cost, glsl, llvm, host, da, db, dc, ...) Rules{{RULE(da), RULE(db), RULE(dc)}},
const Rules all[] = {
#include "core/ir/ops.def"
};
#undef RULE

}  // namespace rules

double derivative(Op op, int operand, double a, double b = 0) {
    const double r = row(op).types == TypeClass::F_I ? evaluate<double>(op, a, int32_t(b))
                     : row(op).arity == 1            ? evaluate<double>(op, a)
                                                     : evaluate<double>(op, a, b);
    return rules::all[int(op)].of[operand](a, b, 0, r);
}

class EachRule : public testing::TestWithParam<int> {
protected:
    Op op() const { return Op(GetParam()); }
};

/// The host column in double; the second operand of F_I rows is rounded.
double host(Op op, const double (&x)[3]) {
    uint64_t operands[3] = {to_bits(x[0]), to_bits(x[1]), to_bits(x[2])}, bits = 0;
    if (row(op).types == TypeClass::F_I) operands[1] = to_bits(int32_t(x[1]));
    EXPECT_TRUE(evaluate_scalar(op, Scalar::f64, operands, bits));
    return from_bits<double>(bits);
}

std::vector<int> differentiable_ops() {
    std::vector<int> ops;
    for (int op = 0; op < ir::scalar_op_count; ++op)
        if (row(Op(op)).differentiable) ops.push_back(op);
    return ops;
}

TEST_P(EachRule, AgreesWithCentralDifferences) {
    const OpRow& row = pumice::internal::row(op());
    std::mt19937_64 random(20240607 + unsigned(GetParam()));
    // Differences across a jump or a kink are no derivative; only these rows have any.
    const bool has_kinks = std::set<std::string_view>{"fmod", "remainder", "abs",   "min",  "max",      "sign", "floor",
                                                      "ceil", "trunc",     "round", "rint", "copysign", "fdim", "logb"}
                               .contains(row.name);
    int kinks = 0;
    for (int point = 0; point < 400; ++point) {
        double x[3];
        for (int i = 0; i < 3; ++i) x[i] = std::uniform_real_distribution(row.domain[i].low, row.domain[i].high)(random);
        if (row.types == TypeClass::F_I) x[1] = std::round(x[1]);
        const double r = host(op(), x);
        const int float_operands = row.types == TypeClass::F_I ? 1 : row.arity;
        for (int i = 0; i < float_operands; ++i) {
            const double h = 6e-6 * std::max(1e-2, std::fabs(x[i]));  // about eps^(1/3)
            const auto shifted = [&](double by) {
                double y[3] = {x[0], x[1], x[2]};
                y[i] += by;
                return host(op(), y);
            };
            const double right = shifted(h), left = shifted(-h);
            const double want = (right - left) / (2 * h);
            const double got = rules::all[GetParam()].of[i](x[0], x[1], x[2], r);
            // Truncation errors of the differences, and rounding errors.
            const double allowed = 3e-7 * std::max(std::fabs(want), std::fabs(got)) + 1e-14 * std::fabs(r) / h + 1e-9;
            const double one_sided = std::fabs((right - r) - (r - left)) / h;
            if (has_kinks && one_sided > 0.5) {
                ++kinks;
                continue;
            }
            EXPECT_NEAR(got, want, allowed) << row.name << ", operand " << i << " at (" << x[0] << ", " << x[1] << ", " << x[2]
                                            << ")";
        }
    }
    EXPECT_LT(kinks, 20);
}

INSTANTIATE_TEST_SUITE_P(Rows, EachRule, testing::ValuesIn(differentiable_ops()),
                         [](const auto& info) { return std::string(ir::name_of(Op(info.param))); });

TEST(Rules, DocumentedCorners) {
    EXPECT_EQ(derivative(Op::sqrt, 0, 0), infinity);
    EXPECT_EQ(derivative(Op::cbrt, 0, 0), infinity);
    EXPECT_EQ(derivative(Op::abs, 0, 0), 0);
    EXPECT_EQ(derivative(Op::abs, 0, -3), -1);
    for (const Op op : {Op::min, Op::max}) {
        EXPECT_EQ(derivative(op, 0, 2, 2), 0) << "in a tie the last operand takes all";
        EXPECT_EQ(derivative(op, 1, 2, 2), 1);
        EXPECT_EQ(derivative(op, 0, 2, nan_value), 1);
        EXPECT_EQ(derivative(op, 1, 2, nan_value), 0);
        EXPECT_EQ(derivative(op, 0, nan_value, 2), 0);
        EXPECT_EQ(derivative(op, 1, nan_value, 2), 1);
    }
    EXPECT_EQ(derivative(Op::hypot, 0, 0, 0), 0);
    EXPECT_EQ(derivative(Op::hypot, 1, 0, 0), 0);
    EXPECT_EQ(derivative(Op::pow, 0, -3, 2), -6);
    EXPECT_EQ(derivative(Op::pow, 0, 0, 2), 0);
    EXPECT_EQ(derivative(Op::pow, 0, 0, 0), 0);
    EXPECT_EQ(derivative(Op::pow, 0, 0, 1), 1);
    EXPECT_EQ(derivative(Op::pow, 1, 0, 2), 0);
    EXPECT_TRUE(std::isnan(derivative(Op::pow, 1, -2, 2)));
    EXPECT_EQ(derivative(Op::asin, 0, 1), infinity);
    EXPECT_EQ(derivative(Op::acos, 0, 1), -infinity);
    EXPECT_EQ(derivative(Op::acosh, 0, 1), infinity);
    EXPECT_EQ(derivative(Op::fdim, 0, 1, 1), 0);
    EXPECT_TRUE(std::isnan(derivative(Op::atan2, 0, 0, 0)));
    EXPECT_EQ(derivative(Op::ldexp, 0, 3, 4), 16);
    EXPECT_EQ(derivative(Op::copysign, 0, 3, -1), -1);
    EXPECT_EQ(derivative(Op::nextafter, 0, 3, 4), 1);
}

}  // namespace
