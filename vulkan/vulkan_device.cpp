// Opening and closing a device, allocation, streams. Copies are in transfer.cpp, launches in vulkan_launch.cpp.
#include "vulkan/vulkan_device.h"

#include <algorithm>
#include <cstring>

#include "core/support/debug.h"
#include "core/support/error.h"
#include "vulkan/command_recorder.h"

namespace pumice::vulkan {
namespace {

/// The event of launches in command buffers of the application.
class RecordedEvent : public EventState {
public:
    void wait() override { refuse("waited for"); }
    bool done() override {
        refuse("asked for");
        return false;
    }

private:
    static void refuse(const char* what) {
        fail("the end of a launch inside vulkan::record is ", what,
             ": the application knows when its command buffer has executed, and Pumice does not");
    }
};

// First numbers of staging blocks and of images in the hazard tracker; blocks of arrays count from 1.
constexpr uint64_t first_staging_id = uint64_t(1) << 63, first_image_id = uint64_t(3) << 62;

constexpr int64_t dummy_bytes = 256;

std::atomic<uint64_t> buffer_numbers{0};

}  // namespace

Buffer::Buffer(std::shared_ptr<VulkanDevice> on, MemoryRange of, int64_t size)
    : device(std::move(on)), range(of), number(++buffer_numbers) {
    bytes = size;
}

Buffer::Buffer(std::shared_ptr<VulkanDevice> on, std::unique_ptr<MemoryBlock> of)
    : device(std::move(on)), lent(std::move(of)), range{lent.get(), 0, lent->bytes}, number(++buffer_numbers) {
    bytes = lent->bytes;
}

Buffer::~Buffer() {
    if (lent && !lent->is_owned()) return;
    const std::lock_guard lock(device->queue.mutex);
    if (lent) {
        const std::shared_ptr<MemoryBlock> block = std::move(lent);
        if (is_abandoned)
            device->abandoned_blocks.push_back(block);
        else
            device->queue.retire(last_use, [block] {});
        return;
    }
    if (is_abandoned) return;
    device->queue.retire(last_use, [memory = &device->memory, range = range] { memory->release(range); });
}

VulkanProgram::VulkanProgram(std::weak_ptr<VulkanDevice> on, std::shared_ptr<ShaderPermutations> of)
    : device(std::move(on)), permutations(std::move(of)) {}

VulkanProgram::~VulkanProgram() {
    const std::shared_ptr<VulkanDevice> alive = device.lock();
    if (!alive || is_abandoned) return;  // the device destroys the permutations
    const std::lock_guard lock(alive->queue.mutex);
    std::erase(alive->kernels, permutations);
    alive->queue.retire(alive->queue.last(),
                        [context = &alive->context, permutations = permutations] { permutations->destroy(*context); });
}

void TimelineEvent::wait() {
    const auto open = device.lock();
    if (!open) return;
    open->queue.wait(value);
    open->settle();
}

bool TimelineEvent::done() {
    const auto open = device.lock();
    return !open || open->queue.reached(value);
}

VulkanDevice::VulkanDevice(const Origin& origin, Snapshot snapshot, DevicePlan plan, std::string name)
    : context(origin, std::move(snapshot), std::move(plan), std::move(name)),
      cache(debug::cache_folder()),
      cache_key(device_key(context.snapshot)),
      pipelines(context, cache, cache_key),
      memory(context),
      image_memory(context),
      samplers(context),
      queries(context),
      traced(context, queries),
      queue(context),
      recorded_blocks(context, context.plan.upload_memory, staging_ids),
      staging_ids(first_staging_id),
      upload(context, queue, context.plan.upload_memory, staging_ids),
      download(context, queue, context.plan.download_memory, staging_ids),
      own_blocks(context, context.plan.download_memory, staging_ids),
      next_image_id(first_image_id),
      streams(1) {
    push.resize(context.snapshot.limits.maxPushConstantsSize);
    dummy = allocate_range(dummy_bytes);
    if (!context.wrapped)  // the application orders work on memory of its own device
        queue.at_exit = [this] {
            traced.collect(UINT64_MAX);
            pipelines.save();
            // lavapipe's thread still destroys pipelines when the last submission has signalled.
            context.wait_idle();
            end_functions(context.vk);
        };
    const DevicePlan& p = context.plan;
    debug::log_line(text("opened ", context.name, " (", context.snapshot.driver, "): arrays ",
                         p.arrays[0].mapped ? "mapped, " : "staged, ",
                         p.all_by_address     ? "by address"
                         : p.push_descriptors ? "by push descriptors"
                                              : "by descriptor sets",
                         cache.on() ? "" : ", no disk cache"));
}

VulkanDevice::~VulkanDevice() {
    try {
        queue.finish();
        take_reports();
        reports.deliver_lines();
    } catch (...) {
        // The device is lost, or a call threw and nobody waited. Its objects are destroyed below in any case.
    }
    context.wait_idle();
    traced.collect(UINT64_MAX);
    reporting.rings.clear();
    reporting.recorded.clear();
    reporting.unused.clear();
    reporting.abandoned.clear();
    locks.words.reset();
    pipelines.save();
    for (const auto& kernel : kernels) kernel->destroy(context);
    for (const auto* pools : {&unused_pools, &abandoned_pools})
        for (VkDescriptorPool pool : *pools) context.vk.DestroyDescriptorPool(context.device, pool, nullptr);
}

MemoryRange VulkanDevice::allocate_range(int64_t bytes) {
    const int64_t most = context.plan.max_block_bytes;
    if (bytes > most)
        fail("cannot allocate ", bytes, " bytes on ", context.name, ": one array has at most ", most, " bytes there");
    const auto attempt = [&](bool spare = false) -> std::optional<MemoryRange> {
        const std::lock_guard lock(queue.mutex);
        queue.collect();
        return memory.allocate(bytes, spare);
    };
    const auto release_and_attempt = [&] {
        {
            const std::lock_guard lock(queue.mutex);
            queue.collect();
            memory.release_empty();
            image_memory.release_empty();
        }
        upload.release();
        download.release();
        own_blocks.release();
        recorded_blocks.release();
        return attempt();
    };
    if (const auto range = attempt()) return *range;
    // Retired memory still in use, empty blocks and staging memory can be freed; memory that calls hold back comes last.
    queue.finish_unheld();
    if (const auto range = release_and_attempt()) return *range;
    if (!queue.in_call()) {
        queue.finish();
        if (const auto range = release_and_attempt()) return *range;
    }
    if (const auto range = attempt(true)) return *range;
    const int64_t promised = context.snapshot.max_allocation_bytes;
    fail("cannot allocate ", bytes, " bytes on ", context.name, ": the device has not that much memory left (it has ",
         context.plan.limits.memory, " bytes in all",
         bytes > promised ? text(", and its driver may refuse more than ", promised, " bytes at once") : "", ")");
}

std::shared_ptr<Allocation> VulkanDevice::allocate(int64_t bytes, bool zero) {
    context.require_alive();
    if (bytes > context.plan.limits.max_array_bytes)
        fail("cannot allocate ", bytes, " bytes on ", context.name, ": one array has at most ",
             context.plan.limits.max_array_bytes, " bytes there");
    auto buffer = std::make_shared<Buffer>(self(), allocate_range(bytes), bytes);
    if (!zero) return buffer;
    // A new range is unused, so mapped memory is cleared in place.
    if (const MemoryRange& range = buffer->range; range.block->mapped && !queue.recorder()) {
        std::memset(range.block->mapped + range.offset, 0, size_t(bytes));
    } else {
        const uint32_t zeros = 0;
        fill(*buffer, 0, (bytes + 3) / 4 * 4, &zeros, 4, 0);
    }
    return buffer;
}

void VulkanDevice::name_memory(Allocation& of, int64_t offset, const std::string& name) {
    if (!context.names.on()) return;
    const MemoryRange& range = static_cast<Buffer&>(of).range;
    const std::lock_guard lock(queue.mutex);
    context.names.name_range(context.device, range.block->buffer, range.offset + offset, name);
}

int VulkanDevice::create_stream(Priority priority) {
    const std::lock_guard lock(queue.mutex);
    if (unused_streams.empty()) {
        streams.emplace_back();
        unused_streams.reserve(streams.size());  // so that a release cannot throw
        unused_streams.push_back(int(streams.size()) - 1);
    }
    const int id = unused_streams.back();
    unused_streams.pop_back();
    streams[size_t(id)] = {priority, 0};
    return id;
}

void VulkanDevice::release_stream(int stream) {
    const std::lock_guard lock(queue.mutex);
    unused_streams.push_back(stream);
}

/// Assigns the command being recorded to the stream.
void VulkanDevice::touched(int stream) {
    if (queue.recorder()) return;  // the application knows when its command buffers are done
    uint64_t& last = streams.at(size_t(stream)).last;
    last = std::max(last, queue.value());
}

std::shared_ptr<EventState> VulkanDevice::record(int stream) {
    static RecordedEvent recorded;
    if (queue.recorder()) return {std::shared_ptr<void>(), &recorded};  // no owner, so that nobody counts owners
    const std::lock_guard lock(queue.mutex);
    const uint64_t last = streams.at(size_t(stream)).last;
    if (!last_event || last_event->value != last) last_event = std::make_shared<TimelineEvent>(self(), last);
    return last_event;
}

void VulkanDevice::wait_for(int stream, const std::shared_ptr<EventState>& event) {
    const auto* own = dynamic_cast<const TimelineEvent*>(event.get());
    if (!own || own->device.lock().get() != this) return event->wait();
    if (queue.recorder()) return;  // what was given before is submitted before the command buffer
    // The queue is in order, so only the stream's own value changes.
    const std::lock_guard lock(queue.mutex);
    uint64_t& last = streams.at(size_t(stream)).last;
    last = std::max(last, own->value);
}

void VulkanDevice::call(int stream, std::function<void()> act) {
    if (queue.recorder()) CommandRecorder::refuse("a host function is called by a stream (Stream::call)");
    uint64_t before;
    {
        const std::lock_guard lock(queue.mutex);
        uint64_t& last = streams.at(size_t(stream)).last;
        if (!queue.in_call() || !queue.ahead(last)) {
            queue.call(std::move(act));
            last = queue.last();
            return;
        }
        before = last;
    }
    // A call of another stream is running, which may wait for this one.
    queue.wait(before);
    queue.call_now(act);
}

void VulkanDevice::synchronize() {
    if (queue.recorder()) CommandRecorder::refuse("the host waits for the device");
    const trace::Span span("host", "synchronize");
    queue.finish();
    settle();
}

}  // namespace pumice::vulkan
