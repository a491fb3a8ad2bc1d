// Halide's form of the cases that it can express, scheduled by hand.
#pragma once
#include "bench/cpu/case.h"

namespace bench::cpu {

struct HalideSides {
    Side (*triad)(const std::vector<float>& b, const std::vector<float>& c, float s);
    Side (*diffusion)(const std::vector<float>& now, float c, int n);
    Side (*maths)(const std::vector<float>& x);
    Side (*transpose)(const std::vector<float>& from, int n);
    Side (*matmul)(const std::vector<float>& a, const std::vector<float>& b, int n);
};
/// Null where the benchmarks were built without Halide.
const HalideSides* halide();

}  // namespace bench::cpu
