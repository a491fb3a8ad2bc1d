// The Vulkan back end: the parts of one open device.
#pragma once
#include "runtime/vulkan/rt_group_size.h"
#include "runtime/vulkan/rt_program.h"
#include "runtime/vulkan_context/rt_memory.h"
#include "runtime/vulkan_context/rt_pipeline_cache.h"
#include "runtime/vulkan_context/rt_queue.h"

namespace pumice_rt::vulkan {

/// A range of device memory, or an application's buffer.
struct VulkanMemory : pumice_memory_t {
    MemoryRange range;
    bool lent = false;  ///< the block is an application's buffer, and belongs to this object
    /// Timeline values of the last command that wrote, and of the last that accessed. Guarded by the queue's mutex.
    uint64_t last_write = 0, last_use = 0;
    VulkanMemory* next_released = nullptr;
};

struct VulkanStream : pumice_stream_t {
    uint64_t last = 0;  ///< timeline value of its last command; guarded by the queue's mutex
};

struct VulkanEvent : pumice_event_t {
    uint64_t value = 0;
};

/// All streams feed the one queue in the order of the calls, so that each stream is in order, and so are all of them together.
class VulkanDevice final : public pumice_device_t {
public:
    explicit VulkanDevice(const pumice_hooks& with);
    /// Opens the device; facts, plan and name are set. The caller closes it after a failure, too.
    pumice_status start(const Origin& origin);

    pumice_status allocate(int64_t bytes, pumice_memory* memory) override;
    void release(pumice_memory memory) override;
    pumice_status write(pumice_memory to, int64_t offset, const void* from, int64_t bytes) override;
    pumice_status read(pumice_memory from, int64_t offset, void* to, int64_t bytes) override;
    pumice_status fill(pumice_memory to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_bytes,
                       pumice_stream stream) override;
    pumice_status copy(pumice_memory from, int64_t from_offset, pumice_memory to, int64_t to_offset, int64_t bytes,
                       pumice_stream stream) override;
    pumice_status prepare(const Bundle& bundle, const pumice_library& library, uint32_t kernel) override;
    pumice_status launch(const Launch& launch) override;
    pumice_status create_stream(int priority, pumice_stream* stream) override;
    void release_stream(pumice_stream stream) override;
    pumice_status record(pumice_stream stream, pumice_event* event) override;
    pumice_status wait_for(pumice_stream stream, pumice_event event) override;
    pumice_status wait(pumice_event event) override;
    bool done(pumice_event event) override;
    void release_event(pumice_event event) override;
    pumice_status synchronize() override;
    void close() override;

    /// An application's buffer as memory of this device.
    pumice_status lend(VkBuffer buffer, int64_t offset, int64_t bytes, pumice_memory* memory);

    Context context;
    Queue queue;
    /// Room for a launch's push constants.
    struct PushBytes {
        char bytes[256];
    };

private:
    // Of a launch; the queue's mutex is held.
    struct BoundRange {
        const MemoryBlock* block;
        int64_t begin, end;
    };
    struct RecordedLaunch {
        const Launch& launch;
        const Shader& shader;
        Pipeline& pipeline;
        uint32_t number = 0;       // of a launch that reports
        int64_t block_offset = 0;  // of the argument block
        int64_t groups[3] = {};    // of the whole range
        uint64_t value = 0;        // result: the timeline value of the launch
    };

    // rt_vulkan_device.cpp
    pumice_status allocate_range(int64_t bytes, MemoryRange& range);
    pumice_status try_allocate(int64_t bytes, bool spare, MemoryRange& range);
    void collect_memory();
    void free_memory(VulkanMemory* memory);
    void touch(VulkanMemory& memory, bool write);
    void touch(pumice_stream stream);

    // rt_transfer.cpp
    pumice_status need(StagingRing& ring, uint32_t memory_type);
    pumice_status take(StagingRing& ring, int64_t bytes, int64_t& offset);
    pumice_status write_staged(VulkanMemory& to, int64_t offset, const char* from, int64_t bytes);
    pumice_status read_staged(VulkanMemory& from, int64_t offset, char* to, int64_t bytes);
    pumice_status fill_staged(VulkanMemory& to, int64_t offset, int64_t bytes, const char* pattern, int64_t pattern_bytes,
                              pumice_stream stream);
    pumice_status fill_words(VulkanMemory& to, int64_t offset, int64_t bytes, uint32_t value, pumice_stream stream);
    pumice_status copy_now(VulkanMemory& from, int64_t from_offset, VulkanMemory& to, int64_t to_offset, int64_t bytes,
                           pumice_stream stream);
    pumice_status copy_out(VulkanMemory& from, int64_t offset, int64_t piece, int64_t bytes, uint64_t& value);

    // rt_vulkan_launch.cpp
    VulkanProgram* find_program(const Bundle& bundle, uint32_t kernel);
    pumice_status set_group(Launch& launch) const;
    pumice_status choose(const Launch& launch, Shader*& shader, Pipeline*& pipeline, bool& missing);
    pumice_status build(const Launch& launch);
    pumice_status need_program(const Bundle& bundle, uint32_t kernel, VulkanProgram*& program);
    pumice_status record_part(RecordedLaunch& recorded, const GroupRange& part, bool timed);
    uint32_t list_accesses(const RecordedLaunch& recorded);
    BoundRange bound_range(const RecordedLaunch& recorded, const BindingRecord& binding) const;
    pumice_status bind_arrays(VkCommandBuffer commands, const RecordedLaunch& recorded);
    pumice_status fill_block(RecordedLaunch& recorded);
    uint64_t field_value(const RecordedLaunch& recorded, const FieldRecord& field) const;
    void push_fields(VkCommandBuffer commands, const RecordedLaunch& recorded, const int64_t (&base)[3]);
    void dispatch(VkCommandBuffer commands, const RecordedLaunch& recorded, const GroupRange& part);

    // rt_slices.cpp
    pumice_status record_launch(RecordedLaunch& recorded);
    pumice_status record_slices(RecordedLaunch& recorded, const GroupRange& range, double most, bool& first);
    void write_time(VkCommandBuffer commands, uint32_t query);
    bool begin_timing(VkCommandBuffer commands, Pace& pace);
    void read_pace(Pace& pace);

    // rt_vulkan_reports.cpp
    pumice_status launch_reporting(const Launch& launch);
    pumice_status need_ring();
    pumice_status clear_ring(size_t words);
    pumice_status take_lines();
    bool delivering_here() const;
    pumice_status settle();

    DeviceMemory memory;  // guarded by the queue's mutex
    PipelineCache pipelines;
    StagingRing arguments;         // argument blocks; guarded by the queue's mutex
    StagingRing upload, download;  // guarded by their mutexes
    // Locked in this order, and before the queue's mutex.
    Mutex building, reporting, uploading, downloading;
    VulkanMemory* released = nullptr;    // still in use by the device
    VulkanMemory* dummy = nullptr;       // bound for an array without elements
    VulkanMemory* lock_words = nullptr;  // for 64-bit atomics on a device without them: zero whenever no kernel runs
    uint64_t default_last = 0;           // timeline value of the default stream's last command
    static constexpr uint32_t program_lists = 64;
    VulkanProgram* programs[program_lists] = {};
    VulkanProgram* last_program = nullptr;

    /// The ring of print and require. Guarded by `reporting`.
    struct {
        VulkanMemory* memory = nullptr;
        int64_t expected = 0;  // words that its launches write if every item prints each line once
        uint64_t last = 0;     // timeline value of the last launch that may have written into it
        bool used = false;     // since it was cleared
        // Also read without the mutex.
        bool ever = false, delivers = false;
        pthread_t deliverer{};  // the thread that delivers lines
    } ring_state;

    /// Time stamps; guarded by the queue's mutex. Each bit is a timing that nobody uses.
    struct {
        VkQueryPool pool = VK_NULL_HANDLE;
        uint32_t unused = ~0u;
        Pace* paces[32] = {};
    } times;

    BufferAccess accesses[most_buffers];  // of the command being recorded
    VkDescriptorBufferInfo buffers[most_buffers];
    VkWriteDescriptorSet writes[most_buffers];
    /// Last bindings of the batch being recorded. Drivers copy descriptors and push constants at every call, so a launch like the
    /// previous one skips them.
    struct {
        uint64_t batch = 0;
        const Shader* shader = nullptr;  // whose buffers are bound
        uint32_t push_count = 0;         // 0: nothing was pushed for it
        PushBytes push;
    } bound;
    PushBytes push;
};

}  // namespace pumice_rt::vulkan
