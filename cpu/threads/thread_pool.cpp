#include "cpu/threads/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cpu/threads/wake_affinity.h"

#ifdef PUMICE_THREAD_SANITIZER
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#endif

namespace pumice::cpu {
namespace {

// Nanoseconds for which oneTBB's threads look for work before they sleep.
constexpr int64_t awake_ns = 50'000;
// Nanoseconds within which systems normally wake a thread, even in virtual machines.
constexpr int64_t late_ns = 300'000;
// Least work, in nanoseconds, for which a thread is woken on another processor: less is done before that thread runs.
constexpr double worth_waking_elsewhere = 120'000;
// Fewest nanoseconds that are worth a call of their own.
constexpr double least_piece = 4'000;

thread_local bool in_a_pool = false;

int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// oneTBB is compiled without ThreadSanitizer; these annotations replace its synchronisation.
#ifdef PUMICE_THREAD_SANITIZER
void given(void* what) { __tsan_release(what); }
void taken(void* what) { __tsan_acquire(what); }
#else
void given(void*) {}
void taken(void*) {}
#endif

}  // namespace

Job::Job(int64_t count, int wanted_parts, int64_t at_once, Body what, Order which)
    : body(std::move(what)),
      chunk(at_once),
      order(which),
      parts(size_t(std::clamp<int64_t>(wanted_parts, 1, count))),
      remaining(count) {
    const int64_t n = int64_t(parts.size());
    for (int64_t p = 0; p < n; ++p) {
        parts[size_t(p)].next = parts[size_t(p)].begin = p * count / n;
        parts[size_t(p)].end = (p + 1) * count / n;
    }
}

bool Job::participate(int slot, const std::function<bool()>& leave) {
    const int n = int(parts.size());
    int64_t done = 0;
    bool left = false;
    for (int k = 0; k < n && !left; ++k) {
        Part& part = parts[size_t((slot + k) % n)];
        const int64_t most = chunk > 0 ? chunk : part.end;
        while (part.next.load(std::memory_order_relaxed) < part.end) {
            const int64_t first = part.next.fetch_add(most);
            if (first >= part.end) break;
            const int64_t count = std::min(most, part.end - first);
            body(order == Order::backwards ? part.begin + part.end - first - count : first, count);
            done += count;
            if ((left = leave && leave())) break;
        }
    }
    if (done > 0 && remaining.fetch_sub(done, std::memory_order_acq_rel) == done) remaining.notify_all();
    return !left;
}

void Job::finish() {
    // Spins first, as the others usually end soon.
    for (int spin = 0; spin < 2000 && remaining.load(std::memory_order_acquire) > 0; ++spin) pause();
    for (int64_t left; (left = remaining.load(std::memory_order_acquire)) > 0;) remaining.wait(left);
}

ThreadPool::ThreadPool(int threads, bool fixed) : threads(threads), fixed(fixed), arenas(threads) {}
ThreadPool::~ThreadPool() {
    for (int left; (left = count->unfinished.load()) > 0;) count->unfinished.wait(left);
}

bool ThreadPool::on_its_thread() { return in_a_pool; }

/// A task of the pool. It owns itself: the thread that runs it deletes it.
struct ThreadPool::Task {
    std::function<void()> act;
    Priority priority;
    std::shared_ptr<TaskCounts> count;
    int64_t given;  ///< time of submission; 0 if the pool's threads may have been awake
};

void ThreadPool::enqueue(Priority priority, double cost, std::function<void()> act) {
    const int64_t now = steady_ns(), silent_for = now - count->last_seen.load(std::memory_order_relaxed);
    const bool asleep = silent_for > awake_ns && count->unfinished == 0;
    // A task that has not begun for this long waits for a thread that was woken on a busy processor.
    const bool stuck = silent_for > late_ns && awaited();
    if (count->woken_late && (stuck || (asleep && cost >= worth_waking_elsewhere))) wake_elsewhere();
    if (asleep || stuck) count->last_seen = now;
    ++count->awaited[size_t(priority)];
    ++count->unfinished;
    Task* const task = new Task{std::move(act), priority, count, asleep ? now : 0};
    given(task);
    arenas.enqueue(priority, run_task, task);
}

void ThreadPool::run_task(void* what) {
    taken(what);
    const std::unique_ptr<Task> task(static_cast<Task*>(what));
    const BusyThread busy;
    const int64_t now = steady_ns();
    task->count->last_seen = now;
    if (task->given && now - task->given > late_ns) task->count->woken_late = true;
    --task->count->awaited[size_t(task->priority)];
    const bool before = std::exchange(in_a_pool, true);
    std::exchange(task->act, nullptr)();  // destroys the function while the pool still exists
    in_a_pool = before;
    task->count->last_seen = steady_ns();
    if (task->count->woken_late && task->count->unfinished == 1) wake_anywhere();  // the threads that were not needed
    if (--task->count->unfinished == 0) task->count->unfinished.notify_all();
}

bool ThreadPool::awake() const {
    return count->unfinished.load(std::memory_order_relaxed) > 0 ||
           steady_ns() - count->last_seen.load(std::memory_order_relaxed) < awake_ns;
}

bool ThreadPool::awaited() const {
    return std::any_of(count->awaited.begin(), count->awaited.end(), [](const auto& a) { return a > 0; });
}

bool ThreadPool::more_urgent(Priority than) const {
    for (size_t p = size_t(than) + 1; p < count->awaited.size(); ++p)
        if (count->awaited[p].load(std::memory_order_relaxed) > 0) return true;
    return false;
}

/// oneTBB looks for more urgent arenas only between tasks, so a task ends when a more urgent one waits.
void ThreadPool::help(Priority priority, double cost, const std::shared_ptr<Job>& job) {
    enqueue(priority, cost, [this, priority, job] {
        if (!job->participate(PriorityArenas::slot(), [&] { return more_urgent(priority); })) help(priority, 0, job);
    });
}

void ThreadPool::run(Priority priority, int64_t total, int64_t piece, Job::Body body,
                     const std::function<void(const std::shared_ptr<Job>&)>& publish, Order order) {
    piece = std::max<int64_t>(piece, 1);
    const int helpers = int(std::min<int64_t>(threads, (total + piece - 1) / piece)) - 1;
    if (helpers <= 0) return body(0, total);
    // 64 ranges a thread: if groups take unequal times, the last ranges are short.
    const int64_t chunk = fixed ? 0 : std::max(piece, total / (int64_t(threads) * 64));
    const auto job = std::make_shared<Job>(total, threads, chunk, std::move(body), order);
    if (publish) publish(job);
    for (int h = 0; h < helpers; ++h) help(priority, double(total) / double(piece) * least_piece, job);
    job->participate(PriorityArenas::slot());
    job->finish();
}

}  // namespace pumice::cpu
