// Images of an application: found in one layout, given back in another.
//
// An image that is lent belongs to the application between vulkan::submit and the next command on it. That command finds it in
// the layout LentImage::before, and vulkan::submit leaves it in the layout LentImage::after. In between, Pumice tracks the layout
// as it does for its own images. An image of Pumice's that the application uses has one layout for both.

#include "core/support/error.h"
#include "vulkan/command_recorder.h"
#include "vulkan/image_formats.h"
#include "vulkan/vulkan_device.h"
#include "vulkan/wrap.h"

namespace pumice::vulkan {
namespace {

bool same(const ImageShape& a, const ImageShape& b) {
    return a.format == b.format && a.layout == b.layout && a.dimensions == b.dimensions && a.extents == b.extents &&
           a.levels == b.levels && a.layers == b.layers && a.storage == b.storage;
}

/// The usages that allow a layout, any of them; 0: none is needed. None if images that Pumice uses have no such layout.
std::optional<VkImageUsageFlags> needed_by(int32_t layout) {
    switch (layout) {
        case VK_IMAGE_LAYOUT_UNDEFINED:
        case VK_IMAGE_LAYOUT_GENERAL:
        case VK_IMAGE_LAYOUT_PREINITIALIZED:
        case VK_IMAGE_LAYOUT_PRESENT_SRC_KHR: return 0;
        case VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL: return VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
        case VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL: return VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT;
        case VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL: return VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
        case VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL: return VK_IMAGE_USAGE_TRANSFER_DST_BIT;
        default: return std::nullopt;
    }
}

void check_layout(int32_t layout, VkImageUsageFlags usage, bool after, const char* what) {
    const std::optional<VkImageUsageFlags> needed = needed_by(layout);
    if (!needed)
        fail("an image is lent with the VkImageLayout ", layout, " ", what, ", which is none of an image that kernels use");
    if (*needed && !(usage & *needed))
        fail("an image is lent with the VkImageLayout ", layout, " ", what, ", which its usage ", usage, " does not allow");
    if (after && (layout == VK_IMAGE_LAYOUT_UNDEFINED || layout == VK_IMAGE_LAYOUT_PREINITIALIZED))
        fail("an image is lent with the VkImageLayout ", layout, " ", what, ", into which no image can be brought");
}

}  // namespace

void check_image(const ImageShape& shape, const Element& texel, const char* how) {
    const FormatRow& row = row_of(shape.format);
    const Scalar wanted = row.is_float() ? Scalar::f32 : row.kind == FormatRow::Kind::sint ? Scalar::i32 : Scalar::u32;
    if (texel.leaves[0].type != wanted || texel.leaves.size() != size_t(row.channels))
        fail("an image of format ", row.name, " is ", how, ", whose texels are ", row.channels, " of ", name_of(wanted),
             ", and its type in C++ has ", texel.leaves.size(), " of ", name_of(texel.leaves[0].type));
    for (int axis = shape.dimensions - 1; axis >= 0; --axis)
        if (shape.extents[size_t(axis)] < 1)
            fail("an image of extent ", shape.extents[size_t(axis)], " along dimension ", shape.dimensions - 1 - axis, " is ",
                 how, ": extents are positive");
    if (shape.layers < 1) fail("an image of ", shape.layers, " layers is ", how, ": it has at least 1");
    if (shape.levels < 1 || shape.levels > shape.most_levels())
        fail("an ", shape.text(), " with ", shape.levels, " levels is ", how, ": it has 1 to ", shape.most_levels());
}

/// Notes that a command uses the image. The queue's mutex is held.
void VulkanDevice::borrow(Image& image) {
    if (CommandRecorder* const recorder = queue.recorder()) return recorder->borrow(image);
    if (!image.lent || image.is_borrowed) return;
    borrowed.push_back(&image);
    image.is_borrowed = true;
}

/// Records the change to the layout that the application was promised. The queue's mutex is held.
void VulkanDevice::give_back(Image& image) {
    std::erase(borrowed, &image);
    image.is_borrowed = false;
    Transitions transitions;
    transitions.add(image, image.lent->after);
    if (transitions.change(image)) {
        const BufferAccess all = image.access(0, image.shape.levels, true);
        queue.begin({&all, 1}, false, transitions.barriers());
        used(image, true);
        queue.end();
    }
    image.layout = image.lent->before;
}

void VulkanDevice::give_back_images() {
    const std::lock_guard lock(queue.mutex);
    while (!borrowed.empty()) give_back(*borrowed.back());
}

std::shared_ptr<Image> VulkanDevice::lend(const ImageShape& shape, const LentImage& image) {
    std::shared_ptr<Image> there;  // outlives the lock, which an image's destructor takes
    const std::lock_guard lock(queue.mutex);
    std::erase_if(lent_images, [](const auto& one) { return one.second.expired(); });
    std::weak_ptr<Image>& known = lent_images[image.image];
    there = known.lock();
    if (there && same(there->shape, shape) && there->usage == image.usage) {
        there->lent = image;
        if (!there->is_borrowed) there->layout = image.before;
        return there;
    }
    auto made = std::make_shared<Image>(self(), shape, image, next_image_id++);
    known = made;
    return made;
}

void VulkanDevice::share(Image& image, VkImageLayout layout) {
    const std::lock_guard lock(queue.mutex);
    image.lent = LentImage{image.handle, image.usage, layout, layout};
    borrow(image);
}

std::shared_ptr<detail::ImageBinding> lend(const pumice::Device& device, const ImagePlace& place, ImageShape shape,
                                           const Element& texel) {
    VulkanDevice& backend = wrapped(device, "image");
    if (!place.image) throw Error("an image is lent that is not there: ImagePlace::image is not set");
    const std::optional<Format> format = format_of(VkFormat(place.format));
    if (!format) fail("an image of the VkFormat ", place.format, " is lent, which kernels cannot use");
    shape.format = *format;
    shape.levels = place.levels;
    check_image(shape, texel, "lent");
    constexpr VkImageUsageFlags useful = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT |
                                         VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    if (!(place.usage & useful))
        fail("an ", shape.text(), " is lent with the usage ", place.usage,
             ", which allows no kernel and no copy: it has to contain storage, sampled or a transfer");
    check_layout(place.before, place.usage, false, "before the commands");
    check_layout(place.after, place.usage, true, "after them");
    shape.storage = (place.usage & VK_IMAGE_USAGE_STORAGE_BIT) != 0 && shape.layout == ImageLayout::plain &&
                    row_of(*format).kind != FormatRow::Kind::srgb;
    if (shape.storage && !refusal(backend.context.snapshot, backend.context.plan, shape).empty()) shape.storage = false;
    if (const std::string reason = refusal(backend.context.snapshot, backend.context.plan, shape); !reason.empty())
        fail("an ", shape.text(), " is lent: ", device.name(), " ", reason);
    auto state = std::make_shared<detail::ImageState>();
    state->device = device.state;
    state->shape = shape;
    state->memory = backend.lend(shape, {place.image, place.usage, VkImageLayout(place.before), VkImageLayout(place.after)});
    auto binding = std::make_shared<detail::ImageBinding>();
    binding->image = std::move(state);
    binding->info = {ImageInfo::Kind::storage, shape.layout, shape.dimensions, true, true, *format, shape.levels};
    return binding;
}

ImagePlace place_of(const std::shared_ptr<detail::ImageBinding>& binding, int32_t layout) {
    const detail::ImageState& state = detail::held(binding);
    VulkanDevice& backend = wrapped(pumice::Device(state.device), "place");
    if (!state.memory)
        fail("vulkan::place is called for an ", state.shape.text(), ", of which ", state.device->name,
             " has no image: it is kept as an array");
    auto& image = static_cast<Image&>(*state.memory);
    check_layout(layout, image.usage, true, "for the application");
    backend.share(image, VkImageLayout(layout));
    return {image.handle, vulkan_format(state.shape.format), image.usage, layout, layout, state.shape.levels};
}

}  // namespace pumice::vulkan
