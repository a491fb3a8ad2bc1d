// Memory that a device shares with other processes and with the host.
//
// Shared memory is one allocation with one buffer, made for this purpose: arrays of the suballocator lie in memory that cannot be
// exported. An importer makes the same buffer and allocates by importing; for opaque descriptors, Vulkan wants the exporter's
// size and memory type. Ownership goes through the external queue family, as Vulkan has it for memory that is used elsewhere.
// Cost: an allocation of the driver an array. Semaphores are exported and imported by opaque descriptors, with permanent
// payloads: both processes have the same one. Limits: Linux's file descriptors. Images: interop_images.cpp.
#include "vulkan/interop.h"

#include <type_traits>
#include <utility>

#include "core/support/error.h"
#include "vulkan/interop_functions.h"
#include "vulkan/interop_modifiers.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

constexpr VkExternalMemoryHandleTypeFlagBits host_type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

int64_t bytes_of(const int64_t* extents, int rank, const Element& element) {
    int64_t bytes = element.size;
    for (int d = 0; d < rank; ++d) {
        if (extents[d] < 1)
            fail("a shared array has extent ", extents[d], " along dimension ", d, ": extents are positive there");
        if (__builtin_mul_overflow(bytes, extents[d], &bytes)) throw Error("a shared array has more than 2^63 bytes");
    }
    return (bytes + 3) / 4 * 4;
}

std::shared_ptr<detail::ArrayState> state_of(const pumice::Device& device, std::shared_ptr<Buffer> buffer, int64_t bytes,
                                             const Element& element) {
    auto state = std::make_shared<detail::ArrayState>();
    state->device = device.state;
    state->memory = std::move(buffer);
    state->bytes = bytes;
    state->element = &element;
    state->element_size = int(element.size);
    return state;
}

}  // namespace

InteropFunctions interop_functions(const Origin& origin, const Snapshot& snapshot) {
    InteropFunctions found;
    auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(origin.application->get_instance_proc_addr);
    std::string reason;
    if (!get) get = global_functions(reason)->GetInstanceProcAddr;  // functions_of() has loaded it
    const VkInstance instance = origin.application->instance;
    const VkDevice device = origin.application->device;
    const auto of_device = [&](auto& to, const char* name) {
        to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(origin.vk.GetDeviceProcAddr(device, name));
    };
    of_device(found.GetMemoryFd, "vkGetMemoryFdKHR");
    of_device(found.GetMemoryFdProperties, "vkGetMemoryFdPropertiesKHR");
    of_device(found.GetMemoryHostPointerProperties, "vkGetMemoryHostPointerPropertiesEXT");
    of_device(found.GetSemaphoreFd, "vkGetSemaphoreFdKHR");
    of_device(found.ImportSemaphoreFd, "vkImportSemaphoreFdKHR");
    const auto buffers = reinterpret_cast<PFN_vkGetPhysicalDeviceExternalBufferProperties>(
        get(instance, "vkGetPhysicalDeviceExternalBufferProperties"));
    found.GetPhysicalDeviceImageFormatProperties2 = reinterpret_cast<PFN_vkGetPhysicalDeviceImageFormatProperties2>(
        get(instance, "vkGetPhysicalDeviceImageFormatProperties2"));
    found.GetPhysicalDeviceFormatProperties2 =
        reinterpret_cast<PFN_vkGetPhysicalDeviceFormatProperties2>(get(instance, "vkGetPhysicalDeviceFormatProperties2"));
    const auto semaphores = reinterpret_cast<PFN_vkGetPhysicalDeviceExternalSemaphoreProperties>(
        get(instance, "vkGetPhysicalDeviceExternalSemaphoreProperties"));
    const VkPhysicalDevice physical = found.physical_device = origin.application->physical_device;
    const auto features = [&](VkExternalMemoryHandleTypeFlagBits type) -> VkExternalMemoryFeatureFlags {
        if (!buffers) return 0;
        auto info = structure<VkPhysicalDeviceExternalBufferInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO);
        info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        info.handleType = type;
        auto properties = structure<VkExternalBufferProperties>(VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES);
        buffers(physical, &info, &properties);
        return properties.externalMemoryProperties.externalMemoryFeatures;
    };
    const auto semaphore_features = [&](VkSemaphoreType type) -> VkExternalSemaphoreFeatureFlags {
        if (!semaphores || !found.GetSemaphoreFd || !found.ImportSemaphoreFd) return 0;
        auto of_type = structure<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
        of_type.semaphoreType = type;
        auto info =
            structure<VkPhysicalDeviceExternalSemaphoreInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO, &of_type);
        info.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
        auto properties = structure<VkExternalSemaphoreProperties>(VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES);
        semaphores(physical, &info, &properties);
        return properties.externalSemaphoreFeatures;
    };
    const auto enabled = [&](const char* name) { return snapshot.has(name); };
    constexpr VkExternalMemoryFeatureFlags out = VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT,
                                           in = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    if (found.GetMemoryFd && enabled(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) {
        const auto opaque = features(type_of(FdKind::opaque));
        found.table.opaque_out = opaque & out, found.table.opaque_in = opaque & in;
        if (enabled(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME)) {
            const auto dma = features(type_of(FdKind::dma_buf));
            found.table.dma_buf_out = dma & out, found.table.dma_buf_in = dma & in;
        }
    }
    found.foreign = enabled(VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME);
    if (enabled(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME) && enabled(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME) &&
        enabled(VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME)) {
        of_device(found.GetImageDrmFormatModifierProperties, "vkGetImageDrmFormatModifierPropertiesEXT");
        of_device(found.GetImageSubresourceLayout, "vkGetImageSubresourceLayout");
        ImageShape some;
        some.format = Format::rgba8_unorm, some.dimensions = 2;
        for (const ImageModifier& one : modifiers_of(found, snapshot, some)) {
            found.table.dma_buf_image_out |= one.out;
            found.table.dma_buf_image_in |= one.in;
        }
    }
    if (found.GetMemoryHostPointerProperties && enabled(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) &&
        (features(host_type) & in)) {
        auto host = structure<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
        auto properties = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &host);
        origin.vk.GetPhysicalDeviceProperties2(physical, &properties);
        found.table.host_alignment = int64_t(host.minImportedHostPointerAlignment);
    }
    if (enabled(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME)) {
        constexpr VkExternalSemaphoreFeatureFlags give = VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT,
                                                  take = VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
        const auto binary = semaphore_features(VK_SEMAPHORE_TYPE_BINARY),
                   timeline = semaphore_features(VK_SEMAPHORE_TYPE_TIMELINE);
        found.table.binary_out = binary & give, found.table.binary_in = binary & take;
        found.table.timeline_out = timeline & give, found.table.timeline_in = timeline & take;
    }
    return found;
}

Interop interop(const pumice::Device& device) { return wrapped(device, "interop").interop.table; }

/// Gives the block memory that is exported, or imported from a descriptor or the host. `dedicated`: the one image in it, or null.
void VulkanDevice::allocate_shared(MemoryBlock& block, int64_t bytes, uint32_t memory_type, uint32_t type,
                                   const SharedMemory* from, void* host, VkImage dedicated) {
    auto allocation = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    allocation.allocationSize = VkDeviceSize(bytes);
    allocation.memoryTypeIndex = memory_type;
    const auto add = [&allocation](auto& info) {
        info.pNext = allocation.pNext;
        allocation.pNext = &info;
    };
    auto import_fd = structure<VkImportMemoryFdInfoKHR>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    import_fd.handleType = VkExternalMemoryHandleTypeFlagBits(type);
    auto import_host = structure<VkImportMemoryHostPointerInfoEXT>(VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
    import_host.handleType = host_type;
    import_host.pHostPointer = host;
    auto exported = structure<VkExportMemoryAllocateInfo>(VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    exported.handleTypes = type;
    if (host) {
        add(import_host);
    } else if (from) {
        import_fd.fd = from->fd;
        add(import_fd);
    } else {
        add(exported);
    }
    auto flags = structure<VkMemoryAllocateFlagsInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    if (context.plan.device_addresses && !dedicated) add(flags);
    auto alone = structure<VkMemoryDedicatedAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    alone.image = dedicated;
    if (dedicated) add(alone);
    const VkResult result = context.vk.AllocateMemory(context.device, &allocation, nullptr, &block.memory);
    if (from && result == VK_ERROR_INVALID_EXTERNAL_HANDLE)
        fail("the descriptor ", from->fd, " is taken for ", name_of(from->kind), " of ", bytes, " bytes, and ", context.name,
             " does not know it as one: vkAllocateMemory gives ", name_of(result));
    context.check(result, "vkAllocateMemory");
    block.is_own_memory = true;
}

/// A block with memory of its own that is exported or imported. `memory`: of the importer, else null; `host`: its memory, else
/// null.
std::shared_ptr<Buffer> VulkanDevice::shared_buffer(int64_t bytes, uint32_t type, const SharedMemory* from, void* host) {
    auto external = structure<VkExternalMemoryBufferCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    external.handleTypes = type;
    VkBufferCreateInfo info = context.buffer_info(bytes);
    info.pNext = &external;
    auto block = std::make_unique<MemoryBlock>(context, staging_ids++, bytes);
    context.check(context.vk.CreateBuffer(context.device, &info, nullptr, &block->buffer), "vkCreateBuffer");
    VkMemoryRequirements needs{};
    context.vk.GetBufferMemoryRequirements(context.device, block->buffer, &needs);
    uint32_t types = needs.memoryTypeBits;
    if (host) {
        auto properties = structure<VkMemoryHostPointerPropertiesEXT>(VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT);
        context.check(interop.GetMemoryHostPointerProperties(context.device, host_type, host, &properties),
                      "vkGetMemoryHostPointerPropertiesEXT");
        types &= properties.memoryTypeBits;
    } else if (from && from->kind == FdKind::dma_buf) {
        auto properties = structure<VkMemoryFdPropertiesKHR>(VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR);
        context.check(interop.GetMemoryFdProperties(context.device, type_of(from->kind), from->fd, &properties),
                      "vkGetMemoryFdPropertiesKHR");
        types &= properties.memoryTypeBits;
    } else if (from) {
        types &= from->memory_type < 32 ? 1u << from->memory_type : 0;
    }
    if (types == 0) fail("no memory type of ", context.name, " takes the shared memory of ", bytes, " bytes");
    uint32_t chosen = uint32_t(__builtin_ctz(types));
    for (const DevicePlan::ArrayMemory& array : context.plan.arrays)  // the best one first
        if (types >> array.type & 1) {
            chosen = array.type;
            break;
        }
    if (from && from->allocated < int64_t(needs.size))
        fail("shared memory of ", from->allocated, " bytes is taken for an array that needs ", needs.size, " bytes on ",
             context.name);
    const int64_t allocated = host ? bytes : from ? from->allocated : int64_t(needs.size);
    allocate_shared(*block, allocated, chosen, type, from, host, VK_NULL_HANDLE);
    context.check(context.vk.BindBufferMemory(context.device, block->buffer, block->memory, 0), "vkBindBufferMemory");
    const VkMemoryPropertyFlags properties = context.snapshot.memory.memoryTypes[chosen].propertyFlags;
    // Memory that is not coherent is reached by copies, as that of a card is.
    constexpr VkMemoryPropertyFlags reached = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    if ((properties & reached) == reached && context.plan.arrays[0].mapped) {
        void* data = nullptr;
        context.check(context.vk.MapMemory(context.device, block->memory, 0, VK_WHOLE_SIZE, 0, &data), "vkMapMemory");
        block->mapped = static_cast<std::byte*>(data);
        block->is_cached = properties & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    }
    if (context.plan.device_addresses) {
        const VkBufferDeviceAddressInfo address{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, nullptr, block->buffer};
        block->address = context.vk.GetBufferDeviceAddress(context.device, &address);
    }
    auto buffer = std::make_shared<Buffer>(self(), std::move(block));
    buffer->shared = {-1, from ? from->kind : FdKind::opaque, bytes, allocated, chosen};
    return buffer;
}

std::shared_ptr<detail::ArrayState> new_shared(const pumice::Device& device, FdKind kind, const int64_t* extents, int rank,
                                               const Element& element) {
    VulkanDevice& backend = wrapped(device, "shareable");
    const Interop& can = backend.interop.table;
    if (kind == FdKind::opaque ? !can.opaque_out : !can.dma_buf_out)
        fail(device.name(), " cannot give memory away as ", name_of(kind),
             ": the driver has no such memory, or the application has not enabled its extension (vulkan::interop)");
    const int64_t bytes = bytes_of(extents, rank, element);
    auto buffer = backend.shared_buffer(bytes, type_of(kind), nullptr, nullptr);
    buffer->shared.kind = kind;
    const uint32_t zeros = 0;
    backend.fill(*buffer, 0, bytes, &zeros, 4, 0);
    return state_of(device, std::move(buffer), bytes, element);
}

std::shared_ptr<detail::ArrayState> from_shared(const pumice::Device& device, const SharedMemory& memory, const int64_t* extents,
                                                int rank, const Element& element) {
    VulkanDevice& backend = wrapped(device, "shared");
    const Interop& can = backend.interop.table;
    if (memory.kind == FdKind::opaque ? !can.opaque_in : !can.dma_buf_in)
        fail(device.name(), " cannot take memory from ", name_of(memory.kind),
             ": the driver has no such memory, or the application has not enabled its extension (vulkan::interop)");
    if (memory.fd < 0) fail("shared memory is taken from the descriptor ", memory.fd, ", which is none");
    const int64_t bytes = bytes_of(extents, rank, element);
    if (bytes > memory.bytes) fail("an array of ", bytes, " bytes is put into shared memory of ", memory.bytes, " bytes");
    return state_of(device, backend.shared_buffer(memory.bytes, type_of(memory.kind), &memory, nullptr), bytes, element);
}

std::shared_ptr<detail::ArrayState> on_host(const pumice::Device& device, void* host, int64_t bytes, const Element& element) {
    VulkanDevice& backend = wrapped(device, "host_array");
    const int64_t alignment = backend.interop.table.host_alignment;
    if (alignment == 0)
        fail(device.name(),
             " cannot use the host's memory in place: the driver does not import it, or the application has not enabled "
             "VK_EXT_external_memory_host (vulkan::interop)");
    if (!host || bytes <= 0 || reinterpret_cast<uintptr_t>(host) % uintptr_t(alignment) != 0 || bytes % alignment != 0)
        fail("an array is put into the host's memory at address ", reinterpret_cast<uintptr_t>(host), ", of ", bytes,
             " bytes: both have to be multiples of ", alignment, " (Interop::host_alignment)");
    return state_of(device, backend.shared_buffer(bytes, host_type, nullptr, host), bytes, element);
}

SharedMemory share(const detail::ArrayState& array) {
    VulkanDevice& backend = wrapped(pumice::Device(array.device), "share");
    if (array.released || !array.memory) throw Error("vulkan::share is called for an array that was released or has no elements");
    const auto& buffer = static_cast<const Buffer&>(*array.memory);
    if (!buffer.lent || !buffer.lent->is_own_memory || array.offset != 0)
        throw Error("vulkan::share is called for an array that is not one of vulkan::shareable");
    SharedMemory shared = buffer.shared;
    auto info = structure<VkMemoryGetFdInfoKHR>(VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR);
    info.memory = buffer.lent->memory;
    info.handleType = type_of(shared.kind);
    backend.context.check(backend.interop.GetMemoryFd(backend.context.device, &info, &shared.fd), "vkGetMemoryFdKHR");
    return shared;
}

void hand_over(const detail::ArrayState& array, bool take) {
    VulkanDevice& backend = wrapped(pumice::Device(array.device), take ? "acquire" : "release");
    if (array.released || !array.memory) throw Error("a shared array changes hands that was released or has no elements");
    backend.hand_over(static_cast<Buffer&>(*array.memory), take);
}

/// Records the transfer of ownership of a buffer or an image to or from the queue family of others. The queue's mutex is held.
template <class Barrier> void VulkanDevice::record_ownership(const BufferAccess& all, Barrier barrier, FdKind kind, bool take) {
    constexpr VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    constexpr VkAccessFlags any =
        VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    const uint32_t own = context.plan.queue_family, other = interop.family_of_others(kind);
    barrier.srcAccessMask = take ? 0 : any;
    barrier.dstAccessMask = take ? any : 0;
    barrier.srcQueueFamilyIndex = take ? other : own;
    barrier.dstQueueFamilyIndex = take ? own : other;
    const VkBufferMemoryBarrier* buffer = nullptr;
    const VkImageMemoryBarrier* image = nullptr;
    if constexpr (std::is_same_v<Barrier, VkBufferMemoryBarrier>)
        buffer = &barrier;
    else
        image = &barrier;
    context.vk.CmdPipelineBarrier(queue.begin({&all, 1}), take ? VkPipelineStageFlags(VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT) : stages,
                                  take ? stages : VkPipelineStageFlags(VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT), 0, 0, nullptr,
                                  buffer ? 1 : 0, buffer, image ? 1 : 0, image);
}

void VulkanDevice::hand_over(Buffer& buffer, bool take) {
    queue.make_room();
    auto barrier = structure<VkBufferMemoryBarrier>(VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER);
    barrier.buffer = buffer.range.block->buffer;
    barrier.size = VK_WHOLE_SIZE;
    const std::lock_guard lock(queue.mutex);
    record_ownership({buffer.range.block->id, 0, buffer.range.block->bytes, true}, barrier, buffer.shared.kind, take);
    used(buffer, true);
    queue.end();
}

void VulkanDevice::hand_over(Image& image, bool take) {
    queue.make_room();
    const std::lock_guard lock(queue.mutex);
    auto barrier = structure<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
    barrier.oldLayout = take ? VK_IMAGE_LAYOUT_GENERAL : image.layout;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    barrier.image = image.handle;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, uint32_t(image.shape.levels), 0, uint32_t(image.shape.layers)};
    record_ownership(image.access(0, image.shape.levels, true), barrier, image.shared.kind, take);
    image.layout = VK_IMAGE_LAYOUT_GENERAL;
    used(image, true);
    queue.end();
}

// ---- semaphores ----------------------------------------------------------------------------------------------------

struct SharedSemaphore::State {
    State(VulkanDevice& device, bool is_timeline, bool is_exported)
        : device(std::static_pointer_cast<VulkanDevice>(device.shared_from_this())), is_timeline(is_timeline) {
        auto exported = structure<VkExportSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO);
        exported.handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
        auto type =
            structure<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, is_exported ? &exported : nullptr);
        type.semaphoreType = is_timeline ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY;
        auto info = structure<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type);
        device.context.check(device.context.vk.CreateSemaphore(device.context.device, &info, nullptr, &semaphore),
                             "vkCreateSemaphore");
    }
    ~State() {
        const std::lock_guard lock(device->queue.mutex);
        device->queue.retire(device->queue.last(), [context = &device->context, semaphore = semaphore] {
            context->vk.DestroySemaphore(context->device, semaphore, nullptr);
        });
    }
    State(const State&) = delete;

    const std::shared_ptr<VulkanDevice> device;
    const bool is_timeline;
    VkSemaphore semaphore = VK_NULL_HANDLE;
};

namespace {
const SharedSemaphore::State& held(const SharedSemaphore& semaphore, const char* what) {
    if (!semaphore.state) fail(what, " is called for a semaphore that was never made");
    return *semaphore.state;
}

const char* name_of(bool is_timeline) { return is_timeline ? "a timeline semaphore" : "a binary semaphore"; }
}  // namespace

Point SharedSemaphore::point(uint64_t value) const { return {held(*this, "SharedSemaphore::point").semaphore, value}; }

bool SharedSemaphore::is_timeline() const { return held(*this, "SharedSemaphore::is_timeline").is_timeline; }

SharedSemaphore shareable_semaphore(const pumice::Device& device, bool is_timeline) {
    VulkanDevice& backend = wrapped(device, "shareable_semaphore");
    const Interop& can = backend.interop.table;
    if (is_timeline ? !can.timeline_out : !can.binary_out)
        fail(device.name(), " cannot give ", name_of(is_timeline),
             " away: the driver cannot, or the application has not enabled VK_KHR_external_semaphore_fd (vulkan::interop)");
    return {std::make_shared<SharedSemaphore::State>(backend, is_timeline, true)};
}

int share(const SharedSemaphore& semaphore) {
    const SharedSemaphore::State& state = held(semaphore, "vulkan::share");
    auto info = structure<VkSemaphoreGetFdInfoKHR>(VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR);
    info.semaphore = state.semaphore;
    info.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    const VulkanDevice& backend = *state.device;
    int fd = -1;
    state.device->context.check(backend.interop.GetSemaphoreFd(backend.context.device, &info, &fd), "vkGetSemaphoreFdKHR");
    return fd;
}

SharedSemaphore shared_semaphore(const pumice::Device& device, int fd, bool is_timeline) {
    VulkanDevice& backend = wrapped(device, "shared_semaphore");
    const Interop& can = backend.interop.table;
    if (is_timeline ? !can.timeline_in : !can.binary_in)
        fail(device.name(), " cannot take ", name_of(is_timeline),
             " from a descriptor: the driver cannot, or the application has not enabled VK_KHR_external_semaphore_fd "
             "(vulkan::interop)");
    if (fd < 0) fail("a shared semaphore is taken from the descriptor ", fd, ", which is none");
    SharedSemaphore made{std::make_shared<SharedSemaphore::State>(backend, is_timeline, false)};
    auto info = structure<VkImportSemaphoreFdInfoKHR>(VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR);
    info.semaphore = made.state->semaphore;
    info.handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT;
    info.fd = fd;
    backend.context.check(backend.interop.ImportSemaphoreFd(backend.context.device, &info), "vkImportSemaphoreFdKHR");
    return made;
}

}  // namespace pumice::vulkan
