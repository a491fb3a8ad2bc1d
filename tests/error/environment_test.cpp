// Environment variables and the machine's configuration: each case runs in a process of its own, by GoogleTest's death tests.
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "core/support/debug.h"
#include "tests/error/error_suite.h"
#include "tests/sanitized.h"

#ifdef PUMICE_SANITIZED
#include <sanitizer/lsan_interface.h>

/// Leaks are looked for in the suite, not in the processes of its cases: LeakSanitizer stops the threads of a process one by one
/// and reads their memory, and it crashes when one of oneTBB's workers ends at that moment.
int __lsan_is_turned_off() { return testing::internal::InDeathTestChild() ? 1 : 0; }
#endif

using namespace pumice;
namespace fs = std::filesystem;

namespace {

class Environment : public testing::Test {
protected:
    Environment() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void set(const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
    debug::reload();
}
[[noreturn]] void end(bool good) { std::exit(good ? 0 : 1); }
/// Ends the process successfully if `act` throws an error with this sentence.
template <class F>
[[noreturn]] void end_with(F&& act, const std::string& sentence) {
    const std::string message = suite::message_of(act);
    if (message != sentence) std::cerr << "the message is: " << message << "\n";
    end(message == sentence);
}
bool on_vulkan() { return Device::open().name().rfind("vulkan", 0) == 0; }
bool compiles() { return Device::open().name() != "interp"; }
/// The entry of the device in Device::all().
DeviceInfo listed(const std::string& spec) {
    for (const DeviceInfo& info : Device::all())
        if (info.spec == spec) return info;
    return {};
}
/// A folder for the run of the tests on this device.
fs::path folder(const std::string& name) {
    const char* driver = std::getenv("VK_DRIVER_FILES");
    return fs::path(testing::TempDir()) / ("pumice_error_" + name + "_" + (driver ? fs::path(driver).stem().string() : debug::device()));
}

const auto plus_one = kernel("plus_one", [](InOut<int> a) { a[global_index()] += 1; });
const auto plus_two = kernel("plus_two", [](InOut<int> a) { a[global_index()] += 2; });
const auto add_seven = kernel("add_seven", [](InOut<int> a) { a[global_index()] += 7; });
/// Runs the kernels on the device that the environment names. True if the result is right.
bool right() {
    Array<int> a = Device::open().zeros<int>(8);
    for (const auto& k : {plus_one, plus_two, add_seven}) k(ndrange(8), a);
    return a.download() == std::vector<int>(8, 10);
}

void without_drivers() {
    set("VK_DRIVER_FILES", "/nonexistent");
    set("VK_ICD_FILENAMES", "/nonexistent");
    unsetenv("PUMICE_DEVICE");
    unsetenv("PUMICE_VALIDATE");
    debug::reload();
}

TEST_F(Environment, UnknownDeviceName) {
    EXPECT_EXIT(
        {
            set("PUMICE_DEVICE", "nonsense");
            const std::string message = suite::message_of([] { Device::open(); });
            std::cerr << message << "\n";
            end(message.rfind("there is no device \"nonsense\": this machine has ", 0) == 0);
        },
        testing::ExitedWithCode(0), "while opening the device that PUMICE_DEVICE names");
}

TEST_F(Environment, NoVulkanDriver) {
    EXPECT_EXIT({ without_drivers(); end(Device::open().name().rfind(listed("cpu").usable ? "cpu (" : "interp", 0) == 0 && right()); }, testing::ExitedWithCode(0), "");
    EXPECT_EXIT(
        {
            without_drivers();
            std::cerr << suite::message_of([] { Device::open("vulkan"); }) << "\n";
            end(true);
        },
        testing::ExitedWithCode(0), "no Vulkan device opens:.*Vulkan is not available: ");
    EXPECT_EXIT(
        {
            without_drivers();
            const auto all = Device::all();
            end(all.size() == 3 && all[0].spec == "cpu" && all[0].usable == all[0].reason.empty() && all[1].spec == "vulkan" &&
                !all[1].usable && all[1].reason.rfind("Vulkan is not available: ", 0) == 0 && all[2].spec == "interp" && all[2].usable);
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(Environment, CpuSwitchesAreReadAndChecked) {
    if (!listed("cpu").usable) GTEST_SKIP() << "SKIPPED: " << listed("cpu").reason;
    const auto message_with = [](const char* name, const char* value) {
        set(name, value);
        return suite::message_of([] { Device::open("cpu"); });
    };
    EXPECT_EXIT(end(message_with("PUMICE_CPU_WIDTH", "3") == "PUMICE_CPU_WIDTH is \"3\"; it is 1, 4, 8 or 16"), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(end(message_with("PUMICE_CPU_THREADS", "0") == "PUMICE_CPU_THREADS is \"0\"; it is a number from 1 to 1024"),
                testing::ExitedWithCode(0), "");
    EXPECT_EXIT(end(message_with("PUMICE_CPU_WITHOUT", "speed").starts_with(
                    "PUMICE_CPU_WITHOUT names \"speed\", which is no rule of the device cpu; the rules are interleaving, ")),
                testing::ExitedWithCode(0), "");
    EXPECT_EXIT(end(message_with("PUMICE_CPU_STATIC", "yes") == "PUMICE_CPU_STATIC is \"yes\"; it is 0 or 1"), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(
        {
            set("PUMICE_DEVICE", "cpu");
            set("PUMICE_CPU_WIDTH", "4");
            set("PUMICE_CPU_THREADS", "3");
            set("PUMICE_CPU_STATIC", "1");
            set("PUMICE_CPU_WITHOUT", "all");
            const std::string name = Device::open().name();
            end(name.find(", 4 wide, 3 threads)") != std::string::npos && Device::open().limits().subgroup_size == 4 && right());
        },
        testing::ExitedWithCode(0), "");
}

/// LLVM is loaded once a process, so this process must not have opened the device before.
TEST_F(Environment, the_cpu_refuses_versions_of_LLVM_that_it_does_not_know) {
    EXPECT_EXIT(
        {
            set("PUMICE_CPU_LLVM", "7");
            end_with([] { Device::open("cpu"); },
                     "the device cpu cannot be used: PUMICE_CPU_LLVM is \"7\"; it is a version from 15 to 22.");
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(Environment, the_cpu_makes_code_for_the_target_that_is_asked_for) {
    if (!listed("cpu").usable) GTEST_SKIP() << "SKIPPED: " << listed("cpu").reason;
    const auto message_with = [](const char* name, const char* value) {
        set(name, value);
        return suite::message_of([] { Device::open("cpu"); });
    };
    EXPECT_EXIT(end(message_with("PUMICE_CPU_TARGET", "znver9") ==
                    "PUMICE_CPU_TARGET is \"znver9\"; it is native, x86-64-v2, x86-64-v3 or x86-64-v4"),
                testing::ExitedWithCode(0), "");
#ifdef __x86_64__
    constexpr std::pair<const char*, int> levels[] = {{"x86-64-v2", 4}, {"x86-64-v3", 8}, {"x86-64-v4", 16}};
    for (const auto& [level, width] : levels) {
        const auto opens = [level = level, width = width] {
            set("PUMICE_CPU_TARGET", level);
            set("PUMICE_DEVICE", "cpu");
            // A level that the processor lacks is refused, with its name.
            const std::string refused = suite::message_of([] { Device::open("cpu"); });
            if (refused != "(no error)")
                return refused.starts_with(text("PUMICE_CPU_TARGET is ", level, ", whose code this processor (")) &&
                       refused.find(") cannot run: it lacks ") != std::string::npos && level != std::string("x86-64-v2");
            return Device::open().name().starts_with(text("cpu (", level, ", ", width, " wide, ")) && right();
        };
        EXPECT_EXIT(end(opens()), testing::ExitedWithCode(0), "") << level;
    }
#endif
}

TEST_F(Environment, UnknownWordsInDump) {
    // The interpreter compiles nothing, so it dumps nothing.
    EXPECT_EXIT({ set("PUMICE_DUMP", "glsll,,nonsense"); end(right()); }, testing::ExitedWithCode(0),
                on_vulkan()                             ? "PUMICE_DUMP names \"glsll\", \"nonsense\"; it knows ir, .*analysis, glsl, spirv, all"
                : Device::open().name() == "interp" ? ""
                                                        : "PUMICE_DUMP names \"glsll\", \"nonsense\"; it knows .*, ir, analysis, plan, llvm, optimised, asm, all");
}

TEST_F(Environment, TheLogSaysWhichBatchesGoToTheDevice) {
    if (!on_vulkan()) GTEST_SKIP() << "SKIPPED: the interpreter has no batches";
    EXPECT_EXIT({ set("PUMICE_LOG", "1"); end(right()); }, testing::ExitedWithCode(0),
                "pumice: opened .*pumice: batch [0-9]+ has [0-9]+ command");
}

TEST_F(Environment, TheLogSaysWhatIsTaped) {
    const auto iterate = kernel("iterate", [](InOut<float> x, In<int> times) {
        auto i = global_index();
        Var v = x[i];
        $for (k, range(times[i])) { v = v * sin(v) + 0.5f; }
        x[i] = v;
    });
    const auto gradient = [&](const auto& differentiated, const auto&... range) {
        set("PUMICE_LOG", "1");
        const Device d = Device::open();
        Array<float> x = d.full<float>(4, 0.3f), dx = d.full<float>(4, 1.0f);
        autodiff(Reverse, differentiated, range..., Duplicated(x, dx), Const(d.upload<int>({3, 0, 5, 2})));
        end(dx.get(1) == 1.0f);
    };
    EXPECT_EXIT(gradient(iterate, ndrange(4)), testing::ExitedWithCode(0),
                "the reverse sweep of kernel \"iterate\" has a tape of 56 bytes for 4 work-items");  // 10 floats, 4 offsets
    EXPECT_EXIT(gradient([&](Array<float>& x, const Array<int>& times) { iterate(ndrange(4), x, times); }), testing::ExitedWithCode(0),
                "the tape of a program has [0-9]+ commands? and keeps [1-9][0-9]* bytes");
}

/// Each width has its own code, under its own name in the cache.
TEST_F(Environment, EachWidthHasItsOwnCacheEntry) {
    if (debug::device() != "cpu") GTEST_SKIP() << "SKIPPED: only the device cpu has widths";
    const fs::path cache = folder("widths");
    const auto run = [&](const char* width, const char* and_then, const char* value, bool anew = false) {
        if (anew) fs::remove_all(cache);
        set("PUMICE_CACHE_DIR", cache.string());
        set("PUMICE_CPU_WIDTH", width);
        set(and_then, value);
        end(right());
    };
    EXPECT_EXIT(run("4", "PUMICE_TIME", "1", true), testing::ExitedWithCode(0), "plus_one: [0-9.]+ ms to native code");
    EXPECT_EXIT(run("8", "PUMICE_TIME", "1"), testing::ExitedWithCode(0), "plus_one: [0-9.]+ ms to native code");
    EXPECT_EXIT(run("4", "PUMICE_TIME", "1"), testing::ExitedWithCode(0), "plus_one: from the disk cache");
    EXPECT_EXIT(run("1", "PUMICE_DUMP", "llvm"), testing::ExitedWithCode(0), "add i32 %");
    EXPECT_EXIT(run("4", "PUMICE_DUMP", "llvm"), testing::ExitedWithCode(0), "add <4 x i32> %");
    EXPECT_EXIT(run("8", "PUMICE_DUMP", "llvm"), testing::ExitedWithCode(0), "add <8 x i32> %");
    EXPECT_EXIT(run("16", "PUMICE_DUMP", "llvm"), testing::ExitedWithCode(0), "add <16 x i32> %");
    fs::remove_all(cache);
}

/// True if the file holds only this text and no code of the kernel add_seven.
bool shows(const fs::path& file, const char* what) {
    std::ifstream in(file);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    std::cerr << file << " has " << text.size() << " bytes\n";
    return text.find(what) != text.npos && text.find("add_seven") == text.npos;
}

TEST_F(Environment, DumpsOfTheCpuShowOneKernelAFile) {
    if (debug::device() != "cpu") GTEST_SKIP() << "SKIPPED: only the device cpu has LLVM's stages";
    const fs::path dumps = folder("dumps");
    EXPECT_EXIT(
        {
            fs::remove_all(dumps);
            set("PUMICE_DUMP", "llvm,optimised,asm");
            set("PUMICE_DUMP_DIR", dumps.string());
            end(right() && shows(dumps / "plus_one.llvm.ll", "define ") && shows(dumps / "plus_one.optimised.ll", "define ") &&
                shows(dumps / "plus_one.asm.s", "ret"));
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(Environment, ADumpFolderThatCannotBeWritten) {
    if (!compiles()) GTEST_SKIP() << "SKIPPED: the interpreter compiles nothing that is dumped";
    EXPECT_EXIT(
        {
            set("PUMICE_DUMP", "glsl,llvm");
            set("PUMICE_DUMP_DIR", "/proc/nowhere");
            Array<int> a = Device::open().zeros<int>(8);
            std::cerr << suite::message_of([&] { plus_one(ndrange(8), a); }) << "\n";
            set("PUMICE_DUMP", "");
            end(right());
        },
        testing::ExitedWithCode(0), "the file \"/proc/nowhere/plus_one.(glsl.comp|llvm.ll)\", which PUMICE_DUMP asks for, cannot be written");
}

TEST_F(Environment, ACacheFolderThatCannotBeWritten) {
    EXPECT_EXIT({ set("PUMICE_CACHE_DIR", "/proc/nowhere"); end(right()); }, testing::ExitedWithCode(0), "");
    EXPECT_EXIT({ set("PUMICE_CACHE_DIR", "/dev/null"); end(right()); }, testing::ExitedWithCode(0), "");
}

/// The cache from before is valid, but others could have written it.
TEST_F(Environment, ACacheFolderThatOthersCanWrite) {
    if (!compiles()) GTEST_SKIP() << "SKIPPED: the interpreter has no cache";
    const fs::path cache = folder("open");
    const auto run = [&](bool anew, fs::perms permissions) {
        if (anew) fs::remove_all(cache);
        set("PUMICE_CACHE_DIR", cache.string());
        if (!anew) fs::permissions(cache, permissions);
        set("PUMICE_LOG", "1");
        set("PUMICE_TIME", "1");
        testing::internal::CaptureStderr();
        const bool good = right();
        const std::string said = testing::internal::GetCapturedStderr();
        std::cerr << said;
        const bool taken = said.find("from the disk cache") != said.npos;
        const bool off = said.find(text("the disk cache ", cache, " is off: others can write it: its mode is ")) != said.npos;
        end(good && (anew || permissions == fs::perms::owner_all ? !off && taken == !anew : off && !taken));
    };
    EXPECT_EXIT(run(true, {}), testing::ExitedWithCode(0), "is not in the disk cache");
    EXPECT_EXIT(run(false, fs::perms::all), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(run(false, fs::perms::all | fs::perms::sticky_bit), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(run(false, fs::perms::owner_all | fs::perms::group_write), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(run(false, fs::perms::owner_all), testing::ExitedWithCode(0), "");
    fs::remove_all(cache);
}

/// As in a service, or in a container whose user has no entry in the list of users.
TEST_F(Environment, MissingHome) {
    const fs::path absent = folder("absent_home");  // drivers make this folder if they can
    for (const std::string& home : {absent.string(), std::string("/proc"), std::string("/dev/null"), std::string()})
        EXPECT_EXIT(
            {
                set("HOME", home);
                set("PUMICE_CACHE_DIR", "");
                unsetenv("XDG_CACHE_HOME");
                end(right());
            },
            testing::ExitedWithCode(0), "");
    fs::remove_all(absent);
}

TEST_F(Environment, CorruptCacheFilesAreMadeAnew) {
    if (!compiles()) GTEST_SKIP() << "SKIPPED: the interpreter has no cache";
    const fs::path cache = folder("corrupt");
    EXPECT_EXIT(
        {
            fs::remove_all(cache);
            set("PUMICE_CACHE_DIR", cache.string());
            end(right());
        },
        testing::ExitedWithCode(0), "");
    for (const std::string damage : {"truncated", "changed", "emptied"})
        EXPECT_EXIT(
            {
                set("PUMICE_CACHE_DIR", cache.string());
                int files = 0;
                for (const auto& file : fs::directory_iterator(cache)) {
                    ++files;
                    if (damage == "truncated") fs::resize_file(file, fs::file_size(file) / 2);
                    else if (damage == "emptied") fs::resize_file(file, 0);
                    else std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary).seekp(60).write("damage", 6);
                }
                testing::internal::CaptureStderr();
                bool good = files >= 3 && right();
                const std::string said = testing::internal::GetCapturedStderr();
                const size_t first = said.find("is corrupt; it is made anew");
                std::cerr << said;
                end(good && first != said.npos && said.find("is corrupt", first + 10) == said.npos);
            },
            testing::ExitedWithCode(0), "");
    EXPECT_EXIT(
        {
            set("PUMICE_CACHE_DIR", cache.string());
            testing::internal::CaptureStderr();
            const bool good = right();
            end(good && testing::internal::GetCapturedStderr().find("corrupt") == std::string::npos);
        },
        testing::ExitedWithCode(0), "");
    fs::remove_all(cache);
}

/// Both processes begin with an empty folder and the same kernels, so that each may find entries that the other has just written.
TEST_F(Environment, TwoProcessesShareACache) {
    if (debug::device() == "interp") GTEST_SKIP() << "SKIPPED: the interpreter has no cache";
    const fs::path cache = folder("shared");
    EXPECT_EXIT(
        {
            fs::remove_all(cache);
            set("PUMICE_CACHE_DIR", cache.string());
            const pid_t other = fork();  // before any driver or thread starts
            testing::internal::CaptureStderr();
            const bool good = other >= 0 && right() && testing::internal::GetCapturedStderr().find("corrupt") == std::string::npos;
            if (other == 0) std::_Exit(good ? 0 : 1);
            int status = -1;
            end(good && waitpid(other, &status, 0) == other && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        },
        testing::ExitedWithCode(0), "");
    EXPECT_EXIT(
        {
            set("PUMICE_CACHE_DIR", cache.string());
            set("PUMICE_TIME", "1");
            end(right());
        },
        testing::ExitedWithCode(0), debug::device().starts_with("vulkan") ? "from the disk cache(.|\n)*: pipeline [0-9.]+ ms" : "from the disk cache");
    fs::remove_all(cache);
}

/// The threads of a Vulkan driver do not exist in a forked process, which would wait for them.
TEST_F(Environment, AProcessThatWasForkedUsesNoVulkanDeviceFromBefore) {
    if (!debug::device().starts_with("vulkan")) GTEST_SKIP() << "SKIPPED: other devices start their threads when they work";
    const auto in_child = [](const Array<int>& a) {
        const auto refuses = [](const auto& act) {
            return suite::message_of(act).find("was opened before this process was forked") != std::string::npos;
        };
        return refuses([&] { plus_one(ndrange(8), a), a.download(); }) && refuses([] { Device::open().full<int>(8, 1); });
    };
    const auto forks = [&] {
        const debug::Override no_layer("PUMICE_VALIDATE", "");  // the layer's own handlers at exit wait for its threads
        const Array<int> a = Device::open().zeros<int>(8);
        // One that uses nothing waits for no lock of ours. lavapipe's own handlers at exit may crash there.
        const pid_t leaver = fork();
        if (leaver == 0) {
            alarm(60);
            suite::exit_of_a_fork(7);
        }
        int left = -1;
        if (waitpid(leaver, &left, 0) != leaver || (WIFSIGNALED(left) && WTERMSIG(left) == SIGALRM)) end(false);
        plus_one(ndrange(8), a);
        a.download();
        const pid_t child = fork();
        if (child == 0) std::_Exit(in_child(a) ? 0 : 1);
        int status = -1;
        const bool good = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        plus_one(ndrange(8), a);
        end(good && a.download() == std::vector<int>(8, 2));
    };
    EXPECT_EXIT(forks(), testing::ExitedWithCode(0), "");
}

/// A forked process has none of the pool's threads, which oneTBB counts on: without own ones, one child in twenty waited for
/// ever.
TEST_F(Environment, AForkedProcessOpensDevicesOfItsOwn) {
#ifdef PUMICE_SANITIZED
    GTEST_SKIP() << "SKIPPED: the fork may lack a lock of the sanitizer's allocator";
#else
    if (debug::device().starts_with("vulkan")) GTEST_SKIP() << "SKIPPED: the child opens no second Vulkan device";
    const auto work = [](const Device& device) {
        constexpr int n = 1 << 20;
        const Array<int> a = device.zeros<int>(n);
        const Stream stream = device.stream();
        for (int k = 0; k < 10; ++k) plus_one(ndrange(n).on(stream), a);
        stream.synchronize();
        for (int k = 0; k < 10; ++k) plus_one(ndrange(n), a);
        return a.get(n - 1) == 20;
    };
    const auto forks = [&] {
        const Device before = Device::open();
        bool good = work(before);
        for (int k = 0; k < (debug::device() == "interp" ? 1 : 30) && good; ++k) {
            const pid_t child = fork();
            if (child == 0) {
                alarm(60);
                bool right = false;
                { right = work(Device::open()); }
                std::_Exit(right ? 0 : 1);
            }
            int status = -1;
            good = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        end(good && work(before));
    };
    EXPECT_EXIT(forks(), testing::ExitedWithCode(0), "");
#endif
}

/// Vector code computes in lanes that no work-item has, and constants are folded: neither meets the traps that the program has
/// for its own code, and these are there afterwards.
TEST_F(Environment, TheProgramHasFloatingPointTraps) {
#if defined(__GLIBC__) && defined(__x86_64__)
    const auto guarded = kernel("guarded", [](InOut<float> y, In<float> x) {
        const auto i = global_index();
        $if(x[i] > 0.0f) { y[i] = 1.0f / x[i] + sqrt(x[i]) + log(x[i]); }
    });
    const auto functions = kernel("functions", [](InOut<float> y, In<float> x) {
        const auto i = global_index();
        y[i] = sin(x[i]) + exp(x[i]) + pow(abs(x[i]) + 1.0f, 1.5f) + floor(x[i]) + cbrt(x[i]);
    });
    const auto constants = kernel("constants", [](Out<float> y) {
        y[global_index()] = 1.0f / min(Val<float>(3.0f) * 0.0f, 0.0f) + exp(Val<float>(100.0f));
    });
    const auto runs = [&] {
        feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
        const Device device = Device::open();
        std::vector<float> host(1001);
        for (size_t i = 0; i < host.size(); ++i) host[i] = i % 3 ? 0.5f + float(i % 20) : 0.0f;
        const Array<float> x = device.upload(host), y = device.full<float>(1001, 7.0f);
        guarded(ndrange(1001), y, x);
        bool good = y.get(3) == 7.0f && y.get(20) > 2.0f && y.get(20) < 2.1f;
        functions(ndrange(1001), y, x);
        good = good && y.get(3) > 1.99f && y.get(3) < 2.01f;
        constants(ndrange(5), y);
        good = good && y.get(0) > 3e38f;
        end(good && fegetexcept() == (FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW));
    };
    EXPECT_EXIT(runs(), testing::ExitedWithCode(0), "");
#else
    GTEST_SKIP() << "SKIPPED: the C library sets no traps here";
#endif
}

TEST_F(Environment, TheProgramEndsWithWorkPending) {
    EXPECT_EXIT(
        {
            Array<int> a = Device::open().zeros<int>(1 << 16);
            for (int k = 0; k < 50; ++k) plus_one(ndrange(1 << 16), a);
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    EXPECT_EXIT(
        {
            static Array<int> kept = Device::open().zeros<int>(1 << 16);
            static Stream stream = kept.device().stream();
            for (int k = 0; k < 50; ++k) plus_one(ndrange(1 << 16).on(stream), kept);
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
    // Constructed before drivers and layers are loaded, and so destroyed after their static objects.
    EXPECT_EXIT(
        {
            static std::optional<Device> device;
            static Stream stream;
            static Array<int> kept;
            device = Device::open();
            stream = device->stream();
            kept = device->zeros<int>(1 << 16);
            for (int k = 0; k < 50; ++k) plus_one(ndrange(1 << 16).on(stream), kept);
            std::exit(0);
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(Environment, LaunchesInStaticDestructors) {
    EXPECT_EXIT(
        {
            struct Late {
                Array<int> a = Device::open().zeros<int>(8);
                ~Late() {
                    plus_one(ndrange(8), a);
                    if (a.download() == std::vector<int>(8, 1)) std::cerr << "launched late\n";
                }
            };
            static Late late;
            std::exit(0);
        },
        testing::ExitedWithCode(0), "launched late");
    EXPECT_EXIT(
        {
            struct Later {
                ~Later() { std::cerr << (right() ? "opened late\n" : "wrong\n"); }
            };
            static Later later;
            std::exit(0);
        },
        testing::ExitedWithCode(0), "opened late");
}

}  // namespace
