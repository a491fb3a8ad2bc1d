// Views, sub-range and strided copies, asynchronous copies, printing.
#include <sstream>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

const auto twice = kernel("twice", [](InOut<float> a) { a[global_index()] *= 2.0f; });
const auto sum_rows = kernel("sum_rows", [](Out<float> sums, In<float, 2> a) {
    auto i = global_index();
    Var sum = 0.0f;
    $for(j, range(a.size(1))) { sum += a(i, j); }
    sums[i] = sum;
});

/// Host memory as the views see it: element (i, j, k) of extents e.
template <class T> std::vector<T> box(const std::vector<T>& host, std::array<int64_t, 3> e, std::array<int64_t, 3> from,
                                      std::array<int64_t, 3> to, std::array<int64_t, 3> step) {
    std::vector<T> out;
    for (int64_t i = from[0]; i < to[0]; i += step[0])
        for (int64_t j = from[1]; j < to[1]; j += step[1])
            for (int64_t k = from[2]; k < to[2]; k += step[2]) out.push_back(host[size_t((i * e[1] + j) * e[2] + k)]);
    return out;
}

template <class T> class Views : public testing::Test {};
using Elements = testing::Types<float, int32_t, double, uint8_t, int16_t, half, bfloat16, float3>;
TYPED_TEST_SUITE(Views, Elements);

template <class T> T made(int i) {
    if constexpr (std::is_same_v<T, float3>)
        return {float(i), float(i) + 0.25f, -float(i)};
    else
        return T(i % 120);
}

// Every device copies elements of any type, also of types with which it cannot compute.
TYPED_TEST(Views, BoxesOfThreeDimensions) {
    using T = TypeParam;
    const Device d = device();
    std::vector<T> host;
    for (int i = 0; i < 5 * 6 * 7; ++i) host.push_back(made<T>(i));
    const Array<T, 3> a = d.upload(host, {5, 6, 7});
    struct Case {
        int64_t from[3], to[3], step[3];
    };
    for (const Case& c :
         {Case{{0, 0, 0}, {5, 6, 7}, {1, 1, 1}}, Case{{1, 0, 0}, {4, 6, 7}, {1, 1, 1}}, Case{{1, 2, 3}, {4, 5, 6}, {1, 1, 1}},
          Case{{0, 0, 1}, {5, 6, 7}, {2, 3, 2}}, Case{{2, 1, 0}, {3, 2, 7}, {1, 1, 3}}, Case{{4, 5, 6}, {5, 6, 7}, {9, 9, 9}},
          Case{{0, 3, 2}, {5, 3, 5}, {1, 1, 1}}}) {
        const std::array<int64_t, 3> from = detail::to_array(c.from), to = detail::to_array(c.to),
                                     step = detail::to_array(c.step);
        const View<T, 3> v = a.view(c.from, c.to, c.step);
        const std::vector<T> want = box<T>(host, {5, 6, 7}, from, to, step);
        EXPECT_EQ(v.download(), want);
        EXPECT_EQ(v.count(), int64_t(want.size()));
        EXPECT_EQ(v.clone().download(), want);
        // to another array, to the same box and to a corner
        const Array<T, 3> same = d.zeros<T>({5, 6, 7}), corner = d.zeros<T>({9, 9, 9});
        same.view(c.from, c.to, c.step).copy_from(v);
        EXPECT_EQ(box<T>(same.download(), {5, 6, 7}, from, to, step), want);
        corner.view({1, 1, 1}, {1 + v.size(0), 1 + v.size(1), 1 + v.size(2)}).copy_from(v);
        EXPECT_EQ(corner.view({1, 1, 1}, {1 + v.size(0), 1 + v.size(1), 1 + v.size(2)}).download(), want);
        // from the host; other elements do not change
        const Array<T, 3> written = a.clone();
        std::vector<T> fresh;
        for (size_t i = 0; i < want.size(); ++i) fresh.push_back(made<T>(int(i) + 7));
        written.view(c.from, c.to, c.step).copy_from(fresh);
        EXPECT_EQ(written.view(c.from, c.to, c.step).download(), fresh);
        size_t changed = 0;
        const std::vector<T> after = written.download();
        std::vector<T> expected = host;
        for (int64_t i = from[0]; i < to[0]; i += step[0])
            for (int64_t j = from[1]; j < to[1]; j += step[1])
                for (int64_t k = from[2]; k < to[2]; k += step[2]) expected[size_t((i * 6 + j) * 7 + k)] = fresh[changed++];
        EXPECT_EQ(after, expected);
        // to another device and back
        const Array<T, 3> elsewhere = Device::open("interp").zeros<T>({5, 6, 7}), back = d.zeros<T>({5, 6, 7});
        elsewhere.view(c.from, c.to, c.step).copy_from(v);
        back.view(c.from, c.to, c.step).copy_from(elsewhere.view(c.from, c.to, c.step));
        EXPECT_EQ(back.view(c.from, c.to, c.step).download(), want);
    }
}

TEST(Host, SlicesAreArrays) {
    const Device d = device();
    const Array<float> line = d.upload(suite::iota<float>(1024));
    twice(ndrange(512), line.slice(256, 768));
    std::vector<float> want = suite::iota<float>(1024);
    for (int i = 256; i < 768; ++i) want[size_t(i)] *= 2;
    EXPECT_EQ(line.download(), want);
    twice(ndrange(3), line.slice(1, 4));  // an offset at which no device binds a buffer
    for (int i = 1; i < 4; ++i) want[size_t(i)] *= 2;
    EXPECT_EQ(line.download(), want);

    const Array<float, 2> plane = d.upload(suite::iota<float>(60), {5, 12});
    const Array<float> sums = d.zeros<float>(2);
    sum_rows(ndrange(2), sums, plane.slice(3, 5));
    EXPECT_EQ(sums.download(), (std::vector<float>{12 * 36 + 66, 12 * 48 + 66}));
    twice(ndrange(12), plane.row(1));
    EXPECT_EQ(plane.row(1).download(), (std::vector<float>{24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46}));
    EXPECT_EQ(plane.row(2).get(3), 27.0f);
    sum_rows(ndrange(2), sums, plane.reshape({6, 10}).slice(4, 6));
    EXPECT_EQ(sums.download(), (std::vector<float>{445, 545}));
    EXPECT_EQ(plane.flat().size(), 60);
    EXPECT_EQ((plane.view({1, 0}, {3, 12}).array().get(1, 3)), 27.0f);
    EXPECT_TRUE(plane.view({1, 3}, {2, 9}).contiguous());
    EXPECT_FALSE(plane.view({1, 3}, {3, 9}).contiguous());
    EXPECT_EQ(plane.slice(2, 2).count(), 0);
    EXPECT_EQ(line.view({0}, {4}, {2}).download(), line.view(0, 4, 2).download());

    const Array<float> half_of_it = line.slice(0, 512);  // keeps the memory
    const int64_t held = d.memory_in_use();
    EXPECT_GE(held, 4096);
    EXPECT_EQ(half_of_it.get(300), 600.0f);
}

TEST(Host, OverlappingCopiesAndFillsOfViews) {
    const Device d = device();
    const Array<int> a = d.upload(suite::iota<int>(100));
    a.view(10, 60).copy_from(a.view(0, 50));
    std::vector<int> want = suite::iota<int>(100);
    std::copy_backward(want.begin(), want.begin() + 50, want.begin() + 60);
    EXPECT_EQ(a.download(), want);
    a.view(1, 99, 2).copy_from(a.view(0, 98, 2));
    for (size_t i = 0; i < 98; i += 2) want[i + 1] = want[i];
    EXPECT_EQ(a.download(), want);
    a.view(0, 100, 3).fill(-1);
    for (size_t i = 0; i < 100; i += 3) want[i] = -1;
    EXPECT_EQ(a.download(), want);
    // bytes that are no whole words, one by one and in rows
    const Array<uint8_t, 2> bytes = d.zeros<uint8_t>({7, 9});
    bytes.view({1, 1}, {6, 8}, {2, 1}).fill(5);
    std::vector<uint8_t> squares(63, 0);
    for (int i = 1; i < 6; i += 2)
        for (int j = 1; j < 8; ++j) squares[size_t(i * 9 + j)] = 5;
    EXPECT_EQ(bytes.download(), squares);
    const Array<bool> flags = d.upload(std::vector<bool>{true, false, true, true, false});
    EXPECT_EQ(flags.view(0, 5, 2).download(), (std::vector<bool>{true, true, false}));
}

TEST(Host, AsynchronousCopiesAreOrderedWithLaunches) {
    const Device d = device();
    const Stream stream = d.stream();
    for (const int n : {64, 1 << 20}) {
        const Array<float> a = d.zeros<float>(n);
        const std::vector<float> first(size_t(n), 1.0f), second(size_t(n), 10.0f);
        std::vector<float> got[4];
        for (auto& g : got) g.assign(size_t(n), -1);
        a.copy_from(first, stream);
        twice(ndrange(n).on(stream), a);
        a.copy_to(got[0], stream);
        twice(ndrange(n).on(stream), a);
        const Event before = a.copy_to(got[1], stream);
        a.copy_from(second, stream);
        a.copy_to(got[2], stream);
        twice(ndrange(n).on(stream), a);
        const Event last = a.view(0, n, 2).copy_to(std::span(got[3]).first(size_t(n / 2)), stream);
        before.wait();
        EXPECT_EQ(got[1], std::vector<float>(size_t(n), 4.0f));
        last.wait();
        EXPECT_TRUE(before.done());
        EXPECT_EQ(got[0], std::vector<float>(size_t(n), 2.0f));
        EXPECT_EQ(got[2], std::vector<float>(size_t(n), 10.0f));
        EXPECT_EQ(std::vector<float>(got[3].begin(), got[3].begin() + n / 2), std::vector<float>(size_t(n / 2), 20.0f));
        EXPECT_EQ(first, std::vector<float>(size_t(n), 1.0f));
    }
    // an array that is released before its copy is done
    std::vector<float> kept(1 << 18);
    {
        const Array<float> brief = d.full<float>(1 << 18, 3.0f);
        twice(ndrange(1 << 18).on(stream), brief);
        brief.copy_to(kept, stream);
    }
    const Array<float> other = d.full<float>(1 << 18, 5.0f);  // perhaps in the same memory
    stream.synchronize();
    EXPECT_EQ(kept, std::vector<float>(1 << 18, 6.0f));
    EXPECT_EQ(other.get(0), 5.0f);
}

TEST(Host, ElementsAndTextOfArrays) {
    const Device d = device();
    const auto text_of = [](const auto& array) {
        std::ostringstream out;
        out << array;
        return out.str();
    };
    const Array<float, 2> a = d.upload(suite::iota<float>(6), {2, 3});
    EXPECT_EQ(a.get(1, 2), 5.0f);
    EXPECT_EQ(text_of(a), "f32 array of 2 x 3 on " + d.name() + ": {{0.0, 1.0, 2.0}, {3.0, 4.0, 5.0}}");
    EXPECT_EQ(text_of(d.upload(suite::iota<int>(100))), "i32 array of 100 on " + d.name() + ": {0, 1, 2, ..., 97, 98, 99}");
    EXPECT_EQ(text_of(d.upload(std::vector<bool>{true, false})), "bool array of 2 on " + d.name() + ": {true, false}");
    EXPECT_EQ(text_of(d.upload(std::vector<float2>{{1, 2}, {3, 4.5f}})),
              "{x: f32, y: f32} array of 2 on " + d.name() + ": {{x: 1.0, y: 2.0}, {x: 3.0, y: 4.5}}");
    EXPECT_EQ(text_of(d.zeros<int8_t>({3, 0})), "i8 array of 3 x 0 on " + d.name() + ": {}");
    EXPECT_EQ(text_of(Array<float>()), "an array that was never allocated");
    const Array<uint16_t, 3> big = d.zeros<uint16_t>({20, 20, 20});
    EXPECT_LT(text_of(big).size(), 2000u);
    big.release();
    EXPECT_EQ(text_of(big), "u16 array of 20 x 20 x 20 on " + d.name() + ", released");
}

/// A step past the end of the view gives its first element alone, however large the step is.
TEST(Views, StepsOfAnySize) {
    const Device d = device();
    for (const int64_t step : {int64_t(10), int64_t(11), INT64_MAX / 2, INT64_MAX}) {
        const Array<int> a = d.zeros<int>(10);
        const View<int> every = a.view(2, 10, step);
        ASSERT_EQ(every.size(), 1) << step;
        every.fill(7);
        EXPECT_EQ(every.download(), std::vector<int>{7});
        EXPECT_EQ(a.view(0, 10, step).clone().download(), std::vector<int>{0});
        EXPECT_EQ(a.download(), (std::vector<int>{0, 0, 7, 0, 0, 0, 0, 0, 0, 0}));
        EXPECT_EQ(a.view(4, 4, step).size(), 0);
        const Array<int, 2> plane = d.upload(suite::iota<int>(12), {3, 4});
        plane.view({0, 1}, {3, 4}, {step, 2}).fill(50);
        EXPECT_EQ(plane.download(), (std::vector<int>{0, 50, 2, 50, 4, 5, 6, 7, 8, 9, 10, 11}));
        EXPECT_EQ((plane.view({0, 0}, {3, 4}, {2, step}).view({1, 0}, {2, 1}, {step, step}).download()), std::vector<int>{8});
    }
}

}  // namespace
