// Prints and requirements of kernels on a Vulkan device.
#pragma once
#include "runtime/vulkan/rt_slices.h"
#include "runtime/vulkan/rt_vulkan_kernels.h"

namespace pumice_rt::vulkan {

/// The launches that print or require something, and the ring that they write into.
class ReportRing {
public:
    ReportRing(pumice_device_t& device, Queue& queue, Transfers& transfers, OwnMemory& own, Kernels& kernels,
               LaunchSlices& slices)
        : device(device), queue(queue), transfers(transfers), own(own), kernels(kernels), slices(slices) {}

    /// A launch whose module has the ring bound. Its program and pipeline exist. Earlier lines are delivered first if the ring
    /// may have no room for more.
    pumice_status launch(const Launch& launch);
    /// After every wait: delivers the lines of launches that are done, and returns the error of a failed requirement.
    pumice_status settle();

private:
    pumice_status need_ring();
    pumice_status clear(size_t words);
    pumice_status take_lines();
    bool delivering_here() const;

    pumice_device_t& device;
    Queue& queue;
    Transfers& transfers;
    OwnMemory& own;
    Kernels& kernels;
    LaunchSlices& slices;
    Mutex reporting;       // before the mutexes of arrays and queue; guards what follows
    int64_t expected = 0;  // words that its launches write if every item prints each line once
    uint64_t last = 0;     // timeline value of the last launch that may have written into it
    bool used = false;     // since it was cleared
    // Also read without the mutex.
    bool ever = false, delivers = false;
    pthread_t deliverer{};  // the thread that delivers lines
};

}  // namespace pumice_rt::vulkan
