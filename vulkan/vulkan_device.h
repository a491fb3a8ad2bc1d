// The Vulkan backend: the parts of one open device.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/format/hardware_sampler.h"
#include "core/host/backend.h"
#include "core/host/preparing_backend.h"
#include "vulkan/code_cache.h"
#include "vulkan/context.h"
#include "vulkan/interop_functions.h"
#include "vulkan/queue.h"
#include "vulkan/staging.h"
#include "vulkan/time_stamps.h"
#include "vulkan/traced_commands.h"
#include "vulkan/vulkan_image.h"
#include "vulkan/vulkan_memory.h"
#include "vulkan/vulkan_program.h"

namespace pumice::vulkan {

class VulkanDevice;

/// A range of device memory. The destructor releases the range once the device is done with it.
class Buffer : public Allocation, public TimelineUse, public std::enable_shared_from_this<Buffer> {
public:
    Buffer(std::shared_ptr<VulkanDevice> device, MemoryRange range, int64_t bytes);
    /// A buffer of an application, or one of shared memory.
    Buffer(std::shared_ptr<VulkanDevice> device, std::unique_ptr<MemoryBlock> lent);
    ~Buffer() override;

    const std::shared_ptr<VulkanDevice> device;
    std::unique_ptr<MemoryBlock> lent;  ///< the range's block, if it is an application's, or shared with others
    SharedMemory shared;                ///< of a block that is shared
    const MemoryRange range;
    const uint64_t number;      ///< unique in the process, unlike the address
    uint64_t recorded_in = 0;   ///< number of the last recording that keeps it; guarded by the queue's mutex
    bool is_abandoned = false;  ///< its range is not released; guarded likewise
};

/// A kernel on a device. Does not keep the device alive: kernels are often global objects, which are destroyed after the
/// driver's.
class VulkanProgram : public Executable {
public:
    VulkanProgram(std::weak_ptr<VulkanDevice> device, std::shared_ptr<ShaderPermutations> permutations);
    ~VulkanProgram() override;

    const std::weak_ptr<VulkanDevice> device;
    const std::shared_ptr<ShaderPermutations> permutations;
    uint64_t recorded_in = 0;   ///< number of the last recording that keeps it; guarded by the queue's mutex
    bool is_abandoned = false;  ///< its permutations live as long as the device
};

/// Does not keep the device alive, which finishes all work before it closes.
class TimelineEvent : public EventState {
public:
    TimelineEvent(std::weak_ptr<VulkanDevice> device, uint64_t value) : device(std::move(device)), value(value) {}
    void wait() override;
    bool done() override;

    const std::weak_ptr<VulkanDevice> device;
    const uint64_t value;
};

/// All streams feed the one queue in the order of the calls, so that each stream is in order, and so are all of them together.
class VulkanDevice : public Backend,
                     public HardwareSampler,
                     public PreparingBackend,
                     public pumice::detail::MeasuredBackend,
                     public pumice::detail::NamingBackend {
public:
    VulkanDevice(const Origin& origin, Snapshot snapshot, DevicePlan plan, std::string name);
    ~VulkanDevice() override;

    std::string name() const override { return context.name; }
    Limits limits() const override { return context.plan.limits; }
    bool supports(Feature feature) const override { return context.plan.supports(feature); }

    std::shared_ptr<Allocation> allocate(int64_t bytes, bool zero) override;
    void write(Allocation& to, int64_t offset, const void* from, int64_t bytes) override;
    void read(Allocation& from, int64_t offset, void* to, int64_t bytes) override;
    void fill(Allocation& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_size, int stream) override;
    void copy(Allocation& from, int64_t from_offset, Allocation& to, int64_t to_offset, int64_t bytes, int stream) override;

    bool has_image(const ImageShape& shape) const override;
    bool has_sampler(const ImageInfo& texture) const override { return samples(context.snapshot, texture); }
    std::shared_ptr<Allocation> allocate_image(const ImageShape& shape) override { return make_image(shape); }
    void write_image(Allocation& to, const ImageShape& shape, int level, int64_t layer, const void* pixels) override;
    void read_image(Allocation& from, const ImageShape& shape, int level, int64_t layer, void* pixels) override;
    void copy_image(Allocation& from, Allocation& to, const ImageShape& shape) override;

    std::shared_ptr<Executable> compile(std::shared_ptr<const ir::Kernel> kernel) override;
    /// The same for an existing shader; the kernel defines the parameters.
    std::shared_ptr<Executable> compile(std::shared_ptr<const ir::Kernel> kernel, ShaderPermutations::Source source);
    std::array<int64_t, 3> choose_group(const ir::Kernel& kernel, const Launch& launch) const override;
    void launch(const std::shared_ptr<Executable>& executable, const Launch& launch) override;
    void prepare(const std::shared_ptr<Executable>& executable, const Launch& launch) override;

    int create_stream(Priority priority) override;
    void release_stream(int stream) override;
    std::shared_ptr<EventState> record(int stream) override;
    std::shared_ptr<TimeStamp> stamp(int stream) override;
    void wait_for(int stream, const std::shared_ptr<EventState>& event) override;
    void call(int stream, std::function<void()> act) override;
    void write_async(Allocation& to, int64_t offset, const void* from, int64_t bytes, int stream) override;
    void read_async(Allocation& from, int64_t offset, void* to, int64_t bytes, int stream) override;
    void synchronize() override;
    bool records_commands() const override { return queue.recorder() != nullptr; }
    bool may_measure() const override { return !context.wrapped; }
    void name_memory(Allocation& memory, int64_t offset, const std::string& name) override;

    /// An application's buffer as memory of this device: always the same object for one buffer. `bytes`: the size used.
    std::shared_ptr<Buffer> lend(VkBuffer buffer, int64_t bytes, bool addressable);
    // Shared memory (interop.cpp, interop_images.cpp). `type`: a VkExternalMemoryHandleTypeFlagBits.
    std::shared_ptr<Buffer> shared_buffer(int64_t bytes, uint32_t type, const SharedMemory* from, void* host);
    /// `modifiers`: of a dma-buf, those of which the driver may choose. `from`: of the importer, else null.
    std::shared_ptr<Image> shared_image(const ImageShape& shape, FdKind kind, std::span<const ImageModifier> modifiers,
                                        const SharedMemory* from);
    void hand_over(Buffer& buffer, bool take);
    void hand_over(Image& image, bool take);

    // Images (vulkan_image.cpp, image_transfer.cpp, image_launch.cpp, image_lending.cpp).
    std::shared_ptr<Image> make_image(const ImageShape& shape);
    /// An application's image as an image of this device: the same object for one image of the same shape.
    std::shared_ptr<Image> lend(const ImageShape& shape, const LentImage& image);
    /// Brings the application's images into the layouts that it was promised.
    void give_back_images();
    /// Promises the application that each submission leaves the image in this layout, and finds it there again.
    void share(Image& image, VkImageLayout layout);

    Context context;
    DiskCache cache;
    const std::string cache_key;  ///< device and driver
    PipelineCache pipelines;
    DeviceMemory memory;       ///< guarded by queue.mutex
    ImageMemory image_memory;  ///< guarded by queue.mutex
    Samplers samplers;         ///< guarded by queue.mutex
    Queries queries;           ///< guarded by queue.mutex
    TracedCommands traced;     ///< guarded by queue.mutex
    Queue queue;
    StagingBlocks recorded_blocks;  ///< values that recorded commands read
    /// Descriptor pools of released recordings, and blocks and pools of recordings that failed. Guarded by queue.mutex.
    std::vector<VkDescriptorPool> unused_pools, abandoned_pools;
    std::vector<std::shared_ptr<MemoryBlock>> abandoned_blocks;
    InteropFunctions interop;                  ///< of a wrapped device
    std::shared_ptr<void> recording_messages;  ///< listen_while_recording

private:
    friend class Buffer;
    friend class Image;
    friend class VulkanProgram;
    friend class TimelineEvent;
    friend class Stamp;
    friend class CommandRecorder;
    struct VulkanStream {
        Priority priority = Priority::normal;
        uint64_t last = 0;  // timeline value of its last command
    };

    std::shared_ptr<VulkanDevice> self() { return std::static_pointer_cast<VulkanDevice>(shared_from_this()); }
    MemoryRange allocate_range(int64_t bytes);
    void write_staged(Buffer& to, int64_t offset, const std::byte* from, int64_t bytes, int stream);
    void read_staged(Buffer& from, int64_t offset, std::byte* to, int64_t bytes);
    void fill_staged(Buffer& to, int64_t offset, int64_t bytes, const std::byte* pattern, int64_t pattern_size, int stream);
    template <class Record>
    void record_traced(const char* name, std::span<const BufferAccess> accesses, bool ahead, const Record& record);
    void copy_between(Buffer& from, int64_t from_offset, Buffer& to, int64_t to_offset, int64_t bytes, int stream);
    Staging::Piece take_upload(int64_t bytes);
    void refuse_download() const;
    template <class Barrier> void record_ownership(const BufferAccess& all, Barrier barrier, FdKind kind, bool take);
    uint64_t copy_out(Buffer& from, int64_t offset, Staging::Piece& piece, bool ahead);
    void used(Buffer& buffer, bool write);
    void used(TimelineUse& resource, bool write);
    uint64_t after(const TimelineUse& resource, bool write, int stream) const;
    bool goes_ahead(const Buffer& buffer, bool write, int stream);
    void touched(int stream);

    void copy_texels(Image& image, const BufferAccess& buffer_access, VkBuffer buffer, const VkBufferImageCopy& region,
                     bool to_image);
    void clear(Image& image);
    void allocate_shared(MemoryBlock& block, int64_t bytes, uint32_t memory_type, uint32_t type, const SharedMemory* from,
                         void* host, VkImage dedicated);
    // for a launch; queue.mutex is held
    Transitions transitions_for(const ShaderPermutation& permutation, const Launch& launch);
    void list_images(const ShaderPermutation::RecordedLaunch& recorded, const Launch& launch);
    uint64_t after_images(const ShaderPermutation& permutation, const Launch& launch) const;
    bool bind_images(ShaderPermutation& permutation, const Launch& launch);
    void used_images(const ShaderPermutation& permutation, const Launch& launch, const Transitions& transitions);
    void borrow(Image& image);     // queue.mutex is held
    void give_back(Image& image);  // likewise

    using BufferRanges = ShaderPermutation::BufferRanges;
    void launch_now(const VulkanProgram& program, const Launch& launch, std::atomic<uint64_t>* last = nullptr);
    uint64_t record_slices(const ShaderPermutation::RecordedLaunch& recorded, const Launch& launch,
                           std::span<const GroupRange> parts, Pace& pace, bool timed, std::atomic<uint64_t>* last = nullptr);
    bool launch_again(const std::shared_ptr<Executable>& executable, const Launch& launch, CommandRecorder* recorder);
    void keep_launch(const ShaderPermutation::RecordedLaunch& recorded, const Launch& launch);
    KeptSet* take_set(ShaderPermutation& permutation);
    std::array<GroupRange, 3> take_probe(const ShaderPermutation::RecordedLaunch& recorded, const Launch& launch, Pace& pace);
    void read_pace(Pace& pace);
    std::optional<double> seconds_between(const Query& begin, const Query& end);
    bool has_pace(const Launch& launch) const;
    bool may_go_ahead(const ShaderPermutation& permutation, const Launch& launch) const;
    void require_addresses(const ir::Kernel& kernel, const ShaderPermutation& permutation, const Launch& launch) const;
    // launching; queue.mutex is held
    void list_accesses(const ShaderPermutation& permutation, const Launch& launch, const BufferRanges& buffer_ranges);
    void make_locks();  // without the mutex
    // likewise.
    std::optional<Staging::Piece> argument_block(const ShaderPermutation& permutation, const Launch& launch,
                                                 const BufferRanges& buffer_ranges);
    void bind_arrays(VkCommandBuffer commands, ShaderPermutation& permutation, const Launch& launch,
                     const BufferRanges& buffer_ranges, const Staging::Piece* block);
    bool take_binding(const ShaderPermutation& permutation, uint64_t batch);
    void bind_buffers(VkCommandBuffer commands, ShaderPermutation& permutation, std::span<const VkDescriptorBufferInfo> buffers,
                      bool is_bound, VkDescriptorSet written = VK_NULL_HANDLE);
    uint64_t field_value(const ShaderPermutation& permutation, const codegen::Field& field, const Launch& launch,
                         const BufferRanges& buffer_ranges) const;
    void fill_push_constants(const ShaderPermutation& permutation, const Launch& launch, const BufferRanges& buffer_ranges,
                             const Extents& groups, const Extents& base);
    void push_constants(VkCommandBuffer commands, const ShaderPermutation& permutation);
    void push_fields(VkCommandBuffer commands, const ShaderPermutation& permutation, const Launch& launch,
                     const BufferRanges& buffer_ranges, const Extents& groups, const Extents& base);
    void dispatch(VkCommandBuffer commands, const ShaderPermutation::RecordedLaunch& recorded, const Launch& launch,
                  const GroupRange& groups);

    // print and require (vulkan_reports.cpp)
    struct ReportRing {
        std::unique_ptr<Buffer> buffer;
        struct Launched {
            uint32_t number;  // from Reports::add
            // The value of its last command, or not_recorded. It is set before that command can be submitted, so that all
            // launches up to a value that is reached are known.
            std::shared_ptr<std::atomic<uint64_t>> value;
        };
        static constexpr uint64_t not_recorded = UINT64_MAX;
        std::vector<Launched> launches;  // since the ring was cleared, and not taken yet
        int beginning = 0;               // launches that are not in `launches` yet
        int64_t expected = 0;            // words that these launches write if every item prints each line once
        Reports::RingProgress taken;     // since the ring was cleared
        const bool of_calls;             // for launches of calls, which may go ahead of all others
    };
    void launch_reporting(const VulkanProgram& program, const Launch& launch);
    ReportRing& ring_for(int64_t words);
    ReportRing* ring_with_room(int64_t words);
    std::unique_ptr<ReportRing> new_ring(bool is_read_in_place = false);
    void clear_ring(ReportRing& ring, size_t words);
    void read_ring(const ReportRing& ring, size_t first, std::span<uint32_t> to);
    void take_ring(ReportRing& ring, uint64_t done);
    void take_reports();
    void settle();
    std::vector<uint32_t> read_records(const ReportRing& ring, size_t first, size_t count);
    ReportRing& recorded_ring(const CommandRecorder& recorder);
    /// Takes what executions of the recording have reported; they are over. `is_last`: there will be no further ones.
    void take_recorded(const CommandRecorder& recorder, bool is_last);
    void abandon_recorded(const CommandRecorder& recorder);

    /// A launch that reports uses one ring, or another one if that has no room until a call returns. Nothing waits with `mutex`
    /// held. Readers of the rings hold `taking`, also during copies that wait for no call.
    struct {
        std::mutex taking, mutex;  // locked in this order, before the queue's mutex
        std::vector<std::unique_ptr<ReportRing>> rings;
        std::atomic<bool> used = false;
        /// The ring of a recording, and the numbers of its launches, which run at each execution.
        struct RecordingRing {
            std::unique_ptr<ReportRing> ring;
            std::vector<uint32_t> numbers;
        };
        std::map<const CommandRecorder*, RecordingRing> recorded;
        std::vector<std::unique_ptr<ReportRing>> unused, abandoned;  // of released recordings, and of those that failed
    } reporting;
    /// Locks for 64-bit atomics on a device without them (emit_locks.cpp): zero whenever no kernel runs. Made at
    /// first use.
    struct {
        std::atomic<bool> made = false;
        std::unique_ptr<Buffer> words;  // guarded by queue.mutex
    } locks;
    std::atomic<uint64_t> staging_ids;  // numbers of staging blocks in the hazard tracker
    Staging upload, download;
    StagingBlocks own_blocks;                                  // for asynchronous reads
    std::map<VkBuffer, std::weak_ptr<Buffer>> lent;            // application's buffers; guarded by queue.mutex
    std::map<VkImage, std::weak_ptr<Image>> lent_images;       // guarded by queue.mutex
    std::vector<Image*> borrowed;                              // images of the application to give back; guarded by queue.mutex
    std::atomic<uint64_t> next_image_id;                       // numbers of images in the hazard tracker
    MemoryRange dummy;                                         // bound for an array of no elements
    std::vector<VulkanStream> streams;                         // by id; 0 is the default one
    std::vector<int> unused_streams;                           // released ones
    std::shared_ptr<TimelineEvent> last_event;                 // most launches share that of the previous launch
    std::vector<std::shared_ptr<ShaderPermutations>> kernels;  // alive ones; guarded by queue.mutex
    std::vector<BufferAccess> accesses;                        // of the command being recorded
    std::vector<std::byte> push;                               // its push constants
    std::vector<VkDescriptorBufferInfo> descriptors;           // its buffers

    /// Last bindings of the batch being recorded. Drivers copy descriptors and push constants at every call, so a launch like the
    /// previous one skips them.
    struct LastBinding {
        uint64_t batch = 0;
        const ShaderPermutation* permutation = nullptr;  // the permutation whose buffers are bound
        std::vector<std::byte> push;                     // empty if nothing was pushed for it
    } bound;
};

/// The backend of a device that wrap() made; throws Error, which names the function `what`, for another device.
VulkanDevice& wrapped(const pumice::Device& device, const char* what);

}  // namespace pumice::vulkan
