// oneTBB's threads, one arena a priority: the only file that knows oneTBB.
#pragma once
#include <array>
#include <memory>

#include "core/host/backend.h"

namespace pumice::cpu {

class Arenas {
public:
    /// `threads` in all, one from outside among them.
    explicit Arenas(int threads);
    ~Arenas();

    /// Has one of the arena's threads call `act(what)` some time.
    void enqueue(Priority priority, void (*act)(void*), void* what);
    /// The calling thread's place in its arena: 0 for threads that are not oneTBB's.
    static int slot();

private:
    struct All;
    const std::unique_ptr<All> all;
};

}  // namespace pumice::cpu
