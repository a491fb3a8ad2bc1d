#include "vulkan/staging.h"

#include "core/error.h"

namespace pumice::vulkan {

Staging::Piece Staging::take(int64_t bytes) {
    if (!block) {
        block = make_block(context, id, memory_type, capacity, true);
        if (!block) fail("cannot allocate ", capacity, " bytes on ", context.name, " for copies between host and device");
        head = 0;
        uses.clear();
    }
    if (head + bytes > capacity) head = 0;
    const int64_t end = head + bytes;
    // Pieces lie in the ring in the order of their age, so what overlaps is among the oldest.
    const auto overlaps = [&](const Use& use) { return use.begin < end && head < use.end; };
    size_t last = 0;
    for (size_t i = 0; i < uses.size(); ++i)
        if (overlaps(uses[i])) last = i + 1;
    if (last > 0) {
        queue.wait(uses[last - 1].value);
        uses.erase(uses.begin(), uses.begin() + std::ptrdiff_t(last));
    }
    current = {block.get(), head, bytes};
    // The next piece starts at a multiple of 256, which suits every copy engine.
    head = (end + 255) / 256 * 256;
    return current;
}

void Staging::used(uint64_t value) {
    uses.push_back({current.offset, current.offset + current.bytes, value});
}

void Staging::release() {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock || !block) return;
    if (!uses.empty()) queue.wait(uses.back().value);
    uses.clear();
    block.reset();
}

}  // namespace pumice::vulkan
