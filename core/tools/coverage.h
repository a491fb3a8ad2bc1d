// Kernel coverage: which lines of kernels ran on the interpreter, and which carried adjoints, as LCOV tracefiles.
//
// PUMICE_COVERAGE=FOLDER writes two files there when the program exits, kernels.PID.info and adjoints.PID.info, which lcov and
// genhtml read; runs are added up by `lcov -a`. A line's count is the largest number of executions of one of its instructions,
// over all work-items and launches. A line that no item reached has 0. In the second file only instructions count that carry an
// adjoint: those that depend on a shadow, in a kernel of reverse mode.
//
// Method of the second file: forward data flow from the loads of shadows, through values and through private and local memory.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::tools {

/// The number of executions of each instruction of a launch, over all items.
using Executions = std::vector<uint64_t>;

/// Per instruction: true if it carries an adjoint.
std::vector<bool> carries_adjoints(const ir::Kernel& kernel);

/// Executions by line. Thread-safe.
class Coverage {
public:
    void add(const ir::Kernel& kernel, const Executions& executions);
    /// The two tracefiles.
    std::string kernels() const { return text_of(all); }
    std::string adjoints() const { return text_of(carried); }

private:
    struct FileCoverage {
        std::map<uint32_t, uint64_t> lines;
        std::map<std::pair<uint32_t, std::string>, uint64_t> functions;  ///< kernels: line and name, launches
    };
    using Files = std::map<std::string, FileCoverage>;
    std::string text_of(const Files& files) const;

    mutable std::mutex mutex;
    Files all, carried;
};

/// While it lives, launches of this thread on the interpreter hand their executions to `sink`; for tests.
class ScopedExecutions {
public:
    using Sink = std::function<void(const ir::Kernel&, const Executions&)>;
    explicit ScopedExecutions(Sink sink);
    ~ScopedExecutions();
    ScopedExecutions(const ScopedExecutions&) = delete;

private:
    const Sink* const before;
    const Sink sink;
};

/// True if somebody asks for executions: PUMICE_COVERAGE, or a ScopedExecutions of this thread.
bool counts_executions();
/// Hands them over.
void note_executions(const ir::Kernel& kernel, const Executions& executions);

}  // namespace pumice::tools
