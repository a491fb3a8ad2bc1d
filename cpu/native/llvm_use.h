// Threads that use LLVM while the process may end.
#pragma once

namespace pumice::cpu {

/// A use of LLVM that begins in one thread and continues in another, which ends it. Before the process ends, the first thread
/// waits until no use is left, also in exit(): LLVM's destructors, which run then, would take away what the other thread uses.
class LlvmUse {
public:
    LlvmUse();
    ~LlvmUse();
    LlvmUse(const LlvmUse&) = delete;
};

}  // namespace pumice::cpu
