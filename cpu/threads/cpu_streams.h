// Streams of the CPU device: each runs its work in order, on any thread that is free. Independent of the kind of work.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/support/error.h"
#include "cpu/threads/thread_pool.h"

namespace pumice::cpu {

struct CpuStream;

/// The point at which a stream's work up to this number is done.
struct StreamPoint {
    CpuStream* stream = nullptr;
    uint64_t number = 0;
    bool reached() const;
    /// Reached, and a wait for it throws nothing.
    bool settled() const;
};

class Streams;

/// The threads available to a piece of work: the pool's, and those that wait for it.
struct WorkerThreads {
    Streams& streams;
    CpuStream& stream;
    /// See ThreadPool::run.
    void run(int64_t count, int64_t piece, Job::Body body, Order order = Order::forwards) const;
    int threads() const;
    bool awake() const;  ///< see ThreadPool::awake
};

/// A piece of work on a stream.
class Work {
public:
    virtual ~Work() = default;
    /// Does all of the work. An exception is kept and thrown by the next wait for the work.
    virtual void run(const WorkerThreads& workers) = 0;
    /// Returns a fusion of this work and `next` that is better than one after the other with so many threads, or null. It refers
    /// to both works, which must outlive it.
    virtual std::unique_ptr<Work> with(const Work& /*next*/, int /*threads*/) const { return nullptr; }
    /// Rough time on one thread, in nanoseconds.
    virtual double cost() const = 0;
};

struct CpuStream {
    struct Task {
        uint64_t number = 0;
        std::unique_ptr<Work> work;
        std::vector<StreamPoint> after;
        bool followed = false;  ///< other work follows at once: both may be fused
    };
    struct Fault {
        uint64_t number = 0;
        std::exception_ptr what;
    };

    std::atomic<uint64_t> completed = 0, submitted = 0;  ///< numbers of work; `submitted` is written under Streams::mutex
    std::atomic<bool> faulty = false;                    ///< `faults` is not empty
    // Guarded by Streams::mutex:
    Priority priority = Priority::normal;
    bool running = false;  ///< a thread is doing its work; only that thread takes from `pending`
    bool called = false;   ///< a thread of the pool has been asked to drain it
    double pending_cost = 0;
    std::deque<Task> pending;
    std::vector<StreamPoint> after;      ///< points for which the next work waits
    std::vector<CpuStream*> dependents;  ///< streams whose next work waits for this one
    std::shared_ptr<Job> current;        ///< the job that waiting threads can help with
    std::vector<Fault> faults;           ///< not yet thrown, oldest first
};

/// All streams of a device; number 0 always exists. Small work for an idle stream is done at once, by the submitting thread: up
/// to about 20 us, with a pool of one thread 200 us. Other work is done by the pool's threads and by threads that wait for it. A
/// thread of the pool is woken only for more than about 20 us of work.
class Streams {
public:
    explicit Streams(ThreadPool& thread_pool);
    /// Waits for all work.
    ~Streams();

    int create(Priority priority);
    void release(int number);
    CpuStream& operator[](int number);

    /// Submits work to be done after these points, and returns the number of its point. Call with `mutex` locked; it is unlocked
    /// while small work is done at once. Other work is kept in the form that `keep` returns. `followed`: other work is submitted
    /// to the stream at once, and no thread is woken before that.
    uint64_t submit(CpuStream& stream, Work& work, std::vector<StreamPoint> after,
                    const std::function<std::unique_ptr<Work>()>& keep, std::unique_lock<std::mutex>& lock,
                    bool followed = false);
    /// Makes the stream's next work wait for the point.
    void wait_for(int number, const StreamPoint& point);
    StreamPoint last(int number);
    /// True if all work given to stream 0 is done without an error. Takes no lock.
    bool standard_is_settled() const;

    /// Helps until the point is reached; throws the first error of the stream's work up to it.
    void wait(const StreamPoint& point);
    /// True if the point is reached; if not, makes sure that it will be.
    bool poll(const StreamPoint& point);
    /// Waits for all streams; throws the first error.
    void finish();

    std::mutex mutex;

private:
    friend struct WorkerThreads;
    void help(const StreamPoint& point, std::unique_lock<std::mutex>& lock);
    void drain(CpuStream& stream, uint64_t until, std::unique_lock<std::mutex>& lock);
    void run_one(CpuStream& stream, Work& work, uint64_t first, uint64_t last, std::unique_lock<std::mutex>& lock);
    void completed(CpuStream& stream, uint64_t number);
    void call(CpuStream& stream);
    void come(CpuStream& stream);

    ThreadPool& thread_pool;
    const double done_at_once;                    ///< nanoseconds of work
    std::vector<std::unique_ptr<CpuStream>> all;  ///< never removed: points name them
    CpuStream* standard = nullptr;                ///< number 0
    std::vector<int> unused;                      ///< released ones
    std::condition_variable changed;
    int waiting = 0;  ///< threads waiting for `changed`
    int coming = 0;   ///< calls of threads that have not ended
};

}  // namespace pumice::cpu
