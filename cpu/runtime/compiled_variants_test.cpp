// How often is a kernel compiled? Launches over ranges that shrink, and with and without a tail, share code.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/kernel/kernel.h"
#include "core/kernel/prepare.h"
#include "core/language/console.h"
#include "core/language/control.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
#include "core/support/debug.h"
#include "cpu/runtime/cpu.h"
#include "cpu/runtime/cpu_program.h"

namespace pumice::cpu {
namespace {

/// A device whose disk cache is an empty folder of its own, in which each compiled variant becomes a file.
class CompiledVariants : public testing::Test {
protected:
    void SetUp() override {
        if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
        folder = std::filesystem::temp_directory_path() / ("pumice_variants_" + std::to_string(getpid()));
        std::filesystem::remove_all(folder);
        cache.emplace("PUMICE_CACHE_DIR", folder);
    }
    void TearDown() override {
        std::filesystem::remove_all(folder);
        cache.reset();
    }
    int compiled() const {
        int files = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
            files += entry.path().extension() == ".object";
        return files;
    }
    std::filesystem::path folder;
    std::optional<debug::Override> cache;
};

/// An elimination visits ranges of all sizes from 289 x 289 to 1 x 1.
TEST_F(CompiledVariants, of_ranges_that_shrink) {
    const int n = 290;
    const auto eliminate = kernel("eliminate", [](InOut<int, 2> a, Val<int> k) {
        auto [i, j] = global_index<2>();
        a(i, j) += a(i, k) * 3 + a(k, j);
    });
    const Device device(open());
    const Array<int, 2> a = device.full<int>({n, n}, 1);
    std::vector<int> want(size_t(n * n), 1);
    for (int k = 0; k + 1 < n; ++k) {
        eliminate(ndrange({k + 1, k + 1}, {n, n}), a, k);
        for (int i = k + 1; i < n; ++i)
            for (int j = k + 1; j < n; ++j) {
                const auto at = [&](int row, int column) -> int& { return want[size_t(row * n + column)]; };
                at(i, j) = int(uint32_t(at(i, j)) + uint32_t(at(i, k)) * 3u + uint32_t(at(k, j)));
            }
    }
    EXPECT_EQ(a.download(), want);
    EXPECT_LE(compiled(), 3) << "one, and one each for ranges that are whole groups and that exceed the caches";
}

/// Shorter groups than the compiled ones are compiled where longer ones would leave threads without work.
TEST_F(CompiledVariants, of_ranges_that_need_other_groups) {
    const auto count = kernel("count", [](InOut<int> y) { y[global_index()] += 1; });
    const Device device(open());
    const Array<int> y = device.zeros<int>(200'000);
    for (const int n : {200'000, 1000, 64}) count(ndrange(n), y);
    const std::vector<int> got = y.download();
    EXPECT_EQ(got[0], 3);
    EXPECT_EQ(got[999], 2);
    EXPECT_EQ(got[199'999], 1);
    EXPECT_LE(compiled(), 4);
}

/// The launches: a whole range, one with a tail, a slice off the lines of the caches, a sum of all items, and large arrays.
TEST_F(CompiledVariants, that_are_prepared_are_not_compiled_again) {
    const auto scale = kernel("scale", [](Out<float> y, In<float> x) { y[global_index()] = 2.0f * x[global_index()]; });
    const auto sum = kernel("sum", [](InOut<float> to, In<float, 2> x) {
        auto [i, j] = global_index<2>();
        atomic_add(to[0], x(i, j));
    });
    const Device device(open());
    prepare(scale, device, {.range = ndrange(65536)});
    prepare(scale, device, {.range = ndrange(1000), .on_thread = true}).wait();
    prepare(scale, device, {.range = ndrange(65536), .extents = {{65536}, {65536}}, .offsets = {4, 8}});
    prepare(sum, device, {.range = ndrange(300, 500), .extents = {{1}}});
    const int prepared = compiled();
    EXPECT_GE(prepared, 2);
    const Array<float> x = device.full<float>(65538, 1.0f), y = device.zeros<float>(65538), to = device.zeros<float>(1);
    scale(ndrange(65536), y.slice(0, 65536), x.slice(0, 65536));
    scale(ndrange(1000), y.slice(0, 1000), x.slice(0, 1000));
    scale(ndrange(65536), y.slice(1, 65537), x.slice(2, 65538));
    sum(ndrange(300, 500), to, device.full<float>({300, 500}, 1.0f));
    EXPECT_EQ(to.get(0), 150000.0f);
    EXPECT_EQ(y.get(65536), 2.0f);
    EXPECT_EQ(compiled(), prepared);
}

/// A launch finds code that is being compiled, and later the same code, compiled once.
TEST_F(CompiledVariants, are_compiled_in_the_background) {
    const auto scale = kernel("scale", [](InOut<float> x) { x[global_index()] *= 2.0f; });
    const auto compiler = std::make_shared<Compiler>(0, host_machine());
    CpuProgram program(compiler, std::make_shared<const ir::Kernel>(*scale.recorded()));
    Launch launch;
    launch.extent = {64, 1, 1}, launch.group = {64, 1, 1};
    launch.arguments.resize(1);
    const CpuProgram::Code first = program.code(launch, 1, true);
    EXPECT_EQ(first.native, nullptr);
    ASSERT_TRUE(first.later.valid());
    std::vector<std::shared_ptr<Native>> found(4);
    {
        std::vector<std::jthread> threads;
        for (auto& native : found) threads.emplace_back([&] { native = program.variant(launch, 1); });
    }
    for (const auto& native : found) EXPECT_EQ(native, first.later.get());
    EXPECT_NE(found[0]->entry, nullptr);
    EXPECT_EQ(program.code(launch, 1, true).native, found[0]);
    EXPECT_EQ(compiled(), 1);
}

/// The wait for a compilation in the background reports its failure. The next launch tries again.
TEST_F(CompiledVariants, that_fail_are_tried_again) {
    const auto scale = kernel("scale", [](InOut<float> x) { x[global_index()] *= 2.0f; });
    CpuProgram program(std::make_shared<Compiler>(4, Machine{"nowhere-unknown-linux-gnu", "", ""}),
                       std::make_shared<const ir::Kernel>(*scale.recorded()));
    Launch launch;
    launch.extent = {64, 1, 1}, launch.group = {64, 1, 1};
    launch.arguments.resize(1);
    for (int round = 0; round < 2; ++round) {
        const CpuProgram::Code code = program.code(launch, 1, true);
        ASSERT_TRUE(code.later.valid());
        EXPECT_THROW(code.later.get(), Error);
    }
    EXPECT_EQ(compiled(), 0);
}

/// An invalid kernel is an error of the launch itself. Nothing has been done.
TEST_F(CompiledVariants, of_invalid_kernels_are_refused_at_once) {
    const auto early = kernel("early", static_group<64>, whole_groups, [](InOut<float> x) {
        Local<float, 64> all;
        $if(x[local_index()] > 0.0f) { $return; }
        all[local_index()] = 1.0f;
        synchronize();
        x[global_index()] = all[63 - local_index()];
    });
    const Device device(open());
    const Array<float> x = device.full<float>(64, 1.0f);
    EXPECT_THROW(early(ndrange(64), x), Error);
    EXPECT_NO_THROW(device.synchronize());
    EXPECT_EQ(x.get(0), 1.0f);
}

/// Launches whose code is being compiled keep their order, their arrays, and the errors of kernels.
TEST_F(CompiledVariants, of_launches_that_wait_for_their_code) {
    const auto add = kernel("add", [](InOut<int> y, In<int> x) { y[global_index()] += x[global_index()]; });
    const auto twice = kernel("twice", [](InOut<int> y) { y[global_index()] *= 2; });
    const auto small = kernel("small", [](In<int> y) { require(y[global_index()] < 6, "an element is 6 or more"); });
    const Device device(open());
    const Array<int> y = device.full<int>(1000, 1);
    add(ndrange(1000), y, device.full<int>(1000, 2));
    twice(ndrange(1000), y);
    small(ndrange(1000), y);
    const Array<int> copy = device.zeros<int>(1000);
    copy.copy_from(y);
    twice(ndrange(1000), y);
    EXPECT_THROW(device.synchronize(), Error);
    EXPECT_EQ(copy.download(), std::vector<int>(1000, 6));
    EXPECT_EQ(y.download(), std::vector<int>(1000, 12));
}

/// exit() while threads compile: LLVM's destructors wait for them. LeakSanitizer looks for leaks before that, while LLVM's memory
/// changes hands, so the process that exits does without it.
TEST_F(CompiledVariants, may_be_unfinished_when_the_process_ends) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    const auto launch_and_exit = [] {
        static const Device device(open());
        static std::vector<Array<float>> arrays;
        for (int n = 0; n < 4; ++n) {
            const auto long_kernel = kernel("long_kernel", [n](InOut<float> x) {
                auto i = global_index();
                Var<float> sum = x[i];
                for (int m = 0; m < 20 + n; ++m) sum = sin(sum) + cos(sum * float(m));
                x[i] = sum;
            });
            arrays.push_back(device.full<float>(1000, 1.0f));
            long_kernel(ndrange(1000), arrays.back());
        }
        std::exit(0);
    };
    EXPECT_EXIT(launch_and_exit(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pumice::cpu
