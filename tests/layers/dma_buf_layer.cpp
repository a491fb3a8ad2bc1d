// A Vulkan layer, for tests alone, that gives a software driver VK_EXT_external_memory_dma_buf and
// VK_EXT_image_drm_format_modifier. It stands below the validation layer, which so checks the calls of both extensions.
//
// A dma-buf is a memfd, which the layer maps and hands to the driver as memory of the host (VK_EXT_external_memory_host): who has
// the descriptor sees the bytes that the driver writes. An image with a modifier is one of linear tiling, at the offset and with
// the row pitch that the importer says; the layer makes it wider than it is for a larger pitch. `modifiers` below are the layouts
// that it knows. Limits: one device of the driver, images without samplers' own wrapping where the pitch is larger.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/layers/layer.h"

namespace {

using layer::ask, layer::plain, layer::table_of, layer::take_link;

constexpr auto dma_buf = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
constexpr auto on_host = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
constexpr VkExternalMemoryFeatureFlags out = VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT,
                                       in = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
constexpr VkDeviceSize page = 4096;

/// The extensions that the driver does not get to see.
constexpr const char* ours[] = {VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME, VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME,
                                VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME};
bool is_ours(const char* name) {
    return std::any_of(std::begin(ours), std::end(ours), [&](const char* one) { return std::strcmp(one, name) == 0; });
}

struct Modifier {
    uint64_t number;
    uint32_t planes;
    VkFormatFeatureFlags without;  ///< features of linear images that it lacks
    VkExternalMemoryFeatureFlags features;
};
/// The layer prefers the later one, as a driver does tiles.
constexpr Modifier modifiers[] = {
    {0, 1, 0, out | in},                                                     // plain rows
    {0x0f00000000000001, 1, VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT, out | in},  // kernels cannot store to it
    {0x0f00000000000002, 1, VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT, out | in},
    {0x0f00000000000003, 2, 0, out | in},  // a page behind the rows is its second plane
    {0x0f00000000000004, 1, 0, in},        // another device's alone
};
const Modifier* find(uint64_t number) {
    const auto* const found =
        std::find_if(std::begin(modifiers), std::end(modifiers), [&](const Modifier& m) { return m.number == number; });
    return found == std::end(modifiers) ? nullptr : found;
}

// ---- the functions of the next layer or driver --------------------------------------------------------------------------------

struct Instance {
    VkInstance handle{};
    PFN_vkGetInstanceProcAddr get{};
    PFN_vkDestroyInstance destroy{};
    PFN_vkEnumerateDeviceExtensionProperties extensions{};
    PFN_vkGetPhysicalDeviceFormatProperties2 formats{};
    PFN_vkGetPhysicalDeviceImageFormatProperties2 image_formats{};
    PFN_vkGetPhysicalDeviceExternalBufferProperties external_buffers{};
};
struct Memory {
    int fd = -1;
    void* bytes = nullptr;
    VkDeviceSize size = 0;
};
struct Image {
    const Modifier* modifier = nullptr;
    VkDeviceSize offset = 0, aux = 0;  ///< aux: of the second plane, from the beginning of the memory
    VkDeviceSize rows = 0;             ///< bytes of the driver's image
};
struct Device {
    VkDevice handle{};
    PFN_vkGetDeviceProcAddr get{};
    PFN_vkDestroyDevice destroy{};
    PFN_vkAllocateMemory allocate{};
    PFN_vkFreeMemory release{};
    PFN_vkGetMemoryFdKHR memory_fd{};
    PFN_vkCreateImage make_image{};
    PFN_vkDestroyImage destroy_image{};
    PFN_vkGetImageMemoryRequirements image_requirements{};
    PFN_vkGetImageMemoryRequirements2 image_requirements2{};
    PFN_vkBindImageMemory bind_image{};
    PFN_vkBindImageMemory2 bind_image2{};
    PFN_vkGetImageSubresourceLayout layout{};
    PFN_vkCreateBuffer make_buffer{};
    std::map<VkDeviceMemory, Memory> memories;
    std::map<VkImage, Image> images;
};

std::mutex mutex;
std::map<void*, Instance> instances;
std::map<void*, Device> devices;

template <class Handle> Instance instance_of(Handle handle) {
    const std::lock_guard lock(mutex);
    return instances.at(table_of(handle));
}
template <class Handle> Device& device_of(Handle handle) {
    const std::lock_guard lock(mutex);
    return devices.at(table_of(handle));
}
std::optional<Image> image_of(Device& device, VkImage image) {
    const std::lock_guard lock(mutex);
    const auto found = device.images.find(image);
    if (found == device.images.end()) return std::nullopt;
    return found->second;
}

/// The structure of this type in a chain, or null.
template <class Structure, class Chain> Structure* find_in(Chain* chain, VkStructureType type) {
    auto* one = static_cast<VkBaseOutStructure*>(const_cast<void*>(static_cast<const void*>(chain)));
    while (one && one->sType != type) one = one->pNext;
    return reinterpret_cast<Structure*>(one);
}

// ---- what the physical device has ---------------------------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL device_extensions(VkPhysicalDevice device, const char* layer, uint32_t* count,
                                                 VkExtensionProperties* extensions) {
    const Instance instance = instance_of(device);
    if (layer) return instance.extensions(device, layer, count, extensions);
    uint32_t there = 0;
    instance.extensions(device, nullptr, &there, nullptr);
    std::vector<VkExtensionProperties> all(there);
    instance.extensions(device, nullptr, &there, all.data());
    std::erase_if(all, [](const VkExtensionProperties& one) { return is_ours(one.extensionName); });
    for (const char* const name : ours) {
        VkExtensionProperties& one = all.emplace_back();
        std::snprintf(one.extensionName, sizeof one.extensionName, "%s", name);
        one.specVersion = 1;
    }
    if (!extensions) return *count = uint32_t(all.size()), VK_SUCCESS;
    const bool whole = *count >= all.size();
    *count = std::min(*count, uint32_t(all.size()));
    std::copy_n(all.begin(), *count, extensions);
    return whole ? VK_SUCCESS : VK_INCOMPLETE;
}

template <class List, class Element>
void list_modifiers(List* list, uint32_t room, Element* elements, VkFormatFeatureFlags linear) {
    if (!list) return;
    const uint32_t all = linear ? uint32_t(std::size(modifiers)) : 0;
    list->drmFormatModifierCount = elements ? std::min(room, all) : all;
    for (uint32_t i = 0; elements && i < list->drmFormatModifierCount; ++i)
        elements[i] = {modifiers[i].number, modifiers[i].planes, linear & ~modifiers[i].without};
}
VKAPI_ATTR void VKAPI_CALL formats(VkPhysicalDevice device, VkFormat format, VkFormatProperties2* properties) {
    auto* const list = find_in<VkDrmFormatModifierPropertiesListEXT>(properties->pNext,
                                                                     VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT);
    // That of VK_KHR_format_feature_flags2, which the validation layer asks for.
    auto* const list2 = find_in<VkDrmFormatModifierPropertiesList2EXT>(
        properties->pNext, VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_2_EXT);
    const uint32_t room = list ? list->drmFormatModifierCount : 0, room2 = list2 ? list2->drmFormatModifierCount : 0;
    instance_of(device).formats(device, format, properties);  // which may have a list of its own
    const VkFormatFeatureFlags linear = properties->formatProperties.linearTilingFeatures;
    list_modifiers(list, room, list ? list->pDrmFormatModifierProperties : nullptr, linear);
    list_modifiers(list2, room2, list2 ? list2->pDrmFormatModifierProperties : nullptr, linear);
}

VKAPI_ATTR VkResult VKAPI_CALL image_formats(VkPhysicalDevice device, const VkPhysicalDeviceImageFormatInfo2* info,
                                             VkImageFormatProperties2* properties) {
    const Instance instance = instance_of(device);
    const auto* const external = find_in<VkPhysicalDeviceExternalImageFormatInfo>(
        info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
    const auto* const asked = find_in<VkPhysicalDeviceImageDrmFormatModifierInfoEXT>(
        info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT);
    const bool has_modifier = info->tiling == VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
    if (!has_modifier && !(external && external->handleType == dma_buf)) return instance.image_formats(device, info, properties);
    const Modifier* const modifier = has_modifier && asked ? find(asked->drmFormatModifier) : nullptr;
    if (!modifier || info->type != VK_IMAGE_TYPE_2D) return VK_ERROR_FORMAT_NOT_SUPPORTED;
    VkPhysicalDeviceImageFormatInfo2 below = *info;
    below.pNext = nullptr;
    below.tiling = VK_IMAGE_TILING_LINEAR;
    auto* const answer =
        find_in<VkExternalImageFormatProperties>(properties->pNext, VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES);
    const VkResult result = instance.image_formats(device, &below, properties);
    if (result != VK_SUCCESS) return result;
    properties->imageFormatProperties.maxMipLevels = properties->imageFormatProperties.maxArrayLayers = 1;
    if (answer) {
        answer->externalMemoryProperties = {};
        if (external && external->handleType == dma_buf)
            answer->externalMemoryProperties = {modifier->features, dma_buf, dma_buf};
        else if (external)
            return VK_ERROR_FORMAT_NOT_SUPPORTED;
    }
    return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL external_buffers(VkPhysicalDevice device, const VkPhysicalDeviceExternalBufferInfo* info,
                                            VkExternalBufferProperties* properties) {
    if (info->handleType != dma_buf) return instance_of(device).external_buffers(device, info, properties);
    properties->externalMemoryProperties = {out | in, dma_buf, dma_buf};
}

// ---- memory -------------------------------------------------------------------------------------------------------------------

/// A dma-buf of this layer: only a memfd has seals.
bool is_dma_buf(int fd) { return fcntl(fd, F_GET_SEALS) >= 0; }

VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice handle, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* callbacks,
                                        VkDeviceMemory* memory) {
    Device& device = device_of(handle);
    const auto* const exported = find_in<VkExportMemoryAllocateInfo>(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    const auto* const imported = find_in<VkImportMemoryFdInfoKHR>(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    const bool takes = imported && imported->handleType == dma_buf, gives = exported && (exported->handleTypes & dma_buf);
    if (!takes && !gives) return device.allocate(handle, info, callbacks, memory);
    Memory made;
    made.size = (info->allocationSize + page - 1) / page * page;
    if (takes) {
        if (!is_dma_buf(imported->fd)) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
        made.fd = fcntl(imported->fd, F_DUPFD_CLOEXEC, 0);
        if (VkDeviceSize(lseek(made.fd, 0, SEEK_END)) < info->allocationSize)
            return close(made.fd), VK_ERROR_INVALID_EXTERNAL_HANDLE;
    } else {
        made.fd = memfd_create("dma-buf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (ftruncate(made.fd, off_t(made.size)) != 0) return close(made.fd), VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    made.bytes = mmap(nullptr, made.size, PROT_READ | PROT_WRITE, MAP_SHARED, made.fd, 0);
    if (made.bytes == MAP_FAILED) return close(made.fd), VK_ERROR_OUT_OF_DEVICE_MEMORY;
    VkImportMemoryHostPointerInfoEXT host{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, nullptr, on_host, made.bytes};
    VkMemoryAllocateInfo below = *info;
    below.pNext = &host;
    below.allocationSize = made.size;
    const VkResult result = device.allocate(handle, &below, callbacks, memory);
    if (result != VK_SUCCESS) {
        munmap(made.bytes, made.size);
        close(made.fd);
        return result;
    }
    if (takes) close(imported->fd);
    const std::lock_guard lock(mutex);
    device.memories[*memory] = made;
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL release(VkDevice handle, VkDeviceMemory memory, const VkAllocationCallbacks* callbacks) {
    Device& device = device_of(handle);
    device.release(handle, memory, callbacks);
    const std::lock_guard lock(mutex);
    const auto found = device.memories.find(memory);
    if (found == device.memories.end()) return;
    munmap(found->second.bytes, found->second.size);
    close(found->second.fd);
    device.memories.erase(found);
}
VKAPI_ATTR VkResult VKAPI_CALL memory_fd(VkDevice handle, const VkMemoryGetFdInfoKHR* info, int* fd) {
    Device& device = device_of(handle);
    if (info->handleType != dma_buf) return device.memory_fd(handle, info, fd);
    const std::lock_guard lock(mutex);
    *fd = fcntl(device.memories.at(info->memory).fd, F_DUPFD_CLOEXEC, 0);
    return *fd < 0 ? VK_ERROR_TOO_MANY_OBJECTS : VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL memory_fd_properties(VkDevice, VkExternalMemoryHandleTypeFlagBits, int fd,
                                                    VkMemoryFdPropertiesKHR* properties) {
    if (!is_dma_buf(fd)) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
    properties->memoryTypeBits = 1;  // a software driver has one
    return VK_SUCCESS;
}

// ---- images and buffers -------------------------------------------------------------------------------------------------------

uint32_t texel_bytes(VkFormat format) {
    switch (format) {
        case VK_FORMAT_R8_UNORM: return 1;
        case VK_FORMAT_R32G32B32A32_SFLOAT: return 16;
        default: return 4;
    }
}

VKAPI_ATTR VkResult VKAPI_CALL make_image(VkDevice handle, const VkImageCreateInfo* info, const VkAllocationCallbacks* callbacks,
                                          VkImage* image) {
    Device& device = device_of(handle);
    if (info->tiling != VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT) return device.make_image(handle, info, callbacks, image);
    const auto* const list = find_in<VkImageDrmFormatModifierListCreateInfoEXT>(
        info->pNext, VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT);
    const auto* const given = find_in<VkImageDrmFormatModifierExplicitCreateInfoEXT>(
        info->pNext, VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT);
    Image made;
    for (const Modifier& one : modifiers) {
        if (list && std::count(list->pDrmFormatModifiers, list->pDrmFormatModifiers + list->drmFormatModifierCount, one.number))
            made.modifier = &one;
        if (given && given->drmFormatModifier == one.number) made.modifier = &one;
    }
    if (!made.modifier) return VK_ERROR_FORMAT_NOT_SUPPORTED;
    VkExternalMemoryImageCreateInfo external{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, nullptr, on_host};
    VkImageCreateInfo below = *info;
    below.pNext = &external;
    below.tiling = VK_IMAGE_TILING_LINEAR;
    VkDeviceSize pitch = 0;
    if (given) {
        if (given->drmFormatModifierPlaneCount != made.modifier->planes)
            return VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT;
        made.offset = given->pPlaneLayouts[0].offset;
        pitch = given->pPlaneLayouts[0].rowPitch;
        below.extent.width = std::max(below.extent.width, uint32_t(pitch / texel_bytes(info->format)));
        if (made.offset % 64 != 0) return VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT;
    }
    const VkResult result = device.make_image(handle, &below, callbacks, image);
    if (result != VK_SUCCESS) return result;
    constexpr VkImageSubresource colour{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    VkSubresourceLayout layout{};
    device.layout(handle, *image, &colour, &layout);
    VkMemoryRequirements needs{};
    device.image_requirements(handle, *image, &needs);
    made.rows = needs.size;
    made.aux = (made.offset + made.rows + page - 1) / page * page;
    if (given && made.modifier->planes == 2) made.aux = given->pPlaneLayouts[1].offset;
    if (given && (layout.rowPitch != pitch || (made.modifier->planes == 2 && made.aux < made.offset + made.rows))) {
        device.destroy_image(handle, *image, callbacks);
        return VK_ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT;
    }
    const std::lock_guard lock(mutex);
    device.images[*image] = made;
    return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL destroy_image(VkDevice handle, VkImage image, const VkAllocationCallbacks* callbacks) {
    Device& device = device_of(handle);
    {
        const std::lock_guard lock(mutex);
        device.images.erase(image);
    }
    device.destroy_image(handle, image, callbacks);
}

void add_planes(Device& device, VkImage handle, VkMemoryRequirements& needs) {
    const std::optional<Image> image = image_of(device, handle);
    if (!image) return;
    needs.size += image->offset;
    if (image->modifier->planes == 2) needs.size = image->aux + page;
}
VKAPI_ATTR void VKAPI_CALL image_requirements(VkDevice handle, VkImage image, VkMemoryRequirements* needs) {
    Device& device = device_of(handle);
    device.image_requirements(handle, image, needs);
    add_planes(device, image, *needs);
}
VKAPI_ATTR void VKAPI_CALL image_requirements2(VkDevice handle, const VkImageMemoryRequirementsInfo2* info,
                                               VkMemoryRequirements2* needs) {
    Device& device = device_of(handle);
    device.image_requirements2(handle, info, needs);
    add_planes(device, info->image, needs->memoryRequirements);
}
VkDeviceSize offset_of(Device& device, VkImage handle) {
    const std::optional<Image> image = image_of(device, handle);
    return image ? image->offset : 0;
}
VKAPI_ATTR VkResult VKAPI_CALL bind_image(VkDevice handle, VkImage image, VkDeviceMemory memory, VkDeviceSize offset) {
    Device& device = device_of(handle);
    return device.bind_image(handle, image, memory, offset + offset_of(device, image));
}
VKAPI_ATTR VkResult VKAPI_CALL bind_image2(VkDevice handle, uint32_t count, const VkBindImageMemoryInfo* infos) {
    Device& device = device_of(handle);
    std::vector<VkBindImageMemoryInfo> below(infos, infos + count);
    for (VkBindImageMemoryInfo& one : below) one.memoryOffset += offset_of(device, one.image);
    return device.bind_image2(handle, count, below.data());
}
VKAPI_ATTR void VKAPI_CALL layout(VkDevice handle, VkImage image, const VkImageSubresource* part, VkSubresourceLayout* layout) {
    Device& device = device_of(handle);
    const std::optional<Image> found = image_of(device, image);
    if (!found) return device.layout(handle, image, part, layout);
    if (part->aspectMask == VK_IMAGE_ASPECT_MEMORY_PLANE_1_BIT_EXT) return void(*layout = {found->aux, page, 64, 0, 0});
    VkImageSubresource below = *part;
    below.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT;
    device.layout(handle, image, &below, layout);
    layout->offset += found->offset;
}
VKAPI_ATTR VkResult VKAPI_CALL modifier_of(VkDevice handle, VkImage image, VkImageDrmFormatModifierPropertiesEXT* properties) {
    properties->drmFormatModifier = image_of(device_of(handle), image)->modifier->number;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL make_buffer(VkDevice handle, const VkBufferCreateInfo* info,
                                           const VkAllocationCallbacks* callbacks, VkBuffer* buffer) {
    auto* const external =
        find_in<VkExternalMemoryBufferCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    if (!external || external->handleTypes != dma_buf) return device_of(handle).make_buffer(handle, info, callbacks, buffer);
    VkExternalMemoryBufferCreateInfo other{VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, external->pNext, on_host};
    VkBufferCreateInfo below = *info;
    below.pNext = &other;
    return device_of(handle).make_buffer(handle, &below, callbacks, buffer);
}

// ---- making and ending, and the loader's questions ----------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* callbacks,
                                               VkInstance* instance) {
    const auto* next = take_link<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    const PFN_vkGetInstanceProcAddr get = next->pfnNextGetInstanceProcAddr;
    const VkResult result = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"))(info, callbacks, instance);
    if (result != VK_SUCCESS) return result;
    Instance made;
    made.handle = *instance;
    made.get = get;
    ask(get, *instance, made.destroy, "vkDestroyInstance");
    ask(get, *instance, made.extensions, "vkEnumerateDeviceExtensionProperties");
    ask(get, *instance, made.formats, "vkGetPhysicalDeviceFormatProperties2");
    ask(get, *instance, made.image_formats, "vkGetPhysicalDeviceImageFormatProperties2");
    ask(get, *instance, made.external_buffers, "vkGetPhysicalDeviceExternalBufferProperties");
    const std::lock_guard lock(mutex);
    instances[table_of(*instance)] = made;
    return result;
}
VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks* callbacks) {
    if (!handle) return;
    const Instance instance = instance_of(handle);
    void* const table = table_of(handle);
    instance.destroy(handle, callbacks);
    const std::lock_guard lock(mutex);
    instances.erase(table);
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* callbacks, VkDevice* device) {
    const auto* next = take_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    const PFN_vkGetDeviceProcAddr get = next->pfnNextGetDeviceProcAddr;
    const auto create =
        reinterpret_cast<PFN_vkCreateDevice>(next->pfnNextGetInstanceProcAddr(instance_of(physical).handle, "vkCreateDevice"));
    std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                        info->ppEnabledExtensionNames + info->enabledExtensionCount);
    std::erase_if(extensions, is_ours);
    const char* const host = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    if (std::none_of(extensions.begin(), extensions.end(), [&](const char* one) { return std::strcmp(one, host) == 0; }))
        extensions.push_back(host);
    VkDeviceCreateInfo below = *info;
    below.enabledExtensionCount = uint32_t(extensions.size());
    below.ppEnabledExtensionNames = extensions.data();
    const VkResult result = create(physical, &below, callbacks, device);
    if (result != VK_SUCCESS) return result;
    Device made;
    made.handle = *device;
    made.get = get;
    ask(get, *device, made.destroy, "vkDestroyDevice");
    ask(get, *device, made.allocate, "vkAllocateMemory");
    ask(get, *device, made.release, "vkFreeMemory");
    ask(get, *device, made.memory_fd, "vkGetMemoryFdKHR");
    ask(get, *device, made.make_image, "vkCreateImage");
    ask(get, *device, made.destroy_image, "vkDestroyImage");
    ask(get, *device, made.image_requirements, "vkGetImageMemoryRequirements");
    ask(get, *device, made.image_requirements2, "vkGetImageMemoryRequirements2");
    ask(get, *device, made.bind_image, "vkBindImageMemory");
    ask(get, *device, made.bind_image2, "vkBindImageMemory2");
    ask(get, *device, made.layout, "vkGetImageSubresourceLayout");
    ask(get, *device, made.make_buffer, "vkCreateBuffer");
    const std::lock_guard lock(mutex);
    devices[table_of(*device)] = made;
    return result;
}
VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* callbacks) {
    if (!handle) return;
    void* const table = table_of(handle);
    device_of(handle).destroy(handle, callbacks);
    const std::lock_guard lock(mutex);
    devices.erase(table);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name);

PFN_vkVoidFunction of_devices(const std::string& name) {
    static const std::map<std::string, PFN_vkVoidFunction> functions = {
        {"vkGetDeviceProcAddr", plain(device_function)},
        {"vkDestroyDevice", plain(destroy_device)},
        {"vkAllocateMemory", plain(allocate)},
        {"vkFreeMemory", plain(release)},
        {"vkGetMemoryFdKHR", plain(memory_fd)},
        {"vkGetMemoryFdPropertiesKHR", plain(memory_fd_properties)},
        {"vkCreateImage", plain(make_image)},
        {"vkDestroyImage", plain(destroy_image)},
        {"vkGetImageMemoryRequirements", plain(image_requirements)},
        {"vkGetImageMemoryRequirements2", plain(image_requirements2)},
        {"vkGetImageMemoryRequirements2KHR", plain(image_requirements2)},
        {"vkBindImageMemory", plain(bind_image)},
        {"vkBindImageMemory2", plain(bind_image2)},
        {"vkBindImageMemory2KHR", plain(bind_image2)},
        {"vkGetImageSubresourceLayout", plain(layout)},
        {"vkGetImageDrmFormatModifierPropertiesEXT", plain(modifier_of)},
        {"vkCreateBuffer", plain(make_buffer)},
    };
    const auto found = functions.find(name);
    return found == functions.end() ? nullptr : found->second;
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    if (const auto found = of_devices(name)) return found;
    return device_of(device).get(device, name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
    static const std::map<std::string, PFN_vkVoidFunction> functions = {
        {"vkGetInstanceProcAddr", plain(instance_function)},
        {"vkCreateInstance", plain(create_instance)},
        {"vkDestroyInstance", plain(destroy_instance)},
        {"vkCreateDevice", plain(create_device)},
        {"vkEnumerateDeviceExtensionProperties", plain(device_extensions)},
        {"vkGetPhysicalDeviceFormatProperties2", plain(formats)},
        {"vkGetPhysicalDeviceFormatProperties2KHR", plain(formats)},
        {"vkGetPhysicalDeviceImageFormatProperties2", plain(image_formats)},
        {"vkGetPhysicalDeviceImageFormatProperties2KHR", plain(image_formats)},
        {"vkGetPhysicalDeviceExternalBufferProperties", plain(external_buffers)},
        {"vkGetPhysicalDeviceExternalBufferPropertiesKHR", plain(external_buffers)},
    };
    if (const auto found = functions.find(name); found != functions.end()) return found->second;
    if (const auto found = of_devices(name)) return found;
    return instance ? instance_of(instance).get(instance, name) : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
    return layer::negotiate(version, instance_function, device_function);
}
