#include "cpu/native/llvm.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/support/error.h"

namespace pumice::cpu {
namespace {

class Llvm : public testing::Test {
protected:
    void SetUp() override {
        if (!llvm_unavailable().empty()) GTEST_SKIP() << "SKIPPED: " << llvm_unavailable();
    }
    static void* resolve(const char* name) {
        static const auto seven = [] { return 7; };
        if (std::string(name) == "seven") return reinterpret_cast<void*>(+seven);
        return dlsym(RTLD_DEFAULT, name);
    }
};

std::string returns(int number) { return text("define i32 @f() { ret i32 ", number, " }"); }

int call(const std::shared_ptr<Code>& code) { return reinterpret_cast<int (*)()>(code->entry)(); }

TEST_F(Llvm, TextBecomesCodeThatRuns) {
    const auto loader = make_loader(resolve);
    std::string reason;
    const Object object = make_object(
        "declare i32 @seven() define i32 @f() { %x = call i32 @seven() %y = mul i32 %x, 6 ret i32 %y }", host_machine());
    const auto code = loader->load(object.bytes, "f", reason);
    ASSERT_TRUE(code) << reason;
    EXPECT_EQ(call(code), 42);
}

TEST_F(Llvm, ObjectsMayDefineTheSameName) {
    const auto loader = make_loader(resolve);
    std::string reason;
    const auto one = loader->load(make_object(returns(1), host_machine()).bytes, "f", reason);
    auto two = loader->load(make_object(returns(2), host_machine()).bytes, "f", reason);
    ASSERT_TRUE(one && two) << reason;
    EXPECT_EQ(call(one), 1);
    EXPECT_EQ(call(two), 2);
    two = nullptr;  // its place is used again
    const auto three = loader->load(make_object(returns(3), host_machine()).bytes, "f", reason);
    ASSERT_TRUE(three) << reason;
    EXPECT_EQ(call(three), 3);
    EXPECT_EQ(call(one), 1);
}

TEST_F(Llvm, ObjectsThatCannotBeLoadedGiveAReasonAndHarmNothing) {
    const auto loader = make_loader(resolve);
    const Object good = make_object(returns(5), host_machine());
    std::string reason;
    EXPECT_FALSE(loader->load("no object", "f", reason));
    EXPECT_NE(reason.find("not recognized as a valid object file"), std::string::npos) << reason;
    EXPECT_FALSE(loader->load(
        make_object("declare void @nowhere() define void @f() { call void @nowhere() ret void }", host_machine()).bytes, "f",
        reason));
    EXPECT_NE(reason.find("nowhere"), std::string::npos) << reason;
    EXPECT_FALSE(loader->load(good.bytes, "g", reason));
    const auto code = loader->load(good.bytes, "f", reason);
    ASSERT_TRUE(code) << reason;
    EXPECT_EQ(call(code), 5);
}

TEST_F(Llvm, ThreadsCompileAtOnce) {
    const auto loader = make_loader(resolve);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int k = 0; k < 5; ++k) {
                std::string reason;
                const auto code = loader->load(make_object(returns(10 * t + k), host_machine()).bytes, "f", reason);
                ASSERT_TRUE(code) << reason;
                EXPECT_EQ(call(code), 10 * t + k);
            }
        });
    for (std::thread& thread : threads) thread.join();
}

TEST_F(Llvm, VectorsAreAsWideAsTheyAreWritten) {
    Machine machine = host_machine();
    machine.cpu = "x86-64", machine.features = "+avx512f,+avx512vl,+avx512bw,+avx512dq";
    const char* const twice =
        "define void @f(ptr %p) { %v = load <16 x float>, ptr %p %w = fadd <16 x float> %v, %v store <16 x float> %w, ptr %p ret "
        "void }";
    EXPECT_NE(make_object(twice, machine, true).assembly.find("zmm"), std::string::npos);
    EXPECT_EQ(native_width(machine), 16);
    machine.features = "+avx2,+fma";
    EXPECT_EQ(native_width(machine), 8);
    EXPECT_NE(make_object(twice, machine, true).assembly.find("ymm"), std::string::npos);
    machine.features = "";
    EXPECT_EQ(native_width(machine), 4);
}

TEST_F(Llvm, ObjectsForOtherProcessors) {
    const Machine arm{"aarch64-linux-gnu", "generic", "+neon"};
    const Object object = make_object(returns(1), arm, true);
    EXPECT_EQ(object.bytes.substr(1, 3), "ELF");
    EXPECT_EQ(uint8_t(object.bytes[18]), 183) << "the object is not for AArch64";
    EXPECT_NE(object.assembly.find("mov\tw0, #1"), std::string::npos) << object.assembly;
    EXPECT_THROW(make_object(returns(1), {"pdp11-unknown", "", ""}), Error);
}

}  // namespace
}  // namespace pumice::cpu
