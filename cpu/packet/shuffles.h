// Shuffles of vectors: parts, permutations, transposes in registers.
#pragma once
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

constexpr int quad = 4;  ///< lanes that a shuffle keeps together: 128 bits

class Shuffles : EmitterPart {
public:
    explicit Shuffles(const EmitterPart& all) : EmitterPart(all) {}

    std::string resized(const std::string& scalar, const std::string& vector, int from, int to);
    std::string vector_part(const std::string& scalar, const std::string& vector, int first, int count);
    std::string concatenated(const std::string& type, int lanes, std::vector<std::string> parts);
    std::string shuffled(const std::string& type, int lanes, const std::string& a, const std::string& b, int result,
                         const std::function<int(int)>& of);
    void transpose_blocks(std::array<std::string, quad>& v, const std::string& type, int lanes);
    std::vector<std::string> transposed(const std::string& type, std::vector<std::string> rows);
    std::vector<std::string> transposed(const std::string& type, int rows, int columns,
                                        const std::function<std::string(int row, int column)>& four);
    std::string permuted(const std::string& type, const std::string& value, const std::function<int(int)>& source);
};

}  // namespace pumice::cpu
