#include "cpu/sums.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/structure.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int64_t most_bytes = 64 << 20;        ///< of all copies
constexpr int64_t most_bytes_in_lanes = 1 << 20;  ///< of one copy with a place a lane: what stays in a core's cache
constexpr int64_t most_elements_an_item = 4;

bool can_be_added(Scalar t) { return size_of(t) >= 4; }

}  // namespace

std::vector<MemoryId> only_added_to(const Kernel& k) {
    const Structure where(k);
    std::vector<bool> used(k.values.size()), added(k.memories.size()), other(k.memories.size());
    for (const InstId id : where.order())
        for (const Value v : k.operands(k[id])) used[v.id] = true;
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (i.memory.id == none || i.op == Op::extent) continue;
        const bool adds = i.op == Op::atomic && (Atomic(i.immediate) == Atomic::add || Atomic(i.immediate) == Atomic::sub);
        if (adds && !used[k.result(i).id] && can_be_added(i.type)) added[i.memory.id] = true;
        else other[i.memory.id] = true;
    }
    std::vector<MemoryId> found;
    for (uint32_t m = 0; m < k.memories.size(); ++m) {
        const Memory& memory = k.memories[m];
        const bool scalars = memory.element.leaves.size() == 1 && int(memory.element.size) == size_of(memory.element.leaves[0].type);
        if (memory.kind == MemoryKind::array && scalars && added[m] && !other[m]) found.push_back({m});
    }
    return found;
}

SumsIn where_to_add(const Kernel& kernel, std::span<const MemoryId> arrays, const Launch& launch, int width, int threads) {
    int64_t bytes = 0, elements = 0;
    for (const MemoryId m : arrays) {
        const auto& e = launch.arguments[size_t(kernel[m].argument)].array.extents;
        elements += e[0] * e[1] * e[2];
        bytes += e[0] * e[1] * e[2] * kernel[m].element.size;
    }
    const int64_t items = launch.extent[0] * launch.extent[1] * launch.extent[2];
    if (elements == 0 || elements > most_elements_an_item * items || bytes * threads > most_bytes) return SumsIn::array;
    return bytes * width <= most_bytes_in_lanes ? SumsIn::lanes : SumsIn::copies;
}

void SumCopies::Free::operator()(std::byte* memory) const { std::free(memory); }

SumCopies::SumCopies(std::span<const ArraySum> which, std::span<const FrameArgument> given, std::span<const int64_t> of, bool exclusive)
    : sums(which), arguments(given), elements(of.begin(), of.end()), alone(exclusive) {
    for (size_t s = 0; s < sums.size(); ++s) {
        offsets.push_back(bytes);
        bytes += (elements[s] * sums[s].lanes * size_of(sums[s].type) + 63) / 64 * 64;
    }
}

std::unique_ptr<SumCopies::Copy> SumCopies::make() const {
    auto copy = std::make_unique<Copy>();
    copy->arguments.assign(arguments.begin(), arguments.end());
    copy->memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, size_t(bytes))));
    if (!copy->memory) fail("cannot allocate ", bytes, " bytes for a thread's sums on cpu: the system gives no more memory");
    std::memset(copy->memory.get(), 0, size_t(bytes));
    for (size_t s = 0; s < sums.size(); ++s)
        copy->arguments[size_t(sums[s].argument)].bits = uint64_t(reinterpret_cast<uintptr_t>(copy->memory.get() + offsets[s]));
    return copy;
}

const FrameArgument* SumCopies::take() {
    {
        const std::lock_guard lock(mutex);
        if (!idle.empty()) {
            Copy* const copy = idle.back();
            idle.pop_back();
            return copy->arguments.data();
        }
    }
    auto made = make();
    const FrameArgument* const taken = made->arguments.data();
    const std::lock_guard lock(mutex);
    copies.push_back(std::move(made));
    return taken;
}

void SumCopies::give(const FrameArgument* taken) {
    const std::lock_guard lock(mutex);
    for (const auto& copy : copies)
        if (copy->arguments.data() == taken) return idle.push_back(copy.get());
}

namespace {

/// to[n] += the sum of from[n * lanes], ..., from[n * lanes + lanes - 1].
template <class T>
void add(T* to, const T* from, int64_t count, int lanes, bool alone) {
    const auto sum_of = [&](int64_t n) {
        T sum{};
        for (int l = 0; l < lanes; ++l) sum += from[n * lanes + l];
        return sum;
    };
    if (alone) {
        if (lanes > 1) for (int64_t n = 0; n < count; ++n) to[n] += sum_of(n);
        else for (int64_t n = 0; n < count; ++n) to[n] += from[n];
        return;
    }
    for (int64_t n = 0; n < count; ++n)
        if (const T sum = sum_of(n); sum != T{}) std::atomic_ref<T>(to[n]).fetch_add(sum, std::memory_order_relaxed);
}

}  // namespace

void SumCopies::add_up(const Crew& crew) {
    constexpr int64_t piece = 16 << 10;
    for (size_t s = 0; s < sums.size(); ++s) {
        const ArraySum& sum = sums[s];
        const auto all = [&, s](auto type) {
            using T = decltype(type);
            crew.run(elements[s], piece / sum.lanes, [&, s](int64_t first, int64_t count) {
                T* const to = reinterpret_cast<T*>(uintptr_t(arguments[size_t(sum.argument)].bits)) + first;
                for (const auto& copy : copies)
                    add(to, reinterpret_cast<const T*>(copy->memory.get() + offsets[s]) + first * sum.lanes, count, sum.lanes, alone);
            });
        };
        switch (sum.type) {
            case Scalar::f32: all(float()); break;
            case Scalar::f64: all(double()); break;
            default: size_of(sum.type) == 4 ? all(uint32_t()) : all(uint64_t()); break;
        }
    }
}

}  // namespace pumice::cpu
