// Blocks of device memory, ranges of them for arrays, and rings for staging.
#include "runtime/vulkan_context/rt_memory.h"

namespace pumice_rt::vulkan {
namespace {

constexpr int64_t usual_block_bytes = int64_t(64) << 20;
constexpr int64_t smallest_block_bytes = int64_t(1) << 20;

/// The buffer and the memory of a block. VK_SUCCESS with a null buffer, memory or mapping: the driver has no memory for it.
VkResult fill_block(Context& context, uint32_t memory_type, bool map, MemoryBlock& block, const char*& call) {
    const VkBufferCreateInfo buffer = context.buffer_info(block.bytes);
    call = "vkCreateBuffer";
    VkResult result = context.vk.CreateBuffer(context.device, &buffer, nullptr, &block.buffer);
    if (result != VK_SUCCESS) return result;
    VkMemoryRequirements needs{};
    context.vk.GetBufferMemoryRequirements(context.device, block.buffer, &needs);
    auto flags = structure<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    const bool has_address = context.plan.features & feature::buffer_device_address;
    auto allocation = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, has_address ? &flags : nullptr);
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = memory_type;
    call = "vkAllocateMemory";
    result = context.vk.AllocateMemory(context.device, &allocation, nullptr, &block.memory);
    // Some drivers refuse allocations above maxMemoryAllocationSize with VK_ERROR_UNKNOWN.
    if (result == VK_ERROR_UNKNOWN && int64_t(needs.size) > context.facts.max_allocation_bytes)
        result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (result != VK_SUCCESS) return result;
    call = "vkBindBufferMemory";
    result = context.vk.BindBufferMemory(context.device, block.buffer, block.memory, 0);
    if (result == VK_SUCCESS && map) {
        call = "vkMapMemory";
        void* data = nullptr;
        result = context.vk.MapMemory(context.device, block.memory, 0, VK_WHOLE_SIZE, 0, &data);
        // No address space. lavapipe of Mesa 25 reports success without memory; the address is mmap's MAP_FAILED.
        if (result == VK_ERROR_MEMORY_MAP_FAILED || data == reinterpret_cast<void*>(intptr_t(-1)))
            result = VK_ERROR_OUT_OF_HOST_MEMORY;
        block.mapped = static_cast<char*>(data);
    }
    if (result == VK_SUCCESS && has_address) {
        const VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, nullptr, block.buffer};
        block.address = context.vk.GetBufferDeviceAddress(context.device, &info);
    }
    return result;
}

}  // namespace

pumice_status make_block(Context& context, uint32_t memory_type, int64_t bytes, bool map, MemoryBlock*& block) {
    block = make<MemoryBlock>(context.hooks, context.hooks, bytes);
    if (!block) return PUMICE_OK;
    const VkMemoryPropertyFlags flags = context.facts.memory.memoryTypes[memory_type].propertyFlags;
    block->is_cached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    block->is_coherent = flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const char* call = "";
    const VkResult result =
        block->ranges.start() ? fill_block(context, memory_type, map, *block, call) : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (result == VK_SUCCESS) return PUMICE_OK;
    destroy_block(context, block);
    block = nullptr;
    return out_of_memory(result) ? PUMICE_OK : context.check(result, call);
}

void destroy_block(Context& context, MemoryBlock* block) {
    if (!block) return;
    // Freeing memory unmaps it. Vulkan ignores null handles.
    context.vk.DestroyBuffer(context.device, block->buffer, nullptr);
    context.vk.FreeMemory(context.device, block->memory, nullptr);
    destroy(context.hooks, block);
}

pumice_status invalidate(Context& context, const MemoryBlock& block, int64_t offset, int64_t bytes) {
    if (block.is_coherent || !block.mapped) return PUMICE_OK;
    const int64_t atom = int64_t(context.facts.basic.limits.nonCoherentAtomSize), begin = offset / atom * atom;
    const int64_t size = (offset + bytes + atom - 1) / atom * atom - begin;
    auto range = structure<VkMappedMemoryRange>(VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE);
    range.memory = block.memory;
    range.offset = VkDeviceSize(begin);
    range.size = begin + size > block.bytes ? VK_WHOLE_SIZE : VkDeviceSize(size);
    return context.check(context.vk.InvalidateMappedMemoryRanges(context.device, 1, &range), "vkInvalidateMappedMemoryRanges");
}

DeviceMemory::~DeviceMemory() {
    while (MemoryBlock* const first = blocks) {
        blocks = first->next;
        destroy_block(context, first);
    }
}

pumice_status DeviceMemory::allocate(int64_t wanted, bool spare, MemoryRange& range) {
    const int64_t granularity = context.plan.alignment;
    const int64_t bytes = (wanted + granularity - 1) / granularity * granularity;
    range = {};
    for (MemoryBlock* block = blocks; block; block = block->next) {
        if (block->is_spare && !spare) continue;
        // A block made for one large array takes no small ones, which would keep it alive.
        if (block->bytes > usual_block_bytes && bytes <= block->bytes / 2) continue;
        const int64_t offset = block->ranges.allocate(bytes);
        if (offset < 0) continue;
        range = {block, offset, bytes};
        return PUMICE_OK;
    }
    MemoryBlock* block = nullptr;
    RT_TRY(spare ? new_spare_block(bytes, block) : new_block(bytes, block));
    if (!block) return PUMICE_OK;
    block->next = blocks;
    blocks = block;
    const int64_t offset = block->ranges.allocate(bytes);
    if (offset >= 0) range = {block, offset, bytes};
    return PUMICE_OK;
}

/// If memory is short, tries smaller blocks before the request fails.
pumice_status DeviceMemory::new_block(int64_t bytes, MemoryBlock*& block) {
    const int64_t granularity = context.plan.alignment, most = context.plan.max_block_bytes;
    for (int64_t size = usual_block_bytes < most ? usual_block_bytes : most;; size /= 4) {
        const int64_t rounded = size / granularity * granularity, want = bytes > rounded ? bytes : rounded;
        const ArrayMemory& best = context.plan.arrays[0];
        RT_TRY(make_block(context, best.type, want, best.mapped, block));
        if (block || want == bytes || size <= smallest_block_bytes) return PUMICE_OK;
    }
}

/// Allocates exactly this size, since it takes from a heap that others need, too.
pumice_status DeviceMemory::new_spare_block(int64_t bytes, MemoryBlock*& block) {
    for (uint32_t i = 1; i < context.plan.array_count && !block; ++i) {
        const ArrayMemory& other = context.plan.arrays[i];
        const VkPhysicalDeviceMemoryProperties& memory = context.facts.memory;
        if (VkDeviceSize(bytes) > memory.memoryHeaps[memory.memoryTypes[other.type].heapIndex].size) continue;
        RT_TRY(make_block(context, other.type, bytes, other.mapped, block));
        if (block) block->is_spare = true;
    }
    return PUMICE_OK;
}

void DeviceMemory::release(const MemoryRange& range) {
    range.block->ranges.release(range.offset, range.bytes);
    const int64_t sixteenth = context.plan.memory_bytes / 16;
    if (range.block->ranges.empty()) trim(sixteenth > usual_block_bytes ? sixteenth : usual_block_bytes);
}

/// Keeps empty blocks, the newest first, as far as they fit into `keep` bytes in all, and frees the other empty ones. New blocks
/// cost page faults.
void DeviceMemory::trim(int64_t keep) {
    int64_t kept = 0;
    for (MemoryBlock** link = &blocks; *link;) {
        MemoryBlock* const block = *link;
        if (!block->ranges.empty() || kept + block->bytes <= keep) {
            if (block->ranges.empty()) kept += block->bytes;
            link = &block->next;
            continue;
        }
        *link = block->next;
        destroy_block(context, block);
    }
}

uint64_t StagingRing::needed(int64_t bytes) const {
    const int64_t begin = begin_of(bytes);
    uint64_t value = 0;
    for (int64_t s = segment_of(begin); s <= segment_of(begin + bytes - 1); ++s)
        if (s != entered && values[s] > value) value = values[s];
    return value;
}

StagingRing::StagingRing(Context& context, int64_t most_bytes) : context(context), most_bytes(most_bytes), capacity(most_bytes) {}

pumice_status StagingRing::start(uint32_t memory_type) {
    for (capacity = most_bytes; !block && capacity >= smallest_block_bytes; capacity /= 4)
        RT_TRY(make_block(context, memory_type, capacity, true, block));
    if (block) {
        capacity = block->bytes;
        return PUMICE_OK;
    }
    return fail(PUMICE_ERROR_MEMORY, "cannot allocate %lld bytes on %s for copies between host and device",
                longest(smallest_block_bytes), context.name);
}

int64_t StagingRing::take(int64_t bytes) {
    piece_begin = begin_of(bytes);
    entered = segment_of(piece_begin + bytes - 1);
    // The next piece starts at a multiple of 256, which suits every copy engine, or of the alignment of storage buffers.
    const int64_t alignment = context.plan.alignment;
    head = (piece_begin + bytes + alignment - 1) / alignment * alignment;
    return piece_begin;
}

void StagingRing::until(uint64_t value) {
    for (int64_t s = segment_of(piece_begin); s <= entered; ++s) values[s] = value;
}

uint64_t StagingRing::last() const {
    uint64_t value = 0;
    for (const uint64_t one : values) value = one > value ? one : value;
    return value;
}

void StagingRing::release() {
    destroy_block(context, block);
    block = nullptr;
    head = 0;
    entered = -1;
    for (uint64_t& value : values) value = 0;
}

}  // namespace pumice_rt::vulkan
