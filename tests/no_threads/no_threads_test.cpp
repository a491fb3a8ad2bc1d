// A system that gives no more threads from some moment on: the library works without them, or throws an Error.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "tests/device/suite.h"

namespace {
/// The number of threads that the system still gives.
std::atomic<int> left = 1 << 30;
}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
    static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return left-- > 0 ? real(thread, attributes, start, argument) : EAGAIN;
}

namespace {

using namespace pumice;

const auto add_one = kernel("add_one", [](InOut<int> a) { a[global_index()] += 1; });

/// All work that may need a thread. Throws if a result is wrong.
void work() {
    const Device d = suite::device();
    const Array<int> a = d.zeros<int>(300'000);
    for (int k = 0; k < 5; ++k) add_one(ndrange(300'000), a);
    const Stream s = d.stream();
    int called = 0;
    add_one(ndrange(300'000).on(s), a);
    const Event event = s.call([&] { ++called; });
    event.wait();
    d.synchronize();
    if (called != 1 || a.get(299'999) != 6) throw std::string("a wrong result");
}

enum Outcome { right, refused, otherwise, crashed };

/// The outcome of the work, in another process.
Outcome outcome(int threads) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        alarm(100);
        unsetenv("PUMICE_VALIDATE");  // the layer starts threads, and throws if it gets none
        left = threads;
        try {
            work();
            _exit(right);
        } catch (const Error& error) {
            std::fprintf(stderr, "with %d threads: %s\n", threads, error.what());
            _exit(refused);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "with %d threads: %s\n", threads, error.what());
        } catch (...) {}
        _exit(otherwise);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status)) std::fprintf(stderr, "with %d threads: signal %d\n", threads, WTERMSIG(status));
    return WIFEXITED(status) ? Outcome(WEXITSTATUS(status)) : crashed;
}

TEST(NoThreads, WorkIsDoneOrRefused) {
    // Only forked processes open devices. Vulkan's drivers start threads, too, and some crash without them.
    const char* const device = std::getenv("PUMICE_DEVICE");
    const bool driver = device && std::string(device).starts_with("vulkan");
    EXPECT_EQ(outcome(1 << 30), right);
    // oneTBB does not recover if its later threads fail, so the device cpu asks for a thread when it is opened.
    if (device && std::string(device) == "cpu") {
        EXPECT_EQ(outcome(0), refused);
        return;
    }
    for (int threads = 0; threads < 16; ++threads) {
        const Outcome what = outcome(threads);
        EXPECT_NE(what, otherwise) << threads;
        EXPECT_TRUE(driver || what != crashed) << threads;
    }
}

}  // namespace
