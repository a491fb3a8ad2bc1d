// Work of Pumice in the application's command buffers.
#include <thread>
#include <utility>

#include "tests/frames/frame_test.h"
#include "vulkan/vulkan_device.h"

namespace {

using namespace pumice;
using tests::calls;
using tests::CommandBuffer;
using tests::error_of;
using vulkan::Recording;
using vulkan::Scope;

const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
});
const auto square =
    kernel("square", [](Out<float> y, In<float> x) { y[global_index()] = x[global_index()] * x[global_index()]; });
const auto talks = kernel("talks", [](InOut<float> y) { print("y={}", y[global_index()]); });

class Record : public tests::FrameTest {};

TEST_F(Record, LaunchesCopiesFillsAndUploadsExecuteInOrderEachTime) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(1000), x = device.zeros<float>(1000), z = device.zeros<float>(1000);
    CommandBuffer commands(*app);
    commands.begin();
    const Recording recording = vulkan::record(device, commands.handle, [&] {
        x.fill(2.0f);
        saxpy(ndrange(1000), y, x, 3.0f);                     // y += 6
        z.copy_from(y);                                       // z = y
        x.copy_from(std::vector<float>(1000, 0.5f));          // captured here
        saxpy(ndrange(1000), y, x, 2.0f);                     // y += 1
        z.slice(10, 20).copy_from(x.slice(0, 10));            // z[10..20) = 0.5
        z.slice(100, 200).copy_from(z.slice(150, 250));       // a region onto itself
        const Array<float> more = device.zeros<float>(1000);  // zero at each execution, released while it is recorded
        saxpy(ndrange(1000), more, x, 1.0f);
        saxpy(ndrange(1000), y, more, 2.0f);  // y += 1
    });
    commands.end();
    EXPECT_EQ(y.download(), std::vector<float>(1000, 0.0f));  // nothing has run
    for (int time = 1; time <= 3; ++time) {
        commands.execute();
        ASSERT_EQ(y.download(), std::vector<float>(1000, 8.0f * float(time)));
        std::vector<float> expected(1000, 8.0f * float(time - 1) + 6);
        std::fill(expected.begin() + 10, expected.begin() + 20, 0.5f);
        ASSERT_EQ(z.download(), expected);
    }
}

TEST_F(Record, FramesMakeNoSubmissionAndNoObjectAfterTheFirst) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(4096), x = device.full<float>(4096, 1.0f);
    CommandBuffer commands(*app);
    Recording recording(device);
    const auto frame = [&](int number) {
        recording.release();
        commands.reset();
        commands.begin();
        recording.record(commands.handle, [&] {
            for (int i = 0; i < 100; ++i) saxpy(ndrange(4096), i % 2 ? x : y, i % 2 ? y : x, i % 2 ? 0.0f : 1.0f);
            const Array<float> between = device.zeros<float>(512);
            between.copy_from(std::vector<float>(512, float(number)));
        });
        commands.end();
    };
    for (int warm = 0; warm < 2; ++warm) {
        frame(warm);
        commands.execute();
    }
    for (auto& [name, count] : calls()) count = 0;
    for (int number = 0; number < 5; ++number) {
        frame(number);
        commands.execute();  // by functions that count nothing
    }
    for (auto& [name, count] : calls()) {
        if (name.starts_with("vkCmd")) continue;
        EXPECT_EQ(count, 0) << name;
    }
    EXPECT_EQ(calls()["vkCmdDispatch"], 500);
    EXPECT_EQ(y.get(7), 50.0f * 7);
}

TEST_F(Record, WorkGivenBeforeIsSubmittedBefore) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    saxpy(ndrange(64), y, x, 1.0f);  // not submitted yet
    calls()["vkQueueSubmit"] = 0;
    CommandBuffer commands(*app);
    commands.begin();
    Recording recording = vulkan::record(device, commands.handle, [&] { saxpy(ndrange(64), y, y.clone(), 1.0f); });
    EXPECT_EQ(calls()["vkQueueSubmit"], 1);
    commands.end();
    commands.execute();
    saxpy(ndrange(64), y, x, 1.0f);  // after the application's command buffer
    EXPECT_EQ(y.download(), std::vector<float>(64, 3.0f));
}

/// Two recordings in flight, each with launches that come again, and arrays that live for one frame.
TEST_F(Record, FramesInFlightKeepWhatTheirLaunchesBind) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    std::vector<Array<float>> many;
    for (int k = 0; k < 12; ++k) many.push_back(device.full<float>(64, float(k)));
    CommandBuffer first(*app), second(*app);
    Recording recordings[2] = {Recording(device), Recording(device)};
    float sum = 0;
    for (int number = 0; number < 12; ++number) {
        CommandBuffer& commands = number % 2 ? second : first;
        Recording& recording = recordings[number % 2];
        recording.release();
        commands.reset();
        commands.begin();
        recording.record(commands.handle, [&] {
            const Array<float> own = device.zeros<float>(64);
            saxpy(ndrange(64), own, x, float(number));
            saxpy(ndrange(64), y, own, 1.0f);
            for (int again = 0; again < 2; ++again) saxpy(ndrange(64), y, many[size_t(number)], 1.0f);
        });
        commands.end();
        sum += 3.0f * float(number);
        if (number % 2 == 0) continue;
        first.execute();
        second.execute();
        ASSERT_EQ(y.download(), std::vector<float>(64, sum)) << number;
        second.execute();  // once more, as it is
        sum += 3.0f * float(number);
        ASSERT_EQ(y.download(), std::vector<float>(64, sum)) << number;
    }
}

PFN_vkCmdPipelineBarrier real_barrier = nullptr;
struct Barrier {
    VkPipelineStageFlags from, to;
    VkAccessFlags written, used;
    bool operator==(const Barrier&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Barrier& b) {
    return out << std::hex << b.from << " " << b.written << " -> " << b.to << " " << b.used << std::dec;
}
std::vector<Barrier> barriers;
VKAPI_ATTR void VKAPI_CALL noted_barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
                                         VkDependencyFlags flags, uint32_t count, const VkMemoryBarrier* memory, uint32_t,
                                         const VkBufferMemoryBarrier*, uint32_t, const VkImageMemoryBarrier*) {
    barriers.push_back({from, to, memory->srcAccessMask, memory->dstAccessMask});
    real_barrier(commands, from, to, flags, count, memory, 0, nullptr, 0, nullptr);
}

TEST_F(Record, BarriersAreThoseThatTheCommandsAndTheScopesNeed) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), z = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    device.synchronize();
    auto& vk = static_cast<vulkan::VulkanDevice&>(*device.state->backend).context.vk;
    real_barrier = std::exchange(vk.CmdPipelineBarrier, noted_barrier);
    CommandBuffer commands(*app);
    Recording recording(device);
    const auto recorded = [&](const vulkan::Around& around, const std::function<void()>& act) {
        barriers.clear();
        commands.reset();
        commands.begin();
        recording.record(commands.handle, act, around);
        commands.end();
        return barriers;
    };
    constexpr VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, transfer = VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   ours = compute | transfer, indirect = VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
                                   draw = VK_PIPELINE_STAGE_VERTEX_SHADER_BIT, all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    constexpr VkAccessFlags stored = VK_ACCESS_SHADER_WRITE_BIT, read = VK_ACCESS_SHADER_READ_BIT,
                            counts = VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
                            any = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                                  VK_ACCESS_TRANSFER_WRITE_BIT,
                            memory = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const auto add = [&](const Array<float>& to) { saxpy(ndrange(64), to, x, 1.0f); };
    // Without scopes: towards everything.
    EXPECT_EQ(
        recorded({}, [&] { add(y); }),
        (std::vector<Barrier>{{all, ours | indirect, VK_ACCESS_MEMORY_WRITE_BIT, any | counts}, {compute, all, stored, memory}}));
    // Independent launches need none, dependent ones one each.
    const vulkan::Around none{{}, {}, {}};
    EXPECT_EQ(recorded(none, [&] { add(y), add(z); }), (std::vector<Barrier>{}));
    EXPECT_EQ(recorded(none, [&] { add(y), add(z), add(y); }), (std::vector<Barrier>{{compute, ours, stored, any}}));
    EXPECT_EQ(recorded(none, [&] { y.fill(1.0f), add(y); }),
              (std::vector<Barrier>{{transfer, ours, VK_ACCESS_TRANSFER_WRITE_BIT, any}}));
    // Only an indirect dispatch has a barrier towards its numbers of groups, which a launch before it computes.
    const Array<int> count = device.full<int>(1, 64);
    device.synchronize();
    const std::vector<Barrier> of_indirect = recorded(none, [&] { saxpy(pumice::indirect(count, 64), y, x, 1.0f), add(y); });
    ASSERT_EQ(of_indirect.size(), 3u);
    EXPECT_EQ(of_indirect[0], (Barrier{compute, ours | indirect, stored, any | counts}));
    EXPECT_EQ(of_indirect[1], (Barrier{compute, ours, stored, any}));
    EXPECT_EQ(of_indirect[2].to & VK_PIPELINE_STAGE_HOST_BIT,
              VkPipelineStageFlags(VK_PIPELINE_STAGE_HOST_BIT));  // a report of the counts
    // The application's accesses to one array: only where they meet the commands, and not where both read.
    const auto with = [](const Array<float>& array, Scope before, Scope after) {
        return vulkan::Around{{}, {}, {vulkan::scope(array, before, after)}};
    };
    EXPECT_EQ(recorded(with(y, {draw, read}, {draw, read}), [&] { add(z), add(y); }),
              (std::vector<Barrier>{{draw, ours, 0, any}, {compute, draw, stored, read}}));
    EXPECT_EQ(recorded(with(x, {draw, read}, {draw, read}), [&] { add(z); }),
              (std::vector<Barrier>{{compute, draw, stored, read}}));
    EXPECT_EQ(recorded(with(y, {draw, stored}, {draw, read}), [&] { add(z); }), (std::vector<Barrier>{}));
    vk.CmdPipelineBarrier = real_barrier;
}

TEST_F(Record, SecondaryBuffers) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    CommandBuffer secondary(*app, VK_COMMAND_BUFFER_LEVEL_SECONDARY), primary(*app);
    secondary.begin();
    const Recording recording = vulkan::record(device, secondary.handle, [&] {
        saxpy(ndrange(64), y, x, 1.0f);
        saxpy(ndrange(64), y, x, 1.0f);
    });
    secondary.end();
    primary.begin();
    reinterpret_cast<PFN_vkCmdExecuteCommands>(app->functions.GetDeviceProcAddr(app->device, "vkCmdExecuteCommands"))(
        primary.handle, 1, &secondary.handle);
    primary.end();
    primary.execute();
    EXPECT_EQ(y.download(), std::vector<float>(64, 2.0f));
}

TEST_F(Record, AReleasedArrayAndKernelLiveUntilTheRecordingIsReleased) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64);
    const int64_t before = device.memory_in_use();
    CommandBuffer commands(*app);
    commands.begin();
    Recording recording;
    {
        const auto passing = kernel("passing", [](InOut<float> y, In<float> x) { y[global_index()] += x[global_index()]; });
        const Array<float> x = device.full<float>(64, 5.0f);
        recording = vulkan::record(device, commands.handle, [&] { passing(ndrange(64), y, x); });
        x.release();
        EXPECT_EQ(error_of([&] { x.download(); }), "an array is used after its release()");
    }
    commands.end();
    EXPECT_EQ(device.memory_in_use(), before + 256);
    for (int i = 0; i < 4; ++i) (void)device.full<float>(64, -1.0f);  // would take the place of x
    commands.execute();
    EXPECT_EQ(y.download(), std::vector<float>(64, 5.0f));
    recording.release();
    EXPECT_EQ(device.memory_in_use(), before);
}

TEST_F(Record, ADeviceWithoutHandlesLivesUntilTheRecordingIsReleased) {
    CommandBuffer commands(*app);
    Recording recording;
    {
        const Device device = wrap();
        const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
        commands.begin();
        recording = vulkan::record(device, commands.handle, [&] { saxpy(ndrange(64), y, x, 1.0f); });
        commands.end();
    }
    commands.execute();
    recording.release();
}

/// Nothing is lost: what was recorded before the error executes, and the buffer takes more.
TEST_F(Record, WhatNoCommandBufferCanHoldIsAnError) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    const Stream stream = device.stream();
    const Event earlier = saxpy(ndrange(64), device.zeros<float>(64), x, 1.0f);
    CommandBuffer commands(*app);
    commands.begin();
    Recording recording(device);
    std::vector<float> host(64);
    const VkSemaphore semaphore = app->timeline();
    const auto refused = [&](const std::function<void()>& act) {
        return error_of([&] {
            recording.record(commands.handle, [&] {
                saxpy(ndrange(64), y, x, 1.0f);
                act();
            });
        });
    };
    const std::string inside = "inside vulkan::record, ",
                      cannot = ": a command buffer cannot hold that; it belongs before or after the recording";
    EXPECT_EQ(refused([&] { y.download(); }), inside + "an array is copied to the host" + cannot);
    EXPECT_EQ(refused([&] { y.get(3); }), inside + "an array is copied to the host" + cannot);
    EXPECT_EQ(refused([&] { y.copy_to(host, stream); }), inside + "an array is copied to the host" + cannot);
    EXPECT_EQ(refused([&] { device.synchronize(); }), inside + "the host waits for the device" + cannot);
    EXPECT_EQ(refused([&] { stream.call([] {}); }), inside + "a host function is called by a stream (Stream::call)" + cannot);
    EXPECT_EQ(refused([&] { saxpy(ndrange(64), x, y, 0.0f).wait(); }),
              "the end of a launch inside vulkan::record is waited for: the application knows when its command buffer has "
              "executed, and Pumice does not");
    EXPECT_NE(refused([&] { saxpy(ndrange(64).timed(), x, y, 0.0f).elapsed(); }), "no error");
    EXPECT_EQ(refused([&] { recording.record(commands.handle, [] {}); }),
              "vulkan::record is called inside vulkan::record: a thread records into one command buffer at a time");
    EXPECT_EQ(refused([&] { vulkan::submit(device); }), inside + "work is submitted (vulkan::submit)" + cannot);
    EXPECT_EQ(refused([&] { vulkan::wait_for(device, vulkan::Point{semaphore, 0}); }),
              inside + "a semaphore is waited for (vulkan::wait_for)" + cannot);
    commands.end();
    commands.execute();
    EXPECT_EQ(y.download(), std::vector<float>(64, 10.0f));
    earlier.wait();
    app->vk.DestroySemaphore(app->device, semaphore, nullptr);
}

TEST_F(Record, WhatASimpleRecordingKeepsSurvivesItsError) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64);
    CommandBuffer commands(*app);
    commands.begin();
    EXPECT_NE(error_of([&] {
                  vulkan::record(device, commands.handle, [&] {
                      const Array<float> x = device.full<float>(64, 4.0f);
                      saxpy(ndrange(64), y, x, 1.0f);
                      y.download();
                  });
              }),
              "no error");
    commands.end();
    for (int i = 0; i < 4; ++i) (void)device.full<float>(64, -1.0f);
    commands.execute();
    EXPECT_EQ(y.download(), std::vector<float>(64, 4.0f));
}

TEST_F(Record, MisuseIsAnError) {
    const Device device = wrap(), interp = Device::open("interp");
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    CommandBuffer commands(*app);
    EXPECT_EQ(error_of([&] { vulkan::record(interp, commands.handle, [] {}); }),
              "vulkan::record is called for interp, which is no device of an application's (vulkan::wrap)");
    EXPECT_EQ(error_of([&] { vulkan::record(device, nullptr, [] {}); }),
              "vulkan::record is called for no command buffer: the handle is null");
    EXPECT_EQ(error_of([&] { Recording().record(commands.handle, [] {}); }),
              "Recording::record is called for a recording without a device");
    EXPECT_EQ(error_of([&] { vulkan::record(device, commands.handle, [] {}, {.state = vulkan::BufferState::in_render_pass}); }),
              "vulkan::record is called for a command buffer that is inside a render pass: it has to be begun, and outside of a "
              "render pass");
    commands.begin();
    const Array<float> other = interp.zeros<float>(4);
    EXPECT_EQ(error_of([&] {
                  vulkan::record(device, commands.handle, [] {}, {.arrays = {vulkan::scope(other, {}, {})}});
              }).substr(0, 66),
              "vulkan::record is given the scope of an array on interp, and recor");
    commands.end();
}

/// The application has the validation layer on: the layer's message becomes an Error, and the driver does not see the call.
TEST_F(Record, ABufferThatIsNotBegunIsAnErrorUnderValidation) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    saxpy(ndrange(64), y, x, 1.0f);
    vulkan::submit(device);
    CommandBuffer commands(*app);
    const std::string message =
        error_of([&] { vulkan::record(device, commands.handle, [&] { saxpy(ndrange(64), y, x, 1.0f); }); });
    EXPECT_NE(message.find("the Vulkan validation layer finds a fault in commands that are recorded for the application"),
              std::string::npos)
        << message;
    app->messages.clear();
    commands.begin();
    const Recording recording = vulkan::record(device, commands.handle, [&] { saxpy(ndrange(64), y, x, 1.0f); });
    commands.end();
    commands.execute();
    EXPECT_EQ(y.download(), std::vector<float>(64, 2.0f));
}

TEST_F(Record, ThreadsRecordAtTheSameTimeAsOthersLaunch) {
    const Device device = wrap();
    constexpr int threads = 3, frames = 30;
    std::vector<std::thread> all;
    std::vector<Array<float>> results;
    for (int t = 0; t < threads; ++t) results.push_back(device.zeros<float>(64));
    const Array<float> x = device.full<float>(64, 1.0f), direct = device.zeros<float>(64);
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            CommandBuffer commands(*app);
            for (int frame = 0; frame < frames; ++frame) {
                commands.reset();
                commands.begin();
                Recording recording = vulkan::record(device, commands.handle, [&] {
                    for (int i = 0; i < 5; ++i) saxpy(ndrange(64), results[size_t(t)], x, 1.0f);
                });
                commands.end();
                commands.execute();
            }
        });
    for (int i = 0; i < 300; ++i) saxpy(ndrange(64), direct, x, 1.0f);
    for (std::thread& thread : all) thread.join();
    for (const Array<float>& result : results) EXPECT_EQ(result.download(), std::vector<float>(64, 5.0f * frames));
    EXPECT_EQ(direct.download(), std::vector<float>(64, 300.0f));
}

// ---- reports ----

TEST_F(Record, AnIndirectRangeTakesItsCountsAtEachExecution) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    const Array<int> counts = device.full<int>(1, 32);
    CommandBuffer commands(*app);
    commands.begin();
    Recording recording(device);
    recording.record(commands.handle, [&] {
        saxpy(indirect(counts, 64), y, x, 1.0f);
        saxpy(ndrange(64), y, x, 10.0f);
    });
    commands.end();
    commands.execute();
    recording.report();
    EXPECT_EQ(y.get(31), 11.0f);
    EXPECT_EQ(y.get(32), 10.0f);
    counts.fill(33);
    device.synchronize();
    commands.execute();
    recording.report();
    EXPECT_EQ(y.get(32), 21.0f);
    EXPECT_EQ(y.get(33), 20.0f);
}

TEST_F(Record, ACountBeyondItsLimitIsClampedAndReported) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    const Array<int> counts = device.full<int>(1, 40);
    CommandBuffer commands(*app);
    commands.begin();
    Recording recording(device);
    recording.record(commands.handle, [&] { saxpy(indirect(counts, 32), y, x, 1.0f); });
    commands.end();
    commands.execute();
    commands.execute();
    const std::string message = error_of([&] { recording.report(); });
    EXPECT_NE(
        message.find("Kernel \"saxpy\" fails a requirement: its indirect range has a count of 40 along dimension 0, and counts "
                     "are from 0 to 32: it takes 32"),
        std::string::npos)
        << message;
    EXPECT_NE(message.find("1 more requirement fails"), std::string::npos) << message;
    EXPECT_EQ(error_of([&] { recording.report(); }), "no error");  // it is said once
    std::vector<float> expected(64, 2.0f);
    std::fill(expected.begin() + 32, expected.end(), 0.0f);
    EXPECT_EQ(y.download(), expected);
    counts.fill(3);
    device.synchronize();
    commands.execute();
    EXPECT_EQ(error_of([&] { recording.report(); }), "no error");
    EXPECT_EQ(y.get(2), 3.0f);
    EXPECT_EQ(y.get(3), 2.0f);
}

TEST_F(Record, AReportThatNobodyAsksForIsSaidAtTheNextWaitAfterTheRelease) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    const Array<int> counts = device.full<int>(1, 40);
    CommandBuffer commands(*app);
    commands.begin();
    Recording recording(device);
    recording.record(commands.handle, [&] { saxpy(indirect(counts, 32), y, x, 1.0f); });
    commands.end();
    commands.execute();
    recording.release();
    EXPECT_NE(error_of([&] { device.synchronize(); }).find("a count of 40"), std::string::npos);
    EXPECT_EQ(error_of([&] { device.synchronize(); }), "no error");
}

TEST_F(Record, PrintsAreLinesOfEachExecution) {
    const Device device = wrap();
    std::vector<std::string> lines;
    device.on_print([&](const std::string& line) { lines.push_back(line); });
    const Array<float> y = device.full<float>(2, 1.0f), x = device.full<float>(2, 1.0f);
    CommandBuffer commands(*app);
    commands.begin();
    Recording recording(device);
    recording.record(commands.handle, [&] {
        talks(ndrange(2), y);
        saxpy(ndrange(2), y, x, 1.0f);
    });
    commands.end();
    commands.execute();
    recording.report();
    EXPECT_EQ(lines, (std::vector<std::string>{"y=1", "y=1"}));
    lines.clear();
    talks(ndrange(1), y);  // launches of the queue have another ring
    device.synchronize();
    EXPECT_EQ(lines, (std::vector<std::string>{"y=2"}));
    lines.clear();
    commands.execute();
    commands.execute();
    recording.report();  // item after item, and of each in the order of the executions
    EXPECT_EQ(lines, (std::vector<std::string>{"y=2", "y=3", "y=2", "y=3"}));
    EXPECT_NE(
        error_of([&] { recording.record(commands.handle, [&] { recording.report(); }); }).find("reports of recorded commands"),
        std::string::npos);
}

TEST_F(Record, FramesWithIndirectRangesMakeNoObjectAfterTheFirst) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), x = device.full<float>(64, 1.0f);
    const Array<int> counts = device.full<int>(1, 32);
    CommandBuffer commands(*app);
    Recording recording(device);
    const auto frame = [&] {
        recording.release();
        commands.reset();
        commands.begin();
        recording.record(commands.handle, [&] {
            for (int i = 0; i < 10; ++i) saxpy(indirect(counts, 64), y, x, 1.0f);
        });
        commands.end();
        commands.execute();
    };
    for (int warm = 0; warm < 2; ++warm) frame();
    for (auto& [name, count] : calls()) count = 0;
    for (int number = 0; number < 3; ++number) frame();
    for (auto& [name, count] : calls()) {
        const bool is_made = name.starts_with("vkCreate") || name.starts_with("vkAllocate") || name == "vkQueueSubmit";
        EXPECT_EQ(is_made ? count.load() : 0, 0) << name;
    }
    recording.report();
    EXPECT_EQ(y.get(31), 50.0f);
    EXPECT_EQ(y.get(32), 0.0f);
}

// ---- programs and derivatives ----

TEST_F(Record, ADerivativeOfAKernel) {
    const Device device = wrap();
    const Array<float> y = device.zeros<float>(64), dy = device.zeros<float>(64), x = device.full<float>(64, 3.0f),
                       dx = device.zeros<float>(64);
    CommandBuffer commands(*app);
    commands.begin();
    const Recording recording = vulkan::record(device, commands.handle, [&] {
        dy.fill(1.0f);
        autodiff(Reverse, square, ndrange(64), Duplicated(y, dy), Duplicated(x, dx));
    });
    commands.end();
    commands.execute();
    EXPECT_EQ(dx.download(), std::vector<float>(64, 6.0f));
    commands.execute();
    EXPECT_EQ(dx.download(), std::vector<float>(64, 12.0f));
}

/// All of its tape, or two states of it, from which the reverse sweep runs the program again; on the default stream or another.
class RecordPrograms : public Record, public testing::WithParamInterface<std::tuple<bool, bool>> {};

TEST_P(RecordPrograms, AProgramAndItsReverse) {
    const bool checkpoints = std::get<0>(GetParam()), streams = std::get<1>(GetParam());
    const Device device = wrap();
    const Stream stream = device.stream();
    const auto steps = [&](const Array<float>& state, const Array<float>& force) {
        for (int step = 0; step < 9; ++step) {
            saxpy(streams ? ndrange(64).on(stream) : ndrange(64), state, force, 0.25f);
            const Array<float> next = device.empty<float>(64);
            square(ndrange(64), next, state);
            state.copy_from(next);
        }
    };
    const auto gradient = [&](const Array<float>& force, const Array<float>& shadow) {
        const Array<float> state = device.full<float>(64, 0.5f), adjoint = device.full<float>(64, 1.0f);
        if (checkpoints)
            autodiff(Reverse.checkpoints(2), steps, Duplicated(state, adjoint), Duplicated(force, shadow));
        else
            autodiff(Reverse, steps, Duplicated(state, adjoint), Duplicated(force, shadow));
    };
    const Array<float> force = device.full<float>(64, 0.75f), expected = device.zeros<float>(64), got = device.zeros<float>(64);
    gradient(force, expected);
    CommandBuffer commands(*app);
    commands.begin();
    const Recording recording = vulkan::record(device, commands.handle, [&] { gradient(force, got); });
    commands.end();
    EXPECT_EQ(got.get(0), 0.0f);
    commands.execute();
    EXPECT_EQ(got.download(), expected.download());
    EXPECT_GT(got.get(0), 0.0f);
    force.fill(0.5f);  // other values, the same commands
    got.fill(0.0f);
    expected.fill(0.0f);
    device.synchronize();
    gradient(force, expected);
    device.synchronize();
    commands.execute();
    EXPECT_EQ(got.download(), expected.download());
}
INSTANTIATE_TEST_SUITE_P(All, RecordPrograms, testing::Combine(testing::Bool(), testing::Bool()));

}  // namespace
