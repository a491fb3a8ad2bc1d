// The thread pool of the CPU device. A piece of work is cut into ranges, which oneTBB's threads and the threads that wait for the
// work take. Each priority of streams has an arena of its own (priority_arenas.h). A thread leaves a piece of work between two
// ranges if work of a higher priority waits.
// Textbook name: self-scheduling by an atomic counter for each part, and work stealing.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cpu/threads/priority_arenas.h"

namespace pumice::cpu {

/// A short pause in a spin loop.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// The end of its part at which each thread begins.
enum class Order {
    forwards,
    backwards,  ///< for work that only clears: the caches hold what earlier work touched last
};

/// Work on [0, count) that several threads do together, range by range.
class Job {
public:
    using Body = std::function<void(int64_t first, int64_t count)>;

    /// `parts` contiguous parts of nearly equal length, one a thread; a thread begins with its own and then helps with others.
    /// `chunk`: the size of a range; 0 takes a part whole, so that one thread does it in order.
    Job(int64_t count, int parts, int64_t chunk, Body body, Order order = Order::forwards);
    /// Takes ranges until none is left, or until `leave` is true between two of them; returns false then. `slot` is the thread's
    /// part, modulo their number.
    bool participate(int slot, const std::function<bool()>& leave = {});
    /// Blocks until the ranges that other threads took are done, too.
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
    std::atomic<int64_t> remaining;  ///< items that nobody has taken, or that are not reported as done
};

class ThreadPool {
public:
    /// `threads` in all, including the one that waits. With `fixed` parts, each part is done whole by one thread.
    ThreadPool(int threads, bool fixed);
    /// Waits for all tasks, and so must not run on one of the pool's own threads.
    ~ThreadPool();

    /// Calls body for ranges that cover [0, total) once, on this and other threads, and returns when all are done. `piece`: the
    /// smallest range worth a call. `publish` gets the job before it begins.
    void run(Priority priority, int64_t total, int64_t piece, Job::Body body,
             const std::function<void(const std::shared_ptr<Job>&)>& publish = {}, Order order = Order::forwards);
    /// Runs the function on a thread of the priority's arena eventually. `cost`: rough time on one thread, in nanoseconds.
    void enqueue(Priority priority, double cost, std::function<void()> act);
    /// True if a thread of the pool works or has just worked, so that none has to be woken. A guess.
    bool awake() const;
    /// True if the calling thread runs an enqueued task.
    static bool on_its_thread();

    const int threads;

private:
    struct Task;
    static void run_task(void* task);
    void help(Priority priority, double cost, const std::shared_ptr<Job>& job);
    bool awaited() const;
    bool more_urgent(Priority than) const;

    const bool fixed;
    /// Shared with tasks, whose last step may come after the pool's destruction.
    struct TaskCounts {
        std::array<std::atomic<int>, 3> awaited{};  ///< by priority: tasks not yet begun
        std::atomic<int> unfinished = 0;
        std::atomic<int64_t> last_seen = 0;    ///< nanoseconds: when a task last began or ended, or a thread was woken
        std::atomic<bool> woken_late = false;  ///< a thread took long to wake, as happens on the processor of the waking thread
    };
    const std::shared_ptr<TaskCounts> count = std::make_shared<TaskCounts>();
    PriorityArenas arenas;
};

}  // namespace pumice::cpu
