#include "vulkan/vulkan_memory.h"

#include <algorithm>

#include "core/support/debug.h"
#include "core/support/error.h"

namespace pumice::vulkan {
namespace {

using pumice_rt::vulkan::out_of_memory;

constexpr int64_t block_bytes = int64_t(64) << 20;
constexpr int64_t smallest_block_bytes = int64_t(1) << 20;

}  // namespace

MemoryBlock::~MemoryBlock() {
    if (!owned) return;
    // Freeing memory unmaps it.
    if (buffer) context.vk.DestroyBuffer(context.device, buffer, nullptr);
    if (!memory) return;
    if (context.free_memory && !is_own_memory)
        context.free_memory({memory, memory_offset, mapped});
    else
        context.vk.FreeMemory(context.device, memory, nullptr);
}

void MemoryBlock::invalidate(int64_t offset, int64_t size) {
    if (is_coherent || !mapped) return;
    const int64_t atom = int64_t(context.snapshot.limits.nonCoherentAtomSize), begin = (memory_offset + offset) / atom * atom;
    auto range = structure<VkMappedMemoryRange>(VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE);
    range.memory = memory;
    range.offset = VkDeviceSize(begin);
    range.size = VkDeviceSize((memory_offset + offset + size + atom - 1) / atom * atom - begin);
    // The application's parts are whole atoms.
    if (!context.free_memory && int64_t(range.offset + range.size) > bytes) range.size = VK_WHOLE_SIZE;
    context.check(context.vk.InvalidateMappedMemoryRanges(context.device, 1, &range), "vkInvalidateMappedMemoryRanges");
}

namespace {

/// Gives the block's buffer a part of the application's memory. False if the application has none.
bool take_lent_memory(Context& context, MemoryBlock& block, const VkMemoryRequirements& needs, uint32_t memory_type, bool map) {
    const int64_t atom = int64_t(context.snapshot.limits.nonCoherentAtomSize);
    MemoryRequest request;
    request.bytes = (int64_t(needs.size) + atom - 1) / atom * atom;
    request.alignment = std::max(int64_t(needs.alignment), atom);
    request.memory_type = memory_type;
    request.mapped = map;
    request.addressable = context.plan.device_addresses;
    const MemoryPart part = context.allocate_memory(request);
    if (!part.memory) return false;
    block.memory = part.memory;
    block.memory_offset = part.offset;
    block.mapped = static_cast<std::byte*>(part.mapped);
    if (part.offset < 0 || part.offset % request.alignment != 0)
        fail("Application::allocate returns memory at byte ", part.offset, ", and ", request.alignment,
             " has to divide that (MemoryRequest::alignment)");
    if (map && !part.mapped)
        throw Error("Application::allocate returns memory that is not mapped, and the host needs it (MemoryRequest::mapped)");
    if (!map) block.mapped = nullptr;
    context.check(context.vk.BindBufferMemory(context.device, block.buffer, block.memory, VkDeviceSize(part.offset)),
                  "vkBindBufferMemory");
    return true;
}

}  // namespace

std::unique_ptr<MemoryBlock> make_block(Context& context, uint64_t id, uint32_t memory_type, int64_t bytes, bool map) {
    auto block = std::make_unique<MemoryBlock>(context, id, bytes);
    const VkMemoryPropertyFlags flags_of_type = context.snapshot.memory.memoryTypes[memory_type].propertyFlags;
    block->is_cached = flags_of_type & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    block->is_coherent = flags_of_type & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkBufferCreateInfo buffer = context.buffer_info(bytes);
    VkResult result = context.vk.CreateBuffer(context.device, &buffer, nullptr, &block->buffer);
    if (out_of_memory(result)) return nullptr;
    context.check(result, "vkCreateBuffer");

    VkMemoryRequirements needs{};
    context.vk.GetBufferMemoryRequirements(context.device, block->buffer, &needs);
    const auto take_address = [&] {
        if (!context.plan.device_addresses) return;
        const VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, nullptr, block->buffer};
        block->address = context.vk.GetBufferDeviceAddress(context.device, &info);
    };
    if (context.allocate_memory) {
        if (!take_lent_memory(context, *block, needs, memory_type, map)) return nullptr;
        take_address();
        return block;
    }
    auto flags = structure<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    auto allocation =
        structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, context.plan.device_addresses ? &flags : nullptr);
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = memory_type;
    result = context.vk.AllocateMemory(context.device, &allocation, nullptr, &block->memory);
    // Some drivers refuse allocations above maxMemoryAllocationSize with VK_ERROR_UNKNOWN.
    const bool is_large = needs.size > VkDeviceSize(context.snapshot.max_allocation_bytes);
    if (out_of_memory(result) || (is_large && result == VK_ERROR_UNKNOWN)) return nullptr;
    context.check(result, "vkAllocateMemory");
    context.check(context.vk.BindBufferMemory(context.device, block->buffer, block->memory, 0), "vkBindBufferMemory");
    if (map) {
        void* data = nullptr;
        result = context.vk.MapMemory(context.device, block->memory, 0, VK_WHOLE_SIZE, 0, &data);
        if (result == VK_ERROR_MEMORY_MAP_FAILED || out_of_memory(result)) return nullptr;  // no address space
        context.check(result, "vkMapMemory");
        // lavapipe of Mesa 25 reports success without memory; the address is mmap's MAP_FAILED.
        if (data == reinterpret_cast<void*>(intptr_t(-1))) return nullptr;
        block->mapped = static_cast<std::byte*>(data);
    }
    take_address();
    return block;
}

std::optional<MemoryRange> DeviceMemory::allocate(int64_t wanted, bool spare) {
    const int64_t granularity = context.plan.alignment;
    const int64_t bytes = (wanted + granularity - 1) / granularity * granularity;
    for (const auto& block : blocks) {
        if (block->is_spare && !spare) continue;
        // A block made for one large array takes no small ones, which would keep it alive.
        if (block->bytes > block_bytes && bytes <= block->bytes / 2) continue;
        if (const auto offset = block->ranges.allocate(bytes)) return MemoryRange{block.get(), *offset, bytes};
    }
    MemoryBlock* block = spare ? new_spare_block(bytes) : new_block(bytes);
    if (!block) return std::nullopt;
    return MemoryRange{block, *block->ranges.allocate(bytes), bytes};
}

/// If memory is short, tries smaller blocks before the request fails.
MemoryBlock* DeviceMemory::new_block(int64_t bytes) {
    const int64_t granularity = context.plan.alignment;
    for (int64_t size = std::min(block_bytes, context.plan.max_block_bytes);; size /= 4) {
        const int64_t want = std::max(bytes, size / granularity * granularity);
        const DevicePlan::ArrayMemory& best = context.plan.arrays[0];
        if (auto block = make_block(context, next_id++, best.type, want, best.mapped)) {
            blocks.push_back(std::move(block));
            return blocks.back().get();
        }
        if (want == bytes || size <= smallest_block_bytes) return nullptr;
    }
}

/// Allocates exactly this size, since it takes from a heap that others need, too.
MemoryBlock* DeviceMemory::new_spare_block(int64_t bytes) {
    for (size_t i = 1; i < context.plan.arrays.size(); ++i) {
        const DevicePlan::ArrayMemory& other = context.plan.arrays[i];
        const VkPhysicalDeviceMemoryProperties& memory = context.snapshot.memory;
        if (VkDeviceSize(bytes) > memory.memoryHeaps[memory.memoryTypes[other.type].heapIndex].size) continue;
        auto block = make_block(context, next_id++, other.type, bytes, other.mapped);
        if (!block) continue;
        block->is_spare = true;
        debug::log_line(text("the device's own memory has no room for ", bytes, " bytes: they lie in memory type ", other.type));
        blocks.push_back(std::move(block));
        return blocks.back().get();
    }
    return nullptr;
}

void DeviceMemory::release(const MemoryRange& range) {
    range.block->ranges.release(range.offset, range.bytes);
    if (range.block->ranges.empty()) trim(std::max(block_bytes, context.plan.limits.memory / 16));
}

void DeviceMemory::release_empty() { trim(0); }

/// Keeps empty blocks, the oldest first, as far as they fit into `keep` bytes in all, and frees the other empty ones. New blocks
/// cost page faults.
void DeviceMemory::trim(int64_t keep) {
    int64_t kept = 0;
    std::erase_if(blocks, [&](const std::unique_ptr<MemoryBlock>& block) {
        if (!block->ranges.empty()) return false;
        if (kept + block->bytes > keep) return true;
        kept += block->bytes;
        return false;
    });
}

}  // namespace pumice::vulkan
