// Random programs through the C++ language, on the device against the interpreter: bit for bit under strict maths, and for
// integers in every case; floats under contracting maths to rounding. A failure prints its seed and the smallest program that
// fails in the same way. PUMICE_FUZZ_SEED and PUMICE_FUZZ_COUNT choose the seeds. PUMICE_FUZZ_WITHOUT=name,... leaves parts of
// the language out (see random_program.h). PUMICE_FUZZ_APART=n runs each seed in another process, for n seconds at most, which
// may crash. PUMICE_FUZZ_SURVEY=1 only lists failures, PUMICE_FUZZ_TRACE=1 prints each seed.
#include <iostream>

#include "tests/fuzz/random_run.h"
#include "tests/fuzz/random_shrink.h"
#include "tests/fuzz/seeds.h"
#include "tests/kept_device.h"

using namespace pumice;

namespace {

/// The options of a run, from the environment.
struct Manner {
    int apart = 0;        ///< seconds that a seed has in a process of its own; 0: all in this one
    bool survey = false;  ///< says what fails, and goes on without making it smaller
    bool traces = false;
    int failures = 0;
    int unbound = 0;  ///< programs with more arrays than the device binds
};

void check_seed(uint64_t seed, const fuzz::Options& options, Manner& how) {
    const fuzz::Program program = fuzz::random_program(seed, options);
    const auto check = [&](const fuzz::Program& p) { return how.apart ? fuzz::check_apart(p, how.apart) : fuzz::check(p); };
    if (how.traces) std::cerr << "seed " << seed << std::endl;
    const auto found = check(program);
    if (!found) return;
    if (found->message.find(" places of device memory, and ") != std::string::npos) {
        std::cerr << "SKIPPED: seed " << seed << ": " << found->message << std::endl;
        ++how.unbound;
        return;
    }
    std::cerr << "seed " << seed << " fails: " << found->message << std::endl;  // shrinking may crash
    ++how.failures;
    if (how.survey) return;
    const fuzz::Program smallest = fuzz::shrink(program, [&](const fuzz::Program& p) {
        const auto failure = check(p);
        return failure && failure->kind == found->kind;
    });
    const auto last = check(smallest);
    ADD_FAILURE() << "PUMICE_FUZZ_SEED=" << seed << ": " << found->message
                  << "\nthe smallest program: " << (last ? last->message : "does not fail again") << "\n"
                  << fuzz::told(smallest);
}

TEST(Fuzz, ProgramsAgreeWithTheInterpreter) {
    Manner how;
    if (const char* seconds = std::getenv("PUMICE_FUZZ_APART")) how.apart = std::max(1, std::atoi(seconds));
    how.survey = std::getenv("PUMICE_FUZZ_SURVEY") != nullptr;
    how.traces = std::getenv("PUMICE_FUZZ_TRACE") != nullptr;
    const fuzz::Options options = how.apart ? fuzz::options_apart() : fuzz::options_for(kept_device->get());
    int seeds = 0;
    fuzz::each_seed(100, [&](uint64_t seed) { ++seeds, check_seed(seed, options, how); });
    EXPECT_EQ(how.failures, 0);
    EXPECT_LE(how.unbound, seeds / 10) << "most programs have few enough arrays for every device";
}

}  // namespace
