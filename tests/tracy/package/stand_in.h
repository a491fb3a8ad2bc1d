// The calls that the stand-in for Tracy's client has received.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tracy_stand_in {

struct Zone {
    std::string name, category, text;
    int64_t thread = 0;
    int depth = 0;  ///< zones of the thread around it
    bool ended = false;
};
struct GpuZone {
    std::string name, category, file;
    uint32_t line = 0;
    int context = 0;
    int64_t begin = -1, end = -1;
};
struct Context {
    std::string name;
    int64_t calibrated = 0;  ///< when it was made or last calibrated
    float period = 0;
    int calibrations = 0;
};
struct Block {
    size_t bytes = 0;
    std::string pool;
    bool freed = false;
};
struct Record {
    std::vector<Zone> zones;
    std::vector<GpuZone> gpu_zones;
    std::map<int, Context> contexts;
    std::vector<Block> blocks;
    std::vector<std::string> faults;  ///< calls against the rules of Tracy's manual
};

/// So far, since the last clear().
Record record();
/// Forgets zones, blocks and faults; contexts stay.
void clear();

}  // namespace tracy_stand_in
