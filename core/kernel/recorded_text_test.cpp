// Recording: the IR text of small kernels, without source lines.
#include <gtest/gtest.h>

#include <regex>

#include "core/kernel/kernel.h"

namespace pumice {
namespace {

/// The body of the kernel that the lambda records, tidied, without source lines and indentation.
template <class F> std::string body_of(F f) {
    std::string all = kernel("k", std::move(f)).ir();
    all = all.substr(all.find("{\n") + 2);
    all = all.substr(0, all.rfind("  return"));
    return std::regex_replace(std::regex_replace(all, std::regex(" @[0-9:]+"), ""), std::regex("(^|\n) +"), "$1");
}
template <class F> std::string header_of(F f) {
    const std::string all = kernel("k", std::move(f)).ir();
    return std::regex_replace(all.substr(0, all.find(" files")), std::regex(" @[0-9:]+"), "");
}

TEST(Language, ParametersInOrder) {
    EXPECT_EQ(header_of([](In<float> x, Out<int, 2> y, InOut<double, 3> z, Val<bool> b, Val<uint8_t> u) {
                  (void)x, (void)y, (void)z, (void)b, (void)u;
                  global_index<3>();
              }),
              "kernel \"k\" math contract rank 3 (arg1: in f32[1], arg2: out i32[2], arg3: inout f64[3], arg4: bool, arg5: u8)");
    EXPECT_EQ(header_of([] {}), "kernel \"k\" math contract rank 0 ()");
}

TEST(Language, HostNumbersAdoptTheDeviceType) {
    // The element stands on a line of its own, because the compiler chooses which operand of a * is recorded first.
    EXPECT_EQ(body_of([](InOut<float> a) {
                  auto x = a[1];
                  a[0] = 0.5 * x;
              }),
              R"(%0 = constant 1 : i32
%1 = load arg1[%0] : f32
%2 = constant 0.5 : f32
%3 = mul %2, %1 : f32
%4 = constant 0 : i32
store arg1[%4], %3 : f32
)");
}

TEST(Language, HostCodeUnrollsAndSpecialises) {
    const bool negate = true;
    EXPECT_EQ(body_of([=](InOut<int> a) {
                  Var sum = 0;
                  for (int i = 0; i < 2; ++i) sum += a[i];
                  if (negate) sum = -sum;
                  a[0] = sum;
              }),
              R"(%0 = constant 0 : i32
%1 = load arg1[%0] : i32
%2 = constant 1 : i32
%3 = load arg1[%2] : i32
%4 = add %1, %3 : i32
%5 = neg %4 : i32
store arg1[%0], %5 : i32
)");
}

TEST(Language, ASubscriptLoadsAtItsPlaceInTheProgram) {
    EXPECT_EQ(body_of([](InOut<int> a) {
                  const Val<int> before = a[0];
                  a[0] = 5;
                  a[1] = before;
              }),
              R"(%0 = constant 0 : i32
%1 = load arg1[%0] : i32
%2 = constant 5 : i32
store arg1[%0], %2 : i32
%3 = constant 1 : i32
store arg1[%3], %1 : i32
)");
}

TEST(Language, ACopyOfAVarIsANewOne) {
    EXPECT_EQ(body_of([](InOut<int> a) {
                  Var x = a[0];
                  Var y = x;
                  y += 1;
                  a[0] = x;
                  a[1] = y;
              }),
              R"(%0 = constant 0 : i32
%1 = load arg1[%0] : i32
%2 = constant 1 : i32
%3 = add %1, %2 : i32
store arg1[%0], %1 : i32
store arg1[%2], %3 : i32
)");
}

TEST(Language, AnElifIsAnIfInTheElseArm) {
    EXPECT_EQ(body_of([](InOut<int> a) {
                  Var x = a[0];
                  $if(x > 1) { x = 3; }
                  $elif(x < 0) { x = 5; }
                  $else { x = 7; }
                  a[0] = x;
              }),
              R"(%0 = constant 0 : i32
%1 = load arg1[%0] : i32
%2 = constant 1 : i32
%3 = gt %1, %2 : bool
%4 = if %3 : i32 {
%5 = constant 3 : i32
yield %5
} else {
%6 = lt %1, %0 : bool
%7 = if %6 : i32 {
%8 = constant 5 : i32
yield %8
} else {
%9 = constant 7 : i32
yield %9
}
yield %7
}
store arg1[%0], %4 : i32
)");
}

TEST(Language, AnElseAfterANestedIfBelongsToTheOuterOne) {
    EXPECT_EQ(body_of([](InOut<int> a, Val<bool> b, Val<bool> c) {
                  $if(b) {
                      $if(c) { a[0] = 1; }
                  }
                  $else { a[0] = 2; }
              }),
              R"(%0 = argument arg2 : bool
%1 = argument arg3 : bool
if %0 {
if %1 {
%2 = constant 1 : i32
%3 = constant 0 : i32
store arg1[%3], %2 : i32
yield
} else {
yield
}
yield
} else {
%4 = constant 2 : i32
%5 = constant 0 : i32
store arg1[%5], %4 : i32
yield
}
)");
}

TEST(Language, MacrosAndFunctionsRecordTheSame) {
    const auto macros = body_of([](InOut<int> a) {
        $for(i, range(0, 8, 2)) {
            $if(a[i] > 2) { $continue; }
            $else { a[i] = 1; }
            Var n = a[i];
            $while(n > 0) {
                n -= 1;
                $if(n == 3) { $break; }
            }
            a[i] = n;
        }
        $if(a[0] == 0) { $return; }
        a[1] = 1;
    });
    const auto functions = body_of([](InOut<int> a) {
        for_(range(0, 8, 2), [&](Val<int> i) {
            if_(a[i] > 2, [&] { continue_(); }, [&] { a[i] = 1; });
            Var n = a[i];
            while_([&] { return n > 0; },
                   [&] {
                       n -= 1;
                       if_(n == 3, [&] { break_(); });
                   });
            a[i] = n;
        });
        if_(a[0] == 0, [&] { return_(); });
        a[1] = 1;
    });
    EXPECT_EQ(macros, functions);
    for (const char* word : {"for ", "while", "continue", "break", "return"})
        EXPECT_NE(macros.find(word), std::string::npos) << macros;
}

TEST(Language, CodeAfterAJumpIsDropped) {
    EXPECT_EQ(body_of([](InOut<int> a) {
                  a[0] = 1;
                  $return;
                  a[1] = 2;
                  $if(a[0] > 1) { a[2] = 3; }
                  $else { a[2] = 4; }
              }),
              R"(%0 = constant 1 : i32
%1 = constant 0 : i32
store arg1[%1], %0 : i32
)");
}

TEST(Language, AHostContinueEndsTheBody) {
    EXPECT_EQ(body_of([](InOut<int> a, Val<bool> b) {
                  $if(b) {
                      a[0] = 1;
                      if (true) continue;
                      a[1] = 2;
                  }
              }),
              R"(%0 = argument arg2 : bool
if %0 {
%1 = constant 1 : i32
%2 = constant 0 : i32
store arg1[%2], %1 : i32
yield
} else {
yield
}
)");
}

TEST(Language, WideAndNarrowSubscripts) {
    EXPECT_EQ(body_of([](InOut<int> a, Val<int64_t> n, Val<uint8_t> u) {
                  a[n] = 1;
                  a[u] = 1;
                  a[int64_t(5'000'000'000)] = 1;
                  a[uint64_t(7)] = 1;
              }),
              R"(%0 = argument arg2 : i64
%1 = argument arg3 : u8
%2 = constant 1 : i32
store arg1[%0], %2 : i32
%3 = cast %1 : i32
store arg1[%3], %2 : i32
%4 = constant 5000000000 : i64
store arg1[%4], %2 : i32
%5 = constant 7 : i32
store arg1[%5], %2 : i32
)");
}

TEST(Language, SourceLinesAreThoseOfTheOperations) {
    const int line = __LINE__ + 1;
    const auto k = kernel("k", [](InOut<int> a) {
        a[0] = a[1] * 3;
        synchronize();
    });
    const std::string ir = k.ir();
    EXPECT_NE(ir.find("files [\"recorded_text_test.cpp\"]"), std::string::npos) << ir;
    EXPECT_NE(ir.find("barrier @" + std::to_string(line + 2)), std::string::npos) << ir;
    EXPECT_TRUE(std::regex_search(ir, std::regex(" = mul %[0-9]+, %[0-9]+ : i32 @" + std::to_string(line + 1) + "\n"))) << ir;
}

TEST(Language, RecordingTwiceGivesTheSameText) {
    const auto k = kernel("k", whole_groups, Math::strict, [](InOut<float> a, Val<float> s) {
        Local<float> tile(group_size() * 2);
        Private<float, 2, 3> mine;
        auto i = global_index();
        mine(1, 2) = a[i] * s;
        tile[local_index()] = mine(1, 2);
        synchronize();
        $if(in_range()) { atomic_add(a[i], tile[0]); }
    });
    EXPECT_EQ(parse_ir(k.ir()).ir(), k.ir());
    EXPECT_NE(k.ir().find("math strict whole_groups rank 1"), std::string::npos) << k.ir();
}

}  // namespace
}  // namespace pumice
