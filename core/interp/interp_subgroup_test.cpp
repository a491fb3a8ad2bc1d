// Subgroups on the reference interpreter: every operation, for several sizes, and the faults.
#include <limits>

#include "core/interp/interp.h"
#include "core/interp/interp_test.h"

namespace pumice::interp_test {
namespace {

struct InterpSubgroup : ::testing::TestWithParam<int> {
    int size() const { return GetParam(); }
    std::shared_ptr<Backend> device = open_interp(InterpMode::prepared, GetParam());

    /// out[i] of 23 items in a group of 32. Items with i % 4 != 3 run `what` on x[i] = 5 i % 7 - 2 (and an operand `lane`).
    template <class T = int>
    std::vector<T> run_on(const std::string& what, const std::string& type = "i32", const std::string& lane = "") {
        const std::string text = R"(kernel "sub" math contract rank 1 (arg1: out )" + type + R"([1]) files [] {
            %i = global_index 0 : i32
            %five = constant 5 : i32
            %seven = constant 7 : i32
            %two = constant 2 : i32
            %three = constant 3 : i32
            %a = mul %i, %five : i32
            %b = rem %a, %seven : i32
            %v = sub %b, %two : i32
            %x = cast %v : )" + type +
                                 R"(
            %l = subgroup_lane : i32
            %last = and %i, %three : i32
            %takes_part = ne %last, %three : bool
            if %takes_part {
              )" + lane + R"(
              %r = subgroup )" + what +
                                 " : " + type + R"(
              store arg1[%i], %r : )" +
                                 type + R"(
              yield
            } else { yield }
            return
        })";
        DeviceArray<T> out(*device, std::vector<T>(23, T(-99)));
        run(*device, text, {{23}, {32}}, {out});
        return out.read();
    }
    static int x(int i) { return 5 * i % 7 - 2; }
    static bool active(int i) { return i < 23 && i % 4 != 3; }
    /// f(list of the active items of the subgroup, position of the item in it) for each active item.
    template <class F> std::vector<int> expected(F f) const {
        std::vector<int> out(23, -99);
        for (int i = 0; i < 23; ++i) {
            if (!active(i)) continue;
            std::vector<int> list;
            for (int j = i / size() * size(); j < (i / size() + 1) * size(); ++j)
                if (active(j)) list.push_back(j);
            out[size_t(i)] = f(list, size_t(std::ranges::find(list, i) - list.begin()));
        }
        return out;
    }
};
INSTANTIATE_TEST_SUITE_P(Sizes, InterpSubgroup, ::testing::Values(1, 4, 8, 32));

TEST_P(InterpSubgroup, ReductionsAndScans) {
    struct Case {
        const char* name;
        int identity;
        int (*f)(int, int);
    };
    const Case cases[] = {{"add", 0, [](int a, int b) { return a + b; }},
                          {"mul", 1, [](int a, int b) { return a * b; }},
                          {"min", INT_MAX, [](int a, int b) { return a < b ? a : b; }},
                          {"max", INT_MIN, [](int a, int b) { return a > b ? a : b; }},
                          {"and", -1, [](int a, int b) { return a & b; }},
                          {"or", 0, [](int a, int b) { return a | b; }},
                          {"xor", 0, [](int a, int b) { return a ^ b; }}};
    for (const Case& c : cases) {
        const auto sum = [&](const std::vector<int>& list, size_t count) {
            int r = c.identity;
            for (size_t n = 0; n < count; ++n) r = c.f(r, x(list[n]));
            return r;
        };
        const std::string name = c.name;
        EXPECT_EQ(run_on("reduce_" + name + " %x"), expected([&](auto& list, size_t) { return sum(list, list.size()); })) << name;
        EXPECT_EQ(run_on("inclusive_" + name + " %x"), expected([&](auto& list, size_t at) { return sum(list, at + 1); }))
            << name;
        EXPECT_EQ(run_on("exclusive_" + name + " %x"), expected([&](auto& list, size_t at) { return sum(list, at); })) << name;
    }
}

TEST_P(InterpSubgroup, ReductionsOfEveryType) {
    const auto as = [](const std::vector<int>& ints, auto zero) {
        std::vector<decltype(zero)> out;
        for (const int v : ints) out.push_back(decltype(zero)(v));
        return out;
    };
    const auto sum = expected([&](auto& list, size_t) {
        int s = 0;
        for (const int i : list) s += x(i);
        return s;
    });
    EXPECT_EQ(run_on<double>("reduce_add %x", "f64"), as(sum, 0.0));
    EXPECT_EQ(run_on<int8_t>("reduce_add %x", "i8"), as(sum, int8_t()));
    EXPECT_EQ(run_on<int64_t>("reduce_add %x", "i64"), as(sum, int64_t()));
    EXPECT_EQ(run_on<float>("exclusive_max %x", "f32")[0], -std::numeric_limits<float>::infinity());
    EXPECT_EQ(run_on<uint8_t>("exclusive_min %x", "u8")[0], 255);
    EXPECT_EQ(run_on<uint64_t>("exclusive_and %x", "u64")[0], ~0ull);
}

TEST_P(InterpSubgroup, ShufflesAndBroadcasts) {
    EXPECT_EQ(run_on("broadcast_first %x"), expected([](auto& list, size_t) { return x(list[0]); }));
    const std::string zero = "%zero = constant 0 : i32", one = "%one = constant 1 : i32";
    EXPECT_EQ(run_on("broadcast %x, %zero", "i32", zero), expected([](auto& list, size_t) { return x(list[0]); }));
    EXPECT_EQ(run_on("shuffle %x, %l"), expected([](auto& list, size_t at) { return x(list[at]); }));
    // Past the size of the subgroup an item keeps its own value: in subgroups of 1 all items do.
    const std::string far = "%far = constant 32 : i32";
    EXPECT_EQ(run_on("shuffle_xor %x, %far", "i32", far), expected([](auto& list, size_t at) { return x(list[at]); }));
    EXPECT_EQ(run_on("shuffle_up %x, %far", "i32", far), expected([](auto& list, size_t at) { return x(list[at]); }));
    EXPECT_EQ(run_on("shuffle_down %x, %far", "i32", far), expected([](auto& list, size_t at) { return x(list[at]); }));
    if (size() != 4) return;
    const std::string by =
        "%odd = and %l, %five : i32 %two2 = constant 2 : i32 %up = sub %two2, %l : i32 %one = constant 1 : i32";
    // Lanes 0, 1, 2 read from lanes 2, 1, 0, and from the lane below.
    EXPECT_EQ(run_on("shuffle %x, %up", "i32", by),
              expected([](auto& list, size_t at) { return x(list[at ? 3 - at - 1 : list.size() - 1]); }));
    EXPECT_EQ(run_on("shuffle_up %x, %one", "i32", one),
              expected([](auto& list, size_t at) { return x(list[at ? at - 1 : 0]); }));
}

TEST_P(InterpSubgroup, Votes) {
    const std::string text = R"(kernel "votes" math contract rank 1 (arg1: out u32[1]) files [] {
        %i = global_index 0 : i32
        %ten = constant 10 : i32
        %eight = constant 8 : i32
        %c = lt %i, %ten : bool
        %any = subgroup any %c : bool
        %all = subgroup all %c : bool
        %elect = subgroup elect : bool
        %w0 = subgroup ballot 0 %c : u32
        %w1 = subgroup ballot 1 %c : u32
        %a = cast %any : u32
        %b = cast %all : u32
        %e = cast %elect : u32
        %two = constant 2 : u32
        %four = constant 4 : u32
        %sixteen = constant 16 : u32
        %b2 = mul %b, %two : u32
        %e2 = mul %e, %four : u32
        %w2 = mul %w0, %sixteen : u32
        %s1 = add %a, %b2 : u32
        %s2 = add %s1, %e2 : u32
        %s3 = add %s2, %w2 : u32
        %s4 = add %s3, %w1 : u32
        store arg1[%i], %s4 : u32
        return
    })";
    DeviceArray<uint32_t> out(*device, std::vector<uint32_t>(12));
    run(*device, text, {{12}, {16}}, {out});
    std::vector<uint32_t> want;
    for (int i = 0; i < 12; ++i) {
        uint32_t any = 0, all = 1, bits = 0;
        const int first = i / size() * size();
        for (int j = first; j < std::min(first + size(), 12); ++j)
            any |= j < 10, all &= j < 10, bits |= uint32_t(j < 10) << (j - first);
        want.push_back(any + 2 * all + 4 * (i == first) + 16 * bits);
    }
    EXPECT_EQ(out.read(), want);
}

TEST_P(InterpSubgroup, Indices) {
    const std::string text = R"(kernel "indices" math contract rank 2 (arg1: out i32[1]) files [] {
        %n = subgroup_size : i32
        %l = subgroup_lane : i32
        %s = subgroup_index : i32
        %c = subgroup_count : i32
        %x = local_index 0 : i32
        %y = local_index 1 : i32
        %w = group_size 0 : i32
        %row = mul %y, %w : i32
        %at = add %row, %x : i32
        %ten = constant 100 : i32
        %a = mul %n, %ten : i32
        %b = add %a, %l : i32
        %b1 = mul %b, %ten : i32
        %d = add %b1, %s : i32
        %d1 = mul %d, %ten : i32
        %e = add %d1, %c : i32
        store arg1[%at], %e : i32
        return
    })";
    DeviceArray<int> out(*device, std::vector<int>(30));
    run(*device, text, {{3, 10}, {3, 10}}, {out});
    std::vector<int> want;
    for (int i = 0; i < 30; ++i)
        want.push_back(((size() * 100 + i % size()) * 100 + i / size()) * 100 + (30 + size() - 1) / size());
    EXPECT_EQ(out.read(), want);
}

struct InterpSubgroupFaults : ::testing::Test {
    std::shared_ptr<Backend> device = open_interp(InterpMode::prepared, 4);
    std::string fault_of(const std::string& what, int n = 6) {
        const std::string text = R"(kernel "sub" math contract rank 1 (arg1: out i32[1]) files ["dir/k.cpp"] {
            %i = global_index 0 : i32
            %l = subgroup_lane : i32
            %one = constant 1 : i32
            %five = constant 5 : i32
            %minus = constant -1 : i32
            %r = subgroup )" + what +
                                 R"( : i32 @7
            store arg1[%i], %r : i32
            return
        })";
        DeviceArray<int> out(*device, std::vector<int>(8));
        return fault(*device, text, {{n}, {8}}, {out});
    }
};

TEST_F(InterpSubgroupFaults, ExactMessages) {
    EXPECT_EQ(fault_of("shuffle_down %i, %one"),
              "Kernel \"sub\" takes the value of lane 2 of a subgroup, which is not active there (work-item 5, k.cpp:7).");
    EXPECT_EQ(fault_of("shuffle %i, %five"),
              "Kernel \"sub\" takes the value of lane 5 of a subgroup, which has 4 (work-item 0, k.cpp:7).");
    EXPECT_EQ(fault_of("shuffle %i, %minus"),
              "Kernel \"sub\" takes the value of lane -1 of a subgroup, which has 4 (work-item 0, k.cpp:7).");
    EXPECT_EQ(fault_of("shuffle_up %i, %minus"),
              "Kernel \"sub\" shuffles up by -1 lanes; it must be at least 0 (work-item 0, k.cpp:7).");
    EXPECT_EQ(
        fault_of("broadcast %i, %l"),
        "Kernel \"sub\" broadcasts the value of lane 0 of a subgroup and that of lane 1 at once; all items must name the same "
        "lane (work-item 1, k.cpp:7).");
    EXPECT_EQ(fault_of("shuffle_down %i, %one", 8), "") << "the last lane keeps its own";
}

}  // namespace
}  // namespace pumice::interp_test
