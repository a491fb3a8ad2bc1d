// The parts of the gradients.
#pragma once
#include "bench/corpus/corpus.h"

namespace bench::corpus {

std::vector<Gradient> gradients_of_grids();      ///< stencils, samples of a picture
std::vector<Gradient> gradients_of_products();   ///< matrices, rows
std::vector<Gradient> gradients_of_mixtures();   ///< a mixture of Gaussians
std::vector<Gradient> gradients_of_molecules();  ///< forces and scores of pairs
std::vector<Gradient> gradients_of_sequences();  ///< recurrences and steps in time

}  // namespace bench::corpus
