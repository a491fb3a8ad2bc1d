// Misuse of derivatives: each error is a sentence that names the argument or the line.
#include <unistd.h>

#include <filesystem>

#include "core/interp/interp.h"
#include "tests/error/error_suite.h"

using namespace pumice;
using suite::device;
using suite::message_of;

struct Cell {
    int at, kind;
};
PUMICE_STRUCT(Cell, at, kind);

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

TEST_F(AutodiffErrors, ActiveArrayIsRefused) {
    EXPECT_EQ(
        message_of([&] { autodiff(Reverse, axpy, ndrange(4), Active(y), Const(1.0f), Const(x)); }),
        about("axpy", axpy_line,
              "argument 1 is an array and Active: write Duplicated(array, shadow), and its derivative is added to the shadow"));
}

TEST_F(AutodiffErrors, ScalarAnnotationsOfTheOtherModeAreRefused) {
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Duplicated(1.0f, 1.0f), Const(x)); }),
              about("axpy", axpy_line,
                    "argument 2 is a scalar and Duplicated in reverse mode: write Active(value), and its derivative comes back"));
    EXPECT_EQ(message_of([&] { autodiff(Forward, axpy, ndrange(4), Duplicated(y, dy), Active(1.0f), Const(x)); }),
              about("axpy", axpy_line,
                    "argument 2 is Active in forward mode, which gives no derivative back: write Duplicated(value, tangent)"));
}

TEST_F(AutodiffErrors, ShadowOfAnotherShapeIsRefused) {
    Array<float> short_one = d.zeros<float>(3);
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Const(1.0f), Duplicated(x, short_one)); }),
              about("axpy", axpy_line, "the shadow of argument 3 has extents [3], and the array has [4]"));
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, Array<float>()), Const(1.0f), Const(x)); }),
              about("axpy", axpy_line, "the shadow of argument 1 is an array that was never allocated"));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.0f));
}

TEST_F(AutodiffErrors, ShadowOnAnotherDeviceIsRefused) {
    const Device other = Device(open_interp());
    Array<float> there = other.zeros<float>(4);
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Const(1.0f), Duplicated(x, there)); }),
              about("axpy", axpy_line, "the shadow of argument 3 lies on " + other.name() + ", and the array on " + d.name()));
}

TEST_F(AutodiffErrors, IntegersAreRefused) {
    Array<int> n = d.zeros<int>(4), dn = d.zeros<int>(4);
    EXPECT_EQ(message_of([&] { autodiff(Reverse, count, ndrange(4), Duplicated(n, dn), Const(1)); }),
              about("count", count_line, "argument 1 is Duplicated and of type i32, which has no derivative: write Const"));
    EXPECT_EQ(message_of([&] { autodiff(Reverse, count, ndrange(4), Const(n), Active(1)); }),
              about("count", count_line, "argument 2 is Active and of type i32, which has no derivative: write Const"));
}

TEST_F(AutodiffErrors, StructsOfIntegersAreRefused) {
    const int line = __LINE__ + 1;
    const auto number = kernel("number", [](InOut<Cell> cells) { cells[global_index()].at = global_index(); });
    const Array<Cell> cells = d.upload(std::vector<Cell>(4)), shadow = cells.clone();
    EXPECT_EQ(message_of([&] { autodiff(Reverse, number, ndrange(4), Duplicated(cells, shadow)); }),
              about("number", line,
                    "argument 1 is Duplicated and of type struct without floats, which has no derivative: write Const"));
}

TEST_F(AutodiffErrors, WrongNumberOfArguments) {
    const AnyKernel any(axpy.recorded());
    EXPECT_EQ(message_of([&] { autodiff(Reverse, any, ndrange(4), Duplicated(y, dy)); }),
              about("axpy", axpy_line, "it takes 3 arguments and is given 1"));
}

TEST_F(AutodiffErrors, CheckGradientWithoutFloatArrays) {
    EXPECT_EQ(message_of([&] { check_gradient(count, ndrange(4), d.zeros<int>(4), 1); }),
              "check_gradient is given no array of float or double to check: those that are Const are held");
}

TEST_F(AutodiffErrors, Functions) {
    const auto twice = function("twice", [](Val<int> n) { return 2.0f * cast<float>(n); });
    EXPECT_EQ(message_of([&] { autodiff(Reverse, twice, Active(3)); }),
              "the derivative of function \"twice\": argument 1 is Active and of type i32, which has no derivative: write Const");
}

TEST_F(AutodiffErrors, ShadowsThatOverlap) {
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Const(1.0f), Duplicated(x, y)); }),
              about("axpy", axpy_line, "the shadow of argument 3 overlaps argument 1 in memory"));
    EXPECT_EQ(message_of([&] { autodiff(Reverse, axpy, ndrange(4), Duplicated(y, dy), Const(1.0f), Duplicated(x, dy)); }),
              about("axpy", axpy_line, "the shadows of argument 1 and argument 3 overlap in memory, and argument 1 is written"));
}

TEST_F(AutodiffErrors, Batches) {
    Array<float> second = d.zeros<float>(4);
    EXPECT_EQ(message_of(
                  [&] { autodiff(Reverse, axpy, ndrange(4), BatchDuplicated(y, {dy, second}), Const(1.0f), Duplicated(x, dx)); }),
              about("axpy", axpy_line, "argument 3 has 1 shadow, and the batch has 2 directions"));
}

/// Defines a kernel with this body on this line; `line` is the number of the line.
#define KERNEL_HERE(line, name, ...) \
    const int line = __LINE__;       \
    const auto name = kernel(#name, __VA_ARGS__)

TEST_F(AutodiffErrors, AtomicsWithoutADerivativeAreRefused) {
    const auto refused = [&](const auto& k) {
        return message_of([&] { autodiff(Reverse, k, ndrange(4), Duplicated(y, dy), Duplicated(x, dx)); });
    };
    const auto sentence = [](const char* name, int line, const std::string& what) {
        return text("kernel \"", name, "\" (", at(line), ") is differentiated in reverse through ", what, " on line ", line,
                    ", which ");
    };
    KERNEL_HERE(max_line, largest, [](InOut<float> y, In<float> x) { atomic_max(y[0], x[global_index()]); });
    EXPECT_EQ(refused(largest), sentence("largest", max_line, "an atomic max of differentiated memory") + "has no reverse rule");
    KERNEL_HERE(min_line, least, [](InOut<float> y, In<float> x) { atomic_min(y[0], x[global_index()]); });
    EXPECT_EQ(refused(least), sentence("least", min_line, "an atomic min of differentiated memory") + "has no reverse rule");
    KERNEL_HERE(last_line, last, [](InOut<float> y, In<float> x) { atomic_exchange(y[0], x[global_index()]); });
    EXPECT_EQ(refused(last), sentence("last", last_line, "an atomic exchange of differentiated memory") + "has no reverse rule");
    KERNEL_HERE(old_line, ticket, [](InOut<float> y, In<float> x) { y[1] = atomic_add(y[0], x[global_index()]); });
    EXPECT_EQ(refused(ticket), sentence("ticket", old_line, "the old value of the atomic") +
                                   "depends on the order of the work-items and has no derivative");
    EXPECT_EQ(dy.download(), std::vector<float>(4, 1.0f));
}

TEST_F(AutodiffErrors, Programs) {
    const auto program = [](Array<float>& y, float a, const Array<float>& x) { axpy(ndrange(4), y, a, x); };
    const auto traced = [](Array<float>& y, auto a, const Array<float>& x) { axpy(ndrange(4), y, a, x); };
    EXPECT_EQ(message_of([&] { autodiff(Reverse, traced, Duplicated(y, dy), Duplicated(1.0f, 1.0f), Const(x)); }),
              "the derivative of a program: argument 2 is a scalar and Duplicated in reverse mode: write Active(value), and its "
              "derivative comes back");
    EXPECT_EQ(message_of([&] { autodiff(Forward, traced, Duplicated(y, dy), Active(1.0f), Const(x)); }),
              "the derivative of a program: argument 2 is Active in forward mode, which gives no derivative back: write "
              "Duplicated(value, tangent)");
    EXPECT_EQ(message_of([&] { autodiff(Reverse, [](Array<float>&, int) {}, Duplicated(y, dy), Active(1)); }),
              "the derivative of a program: argument 2 is Active and of type i32, which has no derivative: write Const");
    EXPECT_EQ(message_of([&] { autodiff(Reverse, program, Duplicated(y, dy.slice(0, 3)), Const(1.0f), Const(x)); }),
              "the derivative of a program: the shadow of argument 1 has extents [3], and the array has [4]");
    EXPECT_EQ(message_of([&] { autodiff(Reverse.checkpoints(0), program, Duplicated(y, dy), Const(1.0f), Const(x)); }),
              "autodiff is asked to work with 0 checkpoints; it needs at least 1, the state in which the program starts");
    const auto beside = [](Array<float>& y, Array<float>& whole) { axpy(ndrange(4), y, 1.0f, whole); };
    EXPECT_EQ(message_of([&] { autodiff(Reverse, beside, Duplicated(y, dy), Duplicated(x, x)); }),
              "the derivative of a program: the shadow of argument 2 overlaps it in memory");
}

TEST_F(AutodiffErrors, ArraysOfPrograms) {
    const auto whole = [&](Array<float>&) { axpy(ndrange(4), y, 1.0f, x); };
    EXPECT_EQ(message_of([&] { autodiff(Reverse, whole, Duplicated(y.slice(0, 2), dy.slice(0, 2))); }),
              "the derivative of a program: it uses an array of which only a part is Duplicated (bytes 0 to 8 of 0 to 16): use "
              "views of the part, or "
              "give all of it a shadow");
    const auto counts = [&](Array<float>& a) {
        axpy(ndrange(4), y, 1.0f, a);
        return d.zeros<int>(4);
    };
    EXPECT_EQ(message_of([&] { autodiff(Reverse, counts, Duplicated(x, dx)); }),
              "a program whose derivative is asked for returns an array or image whose elements are not floats of one type");
}

TEST_F(AutodiffErrors, HostStepsWithoutARule) {
    const auto doubled = host_step("doubled", [](Array<float>& a) { a.copy_from(a.download()); });
    const auto program = [&](Array<float>& a) { doubled(a); };
    for (const bool forward : {false, true})
        EXPECT_EQ(
            message_of([&] {
                forward ? void(autodiff(Forward, program, Duplicated(x, dx)))
                        : void(autodiff(Reverse, program, Duplicated(x, dx)));
            }),
            text("the host step \"doubled\" works on arrays that depend on what is differentiated and has no rule for ",
                 forward ? "forward" : "reverse", " mode: add .", forward ? "forward" : "reverse", "(rule) or .inactive()"));
}

TEST_F(AutodiffErrors, DerivativesOfTheCodeOfAKernelWithARule) {
    const auto copy = [](Out<float> y, In<float> x) { y[global_index()] = x[global_index()]; };
    const auto still = kernel("still", copy).inactive();
    const auto ruled =
        kernel("ruled", copy).reverse([](const Range&, const Duplicated<Array<float>>&, const Duplicated<Array<float>>&) {});
    const auto both = [&](const auto& k, const char* which, const char* who) {
        const std::string why =
            text(which, ", and ", who, " differentiates its code, without the rule: call autodiff, which applies it");
        const auto expect = [&](const auto& act) {
            const std::string message = message_of(act);
            EXPECT_NE(message.find(why), std::string::npos) << message << "\n" << why;
        };
        if (std::string_view(who) == "tangent") return expect([&] { tangent<Duplicated, Duplicated>(k); });
        if (std::string_view(who) == "adjoint") return expect([&] { adjoint<Duplicated, Duplicated>(k); });
        auto [first, second] = autodiff_split(k, ndrange(4), Duplicated(y, dy), Duplicated(x, dx));
        expect([&, &first = first] { first(Duplicated(y, dy), Duplicated(x, dx)); });
    };
    for (const char* who : {"adjoint", "autodiff_split"})
        both(still, "is inactive", who), both(ruled, "has a rule for reverse mode", who);
    both(still, "is inactive", "tangent");
    tangent<Duplicated, Duplicated>(ruled);  // has no rule for forward mode
}

TEST_F(AutodiffErrors, ScalarsOfPrograms) {
    EXPECT_EQ(
        message_of([&] {
            autodiff(
                Reverse, [&](Array<float>& a, auto c) { axpy(ndrange(4), a, trigamma(c), x); }, Duplicated(y, dy), Active(2.0f));
        }),
        "a program computes trigamma of a number that its derivative follows, which has no derivative: compute with its value()");
    const auto nested = [&](Array<float>& a, auto c) {
        autodiff(Reverse, [&](Array<float>& b, auto e) { axpy(ndrange(4), b, c * e, x); }, Duplicated(a, dx), Active(3.0f));
    };
    EXPECT_EQ(message_of([&] { autodiff(Reverse, nested, Duplicated(y, dy), Active(2.0f)); }),
              "a program computes mul of numbers that two derivatives follow, one inside the other: give the inner program its "
              "value()");
}

TEST_F(AutodiffErrors, RulesThatReturnTooFewAdjoints) {
    const auto ruled = kernel("ruled", [](Out<float> y, Val<float> a, Val<float> b) { y[global_index()] = a * b; });
    ruled.reverse([](const Range&, const Duplicated<Array<float>>&, float a, float) { return a; });
    EXPECT_EQ(message_of([&] { autodiff(Reverse, ruled, ndrange(4), Duplicated(y, dy), Active(2.0f), Active(3.0f)); }),
              "the rule of kernel \"ruled\" gives 1 adjoint of scalars, and more scalars are Active: it returns one for each "
              "floating scalar, in order");
}

TEST_F(AutodiffErrors, RulesForForwardModeAndScalars) {
    const auto ruled =
        kernel("ruled", [](Out<float> y, Val<float> a, In<float> x) { y[global_index()] = a * x[global_index()]; });
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
    EXPECT_EQ(message,
              text("the reverse half of kernel \"axpy\" is given a tape of ", tape.arrays.size() + 1, " arrays, and its own has ",
                   tape.arrays.size(), ": both halves take the same range and annotations"));
}

const int counts_line = __LINE__ + 1;
const auto counts = kernel("counts", [](InOut<float> y, In<int> n) {
    auto i = global_index();
    Var<float> v = y[i];
    $for(k, range(n[i])) { v = sin(v); }
    y[i] = v;
});
const int given_line = __LINE__ + 1;
const auto given = kernel("given", [](InOut<float> y, Val<int> n) {
    auto i = global_index();
    Var<float> v = y[i];
    $for(k, range(n)) { v = sin(v); }
    y[i] = v;
});

/// The user has given all that the adjoint kernel takes from a user.
TEST_F(AutodiffErrors, DerivativesOfKernelsThatTakeTapes) {
    const Array<float> y = device().zeros<float>(4), dy = device().zeros<float>(4), other = device().zeros<float>(4);
    const auto adjoint_of_counts = adjoint<Duplicated, Const>(counts);
    EXPECT_EQ(message_of([&] {
                  autodiff(Forward, adjoint_of_counts, ndrange(4), Duplicated(y, other), Duplicated(dy, other),
                           Const(device().zeros<int>(4)));
              }),
              text("the derivative of kernel \"counts.adjoint\" (", at(counts_line),
                   "): it takes 2 arrays that autodiff makes for each launch, so its derivative is not taken by a launch"));
}

TEST_F(AutodiffErrors, DumpsOfKernelsThatTakeTapes) {
    const auto folder = std::filesystem::temp_directory_path() / text("pumice_tapes_", getpid());
    const auto refusal = [](const char* name, int line, const char* arrays, const char* length) {
        return text("kernel \"", name, "\" (", at(line), ") cannot be dumped: it takes ", arrays,
                    " that autodiff makes for each launch, ", length,
                    "; bound its loops by constants, so that what an item tapes is in 1024 elements of private memory, or call "
                    "autodiff where it runs");
    };
    EXPECT_EQ(
        message_of([&] { dump(adjoint<Duplicated, Const>(counts), folder); }),
        refusal("counts.adjoint", counts_line, "2 arrays", "as long as another kernel counts, which the files do not hold"));
    EXPECT_EQ(message_of([&] { dump(adjoint<Duplicated, Const>(given), folder); }),
              refusal("given.adjoint", given_line, "1 array", "of a length that the files do not hold"));
    EXPECT_FALSE(std::filesystem::exists(folder));
    dump(adjoint<Duplicated, Const, Duplicated>(axpy), folder);
    dump(tangent<Duplicated, Const>(counts), folder);
    dump(counts, folder);
    EXPECT_TRUE(std::filesystem::exists(folder / "axpy.adjoint.spv"));
    EXPECT_TRUE(std::filesystem::exists(folder / "counts.forward.spv"));
    std::filesystem::remove_all(folder);
}

}  // namespace
