// Prints and requirements of kernels: lines for the application, and the error of the next wait.
#pragma once
#include "runtime/bundle/bundle.h"
#include "runtime/support/hook_memory.h"
#include "runtime/support/lock.h"
#include "runtime/support/status.h"

namespace pumice_rt {

struct Launch;

/// The launches of a device that may report. Thread-safe.
class Reports {
public:
    explicit Reports(const pumice_hooks& with) : hooks(with), launches(with), delivered(with) {}

    /// Registers a launch with its group size, before it begins. Returns its number for the records; 0: there is no memory.
    uint32_t add(const Launch& launch, const int64_t (&group)[3]);
    /// Takes all records out of a ring to which no launch writes any more, and prints their lines. Failed requirements wait for
    /// take_failure(). The caller clears the ring. One thread at a time calls it; it holds no lock while the hook `print` runs.
    pumice_status deliver_lines(const uint32_t* ring);
    /// The error of the first failed requirement since the last call, if any.
    pumice_status take_failure();
    /// Both.
    pumice_status deliver(const uint32_t* ring) {
        const pumice_status status = deliver_lines(ring);
        return status == PUMICE_OK ? take_failure() : status;
    }
    /// Launches that were added since the last delivery.
    size_t added();

private:
    struct RegisteredLaunch {
        uint32_t number;
        const Bundle* bundle;
        uint32_t kernel;
        int rank;
        int64_t start[3], group[3];
    };
    struct Record {
        const uint32_t* at;  ///< its words
        uint32_t launch;     ///< in `delivered`
        uint32_t format;     ///< in the bundle's formats
        uint64_t order[7];   ///< launch, group, item: the order of lines
    };
    pumice_status deliver_records(const uint32_t* ring);
    bool read(const uint32_t* words, size_t count, Record& record, size_t& size) const;
    static int compare(const void* a, const void* b);
    void print(Record* all, size_t count, const Record* first, const uint32_t* ring);
    void note_failure(const Record& record);

    const pumice_hooks& hooks;
    Mutex mutex;
    List<RegisteredLaunch> launches;   ///< added since the last delivery
    List<RegisteredLaunch> delivered;  ///< of the delivery that runs
    uint32_t last_number = 0;
    uint64_t failures = 0;  ///< failed requirements that were not returned
    char failure[800] = "";
};

}  // namespace pumice_rt
