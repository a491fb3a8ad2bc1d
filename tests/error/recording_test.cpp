// Misuse of the language that is found while a kernel is recorded. No device is needed.
#include <cmath>
#include <limits>
#include <optional>

#include "tests/error/error_suite.h"

using namespace pumice;

namespace {

/// Expects that recording the lambda as kernel "k" fails with exactly this sentence.
#define EXPECT_MISUSE(sentence, ...) \
    EXPECT_ERROR(std::string(sentence) + "\n  while recording kernel \"k\" (@)", kernel("k", __VA_ARGS__).ir())

const std::string outside = " is used outside a kernel (@): device code stands in a lambda given to kernel() or function()";
const std::string operation = "an operation on device values" + outside;

/// Values of a kernel whose recording has ended.
struct Escaped {
    std::optional<InOut<float>> array;
    std::optional<Val<float>> value;
    std::optional<Val<bool>> condition;
    std::optional<Var<float>> variable;
    std::optional<Local<float, 4>> local;

    Escaped() {
        kernel("gone", [this](InOut<float> a) {
            array.emplace(a);
            value.emplace(a[0]);
            condition.emplace(a[0] > 1.0f);
            variable.emplace(a[1]);
            local.emplace();
        }).ir();
    }
};

TEST(Recording, OutsideAKernel) {
    EXPECT_ERROR("global_index" + outside, global_index());
    EXPECT_ERROR("global_size" + outside, global_size<2>());
    EXPECT_ERROR("local_index" + outside, local_index<3>());
    EXPECT_ERROR("group_index" + outside, group_index());
    EXPECT_ERROR("group_size" + outside, group_size());
    EXPECT_ERROR("group_count" + outside, group_count());
    EXPECT_ERROR("an index" + outside, global_index_linear());
    EXPECT_ERROR("in_range()" + outside, in_range());
    EXPECT_ERROR("synchronize()" + outside, synchronize());
    EXPECT_ERROR(operation, Var<int>(1));
    EXPECT_ERROR(operation, Val<float>(1.0f));
    EXPECT_ERROR("Local" + outside, Local<int, 4> x);
    EXPECT_ERROR("Private" + outside, Private<int, 4> x);
    EXPECT_ERROR(operation, $if (true) {});
    EXPECT_ERROR("$else" + outside, $else {});
    EXPECT_ERROR("$elif" + outside, $elif (true) {});
    EXPECT_ERROR("$while" + outside, $while (true) {});
    EXPECT_ERROR(operation, $for (i, range(3)) {});
    EXPECT_ERROR("$break" + outside, $break);
    EXPECT_ERROR("$continue" + outside, $continue);
    EXPECT_ERROR("$return" + outside, $return);
}

TEST(Recording, CapturedValuesOutsideAKernel) {
    Escaped gone;
    EXPECT_ERROR(operation, sqrt(*gone.value));
    EXPECT_ERROR(operation, *gone.value + 1.0f);
    EXPECT_ERROR("a Var" + outside, sqrt(*gone.variable));
    EXPECT_ERROR("cast" + outside, cast<int>(*gone.value));
    EXPECT_ERROR("a subscript" + outside, (*gone.array)[0]);
    EXPECT_ERROR("a subscript" + outside, (*gone.local)[0]);
    EXPECT_ERROR("an array in a kernel" + outside, gone.array->size());
    EXPECT_ERROR("$if" + outside, $if (*gone.condition) {});
    EXPECT_ERROR("an operation on device values is used outside a kernel: device code stands in a lambda given to kernel() or "
                 "function()", *gone.condition && *gone.condition);
}

TEST(Recording, ValuesAndArraysOfAnotherKernel) {
    Escaped gone;
    const std::string other = "a device value of another kernel is used in kernel \"k\" (@): values, variables and local arrays live "
                              "only while their own kernel is recorded";
    EXPECT_MISUSE(other, [&](InOut<float> a) { a[0] = *gone.value; });
    EXPECT_MISUSE(other, [&](InOut<float> a) { a[0] = exp(*gone.value); });
    EXPECT_MISUSE(other, [&](InOut<float> a) { a[0] = *gone.variable; });
    EXPECT_MISUSE(other, [&](InOut<float> a) { *gone.variable = a[0]; });
    EXPECT_MISUSE(other, [&](InOut<float>) { *gone.variable += 1.0f; });
    EXPECT_MISUSE(other, [&](InOut<float> a) { a[0] = (*gone.array)[0]; });
    EXPECT_MISUSE(other, [&](InOut<float>) { (*gone.local)[0] = 1.0f; });
    EXPECT_MISUSE(other, [&](InOut<float> a) { $if (*gone.condition) { a[0] = 1.0f; } });
    EXPECT_MISUSE(other, [&](InOut<float> a) { $while (*gone.condition) { a[0] = 1.0f; } });
    EXPECT_MISUSE(other, [&](InOut<float> a) { atomic_add(a[0], *gone.value); });
}

TEST(Recording, ValuesUsedPastTheirBlock) {
    const std::string past = "a device value is used outside the $if, $for or $while that computes it, in kernel \"k\" (@): write Var x "
                             "= ... before the construct and assign x inside";
    std::optional<Val<int>> x;
    std::optional<Var<int>> v;
    EXPECT_MISUSE(past, [&](InOut<int> a) { $if (a[0] > 1) { x.emplace(a[0] + 1); } a[2] = *x; });
    EXPECT_MISUSE(past, [&](InOut<int> a) { $if (a[0] > 1) { x.emplace(a[0] + 1); } $else { a[2] = *x; } });
    EXPECT_MISUSE(past, [&](InOut<int> a) { $for (i, range(3)) { x.emplace(i); } a[2] = *x; });
    EXPECT_MISUSE(past, [&](InOut<int> a) { $while (a[0] > 1) { v.emplace(a[0]); } a[2] = *v; });
    EXPECT_MISUSE(past, [&](InOut<int> a) { $if (a[0] > 1) { v.emplace(a[0]); } $for (i, range(2)) { *v = i; } });
}

TEST(Recording, HostJumpsOutOfDeviceConstructs) {
    const std::string jump = "a host break, return or goto leaves the device construct at @ in kernel \"k\": write $break, $continue or "
                             "$return for device control flow";
    EXPECT_MISUSE(jump, [](InOut<int> a) { for (int i = 0; i < 3; ++i) $if (a[i] > 1) { break; } });
    EXPECT_MISUSE(jump, [](InOut<int> a) { $if (a[0] > 1) { return; } a[0] = 1; });
    EXPECT_MISUSE(jump, [](InOut<int> a) { $if (a[0] > 1) { break; } $else { a[0] = 3; } });
    EXPECT_MISUSE(jump, [](InOut<int> a) { $if (a[0] > 1) { a[0] = 2; } $else { return; } });
    EXPECT_MISUSE(jump, [](InOut<int> a) { $if (a[0] > 1) { a[0] = 2; } $elif (a[0] > 4) { break; } });
    EXPECT_MISUSE(jump, [](InOut<int> a) { $for (i, range(3)) { a[i] = 2; break; } a[1] = 1; });
    EXPECT_MISUSE(jump, [](InOut<int> a) { $for (i, range(3)) { a[i] = 2; return; } });
    EXPECT_MISUSE(jump, [](InOut<int> a) { $while (a[0] > 2) { break; } a[1] = 1; });
    EXPECT_MISUSE(jump, [](InOut<int> a) { $while (a[0] > 2) { a[0] = 2; goto out; } out: a[1] = 1; });
    EXPECT_MISUSE(jump, [](InOut<int> a) { $for (i, range(4)) { $if (a[i] > 1) { $while (a[0] > 2) { return; } } } });
}

TEST(Recording, ExceptionsOfTheUserPassUnchanged) {
    const auto thrown = kernel("thrown", [](InOut<int> a) {
        $if (a[0] > 1) { $for (i, range(3)) { $while (a[i] < 2) { throw 7; } } }
    });
    for (int again = 0; again < 2; ++again) {
        try {
            thrown.ir();
            FAIL();
        } catch (int seven) {
            EXPECT_EQ(seven, 7);
        }
    }
    const auto in_elif = kernel("in_elif", [](InOut<int> a) { $if (a[0] > 1) { a[0] = 1; } $elif (a[0] > 0) { throw std::runtime_error("mine"); } });
    EXPECT_THROW(in_elif.ir(), std::runtime_error);
    EXPECT_MISUSE("my own", [](InOut<int> a) { $if (a[0] > 1) { throw Error("my own"); } });
    EXPECT_MISUSE("kernel \"k\" ends inside the construct opened at @", [](InOut<int> a) { try { $if (a[0] > 1) { throw 7; } } catch (int) {} });
    // The thread records the next kernel as usual.
    EXPECT_NO_THROW(kernel("fine", [](InOut<int> a) { $if (a[0] > 1) { a[0] = 1; } $else { a[0] = 2; } }).ir());
    EXPECT_ERROR("global_index" + outside, global_index());
}

TEST(Recording, AKernelThatFailedOnceCanBeRecordedLater) {
    bool broken = true;
    const auto k = kernel("k", [&](InOut<int> a) {
        if (broken) throw 1;
        a[0] = 1;
    });
    EXPECT_THROW(k.ir(), int);
    broken = false;
    EXPECT_NO_THROW(k.ir());
}

TEST(Recording, MisplacedControlFlow) {
    const std::string no_if = " at @ does not follow a $if (kernel \"k\"): nothing may stand between them";
    EXPECT_MISUSE("$else" + no_if, [](InOut<int> a) { $else { a[0] = 1; } });
    EXPECT_MISUSE("$elif" + no_if, [](InOut<int> a) { $elif (a[0] > 1) { a[0] = 1; } });
    EXPECT_MISUSE("$else" + no_if, [](InOut<int> a) { $if (a[0] > 0) { a[0] = 1; } a[1] = 2; $else { a[0] = 1; } });
    EXPECT_MISUSE("$else" + no_if, [](InOut<int> a) { $if (a[0] > 0) { a[0] = 1; } $else { a[1] = 2; } $else { a[0] = 1; } });
    EXPECT_MISUSE("$elif" + no_if, [](InOut<int> a) { $if (a[0] > 0) { a[0] = 1; } $else { a[1] = 2; } $elif (a[0] > 1) { a[0] = 1; } });
    EXPECT_MISUSE("$else" + no_if, [](InOut<int> a) { $while (a[0] > 0) { a[0] = 1; } $else { a[1] = 2; } });
    EXPECT_MISUSE("$else" + no_if, [](InOut<int> a) { $if (a[0] > 0) { $else { a[1] = 2; } } });
    EXPECT_MISUSE("$break at @ stands outside a $for or $while (kernel \"k\")", [](InOut<int> a) { $break; a[0] = 1; });
    EXPECT_MISUSE("$break at @ stands outside a $for or $while (kernel \"k\")", [](InOut<int> a) { $if (a[0] > 1) { $break; } });
    EXPECT_MISUSE("$continue at @ stands outside a $for or $while (kernel \"k\")", [](InOut<int> a) { $continue; a[0] = 1; });
}

TEST(Recording, KernelsInsideKernels) {
    const auto other = kernel("other", [](InOut<int> a) { a[0] = 1; });
    const std::string inside = "kernel \"other\" is used while kernel \"k\" is being recorded: a kernel cannot launch another one";
    for (int known = 0; known < 2; ++known) {  // for a kernel that was recorded before, and for a new one
        EXPECT_MISUSE(inside, [&](InOut<int>) { other(ndrange(1), Array<int>()); });
        EXPECT_MISUSE(inside, [&](InOut<int>) { other.ir(); });
        other.ir();
    }
    std::optional<Kernel<InOut<int>>> self;
    const std::string itself = "kernel \"k\" is used while kernel \"k\" is being recorded: a kernel cannot launch another one";
    EXPECT_MISUSE(itself, [&](InOut<int>) { kernel("k", [](InOut<int>) {}).ir(); });
    self.emplace(kernel("self", [&](InOut<int>) { (*self)(ndrange(1), Array<int>()); }));
    EXPECT_NE(suite::message_of([&] { self->ir(); }).find("kernel \"self\" is used while kernel \"self\" is being recorded"), std::string::npos);
}

TEST(Recording, OneKernelHasOneRank) {
    EXPECT_MISUSE("kernel \"k\" asks for local_index<2>() at @ but uses 1-dimensional indices before: one kernel has one rank (the _linear "
                  "functions work in every rank)", [](InOut<int> a) { a[global_index()] = 1; local_index<2>(); });
    EXPECT_MISUSE("kernel \"k\" asks for global_size<1>() at @ but uses 3-dimensional indices before: one kernel has one rank (the _linear "
                  "functions work in every rank)", [](InOut<int> a) { a[global_index_linear()] = 1; local_index<3>(); global_size(); });
}

TEST(Recording, ConstantsThatDoNotFit) {
    const auto not_fit = [](const std::string& value, const std::string& range) {
        return "the constant " + value + " does not fit into " + range + " (@, kernel \"k\")";
    };
    const std::string i32 = "i32, which holds -2147483648 to 2147483647";
    EXPECT_MISUSE(not_fit("256", "u8, which holds 0 to 255"), [](InOut<uint8_t> a) { a[0] = 256; });
    EXPECT_MISUSE(not_fit("-1", "u8, which holds 0 to 255"), [](InOut<uint8_t> a) { a[0] = -1; });
    EXPECT_MISUSE(not_fit("-129", "i8, which holds -128 to 127"), [](InOut<int8_t> a) { a[0] = -129; });
    EXPECT_MISUSE(not_fit("3000000000", i32), [](InOut<int> a) { a[0] = 3000000000u; });
    EXPECT_MISUSE(not_fit("18446744073709551615", i32), [](InOut<int> a) { a[0] = UINT64_MAX; });
    EXPECT_MISUSE(not_fit("18446744073709551615", i32), [](InOut<int> a) { a[UINT64_MAX] = 0; });
    EXPECT_MISUSE(not_fit("-1", "u64, which holds 0 to 18446744073709551615"), [](InOut<uint64_t> a) { a[0] = -1; });
    EXPECT_MISUSE(not_fit("18446744073709551615", "i64, which holds -9223372036854775808 to 9223372036854775807"),
                  [](InOut<int64_t> a) { a[0] = UINT64_MAX; });
    EXPECT_MISUSE(not_fit("-1e+300", "f32, whose largest number is 3.40282e+38"), [](InOut<float> a) { a[0] = -1e300; });
    EXPECT_MISUSE(not_fit("100000", "f16, whose largest number is 65504"), [](InOut<half> a) { a[0] = 1e5; });
    EXPECT_NO_THROW(kernel("k", [](InOut<float> a, InOut<uint64_t> u, InOut<int64_t> i) {
        a[0] = 1e-300, a[1] = HUGE_VAL, a[2] = std::numeric_limits<float>::max(), a[3] = UINT64_MAX, a[4] = std::nan("");
        u[0] = UINT64_MAX;
        i[0] = INT64_MIN, i[1] = INT64_MAX;
    }).ir());
}

TEST(Recording, Names) {
    const std::string rule = "\": names are 1 to 100 letters, digits, _, - and . (not first)";
    for (const std::string& name : {std::string(), std::string("two words"), std::string(".hidden"), std::string("../up"), std::string("a/b"),
                                    std::string("n\n"), std::string("gr\xc3\xbc\xc3\x9f"), std::string(101, 'x')})
        EXPECT_EQ(suite::message_of([&] { kernel(name, [](InOut<int>) {}); }), "a kernel is named \"" + name + rule);
    EXPECT_NO_THROW(kernel(std::string(100, 'x'), [](InOut<int>) {}));
    EXPECT_NO_THROW(kernel("A-z_0.9", [](InOut<int>) {}));
}

TEST(Recording, SizesOfLocalAndPrivateArrays) {
    const std::string positive = " is declared in kernel \"k\" (@): extents are positive";
    EXPECT_MISUSE("a local array of extent 0" + positive, [](InOut<int>) { Local<float, 0> t; });
    EXPECT_MISUSE("a local array of extent -1" + positive, [](InOut<int>) { Local<float, 4, -1> t; });
    EXPECT_MISUSE("a private array of extent 0" + positive, [](InOut<int>) { Private<float, 0> t; });
    EXPECT_MISUSE("a local array of extent 0" + positive, [](InOut<int>) { Local<float> t(0); });
    EXPECT_MISUSE("a local array of extent -4" + positive, [](InOut<int>) { Local<float> t(-4); });
    EXPECT_MISUSE("a local array has 7 dimensions in kernel \"k\" (@); the limit is 6", [](InOut<int>) { Local<float, 4, 1, 2, 3, 1, 1, 1> t; });
    EXPECT_MISUSE("a private array has 7 dimensions in kernel \"k\" (@); the limit is 6", [](InOut<int>) { Private<float, 4, 1, 2, 3, 1, 1, 1> t; });
    EXPECT_MISUSE("a local array in kernel \"k\" (@) takes more than 2147483647 bytes, which is the limit",
                  [](InOut<int>) { Local<int, 2'000'000'000, 2'000'000'000, 2'000'000'000> t; });
    EXPECT_MISUSE("a private array in kernel \"k\" (@) takes more than 524288 bytes, which is the limit", [](InOut<int>) { Private<int, 131'073> t; });
    const std::string unknown = "the size of a local array in kernel \"k\" (@) is not known before the kernel runs: it is made of group sizes and "
                                "constants only";
    EXPECT_MISUSE(unknown, [](InOut<int>, Val<int> n) { Local<float> t(n); });
    EXPECT_MISUSE(unknown, [](InOut<int> a) { Local<float> t(a[0]); });
    EXPECT_MISUSE(unknown, [](InOut<int> a) { Local<float> t(a.size()); });
    EXPECT_MISUSE(unknown, [](InOut<int>) { Local<float> t(local_index() + group_size()); });
    EXPECT_MISUSE(unknown, [](InOut<int>) { Var n = 4; Local<float> t(n); });
    const std::string dimension = " is asked for in kernel \"k\" (@); it has ";
    EXPECT_MISUSE("the extent of an array along dimension 1" + dimension + "1 dimension", [](InOut<int> a) { a.size(1); });
    EXPECT_MISUSE("the extent of an array along dimension -1" + dimension + "2 dimensions", [](In<int, 2> a) { a.size(-1); });
}

TEST(Recording, ParsedTextIsChecked) {
    EXPECT_ERROR("kernel text line 1: expected `kernel`, found the end of the text", parse_ir(""));
    const std::string divergent = "kernel \"k\" math contract rank 1 (arg1: inout i32[1]) @1 files [\"k.cpp\"] {\n  %0 = local_index 0 : i32\n  %1 = constant 4 : i32\n"
                                  "  %2 = lt %0, %1 : bool\n  if %2 @3 {\n    barrier @4\n    yield\n  } else {\n    yield\n  }\n  return\n}\n";
    EXPECT_ERROR("kernel \"k\" (k.cpp:1) has a barrier at k.cpp:4 that some work-items of a group may not reach: what decides it at k.cpp:3 may differ "
                 "among them; make it of values that are the same for the group, or promise that they are with uniform(x)", parse_ir(divergent));
    EXPECT_ERROR("kernel text line 1: expected `kernel`, found `garbage`", parse_ir("garbage"));
    std::string wrong = kernel("k", [](InOut<float> a) { a[0] = a[1] * a[2]; }).ir();
    wrong.replace(wrong.find("mul"), 3, "and");
    const std::string message = suite::message_of([&] { parse_ir(wrong); });
    EXPECT_EQ(message.substr(0, message.find(" in `")), "the kernel text breaks a rule of the IR: and does not take f32");
    EXPECT_ERROR("a kernel is made of no IR: the pointer is null", AnyKernel(std::shared_ptr<const ir::Kernel>()));
    std::string named = kernel("k", [](InOut<float> a) { a[0] = 1.0f; }).ir();
    named.replace(named.find("\"k\""), 3, "\"../k\"");
    EXPECT_ERROR("a kernel is named \"../k\": names are 1 to 100 letters, digits, _, - and . (not first)", parse_ir(named));
}

/// Each statement stands on one line: the line of the kernel, of the barrier, and of the condition.
#define EXPECT_DIVERGENT(why, ...) \
    EXPECT_MISUSE("kernel \"k\" (@) has a barrier at @ that some work-items of a group may not reach: " why \
                  "; make it of values that are the same for the group, or promise that they are with uniform(x)", __VA_ARGS__)

TEST(Recording, BarriersThatSomeItemsDoNotReach) {
    EXPECT_DIVERGENT("what decides it at @ may differ among them", [](Out<int> y) { $if (local_index() < 4) { synchronize(); } y[0] = 0; });
    EXPECT_DIVERGENT("what decides it at @ may differ among them", [](Out<int> y) { $for (i, range(local_index() / 2)) { synchronize(); y[0] = i; } });
    EXPECT_DIVERGENT("what decides it at @ may differ among them", [](InOut<int> y) { Var n = y[global_index()]; $while (n > 0) { n -= 1; synchronize(); } });
    EXPECT_DIVERGENT("others may have left before", [](Out<int> y) { $if (global_index() == 3) { $return; } synchronize(); y[0] = 0; });
    EXPECT_DIVERGENT("what decides it at @ may differ among them", [](InOut<int> y) { $for (i, range(8)) { synchronize(); $if (y[global_index()] == i) { $break; } } });
    EXPECT_DIVERGENT("what decides it at @ may differ among them", [](InOut<int> y) { auto waits = function("w", [](Val<int> x) { synchronize(); return x; }); $if (y[global_index()] > 0) { waits(y[0]); } });
    EXPECT_DIVERGENT("what decides it at @ may differ among them", whole_groups, [](InOut<int> y) { $if (in_range()) { synchronize(); } y[0] = 0; });
    // Conditions that are uniform in the group, or promised to be.
    kernel("k", [](InOut<int> y, Val<int> n) { $if (n > group_index()) { synchronize(); } y[0] = 0; }).ir();
    kernel("k", [](InOut<int> y) { $if (uniform(y[global_index() / 64]) > 0) { synchronize(); } }).ir();
}

TEST(Recording, ComponentsOutOfRange) {
    EXPECT_MISUSE("a float3 is asked for its component 3; they are 0 to 2", [](Out<float> y) { y[0] = Val<float3>(1.0f, 2.0f, 3.0f)[3]; });
    EXPECT_MISUSE("an int2 is asked for its component -1; they are 0 to 1", [](InOut<int2> y) { Var v = y[0]; v[-1] = 3; });
    EXPECT_ERROR("a random generator is split into -1 streams: the number is not negative", rng::Splittable(1).split(-1));
}

}  // namespace
