// Streams and events: all streams feed the one queue.
#pragma once
#include "runtime/vulkan_context/rt_queue.h"

namespace pumice_rt::vulkan {

struct VulkanStream : pumice_stream_t {
    uint64_t last = 0;  ///< timeline value of its last command; guarded by the queue's mutex
};

struct VulkanEvent : pumice_event_t {
    uint64_t value = 0;
};

/// The progress of streams, by timeline values. Guarded by the queue's mutex.
class Streams {
public:
    /// The value of the stream's last command; of the default stream's if the stream is null.
    uint64_t& last(pumice_stream stream) { return stream ? static_cast<VulkanStream*>(stream)->last : default_last; }
    /// Assigns the command being recorded to the stream.
    void touch(const Queue& queue, pumice_stream stream) { last(stream) = queue.value(); }

private:
    uint64_t default_last = 0;
};

}  // namespace pumice_rt::vulkan
