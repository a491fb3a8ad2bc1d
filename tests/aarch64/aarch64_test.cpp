// Kernels as code for AArch64, linked with driver.c by aarch64-linux-gnu-gcc and run by qemu-aarch64, against the same kernels as
// code for this machine: every array has the same bits afterwards. Both have the same widths of a packet, 1 to 16. The kernels
// are strict where they compute with fractions.
#include <gtest/gtest.h>
#include <pumice/pumice.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cpu/emit/emit_module.h"
#include "cpu/native/frame.h"
#include "cpu/native/host_function.h"
#include "cpu/native/llvm.h"
#include "cpu/plan/lower_for_cpu.h"
#include "tests/source_folder.h"

namespace pumice::cpu {
namespace {

namespace fs = std::filesystem;

struct Argument {
    std::string bytes;  ///< what an array holds; "" for a scalar
    uint64_t bits = 0;
    std::array<int64_t, 3> extents{1, 1, 1};
};
template <class T> Argument array(const std::vector<T>& v, std::array<int64_t, 3> extents = {}) {
    if (extents[0] == 0) extents = {int64_t(v.size()), 1, 1};
    return {std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)), 0, extents};
}
template <class T> Argument scalar(T value) {
    Argument a;
    std::memcpy(&a.bits, &value, sizeof value);
    return a;
}
template <class T, class F> std::vector<T> made(int n, F&& of) {
    std::vector<T> v;
    for (int i = 0; i < n; ++i) v.push_back(T(of(i)));
    return v;
}

struct Case {
    std::string kernel;
    std::array<int64_t, 3> group, extent;
    std::vector<Argument> arguments;

    std::array<int64_t, 3> count() const {
        std::array<int64_t, 3> n{};
        for (size_t a = 0; a < 3; ++a) n[a] = (extent[a] + group[a] - 1) / group[a];
        return n;
    }
};

Emitted emitted(const Case& c, int width, Isa isa, const std::string& triple) {
    const ir::Kernel k = ir::parse(c.kernel);
    EXPECT_EQ(ir::verify(k), "");
    Target target;
    target.width = width, target.isa = isa, target.triple = triple;
    const Emitted e = emit_llvm(lower(k, false), target, {c.group, false});
    EXPECT_EQ(e.symbol, "pumice_kernel") << "driver.c calls another function";
    EXPECT_TRUE(e.functions.empty()) << e.functions[0] << " is not linked";
    return e;
}

/// The contents of the arrays, one after the other, after the host has run the kernel.
std::string on_host(const Case& c, int width) {
    const Emitted e = emitted(c, width, Isa::none, host_machine().triple);
    std::string reason;
    const auto loader = make_loader([](const char*) -> void* { return nullptr; });
    const auto code = loader->load(make_object(e.text, host_machine()).bytes, e.symbol, reason);
    if (!code) return reason;
    std::vector<Argument> own = c.arguments;
    std::vector<FrameArgument> arguments;
    for (Argument& a : own)
        arguments.push_back({a.bytes.empty() ? a.bits : uint64_t(reinterpret_cast<uintptr_t>(a.bytes.data())), a.extents.data()});
    std::vector<std::byte> scratch(size_t(e.scratch_bytes) + 64);
    Frame frame;
    frame.arguments = arguments.data();
    frame.scratch = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    for (size_t a = 0; a < 3; ++a) frame.extent[a] = int32_t(c.extent[a]), frame.count[a] = int32_t(c.count()[a]);
    frame.columns[1] = frame.count[0];
    reinterpret_cast<Entry*>(code->entry)(&frame, 0, c.count()[0] * c.count()[1] * c.count()[2]);
    std::string all;
    for (const Argument& a : own) all += a.bytes;
    return all;
}

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
}

class Aarch64 : public testing::TestWithParam<int> {
protected:
    Aarch64() : folder(fs::path(testing::TempDir()) / text("pumice_aarch64_", getpid())) { fs::create_directories(folder); }
    ~Aarch64() override { fs::remove_all(folder); }

    static std::string tool(const char* variable, const char* otherwise) {
        const char* const path = std::getenv(variable);
        return path ? path : otherwise;
    }
    void shell(const std::string& command) const {
        const int status = std::system(("( " + command + " ) 2> '" + (folder / "log").string() + "'").c_str());
        ASSERT_EQ(status, 0) << command << "\n" << read(folder / "log");
    }
    std::string input(const Case& c, int64_t scratch_bytes) const {
        std::string all;
        const auto word = [&all](int64_t w) { all.append(reinterpret_cast<const char*>(&w), sizeof w); };
        word(scratch_bytes);
        for (int axis = 0; axis < 3; ++axis) word(0);
        for (const int64_t n : c.extent) word(n);
        for (const int64_t n : c.count()) word(n);
        word(int64_t(c.arguments.size()));
        for (const Argument& a : c.arguments) {
            word(int64_t(a.bytes.size()));
            if (a.bytes.empty())
                word(int64_t(a.bits));
            else
                for (const int64_t n : a.extents) word(n);
            all += a.bytes;
        }
        return all;
    }
    /// Both sides agree, and the kernel has changed the arrays.
    void check(const Case& c) const {
        const Emitted e = emitted(c, GetParam(), Isa::neon, "aarch64-linux-gnu");
        const Object object = make_object(e.text, {"aarch64-linux-gnu", "generic", "+neon"});
        std::ofstream(folder / "kernel.o", std::ios::binary) << object.bytes;
        std::ofstream(folder / "in", std::ios::binary) << input(c, e.scratch_bytes);
        const std::string driver = (source_folder() / "tests/aarch64/driver.c").string(), at = "cd '" + folder.string() + "' && ";
        const std::string link = tool("PUMICE_AARCH64_GCC", "aarch64-linux-gnu-gcc") + " -O1 -static -Wall -Werror";
        ASSERT_NO_FATAL_FAILURE(shell(at + link + " '" + driver + "' kernel.o -lm -o program"));
        ASSERT_NO_FATAL_FAILURE(shell(at + tool("PUMICE_QEMU_AARCH64", "qemu-aarch64") + " ./program < in > out"));
        std::string before;
        for (const Argument& a : c.arguments) before += a.bytes;
        const std::string got = read(folder / "out"), wanted = on_host(c, GetParam());
        ASSERT_EQ(got.size(), before.size());
        ASSERT_EQ(wanted.size(), before.size()) << wanted;
        EXPECT_NE(wanted, before) << "the kernel changes nothing";
        size_t first = 0;
        while (first < got.size() && got[first] == wanted[first]) ++first;
        EXPECT_EQ(first, got.size()) << "the first byte that differs";
    }

private:
    const fs::path folder;
};

TEST_P(Aarch64, Saxpy) {
    check({R"(kernel "saxpy" math strict rank 1 (arg1: inout f32[1], arg2: in f32[1], arg3: f32) files ["k.cpp"] {
  %i = global_index 0 : i32
  %y = load arg1[%i] : f32
  %a = argument arg3 : f32
  %x = load arg2[%i] : f32
  %ax = mul %a, %x : f32
  %sum = add %y, %ax : f32
  store arg1[%i], %sum : f32
  return
})",
           {64, 1, 1},
           {1003, 1, 1},
           {array(made<float>(1003, [](int i) { return float(i) / 7; })),
            array(made<float>(1003, [](int i) { return 3 - float(i) / 11; })), scalar(0.3f)}});
}

// Values of neighbours through local memory, twice in each iteration, on either side of a barrier.
TEST_P(Aarch64, BarriersAndLocalMemory) {
    check({R"(kernel "scan" math strict rank 1 (arg1: inout f32[1]) files ["k.cpp"] {
  local local1: f32[32]
  %l = local_index 0 : i32
  %i = global_index 0 : i32
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %five = constant 5 : i32
  %x = load arg1[%i] : f32
  store local1[%l], %x : f32
  barrier
  for %k = %zero to %five step %one {
    %d = shl %one, %k : i32
    %at = sub %l, %d : i32
    %there = max %at, %zero : i32
    %a = load local1[%there] : f32
    %b = load local1[%l] : f32
    %c = add %a, %b : f32
    %has = ge %at, %zero : bool
    %n = select %has, %c, %b : f32
    barrier
    store local1[%l], %n : f32
    barrier
    yield
  }
  %r = load local1[%l] : f32
  store arg1[%i], %r : f32
  return
})",
           {32, 1, 1},
           {320, 1, 1},
           {array(made<float>(320, [](int i) { return 1 / float(i + 1); }))}});
}

TEST_P(Aarch64, DivergentLoop) {
    const std::string golden = read(source_folder() / "tests/golden/llvm_collatz.txt");
    const size_t line = golden.find('\n') + 1;
    check({golden.substr(line, golden.find("\n----\n") - line),
           {64, 1, 1},
           {500, 1, 1},
           {array(made<int>(500, [](int) { return -1; })), array(made<int>(500, [](int i) { return 3 * i + 1; }))}});
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Width, Aarch64, testing::Values(1, 4, 8, 16), testing::PrintToStringParamName());

}  // namespace pumice::cpu
