#include <gtest/gtest.h>

#include "core/ir/builder.h"
#include "core/ir/ir.h"

namespace pumice::ir {
namespace {

/// The message of verify for a body; arg1 inout f32[2], arg2 in {x: f32, n: i32}[1], arg3: i32, arg4 inout bool[1].
std::string problem(const std::string& body, const std::string& head = "rank 2", const std::string& memories = "") {
    return verify(parse(
        "kernel \"k\" math contract " + head +
        " (arg1: inout f32[2], arg2: in {x: f32 @0, n: i32 @4}:8[1], arg3: i32, arg4: inout bool[1]) files [] {\n" + memories +
        "%i = global_index 0 : i32\n%n = argument arg3 : i32\n%x = constant 1.0 : f32\n%c = constant true : bool\n" + body +
        "\n}\n"));
}

TEST(verify, accepts_valid_kernels) {
    EXPECT_EQ(problem("store arg1[%i, %n], %x : f32 store arg1[%i], %x : f32 return"), "");
    EXPECT_EQ(problem("return", "rank 2", "local local1: f32[size %n2]\n%g = group_size 0 : i32 %n2 = mul %g, %g : i32\n"), "");
}

TEST(verify, identities_of_parameters) {
    const auto of = [](const std::string& parameters) {
        return verify(parse("kernel \"k\" math contract rank 1 (" + parameters + ") files [] {\nreturn\n}\n"));
    };
    EXPECT_EQ(of("arg1 \"x\": f32, arg2 \"d_x\" shadow of arg1: inout f32[1], arg3 \"y\" of 2: f32"), "");
    EXPECT_EQ(of("arg1 \"x y\": f32"), "parameter 1 is named \"x y\"; its name must be an identifier");
    EXPECT_EQ(of("arg1 \"x\": f32, arg2 \"x\": f32"), "two parameters are named \"x\"");
    EXPECT_EQ(of("arg1 \"x\": f32, arg2 \"x\" shadow of arg1: f32"), "two parameters are named \"x\"");
    EXPECT_EQ(of("arg1 \"x\": f32, arg2 \"x\" extra: f32"), "two parameters are named \"x\"");
    EXPECT_EQ(of("arg1 of 2: f32, arg2 of 1: f32"), "parameter 2 belongs to parameter 1 of the user, and the one before it to 2");
    EXPECT_EQ(of("arg1 of 2: f32, arg2: f32"), "parameter 2 is a second one for argument 2");
    EXPECT_EQ(of("arg1 of 1.x: f32, arg2 of 1.x: f32"), "parameter 2 is a second one for argument 1 (x)");
    EXPECT_EQ(of("arg1 \"v\" of 1.x: f32, arg2 \"w\" of 1.y: f32"),
              "parameter 2 is named \"w\", and another member of its struct \"v\"");
    EXPECT_EQ(of("arg1: f32, arg2 shadow of arg1: f32, arg3 shadow of arg1: f32"),
              "parameter 3 is a second shadow of parameter 1, of one direction and order");
    const std::string unfit = "parameter 2 is no shadow of parameter 1: type, origin or order are wrong";
    EXPECT_EQ(of("arg1: f32, arg2 shadow of arg1: f64"), unfit);
    EXPECT_EQ(of("arg1: in f32[1], arg2 shadow of arg1: f32"), unfit);
    EXPECT_EQ(of("arg1: f32, arg2 shadow of arg1 order 0: f32"), unfit);
    EXPECT_EQ(of("arg1: f32, arg2 shadow of arg1 extra: f32"), unfit);
    EXPECT_EQ(of("arg1: i32 = range_extent 0, arg2 shadow of arg1: i32"), unfit);
    EXPECT_EQ(of("arg1 of 3 extra: f32"), "parameter 1 has a number or path of its own, and is none of the user's");
    EXPECT_EQ(of("arg1 of 3: i32 = range_extent 0"), "parameter 1 has a number or path of its own, and is none of the user's");
    Kernel k = parse("kernel \"k\" math contract rank 1 (arg1: f32, arg2 shadow of arg1: f32) files [] {\nreturn\n}\n");
    EXPECT_EQ(verify(k), "");
    k.params[1].identity.number = 1;
    EXPECT_EQ(verify(k), "parameter 2 has a number or path of its own, and is a shadow");
    k.params[1].identity = {"", 0, "", 1};
    EXPECT_EQ(verify(k), "parameter 2 is the shadow of parameter 2 after it");
    k.params[1].identity = {"", 0, "", -1, 1};
    EXPECT_EQ(verify(k), "parameter 2 has a direction or an order, and is no shadow");
}

TEST(verify, types_of_scalar_ops) {
    EXPECT_EQ(problem("%a = add %x, %n : f32 return"), "operand 2 is i32; expected f32 in `%4 = add %2, %1 : f32`");
    EXPECT_EQ(problem("%a = add %x : f32 return"), "add has 1 operands; expected 2 in `%4 = add %2 : f32`");
    EXPECT_EQ(problem("%a = lt %x, %x : f32 return"), "the result is (f32); expected (bool) in `%4 = lt %2, %2 : f32`");
    EXPECT_EQ(problem("%a = sqrt %n : i32 return"), "sqrt does not take i32 in `%4 = sqrt %1 : i32`");
    EXPECT_EQ(problem("%a = ldexp %x, %x : f32 return"), "operand 2 is f32; expected i32 in `%4 = ldexp %2, %2 : f32`");
}

TEST(verify, types_of_structural_ops) {
    EXPECT_EQ(problem("%a = select %n, %x, %x : f32 return"),
              "the operands are (i32, f32, f32); expected (bool, f32, f32) in `%4 = select %1, %2, %2 : f32`");
    EXPECT_EQ(problem("%a = cast %x, %x : i32 return"), "cast has 2 operands; expected 1 in `%4 = cast %2, %2 : i32`");
    EXPECT_EQ(problem("%a = bitcast %x : f64 return"), "bitcast from f32 to f64 changes the size in `%4 = bitcast %2 : f64`");
    EXPECT_EQ(problem("%a = argument arg3 : f32 return"),
              "the parameter is read as (f32); expected (i32) in `%4 = argument arg3 : f32`");
    EXPECT_EQ(problem("%a = local_index 0 : f32 return"), "the result is (f32); expected (i32) in `%4 = local_index 0 : f32`");
    EXPECT_EQ(problem("%a = in_range : i32 return"), "the result is (i32); expected (bool) in `%4 = in_range : i32`");
    EXPECT_EQ(problem("barrier %x return"), "barrier has 1 operands; expected 0 in `barrier %2`");
    EXPECT_EQ(problem("%a = barrier : f32 return"), "the instruction has 1 results; expected 0 in `%4 = barrier : f32`");
}

TEST(verify, subgroup_operations) {
    EXPECT_EQ(problem("%a = subgroup shuffle %x, %i : f32 %b = subgroup ballot 3 %c : u32 %d = subgroup elect : bool return"),
              "");
    EXPECT_EQ(problem("%a = subgroup shuffle %x : f32 return"),
              "the operands are (f32); expected (f32, i32) in `%4 = subgroup shuffle %2 : f32`");
    EXPECT_EQ(problem("%a = subgroup reduce_add %x : i32 return"),
              "the operands are (f32); expected (i32) in `%4 = subgroup reduce_add %2 : i32`");
    EXPECT_EQ(problem("%a = subgroup any %x : bool return"),
              "the operands are (f32); expected (bool) in `%4 = subgroup any %2 : bool`");
    EXPECT_EQ(problem("%a = subgroup ballot 0 %c : bool return"),
              "the result is (bool); expected (u32) in `%4 = subgroup ballot 0 %3 : bool`");
    EXPECT_EQ(problem("%a = subgroup reduce_xor %x : f32 return"),
              "reduce_xor does not take f32 in `%4 = subgroup reduce_xor %2 : f32`");
    EXPECT_EQ(problem("%a = subgroup inclusive_add %c : bool return"),
              "inclusive_add does not take bool in `%4 = subgroup inclusive_add %3 : bool`");
    EXPECT_EQ(problem("%a = subgroup_lane : u32 return"), "the result is (u32); expected (i32) in `%4 = subgroup_lane : u32`");
}

TEST(verify, reports) {
    EXPECT_EQ(problem("print \"{} {}\", %x, %i require \"{}\", %c, %x return"), "");
    EXPECT_EQ(problem("print \"{} {}\", %x return"), "the format \"{} {}\" has 2 places for 1 value in `print \"{} {}\", %2`");
    EXPECT_EQ(problem("require \"\", %x return"), "the condition must be bool in `require \"\", %2`");
    EXPECT_EQ(problem("%a = print \"\" : f32 return"), "the instruction has 1 results; expected 0 in `%4 = print \"\" : f32`");
    Kernel k = parse(
        "kernel \"k\" math contract rank 1 () files [] {\n%a = constant 1 : i32 %b = constant 1.0 : f32 "
        "print \"{}\", %a print \"{}\", %b return\n}\n");
    EXPECT_EQ(verify(k), "");
    k.insts[3].immediate = 0;
    EXPECT_EQ(verify(k), "another instruction gives its format other values in `print \"{}\", %1`");
    k.insts[3].immediate = 2;
    EXPECT_EQ(verify(k), "the format is 2 of 2 in `print ?, %1`");
}

TEST(verify, axes_and_ranks) {
    EXPECT_EQ(problem("%a = local_index 3 : i32 return"), "the axis is 3; ranges have at most 3 in `%4 = local_index 3 : i32`");
    EXPECT_EQ(problem("%a = local_index 2 : i32 return", "rank 0"), "");
    EXPECT_EQ(problem("%a = extent arg1, 2 : i32 return"), "the axis is 2; the array has rank 2 in `%4 = extent arg1, 2 : i32`");
    EXPECT_EQ(problem("%a = extent p, 0 : i32 return", "rank 1", "private p: f32[4]\n"),
              "extent must name an array parameter in `%4 = extent p, 0 : i32`");
}

TEST(verify, values_are_used_where_they_are_visible) {
    EXPECT_EQ(problem("if %c { %a = mul %i, %i : i32 yield } else { yield } %b = add %a, %a : i32 return"),
              "operand 1 is not visible here in `%5 = add %4, %4 : i32`");
    EXPECT_EQ(problem("for %k = %i to %n step %n { yield } store arg1[%k], %x : f32 return"),
              "operand 1 is not visible here in `store arg1[%4], %2 : f32`");
    EXPECT_EQ(problem("%r = for %k = %i to %n step %n carry (%s = %i) : i32 { yield %r } return"),
              "operand 1 is not visible here in `yield %4`");
}

TEST(verify, the_body_of_a_while_sees_its_test_and_nothing_after_it_does) {
    EXPECT_EQ(
        problem("%r = while (%s = %i) : i32 { %d = lt %s, %n : bool test %d, %s } do { %t = add %s, %n : i32 yield %t } return"),
        "");
    EXPECT_EQ(
        problem("%r = while (%s = %i) : i32 { %d = lt %s, %n : bool test %d, %s } do { yield %s } %e = not %d : bool return"),
        "operand 1 is not visible here in `%7 = not %6 : bool`");
}

TEST(verify, terminators) {
    EXPECT_EQ(problem("%a = add %i, %i : i32"), "a block must end in a terminator in `%4 = add %0, %0 : i32`");
    EXPECT_EQ(problem("return return"), "a terminator must be the last instruction of its block in `return`");
    EXPECT_EQ(problem("if %c { } else { yield } return"), "a block is empty; it must end in a terminator");
    EXPECT_EQ(problem("yield"), "a yield must end an if's arm, a loop's body or a function in `yield`");
    EXPECT_EQ(problem("test %c"), "a test must end the first block of a while in `test %3`");
    EXPECT_EQ(problem("if %c { test %c } else { yield } return"), "a test must end the first block of a while in `test %3`");
    EXPECT_EQ(problem("break"), "break must stand in the body of a loop in `break`");
    EXPECT_EQ(problem("if %c { continue } else { yield } return"), "continue must stand in the body of a loop in `continue`");
    EXPECT_EQ(problem("while () { return } do { yield } return"), "the first block of a while must end in a test in `return`");
    EXPECT_EQ(problem("while () { if %c { break } else { yield } test %c } do { yield } return"),
              "break must stand in the body of a loop in `break`");
    EXPECT_EQ(problem("return %x"), "return has operands (f32); expected () in `return %2`");
}

TEST(verify, values_passed_between_blocks_have_the_right_types) {
    EXPECT_EQ(problem("%a = if %c : f32 { yield %x } else { yield %i } return"),
              "an arm yields (i32); expected (f32) in `%4 = if %3 : f32`");
    EXPECT_EQ(problem("%a = if %c : f32 { return } else { return } return"),
              "both arms leave, yet the if has results in `%4 = if %3 : f32`");
    EXPECT_EQ(problem("if %i { yield } else { yield } return"), "the operands are (i32); expected (bool) in `if %0`");
    EXPECT_EQ(problem("for %k = %x to %x step %x { yield } return"),
              "from, to and step must be of one integer type in `for %4 = %2 to %2 step %2`");
    const std::string loop = "%r = for %k = %i to %n step %n carry (%s = %x) : f32 { ";
    EXPECT_EQ(problem(loop + "yield } return"), "the iteration ends with (); expected (f32) in `yield`");
    EXPECT_EQ(problem(loop + "break %k } return"), "the loop is left with (i32); expected (f32) in `break %5`");
    EXPECT_EQ(problem(loop + "continue } return"), "the iteration ends with (); expected (f32) in `continue`");
    EXPECT_EQ(problem("%r = for %k = %i to %n step %n carry (%s = %x) : i32 { yield %s } return"),
              "the results are (i32); expected (f32) in `%4 = for %5 = %0 to %1 step %1 carry (%6 = %2) : i32`");
    EXPECT_EQ(problem("%r = while (%s = %x) : f32 { test %i, %s } do { yield %s } return"),
              "the condition must be bool in `test %0, %5`");
    EXPECT_EQ(problem("%r = while (%s = %x) : f32 { test %c, %i } do { yield %s } return"),
              "the test gives (i32); expected (f32) in `test %3, %0`");
}

TEST(verify, variables) {
    const std::string var = "%v = var %x : f32 ";
    EXPECT_EQ(problem(var + "%a = get %v : f32 set %v, %a : f32 return"), "");
    EXPECT_EQ(problem(var + "%a = neg %v : f32 return"),
              "operand 1 is a variable; only get and set may use one in `%5 = neg %4 : f32`");
    EXPECT_EQ(problem(var + "set %v, %v : f32 return"),
              "operand 2 is a variable; only get and set may use one in `set %4, %4 : f32`");
    EXPECT_EQ(problem("set %x, %x : f32 return"), "the first operand must be a variable in `set %2, %2 : f32`");
    EXPECT_EQ(problem(var + "set %v, %n : f32 return"), "the operands are (f32, i32); expected (f32, f32) in `set %4, %1 : f32`");
}

TEST(verify, accesses) {
    EXPECT_EQ(problem("%a = load arg1[%i, %i, %i] : f32 return"),
              "\"arg1\" has 3 indices; expected 2 or 1 in `%4 = load arg1[%0, %0, %0] : f32`");
    EXPECT_EQ(problem("%a = load arg1[%x] : f32 return"), "index 1 is f32; expected an integer in `%4 = load arg1[%2] : f32`");
    EXPECT_EQ(problem("%a = load arg2[%i].n : f32 return"),
              "the member is read or written as (f32); expected (i32) in `%4 = load arg2[%0].n : f32`");
    EXPECT_EQ(problem("store arg1[%i], %i : f32 return"), "the value is i32; expected f32 in `store arg1[%0], %0 : f32`");
    EXPECT_EQ(problem("store arg2[%i].x, %x : f32 return"), "\"arg2\" is read-only in `store arg2[%0].x, %2 : f32`");
    EXPECT_EQ(problem("%a = atomic add arg2[%i].n, %n : i32 return"),
              "\"arg2\" is read-only in `%4 = atomic add arg2[%0].n, %1 : i32`");
    EXPECT_EQ(problem("%a = atomic and arg1[%i], %x : f32 return"),
              "atomic and does not take f32 in `%4 = atomic and arg1[%0], %2 : f32`");
    EXPECT_EQ(problem("%a = atomic add arg4[%i], %c : bool return"),
              "atomic add does not take bool in `%4 = atomic add arg4[%0], %3 : bool`");
    EXPECT_EQ(problem("%a = atomic add p[%i], %x : f32 return", "rank 1", "private p: f32[4]\n"),
              "\"p\" is private; atomics need an array or local memory in `%4 = atomic add p[%0], %2 : f32`");
    EXPECT_EQ(problem("%a = compare_exchange arg1[%i], %x, %n : f32 return"),
              "the value is i32; expected f32 in `%4 = compare_exchange arg1[%0], %2, %1 : f32`");
}

TEST(verify, memories) {
    EXPECT_EQ(problem("return", "rank 1", "local a: f32[0]\n"), "\"a\" has extent 0; it must be at least 1");
    EXPECT_EQ(problem("return", "rank 1", "local a: {x: f32 @0, x: f32 @4}:8[1]\n"),
              "the element of \"a\" has two members \"x\"");
    EXPECT_EQ(problem("return", "rank 1", "local a: {x: f32 @0, y: f64 @4}:8[1]\n"),
              "the member \"y\" of \"a\" ends past the element's 8 bytes");
    EXPECT_EQ(problem("return", "rank 1", "private a: f32[size %n]\n"),
              "\"a\" has a size known at launch; only local memory may");
    EXPECT_EQ(problem("return", "rank 1", "local a: f32[size %x]\n"), "the size of \"a\" is f32; it must be i32");
    EXPECT_EQ(problem("return", "rank 1", "local a: f32[size %n]\n"),
              "the size of \"a\" must be made of group_size and constants only in `%1 = argument arg3 : i32`");
    EXPECT_EQ(problem("for %k = %n to %n step %n { yield } return", "rank 1", "local a: f32[size %k]\n"),
              "the size of \"a\" depends on a value that no instruction yields");
}

TEST(verify, folded_ranges) {
    EXPECT_EQ(problem("return", "rank 3 folded 4"), "");
    EXPECT_EQ(problem("return", "rank 2 folded 2"),
              "axis 2 stands for 2 dimensions in a kernel of rank 2; 4 in rank 3 is the limit");
    EXPECT_EQ(problem("return", "rank 3 folded 5"),
              "axis 2 stands for 5 dimensions in a kernel of rank 3; 4 in rank 3 is the limit");
    const auto given = [](const std::string& rank, const std::string& p) {
        return verify(parse("kernel \"k\" math contract " + rank + " (arg1: " + p + ") files [] {\nreturn\n}\n"));
    };
    EXPECT_EQ(given("rank 3 folded 2", "i32 = range_extent 3"), "");
    EXPECT_EQ(given("rank 3 folded 2", "i32 = range_start 4"),
              "parameter 1 is given range_start 4, and is not an i32, or the range has no such dimension");
    EXPECT_EQ(given("rank 3", "f32 = range_extent 0"),
              "parameter 1 is given range_extent 0, and is not an i32, or the range has no such dimension");
}

TEST(verify, fixed_extents) {
    EXPECT_EQ(problem("return", "rank 1 group [8] range [100]"), "");
    EXPECT_EQ(problem("return", "rank 2 group [8, 0]"),
              "the kernel's group has extent 0 along axis 0; it must be 1 to 2147483647");
    Kernel k = parse("kernel \"k\" math contract rank 1 range [8] () files [] {\nreturn\n}\n");
    k.range[1] = 2;
    EXPECT_EQ(verify(k), "the kernel's range has extent 2 past its rank");
    k.rank = 0;
    EXPECT_EQ(verify(k), "the kernel fixes its range, yet takes ranges of any rank");
}

TEST(verify, functions) {
    const std::string f = "function \"f\" (%a: f32, %b: i32) : f32 { %d = neg %a : f32 yield %d }\n";
    EXPECT_EQ(problem("%r = call \"f\" %x, %n : f32 return", "rank 1", f), "");
    EXPECT_EQ(problem("%r = call \"f\" %x : f32 return", "rank 1", f),
              "the arguments are (f32); expected (f32, i32) in `%7 = call \"f\" %5 : f32`");
    EXPECT_EQ(problem("call \"f\" %x, %n return", "rank 1", f), "the results are (); expected (f32) in `call \"f\" %5, %4`");
    EXPECT_EQ(problem("return", "rank 1", "function \"f\" () { return }\n"), "a function must not end the work-item in `return`");
    EXPECT_EQ(problem("return", "rank 1", "function \"f\" (%b: bool) { if %b { return } else { yield } yield }\n"),
              "a function must not end the work-item in `return`");
    EXPECT_EQ(problem("return", "rank 1", "function \"f\" (%b: bool) : f32 { yield %b }\n"),
              "the function gives (bool); expected (f32) in `yield %0`");
    EXPECT_EQ(problem("return", "rank 1", "function \"f\" (%b: bool) : bool reverse \"f\" { yield %b }\n"),
              "the reverse rule of function \"f\" takes (bool); expected (bool, bool, bool)");
    EXPECT_EQ(problem("return", "rank 1", f + "function \"g\" (%p: i32) : i32 forward \"f\" { yield %p }\n"),
              "the forward rule of function \"g\" takes (f32, i32); expected (i32, i32)");
    EXPECT_EQ(problem("return", "rank 1", f + "function \"g\" () { yield }\n"), "");
}

TEST(verify, functions_see_their_parameters_only) {
    Kernel k = parse(
        "kernel \"k\" math contract rank 1 () files [] {\nfunction \"f\" (%a: i32) : i32 { yield %a }\n"
        "function \"g\" (%b: i32) : i32 { %c = call \"f\" %b : i32 yield %c }\n"
        "%i = global_index 0 : i32 %r = call \"g\" %i : i32 return\n}\n");
    EXPECT_EQ(verify(k), "");
    const Inst& yields = k[k[k.functions[0].body].insts.back()];
    k.pool[yields.first_operand] = k.result(k[k.body().insts[0]]);
    EXPECT_EQ(verify(k), "operand 1 is not visible here in `yield %3`");
    for (Inst& i : k.insts)
        if (i.op == Op::call) i.immediate = 1;
    k.pool[yields.first_operand] = k[k.functions[0].body].params[0];
    EXPECT_EQ(verify(k), "function \"g\" calls one that does not stand before it in `%2 = call \"g\" %1 : i32`");
    k.functions[1].name = "f";
    EXPECT_EQ(verify(k), "two functions are called \"f\"");
    k.functions[0].body = {77};
    EXPECT_EQ(verify(k), "the body of function \"f\" is block 77 of 3");
}

// ---- invalid kernels that text cannot express ----

struct Broken {
    Kernel k = parse(
        "kernel \"k\" math contract rank 1 (arg1: inout f32[1], arg2: i32) files [] {\n local a: f32[4]\n"
        "%i = global_index 0 : i32 %x = load arg1[%i] : f32 %c = eq %x, %x : bool\n"
        "if %c { yield } else { yield }\n"
        "%r = for %k = %i to %i step %i carry (%s = %x) : f32 { yield %s }\nreturn\n}\n");
    Inst& first(Op op) {
        for (Inst& i : k.insts)
            if (i.op == op) return i;
        return k.insts[0];
    }
};

TEST(verify, indices_into_the_tables) {
    EXPECT_EQ(verify(Broken().k), "");
    EXPECT_EQ(verify(Kernel()), "the kernel has no body");
    {
        Broken b;
        b.k.pool[0] = {99};
        EXPECT_EQ(verify(b.k), "an operand is value 99 of 6 in `%1 = load arg1[%?] : f32`");
    }
    {
        Broken b;
        b.k.blocks[0].insts[0] = {99};
        EXPECT_EQ(verify(b.k), "a block holds instruction 99 of 9");
    }
    {
        Broken b;
        b.first(Op::load).memory = {7};
        EXPECT_EQ(verify(b.k), "the memory is 7 of 2 in `%1 = load ?[%0] : f32`");
    }
    {
        Broken b;
        b.first(Op::load).leaf = 3;
        EXPECT_EQ(verify(b.k), "the member is 3 of 1 in `%1 = load arg1[%0].?3 : f32`");
    }
    {
        Broken b;
        b.first(Op::if_).blocks[1] = {};
        EXPECT_EQ(verify(b.k), "the instruction must own 2 blocks in `if %2`");
    }
    {
        Broken b;
        b.first(Op::load).first_operand = 1000;
        EXPECT_EQ(verify(b.k), "the operands of an instruction lie outside the pool");
    }
    {
        Broken b;
        b.first(Op::load).first_result = 1000;
        EXPECT_EQ(verify(b.k), "the results of an instruction lie outside the table of values");
    }
    {
        Broken b;
        b.k.params[0].memory = {9};
        EXPECT_EQ(verify(b.k), "parameter 1 is memory 9 of 2");
    }
}

TEST(verify, every_block_and_instruction_stands_in_one_place) {
    {
        Broken b;
        b.first(Op::if_).blocks[1] = b.first(Op::if_).blocks[0];
        EXPECT_EQ(verify(b.k), "block 1 belongs to two instructions");
    }
    {
        Broken b;
        b.first(Op::if_).blocks[1] = BlockId{0};
        EXPECT_EQ(verify(b.k), "block 0 belongs to two instructions");
    }
    {
        Broken b;
        b.k.blocks[0].insts.insert(b.k.blocks[0].insts.begin(), b.k.blocks[0].insts[0]);
        EXPECT_EQ(verify(b.k), "the instruction stands in two places in `%0 = global_index 0 : i32`");
    }
    {
        Broken b;
        b.k.values[0].inst = {4};
        EXPECT_EQ(verify(b.k), "a result does not name its instruction in `%0 = global_index 0 : i32`");
    }
    {
        Broken b;
        b.k.values[b.k.blocks[3].params[1].id].index = 0;
        EXPECT_EQ(verify(b.k), "parameter 1 of block 3 does not name its block");
    }
}

TEST(verify, fields_outside_of_instructions_are_checked) {
    {
        Broken b;
        b.k.rank = 4;
        EXPECT_EQ(verify(b.k), "the kernel's rank is 4; it must be 0 to 3");
    }
    {
        Broken b;
        b.k.memories[1].name = "a b";
        EXPECT_EQ(verify(b.k), "a memory is called \"a b\"; its name must be an identifier");
    }
    {
        Broken b;
        b.k.memories[1].name = "arg1";
        EXPECT_EQ(verify(b.k), "two memories are called \"arg1\"");
    }
    {
        Broken b;
        b.k.memories[1].name = "arg2";
        EXPECT_EQ(verify(b.k), "a memory is called \"arg2\" as a scalar parameter is");
    }
    {
        Broken b;
        b.k.memories[0].argument = 1;
        EXPECT_EQ(verify(b.k), "parameter 1 and memory \"arg1\" do not name each other");
    }
    {
        Broken b;
        b.k.memories[0].rank = 7;
        EXPECT_EQ(verify(b.k), "the array \"arg1\" has rank 7; the limit is 6");
    }
    {
        Broken b;
        b.k.memories[1].rank = 2;
        EXPECT_EQ(verify(b.k), "\"a\" has 1 extents but rank 2");
    }
    {
        Broken b;
        b.k.memories[1].access = Access::in;
        EXPECT_EQ(verify(b.k), "\"a\" is in; local and private memory is inout");
    }
    {
        Broken b;
        b.k.memories[1].element.leaves.clear();
        EXPECT_EQ(verify(b.k), "the element of \"a\" is empty");
    }
    {
        Broken b;
        b.first(Op::load).op = Op::constant;
        b.first(Op::constant).operand_count = 0;
        b.first(Op::constant).immediate = 1ull << 40;
        EXPECT_EQ(verify(b.k), "the constant has bits outside its type in `%1 = constant 0.0 : f32`");
    }
    {
        Broken b;
        b.k.values[b.k.blocks[3].params[1].id].type = Scalar::i32;
        EXPECT_EQ(verify(b.k),
                  "the block's parameters are (i32, i32); expected (i32, f32) in `%3 = for %4 = %0 to %0 step %0 carry (%5 = %1) "
                  ": f32`");
    }
}

TEST(verify, images) {
    const auto of = [](const std::string& parameter, const std::string& body) {
        return verify(parse("kernel \"k\" math contract rank 1 (arg1: " + parameter +
                            ") files [] {\n%i = constant 0 : i32 %x = constant 0.5 : f32\n" + body + " return\n}\n"));
    };
    const std::string texture = "in f32[3] texture 2";
    EXPECT_EQ(of(texture, "%a = sample arg1[%x, %x, %x] : f32 %b = load arg1[%i, %i, %i] : f32"), "");
    EXPECT_EQ(of(texture, "%a = sample arg1[%x, %x] : f32"),
              "the operands are (f32, f32); expected (f32, f32, f32) in `%2 = sample arg1[%1, %1] : f32`");
    EXPECT_EQ(of("in f32[2] storage 2", "%a = sample arg1[%x, %x, %x] : f32"),
              "\"arg1\" is no texture in `%2 = sample arg1[%1, %1, %1] : f32`");
    EXPECT_EQ(of("in f32[2] storage 2", "%a = load arg1[%i] : f32"),
              "\"arg1\" has 1 indices; expected 2 in `%2 = load arg1[%0] : f32`");
    EXPECT_EQ(of("inout i32[1] storage 1", "%a = atomic add arg1[%i], %i : i32"),
              "\"arg1\" is an image; atomics need an array or local memory in `%2 = atomic add arg1[%0], %0 : i32`");
    EXPECT_EQ(of("in f32[2] texture 2", ""), "the image \"arg1\" has rank 2; it must be 3");
    EXPECT_EQ(of("out f32[3] texture 2", ""), "the image \"arg1\" is out; textures, layers and cubes are in");
    EXPECT_EQ(of("in f64[2] storage 2", ""), "the texels of \"arg1\" must be 1, 2 or 4 of f32, i32 or u32");
    EXPECT_EQ(of("in f32[2] storage 2 format rg8_unorm levels 1", ""),
              "the image \"arg1\" has format rg8_unorm, which its texels do not fit");
}

}  // namespace
}  // namespace pumice::ir
