// Loads of items that do not all run: each from a place of its own, and those of the others would be outside of the array.
#include "tests/device/suite.h"
#include "tests/device/types.h"

using namespace pumice;
using suite::device;

namespace {

constexpr int items = 100, elements = 3000, nowhere = 1 << 28;

/// Items read rows of different lengths, with enough arithmetic that the device cpu runs them in packets. Those without a row
/// have an index far outside.
template <class T> void check_rows(const std::string& type) {
    const auto sums = kernel("rows_" + type, [](Out<int> sum, In<T> from, In<int> start, In<int> length) {
        auto i = global_index();
        const auto first = start[i];
        Var total = cast<uint32_t>(i);
        $for(j, range(length[i])) {
            auto at = first + j;
            total ^= cast<uint32_t>(cast<int>(from[at]));
            for (int round = 0; round < 6; ++round) {
                total ^= total << 13;
                total ^= total >> 17;
            }
        }
        sum[i] = cast<int>(total);
    });
    const auto one = kernel("one_" + type, [](Out<int> sum, In<T> from, In<int> start, In<int> length) {
        auto i = global_index();
        const auto first = start[i];
        sum[i] = -1;
        $if(length[i] > 9) { sum[i] = cast<int>(from[first]); }
    });
    std::vector<T> from(elements);
    for (int e = 0; e < elements; ++e) from[size_t(e)] = T(e * 37 % 113);
    std::vector<int> start(items), length(items), expected(items), first(items);
    for (int i = 0; i < items; ++i) {
        const size_t at = size_t(i);
        length[at] = i * 7 % 20;
        start[at] = length[at] == 0 || i % 11 == 3 ? nowhere : i * 271 % (elements - 40);
        if (start[at] == nowhere) length[at] = 0;
        uint32_t total = uint32_t(i);
        for (int j = 0; j < length[at]; ++j) {
            total ^= uint32_t(int(from[size_t(start[at] + j)]));
            for (int round = 0; round < 6; ++round) {
                total ^= total << 13;
                total ^= total >> 17;
            }
        }
        expected[at] = int(total);
        first[at] = length[at] > 9 ? int(from[size_t(start[at])]) : -1;
    }
    Array<int> sum = device().zeros<int>(items);
    const Array<T> all = device().upload(from);
    const Array<int> starts = device().upload(start), lengths = device().upload(length);
    sums(ndrange(items), sum, all, starts, lengths);
    EXPECT_EQ(sum.download(), expected) << type;
    one(ndrange(items), sum, all, starts, lengths);
    EXPECT_EQ(sum.download(), first) << type;
}

TEST(DivergentGathers, load_nothing_for_items_that_do_not_run) {
    check_rows<int32_t>("i32");
    check_rows<uint32_t>("u32");
    check_rows<float>("f32");
}

TEST(DivergentGathers, of_64_bits) {
    check_rows<int64_t>("i64");
    if (!suite::has_type<double>()) GTEST_SKIP() << "SKIPPED: no double";
    check_rows<double>("f64");
}

TEST(DivergentGathers, of_narrow_elements) {
    if (!suite::has_type<int8_t>() || !suite::has_type<int16_t>()) GTEST_SKIP() << "SKIPPED: no integers of 8 and 16 bits";
    check_rows<int8_t>("i8");
    check_rows<uint8_t>("u8");
    check_rows<int16_t>("i16");
    check_rows<uint16_t>("u16");
}

}  // namespace
