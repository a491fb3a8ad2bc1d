// GLSL against the texts in tests/golden/glsl_*.txt: options, kernel text, "----", the GLSL without the prelude. PUMICE_BLESS=1
// rewrites them. Every module goes through spirv-val, at -O0 and after spirv-opt, in both binding modes and with wide offsets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "codegen/artifact/assemble.h"
#include "codegen/glsl/codegen.h"
#include "core/support/error.h"
#include "tests/source_folder.h"

namespace pumice::codegen {
namespace {

namespace fs = std::filesystem;

/// The IR is verified after every pass, in Release too.
const bool verifies = setenv("PUMICE_VALIDATE", "1", 1) == 0;

const std::string separator = "\n----\n";

struct Golden {
    std::string head;    ///< the line of options
    std::string kernel;  ///< text, to be lowered
    std::string glsl;
    Options options;
};

Golden read(const fs::path& path) {
    std::ifstream file(path);
    std::stringstream all;
    all << file.rdbuf();
    const std::string contents = all.str();
    const size_t line = contents.find('\n'), cut = contents.find(separator);
    if (line == contents.npos || cut == contents.npos) throw Error(path.string() + " has no options line or no ----");
    Golden g{contents.substr(0, line), contents.substr(line + 1, cut - line), contents.substr(cut + separator.size()), {}};
    g.options.comments = g.head.find("comments") != std::string::npos;
    g.options.float_atomics = g.head.find("float_atomics") != std::string::npos;
    g.options.local_float_atomics = g.head.find("local_float_atomics") != std::string::npos;
    g.options.subgroup_sums = g.head.find("subgroup_sums") != std::string::npos;
    g.options.linear_subgroups = g.head.find("linear_subgroups") != std::string::npos;
    g.options.packed_subgroups = g.head.find("packed_subgroups") != std::string::npos;
    g.options.parted_merges = g.head.find("parted_merges") != std::string::npos;
    g.options.folded_zeros = g.head.find("folded_zeros") != std::string::npos;
    g.options.wide_offsets = g.head.find("wide_offsets") != std::string::npos;
    g.options.pairs = g.head.find("pairs") != std::string::npos;
    g.options.byte_storage = g.head.find("words") == std::string::npos;
    if (g.head.find("by_address") != std::string::npos) g.options.by_address.assign(8, true);
    return g;
}

std::vector<fs::path> goldens() {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(source_folder() / "tests/golden"))
        if (entry.path().filename().string().starts_with("glsl_")) out.push_back(entry.path());
    std::ranges::sort(out);
    return out;
}

ir::Kernel lowered(const Golden& g) {
    const ir::Kernel k = ir::parse(g.kernel);
    EXPECT_EQ(ir::verify(k), "");
    return lower(k, g.options);
}

/// The text without the prelude's functions, which have tests of their own.
std::string without_prelude(const std::string& glsl) {
    std::istringstream lines(glsl);
    std::string out;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        const size_t name = line.find(" pm_");
        const bool starts = name != line.npos && name < line.find(' ') + 1 && line[0] != ' ';
        if (starts) inside = true;
        if (!inside)
            out += line + "\n";
        else if (line.empty())
            inside = false;
    }
    return out;
}

class emit_golden : public testing::TestWithParam<fs::path> {};

TEST_P(emit_golden, text) {
    ASSERT_TRUE(verifies);
    const Golden g = read(GetParam());
    const std::string glsl = without_prelude(emit_glsl(lowered(g), g.options).glsl);
    if (std::getenv("PUMICE_BLESS"))
        std::ofstream(GetParam()) << g.head << '\n' << g.kernel.substr(0, g.kernel.size() - 1) << separator << glsl;
    else
        EXPECT_EQ(glsl, g.glsl) << "PUMICE_BLESS=1 rewrites " << GetParam();
}

/// The lines of the disassembly on which a host relies: entry, specialisation ids, bindings. Unstable ids are removed.
std::multiset<std::string> host_interface(const std::vector<uint32_t>& spirv) {
    std::multiset<std::string> out;
    std::istringstream lines(disassemble(spirv));
    const std::regex wanted(R"((SpecId|Binding|DescriptorSet) \d+|OpEntryPoint GLCompute)");
    for (std::string line; std::getline(lines, line);) {
        std::smatch match;
        if (std::regex_search(line, match, wanted)) out.insert(match.str());
    }
    return out;
}

TEST_P(emit_golden, is_valid_in_every_mode) {
    Golden g = read(GetParam());
    for (const bool address : {false, true})
        for (const bool wide : {false, true})
            for (const bool atomics : {false, true}) {
                Options& options = g.options;
                options.wide_offsets = wide;
                if (options.pairs && wide) continue;  // wide offsets are 64-bit integers
                const ir::Kernel k = lowered(g);
                options.by_address.assign(k.params.size(), address);
                options.float_atomics = options.local_float_atomics = atomics;
                const Shader s = emit_glsl(k, options);
                const auto plain = assemble(s.glsl, s.name), optimized = assemble(s.glsl, s.name, true);
                EXPECT_EQ(validate(plain), "") << s.glsl;
                EXPECT_EQ(validate(optimized), "") << s.glsl;
                EXPECT_EQ(host_interface(plain), host_interface(optimized)) << s.glsl;
                EXPECT_LT(optimized.size(), plain.size());
            }
}

INSTANTIATE_TEST_SUITE_P(files, emit_golden, testing::ValuesIn(goldens()),
                         [](const auto& info) { return info.param.stem().string(); });

std::string glsl_of(const std::string& params, const std::string& body, const Options& options = {},
                    const char* math = "contract") {
    const ir::Kernel k = ir::parse("kernel \"k\" math " + std::string(math) + " whole_groups rank 1 (" + params +
                                   ") files [] {\n" + body + "  return\n}\n");
    EXPECT_EQ(ir::verify(k), "");
    const Shader s = emit_glsl(k, options);
    EXPECT_EQ(validate(assemble(s.glsl, s.name)), "") << s.glsl;
    return s.glsl;
}

TEST(emit, a_load_is_not_moved_over_a_store_to_its_array) {
    const std::string glsl = glsl_of("arg1: inout f32[1], arg2: inout f32[1]", R"(
  %i = global_index 0 : i32
  %a = load arg1[%i] : f32
  %b = load arg2[%i] : f32
  store arg1[%i], %b : f32
  store arg2[%i], %a : f32
)");
    EXPECT_NE(glsl.find("const float v0 = arg1[i];\n    arg1[i] = arg2[i];\n    arg2[i] = v0;"), std::string::npos) << glsl;
}

TEST(emit, quotients_of_nonnegative_numbers_are_shifts) {
    const auto quotient = [](const char* dividend) {
        const std::string glsl = glsl_of("arg1: out i32[1], arg2: i32", std::string(R"(
  %arg2 = argument arg2 : i32
  %zero = constant 0 : i32
  %seven = constant 7 : i32
  %sixteen = constant 16 : i32
  %x = )") + dividend + R"( : i32
  %q = div %x, %sixteen : i32
  %r = rem %x, %sixteen : i32
  %s = sub %q, %r : i32
  store arg1[%zero], %s : i32
)");
        return glsl.substr(glsl.find("void main"));
    };
    for (const char* never : {"local_index 0", "extent arg1, 0", "global_size 1", "max %arg2, %zero", "and %arg2, %seven"}) {
        const std::string glsl = quotient(never);
        EXPECT_NE(glsl.find(">> 4"), std::string::npos) << glsl;
        EXPECT_NE(glsl.find("& 15"), std::string::npos) << glsl;
    }
    for (const char* perhaps : {"global_index 0", "add %arg2, %seven", "min %arg2, %seven", "div %seven, %arg2"}) {
        const std::string glsl = quotient(perhaps);
        EXPECT_NE(glsl.find("/ 16"), std::string::npos) << glsl;
        EXPECT_NE(glsl.find("pm_rem("), std::string::npos) << glsl;
    }
}

TEST(emit, carried_values_that_swap_need_one_temporary) {
    const std::string glsl = glsl_of("arg1: inout i32[1]", R"(
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %two = constant 2 : i32
  %a, %b, %c = for %n = %zero to %two step %one carry (%x = %zero, %y = %one, %z = %two) : (i32, i32, i32) {
    %w = add %z, %x : i32
    yield %y, %x, %w
  }
  %s = sub %a, %b : i32
  %t = sub %s, %c : i32
  store arg1[%zero], %t : i32
)");
    // z reads x, so it goes first; x and y read each other.
    EXPECT_NE(glsl.find("v2 = v2 + v0;\n        const int v4 = v1;\n        v1 = v0;\n        v0 = v4;"), std::string::npos)
        << glsl;
}

TEST(emit, three_carried_values_that_read_the_other_two) {
    const std::string glsl = glsl_of("arg1: inout i32[1]", R"(
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %two = constant 2 : i32
  %a, %b, %c = for %n = %zero to %two step %one carry (%x = %zero, %y = %one, %z = %two) : (i32, i32, i32) {
    %u = add %y, %z : i32
    %v = add %z, %x : i32
    %w = add %x, %y : i32
    yield %u, %v, %w
  }
  %s = sub %a, %b : i32
  %t = sub %s, %c : i32
  store arg1[%zero], %t : i32
)");
    EXPECT_NE(glsl.find("const int v4 = v1 + v2;\n        const int v5 = v2 + v0;\n        v2 = v0 + v1;\n        v0 = v4;\n     "
                        "   v1 = v5;"),
              std::string::npos)
        << glsl;
}

TEST(emit, for_steps_that_may_overflow_are_guarded) {
    const auto head = [](const char* to, const char* step) {
        const std::string glsl = glsl_of("arg1: inout i32[1], arg2: i32, arg3: i32", std::string(R"(
  %arg2 = argument arg2 : i32
  %arg3 = argument arg3 : i32
  %zero = constant 0 : i32
  %ten = constant 10 : i32
  %most = constant 2147483647 : i32
  %p1 = constant 1 : i32
  %m1 = constant -1 : i32
  %p3 = constant 3 : i32
  %m3 = constant -3 : i32
  %size = global_size 0 : i32
  for %n = %zero to )") + to + " step " + step + " carry () {\n store arg1[%zero], %n : i32\n yield\n }\n");
        const size_t at = glsl.find("for (");
        return at == glsl.npos ? "" : glsl.substr(at, glsl.find('\n', at) - at);
    };
    EXPECT_EQ(head("%arg2", "%p1"), "for (int v0 = 0; v0 < arg2; v0 += 1) {");
    EXPECT_EQ(head("%arg2", "%m1"), "for (int v0 = 0; v0 > arg2; v0 -= 1) {");
    EXPECT_EQ(head("%ten", "%p3"), "for (int v0 = 0; v0 < 10; v0 += 3) {");
    EXPECT_EQ(head("%most", "%p3"), "for (int v0 = 0; v0 < 2147483647; v0 += int(min(3u, 2147483647u - uint(v0)))) {");
    EXPECT_EQ(head("%arg2", "%size"), "for (int v0 = 0; v0 < arg2; v0 += int(min(uint(size_x), uint(arg2) - uint(v0)))) {");
    EXPECT_EQ(head("%arg2", "%m3"), "for (int v0 = 0; v0 > arg2; v0 = step_i32(v0, arg2, -3)) {");
    EXPECT_EQ(head("%arg2", "%arg3"),
              "for (int v0 = 0; arg3 > 0 ? v0 < arg2 : arg3 < 0 && v0 > arg2; v0 = step_i32(v0, arg2, arg3)) {");
    EXPECT_EQ(head("%arg2", "%zero"), "");
}

/// A body that replaces each element of arg1 by its square.
std::string squares(const std::string& type) {
    return "%i = global_index 0 : i32\n%x = load arg1[%i] : " + type + "\n%y = mul %x, %x : " + type +
           "\nstore arg1[%i], %y : " + type;
}

TEST(emit, strict_maths_declares_the_float_controls_of_the_device) {
    const std::string body = squares("f32");
    Options options;
    options.float_modes = FloatModes::specials | FloatModes::to_even;
    EXPECT_EQ(glsl_of("arg1: inout f32[1]", body, options).find("spirv_execution_mode"), std::string::npos);
    const std::string strict = glsl_of("arg1: inout f32[1]", body, options, "strict");
    EXPECT_NE(strict.find("spirv_execution_mode(capabilities = [4466], 4461, 32);"), std::string::npos) << strict;
    EXPECT_NE(strict.find("spirv_execution_mode(capabilities = [4467], 4462, 32);"), std::string::npos) << strict;
    EXPECT_EQ(strict.find("4464"), std::string::npos) << strict;
    const std::string words = disassemble(assemble(strict, "k"));
    EXPECT_NE(words.find("OpExecutionMode %main SignedZeroInfNanPreserve 32"), std::string::npos) << words;
    EXPECT_NE(words.find("OpExecutionMode %main RoundingModeRTE 32"), std::string::npos) << words;
    EXPECT_EQ(validate(assemble(strict, "k")), "");
}

TEST(emit, doubles_keep_their_specials_under_contract_maths) {
    const std::string body = squares("f64");
    Options options;
    options.float_modes = FloatModes::specials | FloatModes::double_specials;
    for (const char* const math : {"contract", "strict"}) {
        const std::string glsl = glsl_of("arg1: inout f64[1]", body, options, math);
        EXPECT_NE(glsl.find("spirv_execution_mode(capabilities = [4466], 4461, 64);"), std::string::npos) << glsl;
        EXPECT_EQ(validate(assemble(glsl, "k")), "");
    }
    EXPECT_EQ(glsl_of("arg1: inout f64[1]", body, options, "fast").find("spirv_execution_mode"), std::string::npos);
}

TEST(emit, strict_arithmetic_is_precise) {
    const std::string body = R"(
  %i = global_index 0 : i32
  %a = load arg1[%i] : f32
  %b = mul %a, %a : f32
  %c = add %b, %a : f32
  %d = fma %c, %a, %b : f32
  store arg1[%i], %d : f32
)";
    const std::string strict = glsl_of("arg1: inout f32[1]", body, {}, "strict");
    EXPECT_NE(strict.find("precise const float v1 = v0 * v0;"), std::string::npos) << strict;
    EXPECT_NE(strict.find("precise const float v2 = v1 + v0;"), std::string::npos) << strict;
    EXPECT_NE(strict.find("= pm_fma_strict(v2, v0, v1);"), std::string::npos) << strict;
    EXPECT_EQ(glsl_of("arg1: inout f32[1]", body).find("precise"), std::string::npos);
}

TEST(emit, strict_fma_of_constant_zeros_is_computed_on_the_bits) {
    const std::string body = R"(
  %i = global_index 0 : i32
  %a = load arg1[%i] : f32
  %zero = constant 0.0 : f32
  %minus = constant -0.0 : f32
  %b = fma %a, %a, %zero : f32
  %c = fma %b, %a, %minus : f32
  %d = fma %zero, %c, %a : f32
  store arg1[%i], %d : f32
)";
    const std::string strict = glsl_of("arg1: inout f32[1]", body, {}, "strict");
    EXPECT_NE(strict.find("= pm_product_plus_zero(v0, v0);"), std::string::npos) << strict;
    EXPECT_NE(strict.find("precise const float v2 = (v1 * v0);"), std::string::npos) << strict;
    EXPECT_NE(strict.find("= pm_zero_plus(pm_times_zero(v2, 0.0), v0);"), std::string::npos) << strict;
    Options address;
    address.by_address = {true};
    const std::string called = glsl_of("arg1: inout f32[1]", body, address, "strict");
    EXPECT_NE(called.find("= pm_precise_mul(v1, v0);"), std::string::npos) << called;
}

TEST(emit, ldexp_of_a_constant_is_one_product) {
    const auto text_of = [](const char* power, const char* math) {
        const std::string body = std::string(R"(
  %i = global_index 0 : i32
  %a = load arg1[%i] : f32
  %n = constant )") + power + R"( : i32
  %b = ldexp %a, %n : f32
  store arg1[%i], %b : f32
)";
        return glsl_of("arg1: inout f32[1]", body, {}, math);
    };
    EXPECT_NE(text_of("3", "contract").find(" * 8.0;"), std::string::npos) << text_of("3", "contract");
    EXPECT_NE(text_of("3", "strict").find("pm_precise_mul("), std::string::npos) << text_of("3", "strict");
    EXPECT_NE(text_of("100", "contract").find("pm_precise_mul("), std::string::npos);
    EXPECT_NE(text_of("-126", "contract").find("pm_precise_mul("), std::string::npos);
    EXPECT_NE(text_of("-127", "contract").find("pm_ldexp("), std::string::npos);
    EXPECT_NE(text_of("128", "contract").find("pm_ldexp("), std::string::npos);
}

TEST(emit, strict_narrow_floats_have_the_modes_of_floats) {
    Options options;
    options.float_modes = FloatModes::specials;
    const std::string body = R"(
  %i = global_index 0 : i32
  %a = load arg1[%i] : bf16
  %b = mul %a, %a : bf16
  store arg1[%i], %b : bf16
)";
    const std::string modes = "spirv_execution_mode(capabilities = [4466], 4461, 32);";
    EXPECT_NE(glsl_of("arg1: inout bf16[1]", body, options, "strict").find(modes), std::string::npos);
    EXPECT_EQ(glsl_of("arg1: inout bf16[1]", body, options).find(modes), std::string::npos);
}

TEST(emit, strict_arithmetic_beside_addresses_is_called) {
    const std::string body = R"(
  %i = global_index 0 : i32
  %a = load arg1[%i] : f32
  %b = mul %a, %a : f32
  %c = sub %b, %a : f32
  store arg1[%i], %c : f32
)";
    Options address;
    address.by_address = {true};
    const std::string strict = glsl_of("arg1: inout f32[1]", body, address, "strict");
    EXPECT_NE(strict.find("const float v1 = pm_precise_mul(v0, v0);"), std::string::npos) << strict;
    EXPECT_NE(strict.find("pm_precise_sub(v1, v0)"), std::string::npos) << strict;
    EXPECT_EQ(strict.find("precise const"), std::string::npos) << strict;
}

TEST(emit, idle_lanes_return_in_front_of_loops) {
    const std::string loop = R"(
  %i = global_index 0 : i32
  while () {
    %a = load arg1[%i] : i32
    %b = lt %a, %i : bool
    test %b
  } do {
    store arg1[%i], %i : i32
    yield
  }
)";
    const std::string leave = "if (gl_LocalInvocationID.x >= gl_WorkGroupSize.x ";
    Options idle;
    idle.idle_lanes = true;
    EXPECT_NE(glsl_of("arg1: inout i32[1]", loop, idle).find(leave), std::string::npos);
    EXPECT_EQ(glsl_of("arg1: inout i32[1]", loop).find(leave), std::string::npos);
    EXPECT_EQ(glsl_of("arg1: inout i32[1]", "  %i = global_index 0 : i32\n  store arg1[%i], %i : i32\n", idle).find(leave),
              std::string::npos);
}

/// A golden would not do: LLVM has no halves for every processor that the goldens are compiled for.
TEST(emit, zeros_of_halves_are_hidden_as_floats) {
    const std::string body = R"(
  %i = global_index 0 : i32
  %h = load arg1[%i] : f16
  %zero = constant 0.0 : f16
  %one = constant 1.0 : f16
  %positive = gt %h, %zero : bool
  %chosen = select %positive, %zero, %one : f16
  store arg1[%i], %chosen : f16
)";
    Options options;
    const std::string hidden = "float16_t(pm_hidden(float(float16_t(0.0))))";
    EXPECT_EQ(glsl_of("arg1: inout f16[1]", body, options).find(hidden), std::string::npos);
    options.folded_zeros = true;
    EXPECT_NE(glsl_of("arg1: inout f16[1]", body, options).find(hidden), std::string::npos);
}

TEST(emit, stores_to_long_private_arrays_are_parted_from_counters) {
    const auto parts = [](int elements, bool stale) {
        Options options;
        options.stale_counters = stale;
        const std::string glsl =
            glsl_of("arg1: inout i32[1], arg2: i32", "  private private1: i32[" + std::to_string(elements) + R"(]
  %i = global_index 0 : i32
  %n = argument arg2 : i32
  %zero = constant 0 : i32
  %one = constant 1 : i32
  for %k = %zero to %n step %one {
    %v = load arg1[%k] : i32
    store private1[%k], %v : i32
    yield
  }
  %x = load private1[%n] : i32
  store arg1[%i], %x : i32
)",
                    options);
        return glsl.find(" + int(pm_zero())] = ") != std::string::npos;
    };
    EXPECT_TRUE(parts(33, true));
    EXPECT_FALSE(parts(33, false));
    EXPECT_FALSE(parts(32, true));
}

TEST(emit, push_constants_hold_exactly_what_is_used) {
    const ir::Kernel k =
        ir::parse(R"(kernel "k" math contract rank 2 (arg1: inout f32[2], arg2: f64, arg3: bool, arg4: f32) files [] {
  %i = global_index 1 : i32
  %j = global_index 0 : i32
  %s = argument arg4 : f32
  %b = argument arg3 : bool
  %d = argument arg2 : f64
  %f = cast %d : f32
  %x = select %b, %s, %f : f32
  store arg1[%i, %j], %x : f32
  return
}
)");
    const Shader s = emit_glsl(lower(k), {});
    std::vector<std::string> fields;
    for (const Field& f : s.push)
        fields.push_back(text(int(f.kind), ' ', f.index, ' ', f.axis, ' ', f.offset, ' ', name_of(f.type)));
    const auto kind = [](Field::Kind f) { return text(int(f)); };
    EXPECT_EQ(fields,
              (std::vector<std::string>{kind(Field::Kind::argument) + " 1 0 0 f64", kind(Field::Kind::start) + " 0 0 8 i32",
                                        kind(Field::Kind::start) + " 0 1 12 i32", kind(Field::Kind::end) + " 0 0 16 i32",
                                        kind(Field::Kind::end) + " 0 1 20 i32", kind(Field::Kind::argument) + " 2 0 24 u32",
                                        kind(Field::Kind::argument) + " 3 0 28 f32", kind(Field::Kind::extent) + " 0 0 32 i32"}));
    EXPECT_EQ(s.push_bytes, 36u);
    EXPECT_EQ(s.features, std::vector<Feature>{Feature::float64});
    const std::string assembly = disassemble(assemble(s.glsl, s.name));
    for (const Field& f : s.push) EXPECT_NE(assembly.find(text("Offset ", f.offset, "\n")), std::string::npos) << f.offset;
}

TEST(emit, constants_keep_type_and_bits) {
    const std::string glsl = glsl_of("arg1: inout f32[1], arg2: inout i32[1], arg3: inout u32[1]", R"(
  %n0 = constant 0 : i32
  %n1 = constant 1 : i32
  %a = constant inf : f32
  %b = constant 1e-45 : f32
  %c = constant 0.1 : f32
  %d = constant -3.0 : f32
  %e = constant -2147483648 : i32
  %f = constant 4294967295 : u32
  %g = neg %d : f32
  store arg1[%n0], %a : f32
  store arg1[%n1], %b : f32
  store arg1[%n0], %c : f32
  store arg1[%n1], %g : f32
  store arg2[%n0], %e : i32
  store arg3[%n0], %f : u32
)");
    for (const char* want : {"= uintBitsToFloat(0x7f800000u);", "= uintBitsToFloat(0x1u);", "= 0.1;", "= -(-3.0);",
                             "= int(0x80000000u);", "= 4294967295u;"})
        EXPECT_NE(glsl.find(want), std::string::npos) << want << "\n" << glsl;
}

TEST(emit, every_scalar_type_is_valid_in_memory_arguments_and_arithmetic) {
    const char* const program = R"(
  local local1: TYPE[8]
  private private1: TYPE[8]
  %i = global_index 0 : i32
  %a = load arg1[%i] : TYPE
  %b = argument arg2 : TYPE
  %c = add %a, %b : TYPE
  %one = constant 1 : TYPE
  %d = sub %c, %one : TYPE
  store local1[%i], %d : TYPE
  store private1[%i], %d : TYPE
  %e = load local1[%i] : TYPE
  %f = load private1[%i] : TYPE
  %g = lt %e, %f : bool
  %h = select %g, %e, %f : TYPE
  store arg1[%i], %h : TYPE
)";
    for (int t = 1; t < scalar_count; ++t) {
        const std::string type(name_of(Scalar(t)));
        const std::string body = std::regex_replace(std::string(program), std::regex("TYPE"), type);
        const std::string glsl = glsl_of("arg1: inout " + type + "[1], arg2: " + type, body);
        EXPECT_NE(glsl.find("void main"), std::string::npos);
    }
}

TEST(emit, hash_names_kernel_and_options) {
    const ir::Kernel a = ir::parse(
        "kernel \"a\" math contract rank 1 (arg1: inout i32[1]) files [] {\n %i = global_index 0 : i32\n store "
        "arg1[%i], %i : i32\n return\n}\n");
    ir::Kernel b = a;
    b.name = "b";
    Options address;
    address.by_address = {true};
    const std::string hash = emit_glsl(a, {}).hash;
    EXPECT_EQ(hash, emit_glsl(a, {}).hash);
    EXPECT_EQ(hash.size(), 32u);
    EXPECT_NE(hash, emit_glsl(b, {}).hash);
    EXPECT_NE(hash, emit_glsl(a, address).hash);
}

/// The GLSL of the body, and a check that it contains the text.
bool emits(const std::string& body, const std::string& wanted, const Options& options, const std::string& math = "contract") {
    return glsl_of("arg1: inout f32[1], arg2: inout i32[1]", "  %i = global_index 0 : i32\n  %x = load arg1[%i] : f32\n" + body,
                   options, math.c_str())
               .find(wanted) != std::string::npos;
}

TEST(emit, relative_shuffles_by_a_constant_use_the_shuffle_instruction) {
    const auto shuffle = [](const std::string& which, const std::string& by) {
        return by + "  %y = subgroup " + which + " %x, %by : f32\n  store arg1[%i], %y : f32\n";
    };
    const std::string two = "  %by = constant 2 : i32\n", any = "  %by = load arg2[%i] : i32\n";
    Options relative, without;
    without.subgroups = ~Subgroups::relative;
    EXPECT_TRUE(emits(shuffle("shuffle_up", two), "subgroupShuffleUp(v0, 2u)", relative));
    EXPECT_TRUE(emits(shuffle("shuffle_up", two), "gl_SubgroupInvocationID >= 2u ? ", relative));
    EXPECT_TRUE(emits(shuffle("shuffle_down", two), "subgroupShuffleDown(v0, 2u)", relative));
    EXPECT_TRUE(emits(shuffle("shuffle_down", two), "gl_SubgroupInvocationID + 2u < gl_SubgroupSize ? ", relative));
    EXPECT_TRUE(emits(shuffle("shuffle_xor", two), "subgroupShuffleXor(v0, 2u)", without));
    EXPECT_TRUE(emits(shuffle("shuffle_up", two), "subgroupShuffle(", without));
    for (const char* which : {"shuffle_up", "shuffle_down", "shuffle_xor"})
        EXPECT_TRUE(emits(shuffle(which, any), "subgroupShuffle(", relative));
}

TEST(emit, subgroup_sums_of_a_constant_count_bits) {
    const auto sum = [](const std::string& which, const char* constant) {
        return std::string("  %c = constant ") + constant + " : i32\n  %y = subgroup " + which +
               " %c : i32\n  store arg2[%i], %y : i32\n";
    };
    EXPECT_TRUE(emits(sum("reduce_add", "1"), "int(subgroupBallotBitCount(subgroupBallot(true)))", {}));
    EXPECT_TRUE(emits(sum("exclusive_add", "-3"), "int(subgroupBallotExclusiveBitCount(subgroupBallot(true))) * -3", {}));
    EXPECT_TRUE(emits(sum("inclusive_add", "2"), "subgroupBallotInclusiveBitCount", {}));
    EXPECT_TRUE(emits(sum("reduce_mul", "2"), "subgroupMul(2)", {}));
    Options no_ballot;
    no_ballot.subgroups = Subgroups::basic | Subgroups::arithmetic;
    EXPECT_TRUE(emits(sum("reduce_add", "1"), "subgroupAdd(1)", no_ballot));
}

TEST(emit, fast_maths_calls_the_devices_functions) {
    const auto unary = [](const std::string& op) { return "  %y = " + op + " %x : f32\n  store arg1[%i], %y : f32\n"; };
    for (const char* op : {"exp", "log2", "sin", "atan", "cosh"}) {
        EXPECT_TRUE(emits(unary(op), std::string("= ") + op + "(arg1[i]);", {}, "fast")) << op;
        EXPECT_FALSE(emits(unary(op), "pm_", {}, "fast")) << op;
        EXPECT_TRUE(emits(unary(op), std::string("= pm_") + op, {})) << op;
    }
    const auto power = [](const char* y) {
        return std::string("  %e = constant ") + y + " : f32\n  %y = pow %x, %e : f32\n  store arg1[%i], %y : f32\n";
    };
    EXPECT_TRUE(emits(power("2.5"), "pow(arg1[i], 2.5)", {}, "fast"));
    EXPECT_TRUE(emits(power("4.0"), "pow(abs(arg1[i]), 4.0)", {}, "fast"));
    EXPECT_TRUE(emits(power("-3.0"), "* pow(abs(v0), -3.0)", {}, "fast"));
    // erf is not GLSL's.
    EXPECT_TRUE(emits(unary("erf"), "= pm_erf(", {}, "fast"));
}

TEST(emit, strict_division_is_rounded_where_the_devices_is_not) {
    const auto divided = [](const std::string& by) { return by + "  %y = div %x, %d : f32\n  store arg1[%i], %y : f32\n"; };
    Options rounded;
    rounded.rounded_division = true;
    const std::string variable = "  %d = load arg1[%i] : f32\n", four = "  %d = constant -4.0 : f32\n",
                      three = "  %d = constant 3.0 : f32\n";
    EXPECT_TRUE(emits(divided(variable), "= pm_div_strict(", {}, "strict"));
    EXPECT_FALSE(emits(divided(variable), "pm_div_strict", rounded, "strict"));
    EXPECT_FALSE(emits(divided(variable), "pm_div_strict", {}));
    EXPECT_TRUE(emits(divided(three), "= pm_div_strict(", {}, "strict"));
    EXPECT_TRUE(emits(divided(four), "* (-0.25)", {}, "strict"));
    EXPECT_TRUE(emits("  %y = sqrt %x : f32\n  store arg1[%i], %y : f32\n", "= pm_sqrt_strict(", {}, "strict"));
}

}  // namespace
}  // namespace pumice::codegen
