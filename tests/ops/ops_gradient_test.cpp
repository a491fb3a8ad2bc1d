// Derivatives of every scalar op on the device, from the rows of ops.def: each differentiable row becomes a kernel of floats and
// one of doubles. Tangents and adjoints over the domains must agree with the derivative columns, computed in double.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <cmath>
#include <random>

#include "autodiff/rules/derivative_rules.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "tests/kept_device.h"

using namespace pumice;
using namespace pumice::internal;

namespace {

constexpr int samples = 500;

/// y[i] = op(x1[i], x2[i], ...); ldexp's second operand is an i32.
AnyKernel kernel_of(ir::Op op, Scalar type) {
    const OpRow& row = pumice::internal::row(op);
    std::string head =
        text("kernel \"of_", row.name, "_", name_of(type), "\" math contract rank 1 (arg1: out ", name_of(type), "[1]");
    std::string body, call(row.name);
    for (int n = 0; n < row.arity; ++n) {
        const std::string_view t = name_of(operand_type(op, n, type));
        head += text(", arg", n + 2, ": in ", t, "[1]");
        body += text("  %x", n, " = load arg", n + 2, "[%i] : ", t, "\n");
        call += text(n ? ", %x" : " %x", n);
    }
    return parse_ir(text(head, ") files [] {\n  %i = global_index 0 : i32\n", body, "  %y = ", call, " : ", name_of(type),
                         "\n  store arg1[%i], %y : ", name_of(type), "\n  return\n}\n"));
}

template <class T> class Gradients {
public:
    explicit Gradients(ir::Op op) : op(op), type(*scalar_of<T>()), row(pumice::internal::row(op)), kernel(kernel_of(op, type)) {
        std::mt19937_64 random(20260 + uint64_t(op));
        for (int n = 0; n < row.arity; ++n) {
            std::uniform_real_distribution<double> draw(row.domain[n].low, row.domain[n].high);
            for (T& x : operands[n]) x = operand_type(op, n, type) == Scalar::i32 ? T(std::round(draw(random))) : T(draw(random));
        }
    }
    void check() {
        std::vector<std::vector<T>> adjoints;
        for (int n = 0; n < row.arity; ++n) adjoints.emplace_back(size_t(samples), T(0));
        run(adjoints, T(1), true);
        for (int n = 0; n < row.arity; ++n) {
            if (operand_type(op, n, type) == Scalar::i32) continue;
            std::vector<std::vector<T>> tangents(size_t(row.arity), std::vector<T>(size_t(samples), T(0)));
            tangents[size_t(n)].assign(size_t(samples), T(1));
            expect(n, adjoints[size_t(n)], "adjoint");
            expect(n, run(tangents, T(0), false), "tangent");
        }
    }

private:
    /// Reverse mode replaces `shadows` of the operands; forward mode reads them. Gives the shadow of the result.
    std::vector<T> run(std::vector<std::vector<T>>& shadows, T seed, bool reverse) {
        const Array<T> y = device.zeros<T>(samples), dy = device.full<T>(samples, seed);
        std::vector<Array<T>> x, dx;
        for (int n = 0; n < row.arity; ++n)
            x.push_back(device.upload(operands[n])), dx.push_back(device.upload(shadows[size_t(n)]));
        const auto call = [&](const auto&... rest) {
            if (reverse)
                autodiff(Reverse, kernel, ndrange(samples), Duplicated(y, dy), rest...);
            else
                autodiff(Forward, kernel, ndrange(samples), Duplicated(y, dy), rest...);
        };
        if (row.types == TypeClass::F_I)
            call(Duplicated(x[0], dx[0]), Const(device.upload(std::vector<int>(operands[1].begin(), operands[1].end()))));
        else if (row.arity == 1)
            call(Duplicated(x[0], dx[0]));
        else if (row.arity == 2)
            call(Duplicated(x[0], dx[0]), Duplicated(x[1], dx[1]));
        else
            call(Duplicated(x[0], dx[0]), Duplicated(x[1], dx[1]), Duplicated(x[2], dx[2]));
        for (int n = 0; n < row.arity; ++n) shadows[size_t(n)] = dx[size_t(n)].download();
        return dy.download();
    }
    /// Rounding errors of the few operations of a column, each with the tolerance of its row.
    void expect(int n, const std::vector<T>& got, const char* what) const {
        const double relative = std::is_same_v<T, float> ? 2e-5 : 1e-12, absolute = std::is_same_v<T, float> ? 2e-6 : 1e-13;
        int wrong = 0;
        for (size_t s = 0; s < size_t(samples) && wrong < 5; ++s) {
            double at[3] = {};
            uint64_t bits[3] = {}, result = 0;
            std::string values;
            for (int o = 0; o < row.arity; ++o) {
                at[o] = double(operands[o][s]);
                bits[o] = operand_type(op, o, type) == Scalar::i32 ? to_bits(int32_t(at[o])) : to_bits(at[o]);
                values += text(o ? ", " : "", at[o]);
            }
            ASSERT_TRUE(evaluate_scalar(op, Scalar::f64, bits, result));
            const double want = derive::partial(op, n, {at, size_t(row.arity)}, from_bits<double>(result));
            if (std::abs(double(got[s]) - want) <= relative * std::abs(want) + absolute) continue;
            ++wrong;
            ADD_FAILURE() << row.name << "(" << values << ") as " << name_of(type) << ": the " << what << " of operand " << n + 1
                          << " is " << double(got[s]) << ", and the row says " << want << " on " << device.name();
        }
    }

    const ir::Op op;
    const Scalar type;
    const OpRow& row;
    const AnyKernel kernel;
    const Device device = kept_device->get();
    std::vector<T> operands[3] = {std::vector<T>(samples), std::vector<T>(samples), std::vector<T>(samples)};
};

// ---- singular points ----

/// y = op(x1, x2, ...) in several kernels, one element each: the op alone, zero times it, and with a constant for one operand.
/// Drivers fold expressions with a constant zero.
struct Shape {
    bool times_zero = false;
    int fixed = -1;  ///< the operand that is a constant
    double constant = 0;
};

template <class T> class AtPoints {
public:
    explicit AtPoints(ir::Op op) : op(op), type(*scalar_of<T>()), row(pumice::internal::row(op)) {
        shapes = {{}, {true}};
        for (int n = 0; n < row.arity && row.arity > 1; ++n)
            for (const double c : {0.0, 1.0, -1.0})  // doubles take long to compile
                if (operand_type(op, n, type) != Scalar::i32 && (c == 0 || type == Scalar::f32)) shapes.push_back({false, n, c});
        items = 1;
        for (int n = 0; n < row.arity; ++n) items *= std::size(points);
        for (int n = 0, apart = 1; n < row.arity; ++n, apart *= int(std::size(points)))
            for (int i = 0; i < items; ++i) at[n].push_back(points[size_t(i / apart) % std::size(points)]);
    }

    void check() {
        const AnyKernel kernel = parse_ir(kernel_text());
        std::vector<Array<T>> adjoints;
        const int64_t elements = items * int64_t(shapes.size());
        for (int n = 0; n < row.arity; ++n) adjoints.push_back(device.zeros<T>(elements));
        run(kernel, adjoints, T(1), -1);
        for (int n = 0; n < row.arity; ++n) {
            if (operand_type(op, n, type) == Scalar::i32) continue;
            expect(n, adjoints[size_t(n)].download(), "adjoint");
            expect(n, run(kernel, std::vector(size_t(row.arity), device.full<T>(elements, T(1))), T(0), n).download(), "tangent");
        }
    }

private:
    static constexpr double points[] = {0.0, -0.0, 1.0, -1.0, 0.5, -2.0};

    std::string kernel_text() const {
        const std::string_view t = name_of(type);
        std::string text =
            pumice::text("kernel \"at_points_of_", row.name, "_", t, "\" math contract rank 1 (arg1: out ", t, "[1]");
        for (int n = 0; n < row.arity; ++n)
            text += pumice::text(", arg", n + 2, ": in ", name_of(operand_type(op, n, type)), "[1]");
        text += pumice::text(") files [] {\n%i = global_index 0 : i32\n%count = constant ", shapes.size(),
                             " : i32\n%first = mul %i, %count : i32\n");
        for (size_t s = 0; s < shapes.size(); ++s) {
            text += pumice::text("%number", s, " = constant ", s, " : i32\n%at", s, " = add %first, %number", s, " : i32\n");
            std::string call(row.name);
            for (int n = 0; n < row.arity; ++n) {
                const std::string x = pumice::text("%x", s, "_", n);
                if (shapes[s].fixed == n)
                    text += pumice::text(x, " = constant ", shapes[s].constant, " : ", t, "\n");
                else
                    text += pumice::text(x, " = load arg", n + 2, "[%at", s, "] : ", name_of(operand_type(op, n, type)), "\n");
                call += (n ? ", " : " ") + x;
            }
            text += pumice::text("%y", s, " = ", call, " : ", t, "\n");
            if (shapes[s].times_zero)
                text += pumice::text("%zero = constant 0.0 : ", t, "\n%product = mul %zero, %y", s, " : ", t, "\n");
            text += pumice::text("store arg1[%at", s, "], %", shapes[s].times_zero ? "product" : pumice::text("y", s), " : ", t,
                                 "\n");
        }
        return text + "return\n}\n";
    }

    /// Forward mode for one operand, or, for -1, reverse mode: adds to `dx`. Gives the shadow of the result. Other operands are
    /// constant, because a tangent of zero times an infinite derivative is NaN.
    Array<T> run(const AnyKernel& kernel, const std::vector<Array<T>>& dx, T seed, int forward) {
        const Array<T> y = device.zeros<T>(items * int64_t(shapes.size())), dy = device.full<T>(y.count(), seed);
        std::vector<Array<T>> x;
        std::vector<int> second;
        for (int n = 0; n < row.arity; ++n) {
            std::vector<T> values;
            for (int i = 0; i < items; ++i)
                for (const Shape& s : shapes) values.push_back(T(s.fixed == n ? s.constant : at[n][size_t(i)]));
            x.push_back(device.upload(values));
            second.assign(values.begin(), values.end());
        }
        const auto call = [&](const auto&... rest) {
            if (forward < 0)
                autodiff(Reverse, kernel, ndrange(items), Duplicated(y, dy), rest...);
            else
                autodiff(Forward, kernel, ndrange(items), Duplicated(y, dy), rest...);
        };
        if (row.arity == 1)
            call(Duplicated(x[0], dx[0]));
        else if (row.types == TypeClass::F_I)
            call(Duplicated(x[0], dx[0]), Const(device.upload(second)));
        else if (forward == 0)
            call(Duplicated(x[0], dx[0]), Const(x[1]));
        else if (forward == 1)
            call(Const(x[0]), Duplicated(x[1], dx[1]));
        else
            call(Duplicated(x[0], dx[0]), Duplicated(x[1], dx[1]));
        return dy;
    }

    void expect(int n, const std::vector<T>& got, const char* what) const {
        for (int i = 0; i < items; ++i)
            for (size_t s = 0; s < shapes.size(); ++s) {
                const Shape& shape = shapes[s];
                if (shape.fixed == n) continue;
                double values[3] = {};
                uint64_t bits[3] = {}, result = 0;
                std::string list;
                for (int o = 0; o < row.arity; ++o) {
                    values[o] = shape.fixed == o ? shape.constant : at[o][size_t(i)];
                    bits[o] = operand_type(op, o, type) == Scalar::i32 ? to_bits(int32_t(values[o])) : to_bits(values[o]);
                    list += text(o ? ", " : "", values[o], shape.fixed == o ? " in the text" : "");
                }
                ASSERT_TRUE(evaluate_scalar(op, Scalar::f64, bits, result));
                double want = derive::partial(op, n, {values, size_t(row.arity)}, from_bits<double>(result));
                if (shape.times_zero) want *= 0.0;
                const double is = double(got[size_t(i) * shapes.size() + s]);
                if (std::isnan(want) ? std::isnan(is) : is == want || std::abs(is - want) <= 1e-5 * std::abs(want) + 1e-6)
                    continue;
                ADD_FAILURE() << (shape.times_zero ? "0 * " : "") << row.name << "(" << list << ") as " << name_of(type)
                              << ": the " << what << " of operand " << n + 1 << " is " << is << ", and the row says " << want
                              << " on " << device.name();
                return;
            }
    }

    const ir::Op op;
    const Scalar type;
    const OpRow& row;
    const Device device = kept_device->get();
    std::vector<Shape> shapes;
    int items = 0;
    std::vector<double> at[3];
};

std::vector<int> differentiable_ops() {
    std::vector<int> ops;
    for (int op = 0; op < ir::scalar_op_count; ++op)
        if (row(ir::Op(op)).differentiable) ops.push_back(op);
    return ops;
}

class OpGradient : public testing::TestWithParam<int> {};

TEST_P(OpGradient, AgreesWithItsRow) {
    const ir::Op op = ir::Op(GetParam());
    Gradients<float>(op).check();
    if (accepts(op, Scalar::f64) && kept_device->get().supports(Feature::float64)) Gradients<double>(op).check();
}

TEST_P(OpGradient, AgreesWithItsRowAtSingularPoints) {
    const ir::Op op = ir::Op(GetParam());
    if (!derive::has_poles(op) && op != ir::Op::mul) return;
    ASSERT_LE(row(op).arity, 2);
    AtPoints<float>(op).check();
    if (accepts(op, Scalar::f64) && kept_device->get().supports(Feature::float64)) AtPoints<double>(op).check();
}

INSTANTIATE_TEST_SUITE_P(Rows, OpGradient, testing::ValuesIn(differentiable_ops()),
                         [](const auto& info) { return std::string(ir::name_of(ir::Op(info.param))); });

}  // namespace
