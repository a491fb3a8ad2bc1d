// Copies between host and images, through staging memory; copies from image to image; clearing. On the host, texels are packed,
// in the image's format; axis 0 is the fastest.
#include <algorithm>
#include <cstring>

#include "core/support/error.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

void require_usage(const Image& image, VkImageUsageFlags usage, const char* what, const char* flag) {
    if (!(image.usage & usage)) fail("an image of the application is ", what, ", and it was made without the usage ", flag);
}

}  // namespace

/// Records a copy between a buffer and the image. The queue's mutex is held.
void VulkanDevice::copy_texels(Image& image, const BufferAccess& buffer_access, VkBuffer buffer, const VkBufferImageCopy& region,
                               bool to_image) {
    if (to_image)
        require_usage(image, VK_IMAGE_USAGE_TRANSFER_DST_BIT, "written to", "VK_IMAGE_USAGE_TRANSFER_DST_BIT");
    else
        require_usage(image, VK_IMAGE_USAGE_TRANSFER_SRC_BIT, "read", "VK_IMAGE_USAGE_TRANSFER_SRC_BIT");
    borrow(image);
    Transitions transitions;
    transitions.add(image, to_image ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    const bool write = to_image || transitions.change(image);
    const bool ahead = queue.ahead(after(image, write, 0));
    const BufferAccess both[] = {buffer_access, image.access(int(region.imageSubresource.mipLevel), 1, to_image)};
    const VkCommandBuffer commands = queue.begin(both, ahead, transitions.barriers());
    transitions.done();
    if (to_image)
        context.vk.CmdCopyBufferToImage(commands, buffer, image.handle, image.layout, 1, &region);
    else
        context.vk.CmdCopyImageToBuffer(commands, image.handle, image.layout, buffer, 1, &region);
    used(image, write);
}

/// Sets all texels to 0.
void VulkanDevice::clear(Image& image) {
    queue.make_room();
    const std::lock_guard lock(queue.mutex);
    borrow(image);
    Transitions transitions;
    transitions.add(image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    const BufferAccess all = image.access(0, image.shape.levels, true);
    const VkCommandBuffer commands = queue.begin({&all, 1}, queue.in_call() && queue.ahead(0), transitions.barriers());
    transitions.done();
    const VkClearColorValue zero{};
    const VkImageSubresourceRange range{VK_IMAGE_ASPECT_COLOR_BIT, 0, uint32_t(image.shape.levels), 0,
                                        uint32_t(image.shape.layers)};
    context.vk.CmdClearColorImage(commands, image.handle, image.layout, &zero, 1, &range);
    used(image, true);
    queue.end();
}

void VulkanDevice::copy_image(Allocation& source, Allocation& target, const ImageShape& shape) {
    queue.make_room();
    auto &from = static_cast<Image&>(source), &to = static_cast<Image&>(target);
    require_usage(from, VK_IMAGE_USAGE_TRANSFER_SRC_BIT, "copied", "VK_IMAGE_USAGE_TRANSFER_SRC_BIT");
    require_usage(to, VK_IMAGE_USAGE_TRANSFER_DST_BIT, "copied to", "VK_IMAGE_USAGE_TRANSFER_DST_BIT");
    std::vector<VkImageCopy> regions;
    for (int level = 0; level < shape.levels; ++level) {
        const VkImageSubresourceLayers layers{VK_IMAGE_ASPECT_COLOR_BIT, uint32_t(level), 0, uint32_t(shape.layers)};
        regions.push_back(
            {layers,
             {},
             layers,
             {},
             {uint32_t(shape.extent(0, level)), uint32_t(shape.extent(1, level)), uint32_t(shape.extent(2, level))}});
    }
    const std::lock_guard lock(queue.mutex);
    borrow(from), borrow(to);
    Transitions transitions;
    transitions.add(from, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    transitions.add(to, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    const bool changed = transitions.change(from);
    const BufferAccess both[] = {from.access(0, shape.levels, changed), to.access(0, shape.levels, true)};
    const bool ahead = queue.in_call() && queue.ahead(std::max(after(from, changed, 0), after(to, true, 0)));
    const VkCommandBuffer commands = queue.begin(both, ahead, transitions.barriers());
    transitions.done();
    context.vk.CmdCopyImage(commands, from.handle, from.layout, to.handle, to.layout, uint32_t(regions.size()), regions.data());
    used(from, changed);
    used(to, true);
    queue.end();
}

void VulkanDevice::write_image(Allocation& allocation, const ImageShape&, int level, int64_t layer, const void* from) {
    queue.make_room();
    auto& to = static_cast<Image&>(allocation);
    for (const ImagePart& part : parts_of(to.shape, level, layer, Staging::largest_piece)) {
        Staging::Piece piece = take_upload((part.bytes + 3) / 4 * 4);
        std::memcpy(piece.data(), static_cast<const std::byte*>(from) + part.begin, size_t(part.bytes));
        VkBufferImageCopy region = part.region;
        region.bufferOffset = VkDeviceSize(piece.offset);
        const std::lock_guard lock(queue.mutex);
        copy_texels(to, piece.access(false), piece.block->buffer, region, true);
        piece.until(queue.value());
        queue.end();
    }
}

void VulkanDevice::read_image(Allocation& allocation, const ImageShape&, int level, int64_t layer, void* to) {
    refuse_download();
    queue.make_room();
    auto& from = static_cast<Image&>(allocation);
    PipelinedDownload received(queue);
    for (const ImagePart& part : parts_of(from.shape, level, layer, Staging::largest_piece)) {
        Staging::Piece piece = download.take((part.bytes + 3) / 4 * 4);
        VkBufferImageCopy region = part.region;
        region.bufferOffset = VkDeviceSize(piece.offset);
        uint64_t value;
        {
            const std::lock_guard lock(queue.mutex);
            copy_texels(from, piece.access(true), piece.block->buffer, region, false);
            value = queue.value();
            piece.until(value);
            queue.end();
            if (value > queue.last_submitted()) queue.submit();
        }
        received.add(std::move(piece), value, static_cast<std::byte*>(to) + part.begin, part.bytes);
    }
    received.end();
    settle();
}

}  // namespace pumice::vulkan
