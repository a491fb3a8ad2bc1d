// Random programs through the C++ language, on the device against the interpreter: bit for bit under strict maths, and integers always;
// floats of contracting maths within what rounding moves them by. A failure prints its seed and the smallest program that fails the same
// way. PUMICE_FUZZ_SEED and PUMICE_FUZZ_COUNT choose the seeds, PUMICE_FUZZ_WITHOUT=name,... leaves parts of the language out (see
// random_program.h), PUMICE_FUZZ_APART=1 runs each seed in a process of its own, which may crash or hang, PUMICE_FUZZ_TRACE=1 says each seed.
#include <iostream>

#include "tests/fuzz/random_run.h"
#include "tests/fuzz/random_shrink.h"
#include "tests/fuzz/seeds.h"

using namespace pumice;

namespace {

void check_seed(uint64_t seed, const fuzz::Options& options, bool apart) {
    const fuzz::Program program = fuzz::random_program(seed, options);
    const auto check = [&](const fuzz::Program& p) { return apart ? fuzz::check_apart(p, 30) : fuzz::check(p); };
    if (std::getenv("PUMICE_FUZZ_TRACE")) std::cerr << "seed " << seed << std::endl;
    const auto found = check(program);
    if (!found) return;
    std::cerr << "seed " << seed << ": " << found->message << std::endl;  // what makes it smaller may crash
    const fuzz::Program smallest = fuzz::shrink(program, [&](const fuzz::Program& p) {
        const auto failure = check(p);
        return failure && failure->kind == found->kind;
    });
    const auto last = check(smallest);
    ADD_FAILURE() << "PUMICE_FUZZ_SEED=" << seed << ": " << found->message
                  << "\nthe smallest program: " << (last ? last->message : "does not fail again") << "\n"
                  << fuzz::told(smallest);
}

/// What is known to fail and being mended; PUMICE_FUZZ_WITHOUT= says otherwise.
void leave_out_known(fuzz::Options& options) {
    for (const fuzz::Part part :
         {fuzz::Part::equal_stores, fuzz::Part::narrow_indices, fuzz::Part::twins, fuzz::Part::local_sizes, fuzz::Part::climbs})
        options.leave_out(part);
}

TEST(Fuzz, ProgramsAgreeWithTheInterpreter) {
    const bool apart = std::getenv("PUMICE_FUZZ_APART") != nullptr;
    fuzz::Options options = apart ? fuzz::options_apart() : fuzz::options_for(Device::open());
    if (!std::getenv("PUMICE_FUZZ_WITHOUT")) leave_out_known(options);
    fuzz::each_seed(100, [&](uint64_t seed) { check_seed(seed, options, apart); });
}

}  // namespace
