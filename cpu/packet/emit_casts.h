// Conversions between types, also between registers and memory.
#pragma once
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class Casts : EmitterPart {
public:
    explicit Casts(const EmitterPart& all) : EmitterPart(all) {}

    std::string cast(Scalar from, Scalar to, const std::string& value, bool vector);
    std::string convert(const char* instruction, const std::string& from, const std::string& value, const std::string& to);
    std::string from_memory(Scalar type, const std::string& value, bool vector);
    std::string to_memory(Scalar type, const std::string& value, bool vector);

private:
    std::string saturated(Scalar from, Scalar to, const std::string& value);
    std::string from_bf16(const std::string& bits, bool vector);
    std::string to_bf16(const std::string& value, bool vector);
};

}  // namespace pumice::cpu
