// The threads of the CPU device. A piece of work is cut into ranges that whoever comes takes: oneTBB's threads, and the threads
// that wait for the work.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cpu/threads/arenas.h"

namespace pumice::cpu {

/// A short rest in a loop that waits for another thread.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Where each thread begins in its part of the work.
enum class Order {
    forwards,
    backwards,  ///< at the end: for what only clears, and finds in the caches what the work before it touched last
};

/// Work on [0, count) that several threads do together, each a range at a time.
class Job {
public:
    using Body = std::function<void(int64_t first, int64_t count)>;

    /// `parts` contiguous parts of nearly equal length, one a thread; a thread begins with its own and then helps with others.
    /// `chunk`: how many it takes at once; 0 takes a part whole, so that one thread does all of it in order.
    Job(int64_t count, int parts, int64_t chunk, Body body, Order order = Order::forwards);
    /// Takes ranges until none is left, or until `leave` says so between two of them; false then. `slot` is the thread's part,
    /// modulo their number.
    bool participate(int slot, const std::function<bool()>& leave = {});
    /// Blocks until the ranges that other threads have taken are done, too.
    void finish();

private:
    struct alignas(64) Part {
        std::atomic<int64_t> next = 0;
        int64_t begin = 0, end = 0;
    };

    const Body body;
    const int64_t chunk;
    const Order order;
    std::vector<Part> parts;
    std::atomic<int64_t> remaining;  ///< what nobody has taken, or those have taken who still take part
};

class Team {
public:
    /// `threads` in all, the one that waits among them. With `fixed` parts, a thread does a part whole and nobody helps it.
    Team(int threads, bool fixed);
    /// Waits for what was enqueued; so not on one of the team's own threads.
    ~Team();

    /// Calls body for ranges that cover [0, total) once, on this thread and others, and returns when all are done. `piece`: the
    /// fewest that are worth a call of their own. `publish` is given the job before it begins.
    void run(Priority priority, int64_t total, int64_t piece, Job::Body body,
             const std::function<void(const std::shared_ptr<Job>&)>& publish = {}, Order order = Order::forwards);
    /// Has a thread of the priority's arena do this some time. `cost`: nanoseconds of one thread that the work takes, roughly.
    void enqueue(Priority priority, double cost, std::function<void()> act);
    /// Whether the calling thread is doing what was enqueued.
    static bool on_its_thread();

    const int threads;

private:
    struct Task;
    static void run_task(void* task);
    void help(Priority priority, double cost, const std::shared_ptr<Job>& job);
    bool awaited() const;
    bool more_urgent(Priority than) const;

    const bool fixed;
    /// Shared with what was enqueued, whose last step comes after the team knows that it is done.
    struct Count {
        std::array<std::atomic<int>, 3> awaited{};  ///< by priority: what has not begun
        std::atomic<int> unfinished = 0;
        std::atomic<int64_t> last_seen = 0;    ///< when, in nanoseconds, a thread began or ended something, or was woken
        std::atomic<bool> woken_late = false;  ///< a thread has taken long to wake, as it does beside who wakes it
    };
    const std::shared_ptr<Count> count = std::make_shared<Count>();
    Arenas arenas;
};

}  // namespace pumice::cpu
