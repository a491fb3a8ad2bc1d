// The samplers in two files.
#pragma once
#include "bench/corpus/corpus.h"

namespace bench::corpus {

std::vector<Kernel> random_samplers();  ///< draws of random numbers, particles, prices
std::vector<Kernel> scores();           ///< molecules, densities, pairs, trajectories

}  // namespace bench::corpus
