// OpenCL C on the processor, through whatever OpenCL driver there is (PoCL).
#pragma once
#include <string>
#include <vector>

#include "bench/cpu/case.h"

namespace bench::cpu {

/// "" where OpenCL has a device, else why not.
const std::string& opencl_unavailable();

/// One argument: an array, or four bytes.
struct ClArgument {
    enum class Kind { in, out, inout, word } kind = Kind::word;
    std::vector<float> data;  ///< of arrays, as it is before the first run
    unsigned word = 0;
};
inline ClArgument cl_in(std::vector<float> v) { return {ClArgument::Kind::in, std::move(v), 0}; }
inline ClArgument cl_out(size_t count) { return {ClArgument::Kind::out, std::vector<float>(count), 0}; }
inline ClArgument cl_inout(std::vector<float> v) { return {ClArgument::Kind::inout, std::move(v), 0}; }
template <class T> ClArgument cl_word(T value) {
    ClArgument a;
    __builtin_memcpy(&a.word, &value, 4);
    return a;
}

/// A side that runs the kernel `k` of the source; its result is argument `result`. `clear`: an argument that is set to zero
/// before every run, or -1.
Side opencl(const std::string& source, std::vector<ClArgument> arguments, std::vector<size_t> global, std::vector<size_t> local,
            int result, int clear = -1);

}  // namespace bench::cpu
