// The derivative of every scalar op on the device, from the rows of ops.def: each differentiable row becomes a kernel of floats and
// one of doubles, whose tangents and adjoints, over the operands' domains, are the row's derivative columns in double.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <cmath>
#include <random>

#include "autodiff/rules.h"
#include "core/evaluate.h"
#include "core/ops.h"

using namespace pumice;

namespace {

constexpr int samples = 500;

/// y[i] = op(x1[i], x2[i], ...); ldexp's second operand is an i32.
AnyKernel kernel_of(ir::Op op, Scalar type) {
    const OpRow& row = pumice::row(op);
    std::string head = text("kernel \"of_", row.name, "_", name_of(type), "\" math contract rank 1 (arg1: out ", name_of(type), "[1]");
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

template <class T>
class Gradients {
public:
    explicit Gradients(ir::Op op) : op(op), type(*scalar_of<T>()), row(pumice::row(op)), kernel(kernel_of(op, type)) {
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
    /// Reverse mode replaces `shadows` of the operands; forward mode takes them. Gives the shadow of the result.
    std::vector<T> run(std::vector<std::vector<T>>& shadows, T seed, bool reverse) {
        const Array<T> y = device.zeros<T>(samples), dy = device.full<T>(samples, seed);
        std::vector<Array<T>> x, dx;
        for (int n = 0; n < row.arity; ++n) x.push_back(device.upload(operands[n])), dx.push_back(device.upload(shadows[size_t(n)]));
        const auto call = [&](const auto&... rest) {
            if (reverse) autodiff(Reverse, kernel, ndrange(samples), Duplicated(y, dy), rest...);
            else autodiff(Forward, kernel, ndrange(samples), Duplicated(y, dy), rest...);
        };
        if (row.types == TypeClass::F_I)
            call(Duplicated(x[0], dx[0]), Const(device.upload(std::vector<int>(operands[1].begin(), operands[1].end()))));
        else if (row.arity == 1) call(Duplicated(x[0], dx[0]));
        else if (row.arity == 2) call(Duplicated(x[0], dx[0]), Duplicated(x[1], dx[1]));
        else call(Duplicated(x[0], dx[0]), Duplicated(x[1], dx[1]), Duplicated(x[2], dx[2]));
        for (int n = 0; n < row.arity; ++n) shadows[size_t(n)] = dx[size_t(n)].download();
        return dy.download();
    }
    /// Rounding errors of a column's few operations, each of which the device does to its row's tolerance.
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
            ADD_FAILURE() << row.name << "(" << values << ") as " << name_of(type) << ": the " << what << " of operand " << n + 1 << " is "
                          << double(got[s]) << ", and the row says " << want << " on " << device.name();
        }
    }

    const ir::Op op;
    const Scalar type;
    const OpRow& row;
    const AnyKernel kernel;
    const Device device = Device::open();
    std::vector<T> operands[3] = {std::vector<T>(samples), std::vector<T>(samples), std::vector<T>(samples)};
};

std::vector<int> differentiable_ops() {
    std::vector<int> ops;
    for (int op = 0; op < ir::scalar_op_count; ++op)
        if (row(ir::Op(op)).differentiable) ops.push_back(op);
    return ops;
}

class OpGradient : public testing::TestWithParam<int> {};

TEST_P(OpGradient, IsTheRows) {
    const ir::Op op = ir::Op(GetParam());
    Gradients<float>(op).check();
    if (accepts(op, Scalar::f64) && Device::open().supports(Feature::float64)) Gradients<double>(op).check();
}

INSTANTIATE_TEST_SUITE_P(Rows, OpGradient, testing::ValuesIn(differentiable_ops()),
                         [](const auto& info) { return std::string(ir::name_of(ir::Op(info.param))); });

}  // namespace
