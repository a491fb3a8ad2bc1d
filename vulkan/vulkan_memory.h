// Device memory in large blocks, from which arrays get ranges.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "vulkan/context.h"
#include "vulkan/suballocator.h"

namespace pumice::vulkan {

struct MemoryBlock;
std::unique_ptr<MemoryBlock> make_block(Context& context, uint64_t id, uint32_t memory_type, int64_t bytes, bool map);

/// One allocation of the driver with one buffer over all of it; or an application's buffer.
struct MemoryBlock {
    MemoryBlock(Context& context, uint64_t id, int64_t bytes) : id(id), bytes(bytes), ranges(bytes), context(context) {}
    MemoryBlock(Context& context, uint64_t id, int64_t bytes, VkBuffer lent) : MemoryBlock(context, id, bytes) {
        buffer = lent, owned = false;
    }
    ~MemoryBlock();
    MemoryBlock(const MemoryBlock&) = delete;
    MemoryBlock& operator=(const MemoryBlock&) = delete;

    const uint64_t id;  ///< unique on one device
    const int64_t bytes;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    int64_t memory_offset = 0;  ///< of the buffer in the memory; not 0 only in the application's
    VkBuffer buffer = VK_NULL_HANDLE;
    std::byte* mapped = nullptr;  ///< null unless mapped
    bool is_cached = false;       ///< cached for the host, which otherwise reads it slowly
    bool is_spare = false;        ///< for arrays that did not fit the best memory
    /// Before the host reads data of the device: drops the host's stale copies if memory is not coherent.
    void invalidate(int64_t offset, int64_t size);
    /// The mapped memory if the host reads arrays in place, else null.
    const std::byte* readable() const { return is_cached ? mapped : nullptr; }
    VkDeviceAddress address = 0;  ///< 0 if the device has no addresses
    bool is_own_memory = false;   ///< shared with others: never the application's allocator's
    bool is_owned() const { return owned; }
    Suballocator ranges;

private:
    friend std::unique_ptr<MemoryBlock> make_block(Context& context, uint64_t id, uint32_t memory_type, int64_t bytes, bool map);
    Context& context;
    bool owned = true, is_coherent = true;
};

struct MemoryRange {
    MemoryBlock* block = nullptr;
    int64_t offset = 0, bytes = 0;  ///< both multiples of DevicePlan::alignment
};

/// A new block, or null if the driver has no memory for it. Throws on any other failure.
std::unique_ptr<MemoryBlock> make_block(Context& context, uint64_t id, uint32_t memory_type, int64_t bytes, bool map);

/// The memory of arrays. Guarded by the queue's mutex.
class DeviceMemory {
public:
    explicit DeviceMemory(Context& context) : context(context) {}
    /// `bytes` > 0 and at most DevicePlan::max_block_bytes; none if the driver has no memory left. `spare`: in memory of any type
    /// for arrays, else in the best.
    std::optional<MemoryRange> allocate(int64_t bytes, bool spare = false);
    void release(const MemoryRange& range);
    /// Frees every block without a range.
    void release_empty();

private:
    MemoryBlock* new_block(int64_t bytes);
    MemoryBlock* new_spare_block(int64_t bytes);
    void trim(int64_t keep);

    Context& context;
    std::vector<std::unique_ptr<MemoryBlock>> blocks;
    uint64_t next_id = 1;
};

}  // namespace pumice::vulkan
