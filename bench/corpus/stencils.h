// The parts of the family stencils.
#pragma once
#include "bench/corpus/corpus.h"

namespace bench::corpus {

std::vector<Kernel> simulations();  ///< several fields or several launches a step

}  // namespace bench::corpus
