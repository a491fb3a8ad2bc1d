// Streams of the CPU device: work in the order it was given, by whichever thread has time. Nothing here knows what the work is.
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

struct Stream;

/// The point of a stream when its work up to this number is done.
struct Point {
    Stream* stream = nullptr;
    uint64_t number = 0;
    bool reached() const;
};

class Streams;

/// The threads that a piece of work may use: the team's, and those that wait for it.
struct Crew {
    Streams& streams;
    Stream& stream;
    /// As Team::run.
    void run(int64_t count, int64_t piece, Job::Body body, Order order = Order::forwards) const;
    int threads() const;
};

/// A piece of work on a stream.
class Work {
public:
    virtual ~Work() = default;
    /// Does all of it. What it throws is kept and thrown by whoever waits for the work.
    virtual void run(const Crew& crew) = 0;
    /// Work that is this and then `next`, in a better way than one after the other, with so many threads; null where there is none. It
    /// needs both as long as it is there.
    virtual std::unique_ptr<Work> with(const Work& /*next*/, int /*threads*/) const { return nullptr; }
    /// Nanoseconds of one thread that it may take, roughly.
    virtual double cost() const = 0;
};

struct Stream {
    struct Task {
        uint64_t number = 0;
        std::unique_ptr<Work> work;
        std::vector<Point> after;
        bool followed = false;  ///< other work is given at once: both may be done together
    };
    struct Fault {
        uint64_t number = 0;
        std::exception_ptr what;
    };

    std::atomic<uint64_t> completed = 0;
    std::atomic<bool> faulty = false;  ///< `faults` is not empty
    // Under Streams::mutex:
    Priority priority = Priority::normal;
    bool running = false;              ///< a thread is doing its work; it alone takes from `pending`
    bool called = false;               ///< a thread of the team has been asked to come
    uint64_t submitted = 0;
    double pending_cost = 0;
    std::deque<Task> pending;
    std::vector<Point> after;          ///< what the next work waits for
    std::vector<Stream*> dependents;   ///< streams whose next work waits for this one
    std::shared_ptr<Job> current;      ///< what those who wait can help with
    std::vector<Fault> faults;         ///< not yet thrown, in order
};

/// All streams of a device; number 0 is there from the start. Work that is small and given to an idle stream is done at once, on
/// the thread that gives it; other work by the team's threads, and by threads that wait for it. A thread of the team is woken only
/// when there is work for more than about 20 us.
class Streams {
public:
    explicit Streams(Team& team);
    /// Waits for all work.
    ~Streams();

    int create(Priority priority);
    void release(int number);
    Stream& operator[](int number);

    /// Gives the stream work to be done after these points. Call with `mutex` locked; it is unlocked while small work is done.
    /// Other work is kept, as what `keep` makes of it. The number of its point. `followed`: other work is given to the stream at once, and
    /// no thread is woken before that.
    uint64_t submit(Stream& stream, Work& work, std::vector<Point> after, const std::function<std::unique_ptr<Work>()>& keep,
                    std::unique_lock<std::mutex>& lock, bool followed = false);
    /// The stream's next work waits for the point.
    void wait_for(int number, const Point& point);
    Point last(int number);

    /// Helps until the point is reached; throws the first fault of the stream's work up to it.
    void wait(const Point& point);
    /// Whether the point is reached; makes sure that it will be.
    bool poll(const Point& point);
    /// Waits for all streams; throws the first fault.
    void finish();

    std::mutex mutex;

private:
    friend struct Crew;
    void help(const Point& point, std::unique_lock<std::mutex>& lock);
    void drain(Stream& stream, uint64_t until, std::unique_lock<std::mutex>& lock);
    void run_one(Stream& stream, Work& work, uint64_t first, uint64_t last, std::unique_lock<std::mutex>& lock);
    void completed(Stream& stream, uint64_t number);
    void call(Stream& stream);
    void come(Stream& stream);

    Team& team;
    std::vector<std::unique_ptr<Stream>> all;  ///< never removed: points name them
    std::vector<int> unused;                   ///< that were released
    std::condition_variable changed;
    int waiting = 0;  ///< threads that wait for `changed`
    int coming = 0;   ///< calls that have not come to an end
};

}  // namespace pumice::cpu
