// Emits the rows of kernels with transposed loads, several rows at a time.
#pragma once
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class TransposedRows : EmitterPart {
public:
    explicit TransposedRows(const EmitterPart& all) : EmitterPart(all) {}

    void transposed_rows(const Body& body);
    void peeled_transposed_rows(const Body& body);

private:
    std::string clamped(const std::string& x, const std::string& least, const std::string& most);
};

}  // namespace pumice::cpu
