#include <gtest/gtest.h>

#include <random>

#include "core/ir/builder.h"
#include "core/ir/ir.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

/// One of everything.
const char* const everything =
    R"(kernel "every\"thing" math strict whole_groups rank 2 group [4, 16] range [100, 64] (arg1: inout f32[1], arg2: in {position.x: f32 @0, m[1]: u8 @4}:8[2] @7, arg3: f16, arg4: out i32[1]) @1:10 files ["a.cpp", "dir/b.cpp"] {
  local local1: f32[4, 8] @1:11
  local local2: i32[size %3]
  private private1: {"odd path": f64 @0}:8[3]
  %0 = global_index 1 : i32 @11
  %1 = constant 2 : i32
  %2 = group_size 0 : i32
  %3 = mul %2, %1 : i32
  %4 = argument arg3 : f16
  %5 = cast %4 : f32
  %6 = bitcast %5 : u32
  %7 = constant -1.5 : f16
  %8 = constant nan(0x7fc00001) : f32
  %9 = constant inf : f64
  %10 = constant -inf : f32
  %11 = constant 0.1 : f64
  %12 = constant -128 : i8
  %13 = constant 18446744073709551615 : u64
  %14 = constant true : bool
  %15 = constant 1e-45 : f32
  %16 = in_range : bool
  %17 = extent arg2, 1 : i32
  %18 = load arg2[%0, %17].position.x : f32 @1:20
  %19 = load arg2[%0].m[1] : u8
  store private1[%1]."odd path", %9 : f64
  %20 = var %5 : f32
  set %20, %18 : f32
  %21 = get %20 : f32
  %22 = atomic add local2[%1], %0 : i32
  %23 = compare_exchange arg4[%1], %0, %1 : i32
  barrier
  print "at {} \"{:.3f}\"", %0, %5 @1:29
  require "all is well", %14
  %24, %25 = if %14 : (f32, i32) @30 {
    yield %5, %1
  } else {
    return
  }
  %26 = for %27 = %1 to %0 step %1 carry (%28 = %24) : f32 {
    if %14 {
      break %28
    } else {
      continue %5
    }
    yield %28
  }
  for %29 = %1 to %0 step %1 rolled {
    yield
  }
  %30 = while (%31 = %26) : f32 {
    %32 = lt %31, %5 : bool
    test %32, %31
  } do {
    %33 = select %32, %31, %5 : f32
    yield %33
  }
  %34 = subgroup_lane : i32
  %35 = subgroup exclusive_add %5 : f32 @40
  %36 = subgroup shuffle_xor %35, %34 : f32
  %37 = subgroup ballot 2 %14 : u32
  %38 = subgroup elect : bool
  return
}
)";

TEST(print, reads_back_to_the_same_text) {
    const Kernel k = parse(everything);
    EXPECT_EQ(print(k), everything);
    EXPECT_EQ(verify(k), "");
}

TEST(print, functions_read_back_to_the_same_text) {
    const char* const functions = R"(kernel "k" math contract rank 1 (arg1: inout f32[1]) files ["k.cpp"] {
  local local1: f32[4]
  function "f" (%0: f32) : f32 reverse "f.reverse" @3 {
    %1 = constant 0 : i32
    store local1[%1], %0 : f32
    barrier
    %2 = load local1[%1] : f32
    yield %2
  }
  function "pair" (%3: f32, %4: i32) : (i32, f32) inactive @4 {
    %5 = call "f" %3 : f32
    yield %4, %5
  }
  function "nothing" () {
    yield
  }
  function "f.reverse" (%6: f32, %7: f32, %8: f32) : f32 forward "late" {
    yield %8
  }
  function "late" (%9: f32, %10: f32, %11: f32, %12: f32, %13: f32, %14: f32) : f32 {
    yield %14
  }
  %15 = global_index 0 : i32
  %16 = load arg1[%15] : f32
  %17, %18 = call "pair" %16, %15 : (i32, f32) @9
  call "nothing"
  store arg1[%17], %18 : f32
  return
}
)";
    const Kernel k = parse(functions);
    EXPECT_EQ(print(k), functions);
    EXPECT_EQ(verify(k), "");
    EXPECT_EQ(k.functions[0].reverse, 3u);
    EXPECT_TRUE(k.functions[1].has_rule() && k.functions[1].inactive);
}

/// Parameters with names, numbers and paths of the user's parameters, shadows, and what belongs to no parameter.
const char* const identities =
    R"(kernel "k" math contract rank 1 (arg1 "particles" of 1.position: inout f32[1] @7, arg2 "particles" of 1.mesh.weight[1]: in {x: f32 @0}:4[1], arg3 "particles" of 1."odd path": f32, arg4 "d_particles" shadow of arg2: inout {x: f32 @0}:4[1], a "a" of 2: in f32[1], arg6 "d_a_0" shadow of a direction 0: in f32[1], arg7 shadow of a direction 1: in f32[1], arg8 "d_d_a_0" shadow of arg6 order 2: in f32[1], arg9 of 4: f64, arg10 "d_b" shadow of arg9: inout f64[1], arg11 "tape_f32" extra: inout f32[1], arg12: i32 = range_extent 0) files [] {
  return
}
)";

TEST(print, identities_of_parameters_read_back_to_the_same_text) {
    const Kernel k = parse(identities);
    EXPECT_EQ(print(k), identities);
    EXPECT_EQ(verify(k), "");
    const std::vector<int> numbers{1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 0, 0};
    const std::vector<std::string> labels{"argument 1 (\"particles.position\")",
                                          "argument 1 (\"particles.mesh.weight[1]\")",
                                          "argument 1 (\"particles.odd path\")",
                                          "the shadow of argument 1 (\"particles.mesh.weight[1]\")",
                                          "argument 2 (\"a\")",
                                          "the shadow 1 of argument 2 (\"a\")",
                                          "the shadow 2 of argument 2 (\"a\")",
                                          "the shadow of the shadow 1 of argument 2 (\"a\")",
                                          "argument 4",
                                          "the adjoint of argument 4",
                                          "argument 11 (\"tape_f32\")",
                                          "argument 12"};
    for (size_t p = 0; p < numbers.size(); ++p) {
        EXPECT_EQ(k.number_of(p), numbers[p]) << p;
        EXPECT_EQ(k.label(p), labels[p]);
    }
    EXPECT_EQ(k.path_of(3), "mesh.weight[1]");
    // A number that is the position is left out, as it stands for itself.
    const char* const plain =
        "kernel \"k\" math contract rank 1 (arg1 of 1: f32, arg2 \"x\" of 2: f32) files [] {\n  return\n}\n";
    EXPECT_EQ(print(parse(plain)), "kernel \"k\" math contract rank 1 (arg1: f32, arg2 \"x\": f32) files [] {\n  return\n}\n");
    const Kernel bare = without_identities(k);
    EXPECT_EQ(print(bare).find('"', 12), std::string::npos) << print(bare);
    EXPECT_EQ(print(bare).find(" of "), std::string::npos) << print(bare);
}

TEST(print, calls_of_missing_functions) {
    const auto read = [](const std::string& body) {
        try {
            parse("kernel \"k\" math contract rank 1 () files [] {\n" + body + "\n}\n");
        } catch (const Error& e) { return std::string(e.what()); }
        return std::string("(no error)");
    };
    EXPECT_EQ(read("call \"f\" return"), "kernel text line 2: function \"f\" is not defined above");
    EXPECT_EQ(read("function \"f\" () reverse \"g\" { yield } return"), "kernel text line 2: there is no function \"g\"");
    EXPECT_EQ(read("function \"f\" () { yield } function \"f\" () { yield } return"),
              "kernel text line 2: function \"f\" is defined twice");
}

TEST(print, numbers_values_in_the_order_of_the_text) {
    const Kernel k = parse(R"(kernel "k" math contract rank 0 () files [] {
        %x = constant 1 : i32  # a comment
        for %index = %x to %x step %x carry () { yield }
        %99 = add %x, %x : i32 return })");
    EXPECT_EQ(print(k),
              "kernel \"k\" math contract rank 0 () files [] {\n"
              "  %0 = constant 1 : i32\n"
              "  for %1 = %0 to %0 step %0 {\n    yield\n  }\n"
              "  %2 = add %0, %0 : i32\n"
              "  return\n}\n");
}

TEST(print, constants_of_every_type_read_back_exactly) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 2000; ++round) {
        for (int t = 0; t < scalar_count; ++t) {
            const Scalar type = Scalar(t);
            Kernel k;
            Builder b(k);
            b.enter(b.new_block());
            const Value v = b.constant(type, random() >> (random() % 64));
            b.terminate(Op::return_);
            uint64_t want = 0, got = 0;
            ASSERT_TRUE(k.constant(v, want));
            const Kernel back = parse(print(k));
            ASSERT_TRUE(back.constant(Value{0}, got));
            ASSERT_EQ(got, want) << print(k);
        }
    }
}

TEST(print, one_instruction_is_its_line_of_the_text) {
    const Kernel k = parse(everything);
    for (const Inst& i : k.insts) {
        const std::string line = print(k, i);
        EXPECT_NE(std::string(everything).find(line), std::string::npos) << line;
    }
}

std::string parse_error(const std::string& text) {
    try {
        parse(text);
    } catch (const Error& e) { return e.what(); }
    return "no error";
}

TEST(parse, says_the_line_and_what_was_expected) {
    const std::string head = "kernel \"k\" math contract rank 1 (arg1: in f32[1], arg2: i32) files [] {\n";
    EXPECT_EQ(parse_error(""), "kernel text line 1: expected `kernel`, found the end of the text");
    EXPECT_EQ(parse_error("kernel \"k\" math loose"), "kernel text line 1: expected `contract`, found `loose`");
    EXPECT_EQ(parse_error(head + "  frobnicate\n}"), "kernel text line 2: `frobnicate` is not the name of an instruction");
    EXPECT_EQ(parse_error(head + "\n  %0 = add %1, %2 : f32\n}"), "kernel text line 3: %1 is not defined above");
    EXPECT_EQ(parse_error(head + "  %0 = load arg1[%x] : f32\n}"), "kernel text line 2: %x is not defined above");
    EXPECT_EQ(parse_error(head + "  %0 = load arg3[] : f32\n}"),
              "kernel text line 2: `arg3` is not an array or memory of the kernel");
    EXPECT_EQ(parse_error(head + "  %0 = load arg1[].x : f32\n}"), "kernel text line 2: `arg1` has no member `x`");
    EXPECT_EQ(parse_error(head + "  %0 = argument arg1 : f32\n}"), "kernel text line 2: `arg1` is not a scalar parameter");
    EXPECT_EQ(parse_error(head + "  %0 = constant 300 : i8\n}"), "kernel text line 2: `300` is not a constant of its type");
    EXPECT_EQ(parse_error(head + "  %0 = constant 3 : int\n}"), "kernel text line 2: expected a scalar type, found `int`");
    EXPECT_EQ(parse_error(head + "  %0 = constant 3 : i32\n  %0 = constant 4 : i32\n}"),
              "kernel text line 3: %0 is defined twice");
    EXPECT_EQ(parse_error(head + "  %0, %1 = constant 3 : i32\n}"),
              "kernel text line 2: the instruction names 2 results but gives 1 result types");
    EXPECT_EQ(parse_error(head + "  return\n"), "kernel text line 3: expected an instruction or `}`, found the end of the text");
    EXPECT_EQ(parse_error(head + "  local a: f32[size %9]\n  return\n}"),
              "kernel text line 2: the size %9 is not defined in the kernel");
    const std::string named = "kernel \"k\" math contract rank 1 (arg1: in f32[1], arg2 ";
    EXPECT_EQ(parse_error(named + "shadow of arg3: f32"), "kernel text line 1: `arg3` is no parameter before this one");
    EXPECT_EQ(parse_error(named + "shadow arg1: f32"), "kernel text line 1: expected `of`, found `arg1`");
    EXPECT_EQ(parse_error(named + "of x: f32"), "kernel text line 1: expected a parameter's number, found `x`");
    EXPECT_EQ(parse_error(named + "of 2.: f32"), "kernel text line 1: expected a member path, found `:`");
    EXPECT_EQ(parse_error(named + "x: f32"), "kernel text line 1: expected `:`, found `x`");
    EXPECT_EQ(parse_error("kernel \"k\n"), "kernel text line 1: a string has no closing quote on its line");
}

TEST(parse, refuses_blocks_too_deep_to_read) {
    std::string text = "kernel \"k\" math contract rank 1 () files [] {\n%c = constant true : bool\n";
    for (int i = 0; i < 100'000; ++i) text += "if %c {\n";
    EXPECT_EQ(parse_error(text), "kernel text line 258: blocks lie more than 256 deep");
}

/// Whatever the text, it is parsed or refused with an Error; what is parsed can be printed, read again and verified.
TEST(parse, survives_mutated_text) {
    std::mt19937 random(7);
    int parsed = 0;
    for (int round = 0; round < 20'000; ++round) {
        const std::string original = round % 4 ? everything : identities;
        std::string text = original;
        for (int edits = 1 + int(random() % 3); edits > 0; --edits) {
            const size_t at = random() % text.size(), length = random() % 12;
            switch (random() % 4) {
                case 0: text.erase(at, length); break;
                case 1: text.insert(at, original.substr(random() % original.size(), length)); break;
                case 2: text[at] = char(random() % 256); break;
                default: text.resize(at + 1);
            }
            if (text.empty()) text = "k";
        }
        try {
            const Kernel k = parse(text);
            const std::string printed = print(k);
            ASSERT_EQ(print(parse(printed)), printed) << text;
            verify(k);
            ++parsed;
        } catch (const Error& e) { ASSERT_TRUE(std::string(e.what()).starts_with("kernel text line ")) << e.what(); }
    }
    EXPECT_GT(parsed, 100);
}

TEST(printer, images_keep_their_words) {
    const std::string text =
        R"(kernel "k" math contract rank 2 (arg1: out {x: f32 @0, y: f32 @4}:8[2] storage 2, arg2: in f32[4] texture 2 layered @3, arg3: in f32[4] texture 2 cube format r8_unorm levels 3 native filter linear mip nearest wrap border [1, 2, 3, 4] sampling fast, arg4: in u32[3] storage 3 format r8_uint levels 1) files [] {
  %0 = constant 0.5 : f32
  %1 = constant 1 : i32
  %2 = sample arg2[%0, %1, %0, %0] : f32
  %3 = load arg3[%1, %1, %1, %1] : f32
  store arg1[%1, %1].y, %2 : f32
  return
}
)";
    const Kernel k = parse(text);
    EXPECT_EQ(print(k), text);
    EXPECT_EQ(verify(k), "");
    EXPECT_EQ(k.memories[2].image.border[3], 4u);
    EXPECT_TRUE(k.memories[2].image.native);
}

}  // namespace
}  // namespace pumice::ir
