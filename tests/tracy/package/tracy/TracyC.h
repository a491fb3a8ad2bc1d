// A stand-in for the header of Tracy's client, for tests: declarations of the functions that core/support/tracy_sink.cpp calls,
// as version 0.13 has them, and nothing else of Tracy. stand_in.cpp defines them.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef TRACY_ENABLE
#ifdef __cplusplus
extern "C" {
#endif

// Zones of threads.
typedef struct ___tracy_c_zone_context {
    uint32_t id;
    int32_t active;
} TracyCZoneCtx;
uint64_t ___tracy_alloc_srcloc_name(uint32_t line, const char* file, size_t file_size, const char* function, size_t function_size,
                                    const char* name, size_t name_size, uint32_t colour);
TracyCZoneCtx ___tracy_emit_zone_begin_alloc(uint64_t source, int32_t active);
void ___tracy_emit_zone_text(TracyCZoneCtx zone, const char* text, size_t size);
void ___tracy_emit_zone_end(TracyCZoneCtx zone);

// Zones of GPU contexts.
struct ___tracy_gpu_new_context_data {
    int64_t gpuTime;
    float period;
    uint8_t context, flags, type;
};
struct ___tracy_gpu_context_name_data {
    uint8_t context;
    const char* name;
    uint16_t len;
};
struct ___tracy_gpu_calibration_data {
    int64_t gpuTime, cpuDelta;
    uint8_t context;
};
struct ___tracy_gpu_zone_begin_data {
    uint64_t srcloc;
    uint16_t queryId;
    uint8_t context;
};
struct ___tracy_gpu_zone_end_data {
    uint16_t queryId;
    uint8_t context;
};
struct ___tracy_gpu_time_data {
    int64_t gpuTime;
    uint16_t queryId;
    uint8_t context;
};
void ___tracy_emit_gpu_new_context_serial(const struct ___tracy_gpu_new_context_data);
void ___tracy_emit_gpu_context_name_serial(const struct ___tracy_gpu_context_name_data);
void ___tracy_emit_gpu_calibration_serial(const struct ___tracy_gpu_calibration_data);
void ___tracy_emit_gpu_zone_begin_alloc_serial(const struct ___tracy_gpu_zone_begin_data);
void ___tracy_emit_gpu_zone_end_serial(const struct ___tracy_gpu_zone_end_data);
void ___tracy_emit_gpu_time_serial(const struct ___tracy_gpu_time_data);

// Memory.
void ___tracy_emit_memory_alloc_named(const void* address, size_t size, const char* pool);
void ___tracy_emit_memory_free_named(const void* address, const char* pool);

#ifdef __cplusplus
}
#endif
#endif
