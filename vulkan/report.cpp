// What kernels print and require: the device's ring (core/ring.h), an array behind the kernel's own arguments.
#include <cstring>

#include "core/ring.h"
#include "vulkan/device.h"

namespace pumice::vulkan {
/// The launch with one more argument: the ring, and the launch's number. Makes room first where what earlier launches have printed
/// may fill the ring. With reporting.mutex held.
Launch Device::with_ring(const std::shared_ptr<const ir::Kernel>& kernel, const Launch& launch) {
    constexpr int64_t bytes = int64_t(ring::words) * 4;
    if (!reporting.ring) {
        // Not a reference that would keep the device for ever.
        reporting.ring = std::make_unique<Buffer>(std::shared_ptr<Device>(std::shared_ptr<Device>(), this), allocate_range(bytes), bytes);
        clear_ring();
        reporting.used = true;
    }
    const int64_t words = words_printed(*kernel) * launch.extent[0] * launch.extent[1] * launch.extent[2];
    if (reporting.expected + words > int64_t(ring::words)) take_ring();
    reporting.expected += words;
    Launch with = launch;
    with.arguments.push_back({});
    with.arguments.back().array.memory = reporting.ring.get();
    with.arguments.back().array.bytes = bytes;
    with.arguments.back().bits = reports.add(kernel, {launch.start, launch.extent, launch.group, launch.rank});
    return with;
}

void Device::clear_ring() {
    uint32_t words[ring::records];
    ring::clear(words);
    words[ring::capacity] = uint32_t(ring::words - ring::records);
    const Range& range = reporting.ring->range;
    if (range.block->mapped) std::memcpy(range.block->mapped + range.offset, words, sizeof words);
    else write_staged(*reporting.ring, 0, reinterpret_cast<const std::byte*>(words), sizeof words, 0);
}

/// Waits for the launches that report, and empties the ring. With reporting.mutex held.
void Device::take_ring() {
    if (reporting.first == 0) return;
    queue.wait(reporting.ring->last_write);
    std::vector<uint32_t> words(ring::records);
    const auto take = [&](size_t from) {
        const Range& range = reporting.ring->range;
        const int64_t offset = int64_t(from) * 4, bytes = int64_t(words.size() - from) * 4;
        auto* to = reinterpret_cast<std::byte*>(words.data() + from);
        if (bytes == 0) return;
        if (range.block->mapped) std::memcpy(to, range.block->mapped + range.offset + offset, size_t(bytes));
        else read_staged(*reporting.ring, offset, to, bytes);
    };
    take(0);
    words.resize(ring::records + std::min(words[ring::used], words[ring::capacity]));
    take(ring::records);
    reports.take(words);
    clear_ring();
    reporting.first = 0;
    reporting.expected = 0;
}

/// After every wait: hands over what was reported, if the first launch that may have reported anything is done.
void Device::settle() {
    if (!reporting.used) return;
    {
        const std::lock_guard lock(reporting.mutex);
        uint64_t done;
        {
            const std::lock_guard with_queue(queue.mutex);
            done = queue.poll();
        }
        if (reporting.first <= done) take_ring();
    }
    reports.deliver();
}

}  // namespace pumice::vulkan
