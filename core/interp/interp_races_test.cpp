// Races that the checking device reports, with their exact sentences.
#include <tuple>

#include "core/interp/interp_test.h"

namespace pumice::interp_test {
namespace {

TEST_F(interp_check, two_items_write_one_element) {
    const std::string racy = kernel(R"("racy" math contract rank 1 (arg1: out f32[1]))", R"(
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %x = cast %i : f32
        store arg1[%zero], %x : f32
        return)");
    EXPECT_EQ(fault(*device, racy, {{16}}, {eight}),
              "Kernel \"racy\" has a race on argument 1 at index 0: work-item 0 writes it (k.cpp:4) and work-item 1 writes it "
              "(k.cpp:4), "
              "with no barrier between them.");
    EXPECT_EQ(fault(*device, racy, {{2}, {1}, {5}}, {eight}),
              "Kernel \"racy\" has a race on argument 1 at index 0: work-item 5 writes it (k.cpp:4) and work-item 6 writes it "
              "(k.cpp:4), "
              "in different groups.");
    EXPECT_EQ(fault(*device, racy, {{1}}, {eight}), "") << "the launches before are no race with this one";
    const std::string same = kernel(R"("same" math contract rank 1 (arg1: out f32[1]))", R"(
        %zero = constant 0 : i32
        %x = constant 1.0 : f32
        store arg1[%zero], %x : f32
        return)");
    EXPECT_EQ(fault(*device, same, {{16}}, {eight}), "") << "of one value: whoever comes last";
    EXPECT_EQ(fault(*device, same, {{4}, {1}}, {eight}), "") << "in different groups";
}

TEST_F(interp_check, equal_writes_do_not_race_but_race_with_a_different_one) {
    // All write 1; then one of them reads, updates or writes what another has written.
    const auto found = [&](const std::string& then, int64_t group) {
        return fault(
            *device, kernel(R"("flag" math contract rank 1 (arg1: inout i32[1], arg2: out i32[1]))", R"(
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %two = constant 2 : i32
        %last = eq %i, %two : bool
        store arg1[%zero], %one : i32
        if %last {
            )" + then + R"(
            yield
        } else {
            yield
        }
        return)"),
            {{4}, {group}},
            {DeviceArray<int32_t>{*device, std::vector<int32_t>(8)}, DeviceArray<int32_t>{*device, std::vector<int32_t>(8)}});
    };
    for (const int64_t group : {4, 1}) {
        EXPECT_EQ(found("store arg1[%zero], %one : i32", group), "");
        EXPECT_NE(found("store arg1[%zero], %two : i32", group).find("has a race on argument 1 at index 0"), std::string::npos);
        EXPECT_NE(found("%a = atomic add arg1[%zero], %one : i32", group).find("has a race on argument 1 at index 0"),
                  std::string::npos);
        EXPECT_NE(
            found("%a = load arg1[%zero] : i32\nstore arg2[%i], %a : i32", group).find("has a race on argument 1 at index 0"),
            std::string::npos);
    }
}

/// Item i touches element i; then, after a barrier if `barrier`, the next element, modulo the size of the array.
std::string neighbours(const std::string& first, bool barrier, const std::string& second) {
    return kernel(R"("pair" math contract rank 1 (arg1: inout f32[1], arg2: out f32[1]))", R"(
        %i = global_index 0 : i32
        %one = constant 1 : i32
        %n = extent arg1, 0 : i32
        %i1 = add %i, %one : i32
        %j = rem %i1, %n : i32
        %x = cast %i : f32
        )" + first + (barrier ? "\nbarrier" : "") + "\n" + second + R"(
        return)");
}

TEST_F(interp_check, races_of_reads_writes_and_atomics) {
    const std::string read_i = "%a = load arg1[%i] : f32\nstore arg2[%i], %a : f32", write_i = "store arg1[%i], %x : f32";
    const std::string update_i = "%a = atomic add arg1[%i], %x : f32",
                      read_j = "%b = load arg1[%j] : f32\nstore arg2[%i], %b : f32";
    const std::string write_j = "store arg1[%j], %x : f32", update_j = "%b = atomic add arg1[%j], %x : f32";
    const DeviceArray<float> other{*device, std::vector<float>(16)};
    const auto found = [&](const std::string& a, const std::string& b, bool barrier, int64_t group) {
        return fault(*device, neighbours(a, barrier, b), {{16}, {group}}, {sixteen, other});
    };
    for (const bool racy : {true, false}) {
        const std::string reads[] = {read_i, read_j}, writes[] = {write_i, write_j}, updates[] = {update_i, update_j};
        for (const auto& [a, b, conflict] : {std::tuple(reads[0], reads[1], false),
                                             {reads[0], writes[1], true},
                                             {reads[0], updates[1], true},
                                             {writes[0], reads[1], true},
                                             {writes[0], writes[1], true},
                                             {writes[0], updates[1], true},
                                             {updates[0], reads[1], true},
                                             {updates[0], writes[1], true},
                                             {updates[0], updates[1], false}}) {
            if (racy) {
                EXPECT_EQ(found(a, b, false, 16).find("with no barrier between them.") != std::string::npos, conflict)
                    << a << "\n"
                    << b;
                EXPECT_EQ(found(a, b, true, 8).find("in different groups.") != std::string::npos, conflict) << a << "\n" << b;
            } else {
                EXPECT_EQ(found(a, b, true, 16), "") << a << "\n" << b;
            }
        }
    }
    EXPECT_EQ(found(read_i, write_j, false, 16),
              "Kernel \"pair\" has a race on argument 1 at index 1: work-item 1 reads it (k.cpp:7) and work-item 0 writes it "
              "(k.cpp:9), "
              "with no barrier between them.");
    EXPECT_EQ(found(update_i, read_j, false, 16),
              "Kernel \"pair\" has a race on argument 1 at index 1: work-item 1 atomically updates it (k.cpp:7) and work-item 0 "
              "reads it "
              "(k.cpp:8), with no barrier between them.");
}

TEST_F(interp_check, a_write_races_with_an_earlier_reader) {
    // All items read element 0; item 0 reads it last. Then item 0 writes it: a race with the others, but none where it is alone.
    const std::string text = kernel(R"("readers" math contract rank 1 (arg1: inout f32[1], arg2: out f32[1]))", R"(
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %a = load arg1[%zero] : f32
        %first = eq %i, %zero : bool
        if %first {
        %b = load arg1[%zero] : f32
        %c = add %a, %b : f32
        store arg1[%zero], %c : f32
        yield
        } else {
        yield
        }
        store arg2[%i], %a : f32
        return)");
    EXPECT_EQ(fault(*device, text, {{1}}, {eight, sixteen}), "");
    EXPECT_NE(fault(*device, text, {{3}}, {eight, sixteen}).find("race"), std::string::npos);
    // The only item of the last group reads an element in two epochs and then writes it; an earlier group has read it, too.
    const std::string late = kernel(R"("late" math contract rank 1 (arg1: inout f32[1], arg2: out f32[1], arg3: i32))", R"(
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %last = argument arg3 : i32
        %a = load arg1[%zero] : f32
        barrier
        %b = load arg1[%zero] : f32
        barrier
        %c = add %a, %b : f32
        store arg2[%i], %c : f32
        %writes = eq %i, %last : bool
        if %writes {
        store arg1[%zero], %c : f32
        yield
        } else {
        yield
        }
        return)");
    EXPECT_EQ(fault(*device, late, {{1}, {4}, {4}}, {eight, sixteen, scalar(4)}), "");
    EXPECT_NE(fault(*device, late, {{5}, {4}}, {eight, sixteen, scalar(4)})
                  .find("work-item 3 reads it (k.cpp:6) and work-item 4 writes it"),
              std::string::npos);
}

TEST_F(interp_check, races_of_members_and_views_are_found_by_byte) {
    struct Pair {
        uint16_t a, b;
    };
    const std::string text =
        kernel(R"("members" math contract rank 1 (arg1: inout {a: u16 @0, b: u16 @2}:4[1], arg2: inout u32[1], arg3: i32))", R"(
        %i = global_index 0 : i32
        %zero = constant 0 : i32
        %one = constant 1 : i32
        %first = eq %i, %zero : bool
        %shift = argument arg3 : i32
        %x = constant 1 : u16
        %y = constant 1 : u32
        if %first {
        store arg1[%zero].a, %x : u16
        store arg2[%shift], %y : u32
        yield
        } else {
        store arg1[%zero].b, %x : u16
        yield
        }
        return)");
    DeviceArray<Pair> pairs{*device, std::vector<Pair>(4)};
    DeviceArray<uint32_t> words{*device, std::vector<uint32_t>(4)};
    EXPECT_EQ(fault(*device, text, {{2}}, {pairs, words, scalar(0)}), "");
    // Both arguments are the same memory: a word holds two members.
    Launch::Argument same = words;
    same.array.memory = pairs.memory.get();
    EXPECT_EQ(fault(*device, text, {{2}}, {pairs, same, scalar(1)}), "");
    EXPECT_EQ(fault(*device, text, {{2}}, {pairs, same, scalar(0)}),
              "Kernel \"members\" has a race on argument 1 at index 0 (member b): work-item 0 writes it (k.cpp:10) and work-item "
              "1 writes it "
              "(k.cpp:13), with no barrier between them.");
}

TEST_F(interp_check, races_in_local_memory) {
    const std::string text = kernel(R"("tile" math contract rank 1 (arg1: out f32[1]))", R"(
        %l = local_index 0 : i32
        %one = constant 1 : i32
        %eight = constant 8 : i32
        %x = constant 1.0 : f32
        store tile[%l], %x : f32
        %l1 = add %l, %one : i32
        %j = rem %l1, %eight : i32
        %y = load tile[%j] : f32
        store arg1[%l], %y : f32
        return)",
                                    "local tile: f32[8] @20");
    EXPECT_EQ(fault(*device, text, {{8}}, {sixteen}),
              "Kernel \"tile\" has a race on local array tile (k.cpp:20) at index 1: work-item 1 writes it (k.cpp:5) and "
              "work-item 0 reads it "
              "(k.cpp:8), with no barrier between them.");
}

}  // namespace
}  // namespace pumice::interp_test
