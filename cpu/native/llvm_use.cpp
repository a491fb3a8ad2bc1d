#include "cpu/native/llvm_use.h"

#include <condition_variable>
#include <mutex>
#include <set>

#include <pthread.h>

namespace pumice::cpu {
namespace {

/// The uses that have not ended, by their numbers.
struct Uses {
    std::mutex mutex;
    std::condition_variable fewer;
    std::set<uint64_t> numbers;
    uint64_t next = 0;
};
Uses* of_process = nullptr;  ///< outlives all threads

Uses& uses() {
    static const bool made = [] {
        of_process = new Uses;
        // A forked process has none of the threads.
        return pthread_atfork(nullptr, nullptr, [] { of_process = new Uses; }) == 0;
    }();
    (void)made;
    return *of_process;
}

/// Waits, when its thread ends, for the uses that have begun before. exit() destroys what is local to the calling thread before
/// all static objects. A function for std::atexit would run after the destructors of static objects that LLVM makes later, while
/// it compiles.
struct EndOfThread {
    ~EndOfThread() {
        Uses& all = uses();
        std::unique_lock lock(all.mutex);
        const uint64_t end = all.next;
        all.fewer.wait(lock, [&] { return all.numbers.empty() || *all.numbers.begin() >= end; });
    }
};

}  // namespace

LlvmUse::LlvmUse() {
    thread_local const EndOfThread waits;
    Uses& all = uses();
    const std::lock_guard lock(all.mutex);
    number = all.next++;
    all.numbers.insert(number);
}

LlvmUse::~LlvmUse() {
    Uses& all = uses();
    const std::lock_guard lock(all.mutex);
    all.numbers.erase(number);
    all.fewer.notify_all();
}

}  // namespace pumice::cpu
