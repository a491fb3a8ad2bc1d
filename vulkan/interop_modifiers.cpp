// DRM format modifiers: the layouts of texels in dma-bufs that a device shares.
//
// A modifier names the layout of an image's texels in memory, plain rows or tiles of one vendor's cards, so that another driver
// or device reads the same image. Of the modifiers that the driver has for the format, those are left whose features are the
// ones on which Pumice relies for images of optimal tiling, and that the driver exports or imports as dma-bufs:
//
//   driver: 0x0 (sampled, storage, transfers)   0x100..01 (sampled alone)   0x100..02 (all, two planes)
//   left:   0x0, 0x100..02                      the exporter's driver chooses one of these, the importer names it
//
// A dma-buf of another program may be wrong in every number, and a driver need not notice: what can be checked is checked here.
// Cost: a few questions to the driver for each shared image. Limits: images of two dimensions and one level; all planes lie in
// one dma-buf.
#include "vulkan/interop_modifiers.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "core/support/error.h"
#include "vulkan/image_formats.h"
#include "vulkan/image_plan.h"

namespace pumice::vulkan {
namespace {

constexpr uint64_t linear = 0;  // DRM_FORMAT_MOD_LINEAR

/// The features of images without which a kernel would not get what Pumice promises.
VkFormatFeatureFlags features_needed(const Snapshot& snapshot, const ImageShape& shape) {
    VkFormatFeatureFlags useful = VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT |
                                  VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    if (shape.storage) useful |= VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT;
    return useful & snapshot.features_of(vulkan_format(shape.format));
}

std::vector<VkDrmFormatModifierPropertiesEXT> all_modifiers(const InteropFunctions& functions, Format format) {
    auto list = structure<VkDrmFormatModifierPropertiesListEXT>(VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT);
    auto properties = structure<VkFormatProperties2>(VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2, &list);
    functions.GetPhysicalDeviceFormatProperties2(functions.physical_device, vulkan_format(format), &properties);
    std::vector<VkDrmFormatModifierPropertiesEXT> all(list.drmFormatModifierCount);
    if (all.empty()) return all;
    list.pDrmFormatModifierProperties = all.data();
    functions.GetPhysicalDeviceFormatProperties2(functions.physical_device, vulkan_format(format), &properties);
    all.resize(std::min<size_t>(all.size(), list.drmFormatModifierCount));
    return all;
}

/// Bytes of the memory behind the descriptor. Leaves the descriptor's position where it is.
int64_t size_of(int fd) {
    const off_t before = lseek(fd, 0, SEEK_CUR), end = lseek(fd, 0, SEEK_END);
    if (end < 0)
        fail("the descriptor ", fd,
             " is taken for a dma-buf, and the system does not tell its size: ", std::generic_category().message(errno));
    if (before >= 0) lseek(fd, before, SEEK_SET);
    return int64_t(end);
}

}  // namespace

std::string hexadecimal(uint64_t modifier) {
    char digits[16];
    return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, modifier, 16).ptr);
}

std::string text_of(std::span<const ImageModifier> modifiers) {
    std::string all;
    for (const ImageModifier& one : modifiers) all += (all.empty() ? "" : ", ") + hexadecimal(one.modifier);
    return all.empty() ? "none" : all;
}

VkExternalMemoryFeatureFlags external_features(const InteropFunctions& functions, const ImageShape& shape, FdKind kind,
                                               const uint64_t* modifier) {
    if (!functions.GetPhysicalDeviceImageFormatProperties2) return 0;
    const VkImageCreateInfo image = image_info(shape);
    auto layout = structure<VkPhysicalDeviceImageDrmFormatModifierInfoEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT);
    auto external =
        structure<VkPhysicalDeviceExternalImageFormatInfo>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
    external.handleType = type_of(kind);
    auto info = structure<VkPhysicalDeviceImageFormatInfo2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2, &external);
    info.format = image.format;
    info.type = image.imageType;
    info.tiling = image.tiling;
    info.usage = image.usage;
    info.flags = image.flags;
    if (modifier) {
        layout.drmFormatModifier = *modifier;
        layout.sharingMode = VK_SHARING_MODE_EXCLUSIVE;
        external.pNext = &layout;
        info.tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT;
    }
    auto external_properties = structure<VkExternalImageFormatProperties>(VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES);
    auto properties = structure<VkImageFormatProperties2>(VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2, &external_properties);
    if (functions.GetPhysicalDeviceImageFormatProperties2(functions.physical_device, &info, &properties) != VK_SUCCESS) return 0;
    const VkExtent3D& most = properties.imageFormatProperties.maxExtent;
    if (most.width < image.extent.width || most.height < image.extent.height || most.depth < image.extent.depth) return 0;
    return external_properties.externalMemoryProperties.externalMemoryFeatures;
}

std::vector<ImageModifier> modifiers_of(const InteropFunctions& functions, const Snapshot& snapshot, const ImageShape& shape) {
    std::vector<ImageModifier> found;
    if (!functions.GetImageDrmFormatModifierProperties || !functions.GetPhysicalDeviceFormatProperties2) return found;
    if (shape.layout != ImageLayout::plain || shape.dimensions != 2 || shape.levels != 1) return found;
    const VkFormatFeatureFlags needed = features_needed(snapshot, shape);
    for (const VkDrmFormatModifierPropertiesEXT& one : all_modifiers(functions, shape.format)) {
        const bool fits = one.drmFormatModifierPlaneCount >= 1 &&
                          one.drmFormatModifierPlaneCount <= std::tuple_size_v<decltype(SharedMemory::planes)>;
        if (!fits || (one.drmFormatModifierTilingFeatures & needed) != needed) continue;
        const auto features = external_features(functions, shape, FdKind::dma_buf, &one.drmFormatModifier);
        ImageModifier usable{one.drmFormatModifier, int(one.drmFormatModifierPlaneCount)};
        usable.out = features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
        usable.in = features & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
        if (usable.out || usable.in) found.push_back(usable);
    }
    return found;
}

int64_t check_dma_buf(const SharedMemory& memory, const ImageShape& shape, std::span<const ImageModifier> modifiers,
                      const std::string& device) {
    const auto known = std::ranges::find(modifiers, memory.modifier, &ImageModifier::modifier);
    if (known == modifiers.end())
        fail("an ", shape.text(), " is taken from a dma-buf with the DRM format modifier ", hexadecimal(memory.modifier), ": ",
             device, " takes ", text_of(modifiers));
    if (memory.plane_count != known->plane_count)
        fail("an ", shape.text(), " is taken from a dma-buf with ", memory.plane_count, " planes: the DRM format modifier ",
             hexadecimal(memory.modifier), " has ", known->plane_count, " on ", device);
    const int64_t bytes = size_of(memory.fd);
    for (int i = 0; i < memory.plane_count; ++i) {
        const ImagePlane& plane = memory.planes[size_t(i)];
        if (plane.offset < 0 || plane.offset >= bytes)
            fail("an ", shape.text(), " is taken from a dma-buf whose plane ", i, " begins at byte ", plane.offset,
                 ": the dma-buf has ", bytes, " bytes");
        if (plane.row_pitch <= 0)
            fail("an ", shape.text(), " is taken from a dma-buf whose plane ", i, " has a row pitch of ", plane.row_pitch,
                 " bytes: it is positive");
    }
    if (memory.modifier != linear) return bytes;
    const int64_t texel = row_of(shape.format).bytes(), row = shape.extent(0) * texel, rows = shape.extent(1);
    const ImagePlane& plane = memory.planes[0];
    if (plane.row_pitch < row || plane.row_pitch % texel != 0)
        fail("an ", shape.text(), " is taken from a dma-buf with a row pitch of ", plane.row_pitch, " bytes: a row has ", row,
             " bytes, and the pitch is a multiple of ", texel);
    int64_t last;
    if (__builtin_mul_overflow(plane.row_pitch, rows - 1, &last) || last > bytes - row - plane.offset)
        fail("an ", shape.text(), " is taken from a dma-buf of ", bytes, " bytes: its ", rows, " rows, ", plane.row_pitch,
             " bytes apart from byte ", plane.offset, " on, end behind that");
    return bytes;
}

}  // namespace pumice::vulkan
