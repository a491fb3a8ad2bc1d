// Applications write `using namespace pumice;` and have types of their own with the names that simulations and engines use.
#include <cstdint>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

/// Members whose names without underscores are words of C++, of GLSL or of our functions in GLSL.
struct Underscores {
    float x_;
    int int_;
    int double_, _if, true_, class_;
    float pm_sqrt, in_, default_, main_;
};
PUMICE_STRUCT(Underscores, x_, int_, double_, _if, true_, class_, pm_sqrt, in_, default_, main_);

namespace {

// Each is ambiguous below if namespace pumice has the name, too.
using Scalar = double;
struct Element {
    int nodes[4];
};
struct Leaf {
    int first, count;
};
struct Interval {
    Scalar low, high;
};
enum class Result { good, bad };
enum class Cost { cheap, dear };
struct Launch {
    int number = 0;
};
struct Allocation {
    int64_t bytes = 0;
};
struct Backend {
    Launch last;
};
struct ImageInfo {
    int width = 0;
};
template <class T> struct Lazy {
    T value;
};
template <class T> concept ScalarType = sizeof(T) <= 8;

template <ScalarType T> T middle(const Interval& of) { return T(of.low + of.high) / 2; }

TEST(Names, AnApplicationHasTypesOfItsOwn) {
    const auto twice = kernel("twice", [](InOut<float> y) {
        auto i = global_index();
        y[i] = y[i] * 2.0f;
    });
    const Device d = device();
    const Array<float> y = d.full<float>(4, middle<float>(Interval{1, 2}));
    const Backend backend{Launch{3}};
    const Element element{{0, 1, 2, 3}};
    const Leaf leaf{0, element.nodes[3]};
    const Allocation memory{y.size(0) * int64_t(sizeof(float))};
    twice(ndrange(leaf.count + 1), y);
    EXPECT_EQ(y.download(), std::vector<float>(4, 3.0f));
    EXPECT_EQ(backend.last.number, 3);
    EXPECT_EQ(memory.bytes, 16);
    EXPECT_EQ(Lazy<ImageInfo>{}.value.width, 0);
    EXPECT_NE(Result::good, Result::bad);
    EXPECT_NE(Cost::cheap, Cost::dear);
}

TEST(Names, MembersMayEndWithUnderscores) {
    const auto add_up = kernel("add_up", [](InOut<Underscores> all) {
        auto i = global_index();
        all[i].int_ = all[i].int_ + all[i].double_ + all[i]._if + all[i].true_ + all[i].class_;
        all[i].x_ = all[i].x_ + all[i].pm_sqrt + all[i].in_ + all[i].default_ + all[i].main_;
    });
    const Array<Underscores> all = device().upload(std::vector<Underscores>{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}});
    add_up(ndrange(1), all);
    const Underscores sums = all.download()[0];
    EXPECT_EQ(sums.int_, 20);
    EXPECT_EQ(sums.x_, 35.0f);
}

}  // namespace
