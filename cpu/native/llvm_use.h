// Threads that use LLVM while the process may end.
#pragma once
#include <cstdint>

namespace pumice::cpu {

/// A use of LLVM that begins in one thread and continues in another, which ends it. Before the process ends, the first thread
/// waits for the uses that have begun, also in exit(): LLVM's destructors, which run then, would take away what the other thread
/// uses. Limits: exit() in a thread that has begun no use does not wait.
class LlvmUse {
public:
    LlvmUse();
    ~LlvmUse();
    LlvmUse(const LlvmUse&) = delete;

private:
    uint64_t number = 0;
};

}  // namespace pumice::cpu
