// Faults that the checking device reports, except races: their exact sentences, and that the device goes on afterwards.
#include "core/interp/interp_test.h"

namespace pumice::interp_test {
namespace {

TEST_F(interp_check, reads_past_the_end) {
    const std::string copy = kernel(R"("copy" math contract rank 1 (arg1: out f32[1], arg2: in f32[1]))", R"(
        %i = global_index 0 : i32
        %x = load arg2[%i] : f32
        store arg1[%i], %x : f32
        return)");
    EXPECT_EQ(fault(*device, copy, {{16}}, {sixteen, eight}),
              "Kernel \"copy\" reads argument 2 at index 8, whose extent is 8 (work-item 8, k.cpp:2).");
    EXPECT_EQ(fault(*device, copy, {{8}}, {sixteen, eight}), "");
    EXPECT_EQ(fault(*device, copy, {{16}}, {eight, sixteen}),
              "Kernel \"copy\" writes argument 1 at index 8, whose extent is 8 (work-item 8, k.cpp:3).");
    EXPECT_EQ(fault(*device, copy, {{4}, {4}, {100}}, {sixteen, eight}),
              "Kernel \"copy\" reads argument 2 at index 100, whose extent is 8 (work-item 100, k.cpp:2).");
    DeviceArray<float> none{*device, {}};
    EXPECT_EQ(fault(*device, copy, {{4}}, {sixteen, none}),
              "Kernel \"copy\" reads argument 2 at index 0, whose extent is 0 (work-item 0, k.cpp:2).");
}

TEST_F(interp_check, every_dimension_has_its_bound) {
    const std::string fill = kernel(R"("fill" math contract rank 2 (arg1: out f32[2], arg2: i32))", R"(
        %j = global_index 0 : i32
        %i = global_index 1 : i32
        %d = argument arg2 : i32
        %k = add %j, %d : i32
        %x = constant 1.0 : f32
        store arg1[%i, %k], %x : f32
        return)");
    EXPECT_EQ(fault(*device, fill, {{2, 8}}, {grid, scalar(1)}),
              "Kernel \"fill\" writes argument 1 at index (0, 8), whose extents are (4, 8) (work-item (0, 7), k.cpp:6).");
    EXPECT_EQ(fault(*device, fill, {{2, 8}}, {grid, scalar(-1)}),
              "Kernel \"fill\" writes argument 1 at index (0, -1), whose extents are (4, 8) (work-item (0, 0), k.cpp:6).");
    EXPECT_EQ(fault(*device, fill, {{5, 8}}, {grid, scalar(0)}),
              "Kernel \"fill\" writes argument 1 at index (4, 0), whose extents are (4, 8) (work-item (4, 0), k.cpp:6).");
    EXPECT_EQ(fault(*device, fill, {{4, 8}}, {grid, scalar(0)}), "");

    const std::string linear = kernel(R"("linear" math contract rank 1 (arg1: inout f32[2]))", R"(
        %i = global_index 0 : i32
        %u = cast %i : u64
        %m = constant 18446744073709551615 : u64
        %far = sub %m, %u : u64
        %x = constant 1.0 : f32
        %old = atomic add arg1[%i], %x : f32
        %old2 = atomic add arg1[%far], %x : f32
        return)");
    EXPECT_EQ(
        fault(*device, linear, {{33}, {33}}, {grid}),
        "Kernel \"linear\" atomically updates argument 1 at linear index 32, which has 32 elements (work-item 32, k.cpp:6).");
    EXPECT_EQ(fault(*device, linear, {{1}}, {grid}),
              "Kernel \"linear\" atomically updates argument 1 at linear index "
              "18446744073709551615, which has 32 elements (work-item 0, k.cpp:7).");
}

TEST_F(interp_check, bounds_of_local_and_private_memory) {
    const std::string text = kernel(R"("bounds" math contract rank 1 (arg1: out f32[1], arg2: i32, arg3: i32))", R"(
        %l = local_index 0 : i32
        %a = argument arg2 : i32
        %b = argument arg3 : i32
        %x = constant 1.0 : f32
        %at = add %l, %a : i32
        store tile[%at], %x : f32
        store mine[%b], %x : f32
        %y = load mine[%b] : f32
        %z = load tile[%at] : f32
        %sum = add %y, %z : f32
        store arg1[%l], %sum : f32
        return)",
                                    "local tile: f32[16] @7\nprivate mine: f32[2] @8");
    EXPECT_EQ(fault(*device, text, {{16}}, {sixteen, scalar(0), scalar(1)}), "");
    EXPECT_EQ(fault(*device, text, {{16}}, {sixteen, scalar(1), scalar(0)}),
              "Kernel \"bounds\" writes local array tile (k.cpp:7) at index 16, whose extent is 16 (work-item 15, k.cpp:6).");
    EXPECT_EQ(fault(*device, text, {{16}}, {sixteen, scalar(0), scalar(-2)}),
              "Kernel \"bounds\" writes private array mine (k.cpp:8) at index -2, whose extent is 2 (work-item 0, k.cpp:7).");
}

TEST_F(interp_check, only_items_that_run_are_checked) {
    const std::string text = kernel(R"("guarded" math contract rank 1 (arg1: out f32[1]))", R"(
        %i = global_index 0 : i32
        %n = extent arg1, 0 : i32
        %in = lt %i, %n : bool
        %x = constant 1.0 : f32
        if %in {
        store arg1[%i], %x : f32
        yield
        } else {
        yield
        }
        return)");
    EXPECT_EQ(fault(*device, text, {{100}}, {eight}), "");
    EXPECT_EQ(eight.read(), std::vector<float>(8, 1.0f));
}

TEST_F(interp_check, unused_loads_are_not_checked) {
    const std::string text = kernel(R"("unused" math contract rank 1 (arg1: in f32[1]))", R"(
        %i = global_index 0 : i32
        %x = load arg1[%i] : f32
        return)");
    EXPECT_EQ(fault(*device, text, {{100}}, {eight}), "");
    EXPECT_NE(fault(*open_interp(InterpMode::recorded), text, {{100}}, {eight}), "");
}

TEST_F(interp_check, local_memory_read_before_it_is_written) {
    const std::string text = kernel(R"("unset" math contract rank 1 (arg1: out f32[1], arg2: i32))", R"(
        %l = local_index 0 : i32
        %i = global_index 0 : i32
        %n = argument arg2 : i32
        %some = lt %i, %n : bool
        if %some {
        %x = constant 1.0 : f32
        store tile[%l], %x : f32
        yield
        } else {
        yield
        }
        %y = load tile[%l] : f32
        store arg1[%i], %y : f32
        return)",
                                    "local tile: f32[8] @20");
    EXPECT_EQ(fault(*device, text, {{16}, {8}}, {sixteen, scalar(16)}), "");
    EXPECT_EQ(fault(*device, text, {{16}, {8}}, {sixteen, scalar(3)}),
              "Kernel \"unset\" reads local array tile (k.cpp:20) at index 3 before it is written (work-item 3, k.cpp:12).");
    EXPECT_EQ(fault(*device, text, {{16}, {8}}, {sixteen, scalar(8)}),
              "Kernel \"unset\" reads local array tile (k.cpp:20) at index 0 before it is written (work-item 8, k.cpp:12).")
        << "what an earlier group wrote is gone";
    const std::string atomics = kernel(R"("counter" math contract rank 1 (arg1: out i32[1]))", R"(
        %l = local_index 0 : i32
        %old = atomic add count[%l], %l : i32
        store arg1[%l], %old : i32
        return)",
                                       "local count: i32[8]");
    EXPECT_EQ(
        fault(*device, atomics, {{8}}, {eight}),
        "Kernel \"counter\" atomically updates local array count (?) at index 0 before it is written (work-item 0, k.cpp:2).");
}

TEST_F(interp_check, arrays_read_before_they_are_written) {
    const std::string text = kernel(R"("unset" math contract rank 1 (arg1: inout f32[1], arg2: in f32[1]))", R"(
        %i = global_index 0 : i32
        %x = load arg2[%i] : f32
        %old = atomic add arg1[%i], %x : f32
        return)");
    const auto bytes = [](int n) { return int64_t(n * sizeof(float)); };
    const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    DeviceArray<float> sums(*device, std::vector<float>(8)), x(*device, std::vector<float>(8)), y(*device, std::vector<float>(8));
    x.memory = device->allocate(bytes(8), false), x.argument.array.memory = x.memory.get();
    y.memory = device->allocate(bytes(8), false), y.argument.array.memory = y.memory.get();
    device->write(*x.memory, 0, ones, bytes(3));
    EXPECT_EQ(fault(*device, text, {{3}}, {sums, x}), "");
    EXPECT_EQ(fault(*device, text, {{4}}, {sums, x}),
              "Kernel \"unset\" reads argument 2 at index 3 before it is written (work-item 3, k.cpp:2).");
    EXPECT_EQ(fault(*device, text, {{1}}, {y, x}),
              "Kernel \"unset\" atomically updates argument 1 at index 0 before it is written (work-item 0, k.cpp:3).");
    // A copy copies the written and the unset bytes; a fill and a kernel write.
    device->copy(*x.memory, bytes(2), *y.memory, bytes(4), bytes(2), 0);
    device->fill(*y.memory, 0, bytes(2), ones, bytes(1), 0);
    EXPECT_EQ(fault(*device, text, {{2}}, {sums, y}), "");
    EXPECT_EQ(fault(*device, text, {{3}}, {sums, y}),
              "Kernel \"unset\" reads argument 2 at index 2 before it is written (work-item 2, k.cpp:2).");
    EXPECT_EQ(fault(*device, text, {{1}, {1}, {4}}, {sums, y}), "");
    EXPECT_EQ(fault(*device, text, {{1}, {1}, {5}}, {sums, y}),
              "Kernel \"unset\" reads argument 2 at index 5 before it is written (work-item 5, k.cpp:2).");
    device->write(*y.memory, 0, ones, bytes(8));
    EXPECT_EQ(fault(*device, text, {{8}}, {sums, y}), "");
    const std::string store = kernel(R"("set" math contract rank 1 (arg1: out f32[1]))", R"(
        %i = global_index 0 : i32
        %x = constant 1.0 : f32
        store arg1[%i], %x : f32
        return)");
    EXPECT_EQ(fault(*device, store, {{8}}, {x}), "");
    EXPECT_EQ(fault(*device, text, {{8}}, {sums, x}), "");
}

TEST_F(interp_check, private_memory_read_before_it_is_written) {
    const std::string text = kernel(R"("private" math contract rank 1 (arg1: out f32[1]))", R"(
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %three = constant 3 : i32
        %x = constant 1.0 : f32
        %at = lt %i, %three : bool
        %n = select %at, %zero, %one : i32
        store mine[%n], %x : f32
        %y = load mine[%zero] : f32
        store arg1[%i], %y : f32
        return)",
                                    "private mine: f32[2] @20");
    EXPECT_EQ(fault(*device, text, {{3}}, {sixteen}), "");
    EXPECT_EQ(fault(*device, text, {{8}, {2}}, {sixteen}),
              "Kernel \"private\" reads private array mine (k.cpp:20) at index 0 before it is written (work-item 3, k.cpp:9).");
}

TEST_F(interp_check, barriers_that_only_part_of_a_group_reaches) {
    const std::string branch = kernel(R"("diverging" math contract rank 1 (arg1: i32))", R"(
        %l = local_index 0 : i32
        %n = argument arg1 : i32
        %some = lt %l, %n : bool
        if %some {
        barrier
        yield
        } else {
        yield
        }
        return)");
    EXPECT_EQ(fault(*device, branch, {{32}, {16}}, {scalar(4)}),
              "Kernel \"diverging\" reaches the barrier with 4 of 16 work-items of group 0; the others, the first of them "
              "work-item 4, took "
              "another way (k.cpp:5).");
    EXPECT_EQ(fault(*device, branch, {{32}, {16}}, {scalar(16)}), "");
    EXPECT_EQ(fault(*device, branch, {{32}, {16}}, {scalar(0)}), "");
    EXPECT_EQ(fault(*device, branch, {{20}, {16}}, {scalar(8)}),
              "Kernel \"diverging\" reaches the barrier with 8 of 16 work-items of group 0; the others, the first of them "
              "work-item 8, took "
              "another way (k.cpp:5).");

    const std::string after_return = kernel(R"("leaving" math contract rank 2 (arg1: i32))", R"(
        %i = global_index 1 : i32
        %n = argument arg1 : i32
        %some = lt %i, %n : bool
        if %some {
        yield
        } else {
        return
        }
        barrier
        return)");
    EXPECT_EQ(fault(*device, after_return, {{4, 6}, {2, 3}}, {scalar(3)}),
              "Kernel \"leaving\" reaches the barrier with 3 of 6 work-items of group (1, 0); the others, the first of them "
              "work-item (3, 0), "
              "have returned (k.cpp:9).");
    EXPECT_EQ(fault(*device, after_return, {{4, 6}, {2, 3}}, {scalar(2)}), "") << "a group that returns whole misses nothing";

    const std::string loop = kernel(R"("loop" math contract rank 1 (arg1: i32))", R"(
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %l = local_index 0 : i32
        %n = argument arg1 : i32
        %most = min %l, %n : i32
        for %j = %zero to %most step %one {
        barrier
        yield
        }
        return)");
    EXPECT_EQ(fault(*device, loop, {{8}}, {scalar(0)}), "");
    EXPECT_EQ(fault(*device, loop, {{8}}, {scalar(3)}),
              "Kernel \"loop\" reaches the barrier with 7 of 8 work-items of group 0; the others, the first of them work-item 0, "
              "took another "
              "way (k.cpp:7).");
}

/// A kernel with a local array of the size %n.
std::string sized(const std::string& name, const std::string& size) {
    return kernel("\"" + name + "\" math contract rank 1 (arg1: out f32[1])", "%size = group_size 0 : i32\n" + size + R"(
        %l = local_index 0 : i32
        %x = constant 1.0 : f32
        store big[%l], %x : f32
        %y = load big[%l] : f32
        store arg1[%l], %y : f32
        return)",
                  "local big: f32[size %n] @20");
}

TEST_F(interp_check, local_memory_past_the_limit) {
    const DeviceArray<float> thousand{*device, std::vector<float>(1000)};
    const std::string large = sized("large", "%many = constant 100 : i32\n%n = mul %size, %many : i32");
    EXPECT_EQ(fault(*device, large, {{100}, {100}}, {thousand}), "");
    EXPECT_EQ(fault(*device, large, {{1000}, {1000}}, {thousand}),
              "Kernel \"large\" (k.cpp:9) needs 400000 bytes of local memory for a group of 1000 work-items; the limit of interp "
              "is 65536 "
              "bytes.");
    const std::string none = sized("none", "%ten = constant 10 : i32\n%n = sub %size, %ten : i32");
    EXPECT_EQ(fault(*device, none, {{10}, {10}}, {thousand}),
              "Kernel \"none\" has a local array of 0 elements (k.cpp:20) in a group of 10 work-items; it takes at least 1.");
    EXPECT_EQ(fault(*device, sized("none", "%one = constant 1 : i32\n%n = sub %size, %one : i32"), {{1}, {1}}, {thousand}),
              "Kernel \"none\" has a local array of 0 elements (k.cpp:20) in a group of 1 work-item; it takes at least 1.");
}

TEST_F(interp_check, allocations_past_the_memory_are_refused) {
    try {
        device->allocate(int64_t(1) << 48, true);
        FAIL() << "no error";
    } catch (const Error& e) {
        EXPECT_EQ(std::string(e.what()).find("cannot allocate 281474976710656 bytes on interp: of the machine's "), 0u)
            << e.what();
    }
    const auto memory = device->allocate(10, false);
    uint8_t bytes[10];
    device->read(*memory, 0, bytes, 10);
    for (const uint8_t b : bytes) EXPECT_EQ(b, 0xCD);
    const uint16_t pattern = 0x1234;
    device->fill(*memory, 2, 6, &pattern, 2, 0);
    device->copy(*memory, 2, *memory, 0, 4, 0);
    device->read(*memory, 0, bytes, 10);
    const uint8_t want[10] = {0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 0xCD, 0xCD};
    EXPECT_EQ(std::memcmp(bytes, want, 10), 0);
}

TEST_F(interp_check, groups_that_the_device_chooses) {
    Launch launch;
    const ir::Kernel any;
    launch.extent = {1000, 1, 1};
    EXPECT_EQ(device->choose_group(any, launch), (std::array<int64_t, 3>{64, 1, 1}));
    launch.rank = 2, launch.extent = {5, 100, 1};
    EXPECT_EQ(device->choose_group(any, launch), (std::array<int64_t, 3>{5, 8, 1}));
    launch.rank = 3, launch.extent = {5, 100, 2};
    EXPECT_EQ(device->choose_group(any, launch), (std::array<int64_t, 3>{4, 4, 2}));
}

}  // namespace
}  // namespace pumice::interp_test
