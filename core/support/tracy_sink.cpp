// Events of a trace in the profiler Tracy, by the C interface of its client.
//
// A span is a zone of its thread, told when it begins and when it ends, so that zones of Pumice and of the application nest:
//
//   launch {kernel: advect}      ___tracy_emit_zone_begin_alloc ... ___tracy_emit_zone_text, ___tracy_emit_zone_end
//   advect on vulkan, stream 0   GPU zone with two query numbers, and the time of each
//
// Work of a device is known when it is done. It becomes zones of GPU contexts, one context a stream, since these are the zones
// that Tracy takes afterwards and with times of their own. The times are those of the steady clock; each context is calibrated
// with it again every second, because Tracy measures time by the processor's counter. Zones of a context must follow each other:
// work that overlaps with earlier work of its stream, as that of fused launches, gets a further context of the same name.
//
// Cost: 0.7 us a span with its text (client of Tracy 0.11.1, two shared cores). Work of a device costs as much, on the thread of
// the trace. Limits: 128 contexts, after which overlapping work is put behind each other. Contexts have the numbers 254, 253, ...
// of the 255 of a process, since Tracy's C++ interface counts from 0. Details of work, such as its rates, are in the file of
// PUMICE_TRACE alone: GPU zones have no text.
#ifdef PUMICE_TRACY
#include <tracy/TracyC.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <deque>
#include <map>
#include <type_traits>
#include <vector>

#include "core/support/trace.h"
#include "core/support/trace_sink.h"

#ifndef TRACY_ENABLE
#error \
    "The package Tracy was built with TRACY_ENABLE=OFF: its client takes no events. Build it again, or configure without PUMICE_TRACY."
#endif

namespace pumice::trace {
namespace {

constexpr uint8_t opencl = 3, with_calibration = 1;  // of Tracy's protocol: GpuContextType, GpuContextFlags
constexpr int first_context = 254;
constexpr size_t most_contexts = 128;
constexpr int64_t between_calibrations = 1'000'000'000;  // ns

uint32_t colour_of(std::string_view category) {
    if (category == "launch") return 0x4f9d69;
    if (category == "copy" || category == "fill") return 0xc08a3e;
    if (category == "compile" || category == "pass") return 0x7a5fb5;
    if (category == "derivative") return 0xb3495c;
    return 0x4a78a8;
}

// Versions of Tracy differ in these: old ones have no colour, and one more argument of memory, on security.

template <class F> uint64_t source_of(F* allocate, std::string_view category, std::string_view name, std::string_view place) {
    const size_t colon = place.rfind(':');
    uint32_t line = 0;
    if (colon != place.npos) std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
    const std::string_view file = place.empty() ? std::string_view("pumice") : place.substr(0, colon);
    if constexpr (std::is_invocable_v<F*, uint32_t, const char*, size_t, const char*, size_t, const char*, size_t, uint32_t>)
        return allocate(line, file.data(), file.size(), category.data(), category.size(), name.data(), name.size(),
                        colour_of(category));
    else
        return allocate(line, file.data(), file.size(), category.data(), category.size(), name.data(), name.size());
}

template <class F> void emit_allocation(F* emit, const void* address, size_t bytes, const char* pool) {
    if constexpr (std::is_invocable_v<F*, const void*, size_t, const char*>)
        emit(address, bytes, pool);
    else
        emit(address, bytes, 0, pool);
}

template <class F> void emit_free(F* emit, const void* address, const char* pool) {
    if constexpr (std::is_invocable_v<F*, const void*, const char*>)
        emit(address, pool);
    else
        emit(address, 0, pool);
}

class TracySink final : public TraceSink {
public:
    uint64_t begin(std::string_view category, std::string_view name) override {
        const TracyCZoneCtx zone = ___tracy_emit_zone_begin_alloc(source_of(___tracy_alloc_srcloc_name, category, name, {}), 1);
        static_assert(sizeof zone == sizeof(uint64_t));
        return std::bit_cast<uint64_t>(zone);
    }

    void end(uint64_t span, std::string_view details) override {
        const auto zone = std::bit_cast<TracyCZoneCtx>(span);
        if (!details.empty()) ___tracy_emit_zone_text(zone, details.data(), std::min<size_t>(details.size(), UINT16_MAX - 1));
        ___tracy_emit_zone_end(zone);
    }

    void ran(const Description& what, const std::string& track, int64_t from, int64_t to) override {
        Context& context = context_for(track, from);
        const int64_t time = now();
        if (time - context.calibrated >= between_calibrations) {
            ___tracy_emit_gpu_calibration_serial({time, time - context.calibrated, context.number});
            context.calibrated = time;
        }
        from = std::max(from, context.end);
        to = std::max(from, to);
        context.end = to;
        const uint16_t first = context.query++, second = context.query++;
        ___tracy_emit_gpu_zone_begin_alloc_serial(
            {source_of(___tracy_alloc_srcloc_name, what.category, what.name, what.source), first, context.number});
        ___tracy_emit_gpu_zone_end_serial({second, context.number});
        ___tracy_emit_gpu_time_serial({from, first, context.number});
        ___tracy_emit_gpu_time_serial({to, second, context.number});
    }

    void allocated(const void* address, int64_t bytes, const char* device) override {
        emit_allocation(___tracy_emit_memory_alloc_named, address, size_t(bytes), device);
    }
    void freed(const void* address, const char* device) override { emit_free(___tracy_emit_memory_free_named, address, device); }

private:
    struct Context {
        uint8_t number = 0;
        uint16_t query = 0;
        int64_t calibrated = 0;  ///< when it was last calibrated
        int64_t end = 0;         ///< of its last zone
    };

    /// A context of this name whose last zone ends before `from`.
    Context& context_for(const std::string& track, int64_t from) {
        std::vector<Context*>& there = tracks[track];
        for (Context* const one : there)
            if (one->end <= from) return *one;
        if (contexts.size() == most_contexts) {
            if (there.empty()) there.push_back(&contexts.back());
            return **std::ranges::min_element(there, {}, &Context::end);
        }
        Context& made = contexts.emplace_back();
        there.push_back(&made);
        made.number = uint8_t(first_context - int(contexts.size() - 1));
        made.calibrated = now();
        ___tracy_emit_gpu_new_context_serial({made.calibrated, 1.0f, made.number, with_calibration, opencl});
        ___tracy_emit_gpu_context_name_serial({made.number, track.c_str(), uint16_t(std::min<size_t>(track.size(), UINT16_MAX))});
        return made;
    }

    std::deque<Context> contexts;
    std::map<std::string, std::vector<Context*>> tracks;
};

}  // namespace

std::unique_ptr<TraceSink> tracy_sink() { return std::make_unique<TracySink>(); }

}  // namespace pumice::trace
#endif
