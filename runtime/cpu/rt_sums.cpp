#include "runtime/cpu/rt_sums.h"

#include "runtime/cpu/rt_choice.h"

namespace pumice_rt {
namespace {

/// Gap between copies: a load after a store with the same offset in its page would stall.
constexpr size_t apart = 17 * 64;
constexpr int64_t numbers_a_part = 16 << 10;

}  // namespace

PrivateSums::PrivateSums(const Launch& of, const NativeRecord& code, const FrameArgument* given, bool exclusive,
                         ScratchBlocks& from)
    : launch(of), native(code), arguments(given), alone(exclusive), blocks(from) {
    uint32_t lanes = 1;
    for (uint32_t s = 0; s < native.sums.count; ++s) {
        const uint32_t p = record(s).parameter;
        owned[s] = record(s).lanes == 1 && items_own(launch, p);
        if (owned[s]) continue;
        elements[s] = launch.arguments[p].count() * int64_t(launch.parameter(p).element_bytes / field_bytes(record(s).type));
        offsets[s] = bytes;
        bytes += (size_t(elements[s]) * record(s).lanes * field_bytes(record(s).type) + 63) / 64 * 64 + apart;
        if (elements[s] > most_elements) most_elements = elements[s];
        if (record(s).lanes > lanes) lanes = record(s).lanes;
    }
    piece = numbers_a_part / lanes;
}

PrivateSums::~PrivateSums() {
    for (const ScratchBlocks::MemoryBlock& copy : copies) blocks.give(copy);
}

bool PrivateSums::disjoint() const {
    for (uint32_t s = 0; s < native.sums.count; ++s)
        if (owned[s] && !never_decrease(launch.parameter(record(s).parameter))) return false;
    return true;
}

bool PrivateSums::arguments_of(int share, FrameArgument* own) {
    memcpy(own, arguments, launch.argument_count * sizeof *own);
    bool any = false;
    for (uint32_t s = 0; s < native.sums.count; ++s) any = any || !in_place(share, s);
    if (!any) return true;
    ScratchBlocks::MemoryBlock& copy = copies[share];
    if (!copy.data) {
        copy = blocks.take(bytes);
        if (!copy.data) return false;
        memset(copy.data, 0, bytes);
    }
    for (uint32_t s = 0; s < native.sums.count; ++s)
        if (!in_place(share, s)) own[record(s).parameter].bits = uint64_t(reinterpret_cast<uintptr_t>(copy.data + offsets[s]));
    return true;
}

void PrivateSums::add_up(ThreadPool& pool, int priority) {
    bool any = false;
    for (const ScratchBlocks::MemoryBlock& copy : copies) any = any || copy.data;
    if (!any || most_elements == 0) return;
    const int64_t parts = (most_elements + piece - 1) / piece;
    pool.run(int(parts), [](void* self, int part) { static_cast<const PrivateSums*>(self)->add_part(part); }, this, priority);
}

}  // namespace pumice_rt
