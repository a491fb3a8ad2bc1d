// Images of a launch: layouts, accesses, and descriptors.
#include <algorithm>

#include "core/support/error.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

using Kind = codegen::Binding::Kind;

Image& image_of(const Launch& launch, const ShaderPermutation::BoundImage& bound) {
    return static_cast<Image&>(*launch.arguments[size_t(bound.argument)].image.memory);
}

/// The layout that the launch needs: GENERAL if one of its bindings is a storage image of this image.
VkImageLayout layout_of(const ShaderPermutation& permutation, const Launch& launch, const Image& image) {
    for (const ShaderPermutation::BoundImage& bound : permutation.images)
        if (bound.kind == Kind::storage_image && &image_of(launch, bound) == &image) return VK_IMAGE_LAYOUT_GENERAL;
    return VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
}

VkImageViewType view_type(const ImageShape& shape, Kind kind) {
    if (shape.layout == ImageLayout::cube && kind == Kind::sampler) return VK_IMAGE_VIEW_TYPE_CUBE;
    const bool layered = shape.layout != ImageLayout::plain;
    switch (shape.dimensions) {
        case 1: return layered ? VK_IMAGE_VIEW_TYPE_1D_ARRAY : VK_IMAGE_VIEW_TYPE_1D;
        case 2: return layered ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
        default: return VK_IMAGE_VIEW_TYPE_3D;
    }
}

}  // namespace

bool VulkanDevice::has_image(const ImageShape& shape) const {
    return refusal(context.snapshot, context.plan, shape).empty() && !converts_wrongly(context.plan, shape);
}

/// The changes of layouts before the launch. The queue's mutex is held, here and below.
Transitions VulkanDevice::transitions_for(const ShaderPermutation& permutation, const Launch& launch) {
    Transitions transitions;
    for (const ShaderPermutation::BoundImage& bound : permutation.images) {
        Image& image = image_of(launch, bound);
        borrow(image);
        transitions.add(image, layout_of(permutation, launch, image));
    }
    return transitions;
}

/// Adds the images to the launch's accesses. Throws Error for an image of the application without the usage.
void VulkanDevice::list_images(const ShaderPermutation::RecordedLaunch& recorded, const Launch& launch) {
    for (const ShaderPermutation::BoundImage& bound : recorded.permutation.images) {
        const Image& image = image_of(launch, bound);
        const bool stores = bound.kind == Kind::storage_image;
        if (!(image.usage & (stores ? VK_IMAGE_USAGE_STORAGE_BIT : VK_IMAGE_USAGE_SAMPLED_BIT))) {
            const ir::Kernel& kernel = *recorded.permutations.kernel;
            fail("kernel \"", kernel.name, "\" (", kernel.where(kernel.loc), ") ", stores ? "stores to " : "reads ",
                 kernel.label(size_t(bound.argument)), ", an image of the application that was made without the usage ",
                 stores ? "VK_IMAGE_USAGE_STORAGE_BIT" : "VK_IMAGE_USAGE_SAMPLED_BIT");
        }
        accesses.push_back(image.access(0, image.shape.levels, stores));
    }
}

/// The value that the launch has to follow because of its images. A change of the layout counts as a write.
uint64_t VulkanDevice::after_images(const ShaderPermutation& permutation, const Launch& launch) const {
    uint64_t last = 0;
    for (const ShaderPermutation::BoundImage& bound : permutation.images) {
        const Image& image = image_of(launch, bound);
        const bool write = bound.kind == Kind::storage_image || image.layout != layout_of(permutation, launch, image);
        last = std::max(last, after(image, write, launch.stream));
    }
    return last;
}

/// Fills the descriptors of the images. True if one of them has changed.
bool VulkanDevice::bind_images(ShaderPermutation& permutation, const Launch& launch) {
    bool changed = false;
    for (const ShaderPermutation::BoundImage& bound : permutation.images) {
        Image& image = image_of(launch, bound);
        const VkImageUsageFlags usage =
            bound.kind == Kind::storage_image ? VK_IMAGE_USAGE_STORAGE_BIT : VK_IMAGE_USAGE_SAMPLED_BIT;
        VkDescriptorImageInfo info{};
        info.imageView = image.view({view_type(image.shape, bound.kind), usage});
        info.imageLayout = image.layout;
        if (bound.kind == Kind::sampler) info.sampler = samplers.get(sampler_info(bound.info));
        VkDescriptorImageInfo& last = permutation.textures[size_t(bound.binding)];
        changed = changed || info.imageView != last.imageView || info.imageLayout != last.imageLayout;
        last = info;
    }
    return changed;
}

void VulkanDevice::used_images(const ShaderPermutation& permutation, const Launch& launch, const Transitions& transitions) {
    for (const ShaderPermutation::BoundImage& bound : permutation.images) {
        Image& image = image_of(launch, bound);
        used(image, bound.kind == Kind::storage_image || transitions.change(image));
    }
}

}  // namespace pumice::vulkan
