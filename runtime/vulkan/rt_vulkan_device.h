// The Vulkan back end: one open device, composed of its parts.
#pragma once
#include "runtime/vulkan/rt_vulkan_reports.h"

namespace pumice_rt::vulkan {

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

    Context context;
    Queue queue;
    Arrays arrays;

private:
    Streams streams;
    Transfers transfers;
    OwnMemory own;
    TimeStamps times;
    LaunchRecorder recorder;
    LaunchSlices slices;
    Kernels kernels;
    ReportRing ring;
};

}  // namespace pumice_rt::vulkan
