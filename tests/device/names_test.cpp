// Applications write `using namespace pumice;` and have types of their own with the names that simulations and engines use.
#include <cstdint>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

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

}  // namespace
