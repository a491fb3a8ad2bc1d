// Images that several processes have.
//
// A shared image has a dedicated allocation, as Vulkan advises for exported images. The importer makes an equal image, and
// imports the memory of the exporter's size and type. Between the processes the image is in the layout GENERAL: release() brings
// it there together with the transfer of ownership to the external queue family, and acquire() finds it there:
//
//   process A   store to img, release()   UNDEFINED -> GENERAL, own family -> external
//   process B   acquire(), sample img     external -> own family; GENERAL -> SHADER_READ_ONLY_OPTIMAL
//
// Cost: an allocation of the driver an image. Limits: opaque descriptors, which both processes use with the same driver. A
// dma-buf needs a layout of texels in memory that both know (VK_EXT_image_drm_format_modifier), which is left out.
#include <utility>

#include "core/support/error.h"
#include "vulkan/interop.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

constexpr VkExternalMemoryHandleTypeFlagBits opaque = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;

/// True if the driver exports (`out`) or imports images of this shape.
bool can_share(const VulkanDevice& device, const ImageShape& shape, bool out) {
    const Interop& can = device.interop.table;
    if (!(out ? can.opaque_out : can.opaque_in) || !device.interop.GetPhysicalDeviceImageFormatProperties2) return false;
    const VkImageCreateInfo image = image_info(shape);
    auto external =
        structure<VkPhysicalDeviceExternalImageFormatInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
    external.handleType = opaque;
    auto info = structure<VkPhysicalDeviceImageFormatInfo2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2, &external);
    info.format = image.format;
    info.type = image.imageType;
    info.tiling = image.tiling;
    info.usage = image.usage;
    info.flags = image.flags;
    auto external_properties = structure<VkExternalImageFormatProperties>(VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES);
    auto properties = structure<VkImageFormatProperties2>(VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2, &external_properties);
    const VkResult result =
        device.interop.GetPhysicalDeviceImageFormatProperties2(device.interop.physical_device, &info, &properties);
    const VkExternalMemoryFeatureFlags wanted =
        out ? VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT : VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    return result == VK_SUCCESS && (external_properties.externalMemoryProperties.externalMemoryFeatures & wanted);
}

/// The shape with what the options say. Throws Error for one that the device does not share.
ImageShape checked(const pumice::Device& device, ImageShape shape, const Element& texel, const ImageOptions& options, bool out) {
    const VulkanDevice& backend = wrapped(device, out ? "shareable_image" : "shared_image");
    check_image(shape, texel, "shared");
    shape.storage = !options.read_only && row_of(shape.format).kind != FormatRow::Kind::srgb;
    if (const std::string reason = refusal(backend.context.snapshot, backend.context.plan, shape); !reason.empty())
        fail("an ", shape.text(), " is shared: ", device.name(), " ", reason);
    if (!can_share(backend, shape, out))
        fail(device.name(), out ? " cannot give an " : " cannot take an ", shape.text(), out ? " away as" : " from",
             " an opaque descriptor: the driver cannot, or the application has not enabled VK_KHR_external_memory_fd "
             "(vulkan::interop)");
    return shape;
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

/// `from`: of the importer, else null.
std::shared_ptr<Image> VulkanDevice::shared_image(const ImageShape& shape, const SharedMemory* from) {
    auto external = structure<VkExternalMemoryImageCreateInfo>(VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO);
    external.handleTypes = opaque;
    VkImageCreateInfo info = image_info(shape);
    info.pNext = &external;
    VkImage image = VK_NULL_HANDLE;
    context.check(context.vk.CreateImage(context.device, &info, nullptr, &image), "vkCreateImage");
    try {
        VkMemoryRequirements needs{};
        context.vk.GetImageMemoryRequirements(context.device, image, &needs);
        if (from && from->allocated < int64_t(needs.size))
            fail("shared memory of ", from->allocated, " bytes is taken for an ", shape.text(), " that needs ", needs.size,
                 " bytes on ", context.name);
        const std::vector<uint32_t> types = image_memory_types(context.snapshot, needs.memoryTypeBits);
        const uint32_t memory_type = from ? from->memory_type : types.empty() ? 32 : types[0];
        if (memory_type >= 32 || !(needs.memoryTypeBits >> memory_type & 1))
            fail("no memory type of ", context.name, " takes the shared ", shape.text());
        const int64_t allocated = from ? from->allocated : int64_t(needs.size);
        auto block = std::make_shared<MemoryBlock>(context, 0, allocated);
        allocate_shared(*block, allocated, memory_type, opaque, from, nullptr, image);
        context.check(context.vk.BindImageMemory(context.device, image, block->memory, 0), "vkBindImageMemory");
        const SharedMemory shared{-1, FdKind::opaque, int64_t(needs.size), allocated, memory_type};
        auto made = std::make_shared<Image>(self(), shape, image, std::move(block), shared, next_image_id++);
        image = VK_NULL_HANDLE;  // `made` destroys it
        if (!from) clear(*made);
        return made;
    } catch (...) {
        context.vk.DestroyImage(context.device, image, nullptr);
        throw;
    }
}

std::shared_ptr<detail::ImageBinding> new_shared(const pumice::Device& device, ImageShape shape, const Element& texel,
                                                 const ImageOptions& options) {
    shape = checked(device, shape, texel, options, true);
    return binding_of(device, wrapped(device, "shareable_image").shared_image(shape, nullptr));
}

std::shared_ptr<detail::ImageBinding> from_shared(const pumice::Device& device, const SharedMemory& memory, ImageShape shape,
                                                  const Element& texel, const ImageOptions& options) {
    shape = checked(device, shape, texel, options, false);
    if (memory.kind != FdKind::opaque)
        throw Error("a shared image is taken from a dma-buf: images are shared by opaque descriptors");
    if (memory.fd < 0) fail("a shared image is taken from the descriptor ", memory.fd, ", which is none");
    return binding_of(device, wrapped(device, "shared_image").shared_image(shape, &memory));
}

SharedMemory share(const std::shared_ptr<detail::ImageBinding>& binding) {
    const Image& image = image_of(binding, "share");
    SharedMemory shared = image.shared;
    auto info = structure<VkMemoryGetFdInfoKHR>(VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR);
    info.memory = image.own_memory->memory;
    info.handleType = opaque;
    const VulkanDevice& backend = *image.device;
    image.device->context.check(backend.interop.GetMemoryFd(backend.context.device, &info, &shared.fd), "vkGetMemoryFdKHR");
    return shared;
}

void hand_over(const std::shared_ptr<detail::ImageBinding>& binding, bool take) {
    Image& image = image_of(binding, take ? "acquire" : "release");
    image.device->hand_over(image, take);
}

}  // namespace pumice::vulkan
