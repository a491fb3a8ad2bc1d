// Prints and requirements of kernels: lines for the application, and the error of the next wait.
#pragma once
#include "runtime/bundle/bundle.h"
#include "runtime/support/lock.h"
#include "runtime/support/memory.h"
#include "runtime/support/status.h"

namespace pumice_rt {

struct Launch;

/// The launches of a device that may report. Thread-safe.
class Reports {
public:
    explicit Reports(const pumice_hooks& with) : hooks(with), launches(with) {}

    /// Registers a launch with its group size, before it begins. Returns its number for the records; 0: there is no memory.
    uint32_t add(const Launch& launch, const int64_t (&group)[3]);
    /// Takes all records out of a ring to which no launch writes any more, prints their lines, and returns the error of the first failed
    /// requirement. The caller clears the ring.
    pumice_status deliver(const uint32_t* ring);

private:
    struct Known {
        uint32_t number;
        const Bundle* bundle;
        uint32_t kernel;
        int rank;
        int64_t start[3], group[3];
    };
    struct Record {
        const uint32_t* at;  ///< its words
        uint32_t launch;     ///< in `launches`
        uint32_t format;     ///< in the bundle's formats
        uint64_t order[7];   ///< launch, group, item: the order of lines
    };
    bool read(const uint32_t* words, size_t count, Record& record, size_t& size) const;
    static int compare(const void* a, const void* b);
    pumice_status print(Record* all, size_t count, const Record* first, uint32_t lost, uint32_t capacity);
    pumice_status failure(const Record& record) const;

    const pumice_hooks& hooks;
    Mutex mutex;
    List<Known> launches;
    uint32_t last_number = 0;
};

}  // namespace pumice_rt
