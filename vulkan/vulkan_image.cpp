// Images: memory, views, layouts and samplers.
//
// Images have blocks of memory apart from those of buffers, since a page may not hold a buffer and an image of optimal tiling
// (bufferImageGranularity): of 32 MiB, or as large as the image that needs one, if that is larger or 32 MiB are not left. A
// Suballocator divides a block into ranges, as it does for arrays. An image that other processes have, too, has memory of its
// own. To the hazard tracker an image is a buffer with one byte for each level.
//
// Layouts: an image is in the layout GENERAL while kernels store to it, in SHADER_READ_ONLY_OPTIMAL while kernels only read it,
// and in the layouts of transfers while it is copied. The layout after the commands recorded so far is kept with the image; a
// command that needs another one has a barrier before it, which changes the layout and counts as a write:
//
//   make img: clear                  UNDEFINED -> TRANSFER_DST_OPTIMAL
//   store to img                     TRANSFER_DST_OPTIMAL -> GENERAL, dispatch
//   sample img                       GENERAL -> SHADER_READ_ONLY_OPTIMAL, dispatch
//   sample img again                 dispatch
//
// Images of an application are found in a layout that it names, and given back in another one (image_lending.cpp). Cost: a
// barrier whenever stores and reads alternate, which need one anyway. Limits: all levels and layers of an image have one layout.
#include "vulkan/vulkan_image.h"

#include <algorithm>

#include "core/support/error.h"
#include "vulkan/image_formats.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

constexpr int64_t block_bytes = int64_t(32) << 20;
constexpr int64_t granularity = 1024;  // of ranges in a block

int64_t align(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

std::unique_ptr<MemoryBlock> ImageMemory::new_block(uint32_t type, int64_t bytes) {
    auto block = std::make_unique<MemoryBlock>(context, 0, bytes);
    auto info = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    info.allocationSize = VkDeviceSize(bytes);
    info.memoryTypeIndex = type;
    const VkResult result = context.vk.AllocateMemory(context.device, &info, nullptr, &block->memory);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_TOO_MANY_OBJECTS ||
        result == VK_ERROR_UNKNOWN)
        return nullptr;
    context.check(result, "vkAllocateMemory");
    return block;
}

std::optional<ImageRange> ImageMemory::allocate(const VkMemoryRequirements& needs) {
    const int64_t alignment = int64_t(needs.alignment);
    // A range begins at a multiple of the granularity; the image may begin later.
    const int64_t slack = std::max<int64_t>(alignment - granularity, 0);
    const int64_t bytes = align(int64_t(needs.size) + slack, granularity);
    const auto range_in = [&](MemoryBlock& block) -> std::optional<ImageRange> {
        const auto offset = block.ranges.allocate(bytes);
        if (!offset) return std::nullopt;
        return ImageRange{&block, *offset, bytes, align(*offset, alignment)};
    };
    for (const Typed& one : blocks) {
        if (!(needs.memoryTypeBits >> one.type & 1)) continue;
        // A block made for one large image takes no small ones, which would keep it alive.
        if (one.block->bytes > block_bytes && bytes <= one.block->bytes / 2) continue;
        if (const auto range = range_in(*one.block)) return range;
    }
    for (const uint32_t type : image_memory_types(context.snapshot, needs.memoryTypeBits))
        for (const int64_t size : {std::max(bytes, block_bytes), bytes}) {
            const VkPhysicalDeviceMemoryProperties& memory = context.snapshot.memory;
            if (VkDeviceSize(size) > memory.memoryHeaps[memory.memoryTypes[type].heapIndex].size) continue;
            auto block = new_block(type, size);
            if (!block) continue;
            blocks.push_back({type, std::move(block)});
            return range_in(*blocks.back().block);
        }
    return std::nullopt;
}

void ImageMemory::release(const ImageRange& range) {
    range.block->ranges.release(range.offset, range.bytes);
    if (range.block->ranges.empty() && range.block->bytes > block_bytes)
        std::erase_if(blocks, [&](const Typed& one) { return one.block.get() == range.block; });
}

void ImageMemory::release_empty() {
    std::erase_if(blocks, [](const Typed& one) { return one.block->ranges.empty(); });
}

Image::Image(std::shared_ptr<VulkanDevice> on, const ImageShape& of, VkImage image, const ImageRange& at, uint64_t number)
    : device(std::move(on)), shape(of), handle(image), usage(usage_of(of)), id(number), range(at) {
    bytes = at.bytes;
}

Image::Image(std::shared_ptr<VulkanDevice> on, const ImageShape& of, const LentImage& from, uint64_t number)
    : device(std::move(on)), shape(of), handle(from.image), usage(from.usage), id(number), layout(from.before), lent(from) {
    for (int level = 0; level < of.levels; ++level) bytes += of.bytes(level) * of.layers;
}

Image::Image(std::shared_ptr<VulkanDevice> on, const ImageShape& of, VkImage image, std::shared_ptr<MemoryBlock> memory,
             const SharedMemory& with_others, uint64_t number)
    : device(std::move(on)),
      shape(of),
      handle(image),
      usage(usage_of(of)),
      id(number),
      own_memory(std::move(memory)),
      shared(with_others) {
    bytes = own_memory->bytes;
}

Image::~Image() {
    const std::lock_guard lock(device->queue.mutex);
    if (is_borrowed) try {
            device->give_back(*this);
        } catch (...) {}  // the device is lost
    device->queue.retire(is_abandoned ? UINT64_MAX : last_use,
                         [context = &device->context, memory = &device->image_memory, views = std::move(views),
                          image = range || own_memory ? handle : VK_NULL_HANDLE, range = range, own = own_memory]() mutable {
                             for (const auto& [kind, view] : views) context->vk.DestroyImageView(context->device, view, nullptr);
                             context->vk.DestroyImage(context->device, image, nullptr);
                             if (range) memory->release(*range);
                             own.reset();
                         });
}

VkImageView Image::view(const ViewKind& kind) {
    VkImageView& view = views[kind];
    if (view) return view;
    Context& context = device->context;
    VkImageViewUsageCreateInfo only{VK_STRUCTURE_TYPE_IMAGE_VIEW_USAGE_CREATE_INFO, nullptr, kind.usage};
    auto info = structure<VkImageViewCreateInfo>(VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO, &only);
    info.image = handle;
    info.viewType = kind.type;
    info.format = vulkan_format(shape.format);
    info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 0, uint32_t(shape.layers)};
    info.subresourceRange.levelCount = kind.usage == VK_IMAGE_USAGE_STORAGE_BIT ? 1 : uint32_t(shape.levels);
    context.check(context.vk.CreateImageView(context.device, &info, nullptr, &view), "vkCreateImageView");
    return view;
}

void Transitions::add(Image& image, VkImageLayout layout) {
    if (image.layout == layout || change(image)) return;
    auto barrier = structure<VkImageMemoryBarrier>(VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER);
    barrier.oldLayout = image.layout;
    barrier.newLayout = layout;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image.handle;
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, uint32_t(image.shape.levels), 0, uint32_t(image.shape.layers)};
    all.push_back(barrier);
    images.push_back(&image);
}

bool Transitions::change(const Image& image) const { return std::ranges::find(images, &image) != images.end(); }

void Transitions::done() {
    for (size_t i = 0; i < images.size(); ++i) images[i]->layout = all[i].newLayout;
}

Samplers::~Samplers() {
    for (const auto& [info, sampler] : made) context.vk.DestroySampler(context.device, sampler, nullptr);
}

VkSampler Samplers::get(const VkSamplerCreateInfo& info) {
    const auto key = [](const VkSamplerCreateInfo& i) {
        return std::tuple(i.magFilter, i.mipmapMode, i.addressModeU, i.borderColor);
    };
    for (const auto& [known, sampler] : made)
        if (key(known) == key(info)) return sampler;
    VkSampler sampler = VK_NULL_HANDLE;
    context.check(context.vk.CreateSampler(context.device, &info, nullptr, &sampler), "vkCreateSampler");
    made.emplace_back(info, sampler);
    return sampler;
}

std::shared_ptr<Image> VulkanDevice::make_image(const ImageShape& shape) {
    context.require_alive();
    if (const std::string reason = refusal(context.snapshot, context.plan, shape); !reason.empty())
        fail("the ", shape.text(), " cannot be made: ", context.name, " ", reason);
    const VkImageCreateInfo info = image_info(shape);
    VkImage image = VK_NULL_HANDLE;
    context.check(context.vk.CreateImage(context.device, &info, nullptr, &image), "vkCreateImage");
    VkMemoryRequirements needs{};
    context.vk.GetImageMemoryRequirements(context.device, image, &needs);
    const auto attempt = [&](bool released) {
        const std::lock_guard lock(queue.mutex);
        queue.collect();
        if (released) memory.release_empty(), image_memory.release_empty();
        return image_memory.allocate(needs);
    };
    try {
        std::optional<ImageRange> range = attempt(false);
        if (!range) {
            // Retired memory still in use can be freed, and so can empty blocks.
            queue.finish_unheld();
            range = attempt(true);
        }
        if (!range)
            fail("cannot allocate ", needs.size, " bytes for the ", shape.text(), " on ", context.name,
                 ": the device has not that much memory left");
        const VkResult result =
            context.vk.BindImageMemory(context.device, image, range->block->memory, VkDeviceSize(range->begin));
        if (result != VK_SUCCESS) {
            const std::lock_guard lock(queue.mutex);
            image_memory.release(*range);
        }
        context.check(result, "vkBindImageMemory");
        auto made = std::make_shared<Image>(self(), shape, image, *range, next_image_id++);
        image = VK_NULL_HANDLE;  // `made` destroys it
        clear(*made);
        return made;
    } catch (...) {
        context.vk.DestroyImage(context.device, image, nullptr);
        throw;
    }
}

}  // namespace pumice::vulkan
