// Prints and requirements of kernels on a Vulkan device: one ring in device memory (runtime/device/rt_ring.h), which the host
// reads after each wait that reaches its last launch.
#include "runtime/vulkan/rt_vulkan_reports.h"

#include "runtime/device/rt_ring.h"

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
pumice_status ReportRing::need_ring() {
    if (own.ring) return PUMICE_OK;
    RT_TRY(transfers.allocate(ring_bytes, own.ring));
    __atomic_store_n(&ever, true, __ATOMIC_RELAXED);
    return clear(0);
}

/// Zeroes the first words, and sets the capacity. No unfinished command uses the ring.
pumice_status ReportRing::clear(size_t words) {
    const uint32_t capacity = uint32_t(ring::words - ring::records);
    VulkanMemory& memory_of_ring = *own.ring;
    expected = 0;
    used = false;
    if (char* const mapped = memory_of_ring.range.block->mapped) {
        memset(mapped + memory_of_ring.range.offset, 0, words * 4);
        memcpy(mapped + memory_of_ring.range.offset + ring::capacity * 4, &capacity, 4);
        return PUMICE_OK;
    }
    if (words > 0) RT_TRY(transfers.fill_words(memory_of_ring, 0, int64_t(words) * 4, 0, nullptr));
    return transfers.fill_words(memory_of_ring, ring::capacity * 4, 4, capacity, nullptr);
}

/// True in a call by the hook `print`: such a call does not wait for the lines.
bool ReportRing::delivering_here() const {
    return __atomic_load_n(&delivers, __ATOMIC_ACQUIRE) &&
           pthread_equal(__atomic_load_n(&deliverer, __ATOMIC_RELAXED), pthread_self());
}

pumice_status ReportRing::launch(const Launch& launch) {
    if (delivering_here())
        return fail(PUMICE_ERROR_ARGUMENT, "kernel \"%s\" prints, and is launched by the hook that takes the lines",
                    launch.kernel_name());
    const Lock alone(reporting);
    RT_TRY(need_ring());
    // A range has at most 2^48 items; the ring holds less.
    const int64_t items = launch.extent[0] * launch.extent[1] * launch.extent[2], most = int64_t(ring::words);
    const int64_t words = words_printed(*launch.bundle, launch.record()) * (items < most ? items : most);
    if (used && (expected + words > most || device.reports.added() >= most_reporting)) {
        RT_TRY(queue.wait(last));
        RT_TRY(take_lines());
    }
    const uint32_t number = device.reports.add(launch, launch.group);
    if (number == 0)
        return fail(PUMICE_ERROR_MEMORY, "the host has no memory for what kernel \"%s\" prints", launch.kernel_name());
    const Lock lock(queue.mutex);
    RT_TRY(queue.make_room());
    Shader* shader = nullptr;
    Pipeline* pipeline = nullptr;
    bool missing = false;
    RT_TRY(kernels.choose(launch, shader, pipeline, missing));
    RecordedLaunch recorded{launch, *shader, *pipeline};
    recorded.number = number;
    expected += words;
    used = true;
    const pumice_status status = slices.record(recorded);
    if (recorded.value > 0) last = recorded.value;
    return status;
}

/// Reads the ring, whose launches are done, gives its lines to the application, and clears it.
pumice_status ReportRing::take_lines() {
    VulkanMemory& memory_of_ring = *own.ring;
    const char* const mapped = memory_of_ring.range.block->readable();
    const auto fetch = [&](uint32_t* to, size_t first, size_t count) {
        const int64_t offset = int64_t(first) * 4, bytes = int64_t(count) * 4;
        if (!mapped) return transfers.read_staged(memory_of_ring, offset, reinterpret_cast<char*>(to), bytes);
        memcpy(to, mapped + memory_of_ring.range.offset + offset, size_t(bytes));
        return PUMICE_OK;
    };
    List<uint32_t> words(device.hooks);
    if (!words.resize(ring::records)) return no_memory();
    RT_TRY(fetch(words.data(), 0, ring::records));
    const size_t written = words[ring::used] < words[ring::capacity] ? words[ring::used] : words[ring::capacity];
    if (!words.resize(ring::records + written)) return no_memory();
    if (written > 0) RT_TRY(fetch(words.data() + ring::records, ring::records, written));
    __atomic_store_n(&deliverer, pthread_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&delivers, true, __ATOMIC_RELEASE);
    const pumice_status status = device.reports.deliver_lines(words.data());
    __atomic_store_n(&delivers, false, __ATOMIC_RELEASE);
    return status == PUMICE_OK ? clear(ring::records + written) : status;  // else the next wait delivers them
}

pumice_status ReportRing::settle() {
    if (!__atomic_load_n(&ever, __ATOMIC_RELAXED) || delivering_here()) return PUMICE_OK;
    {
        const Lock alone(reporting);
        if (used && queue.reached(last)) RT_TRY(take_lines());
    }
    return device.reports.take_failure();
}

}  // namespace pumice_rt::vulkan
