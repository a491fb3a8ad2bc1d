// The host's side of print and require: lines for the sink, and errors for the next wait.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/ir/ir.h"

namespace pumice {

/// The reports of one device. Thread-safe.
class Reports {
public:
    /// The range of a launch and its groups, axis 0 first.
    struct LaunchGeometry {
        std::array<int64_t, 3> start, extent, group;
        int rank = 1;
    };
    using Sink = std::function<void(const std::string& line)>;

    /// Sets the sink of printed lines; an empty function means stdout.
    void on_print(Sink sink);
    /// Registers a launch that may report, before it begins. Returns its number for the records.
    uint32_t add(std::shared_ptr<const ir::Kernel> kernel, const LaunchGeometry& geometry);
    /// Takes all reports out of a ring (see core/host/ring.h) to which no launch writes any more. The caller clears the ring.
    void take(std::span<const uint32_t> ring);
    /// The part of a ring that was taken since it was cleared.
    struct RingProgress {
        size_t words = 0;     ///< words of records
        uint64_t failed = 0;  ///< failed requirements already counted
    };
    /// Takes records while launches still run, for launches in order whose ring was zeroed before. Takes only the records of the
    /// launches in `ended` up to the first record of another launch. `head` are the ring's first 64 words, `records` those from
    /// taken.words on. `all`: no other launch has begun since the ring was cleared. Returns false if such a record stood in the
    /// way: then the launches in `ended` stay registered, and the caller names them again. `may_run_again`: they stay in any
    /// case.
    bool take(std::span<const uint32_t> head, std::span<const uint32_t> records, std::span<const uint32_t> ended, bool all,
              RingProgress& taken, bool may_run_again = false);
    /// Unregisters a launch that does not begin after all, or not again.
    void drop(uint32_t number);
    /// Hands the taken lines to the sink, ordered by launch, group, item in the group, and time within an item; then throws Error
    /// for the first failed requirement, if any. The caller must hold no lock: the sink is the user's code.
    void deliver();
    /// Hands the taken lines to the sink like deliver(), but leaves a failed requirement for a later deliver().
    void deliver_lines();

private:
    struct RegisteredLaunch {
        uint32_t number;
        std::shared_ptr<const ir::Kernel> kernel;
        LaunchGeometry geometry;
    };
    struct Record;

    std::vector<Record> records_of(std::span<const uint32_t> area) const;
    void add_lines(std::vector<Record> records, Record first);
    void tell_lost(uint32_t count, uint32_t capacity);
    Record read(std::span<const uint32_t> words) const;

    std::recursive_mutex delivering;  ///< recursive, since the sink may call deliver()
    std::mutex mutex;                 ///< guards all members below
    Sink sink;
    std::deque<RegisteredLaunch> launches;  ///< since the ring was last taken
    uint32_t last_number = 0;
    std::vector<std::string> lines;  ///< taken, not yet delivered
    std::string failure;             ///< not yet delivered: the first failed requirement, as a sentence
    uint64_t failures = 0;
};

/// Returns the instruction that uses the format with this index, or null if the kernel has none any more.
const ir::Inst* report_of(const ir::Kernel& kernel, uint64_t format);
/// Words of records of an item that prints every line once; requirements are assumed to hold.
int64_t words_printed(const ir::Kernel& kernel);
/// True if the kernel has print or require.
bool reports(const ir::Kernel& kernel);

}  // namespace pumice
