// Looks elements up in registers: each lane of a packet takes one of the elements of one or two vectors.
#pragma once
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class RegisterLookups : EmitterPart {
public:
    explicit RegisterLookups(const EmitterPart& all) : EmitterPart(all) {}

    int window_for(int bytes, int64_t elements) const;
    std::string looked_up(const std::string& type, int bytes, int elements, const std::string& window, const std::string& of);

private:
    struct Register {
        int bytes, lanes;  ///< of a register; the elements that it holds
        int units;         ///< the elements, or words, that its permutation moves
        std::string unit, vector;
    };
    Register register_for(int bytes) const;
    std::string part(const std::string& type, int count, const std::string& vector, int first, int size);
    std::string moved(const Register& r, const std::string& low, const std::string& high, const std::string& at);
};

}  // namespace pumice::cpu
