// Derivatives of random kernels (150 seeds, or PUMICE_FUZZ_SEED): forward mode against central differences, reverse mode against
// forward mode. The kernels have loops, branches, local memory, barriers, atomics and in-place updates.
#include <cstdlib>

#include "autodiff/reverse/derivative_test.h"
#include "autodiff/reverse/random_kernel.h"

namespace pumice::derive::test {
namespace {

TEST(derivatives, of_random_kernels) {
    const char* wanted = std::getenv("PUMICE_FUZZ_SEED");
    const uint32_t first = wanted ? uint32_t(std::atoi(wanted)) : 0, count = wanted ? 1 : 150;
    for (uint32_t seed = first; seed < first + count; ++seed) {
        SCOPED_TRACE(text("seed ", seed));
        std::mt19937 random(seed);
        const std::string kernel = Generator(seed, true).kernel();
        const Values values{random_reals(random, 80), random_reals(random, 64), real(0.7), random_reals(random, 4), whole(2)};
        check_derivatives(kernel, values, {{19}, {8}}, seed, 1e-5);
        if (::testing::Test::HasFailure()) return;
    }
}

}  // namespace
}  // namespace pumice::derive::test
