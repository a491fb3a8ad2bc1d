// Device memory in big blocks, and the ranges that arrays get of them.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "vulkan/context.h"
#include "vulkan/suballocator.h"

namespace pumice::vulkan {

struct Block;
std::unique_ptr<Block> make_block(Context& context, uint64_t id, uint32_t memory_type, int64_t bytes, bool map);

/// One allocation from the driver with one buffer over all of it; or an application's buffer.
struct Block {
    Block(Context& context, uint64_t id, int64_t bytes) : id(id), bytes(bytes), ranges(bytes), context(context) {}
    Block(Context& context, uint64_t id, int64_t bytes, VkBuffer lent) : Block(context, id, bytes) { buffer = lent, owned = false; }
    ~Block();
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    const uint64_t id;                 ///< never used twice on one device
    const int64_t bytes;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkBuffer buffer = VK_NULL_HANDLE;
    std::byte* mapped = nullptr;       ///< where the memory type is host-visible and mapping was asked for
    bool is_cached = false;            ///< for the host, which else reads it slowly
    bool is_spare = false;             ///< of arrays for which the best memory had no room
    /// Before the host reads what the device has written there: drops the host's stale copies where memory is not coherent.
    void invalidate(int64_t offset, int64_t size);
    /// The mapped memory where the host reads arrays in place, else null.
    const std::byte* readable() const { return is_cached ? mapped : nullptr; }
    VkDeviceAddress address = 0;       ///< where the device has addresses
    Suballocator ranges;

private:
    friend std::unique_ptr<Block> make_block(Context& context, uint64_t id, uint32_t memory_type, int64_t bytes, bool map);
    Context& context;
    bool owned = true, is_coherent = true;
};

struct Range {
    Block* block = nullptr;
    int64_t offset = 0, bytes = 0;     ///< both multiples of Plan::alignment
};

/// A new block, or null where the driver has no memory for it. Throws on any other failure.
std::unique_ptr<Block> make_block(Context& context, uint64_t id, uint32_t memory_type, int64_t bytes, bool map);

/// The arrays' memory. Guarded by the queue's mutex.
class Memory {
public:
    explicit Memory(Context& context) : context(context) {}
    /// `bytes` > 0 and at most Plan::max_block_bytes; nothing where the driver has no memory left. `spare`: in memory of any type for
    /// arrays, else in the best.
    std::optional<Range> allocate(int64_t bytes, bool spare = false);
    void release(const Range& range);
    /// Gives every block without a range back to the driver.
    void release_empty();

private:
    Block* new_block(int64_t bytes);
    Block* new_spare_block(int64_t bytes);
    void trim(int64_t keep);

    Context& context;
    std::vector<std::unique_ptr<Block>> blocks;
    uint64_t next_id = 1;
};

}  // namespace pumice::vulkan
