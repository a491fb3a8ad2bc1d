#include "vulkan/image_formats.h"

#include "core/support/error.h"

namespace pumice::vulkan {

VkFormat vulkan_format(Format format) {
    switch (format) {
        case Format::r8_unorm: return VK_FORMAT_R8_UNORM;
        case Format::rg8_unorm: return VK_FORMAT_R8G8_UNORM;
        case Format::rgba8_unorm: return VK_FORMAT_R8G8B8A8_UNORM;
        case Format::bgra8_unorm: return VK_FORMAT_B8G8R8A8_UNORM;
        case Format::rgba8_srgb: return VK_FORMAT_R8G8B8A8_SRGB;
        case Format::r16_unorm: return VK_FORMAT_R16_UNORM;
        case Format::rg16_unorm: return VK_FORMAT_R16G16_UNORM;
        case Format::rgba16_unorm: return VK_FORMAT_R16G16B16A16_UNORM;
        case Format::r8_snorm: return VK_FORMAT_R8_SNORM;
        case Format::rg8_snorm: return VK_FORMAT_R8G8_SNORM;
        case Format::rgba8_snorm: return VK_FORMAT_R8G8B8A8_SNORM;
        case Format::r16_snorm: return VK_FORMAT_R16_SNORM;
        case Format::rg16_snorm: return VK_FORMAT_R16G16_SNORM;
        case Format::rgba16_snorm: return VK_FORMAT_R16G16B16A16_SNORM;
        case Format::r16_float: return VK_FORMAT_R16_SFLOAT;
        case Format::rg16_float: return VK_FORMAT_R16G16_SFLOAT;
        case Format::rgba16_float: return VK_FORMAT_R16G16B16A16_SFLOAT;
        case Format::r32_float: return VK_FORMAT_R32_SFLOAT;
        case Format::rg32_float: return VK_FORMAT_R32G32_SFLOAT;
        case Format::rgba32_float: return VK_FORMAT_R32G32B32A32_SFLOAT;
        case Format::r8_uint: return VK_FORMAT_R8_UINT;
        case Format::rg8_uint: return VK_FORMAT_R8G8_UINT;
        case Format::rgba8_uint: return VK_FORMAT_R8G8B8A8_UINT;
        case Format::r16_uint: return VK_FORMAT_R16_UINT;
        case Format::rg16_uint: return VK_FORMAT_R16G16_UINT;
        case Format::rgba16_uint: return VK_FORMAT_R16G16B16A16_UINT;
        case Format::r32_uint: return VK_FORMAT_R32_UINT;
        case Format::rg32_uint: return VK_FORMAT_R32G32_UINT;
        case Format::rgba32_uint: return VK_FORMAT_R32G32B32A32_UINT;
        case Format::r8_sint: return VK_FORMAT_R8_SINT;
        case Format::rg8_sint: return VK_FORMAT_R8G8_SINT;
        case Format::rgba8_sint: return VK_FORMAT_R8G8B8A8_SINT;
        case Format::r16_sint: return VK_FORMAT_R16_SINT;
        case Format::rg16_sint: return VK_FORMAT_R16G16_SINT;
        case Format::rgba16_sint: return VK_FORMAT_R16G16B16A16_SINT;
        case Format::r32_sint: return VK_FORMAT_R32_SINT;
        case Format::rg32_sint: return VK_FORMAT_R32G32_SINT;
        case Format::rgba32_sint: return VK_FORMAT_R32G32B32A32_SINT;
    }
    library_bug("an image has an unknown format");
}

std::optional<Format> format_of(VkFormat format) {
    for (size_t i = 0; i < std::size(format_rows); ++i)
        if (vulkan_format(Format(i)) == format) return Format(i);
    return std::nullopt;
}

std::vector<VkFormat> image_formats() {
    std::vector<VkFormat> all;
    for (size_t i = 0; i < std::size(format_rows); ++i) all.push_back(vulkan_format(Format(i)));
    return all;
}

bool is_basic(Format format) {
    switch (format) {
        case Format::rgba8_unorm:
        case Format::rgba8_snorm:
        case Format::rgba8_uint:
        case Format::rgba8_sint:
        case Format::rgba16_uint:
        case Format::rgba16_sint:
        case Format::rgba16_float:
        case Format::r32_uint:
        case Format::r32_sint:
        case Format::r32_float:
        case Format::rgba32_uint:
        case Format::rgba32_sint:
        case Format::rgba32_float: return true;
        default: return false;
    }
}

bool has_shader_name(Format format) { return format != Format::bgra8_unorm && format != Format::rgba8_srgb; }

}  // namespace pumice::vulkan
