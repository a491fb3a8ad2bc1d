#include "cpu/native/llvm.h"
#include "cpu/native/foreign_object.h"

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

TEST_F(Llvm, MergedBitsAreNotSelectedByTheSameInstruction) {
    // llvm-project issue 157929: a masked vpternlog with a constant in memory computes something else.
    const auto all = [](const char* word) {
        std::string list;
        for (int lane = 0; lane < 16; ++lane) list += text(lane ? ", i32 " : "<i32 ", word);
        return list + ">";
    };
    const std::string logic =
                          "define void @f(ptr %p, ptr %q, ptr %m) { %x = load <16 x i32>, ptr %p %y = load <16 x i32>, ptr %q "
                          "%a = and <16 x i32> %x, " +
                          all("1431655765") + " %b = and <16 x i32> %y, " + all("-1431655766") + " %o = or <16 x i32> %a, %b ",
                      end = " store <16 x i32> %s, ptr %m ret void }",
                      select =
                          "%w = load <16 x i32>, ptr %m %c = icmp sgt <16 x i32> %w, zeroinitializer "
                          "%s = select <16 x i1> %c, <16 x i32> %o, <16 x i32> %x";
    std::string blend = "%s = shufflevector <16 x i32> %o, <16 x i32> %x, <16 x i32> <i32 0";
    for (int lane = 1; lane < 16; ++lane) blend += text(", i32 ", lane % 8 == 0 ? lane : 16 + lane);
    const Machine machine{host_machine().triple, "x86-64-v4", "+avx512f,+avx512vl,+avx512bw,+avx512dq"};
    if (!machine.triple.starts_with("x86_64")) GTEST_SKIP() << "SKIPPED: this machine is no x86-64";
    for (const std::string& chosen : {select, blend + ">"})
        for (const std::string& assembly : {make_object(logic + chosen + end, machine, true).assembly,
                                            make_foreign_object(logic + chosen + end, machine, true).assembly}) {
            EXPECT_NE(assembly.find("vpternlog"), std::string::npos) << assembly;
            for (size_t at = 0; (at = assembly.find("vpternlog", at)) != assembly.npos; ++at) {
                const std::string line = assembly.substr(at, assembly.find('\n', at) - at);
                EXPECT_EQ(line.find("{%k"), std::string::npos) << line;
            }
        }
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
