#include "cpu/runtime/sum_copies.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/support/error.h"

namespace pumice::cpu {

using namespace ir;

namespace {

/// Gap between copies, so that equal elements are not whole pages apart: a load after a store with the same page offset stalls
/// until the processor knows that the addresses differ.
constexpr int64_t apart = 17 * 64;

uint64_t next_number() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
}

}  // namespace

SumCopies::SumCopies(std::span<const PrivatisedArray> which, std::span<const FrameArgument> given, std::vector<SummedArray> of,
                     bool exclusive, std::shared_ptr<MemoryPool> given_pool)
    : sums(which),
      arguments(given),
      arrays(std::move(of)),
      alone(exclusive),
      pool(std::move(given_pool)),
      number(next_number()) {}

SumCopies::~SumCopies() {
    for (const auto& copy : copies)
        if (copy->memory.data) pool->give(copy->memory);
}

/// Makes a thread's copies; `first`: of the first thread. The first thread adds to the arrays themselves if nothing else uses
/// them and they have the layout of a copy; the others do too if threads own disjoint elements.
std::unique_ptr<SumCopies::PrivateCopy> SumCopies::make(bool first) const {
    auto copy = std::make_unique<PrivateCopy>();
    copy->arguments.assign(arguments.begin(), arguments.end());
    int64_t bytes = 0;
    for (size_t s = 0; s < sums.size(); ++s) {
        const bool in_place = (first || arrays[s].shared) && alone && sums[s].lanes == 1;
        copy->offsets.push_back(in_place ? -1 : bytes);
        if (!in_place) bytes += (arrays[s].elements * sums[s].lanes * size_of(sums[s].type) + 63) / 64 * 64 + apart;
    }
    if (bytes == 0) return copy;
    copy->memory = pool->take(bytes);
    if (!copy->memory.data) fail("cannot allocate ", bytes, " bytes for a thread's sums on cpu: the system gives no more memory");
    if (!copy->memory.zero) std::memset(copy->memory.data, 0, size_t(bytes));
    for (size_t s = 0; s < sums.size(); ++s)
        if (const int64_t at = copy->offsets[s]; at >= 0)
            copy->arguments[size_t(sums[s].argument)].bits = uint64_t(reinterpret_cast<uintptr_t>(copy->memory.data + at));
    return copy;
}

const FrameArgument* SumCopies::own() {
    thread_local struct {
        uint64_t number = 0;
        const FrameArgument* arguments = nullptr;
    } last;
    if (last.number == number) return last.arguments;
    const std::thread::id me = std::this_thread::get_id();
    bool first = false;
    {
        const std::lock_guard lock(mutex);
        for (const auto& copy : copies)
            if (copy->user == me) return last = {number, copy->arguments.data()}, last.arguments;
        first = users++ == 0;
    }
    auto made = make(first);
    made->user = me;
    last = {number, made->arguments.data()};
    const std::lock_guard lock(mutex);
    copies.push_back(std::move(made));
    return last.arguments;
}

namespace {

/// The sum of n numbers, by pairwise halving.
template <int n, class T> T total(T* numbers) {
    if constexpr (n == 1) return numbers[0];
    for (int l = 0; l < n / 2; ++l) numbers[l] += numbers[l + n / 2];
    return total<std::max(n / 2, 1)>(numbers);
}

/// to[n] += the sum, over all copies in `from`, of elements n * lanes, ..., n * lanes + lanes - 1.
template <int lanes, class T> void add(T* to, const std::vector<const T*>& from, int64_t count, bool alone) {
    constexpr int together = lanes < 16 ? 16 / lanes : 1;  // elements at once; the rest goes one by one
    const auto add_some = [&](int64_t n, auto some) {
        constexpr int elements = decltype(some)::value;
        T sums[lanes * elements] = {};
        for (const T* copy : from)
            for (int l = 0; l < lanes * elements; ++l) sums[l] += copy[n * lanes + l];
        T totals[elements];
        for (int e = 0; e < elements; ++e) totals[e] = total<lanes>(sums + e * lanes);
        if (alone) {
            for (int e = 0; e < elements; ++e) to[n + e] += totals[e];
            return;
        }
        for (int e = 0; e < elements; ++e)
            if (totals[e] != T{}) std::atomic_ref<T>(to[n + e]).fetch_add(totals[e], std::memory_order_relaxed);
    };
    int64_t n = 0;
    for (; n + together <= count; n += together) add_some(n, std::integral_constant<int, together>());
    for (; n < count; ++n) add_some(n, std::integral_constant<int, 1>());
}

template <class T> void add(int lanes, T* to, const std::vector<const T*>& from, int64_t count, bool alone) {
    switch (lanes) {
        case 32: return add<32>(to, from, count, alone);
        case 16: return add<16>(to, from, count, alone);
        case 8: return add<8>(to, from, count, alone);
        case 4: return add<4>(to, from, count, alone);
        case 2: return add<2>(to, from, count, alone);
        case 1: return add<1>(to, from, count, alone);
        default: library_bug(text("copies with ", lanes, " places an element"));
    }
}

}  // namespace

void SumCopies::add_up(const WorkerThreads& workers) {
    constexpr int64_t piece = 16 << 10;  // numbers
    std::vector<int64_t> first{0};       // the first element of each sum among all that have copies
    int lanes = 1;
    for (size_t s = 0; s < sums.size(); ++s) {
        const bool copied = std::any_of(copies.begin(), copies.end(), [&](const auto& copy) { return copy->offsets[s] >= 0; });
        first.push_back(first.back() + (copied ? arrays[s].elements : 0)), lanes = std::max(lanes, sums[s].lanes);
    }
    if (first.back() == 0) return;
    workers.run(first.back(), piece / lanes, [&](int64_t begin, int64_t count) {
        for (size_t s = 0; s < sums.size(); ++s) {
            const int64_t from = std::max(begin, first[s]), to = std::min(begin + count, first[s + 1]);
            if (from < to) add_up(s, from - first[s], to - from);
        }
    });
}

/// Adds up `count` elements of one sum.
void SumCopies::add_up(size_t s, int64_t first, int64_t count) const {
    const PrivatisedArray& sum = sums[s];
    const auto all = [&](auto type) {
        using T = decltype(type);
        std::vector<const T*> from;
        for (const auto& copy : copies)
            if (copy->offsets[s] >= 0)
                from.push_back(reinterpret_cast<const T*>(copy->memory.data + copy->offsets[s]) + first * sum.lanes);
        add(sum.lanes, reinterpret_cast<T*>(uintptr_t(arguments[size_t(sum.argument)].bits)) + first, from, count, alone);
    };
    switch (sum.type) {
        case Scalar::f32: return all(float());
        case Scalar::f64: return all(double());
        default: return size_of(sum.type) == 4 ? all(uint32_t()) : all(uint64_t());
    }
}

}  // namespace pumice::cpu
