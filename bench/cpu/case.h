// Cases of the CPU device: one piece of work done by Pumice on cpu, on lavapipe, and by what a user would pick instead.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <pumice/pumice.h>

#include "bench/corpus/corpus.h"

namespace bench::cpu {

/// One side of a case, with its data in place.
struct Side {
    std::string name;
    std::function<void()> once;                  ///< does the work and returns when it is done
    std::function<std::vector<float>()> result;  ///< of the last time
};

/// The machine's limit that the case is compared with: STREAM's triad, a loop that only reads (as memory gives less where nothing
/// is written), or arithmetic in registers.
enum class Bound { memory, reading, compute };

struct Case {
    std::string name;
    Bound bound = Bound::memory;
    double work = 0;          ///< bytes moved, or operations, of one time
    double tolerance = 1e-5;  ///< of results, relative to the larger of the value and 1
    std::function<Side(const pumice::Device&)> ours;
    std::vector<std::function<Side()>> peers;  ///< OpenMP, hand-written vectors, Halide, OpenCL
};

std::vector<Case> stream_cases();   ///< triad, diffusion, elementwise maths, transpose
std::vector<Case> group_cases();    ///< tiled matmul, reduction, histogram
std::vector<Case> compute_cases();  ///< n-body, mandelbrot, Black-Scholes
std::vector<Case> flow_cases();     ///< LBM, particle push

using HostArray = corpus::Buffer<float>;

}  // namespace bench::cpu
