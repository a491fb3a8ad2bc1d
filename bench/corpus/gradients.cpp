#include "bench/corpus/gradients.h"

namespace bench::corpus {

std::vector<Gradient> gradients() {
    std::vector<Gradient> all;
    for (const auto& part :
         {gradients_of_grids, gradients_of_products, gradients_of_mixtures, gradients_of_molecules, gradients_of_sequences})
        for (Gradient& g : part()) all.push_back(std::move(g));
    return all;
}

}  // namespace bench::corpus
