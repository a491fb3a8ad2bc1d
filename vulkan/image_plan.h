// Images: what a device can make of them, as pure functions of its snapshot and plan, tested without a driver.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/format/image_format.h"
#include "vulkan/plan.h"

namespace pumice::vulkan {

/// The reason why the device has no memory for the image, as the end of a sentence whose subject is the device; "" if it has.
std::string refusal(const Snapshot& snapshot, const DevicePlan& plan, const ImageShape& shape);
/// True if an image of Pumice's is kept as an array of words although the device has memory for it: the device's own conversion
/// of texels is not that of the format.
bool converts_wrongly(const DevicePlan& plan, const ImageShape& shape);
/// True if the device's sampler computes what the texture asks for, on an image of this format: the filter, and the border.
bool samples(const Snapshot& snapshot, const ImageInfo& texture);
/// The sampler of a texture for which samples() holds.
VkSamplerCreateInfo sampler_info(const ImageInfo& texture);
/// Usages of the image: transfers, sampled, and storage if kernels may store to it.
VkImageUsageFlags usage_of(const ImageShape& shape);
VkImageCreateInfo image_info(const ImageShape& shape);

/// A part of a level as one copy between an image and packed texels. `region.bufferOffset` is 0.
struct ImagePart {
    VkBufferImageCopy region{};
    int64_t begin = 0, bytes = 0;  ///< of the level's packed texels
};
/// A layer of a level in parts of at most `most` bytes each: whole slices if a slice fits, else rows; one row at least.
std::vector<ImagePart> parts_of(const ImageShape& shape, int level, int64_t layer, int64_t most);

}  // namespace pumice::vulkan
