// Threads of the pool, in one arena for each priority: oneTBB's, and in a forked process threads of our own. No other file uses
// oneTBB.
//
// Why: a process that is forked has none of oneTBB's threads, and oneTBB counts on them: tasks would wait for ever.
#pragma once
#include <memory>

#include "core/host/backend.h"

namespace pumice::cpu {

class PriorityArenas {
public:
    /// `threads` in all, including one from outside. Throws Error if a forked process gets no thread.
    explicit PriorityArenas(int threads);
    ~PriorityArenas();

    /// Makes one of the arena's threads call `act(what)` eventually.
    void enqueue(Priority priority, void (*act)(void*), void* what);
    /// The calling thread's slot in its arena; 0 for threads that are not oneTBB's.
    static int slot();

private:
    struct All;
    const std::unique_ptr<All> all;
};

}  // namespace pumice::cpu
