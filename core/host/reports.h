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

/// One device's. Any thread.
class Reports {
public:
    /// Where a launch lies in its range, axis 0 first.
    struct Place {
        std::array<int64_t, 3> start, extent, group;
        int rank = 1;
    };
    using Sink = std::function<void(const std::string& line)>;

    /// Where lines go; nothing: to stdout.
    void on_print(Sink sink);
    /// A launch that may report begins. Gives its number for the records.
    uint32_t add(std::shared_ptr<const ir::Kernel> kernel, const Place& place);
    /// Takes out of a ring (see core/host/ring.h) what all launches so far have reported; none of them runs any more. The ring is for
    /// the caller to clear.
    void take(std::span<const uint32_t> ring);
    /// How far a ring has been taken since it was cleared.
    struct Taken {
        size_t words = 0;      ///< of records
        uint64_t failed = 0;   ///< requirements that are told of
    };
    /// The same where launches run one after the other, into a ring whose records were all zeros, and only those of these numbers have
    /// surely ended: what they have reported comes first. `head` are the ring's first 64 words, `records` those from
    /// taken.words on. `all`: no other launch has begun since the ring was cleared.
    void take(std::span<const uint32_t> head, std::span<const uint32_t> records, std::span<const uint32_t> ended, bool all, Taken& taken);
    /// A launch that was added does not begin after all.
    void drop(uint32_t number);
    /// Hands the lines that were taken to the sink, in the order of launches, of groups, of items in a group, and of what one
    /// item prints; then throws Error for the first requirement that failed, if one did. Not with a lock held: the sink is the user's.
    void deliver();
    /// The same, but a failed requirement stays for a later deliver().
    void deliver_lines();

private:
    struct Launch {
        uint32_t number;
        std::shared_ptr<const ir::Kernel> kernel;
        Place place;
    };
    struct Record;

    std::vector<Record> records_of(std::span<const uint32_t> area) const;
    void add_lines(std::vector<Record> records, Record first);
    void tell_lost(uint32_t count, uint32_t capacity);
    Record read(std::span<const uint32_t> words) const;

    std::recursive_mutex delivering;  ///< the sink may come back here
    std::mutex mutex;                 ///< over all below
    Sink sink;
    std::deque<Launch> launches;      ///< since the ring was last taken
    uint32_t last_number = 0;
    std::vector<std::string> lines;   ///< taken, not delivered
    std::string failure;              ///< likewise: the first, as a sentence
    uint64_t failures = 0;
};

/// The instruction that gives the format of this index its values; null where the kernel has none any more.
const ir::Inst* report_of(const ir::Kernel& kernel, uint64_t format);
/// Words of records that an item writes which prints every line once; requirements are taken to hold.
int64_t words_printed(const ir::Kernel& kernel);
/// Whether a kernel prints or requires anything.
bool reports(const ir::Kernel& kernel);

}  // namespace pumice
