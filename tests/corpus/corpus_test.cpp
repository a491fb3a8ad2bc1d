// Each kernel of bench/corpus on the device of this entry beside its OpenMP form, and each gradient beside its adjoint by hand.
#include <gtest/gtest.h>

#include <set>

#include "bench/corpus/corpus.h"

using namespace bench::corpus;

namespace {

template <class T> std::string name_of(const testing::TestParamInfo<T>& info) { return info.param.name; }

/// Runs the test's body; skips it where the device lacks a type that the kernel needs, as its error says.
template <class F> void run_or_skip(const F& body) {
    try {
        body();
    } catch (const pumice::Error& e) {
        const std::string message = e.what();
        const pumice::Device d = pumice::Device::open();
        const bool lacks_doubles = !d.supports(pumice::Feature::float64) && message.find("(float64), which") != message.npos;
        const bool lacks_bytes = !d.supports(pumice::Feature::int8) && message.find("8-bit integers, which") != message.npos;
        const bool lacks_int64 = !d.supports(pumice::Feature::int64) && message.find("64-bit integers, which") != message.npos;
        if (!lacks_doubles && !lacks_bytes && !lacks_int64) throw;
        GTEST_SKIP() << "SKIPPED: " << message;
    }
}

class Corpus : public testing::TestWithParam<Kernel> {};
class CorpusGradients : public testing::TestWithParam<Gradient> {};

}  // namespace

TEST_P(Corpus, AgreesWithOpenMP) {
    run_or_skip([&] {
        const Kernel& k = GetParam();
        const Side ours = k.ours(pumice::Device::open(), Size::test), peer = k.openmp(Size::test);
        // Twice, since each time begins with the same input.
        for (int time = 0; time < 2; ++time) {
            ours.once();
            peer.once();
            EXPECT_EQ(difference(ours.results(), peer.results(), k.tolerance), "") << "time " << time;
        }
    });
}
INSTANTIATE_TEST_SUITE_P(, Corpus, testing::ValuesIn(kernels()), name_of<Kernel>);

TEST_P(CorpusGradients, AgreeWithTheAdjointByHand) {
    run_or_skip([&] {
        const Gradient& g = GetParam();
        const Gradient::Sides sides = g.sides(pumice::Device::open(), Size::test);
        sides.seed();
        sides.reverse();
        const std::vector<Values> ours = sides.results();
        sides.seed();
        sides.by_hand();
        EXPECT_EQ(difference(ours, sides.results(), g.tolerance), "");
    });
}
INSTANTIATE_TEST_SUITE_P(, CorpusGradients, testing::ValuesIn(gradients()), name_of<Gradient>);

TEST(CorpusSize, HasFortyKernelsAndTenGradients) {
    std::set<std::string> names;
    for (const Kernel& k : kernels()) names.insert(k.name);
    EXPECT_EQ(names.size(), kernels().size()) << "names are unique";
    EXPECT_GE(names.size(), 40u);
    EXPECT_GE(gradients().size(), 10u);
}
