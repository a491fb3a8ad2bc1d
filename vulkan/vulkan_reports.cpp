// Reports of print and require: the device's ring (core/host/ring.h), bound as an array after the kernel's arguments.
#include <algorithm>
#include <cstring>

#include "core/host/ring.h"
#include "vulkan/command_recorder.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {
constexpr int64_t ring_bytes = int64_t(ring::words) * 4;
}

/// Adds an argument to the launch: a ring, with the launch's number.
void VulkanDevice::launch_reporting(const VulkanProgram& program, const Launch& launch) {
    const std::shared_ptr<const ir::Kernel>& kernel = program.permutations->kernel;
    // The product cannot overflow, since a range has at most 2^48 items. No launch prints more records than the ring has words.
    const int64_t items = std::min<int64_t>(launch.extent[0] * launch.extent[1] * launch.extent[2], ring::words);
    const int64_t words = words_printed(*kernel) * items;
    Launch with = launch;
    with.arguments.push_back({});
    CommandRecorder* const recorder = queue.recorder();
    ReportRing& ring = recorder ? recorded_ring(*recorder) : ring_for(words);
    const uint32_t number = reports.add(kernel, {launch.start, launch.extent, launch.group, launch.rank});
    with.arguments.back().array.memory = ring.buffer.get();
    with.arguments.back().array.bytes = ring_bytes;
    with.arguments.back().bits = number;
    if (recorder) {
        {
            const std::lock_guard lock(reporting.mutex);
            reporting.recorded.at(recorder).numbers.push_back(number);
        }
        recorder->note_reports();
        return launch_now(program, with);  // the number of one that fails stays until the recording is released
    }
    const auto last = std::make_shared<std::atomic<uint64_t>>(ReportRing::not_recorded);
    {
        const std::lock_guard lock(reporting.mutex);
        --ring.beginning;
        ring.launches.push_back({number, last});
    }
    try {
        launch_now(program, with, last.get());
    } catch (...) {
        const std::lock_guard lock(reporting.mutex);
        std::erase_if(ring.launches, [&](const ReportRing::Launched& l) { return l.number == number; });
        ring.expected -= words;
        reports.drop(number);
        throw;
    }
    reports.deliver_lines();
}

/// Returns a ring with room for a launch that begins. If none has room, it waits for the launches that fill the rings, and
/// empties these. If there is still no room, it makes a new ring. It does not wait if the latest of these launches comes after a
/// function of Stream::call that has not returned.
VulkanDevice::ReportRing& VulkanDevice::ring_for(int64_t words) {
    uint64_t last = 0;
    {
        const std::lock_guard lock(reporting.mutex);
        if (ReportRing* ring = ring_with_room(words)) return *ring;
        for (const auto& ring : reporting.rings)
            for (const ReportRing::Launched& launched : ring->launches)
                if (const uint64_t value = *launched.value; value != ReportRing::not_recorded) last = std::max(last, value);
    }
    bool held;
    {
        const std::lock_guard lock(queue.mutex);
        held = queue.waits_for_call(last);
    }
    if (!held && last > 0) queue.wait(last);
    take_reports();
    std::unique_ptr<ReportRing> more;
    for (;;) {
        {
            const std::lock_guard lock(reporting.mutex);
            if (more) reporting.rings.push_back(std::move(more));
            if (ReportRing* ring = ring_with_room(words)) return *ring;
        }
        more = new_ring();
    }
}

/// reporting.mutex is held.
VulkanDevice::ReportRing* VulkanDevice::ring_with_room(int64_t words) {
    for (const auto& ring : reporting.rings) {
        const bool idle = ring->launches.empty() && ring->beginning == 0 && ring->expected == 0;
        if (!idle && ring->expected + words > int64_t(ring::words)) continue;
        if (ring->of_calls != queue.in_call()) continue;
        if (ring->of_calls) {  // the call may wait for this launch, but not for work that must follow the call
            const std::lock_guard lock(queue.mutex);
            if (!queue.ahead(ring->buffer->last_use)) continue;
        }
        ring->expected += words;
        ++ring->beginning;
        return ring.get();
    }
    return nullptr;
}

std::unique_ptr<VulkanDevice::ReportRing> VulkanDevice::new_ring(bool is_read_in_place) {
    auto ring = std::unique_ptr<ReportRing>(new ReportRing{{}, {}, 0, 0, {}, queue.in_call()});
    const std::shared_ptr<VulkanDevice> device(std::shared_ptr<VulkanDevice>(),
                                               this);  // not an owning reference, which would be a cycle
    std::unique_ptr<MemoryBlock> block;
    if (is_read_in_place) {
        const DevicePlan::ArrayMemory& arrays = context.plan.arrays.front();
        const VkMemoryPropertyFlags properties = context.snapshot.memory.memoryTypes[arrays.type].propertyFlags;
        if (!arrays.mapped || !(properties & VK_MEMORY_PROPERTY_HOST_CACHED_BIT))
            block = make_block(context, staging_ids++, context.plan.upload_memory, ring_bytes, true);
    }
    ring->buffer = block ? std::make_unique<Buffer>(device, std::move(block))
                         : std::make_unique<Buffer>(device, allocate_range(ring_bytes), ring_bytes);
    clear_ring(*ring, ring::words);
    reporting.used = true;
    return ring;
}

/// Clears its first words; no unfinished command uses the ring.
void VulkanDevice::clear_ring(ReportRing& ring, size_t words) {
    ring.taken = {};
    ring.expected = 0;
    const uint32_t capacity = uint32_t(ring::words - ring::records);
    const MemoryRange& range = ring.buffer->range;
    if (range.block->mapped) {
        std::memset(range.block->mapped + range.offset, 0, words * 4);
        std::memcpy(range.block->mapped + range.offset + ring::capacity * 4, &capacity, 4);
        return;
    }
    const auto fill = [&](size_t first, size_t count, uint32_t value) {
        const int64_t begin = range.offset + int64_t(first) * 4, end = begin + int64_t(count) * 4;
        const BufferAccess target{range.block->id, begin, end, true};
        const VkCommandBuffer commands = queue.begin({&target, 1}, queue.ahead(ring.buffer->last_use));
        context.vk.CmdFillBuffer(commands, range.block->buffer, VkDeviceSize(begin), VkDeviceSize(end - begin), value);
        used(*ring.buffer, true);
        queue.end();
    };
    const std::lock_guard lock(queue.mutex);
    fill(0, words, 0);
    fill(ring::capacity, 1, capacity);
}

/// Copies words of a ring. Words that launches are still writing may have their old or new values.
void VulkanDevice::read_ring(const ReportRing& ring, size_t first, std::span<uint32_t> to) {
    const MemoryRange& range = ring.buffer->range;
    const int64_t offset = int64_t(first) * 4;
    const std::byte* const in_place = ring.buffer->lent ? range.block->mapped : range.block->readable();
    if (in_place) return void(std::memcpy(to.data(), in_place + range.offset + offset, to.size_bytes()));
    Staging::Piece piece = download.take(int64_t(to.size_bytes()));
    uint64_t value;
    {
        const std::lock_guard lock(queue.mutex);
        value = copy_out(*ring.buffer, offset, piece, queue.ahead());
    }
    queue.wait(value);
    std::memcpy(to.data(), piece.received(), to.size_bytes());
}

/// `count` words of records, from the word `first` of the records on.
std::vector<uint32_t> VulkanDevice::read_records(const ReportRing& ring, size_t first, size_t count) {
    std::vector<uint32_t> records(count);
    for (size_t at = 0; at < count;) {
        const size_t part = std::min(count - at, size_t(Staging::largest_piece) / 4);
        read_ring(ring, ring::records + first + at, {records.data() + at, part});
        at += part;
    }
    return records;
}

/// Takes the reports of launches up to this value, which is reached. reporting.taking is held.
void VulkanDevice::take_ring(ReportRing& ring, uint64_t done) {
    std::vector<uint32_t> ended;
    bool all;
    {
        const std::lock_guard lock(reporting.mutex);
        for (const ReportRing::Launched& launched : ring.launches)
            if (*launched.value <= done) ended.push_back(launched.number);
        all = ended.size() == ring.launches.size() && ring.beginning == 0;
        if (all && ended.empty() && ring.expected > 0) clear_ring(ring, ring::words);  // after launches that failed
    }
    if (ended.empty()) return;
    std::ranges::sort(ended);
    std::vector<uint32_t> head(ring::records);
    read_ring(ring, 0, head);
    const size_t written = std::min(head[ring::used], head[ring::capacity]);
    const std::vector<uint32_t> records = read_records(ring, ring.taken.words, written - std::min(written, ring.taken.words));
    const std::lock_guard lock(reporting.mutex);
    // A launch may have begun meanwhile.
    all = all && ended.size() == ring.launches.size() && ring.beginning == 0;
    if (!reports.take(head, records, ended, all, ring.taken)) return;  // their other records are taken later
    std::erase_if(ring.launches, [&](const ReportRing::Launched& l) { return std::ranges::binary_search(ended, l.number); });
    if (all) clear_ring(ring, ring::records + written);
}

void VulkanDevice::take_reports() {
    const std::lock_guard one_at_a_time(reporting.taking);
    std::vector<ReportRing*> rings;
    {
        const std::lock_guard lock(reporting.mutex);
        for (const auto& ring : reporting.rings) rings.push_back(ring.get());
    }
    uint64_t done;
    {
        const std::lock_guard lock(queue.mutex);
        done = queue.poll();
    }
    for (ReportRing* ring : rings) take_ring(*ring, done);
    // More than one ring of a kind was needed only during a call.
    const std::lock_guard lock(reporting.mutex);
    int kept[2] = {0, 0};
    std::erase_if(reporting.rings, [&](const auto& ring) {
        const bool idle = ring->launches.empty() && ring->beginning == 0;
        return idle && kept[ring->of_calls] > 0 ? true : (++kept[ring->of_calls], false);
    });
}

VulkanDevice::ReportRing& VulkanDevice::recorded_ring(const CommandRecorder& recorder) {
    {
        const std::lock_guard lock(reporting.mutex);
        if (const auto known = reporting.recorded.find(&recorder); known != reporting.recorded.end()) return *known->second.ring;
        if (!reporting.unused.empty()) {
            auto& mine = reporting.recorded[&recorder];
            mine.ring = std::move(reporting.unused.back());
            reporting.unused.pop_back();
            return *mine.ring;
        }
    }
    const CommandRecorder::Suspended outside;
    auto made = new_ring(true);                // a copy to read it would be a submission
    if (!made->buffer->range.block->mapped) {  // cleared by commands, before the application's buffer executes
        const std::lock_guard lock(queue.mutex);
        queue.submit();
    }
    const std::lock_guard lock(reporting.mutex);
    auto& mine = reporting.recorded[&recorder];
    mine.ring = std::move(made);
    return *mine.ring;
}

void VulkanDevice::take_recorded(const CommandRecorder& recorder, bool is_last) {
    const CommandRecorder::Suspended outside;
    const std::lock_guard one_at_a_time(reporting.taking);
    ReportRing* ring = nullptr;
    std::vector<uint32_t> numbers;
    {
        const std::lock_guard lock(reporting.mutex);
        const auto known = reporting.recorded.find(&recorder);
        if (known == reporting.recorded.end()) return;
        ring = known->second.ring.get();
        numbers = known->second.numbers;
    }
    std::vector<uint32_t> head(ring::records);
    read_ring(*ring, 0, head);
    const size_t written = std::min(head[ring::used], head[ring::capacity]);
    if (written > 0 || head[ring::failed] > 0) {
        const std::vector<uint32_t> records = read_records(*ring, 0, written);
        Reports::RingProgress taken;
        reports.take(head, records, numbers, true, taken, true);
        clear_ring(*ring, ring::records + written);
        if (!ring->buffer->range.block->mapped) {
            const std::lock_guard lock(queue.mutex);
            queue.submit();
        }
    }
    if (!is_last) return;
    for (const uint32_t number : numbers) reports.drop(number);
    const std::lock_guard lock(reporting.mutex);
    const auto known = reporting.recorded.find(&recorder);
    reporting.unused.push_back(std::move(known->second.ring));
    reporting.recorded.erase(known);
}

/// Commands that may still execute write to the ring.
void VulkanDevice::abandon_recorded(const CommandRecorder& recorder) {
    const std::lock_guard lock(reporting.mutex);
    const auto known = reporting.recorded.find(&recorder);
    if (known == reporting.recorded.end()) return;
    reporting.abandoned.push_back(std::move(known->second.ring));
    reporting.recorded.erase(known);
}

/// After every wait: writes the events of work that is done, and delivers the reports of launches that are done.
void VulkanDevice::settle() {
    if (trace::on()) {
        const std::lock_guard lock(queue.mutex);
        traced.collect(queue.poll());
    }
    if (!reporting.used) return;
    take_reports();
    reports.deliver();
}

}  // namespace pumice::vulkan
