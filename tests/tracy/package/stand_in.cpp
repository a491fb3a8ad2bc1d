// A stand-in for Tracy's client, for tests: keeps what it is told, and notes calls that the profiler would take for faults.
#include "stand_in.h"

#include <unistd.h>

#include <mutex>

#include "tracy/TracyC.h"

namespace {

using namespace tracy_stand_in;

struct Source {
    std::string name, function, file;
    uint32_t line;
};
struct OpenZone {
    uint32_t id;
    size_t index;  // SIZE_MAX: forgotten
};

std::mutex mutex;
Record all;
std::map<uint64_t, Source> sources;                       // not used yet
std::map<int64_t, std::vector<OpenZone>> open;            // by thread, the innermost last
std::map<std::pair<int, int>, int64_t GpuZone::*> asked;  // context and query: the time that is to come
std::map<std::pair<int, int>, size_t> zone_of_query;
std::map<int, size_t> open_gpu;   // by context
std::map<int, int64_t> last_end;  // by context
std::map<const void*, size_t> living;
uint64_t next_source = 1;
uint32_t next_zone = 1;

void fault(const std::string& what) { all.faults.push_back(what); }

Source take(uint64_t number) {
    const auto found = sources.find(number);
    if (found == sources.end()) return fault("a source location is used twice, or was never made"), Source{"", "", "", 0};
    Source source = found->second;
    sources.erase(found);
    return source;
}

bool has(int context) {
    if (all.contexts.count(context)) return true;
    fault("GPU context " + std::to_string(context) + " was never made");
    return false;
}

}  // namespace

namespace tracy_stand_in {

Record record() {
    const std::lock_guard lock(mutex);
    return all;
}
void clear() {
    const std::lock_guard lock(mutex);
    all.zones.clear(), all.gpu_zones.clear(), all.blocks.clear(), all.faults.clear();
    for (auto& [thread, zones] : open)
        for (OpenZone& one : zones) one.index = SIZE_MAX;
    living.clear();
}

}  // namespace tracy_stand_in

uint64_t ___tracy_alloc_srcloc_name(uint32_t line, const char* file, size_t file_size, const char* function, size_t function_size,
                                    const char* name, size_t name_size, uint32_t) {
    const std::lock_guard lock(mutex);
    sources[next_source] = {{name, name_size}, {function, function_size}, {file, file_size}, line};
    return next_source++;
}

TracyCZoneCtx ___tracy_emit_zone_begin_alloc(uint64_t source, int32_t active) {
    const std::lock_guard lock(mutex);
    const Source from = take(source);
    std::vector<OpenZone>& there = open[gettid()];
    all.zones.push_back({from.name, from.function, "", gettid(), int(there.size()), false});
    there.push_back({next_zone, all.zones.size() - 1});
    return {next_zone++, active};
}

void ___tracy_emit_zone_text(TracyCZoneCtx zone, const char* text, size_t size) {
    const std::lock_guard lock(mutex);
    std::vector<OpenZone>& there = open[gettid()];
    if (there.empty() || there.back().id != zone.id) return fault("text of a zone that is not the innermost of its thread");
    if (size >= UINT16_MAX) return fault("a text that is too long");
    if (there.back().index != SIZE_MAX) all.zones[there.back().index].text.assign(text, size);
}

void ___tracy_emit_zone_end(TracyCZoneCtx zone) {
    const std::lock_guard lock(mutex);
    std::vector<OpenZone>& there = open[gettid()];
    if (there.empty() || there.back().id != zone.id) return fault("the end of a zone that is not the innermost of its thread");
    if (there.back().index != SIZE_MAX) all.zones[there.back().index].ended = true;
    there.pop_back();
}

void ___tracy_emit_gpu_new_context_serial(const ___tracy_gpu_new_context_data data) {
    const std::lock_guard lock(mutex);
    if (all.contexts.count(data.context) || data.context == 255) return fault("a GPU context is made twice, or has number 255");
    all.contexts[data.context] = {"", data.gpuTime, data.period, 0};
}
void ___tracy_emit_gpu_context_name_serial(const ___tracy_gpu_context_name_data data) {
    const std::lock_guard lock(mutex);
    if (has(data.context)) all.contexts[data.context].name.assign(data.name, data.len);
}
void ___tracy_emit_gpu_calibration_serial(const ___tracy_gpu_calibration_data data) {
    const std::lock_guard lock(mutex);
    if (!has(data.context)) return;
    Context& context = all.contexts[data.context];
    // Both clocks are the steady one.
    if (data.cpuDelta <= 0 || data.cpuDelta != data.gpuTime - context.calibrated)
        fault("a calibration of two lengths, or of none");
    context.calibrated = data.gpuTime;
    ++context.calibrations;
}

void ___tracy_emit_gpu_zone_begin_alloc_serial(const ___tracy_gpu_zone_begin_data data) {
    const std::lock_guard lock(mutex);
    const Source from = take(data.srcloc);
    if (!has(data.context)) return;
    if (open_gpu.count(data.context)) fault("a GPU zone begins in another one");
    if (asked.count({data.context, data.queryId})) fault("a query is asked for twice");
    GpuZone zone;
    zone.name = from.name, zone.category = from.function, zone.file = from.file, zone.line = from.line,
    zone.context = data.context;
    all.gpu_zones.push_back(zone);
    open_gpu[data.context] = all.gpu_zones.size() - 1;
    asked[{data.context, data.queryId}] = &GpuZone::begin;
    zone_of_query[{data.context, data.queryId}] = all.gpu_zones.size() - 1;
}
void ___tracy_emit_gpu_zone_end_serial(const ___tracy_gpu_zone_end_data data) {
    const std::lock_guard lock(mutex);
    if (!open_gpu.count(data.context)) return fault("the end of a GPU zone that has not begun");
    if (asked.count({data.context, data.queryId})) fault("a query is asked for twice");
    asked[{data.context, data.queryId}] = &GpuZone::end;
    zone_of_query[{data.context, data.queryId}] = open_gpu[data.context];
    open_gpu.erase(data.context);
}
void ___tracy_emit_gpu_time_serial(const ___tracy_gpu_time_data data) {
    const std::lock_guard lock(mutex);
    const std::pair<int, int> query{data.context, data.queryId};
    const auto found = asked.find(query);
    if (found == asked.end()) return fault("the time of a query that nobody asked for");
    const bool is_begin = found->second == &GpuZone::begin;
    all.gpu_zones.at(zone_of_query[query]).*found->second = data.gpuTime;
    asked.erase(found);
    if (data.gpuTime < last_end[data.context]) fault("a GPU zone begins before the one before it ends");
    if (!is_begin) last_end[data.context] = data.gpuTime;
}

void ___tracy_emit_memory_alloc_named(const void* address, size_t size, const char* pool) {
    const std::lock_guard lock(mutex);
    if (living.count(address)) fault("memory is allocated twice");
    all.blocks.push_back({size, pool, false});
    living[address] = all.blocks.size() - 1;
}
void ___tracy_emit_memory_free_named(const void* address, const char* pool) {
    const std::lock_guard lock(mutex);
    const auto found = living.find(address);
    if (found == living.end()) return;  // allocated before clear()
    Block& block = all.blocks[found->second];
    if (block.pool != pool) fault("memory is freed in another pool");
    block.freed = true;
    living.erase(found);
}
