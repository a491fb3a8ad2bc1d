#include "cpu/native/llvm_use.h"

#include <condition_variable>
#include <mutex>

#include <unistd.h>

namespace pumice::cpu {
namespace {

struct Uses {
    const pid_t process = getpid();  ///< a forked process has none of the threads
    std::mutex mutex;
    std::condition_variable fewer;
    int number = 0;

    void add(int more) {
        const std::lock_guard lock(mutex);
        number += more;
        fewer.notify_all();
    }
    void wait_for_end() {
        if (process != getpid()) return;
        std::unique_lock lock(mutex);
        fewer.wait(lock, [&] { return number == 0; });
    }
};
Uses& uses() {
    static Uses& all = *new Uses;  // outlives all threads
    return all;
}

/// exit() destroys what is local to the calling thread before all static objects. A function for std::atexit would run after the
/// destructors of static objects that LLVM makes later, while it compiles.
struct EndOfThread {
    ~EndOfThread() { uses().wait_for_end(); }
};

}  // namespace

LlvmUse::LlvmUse() {
    thread_local const EndOfThread waits;
    uses().add(1);
}
LlvmUse::~LlvmUse() { uses().add(-1); }

}  // namespace pumice::cpu
