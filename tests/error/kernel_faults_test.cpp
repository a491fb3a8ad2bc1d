// Faults inside kernels that the checking device reports: whole sentences. The device still works after each.
#include "tests/error/error_suite.h"

using namespace pumice;

namespace {

class Faults : public testing::Test {
protected:
    Device d = Device::open("interp");
    Array<int> eight = d.zeros<int>(8), sixteen = d.zeros<int>(16);
    Array<int, 2> plane = d.zeros<int>({4, 6});

    void TearDown() override {
        const auto after = kernel("after", [](Out<int> a) { a[global_index()] = 7; });
        after(ndrange(8), eight);
        d.synchronize();
        EXPECT_EQ(eight.download(), std::vector<int>(8, 7));
    }
};

/// Expects that the one kernel of a test, defined on this line, fails with exactly this sentence when it is launched.
#define EXPECT_FAULT(sentence, launch, ...)                              \
    do {                                                                 \
        const auto k = kernel("k", __VA_ARGS__);                         \
        EXPECT_ERROR("Kernel \"k\" " sentence, k launch; d.synchronize()); \
    } while (false)

TEST_F(Faults, OutOfBounds) {
    EXPECT_FAULT("reads argument 2 at index 8, whose extent is 8 (work-item 8, @).", (ndrange(16), sixteen, eight),
                 [](Out<int> y, In<int> x) { y[global_index()] = x[global_index()]; });
    EXPECT_FAULT("writes argument 1 at index -1, whose extent is 8 (work-item 0, @).", (ndrange(8), eight),
                 [](Out<int> y) { y[global_index() - 1] = 1; });
    EXPECT_FAULT("atomically updates argument 1 at index 100, whose extent is 8 (work-item 0, @).", (ndrange(8), eight),
                 [](InOut<int> y) { atomic_add(y[100], 1); });
    EXPECT_FAULT("reads argument 2 at index (0, 6), whose extents are (4, 6) (work-item 0, @).", (ndrange(1), eight, plane),
                 [](Out<int> y, In<int, 2> x) { y[0] = x(0, y.size() - 2); });
    EXPECT_FAULT("reads argument 2 at index (4, 0), whose extents are (4, 6) (work-item (4, 0), @).", (ndrange(5, 1), sixteen, plane),
                 [](Out<int> y, In<int, 2> x) { auto [i, j] = global_index<2>(); y[i] = x(i, j); });
    EXPECT_FAULT("reads argument 2 at linear index 24, which has 24 elements (work-item 0, @).", (ndrange(1), eight, plane),
                 [](Out<int> y, In<int, 2> x) { y[0] = x[24]; });
    EXPECT_FAULT("writes local array local1 (@) at index (2, 4), whose extents are (4, 4) (work-item 0, @).", (ndrange(1), eight),
                 [](Out<int> y) { Local<int, 4, 4> t; t(2, 4) = 1; y[0] = t(0, 0); });
    EXPECT_FAULT("writes private array private1 (@) at index 4, whose extent is 4 (work-item 0, @).", (ndrange(1), eight),
                 [](Out<int> y) { Private<int, 4> t; t[4] = 1; y[0] = t[0]; });
    EXPECT_FAULT("reads argument 2 at index 5000000000, whose extent is 8 (work-item 0, @).", (ndrange(1), sixteen, eight),
                 [](Out<int> y, In<int> x) { y[0] = x[int64_t(5'000'000'000)]; });
}

TEST_F(Faults, UniformValuesThatDiffer) {
    EXPECT_FAULT("promises a uniform value that differs in a group: it is 0 in work-item 4 and 1 in work-item 5 (@).", (ndrange(8).group(4), eight, sixteen),
                 [](Out<int> y, In<int> x) { y[global_index()] = uniform(local_index() * cast<int>(group_index() == 1) + x[0]); });
    EXPECT_FAULT("promises a uniform value that differs in a group: it is -0.5 in work-item 0 and 0.5 in work-item 1 (@).", (ndrange(8), eight),
                 [](Out<int> y) { y[global_index()] = cast<int>(uniform(cast<float>(global_index()) - 0.5f)); });
}

TEST_F(Faults, Races) {
    EXPECT_FAULT("has a race on argument 1 at index 0: work-item 0 writes it (@) and work-item 1 writes it (@), with no barrier between them.",
                 (ndrange(8).group(8), eight), [](Out<int> y) { y[0] = global_index(); });
    EXPECT_FAULT("has a race on argument 1 at index 0: work-item 0 writes it (@) and work-item 1 writes it (@), in different groups.",
                 (ndrange(8).group(1), eight), [](Out<int> y) { y[0] = global_index(); });
    EXPECT_FAULT("has a race on argument 1 at index 1: work-item 0 reads it (@) and work-item 1 writes it (@), with no barrier between them.",
                 (ndrange(4).group(4), eight), [](InOut<int> y) { y[global_index()] = y[global_index() + 1]; });
    EXPECT_FAULT("has a race on argument 1 at index 0: work-item 0 atomically updates it (@) and work-item 1 writes it (@), with no barrier "
                 "between them.", (ndrange(2).group(2), eight),
                 [](InOut<int> y) { $if (global_index() == 0) { atomic_add(y[0], 1); } $else { y[0] = 5; } });
    EXPECT_FAULT("has a race on local array local1 (@) at index 3: work-item 0 writes it (@) and work-item 1 writes it (@), with no barrier "
                 "between them.", (ndrange(2).group(2), eight),
                 [](InOut<int> y) { Local<int, 4> t; t[3] = global_index(); y[global_index()] = t[3]; });
}

TEST_F(Faults, ReadBeforeWritten) {
    EXPECT_FAULT("reads local array local1 (@) at index 0 before it is written (work-item 0, @).", (ndrange(8).group(8), eight),
                 [](Out<int> y) { Local<int, 8> t; y[global_index()] = t[local_index()]; });
    EXPECT_FAULT("reads private array private1 (@) at index (1, 2) before it is written (work-item 0, @).", (ndrange(8).group(8), eight),
                 [](Out<int> y) { Private<int, 2, 3> t; y[global_index()] = t(1, 2); });
    EXPECT_FAULT("atomically updates local array local1 (@) at index 2 before it is written (work-item 0, @).", (ndrange(8).group(8), eight),
                 [](Out<int> y) { Local<int, 8> t; y[global_index()] = atomic_add(t[2], 1); });
}

TEST_F(Faults, AFaultLeavesOtherLaunchesRight) {
    const auto good = kernel("good", [](InOut<int> a) { a[global_index()] += 1; });
    const auto bad = kernel("bad", [](InOut<int> a) { a[global_index() + 1] = 1; });
    Array<int> a = d.zeros<int>(8);
    good(ndrange(8), a);
    EXPECT_THROW({ bad(ndrange({7}, {8}), a); d.synchronize(); }, Error);
    good(ndrange(8), a);
    d.synchronize();
    EXPECT_EQ(a.download(), std::vector<int>(8, 2));
}

}  // namespace
