// Images that several processes have.
//
// A shared image has a dedicated allocation, as Vulkan advises for exported images. A new one is cleared. The importer makes an
// equal image. By an opaque descriptor it imports memory of the exporter's size and type; by a dma-buf, memory of the size that
// its own driver needs, of a type that the driver allows for this descriptor. Between the processes the image is in the layout
// GENERAL: release() brings it there together with the transfer of ownership to the external queue family, and acquire() finds
// it there:
//
//   process A   clear, store to img   UNDEFINED -> TRANSFER_DST_OPTIMAL -> GENERAL
//               release()             GENERAL, own family -> external
//   process B   acquire()             GENERAL, external -> own family
//               sample img            GENERAL -> SHADER_READ_ONLY_OPTIMAL
//
// By dma-buf, another driver or device reads the same texels: the image then has a DRM format modifier (interop_modifiers.h). The
// exporter's driver chooses one and tells where it has put the planes, the importer makes an image of that modifier and places.
// Such an image goes to and comes from the foreign queue family where the extension is enabled.
//
// Cost: each image takes a vkAllocateMemory of its own. Limits: only the driver that exported an opaque descriptor imports it;
// images by dma-buf have two dimensions and one level.
#include <algorithm>
#include <array>
#include <utility>

#include "core/support/error.h"
#include "vulkan/interop.h"
#include "vulkan/interop_modifiers.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

/// A shape that the device shares, and the modifiers for it.
struct SharedShape {
    ImageShape shape;
    std::vector<ImageModifier> modifiers;  ///< of a dma-buf
};

/// The modifiers with which the driver exports (`out`) or imports images of this shape. Throws Error if there are none.
std::vector<ImageModifier> usable_modifiers(const pumice::Device& device, const ImageShape& shape, bool out) {
    const VulkanDevice& backend = wrapped(device, out ? "shareable_image" : "shared_image");
    if (!backend.interop.GetImageDrmFormatModifierProperties)
        fail(device.name(), out ? " cannot give an " : " cannot take an ", shape.text(), out ? " away as" : " from",
             " a dma-buf: the application has not enabled VK_KHR_external_memory_fd, VK_EXT_external_memory_dma_buf and "
             "VK_EXT_image_drm_format_modifier (vulkan::interop)");
    if (shape.dimensions != 2 || shape.levels != 1)
        fail("an ", shape.text(), " with ", shape.levels, shape.levels == 1 ? " level" : " levels",
             " is shared as a dma-buf: that holds an image of 2 dimensions with 1 level");
    std::vector<ImageModifier> usable = modifiers_of(backend.interop, backend.context.snapshot, shape);
    std::erase_if(usable, [&](const ImageModifier& one) { return out ? !one.out : !one.in; });
    if (usable.empty())
        fail(device.name(), out ? " cannot give an " : " cannot take an ", shape.text(), out ? " away as" : " from",
             " a dma-buf: the driver has no DRM format modifier for it (vulkan::image_modifiers)");
    return usable;
}

/// The shape with what the options say. Throws Error for one that the device does not share.
SharedShape checked(const pumice::Device& device, ImageShape shape, const Element& texel, const ImageOptions& options,
                    FdKind kind, bool out) {
    const VulkanDevice& backend = wrapped(device, out ? "shareable_image" : "shared_image");
    check_image(shape, texel, "shared");
    shape.storage = !options.read_only && row_of(shape.format).kind != FormatRow::Kind::srgb;
    if (const std::string reason = refusal(backend.context.snapshot, backend.context.plan, shape); !reason.empty())
        fail("an ", shape.text(), " is shared: ", device.name(), " ", reason);
    if (kind == FdKind::dma_buf) return {shape, usable_modifiers(device, shape, out)};
    const Interop& can = backend.interop.table;
    const VkExternalMemoryFeatureFlags wanted =
        out ? VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT : VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    if (!(out ? can.opaque_out : can.opaque_in) || !(external_features(backend.interop, shape, kind, nullptr) & wanted))
        fail(device.name(), out ? " cannot give an " : " cannot take an ", shape.text(), out ? " away as" : " from",
             " an opaque descriptor: the driver cannot, or the application has not enabled VK_KHR_external_memory_fd "
             "(vulkan::interop)");
    return {shape, {}};
}

/// Those of the modifiers that are asked for. Throws Error if there are none.
std::vector<ImageModifier> chosen(const pumice::Device& device, const SharedShape& all, std::span<const uint64_t> asked) {
    if (asked.empty()) return all.modifiers;
    std::vector<ImageModifier> both = all.modifiers;
    std::erase_if(both, [&](const ImageModifier& one) { return std::ranges::find(asked, one.modifier) == asked.end(); });
    if (!both.empty()) return both;
    std::vector<ImageModifier> wanted;
    for (const uint64_t one : asked) wanted.push_back({one});
    fail("an ", all.shape.text(), " is given away as a dma-buf with one of the DRM format modifiers ", text_of(wanted), ": ",
         device.name(), " has ", text_of(all.modifiers));
}

std::shared_ptr<detail::ImageBinding> binding_of(const pumice::Device& device, std::shared_ptr<Image> image) {
    auto state = std::make_shared<detail::ImageState>();
    state->device = device.state;
    state->shape = image->shape;
    state->memory = std::move(image);
    auto binding = std::make_shared<detail::ImageBinding>();
    binding->info = {ImageInfo::Kind::storage, state->shape.layout, state->shape.dimensions, true, true,
                     state->shape.format,      state->shape.levels};
    binding->image = std::move(state);
    return binding;
}

/// The image in the device's memory. Throws Error if it is kept as an array.
Image& image_of(const std::shared_ptr<detail::ImageBinding>& binding, const char* what) {
    const detail::ImageState& state = detail::held(binding);
    wrapped(pumice::Device(state.device), what);
    auto* const image = static_cast<Image*>(state.memory.get());
    if (!image || !image->own_memory)
        fail("vulkan::", what, " is called for an image that is not one of vulkan::shareable_image");
    return *image;
}

}  // namespace

namespace {

/// The structures of an image by dma-buf, which its creation is chained to.
struct ModifierChain {
    ModifierChain(std::span<const ImageModifier> modifiers, const SharedMemory* from) {
        for (const ImageModifier& one : modifiers) numbers.push_back(one.modifier);
        list.drmFormatModifierCount = uint32_t(numbers.size());
        list.pDrmFormatModifiers = numbers.data();
        if (!from) return;
        given.drmFormatModifier = from->modifier;
        given.drmFormatModifierPlaneCount = uint32_t(from->plane_count);
        given.pPlaneLayouts = layouts.data();
        for (size_t i = 0; i < size_t(from->plane_count); ++i) {
            layouts[i].offset = VkDeviceSize(from->planes[i].offset);
            layouts[i].rowPitch = VkDeviceSize(from->planes[i].row_pitch);
        }
    }
    ModifierChain(const ModifierChain&) = delete;

    std::vector<uint64_t> numbers;
    std::array<VkSubresourceLayout, 4> layouts{};
    VkImageDrmFormatModifierListCreateInfoEXT list = structure<VkImageDrmFormatModifierListCreateInfoEXT>(
        VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT);  ///< the driver chooses
    VkImageDrmFormatModifierExplicitCreateInfoEXT given = structure<VkImageDrmFormatModifierExplicitCreateInfoEXT>(
        VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT);  ///< the exporter has chosen
};

/// The modifier and the planes of a new image by dma-buf.
void describe(SharedMemory& shared, VulkanDevice& device, VkImage image, std::span<const ImageModifier> modifiers) {
    auto properties =
        structure<VkImageDrmFormatModifierPropertiesEXT>(VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_PROPERTIES_EXT);
    device.context.check(device.interop.GetImageDrmFormatModifierProperties(device.context.device, image, &properties),
                         "vkGetImageDrmFormatModifierPropertiesEXT");
    shared.modifier = properties.drmFormatModifier;
    const auto chosen = std::ranges::find(modifiers, shared.modifier, &ImageModifier::modifier);
    if (chosen == modifiers.end())
        fail("the driver of ", device.context.name, " has chosen the DRM format modifier ", hexadecimal(shared.modifier),
             ", of the list ", text_of(modifiers));
    shared.plane_count = chosen->plane_count;
    for (int i = 0; i < chosen->plane_count; ++i) {
        const VkImageSubresource plane{VkImageAspectFlags(VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT) << i, 0, 0};
        VkSubresourceLayout layout{};
        device.interop.GetImageSubresourceLayout(device.context.device, image, &plane, &layout);
        shared.planes[size_t(i)] = {int64_t(layout.offset), int64_t(layout.rowPitch)};
    }
}

/// The memory types that the driver allows for the dma-buf.
uint32_t types_of(const VulkanDevice& device, int fd) {
    auto properties = structure<VkMemoryFdPropertiesKHR>(VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR);
    const VkResult result =
        device.interop.GetMemoryFdProperties(device.context.device, type_of(FdKind::dma_buf), fd, &properties);
    if (result != VK_SUCCESS)
        fail("the descriptor ", fd, " is taken for a dma-buf, and ", device.context.name,
             " does not know it as one: vkGetMemoryFdPropertiesKHR gives ", name_of(result));
    return properties.memoryTypeBits;
}

}  // namespace

std::shared_ptr<Image> VulkanDevice::shared_image(const ImageShape& shape, FdKind kind, std::span<const ImageModifier> modifiers,
                                                  const SharedMemory* from) {
    const bool is_dma_buf = kind == FdKind::dma_buf;
    const int64_t bytes = !from ? 0 : is_dma_buf ? check_dma_buf(*from, shape, modifiers, context.name) : from->allocated;
    const uint32_t types_there = from && is_dma_buf ? types_of(*this, from->fd) : ~0u;
    auto external = structure<VkExternalMemoryImageCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    external.handleTypes = type_of(kind);
    const ModifierChain chain(modifiers, from);
    VkImageCreateInfo info = image_info(shape);
    info.pNext = &external;
    if (is_dma_buf) {
        info.tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
        external.pNext = from ? static_cast<const void*>(&chain.given) : &chain.list;
    }
    VkImage image = VK_NULL_HANDLE;
    const VkResult result = context.vk.CreateImage(context.device, &info, nullptr, &image);
    if (is_dma_buf && from && result != VK_SUCCESS)
        fail("the driver of ", context.name, " does not take an ", shape.text(), " with the DRM format modifier ",
             hexadecimal(from->modifier), " and a row pitch of ", from->planes[0].row_pitch, " bytes, from byte ",
             from->planes[0].offset, " of a dma-buf on: vkCreateImage gives ", name_of(result));
    context.check(result, "vkCreateImage");
    try {
        VkMemoryRequirements needs{};
        context.vk.GetImageMemoryRequirements(context.device, image, &needs);
        if (from && bytes < int64_t(needs.size))
            fail(is_dma_buf ? "a dma-buf of " : "shared memory of ", bytes, " bytes is taken for an ", shape.text(),
                 " that needs ", needs.size, " bytes on ", context.name);
        const std::vector<uint32_t> types = image_memory_types(context.snapshot, needs.memoryTypeBits & types_there);
        const uint32_t memory_type = from && !is_dma_buf ? from->memory_type : types.empty() ? 32 : types[0];
        if (memory_type >= 32 || !(needs.memoryTypeBits >> memory_type & 1))
            fail("no memory type of ", context.name, " takes the shared ", shape.text());
        // A dedicated allocation has the size that the image needs, also where a dma-buf is larger.
        const int64_t allocated = from && !is_dma_buf ? bytes : int64_t(needs.size);
        auto block = std::make_shared<MemoryBlock>(context, 0, allocated);
        allocate_shared(*block, allocated, memory_type, type_of(kind), from, nullptr, image);
        context.check(context.vk.BindImageMemory(context.device, image, block->memory, 0), "vkBindImageMemory");
        SharedMemory shared{-1, kind, int64_t(needs.size), allocated, memory_type, 0, 0, {}};
        if (is_dma_buf) describe(shared, *this, image, modifiers);
        auto made = std::make_shared<Image>(self(), shape, image, std::move(block), shared, next_image_id++);
        image = VK_NULL_HANDLE;  // `made` destroys it
        if (!from) clear(*made);
        return made;
    } catch (...) {
        context.vk.DestroyImage(context.device, image, nullptr);
        throw;
    }
}

std::vector<ImageModifier> modifiers_of(const pumice::Device& device, ImageShape shape, const ImageOptions& options) {
    const VulkanDevice& backend = wrapped(device, "image_modifiers");
    shape.storage = !options.read_only && row_of(shape.format).kind != FormatRow::Kind::srgb;
    if (!refusal(backend.context.snapshot, backend.context.plan, shape).empty()) return {};
    return modifiers_of(backend.interop, backend.context.snapshot, shape);
}

std::shared_ptr<detail::ImageBinding> new_shared(const pumice::Device& device, ImageShape shape, const Element& texel,
                                                 const ImageOptions& options, FdKind kind, std::span<const uint64_t> modifiers) {
    if (kind == FdKind::opaque && !modifiers.empty())
        fail("an ", shape.text(), " is given away as an opaque descriptor with ", modifiers.size(),
             " DRM format modifiers: a dma-buf has one");
    const SharedShape all = checked(device, shape, texel, options, kind, true);
    const std::vector<ImageModifier> usable = chosen(device, all, modifiers);
    return binding_of(device, wrapped(device, "shareable_image").shared_image(all.shape, kind, usable, nullptr));
}

std::shared_ptr<detail::ImageBinding> from_shared(const pumice::Device& device, const SharedMemory& memory, ImageShape shape,
                                                  const Element& texel, const ImageOptions& options) {
    const SharedShape all = checked(device, shape, texel, options, memory.kind, false);
    if (memory.fd < 0) fail("a shared image is taken from the descriptor ", memory.fd, ", which is none");
    return binding_of(device, wrapped(device, "shared_image").shared_image(all.shape, memory.kind, all.modifiers, &memory));
}

SharedMemory share(const std::shared_ptr<detail::ImageBinding>& binding) {
    const Image& image = image_of(binding, "share");
    SharedMemory shared = image.shared;
    auto info = structure<VkMemoryGetFdInfoKHR>(VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR);
    info.memory = image.own_memory->memory;
    info.handleType = type_of(shared.kind);
    const VulkanDevice& backend = *image.device;
    image.device->context.check(backend.interop.GetMemoryFd(backend.context.device, &info, &shared.fd), "vkGetMemoryFdKHR");
    return shared;
}

void hand_over(const std::shared_ptr<detail::ImageBinding>& binding, bool take) {
    Image& image = image_of(binding, take ? "acquire" : "release");
    image.device->hand_over(image, take);
}

}  // namespace pumice::vulkan
