// The values of the launch frame (cpu/native/frame.h). Each is loaded once, in the entry block.
#pragma once
#include <map>
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class FrameValues : EmitterPart {
public:
    explicit FrameValues(const EmitterPart& all) : EmitterPart(all) {}

    std::string extent_along(ir::MemoryId m, size_t dimension, bool wide);
    std::string argument_text(int parameter, Scalar type);
    std::string extent_text(ir::MemoryId m, int axis);
    std::string axis_text(const char* field, int axis);
    std::string column_text(int which);

private:
    std::string frame_load(const std::string& key, const std::string& type, const std::string& base, int64_t offset);

    std::map<std::string, std::string> frame_texts;
};

}  // namespace pumice::cpu
