// The function that native code calls for a print or a failed requirement: writes one record into the ring, by the rules of
// core/host/ring.h.
#include "runtime/api/rt_api.h"
#include "runtime/cpu/rt_frame.h"
#include "runtime/device/rt_ring.h"

// Exported: native code of shared libraries calls it.
extern "C" PUMICE_RT_API void pumice_cpu_report(const pumice_rt::Frame* frame, int32_t failure, uint32_t format,
                                                const int32_t* record, uint32_t words);

void pumice_cpu_report(const pumice_rt::Frame* frame, int32_t failure, uint32_t format, const int32_t* record, uint32_t words) {
    namespace ring = pumice_rt::ring;
    uint32_t* const to = static_cast<uint32_t*>(frame->ring);
    const auto add = [to](size_t word, uint32_t by) { return __atomic_fetch_add(&to[word], by, __ATOMIC_RELAXED); };
    const auto put_at = [&](uint32_t* at) {
        *at++ = frame->launch;
        *at++ = format;
        for (uint32_t i = 0; i < 3 + words; ++i) *at++ = uint32_t(record[i]);
    };
    if (failure && add(ring::failed, 1) == 0) put_at(to + ring::first_failure);
    const uint32_t n = uint32_t(ring::head) + words;
    if (__atomic_load_n(&to[ring::used], __ATOMIC_RELAXED) > to[ring::capacity]) {
        add(ring::lost, 1);
        return;
    }
    const uint32_t at = add(ring::used, n);
    if (at + n <= to[ring::capacity]) {
        put_at(to + ring::records + at);
        return;
    }
    add(ring::lost, 1);
    if (at < to[ring::capacity]) to[ring::records + at] = 0;
}
