// Case 26 of shared/cases/autodiff.md: misuse of derivatives, each a sentence that names the argument or the line.
#include "core/interp.h"
#include "tests/error/error_suite.h"

using namespace pumice;
using suite::device;
using suite::message_of;

namespace {

const std::string file = __FILE__;
std::string at(int line) { return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(line); }

const int axpy_line = __LINE__ + 1;
const auto axpy = kernel("axpy", [](InOut<float> y, Val<float> a, In<float> x) {
    auto i = global_index();
    y[i] += a * x[i];
});
const int count_line = __LINE__ + 1;
const auto count = kernel("count", [](InOut<int> n, Val<int> by) { n[global_index()] += by; });
std::string about(const char* kernel, int line, const std::string& what) {
    return "the derivative of kernel \"" + std::string(kernel) + "\" (" + at(line) + "): " + what;
}

struct AutodiffErrors : ::testing::Test {
    const Device d = device();
    Array<float> y = d.zeros<float>(4), dy = d.full<float>(4, 1.0f), x = d.zeros<float>(4), dx = d.zeros<float>(4);
};

TEST_F(AutodiffErrors, Case26_ActiveArray) {
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Active(y), Const(1.0f), Const(x)); }),
              about("axpy", axpy_line, "argument 1 is an array and Active: write Duplicated(array, shadow), and its derivative is added to the shadow"));
}

TEST_F(AutodiffErrors, Case26_ScalarsOfTheOtherMode) {
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Duplicated(1.0f, 1.0f), Const(x)); }),
              about("axpy", axpy_line, "argument 2 is a scalar and Duplicated in reverse mode: write Active(value), and its derivative comes back"));
    EXPECT_EQ(message_of([&] { autodiff(Forward, axpy, ndrange(4), Duplicated(y, dy), Active(1.0f), Const(x)); }),
              about("axpy", axpy_line, "argument 2 is Active in forward mode, which gives no derivative back: write Duplicated(value, tangent)"));
}

TEST_F(AutodiffErrors, Case26_ShadowOfAnotherShape) {
    Array<float> short_one = d.zeros<float>(3);
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Const(1.0f), Duplicated(x, short_one)); }),
              about("axpy", axpy_line, "the shadow of argument 3 has extents [3], and the array has [4]"));
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, Array<float>()), Const(1.0f), Const(x)); }),
              about("axpy", axpy_line, "the shadow of argument 1 is an array that was never allocated"));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.0f));
}

TEST_F(AutodiffErrors, Case26_ShadowOnAnotherDevice) {
    const Device other = Device(open_interp());
    Array<float> there = other.zeros<float>(4);
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Const(1.0f), Duplicated(x, there)); }),
              about("axpy", axpy_line, "the shadow of argument 3 lies on " + other.name() + ", and the array on " + d.name()));
}

TEST_F(AutodiffErrors, Case26_Integers) {
    Array<int> n = d.zeros<int>(4), dn = d.zeros<int>(4);
    EXPECT_EQ(message_of([&] { autodiff(Reverse, count, ndrange(4), Duplicated(n, dn), Const(1)); }),
              about("count", count_line, "argument 1 is Duplicated and of type i32, which has no derivative: write Const"));
    EXPECT_EQ(message_of([&] { autodiff(Reverse, count, ndrange(4), Const(n), Active(1)); }),
              about("count", count_line, "argument 2 is Active and of type i32, which has no derivative: write Const"));
}

TEST_F(AutodiffErrors, ShadowsThatOverlap) {
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Const(1.0f), Duplicated(x, y)); }),
              about("axpy", axpy_line, "the shadow of argument 3 overlaps argument 1 in memory"));
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Const(1.0f), Duplicated(x, dy)); }),
              about("axpy", axpy_line, "the shadows of argument 1 and argument 3 overlap in memory, and argument 1 is written"));
}

TEST_F(AutodiffErrors, Batches) {
    Array<float> second = d.zeros<float>(4);
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), BatchDuplicated(y, {dy, second}), Const(1.0f), Duplicated(x, dx)); }),
              about("axpy", axpy_line, "argument 3 has 1 shadow, and the batch has 2 directions"));
}

/// A kernel on this line whose body is given; `line` is the line.
#define KERNEL_HERE(line, name, ...) const int line = __LINE__; const auto name = kernel(#name, __VA_ARGS__)

TEST_F(AutodiffErrors, Case26_AtomicsWithoutADerivative) {
    const auto refused = [&](const auto& k) { return message_of([&] { autodiff(Reverse, k, ndrange(4), Duplicated(y, dy), Duplicated(x, dx)); }); };
    const auto sentence = [](const char* name, int line, const std::string& what) {
        return text("kernel \"", name, "\" (", at(line), ") is differentiated in reverse through ", what, " on line ", line, ", which ");
    };
    KERNEL_HERE(max_line, largest, [](InOut<float> y, In<float> x) { atomic_max(y[0], x[global_index()]); });
    EXPECT_EQ(refused(largest), sentence("largest", max_line, "an atomic max of differentiated memory") + "has no reverse rule");
    KERNEL_HERE(min_line, least, [](InOut<float> y, In<float> x) { atomic_min(y[0], x[global_index()]); });
    EXPECT_EQ(refused(least), sentence("least", min_line, "an atomic min of differentiated memory") + "has no reverse rule");
    KERNEL_HERE(last_line, last, [](InOut<float> y, In<float> x) { atomic_exchange(y[0], x[global_index()]); });
    EXPECT_EQ(refused(last), sentence("last", last_line, "an atomic exchange of differentiated memory") + "has no reverse rule");
    KERNEL_HERE(old_line, ticket, [](InOut<float> y, In<float> x) { y[1] = atomic_add(y[0], x[global_index()]); });
    EXPECT_EQ(refused(ticket), sentence("ticket", old_line, "the old value of the atomic") + "depends on the order of the work-items and has no derivative");
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.0f));
}

TEST_F(AutodiffErrors, Programs) {
    const auto program = [](Array<float>& y, float a, const Array<float>& x) { axpy(ndrange(4), y, a, x); };
    const auto traced = [](Array<float>& y, auto a, const Array<float>& x) { axpy(ndrange(4), y, a, x); };
    EXPECT_EQ(message_of([&] { autodiff(Reverse, traced, Duplicated(y, dy), Duplicated(1.0f, 1.0f), Const(x)); }),
              "the derivative of a program: argument 2 is a scalar and Duplicated in reverse mode: write Active(value), and its derivative comes back");
    EXPECT_EQ(message_of([&] { autodiff(Forward, traced, Duplicated(y, dy), Active(1.0f), Const(x)); }),
              "the derivative of a program: argument 2 is Active in forward mode, which gives no derivative back: write Duplicated(value, tangent)");
    EXPECT_EQ(message_of([&] { autodiff(Reverse, [](Array<float>&, int) {}, Duplicated(y, dy), Active(1)); }),
              "the derivative of a program: argument 2 is Active and of type i32, which has no derivative: write Const");
    EXPECT_EQ(message_of([&] { autodiff(Reverse, program, Duplicated(y, dy.slice(0, 3)), Const(1.0f), Const(x)); }),
              "the derivative of a program: the shadow of argument 1 has extents [3], and the array has [4]");
    EXPECT_EQ(message_of([&] { autodiff(Reverse.checkpoints(0), program, Duplicated(y, dy), Const(1.0f), Const(x)); }),
              "autodiff is asked to work with 0 checkpoints; it needs at least 1, the state in which the program starts");
    const auto beside = [](Array<float>& y, Array<float>& whole) { axpy(ndrange(4), y, 1.0f, whole); };
    EXPECT_EQ(message_of([&] { autodiff(Reverse, beside, Duplicated(y, dy), Duplicated(x, x)); }), "the derivative of a program: the shadow of argument 2 overlaps it in memory");
}

TEST_F(AutodiffErrors, RulesForForwardModeAndScalars) {
    const auto ruled = kernel("ruled", [](Out<float> y, Val<float> a, In<float> x) { y[global_index()] = a * x[global_index()]; });
    ruled.forward([](const Range&, const Duplicated<Array<float>>&, float, const Duplicated<Array<float>>&) {});
    EXPECT_EQ(
        message_of([&] { autodiff(Forward, ruled, ndrange(4), Duplicated(y, dy), Duplicated(1.0f, 1.0f), Duplicated(x, dx)); }),
        "the rule of kernel \"ruled\" for forward mode is called with tangents of arrays, and argument 2 is a Duplicated scalar: "
        "write Const, or put it "
        "into an array of one element");
}

TEST_F(AutodiffErrors, TapesOfOtherCalls) {
    const auto halves = autodiff_split(axpy, ndrange(4), Duplicated(y, dy), Const(2.0f), Duplicated(x, dx));
    const auto& reverse = halves.second;
    const auto tape = halves.first(Duplicated(y, dy), Const(2.0f), Duplicated(x, dx));
    EXPECT_EQ(message_of([&] { reverse(Duplicated(y, dy), Const(2.0f), Const(x), tape); }),
              "the reverse half of kernel \"axpy\" is given a tape for other annotations: both halves take the same ones");
    pumice::Tape other;
    other.arrays = tape.arrays;
    other.arrays.push_back(x.state);
    const std::string message = message_of([&] { reverse(Duplicated(y, dy), Const(2.0f), Duplicated(x, dx), other); });
    EXPECT_EQ(message, text("the reverse half of kernel \"axpy\" is given a tape of ", tape.arrays.size() + 1, " arrays, and its own has ", tape.arrays.size(),
                            ": both halves take the same range and annotations"));
}

}  // namespace
