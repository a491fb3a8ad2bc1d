// The parts of the family `groups`.
#pragma once
#include "bench/corpus/corpus.h"

namespace bench::corpus {

std::vector<Kernel> wavefronts();  ///< dynamic programmes and stencils with ghost zones
std::vector<Kernel> sorting();     ///< scans and sorts
std::vector<Kernel> batches();     ///< many small problems, one a group

}  // namespace bench::corpus
