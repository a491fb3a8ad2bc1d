#include "cpu/threads/cpu_streams.h"

#include <algorithm>
#include <utility>

namespace pumice::cpu {
namespace {

// Estimated nanoseconds of pending work above which a thread of the pool is called; the thread that waits for the work runs less
// than this itself.
constexpr double worth_a_thread = 20'000;
// Work that the submitting thread does at once, in nanoseconds. With several threads: work for which none is woken; threads that
// are awake share it with the submitting one. With one: work that a thread of the pool would do hardly sooner. A handover costs
// the wake-up of that thread (5 to 50 us), and moves the arrays from one second-level cache to another (some 40 us for 1 MiB).
constexpr double at_once_of_several = worth_a_thread, at_once_of_one = 200'000;
// Of work that may be fused with the next: less gains nothing by a fusion.
constexpr double at_once_before_other = 5'000;
// More tasks than this wake a thread, however small they are.
constexpr size_t many_tasks = 256;

/// The work that a thread runs, innermost first: a function that a stream calls may wait, and so run other work.
struct RunningHere {
    const CpuStream* stream;
    const RunningHere* outer;
};
thread_local const RunningHere* running_here = nullptr;

/// True if the calling thread is within work of the stream, which cannot continue before that ends.
bool within_work_of(const CpuStream& stream) {
    for (const RunningHere* r = running_here; r; r = r->outer)
        if (r->stream == &stream) return true;
    return false;
}

const StreamPoint* unmet(const CpuStream::Task& task) {
    for (const StreamPoint& point : task.after)
        if (!point.reached()) return &point;
    return nullptr;
}

}  // namespace

bool StreamPoint::reached() const { return !stream || stream->completed.load(std::memory_order_acquire) >= number; }

bool StreamPoint::settled() const { return reached() && !(stream && stream->faulty.load(std::memory_order_acquire)); }

void WorkerThreads::run(int64_t count, int64_t piece, Job::Body body, Order order) const {
    const auto publish = [this](const std::shared_ptr<Job>& job) {
        const std::lock_guard lock(streams.mutex);
        stream.current = job;
        if (streams.waiting) streams.changed.notify_all();
    };
    streams.thread_pool.run(stream.priority, count, piece, std::move(body), publish, order);
}

int WorkerThreads::threads() const { return streams.thread_pool.threads; }
bool WorkerThreads::awake() const { return streams.thread_pool.awake(); }

Streams::Streams(ThreadPool& thread_pool)
    : thread_pool(thread_pool), done_at_once(thread_pool.threads > 1 ? at_once_of_several : at_once_of_one) {
    all.push_back(std::make_unique<CpuStream>());
    standard = all[0].get();
}

Streams::~Streams() {
    try {
        finish();
    } catch (...) {
        // Nobody is left to receive the error.
    }
    std::unique_lock lock(mutex);
    ++waiting;
    changed.wait(lock, [&] { return coming == 0; });
}

int Streams::create(Priority priority) {
    const std::lock_guard lock(mutex);
    if (unused.empty()) {
        all.push_back(std::make_unique<CpuStream>());
        unused.reserve(all.size());  // so that a release cannot throw
        unused.push_back(int(all.size()) - 1);
    }
    const int number = unused.back();
    unused.pop_back();
    all[size_t(number)]->priority = priority;
    return number;
}

void Streams::release(int number) {
    const std::lock_guard lock(mutex);
    CpuStream& stream = *all.at(size_t(number));
    unused.push_back(number);
    stream.after.clear();
    if (!stream.pending.empty()) call(stream);
}

CpuStream& Streams::operator[](int number) { return *all.at(size_t(number)); }

uint64_t Streams::submit(CpuStream& stream, Work& work, std::vector<StreamPoint> after,
                         const std::function<std::unique_ptr<Work>()>& keep, std::unique_lock<std::mutex>& lock, bool followed) {
    for (const StreamPoint& point : stream.after) after.push_back(point);
    stream.after.clear();
    std::erase_if(after, [](const StreamPoint& point) { return point.reached(); });
    const uint64_t number = ++stream.submitted;
    const double cost = work.cost();
    const double at_once = followed ? at_once_before_other : done_at_once;
    if (cost <= at_once && !stream.running && stream.pending.empty() && after.empty()) {
        stream.running = true;
        run_one(stream, work, number, number, lock);
        stream.running = false;
        if (!stream.pending.empty()) call(stream);
        if (waiting) changed.notify_all();
        return number;
    }
    stream.pending.push_back({number, keep(), std::move(after), followed});
    stream.pending_cost += cost;
    if (!stream.running && !followed && (stream.pending_cost > worth_a_thread || stream.pending.size() > many_tasks))
        call(stream);
    return number;
}

void Streams::wait_for(int number, const StreamPoint& point) {
    const std::lock_guard lock(mutex);
    if (!point.reached()) (*this)[number].after.push_back(point);
}

StreamPoint Streams::last(int number) {
    const std::lock_guard lock(mutex);
    CpuStream& stream = (*this)[number];
    return {&stream, stream.submitted};
}

bool Streams::standard_is_settled() const { return StreamPoint{standard, standard->submitted}.settled(); }

/// Runs the work of one task, or of several, without the lock; `running` keeps other threads off the stream.
void Streams::run_one(CpuStream& stream, Work& work, uint64_t first, uint64_t last, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    std::exception_ptr fault;
    const RunningHere here{&stream, running_here};
    running_here = &here;
    try {
        work.run({*this, stream});
    } catch (...) { fault = std::current_exception(); }
    running_here = here.outer;
    lock.lock();
    stream.current = nullptr;
    if (fault) {
        stream.faults.push_back({first, std::move(fault)});
        stream.faulty = true;  // before the work is done, for settled()
    }
    completed(stream, last);
}

void Streams::completed(CpuStream& stream, uint64_t number) {
    stream.completed.store(number, std::memory_order_release);
    for (CpuStream* dependent : std::exchange(stream.dependents, {})) call(*dependent);
}

/// Does the stream's work up to a number, as far as it can begin. The lock is held.
void Streams::drain(CpuStream& stream, uint64_t until, std::unique_lock<std::mutex>& lock) {
    stream.running = true;
    bool blocked = false;
    while (!stream.pending.empty() && stream.pending.front().number <= until) {
        if (const StreamPoint* point = unmet(stream.pending.front())) {
            point->stream->dependents.push_back(&stream);
            if (!point->stream->running) call(*point->stream);
            blocked = true;
            break;
        }
        {
            const auto take = [&stream] {
                CpuStream::Task task = std::move(stream.pending.front());
                stream.pending.pop_front();
                stream.pending_cost = stream.pending.empty() ? 0 : stream.pending_cost - task.work->cost();
                return task;
            };
            const CpuStream::Task task = take();
            const CpuStream::Task* next = task.followed && !stream.pending.empty() ? &stream.pending.front() : nullptr;
            const bool now = next && next->number <= until && !unmet(*next);
            const std::unique_ptr<Work> both = now ? task.work->with(*next->work, thread_pool.threads) : nullptr;
            const CpuStream::Task other = both ? take() : CpuStream::Task();
            run_one(stream, both ? *both : *task.work, task.number, both ? other.number : task.number, lock);
            lock.unlock();  // the task may hold the last reference to memory
        }
        lock.lock();
    }
    stream.running = false;
    if (!stream.pending.empty() && !blocked) call(stream);
    if (waiting) changed.notify_all();
}

/// Asks a thread of the pool to drain the stream.
void Streams::call(CpuStream& stream) {
    if (stream.called) return;
    stream.called = true;
    ++coming;
    thread_pool.enqueue(stream.priority, stream.pending_cost, [this, &stream] { come(stream); });
}

void Streams::come(CpuStream& stream) {
    std::unique_lock lock(mutex);
    stream.called = false;
    if (!stream.running) {
        drain(stream, ~uint64_t(0), lock);
    } else if (const std::shared_ptr<Job> job = stream.current) {
        lock.unlock();
        job->participate(PriorityArenas::slot());
        lock.lock();
    }
    if (--coming == 0 && waiting) changed.notify_all();
}

/// One step towards the point: does work that it waits for, or sleeps until another thread has changed something.
void Streams::help(const StreamPoint& point, std::unique_lock<std::mutex>& lock) {
    // Follows the dependences to work that can be done now. There is no cycle: points name earlier work.
    StreamPoint next = point;
    while (!next.stream->running && !next.stream->pending.empty()) {
        const StreamPoint* earlier = unmet(next.stream->pending.front());
        if (!earlier) return drain(*next.stream, next.number, lock);
        next = *earlier;
    }
    if (next.stream->running && within_work_of(*next.stream))
        throw Error("a function that a stream calls waits for work that comes after it");
    const std::shared_ptr<Job> job = next.stream->current;
    if (job) {
        lock.unlock();
        job->participate(0);
        lock.lock();
        if (point.reached()) return;
    }
    // Spins before sleeping: a job whose ranges are all taken ends soon, and the next work's job may be there by then; only
    // sleepers are woken for it.
    for (int round = 0; round < (job ? 40 : 10); ++round) {
        if (next.reached() || !next.stream->running || next.stream->current != job) return;
        lock.unlock();
        for (int spin = 0; spin < 50; ++spin) pause();
        lock.lock();
    }
    if (next.reached() || !next.stream->running || next.stream->current != job) return;
    ++waiting;
    changed.wait(lock);
    --waiting;
}

void Streams::wait(const StreamPoint& point) {
    if (!point.stream) return;
    if (point.reached() && !point.stream->faulty.load(std::memory_order_acquire)) return;
    std::unique_lock lock(mutex);
    while (!point.reached()) help(point, lock);
    auto& faults = point.stream->faults;
    if (faults.empty() || faults.front().number > point.number) return;
    const std::exception_ptr first = faults.front().what;
    std::erase_if(faults, [&](const CpuStream::Fault& fault) { return fault.number <= point.number; });
    point.stream->faulty = !faults.empty();
    std::rethrow_exception(first);
}

bool Streams::poll(const StreamPoint& point) {
    if (point.reached()) return true;
    const std::lock_guard lock(mutex);
    if (!point.stream->running && !point.stream->pending.empty()) call(*point.stream);
    return point.reached();
}

void Streams::finish() {
    std::vector<StreamPoint> points;
    {
        const std::lock_guard lock(mutex);
        for (const auto& stream : all) points.push_back({stream.get(), stream->submitted});
    }
    std::exception_ptr first;
    for (const StreamPoint& point : points) {
        try {
            wait(point);
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    }
    if (first) std::rethrow_exception(first);
}

}  // namespace pumice::cpu
