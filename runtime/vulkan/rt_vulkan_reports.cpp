// Prints and requirements of kernels on a Vulkan device: one ring in device memory (runtime/device/rt_ring.h), which the host
// reads after each wait that reaches its last launch.
#include "runtime/device/rt_ring.h"
#include "runtime/vulkan/rt_vulkan_device.h"

namespace pumice_rt::vulkan {
namespace {

constexpr int64_t ring_bytes = int64_t(ring::words) * 4;
constexpr size_t most_reporting = 4096;  // launches between two deliveries

pumice_status no_memory() { return fail(PUMICE_ERROR_MEMORY, "the host has no memory for the lines that kernels have printed"); }

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
    __atomic_store_n(&ring_state.ever, true, __ATOMIC_RELAXED);
    return clear_ring(0);
}

/// Zeroes the first words, and sets the capacity. No unfinished command uses the ring.
pumice_status VulkanDevice::clear_ring(size_t words) {
    const uint32_t capacity = uint32_t(ring::words - ring::records);
    VulkanMemory& memory_of_ring = *ring_state.memory;
    ring_state.expected = 0;
    ring_state.used = false;
    if (char* const mapped = memory_of_ring.range.block->mapped) {
        memset(mapped + memory_of_ring.range.offset, 0, words * 4);
        memcpy(mapped + memory_of_ring.range.offset + ring::capacity * 4, &capacity, 4);
        return PUMICE_OK;
    }
    if (words > 0) RT_TRY(fill_words(memory_of_ring, 0, int64_t(words) * 4, 0, nullptr));
    return fill_words(memory_of_ring, ring::capacity * 4, 4, capacity, nullptr);
}

/// True in a call by the hook `print`: such a call does not wait for the lines.
bool VulkanDevice::delivering_here() const {
    return __atomic_load_n(&ring_state.delivers, __ATOMIC_ACQUIRE) &&
           pthread_equal(__atomic_load_n(&ring_state.deliverer, __ATOMIC_RELAXED), pthread_self());
}

/// A launch whose module has the ring bound. Its program and pipeline exist. Earlier lines are delivered first if the ring may
/// have no room for more.
pumice_status VulkanDevice::launch_reporting(const Launch& launch) {
    if (delivering_here())
        return fail(PUMICE_ERROR_ARGUMENT, "kernel \"%s\" prints, and is launched by the hook that takes the lines",
                    launch.kernel_name());
    const Lock alone(reporting);
    RT_TRY(need_ring());
    // A range has at most 2^48 items; the ring holds less.
    const int64_t items = launch.extent[0] * launch.extent[1] * launch.extent[2], most = int64_t(ring::words);
    const int64_t words = words_printed(*launch.bundle, launch.record()) * (items < most ? items : most);
    if (ring_state.used && (ring_state.expected + words > most || reports.added() >= most_reporting)) {
        RT_TRY(queue.wait(ring_state.last));
        RT_TRY(take_lines());
    }
    const uint32_t number = reports.add(launch, launch.group);
    if (number == 0)
        return fail(PUMICE_ERROR_MEMORY, "the host has no memory for what kernel \"%s\" prints", launch.kernel_name());
    const Lock lock(queue.mutex);
    RT_TRY(queue.make_room());
    Shader* shader = nullptr;
    Pipeline* pipeline = nullptr;
    bool missing = false;
    RT_TRY(choose(launch, shader, pipeline, missing));
    RecordedLaunch recorded{launch, *shader, *pipeline};
    recorded.number = number;
    ring_state.expected += words;
    ring_state.used = true;
    const pumice_status status = record_launch(recorded);
    if (recorded.value > 0) ring_state.last = recorded.value;
    return status;
}

/// Reads the ring, whose launches are done, gives its lines to the application, and clears it.
pumice_status VulkanDevice::take_lines() {
    VulkanMemory& memory_of_ring = *ring_state.memory;
    const char* const mapped = memory_of_ring.range.block->readable();
    const auto fetch = [&](uint32_t* to, size_t first, size_t count) {
        const int64_t offset = int64_t(first) * 4, bytes = int64_t(count) * 4;
        if (!mapped) return read_staged(memory_of_ring, offset, reinterpret_cast<char*>(to), bytes);
        memcpy(to, mapped + memory_of_ring.range.offset + offset, size_t(bytes));
        return PUMICE_OK;
    };
    List<uint32_t> words(hooks);
    if (!words.resize(ring::records)) return no_memory();
    RT_TRY(fetch(words.data(), 0, ring::records));
    const size_t written = words[ring::used] < words[ring::capacity] ? words[ring::used] : words[ring::capacity];
    if (!words.resize(ring::records + written)) return no_memory();
    if (written > 0) RT_TRY(fetch(words.data() + ring::records, ring::records, written));
    __atomic_store_n(&ring_state.deliverer, pthread_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&ring_state.delivers, true, __ATOMIC_RELEASE);
    const pumice_status status = reports.deliver_lines(words.data());
    __atomic_store_n(&ring_state.delivers, false, __ATOMIC_RELEASE);
    return status == PUMICE_OK ? clear_ring(ring::records + written) : status;  // else the next wait delivers them
}

/// After every wait: delivers the lines of launches that are done, and returns the error of a failed requirement.
pumice_status VulkanDevice::settle() {
    if (!__atomic_load_n(&ring_state.ever, __ATOMIC_RELAXED) || delivering_here()) return PUMICE_OK;
    {
        const Lock alone(reporting);
        if (ring_state.used && queue.reached(ring_state.last)) RT_TRY(take_lines());
    }
    return reports.take_failure();
}

}  // namespace pumice_rt::vulkan
