#include "cpu/native/cpu_target.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/support/error.h"

namespace pumice::cpu {
namespace {

TEST(Target, native_is_the_host) {
    if (!llvm_unavailable().empty()) GTEST_SKIP() << "SKIPPED: " << llvm_unavailable();
    EXPECT_EQ(machine_named("native").cpu, host_machine().cpu);
    EXPECT_TRUE(features_lacking(host_machine()).empty());
}

TEST(Target, each_level_has_the_features_of_the_one_before) {
    if (!llvm_unavailable().empty()) GTEST_SKIP() << "SKIPPED: " << llvm_unavailable();
    const Machine v2 = machine_named("x86-64-v2"), v3 = machine_named("x86-64-v3"), v4 = machine_named("x86-64-v4");
    EXPECT_EQ(native_width(v2), 4);
    EXPECT_EQ(native_width(v3), 8);
    EXPECT_EQ(native_width(v4), 16);
    EXPECT_TRUE(v2.has("sse4.1") && !v2.has("avx"));
    EXPECT_TRUE(v3.has("sse4.1") && v3.has("avx2") && !v3.has("avx512f"));
    EXPECT_TRUE(v4.has("sse4.1") && v4.has("avx2") && v4.has("avx512bw"));
    for (const Machine& m : {v2, v3, v4}) EXPECT_EQ(m.triple, host_machine().triple);
}

TEST(Target, features_that_the_host_lacks_are_named) {
    if (!llvm_unavailable().empty()) GTEST_SKIP() << "SKIPPED: " << llvm_unavailable();
    const Machine machine{host_machine().triple, "x86-64", "+sse2,+nonsense,-avx"};
    const std::vector<std::string> lacking = features_lacking(machine);
    EXPECT_EQ(std::count(lacking.begin(), lacking.end(), "nonsense"), 1);
    EXPECT_EQ(std::count(lacking.begin(), lacking.end(), "avx"), 0);
}

TEST(Target, unknown_names_are_refused) {
    if (!llvm_unavailable().empty()) GTEST_SKIP() << "SKIPPED: " << llvm_unavailable();
    EXPECT_THROW(machine_named("x86-64-v9"), Error);
    EXPECT_THROW(machine_named(""), Error);
}

}  // namespace
}  // namespace pumice::cpu
