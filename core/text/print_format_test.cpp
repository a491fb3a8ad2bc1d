#include "core/text/print_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace pumice {

using namespace internal;
namespace {

using S = Scalar;

uint64_t f32(float v) { return std::bit_cast<uint32_t>(v); }
uint64_t f64(double v) { return std::bit_cast<uint64_t>(v); }
std::string one(const char* format, S type, uint64_t bits) {
    const PrintFormat f(format);
    EXPECT_EQ(f.misfit({&type, 1}), "") << format;
    return f.line({&type, 1}, {&bits, 1});
}

TEST(format, values_of_every_type) {
    EXPECT_EQ(one("{}", S::boolean, 1), "true");
    EXPECT_EQ(one("{}", S::i8, 0x80), "-128");
    EXPECT_EQ(one("{}", S::u8, 65), "65") << "a number, not a letter";
    EXPECT_EQ(one("{}", S::i16, 0xffff), "-1");
    EXPECT_EQ(one("{}", S::u16, 0xffff), "65535");
    EXPECT_EQ(one("{}", S::i32, 0x80000000), "-2147483648");
    EXPECT_EQ(one("{}", S::u32, 0xffffffff), "4294967295");
    EXPECT_EQ(one("{}", S::i64, 1ull << 63), "-9223372036854775808");
    EXPECT_EQ(one("{}", S::u64, ~0ull), "18446744073709551615");
    EXPECT_EQ(one("{}", S::f16, 0x3e00), "1.5");
    EXPECT_EQ(one("{}", S::f32, f32(0.1f)), "0.1");
    EXPECT_EQ(one("{}", S::f32, f32(3)), "3");
    EXPECT_EQ(one("{}", S::f64, f64(0.1)), "0.1");
    EXPECT_EQ(one("{}", S::f64, f64(1e300)), "1e+300");
    EXPECT_EQ(one("{}", S::f32, f32(-std::numeric_limits<float>::infinity())), "-inf");
    EXPECT_EQ(one("{}", S::f32, 0xffc00000), "nan");
}

TEST(format, specifications) {
    EXPECT_EQ(one("{:.3f}", S::f32, f32(2.0f / 3)), "0.667");
    EXPECT_EQ(one("{:.2e}", S::f64, f64(12345)), "1.23e+04");
    EXPECT_EQ(one("{:.3}", S::f64, f64(12345)), "1.23e+04");
    EXPECT_EQ(one("{:g}", S::f32, f32(0.5f)), "0.5");
    EXPECT_EQ(one("{:x}", S::u32, 0xbeef), "beef");
    EXPECT_EQ(one("{:X}", S::u32, 0xbeef), "BEEF");
    EXPECT_EQ(one("{:b}", S::u8, 5), "101");
    EXPECT_EQ(one("{:o}", S::i32, 8), "10");
    EXPECT_EQ(one("{:d}", S::boolean, 1), "1");
    EXPECT_EQ(one("[{:5}]", S::i32, 42), "[   42]");
    EXPECT_EQ(one("[{:<5}]", S::i32, 42), "[42   ]");
    EXPECT_EQ(one("[{:^5}]", S::i32, 42), "[ 42  ]");
    EXPECT_EQ(one("[{:05}]", S::i32, uint32_t(-42)), "[-0042]");
    EXPECT_EQ(one("[{:+}]", S::i32, 42), "[+42]");
    EXPECT_EQ(one("[{:>6}]", S::boolean, 1), "[  true]");
    EXPECT_EQ(one("[{:6}]", S::boolean, 1), "[true  ]");
    EXPECT_EQ(one("[{:+08.2f}]", S::f32, f32(1.5f)), "[+0001.50]");
    EXPECT_EQ(one("{{{}}}", S::i32, 7), "{7}");
    EXPECT_EQ(PrintFormat::escaped("a{b}"), "a{{b}}");
}

TEST(format, formats_that_do_not_match_their_values) {
    const auto misfit = [](const char* format, std::vector<S> types) { return PrintFormat(format).misfit(types); };
    EXPECT_EQ(misfit("{} {}", {S::i32}), "the format \"{} {}\" has 2 places for 1 value");
    EXPECT_EQ(misfit("none", {S::i32, S::f32}), "the format \"none\" has 0 places for 2 values");
    EXPECT_EQ(misfit("{:x}", {S::f32}), "the format \"{:x}\" shows value 1, which is f32, as x");
    EXPECT_EQ(misfit("{}{:f}", {S::i32, S::i8}), "the format \"{}{:f}\" shows value 2, which is i8, as f");
    EXPECT_EQ(misfit("{:.3}", {S::i32}), "the format \"{:.3}\" gives value 1, which is i32, a precision");
    EXPECT_EQ(misfit("a { b", {}), "the format \"a { b\" has a { that no } closes");
    EXPECT_EQ(misfit("a } b", {}), "the format \"a } b\" has a } that no { opens");
    const std::string places =
        "; a place is {} or {:spec}, where a spec is [< > ^][+][0][width][.precision] and one of d x X b o e E f g G";
    EXPECT_EQ(misfit("{0}", {S::i32}), "the format \"{0}\" has the place {0}" + places);
    EXPECT_EQ(misfit("{:.f}", {S::f32}), "the format \"{:.f}\" has the place {:.f}" + places);
    EXPECT_EQ(misfit("{:100}", {S::f32}), "the format \"{:100}\" has the place {:100}" + places);
}

}  // namespace
}  // namespace pumice
