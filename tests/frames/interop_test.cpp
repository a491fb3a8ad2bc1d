// Arrays that two processes have, and arrays in the host's memory.
#include <cstdlib>
#include <memory>

#include <unistd.h>

#include "tests/frames/frame_test.h"
#include "tests/frames/other_process.h"

namespace {

using namespace pumice;
using tests::error_of;
using tests::give_turn;
using tests::has_passed;
using tests::start_again;
using tests::take_turn;
using vulkan::FdKind;
using vulkan::Interop;
using vulkan::SharedMemory;
using vulkan::SharedSemaphore;

const auto step = kernel("step", [](InOut<int> y, Val<int> frame) {
    auto i = global_index();
    y[i] = frame * 1000 + i % 1000;
});

const auto step_on = kernel("step_on", [](InOut<int> y) { y[global_index()] += 1; });

constexpr int items = 5000;
constexpr int frames = 10000;
constexpr int ordered_frames = 200;

/// True if all elements are those of the frame.
bool is_frame(const std::vector<int>& y, int frame) {
    for (int i = 0; i < int(y.size()); ++i)
        if (y[size_t(i)] != frame * 1000 + i % 1000) return false;
    return true;
}

class Interoperability : public tests::FrameTest {};

TEST_F(Interoperability, TheTableSaysWhatTheDriverHas) {
    const Device device = wrap();
    const Interop can = vulkan::interop(device);
    std::printf(
        "%s: opaque out %d in %d, dma-buf out %d in %d, host alignment %d, binary semaphores out %d in %d, timeline out %d in "
        "%d\n",
        device.name().c_str(), can.opaque_out, can.opaque_in, can.dma_buf_out, can.dma_buf_in, int(can.host_alignment),
        can.binary_out, can.binary_in, can.timeline_out, can.timeline_in);
    EXPECT_EQ(error_of([&] { vulkan::interop(Device::open("interp")); }),
              "vulkan::interop is called for interp, which is no device of an application's (vulkan::wrap)");
    tests::VulkanApplication least(0, tests::VulkanApplication::Features::least);
    const Device bare = vulkan::wrap(least.application());
    EXPECT_FALSE(vulkan::interop(bare).opaque_out);
    EXPECT_NE(error_of([&] { vulkan::shareable<int>(bare, {8}); }).find("cannot give memory away as an opaque descriptor"),
              std::string::npos);
    if (!can.dma_buf_out) {
        EXPECT_NE(
            error_of([&] { vulkan::shareable<int>(device, {8}, FdKind::dma_buf); }).find("cannot give memory away as a dma-buf"),
            std::string::npos);
    }
}

/// The other process of the test below; alone, it does nothing.
TEST_F(Interoperability, OtherProcess) {
    const char* const given = std::getenv("PUMICE_TEST_SHARED");
    if (!given) GTEST_SKIP() << "SKIPPED: runs as the other process of TwoProcessesShareAnArray";
    SharedMemory memory;
    int in, out;
    long long bytes, allocated;
    ASSERT_EQ(std::sscanf(given, "%d %lld %lld %u %d %d", &memory.fd, &bytes, &allocated, &memory.memory_type, &in, &out), 6);
    memory.bytes = bytes, memory.allocated = allocated;
    const Device device = wrap();
    const Array<int> y = vulkan::shared<int>(device, memory, {items});
    for (int frame = 1; frame <= frames; frame += 2) {
        ASSERT_TRUE(take_turn(in));
        vulkan::acquire(y);
        ASSERT_TRUE(is_frame(y.download(), frame)) << frame;
        step(ndrange(items), y, frame + 1);
        vulkan::release(y);
        device.synchronize();
        ASSERT_TRUE(give_turn(out));
    }
}

TEST_F(Interoperability, TwoProcessesShareAnArray) {
    const Device device = wrap();
    if (const Interop can = vulkan::interop(device); !can.opaque_out || !can.opaque_in)
        GTEST_SKIP() << "SKIPPED: the driver shares no memory by opaque descriptors";
    const Array<int> y = vulkan::shareable<int>(device, {items});
    EXPECT_EQ(y.download(), std::vector<int>(items, 0));
    const SharedMemory memory = vulkan::share(y);
    int there[2], back[2];
    ASSERT_EQ(pipe(there), 0);
    ASSERT_EQ(pipe(back), 0);
    const int fd = dup(memory.fd);  // the driver's one is closed by exec
    ASSERT_GE(fd, 0);
    close(memory.fd);
    setenv("PUMICE_TEST_SHARED",
           text(fd, " ", memory.bytes, " ", memory.allocated, " ", memory.memory_type, " ", there[0], " ", back[1]).c_str(), 1);
    const pid_t child = start_again("Interoperability.OtherProcess");
    unsetenv("PUMICE_TEST_SHARED");
    ASSERT_GT(child, 0);
    close(fd), close(there[0]), close(back[1]);
    bool whole = true;
    for (int frame = 1; frame <= frames && whole; frame += 2) {
        if (frame > 1) vulkan::acquire(y);
        step(ndrange(items), y, frame);
        vulkan::release(y);
        device.synchronize();
        whole = give_turn(there[1]) && take_turn(back[0]);
        if (frame % 100 == 1 && whole) whole = is_frame(y.download(), frame + 1);
    }
    EXPECT_TRUE(whole);
    close(there[1]), close(back[0]);
    EXPECT_TRUE(has_passed(child));
    vulkan::acquire(y);
    EXPECT_TRUE(is_frame(y.download(), frames));
}

/// The other process of the test below; alone, it does nothing.
TEST_F(Interoperability, OtherProcessWithSemaphores) {
    const char* const given = std::getenv("PUMICE_TEST_SEMAPHORES");
    if (!given) GTEST_SKIP() << "SKIPPED: runs as the other process of TwoProcessesAreOrderedBySemaphores";
    SharedMemory memory;
    int forward, backward, is_timeline, in, out;
    long long bytes, allocated;
    ASSERT_EQ(std::sscanf(given, "%d %lld %lld %u %d %d %d %d %d", &memory.fd, &bytes, &allocated, &memory.memory_type, &forward,
                          &backward, &is_timeline, &in, &out),
              9);
    memory.bytes = bytes, memory.allocated = allocated;
    const Device device = wrap();
    const Array<int> y = vulkan::shared<int>(device, memory, {items});
    const SharedSemaphore ready = vulkan::shared_semaphore(device, forward, is_timeline != 0),
                          done = vulkan::shared_semaphore(device, backward, is_timeline != 0);
    for (int frame = 1; frame <= ordered_frames; ++frame) {
        ASSERT_TRUE(take_turn(in));  // the signal is submitted, as Vulkan wants it before a wait by another process
        vulkan::wait_for(device, ready.point(is_timeline ? uint64_t(frame) : 0));
        vulkan::acquire(y);
        step_on(ndrange(items), y);
        vulkan::release(y);
        vulkan::submit(device, {.signal = {done.point(is_timeline ? uint64_t(frame) : 0)}});
        ASSERT_TRUE(give_turn(out));
    }
    device.synchronize();
}

/// The hosts order the submissions only; the semaphores order the work.
TEST_F(Interoperability, TwoProcessesAreOrderedBySemaphores) {
    const Device device = wrap();
    const Interop can = vulkan::interop(device);
    if (!can.opaque_out || !can.opaque_in) GTEST_SKIP() << "SKIPPED: the driver shares no memory by opaque descriptors";
    const bool is_timeline = can.timeline_out && can.timeline_in;
    if (!is_timeline && !(can.binary_out && can.binary_in)) GTEST_SKIP() << "SKIPPED: the driver shares no semaphores";
    const Array<int> y = vulkan::shareable<int>(device, {items});
    const SharedSemaphore ready = vulkan::shareable_semaphore(device, is_timeline),
                          done = vulkan::shareable_semaphore(device, is_timeline);
    EXPECT_EQ(ready.is_timeline(), is_timeline);
    const SharedMemory memory = vulkan::share(y);
    int there[2], back[2];
    ASSERT_EQ(pipe(there), 0);
    ASSERT_EQ(pipe(back), 0);
    std::vector<int> own = {memory.fd, vulkan::share(ready), vulkan::share(done)}, given;
    for (const int fd : own) given.push_back(dup(fd)), close(fd);  // the driver's ones are closed by exec
    setenv("PUMICE_TEST_SEMAPHORES",
           text(given[0], " ", memory.bytes, " ", memory.allocated, " ", memory.memory_type, " ", given[1], " ", given[2], " ",
                int(is_timeline), " ", there[0], " ", back[1])
               .c_str(),
           1);
    const pid_t child = start_again("Interoperability.OtherProcessWithSemaphores");
    unsetenv("PUMICE_TEST_SEMAPHORES");
    ASSERT_GT(child, 0);
    for (const int fd : given) close(fd);
    close(there[0]), close(back[1]);
    bool whole = true;
    for (int frame = 1; frame <= ordered_frames && whole; ++frame) {
        if (frame > 1) {
            vulkan::wait_for(device, done.point(is_timeline ? uint64_t(frame - 1) : 0));
            vulkan::acquire(y);
        }
        step_on(ndrange(items), y);
        vulkan::release(y);
        vulkan::submit(device, {.signal = {ready.point(is_timeline ? uint64_t(frame) : 0)}});
        whole = give_turn(there[1]) && take_turn(back[0]);
    }
    EXPECT_TRUE(whole);
    EXPECT_TRUE(has_passed(child));
    close(there[1]), close(back[0]);
    vulkan::wait_for(device, done.point(is_timeline ? uint64_t(ordered_frames) : 0));
    vulkan::acquire(y);
    EXPECT_EQ(y.download(), std::vector<int>(items, 2 * ordered_frames));
}

TEST_F(Interoperability, SemaphoresThatTheDeviceCannotShareAreAnError) {
    const Device device = wrap();
    const Interop can = vulkan::interop(device);
    EXPECT_EQ(error_of([&] { vulkan::share(SharedSemaphore()); }), "vulkan::share is called for a semaphore that was never made");
    if (!can.timeline_out) {
        EXPECT_NE(error_of([&] { vulkan::shareable_semaphore(device, true); }).find("cannot give a timeline semaphore away"),
                  std::string::npos);
        EXPECT_NE(error_of([&] { vulkan::shared_semaphore(device, 0, true); }).find("cannot take a timeline semaphore"),
                  std::string::npos);
    }
    if (!can.binary_out) {
        EXPECT_NE(error_of([&] { vulkan::shareable_semaphore(device, false); }).find("cannot give a binary semaphore away"),
                  std::string::npos);
    } else {
        EXPECT_EQ(error_of([&] { vulkan::shared_semaphore(device, -1, false); }),
                  "a shared semaphore is taken from the descriptor -1, which is none");
    }
}

TEST_F(Interoperability, AnArrayInTheHostsMemory) {
    const Device device = wrap();
    const int64_t alignment = vulkan::interop(device).host_alignment;
    if (alignment == 0) {
        float host[1024];
        EXPECT_NE(error_of([&] { vulkan::host_array(device, std::span(host)); }).find("cannot use the host's memory in place"),
                  std::string::npos);
        GTEST_SKIP() << "SKIPPED: the driver does not import the host's memory";
    }
    const size_t bytes = size_t(alignment) * 2;
    const std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(size_t(alignment), bytes), std::free);
    const std::span<int> host(static_cast<int*>(memory.get()), bytes / 4);
    std::fill(host.begin(), host.end(), -1);
    {
        const Array<int> y = vulkan::host_array(device, host);
        EXPECT_EQ(y.download(), std::vector<int>(host.size(), -1));
        step(ndrange(host.size()), y, 3);
        device.synchronize();
        EXPECT_TRUE(is_frame({host.begin(), host.end()}, 3));
        step(ndrange(host.size()), y, 4);  // the array goes before its work is done
    }
    device.synchronize();
    EXPECT_TRUE(is_frame({host.begin(), host.end()}, 4));
    EXPECT_NE(error_of([&] { vulkan::host_array(device, host.subspan(1)); }).find("both have to be multiples of"),
              std::string::npos);
}

TEST_F(Interoperability, MisuseIsAnError) {
    const Device device = wrap();
    const Array<int> y = device.zeros<int>(64);
    EXPECT_EQ(error_of([&] { vulkan::share(y); }), "vulkan::share is called for an array that is not one of vulkan::shareable");
    if (!vulkan::interop(device).opaque_in) GTEST_SKIP() << "SKIPPED: the driver shares no memory by opaque descriptors";
    EXPECT_EQ(error_of([&] { vulkan::shared<int>(device, {}, {4}); }),
              "shared memory is taken from the descriptor -1, which is none");
    SharedMemory small;
    small.fd = 0, small.bytes = small.allocated = 64;
    EXPECT_EQ(error_of([&] { vulkan::shared<int>(device, small, {17}); }),
              "an array of 68 bytes is put into shared memory of 64 bytes");
    EXPECT_EQ(error_of([&] { vulkan::shareable<int>(device, {0}); }),
              "a shared array has extent 0 along dimension 0: extents are positive there");
}

}  // namespace
