// Prints and requirements of kernels on a Vulkan device: one ring in device memory (runtime/device/rt_ring.h), which the host reads
// after each wait that reaches its last launch.
#include "runtime/device/rt_ring.h"
#include "runtime/vulkan/rt_vulkan_device.h"

namespace pumice_rt::vulkan {
namespace {

constexpr int64_t ring_bytes = int64_t(ring::words) * 4;

/// Words that a work-item writes if it prints each line once.
int64_t words_printed(const Bundle& bundle, const KernelRecord& kernel) {
    int64_t words = 0;
    for (uint32_t i = 0; i < kernel.formats.count; ++i) {
        const FormatRecord& format = bundle.formats[kernel.formats.first + i];
        if (format.is_requirement) continue;
        words += int64_t(ring::head);
        for (uint32_t v = 0; v < format.types.count; ++v)
            words += int64_t(ring::words_of(bundle.leaves[format.types.first + v].type));
    }
    return words;
}

}  // namespace

/// Allocates the ring at the first use. `reporting` is held, here and below.
pumice_status VulkanDevice::need_ring() {
    if (ring_state.memory) return PUMICE_OK;
    pumice_memory made = nullptr;
    RT_TRY(allocate(ring_bytes, &made));
    ring_state.memory = static_cast<VulkanMemory*>(made);
    return clear_ring(0);
}

/// Zeroes the first words, and sets the capacity. No unfinished command uses the ring.
pumice_status VulkanDevice::clear_ring(size_t words) {
    const uint32_t capacity = uint32_t(ring::words - ring::records);
    VulkanMemory& memory_of_ring = *ring_state.memory;
    ring_state.expected = 0;
    __atomic_store_n(&ring_state.used, false, __ATOMIC_RELAXED);
    if (char* const mapped = memory_of_ring.range.block->mapped) {
        memset(mapped + memory_of_ring.range.offset, 0, words * 4);
        memcpy(mapped + memory_of_ring.range.offset + ring::capacity * 4, &capacity, 4);
        return PUMICE_OK;
    }
    if (words > 0) RT_TRY(fill_words(memory_of_ring, 0, int64_t(words) * 4, 0, nullptr));
    return fill_words(memory_of_ring, ring::capacity * 4, 4, capacity, nullptr);
}

/// A launch whose module has the ring bound. Its program and pipeline exist.
pumice_status VulkanDevice::launch_reporting(const Launch& launch) {
    const Lock alone(reporting);
    RT_TRY(need_ring());
    // A range has at most 2^48 items; the ring holds less.
    const int64_t items = launch.extent[0] * launch.extent[1] * launch.extent[2];
    const int64_t words =
        words_printed(*launch.bundle, launch.record()) * (items < int64_t(ring::words) ? items : int64_t(ring::words));
    pumice_status before = PUMICE_OK;
    if (ring_state.expected > 0 && ring_state.expected + words > int64_t(ring::words)) {
        RT_TRY(queue.wait(ring_state.last));
        before = take_reports();
    }
    if (before != PUMICE_OK) return before;  // an earlier launch's requirement: this one does not begin
    const uint32_t number = reports.add(launch, launch.group);
    if (number == 0)
        return fail(PUMICE_ERROR_MEMORY, "the host has no memory for what kernel \"%s\" prints", launch.kernel_name());
    const Lock lock(queue.mutex);
    RT_TRY(queue.make_room());
    Shader* shader = nullptr;
    Pipeline* pipeline = nullptr;
    bool missing = false;
    RT_TRY(choose(launch, shader, pipeline, missing));
    Recording recording{launch, *shader, *pipeline};
    recording.number = number;
    ring_state.expected += words;
    __atomic_store_n(&ring_state.used, true, __ATOMIC_RELAXED);
    const pumice_status status = record_launch(recording);
    if (recording.value > 0) ring_state.last = recording.value;
    return status;
}

/// Reads the ring, whose launches are done, clears it, and gives its records to the application.
pumice_status VulkanDevice::take_reports() {
    VulkanMemory& memory_of_ring = *ring_state.memory;
    const char* const mapped = memory_of_ring.range.block->readable();
    const auto fetch = [&](uint32_t* to, size_t first, size_t count) {
        const int64_t offset = int64_t(first) * 4, bytes = int64_t(count) * 4;
        if (!mapped) return read_staged(memory_of_ring, offset, reinterpret_cast<char*>(to), bytes);
        memcpy(to, mapped + memory_of_ring.range.offset + offset, size_t(bytes));
        return PUMICE_OK;
    };
    List<uint32_t> words(hooks);
    if (!words.resize(ring::records)) return fail(PUMICE_ERROR_MEMORY, "the host has no memory for what kernels have printed");
    RT_TRY(fetch(words.data(), 0, ring::records));
    const size_t written = words[ring::used] < words[ring::capacity] ? words[ring::used] : words[ring::capacity];
    if (!words.resize(ring::records + written))
        return fail(PUMICE_ERROR_MEMORY, "the host has no memory for what kernels have printed");
    if (written > 0) RT_TRY(fetch(words.data() + ring::records, ring::records, written));
    RT_TRY(clear_ring(ring::records + written));
    return reports.deliver(words.data());
}

/// After every wait: delivers the reports of launches that are done.
pumice_status VulkanDevice::settle() {
    if (!__atomic_load_n(&ring_state.used, __ATOMIC_RELAXED)) return PUMICE_OK;
    const Lock alone(reporting);
    if (!ring_state.used || !queue.reached(ring_state.last)) return PUMICE_OK;
    return take_reports();
}

}  // namespace pumice_rt::vulkan
