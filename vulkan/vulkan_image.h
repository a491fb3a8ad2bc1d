// Images on the device: memory, views, layouts and samplers.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/host/backend.h"
#include "vulkan/image_plan.h"
#include "vulkan/interop.h"
#include "vulkan/queue.h"
#include "vulkan/vulkan_memory.h"

namespace pumice::vulkan {

class VulkanDevice;

/// The memory of one image: a range of a block without a buffer, since buffers and images of optimal tiling may not share pages.
struct ImageRange {
    MemoryBlock* block = nullptr;
    int64_t offset = 0, bytes = 0;  ///< as the block's suballocator knows it
    int64_t begin = 0;              ///< of the image, aligned
};

/// The memory of images. Guarded by the queue's mutex.
class ImageMemory {
public:
    explicit ImageMemory(Context& context) : context(context) {}
    /// None if the driver has no memory left.
    std::optional<ImageRange> allocate(const VkMemoryRequirements& needs);
    void release(const ImageRange& range);
    /// Frees every block without an image.
    void release_empty();

private:
    struct Typed {
        uint32_t type;
        std::unique_ptr<MemoryBlock> block;
    };
    std::unique_ptr<MemoryBlock> new_block(uint32_t type, int64_t bytes);

    Context& context;
    std::vector<Typed> blocks;
};

/// An image of an application: what it promises, and what it is promised.
struct LentImage {
    VkImage image = VK_NULL_HANDLE;
    VkImageUsageFlags usage = 0;
    VkImageLayout before = VK_IMAGE_LAYOUT_UNDEFINED;  ///< found at the first use after each submission of the application's
    VkImageLayout after = VK_IMAGE_LAYOUT_GENERAL;     ///< left at vulkan::submit
};

/// The part of an image that a shader sees.
struct ViewKind {
    VkImageViewType type = VK_IMAGE_VIEW_TYPE_2D;
    VkImageUsageFlags usage = 0;  ///< sampled or storage
    auto operator<=>(const ViewKind&) const = default;
};

/// An image. The destructor releases it once the device is done with it.
class Image : public Allocation, public TimelineUse, public std::enable_shared_from_this<Image> {
public:
    Image(std::shared_ptr<VulkanDevice> device, const ImageShape& shape, VkImage handle, const ImageRange& range, uint64_t id);
    /// An image of an application.
    Image(std::shared_ptr<VulkanDevice> device, const ImageShape& shape, const LentImage& lent, uint64_t id);
    /// An image that other processes have, too, with the handle and memory of its own.
    Image(std::shared_ptr<VulkanDevice> device, const ImageShape& shape, VkImage handle, std::shared_ptr<MemoryBlock> memory,
          const SharedMemory& shared, uint64_t id);
    ~Image() override;

    const std::shared_ptr<VulkanDevice> device;
    const ImageShape shape;
    const VkImage handle;
    const VkImageUsageFlags usage;
    const uint64_t id;  ///< in the hazard tracker, where a level of the image is one byte
    // Guarded by the queue's mutex.
    VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;  ///< after all commands recorded so far
    std::optional<LentImage> lent;
    bool is_borrowed = false;                       ///< used since the application got it back
    uint64_t recorded_in = 0;                       ///< number of the last recording that keeps it
    bool is_abandoned = false;                      ///< destroyed with the device only: commands of the application may use it
    const std::shared_ptr<MemoryBlock> own_memory;  ///< of an image that other processes have, too
    const SharedMemory shared;                      ///< the same memory, without a descriptor

    /// A view, made at its first use. The queue's mutex is held.
    VkImageView view(const ViewKind& kind);
    BufferAccess access(int level, int levels, bool write) const { return {id, level, level + levels, write}; }

private:
    const std::optional<ImageRange> range;
    std::map<ViewKind, VkImageView> views;
};

/// Throws Error for a type of texels, extents, layers or levels that an image of this format cannot have. `how`: "lent" or
/// "shared".
void check_image(const ImageShape& shape, const Element& texel, const char* how);

/// Changes of layouts that one command needs before it.
class Transitions {
public:
    /// Asks for a layout of the whole image, unless it has it already.
    void add(Image& image, VkImageLayout layout);
    /// The barriers for Queue::begin.
    std::span<const VkImageMemoryBarrier> barriers() const { return all; }
    /// True if the image's layout changes, which counts as a write.
    bool change(const Image& image) const;
    /// To be called once the barriers are recorded.
    void done();

private:
    std::vector<VkImageMemoryBarrier> all;
    std::vector<Image*> images;
};

/// Samplers, which live as long as the device. Guarded by the queue's mutex.
class Samplers {
public:
    explicit Samplers(Context& context) : context(context) {}
    ~Samplers();
    VkSampler get(const VkSamplerCreateInfo& info);

private:
    Context& context;
    std::vector<std::pair<VkSamplerCreateInfo, VkSampler>> made;
};

}  // namespace pumice::vulkan
