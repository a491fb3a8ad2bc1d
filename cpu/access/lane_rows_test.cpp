// Adjacent words of rows that lie anywhere, on this processor and on older ones, beside the interpreter.
#include <gtest/gtest.h>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/kernel/kernel.h"
#include "core/language/composite.h"
#include "core/language/control.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "cpu/runtime/cpu_device.h"

namespace pumice::cpu {
namespace {

constexpr int row = 25, rows = 53;  // no multiple of a packet, and no power of two

std::vector<pumice::Device> devices() {
    std::vector<pumice::Device> all;
    struct Machines {
        const char *name, *features;
        int width;
    };
    for (const Machines& m : {Machines{"x86-64", "+sse2", 4}, Machines{"x86-64-v3", "+sse2,+sse4.1,+avx,+avx2,+fma", 8}})
        if (host_machine().triple.starts_with("x86_64") && native_width(host_machine()) >= m.width)
            all.emplace_back(
                std::make_shared<cpu::CpuDevice>(m.width, 1, false, Machine{host_machine().triple, m.name, m.features}));
    all.push_back(pumice::Device::open("cpu"));
    return all;
}

/// A number for each element, as every type holds it.
template <class T> std::vector<T> numbers(int count) {
    std::vector<T> all(static_cast<size_t>(count));
    for (size_t i = 0; i < all.size(); ++i) all[i] = T(i * 37 % 101);
    return all;
}

/// The rows in another order.
std::vector<int32_t> order() {
    std::vector<int32_t> all(rows);
    for (int i = 0; i < rows; ++i) all[size_t(i)] = i * 20 % rows;
    return all;
}

/// Runs `k` with the output `first`, the order of rows and the input, on each device, and compares with the interpreter.
template <class T, class K> void agree(const char* what, const K& k) {
    const auto run = [&](const pumice::Device& d) {
        Array<T, 2> out = d.upload(numbers<T>(rows * row), {rows, row});
        k(ndrange(rows), out, d.upload(order()), d.upload(numbers<T>(rows * row)));
        return out.download();
    };
    const std::vector<T> expected = run(pumice::Device::open("interp"));
    for (const pumice::Device& d : devices()) EXPECT_EQ(run(d), expected) << what << " on " << d.name();
}

template <class T> void check_rows() {
    for (const int words : {2, 3, 4, 5, 8, 11, 16, 17}) {
        agree<T>(text(words, " words").c_str(), kernel("rows", [words](InOut<T, 2> out, In<int> order, In<T> from) {
                     auto i = global_index();
                     auto r = order[i];
                     std::vector<Val<T>> all;
                     for (int w = 0; w < words; ++w) all.push_back(from[r * row + w]);
                     for (int w = 0; w < words; ++w) out(r, words - 1 - w) = all[size_t(w)];
                 }));
    }
    agree<T>("words with gaps", kernel("gaps", [](InOut<T, 2> out, In<int> order, In<T> from) {
                 auto i = global_index();
                 auto at = order[i] * row;
                 auto a = from[at] + from[at + 2], b = from[at + 4] + from[at + 9], c = from[at + 5] + from[at + 16];
                 out(i, 1) = a, out(i, 2) = b, out(i, 4) = c;
             }));
    agree<T>("a store between loads", kernel("between", [](InOut<T, 2> out, In<int> order, In<T> from) {
                 auto i = global_index();
                 auto r = order[i];
                 auto a = out(r, 3), b = out(r, 4);
                 out(r, 5) = a + b + from[i];
                 auto c = out(r, 5), d = out(r, 6);
                 out(r, 3) = c, out(r, 4) = d;
                 out(r, 4) = out(r, 3) + d;
                 out(r, 7) = out(r, 4) + out(r, 5);
             }));
    // A group of 16 words has words 8 to 23; word 7 begins a group that would like to have word 8, too.
    agree<T>("two groups of stores beside each other", kernel("two_groups", [](InOut<T, 2> out, In<int> order, In<T> from) {
                 auto i = global_index();
                 auto r = order[i];
                 for (const int w : {9, 18, 10, 19, 11, 20, 12, 21, 13, 22, 14, 23, 15, 7, 16, 8, 17}) out(r, w) = from[i + w];
             }));
    agree<T>("some items", kernel("some", [](InOut<T, 2> out, In<int> order, In<T> from) {
                 auto i = global_index();
                 auto r = order[i];
                 $if(r % 3 != 0) {
                     auto a = from[r * row], b = from[r * row + 1], c = from[r * row + 2];
                     out(r, 0) = b, out(r, 1) = c, out(r, 2) = a;
                 }
             }));
}

TEST(LaneRows, AreThoseOfTheInterpreter) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    check_rows<float>(), check_rows<double>(), check_rows<int32_t>(), check_rows<uint64_t>();
}

/// An index of 8 bits wraps within a packet: the lanes do not lie at one distance.
TEST(StridedLanes, NarrowIndicesWrap) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const auto k = parse_ir(
        "kernel \"wraps\" math contract rank 1 (arg1: inout i32[1], arg2: in i32[1]) files [\"k.cpp\"] {\n"
        "%0 = global_index 0 : i32\n%1 = constant 17 : i32\n%2 = mul %0, %1 : i32\n%3 = cast %2 : u8\n"
        "%4 = load arg2[%3] : i32\n%5 = add %4, %0 : i32\nstore arg1[%0], %5 : i32\nreturn\n}\n");
    const auto run = [&](const pumice::Device& d) {
        const Array<int32_t> out = d.zeros<int32_t>(256);
        k(ndrange(256), out, d.upload(numbers<int32_t>(256)));
        return out.download();
    };
    const std::vector<int32_t> expected = run(pumice::Device::open("interp"));
    for (const pumice::Device& d : devices()) EXPECT_EQ(run(d), expected) << d.name();
}

TEST(StridedLanes, AreThoseOfTheInterpreter) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const auto check = [](auto zero) {
        using T = decltype(zero);
        agree<T>("a distance that is known", kernel("known", [](InOut<T, 2> out, In<int>, In<T> from) {
                     auto i = global_index();
                     out(rows - 1 - i, 2) = from[row * i + 3] + from[880 - 16 * i];
                 }));
        agree<T>("a distance of the array", kernel("of_array", [](InOut<T, 2> out, In<int> order, In<T> from) {
                     auto i = global_index();
                     auto known = out(i, 5);
                     $for(n, range(3)) { out(i, n) = out(i, 2 * n) + known + from[i * order.size(0) / 4]; }
                 }));
        agree<T>("one element", kernel("one", [](InOut<T, 2> out, In<int> order, In<T> from) {
                     auto i = global_index();
                     $if(i % 7 != 3) { out(i, order[8]) = from[i * order[3]] + out(i, 16); }
                 }));
        agree<T>("columns of local memory",
                 kernel("columns", static_group<16>, whole_groups, [](InOut<T, 2> out, In<int>, In<T> from) {
                     Local<T, 16, 17> tile;
                     auto l = local_index(), i = min(global_index(), rows - 1);
                     $for(n, range(16)) { tile(l, n) = from[i * row + n]; }
                     synchronize();
                     Var<T> sum = tile(0, l);
                     $for(n, range(1, 16)) { sum += tile(n, l) + tile(l, n); }
                     $if(in_range()) { out(i, 4) = sum; }
                 }));
    };
    check(float()), check(double()), check(int8_t()), check(uint16_t()), check(int64_t());
}

}  // namespace
}  // namespace pumice::cpu
