// The formats of images in Vulkan.
#pragma once
#include <optional>
#include <vector>

#include "core/format/image_format.h"
#include "vulkan/vulkan_functions.h"

namespace pumice::vulkan {

VkFormat vulkan_format(Format format);
/// The format of this name of Vulkan; none if images may not have it.
std::optional<Format> format_of(VkFormat format);
/// All formats that images may have.
std::vector<VkFormat> image_formats();
/// True if the shaders of every device can declare storage images of the format; for the others SPIR-V needs the capability
/// StorageImageExtendedFormats, and the device shaderStorageImageExtendedFormats.
bool is_basic(Format format);
/// True if GLSL and SPIR-V have a name for the format: not for those with channels in another order, and not for sRGB.
bool has_shader_name(Format format);

}  // namespace pumice::vulkan
