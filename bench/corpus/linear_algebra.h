// The parts of the family linear_algebra.
#pragma once
#include "bench/corpus/corpus.h"

namespace bench::corpus {

std::vector<Kernel> linear_systems();  ///< factorizations and solutions

}  // namespace bench::corpus
