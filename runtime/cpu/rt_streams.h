// Streams of the device cpu: work of the default stream runs on the calling thread at once, work of other streams on a thread
// each.
//
//   default stream   waits until all streams have done their work so far, runs, and returns when it is done
//   other streams    a list of commands, run in order by the stream's own thread
//
// Why: a launch on the default stream then costs no hand-over between threads (some 0.2 us), and other streams overlap with the
// host.
// Priorities: threads of the pool leave a launch for one of a more urgent stream (rt_thread_pool.h). Work of a low stream
// does not begin while as many high streams have work as the device has threads, unless something waits for it.
// Limits: a launch that meets another one of its priority in the pool runs on its own thread alone.
#pragma once
#include "runtime/device/rt_device.h"
#include "runtime/support/forks.h"

namespace pumice_rt {

/// A piece of work in a stream, with copies of what it needs.
struct Command {
    enum class Kind { launch, fill, copy, wait } kind;
    Command* next = nullptr;
    size_t bytes = 0;    ///< of this allocation
    Launch launch = {};  ///< of other kinds: its stream
    pumice_memory to = nullptr, from = nullptr;
    int64_t to_offset = 0, from_offset = 0, size = 0, pattern_size = 0;
    char pattern[64] = {};
    struct CpuStream* other = nullptr;  ///< of a wait: the stream, and the number of its command
    uint64_t number = 0;
};

/// Runs a command; the device's.
using RunCommand = pumice_status(pumice_device device, const Command& command);

/// The device's streams that have work, by priority.
class StreamGate {
public:
    void begin(int priority) { count(priority, 1); }
    void end(int priority);
    /// Waits while `threads` more urgent streams have work, and nobody waits for this one: `*waiters` is 0.
    void pass(int priority, int threads, const int* waiters);
    /// A number of waiters has changed.
    void wake();

private:
    void count(int priority, int by) { __atomic_fetch_add(&busy[priority + 1], by, __ATOMIC_SEQ_CST); }
    bool is_free(int priority, int threads) const;

    Mutex mutex;
    Condition changed;
    int busy[3] = {0, 0, 0};
    int passing = 0;  ///< streams that wait here
};

struct CpuStream : pumice_stream_t {
    /// `threads`: those of the device, which its gate counts with.
    CpuStream(pumice_device on, int with, RunCommand* runs, StreamGate& of, int threads);
    pumice_status start();
    /// True in a child after a fork, which lacks the thread: the work so far is the parent's.
    bool is_of_parent() const { return forks != made_in; }
    /// Runs all commands and ends the thread; events of the stream are then reached.
    void stop();
    // The handle, events and waits of other streams hold the stream; the last one destroys it.
    void hold() { __atomic_fetch_add(&holders, 1, __ATOMIC_RELAXED); }
    void let_go();
    /// Takes ownership of the command, which make() of the device's hooks has made. Returns its number.
    uint64_t submit(Command* command);
    uint64_t submitted_so_far();
    void wait(uint64_t number);
    bool done(uint64_t number);
    /// The first error of the stream's work since the last call; pumice_error() then has its sentence, unless `quietly`.
    pumice_status take_error(bool quietly = false);

private:
    static void* thread_main(void* stream);
    void work();

    RunCommand* const run;
    StreamGate& gate;
    const int threads;
    const uint32_t made_in = forks;
    Mutex mutex;
    Condition changed;
    Command *first = nullptr, *last = nullptr;
    uint64_t submitted = 0, finished = 0;
    bool stops = false, started = false;
    int holders = 1, waiters = 0;
    pthread_t thread = {};
    pumice_status error = PUMICE_OK;
    char sentence[512] = "";
};

struct CpuEvent : pumice_event_t {
    CpuStream* stream = nullptr;  ///< null: reached
    uint64_t number = 0;
};

}  // namespace pumice_rt
