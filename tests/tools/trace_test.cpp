// PUMICE_TRACE: the files that programs leave, as a reader of trace events sees them. Each program is a process of its own.
#include <gtest/gtest.h>
#include <pumice/pumice.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "core/support/debug.h"
#include "core/support/trace.h"
#include "tests/sanitized.h"

using namespace pumice;
namespace fs = std::filesystem;

namespace {

constexpr int saxpy_line = __LINE__ + 1;
const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
});
const auto square = kernel("square", [](InOut<float> x) {
    auto i = global_index();
    x[i] = x[i] * x[i] + 0.25f;
});

std::string text_of(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The events of a trace whose process was ended: the closing bracket may be missing, as the format allows.
nlohmann::json parsed(const std::string& text) { return nlohmann::json::parse(nlohmann::json::accept(text) ? text : text + "]"); }

class Trace : public testing::Test {
protected:
    Trace() {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        path =
            fs::temp_directory_path() / (std::string("pumice_") + testing::UnitTest::GetInstance()->current_test_info()->name() +
                                         "_" + (std::getenv("PUMICE_DEVICE") ? std::getenv("PUMICE_DEVICE") : "any") + ".json");
    }
    ~Trace() override { fs::remove(path); }

    void begin() const {
        setenv("PUMICE_TRACE", path.c_str(), 1);
        setenv("PUMICE_CACHE_DIR", "off", 1);
        debug::reload();
    }
    nlohmann::json events() const {
        return nlohmann::json::parse(text_of(path));  // throws unless the file is valid JSON
    }

    fs::path path;
};

int64_t begin_of(const nlohmann::json& e) { return std::llround(e["ts"].get<double>() * 1000); }
int64_t end_of(const nlohmann::json& e) { return begin_of(e) + std::llround(e["dur"].get<double>() * 1000); }

/// Every event has what Perfetto needs, and events of one thread nest. Returns the complete events by category.
std::map<std::string, std::vector<nlohmann::json>> checked(const nlohmann::json& all) {
    std::map<std::string, std::vector<nlohmann::json>> found;
    std::map<std::pair<int64_t, int64_t>, std::vector<std::pair<int64_t, int64_t>>> threads;
    EXPECT_TRUE(all.is_array());
    for (const auto& e : all) {
        const std::string kind = e.at("ph");
        EXPECT_TRUE(e.at("pid").is_number_integer() && e.at("tid").is_number_integer() && e.at("name").is_string()) << e;
        if (kind == "M") continue;
        EXPECT_EQ(kind, "X") << e;
        EXPECT_GE(e.at("ts").get<double>(), 0) << e;
        EXPECT_GE(e.at("dur").get<double>(), 0) << e;
        found[e.at("cat")].push_back(e);
        threads[{e["pid"], e["tid"]}].emplace_back(begin_of(e), -end_of(e));
    }
    for (auto& [category, of_it] : found)  // each thread's events are in order, and those of several threads as they are written
        std::stable_sort(of_it.begin(), of_it.end(), [](const auto& a, const auto& b) { return begin_of(a) < begin_of(b); });
    for (auto& [thread, spans] : threads) {
        std::sort(spans.begin(), spans.end());
        std::vector<int64_t> open;
        for (const auto& [begin, minus_end] : spans) {
            while (!open.empty() && open.back() <= begin) open.pop_back();
            EXPECT_TRUE(open.empty() || -minus_end <= open.back()) << "of thread " << thread.first << " " << thread.second;
            open.push_back(-minus_end);
        }
    }
    return found;
}

void run_saxpy(int64_t n) {
    const Device device = Device::open();
    Array<float> x = device.full<float>(n, 2.0f), y = device.zeros<float>(n);
    saxpy(ndrange(n), y, x, 0.5f);
    if (y.get(n - 1) != 1.0f) std::exit(2);
    Array<float> z = device.empty<float>(n);
    z.copy_from(y);
    if (z.download()[0] != 1.0f) std::exit(3);
}

TEST_F(Trace, HoldsLaunchesWithTheirLineBytesAndOperations) {
    constexpr int64_t n = 1 << 16;
    EXPECT_EXIT(
        {
            begin();
            run_saxpy(n);
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    auto by = checked(events());
    ASSERT_EQ(by["launch"].size(), 1u);
    const nlohmann::json& launch = by["launch"][0];
    EXPECT_EQ(launch["name"], "saxpy");
    EXPECT_EQ(launch["args"]["source"], "trace_test.cpp:" + std::to_string(saxpy_line));
    EXPECT_EQ(launch["args"]["bytes"], 12 * n);
    EXPECT_EQ(launch["args"]["operations"], 2 * n);
    EXPECT_EQ(launch["args"]["counts"], "exact");
    const double seconds = launch["dur"].get<double>() * 1e-6;
    EXPECT_NEAR(launch["args"]["GB/s"].get<double>(), 12e-9 * n / seconds, 0.02 * 12e-9 * n / seconds);
    EXPECT_EQ(by["copy"].size(), 3u + 0 * n);  // get, copy, download
    EXPECT_FALSE(by["memory"].empty());
    EXPECT_FALSE(by["compile"].empty());
    const bool compiles = std::string(std::getenv("PUMICE_DEVICE") ? std::getenv("PUMICE_DEVICE") : "") != "interp";
    if (!compiles) return;
    EXPECT_FALSE(by["pass"].empty());
    EXPECT_GT(launch["args"]["share of the roof"].get<double>(), 0);
}

/// Each element takes 32,768 operations and 8 bytes: far beyond any ratio of the two roofs, however a busy machine disturbs them.
const auto compound = kernel("compound", [](InOut<float> x) {
    auto i = global_index();
    Var<float> a = x[i];
    $for(k, range(1 << 14)) { a = a * 0.5f + 0.25f; };
    x[i] = a;
});

TEST_F(Trace, SaysWhichRoofIsNear) {
    const std::string device = std::getenv("PUMICE_DEVICE") ? std::getenv("PUMICE_DEVICE") : "";
    if (device == "interp") GTEST_SKIP() << "the interpreter has no roof";
    EXPECT_EXIT(
        {
            begin();
            const Device open = Device::open();
            Array<float> x = open.full<float>(1 << 8, 0.5f);
            compound(ndrange(1 << 8), x);
            open.synchronize();
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    auto by = checked(events());
    ASSERT_EQ(by["launch"].size(), 1u);
    EXPECT_EQ(by["launch"][0]["args"]["roof"], "arithmetic");
}

/// Times of the device are on the host's clock: a launch runs after its call began, and before a wait for it ends.
TEST_F(Trace, DeviceTimesLieBetweenTheHostsCalls) {
    EXPECT_EXIT(
        {
            begin();
            const Device device = Device::open();
            Array<float> x = device.full<float>(1 << 14, 0.5f);
            for (int k = 0; k < 20; ++k) {
                square(ndrange(1 << 14), x);
                device.synchronize();
            }
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    auto by = checked(events());
    std::vector<nlohmann::json> calls, waits;
    for (const auto& e : by["host"]) {
        if (e["name"] == "launch") calls.push_back(e);
        if (e["name"] == "synchronize") waits.push_back(e);
    }
    ASSERT_EQ(by["launch"].size(), 20u);
    ASSERT_EQ(calls.size(), 20u);
    const bool waits_are_traced = waits.size() == 20;
    for (size_t k = 0; k < 20; ++k) {
        EXPECT_GE(begin_of(by["launch"][k]) + 1'000'000, begin_of(calls[k])) << k;  // the driver's clocks may differ a little
        EXPECT_TRUE(!waits_are_traced || end_of(by["launch"][k]) <= end_of(waits[k]) + 1'000'000) << k;
    }
}

TEST_F(Trace, OfManyThreadsIsWhole) {
    EXPECT_EXIT(
        {
            begin();
            const Device device = Device::open();
            std::vector<std::thread> threads;
            for (int t = 0; t < 4; ++t)
                threads.emplace_back([&] {
                    Array<float> x = device.full<float>(64, 0.5f);
                    for (int k = 0; k < 100; ++k) square(ndrange(64), x);
                    (void)x.download();
                });
            for (std::thread& thread : threads) thread.join();
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    EXPECT_EQ(checked(events())["launch"].size(), 400u);
}

/// More events at once than a thread's buffer holds.
TEST_F(Trace, LosesNoEvent) {
    EXPECT_EXIT(
        {
            begin();
            for (int k = 0; k < 50000; ++k) const trace::Span one("host", "one");
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    EXPECT_EQ(checked(events())["host"].size(), 50000u);
}

/// The atexit handlers before the trace's own run after it; destructors of the thread's objects run before.
TEST_F(Trace, HoldsEventsOfTheProgramsEnd) {
    EXPECT_EXIT(
        {
            std::atexit([] { const trace::Span late("host", "late"); });
            begin();
            struct Last {
                ~Last() { const trace::Span one("host", "end of the thread"); }
            };
            std::thread([] {
                thread_local const Last last;
                (void)&last;
                const trace::Span first("host", "first");
            }).join();
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    const auto by = checked(events());
    std::map<std::string, int> names;
    for (const auto& e : by.at("host")) ++names[e["name"]];
    EXPECT_EQ(names, (std::map<std::string, int>{{"first", 1}, {"end of the thread", 1}, {"late", 1}}));
}

/// A fork has neither the thread of the trace nor the file.
TEST_F(Trace, OfAForkGoesNowhere) {
    EXPECT_EXIT(
        {
            begin();
            for (int k = 0; k < 10; ++k) const trace::Span one("host", "one");
            const pid_t child = fork();
            if (child == 0) {
                for (int k = 0; k < 5000; ++k) const trace::Span one("host", "of the fork");
                suite::exit_of_a_fork(0);
            }
            int status = 0;
            waitpid(child, &status, 0);
            for (int k = 0; k < 10; ++k) const trace::Span one("host", "one");
            std::exit(status);
        },
        testing::ExitedWithCode(0), "");
    EXPECT_EQ(checked(events())["host"].size(), 20u);
}

TEST_F(Trace, OfAProgramThatAbortsLacksTheBracketAtMost) {
    EXPECT_DEATH(
        {
            begin();
            const Device device = Device::open();
            Array<float> x = device.full<float>(64, 0.5f);
            for (int k = 0; k < 2000; ++k) square(ndrange(64), x);
            device.synchronize();
            std::abort();
        },
        "");
    EXPECT_GT(checked(parsed(text_of(path))).size(), 0u);
}

TEST_F(Trace, ThatCannotBeWrittenIsSaidAndTheProgramGoesOn) {
    EXPECT_EXIT(
        {
            setenv("PUMICE_TRACE", "/proc/nowhere/trace.json", 1);
            debug::reload();
            run_saxpy(100);
            std::exit(0);
        },
        testing::ExitedWithCode(0), "the trace file /proc/nowhere/trace.json, which PUMICE_TRACE asks for, cannot be written: ");
}

TEST_F(Trace, HoldsTapesAndRecomputedCheckpoints) {
    EXPECT_EXIT(
        {
            begin();
            const Device device = Device::open();
            Array<float> x = device.full<float>(64, 0.5f);
            Array<float> dx = device.full<float>(64, 1.0f);
            const auto steps = [](Array<float>& u) {
                for (int k = 0; k < 12; ++k) square(ndrange(64), u);
            };
            autodiff(Reverse.checkpoints(2), steps, Duplicated(x, dx));
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    auto by = checked(events());
    std::map<std::string, int> names;
    for (const auto& e : by["derivative"]) ++names[e["name"]];
    EXPECT_EQ(names["reverse sweep of a program"], 1);
    EXPECT_GT(names["recompute from a checkpoint"], 0);
}

TEST(TraceFile, IsValidAfterEveryWrite) {
    const fs::path path = fs::temp_directory_path() / "pumice_trace_file.json";
    std::string problem;
    trace::TraceFile file(path.string(), problem);
    ASSERT_EQ(problem, "");
    const auto count = [&] {
        std::ifstream in(path);
        return nlohmann::json::parse(in).size();
    };
    EXPECT_EQ(count(), 1u);  // the host's name
    const int64_t now = trace::now();
    const trace::Details details = trace::Details().add("bytes", 3).add("rate", 0.5), more = trace::Details().add("more", 1);
    file.event(1, 7, {"launch", "a \"name\"\n", {details.text(), more.text()}}, now, now + 1500);
    file.flush();
    EXPECT_EQ(count(), 2u);
    for (int k = 0; k < 1000; ++k) file.event(1, 7, {"launch", "x", {{}, more.text()}}, now, now + 1);
    file.flush();
    EXPECT_EQ(count(), 1002u);
    std::ifstream in(path);
    const auto all = nlohmann::json::parse(in);
    EXPECT_EQ(all[1]["name"], "a \"name\"\n");
    EXPECT_EQ(all[1]["args"]["bytes"], 3);
    EXPECT_EQ(all[1]["args"]["more"], 1);
    EXPECT_EQ(all[1]["dur"], 1.5);
    EXPECT_EQ(all[2]["args"].size(), 1u);
    fs::remove(path);
}

TEST(TraceFile, HasNoEventInTwoPages) {
    const fs::path path = fs::temp_directory_path() / "pumice_trace_file_pages.json";
    std::string problem;
    {
        trace::TraceFile file(path.string(), problem);
        ASSERT_EQ(problem, "");
        const int64_t now = trace::now();
        for (int k = 0; k < 800; ++k) {
            file.event(1, 7, {"launch", std::string(size_t(k * 37 % 501), 'x'), {}}, now, now + 1);
            if (k % 100 == 0) file.flush();
            file.name_thread(1, k, "some thread");
            file.process("device " + std::to_string(k));
        }
    }
    const std::string all = text_of(path);
    ASSERT_GT(all.size(), size_t(256) << 10);
    EXPECT_EQ(parsed(all).size(), 2401u);
    size_t events = 0;  // a process that is ended between two calls of pwrite leaves a whole number of pages
    for (size_t size = 4096; size < all.size(); size += 4096) {
        const size_t some = parsed(all.substr(0, size)).size();
        EXPECT_GT(some, events) << size;
        events = some;
    }
    fs::remove(path);
}

TEST(TraceFile, MayHaveAnEventLongerThanAPage) {
    const fs::path path = fs::temp_directory_path() / "pumice_trace_file_long.json";
    std::string problem;
    {
        trace::TraceFile file(path.string(), problem);
        ASSERT_EQ(problem, "");
        for (const size_t size : {4000, 4096, 5000, 70000, 3}) file.event(1, 7, {"launch", std::string(size, 'x'), {}}, 0, 1);
    }
    EXPECT_EQ(nlohmann::json::parse(text_of(path)).size(), 6u);
    fs::remove(path);
}

}  // namespace
