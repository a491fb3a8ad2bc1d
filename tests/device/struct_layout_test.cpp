// Structs with members of every size at the host's offsets, with padding of 1 to 7 bytes between members, after nested structs,
// and at the end; and kernels that touch only some members.
#include <cstring>

#include "core/ir/evaluate.h"
#include "tests/device/suite.h"
#include "tests/device/types.h"

using namespace pumice;
using namespace pumice::internal;
using suite::device;

namespace struct_layout_test {

struct Byte1 {
    float x;
    uint8_t y;
};
struct Byte2 {
    Byte1 in;
    uint8_t z;
};
struct Byte3 {
    uint16_t h;
    uint8_t b;
};
struct Byte4 {
    Byte3 in;
    uint8_t b;
    uint32_t w;
};
struct Byte5 {
    Byte3 a;
    uint8_t b;
    Byte3 c;
};
struct Byte6 {
    double d;
    uint8_t b;
};
struct Byte7 {
    Byte6 in;
    int8_t c;
};
struct Byte8 {
    Byte1 a;
    uint16_t h;
    Byte3 b;
    int8_t c;
};

struct Half1 {
    half h;
};
struct Half2 {
    float x;
    half h;
};
struct Half3 {
    Half2 in;
    half k;
    int16_t i;
};
struct Half4 {
    Half2 a;
    uint8_t b;
    Half2 c;
    half d;
};

struct Bool1 {
    float x;
    bool on;
};
struct Bool2 {
    Bool1 in;
    bool z;
};
struct Bool3 {
    bool a;
    Bool2 b;
    bool c;
};
struct Bool4 {
    bool a, b, c;
};
struct Bool5 {
    Bool4 a;
    bool d;
    int w;
    Bool4 e;
};

struct Long1 {
    int a, b;
    int64_t c;
};
struct Long2 {
    Long1 in;
    uint8_t d;
};
struct Double1 {
    int a;
    double b;
};
struct Mixed1 {
    int a;
    half b;
    int8_t c;
    int16_t d;
    double e;
    int64_t f;
    bool g;
};

}  // namespace struct_layout_test

using namespace struct_layout_test;
PUMICE_STRUCT(struct_layout_test::Byte1, x, y);
PUMICE_STRUCT(struct_layout_test::Byte2, in, z);
PUMICE_STRUCT(struct_layout_test::Byte3, h, b);
PUMICE_STRUCT(struct_layout_test::Byte4, in, b, w);
PUMICE_STRUCT(struct_layout_test::Byte5, a, b, c);
PUMICE_STRUCT(struct_layout_test::Byte6, d, b);
PUMICE_STRUCT(struct_layout_test::Byte7, in, c);
PUMICE_STRUCT(struct_layout_test::Byte8, a, h, b, c);
PUMICE_STRUCT(struct_layout_test::Half1, h);
PUMICE_STRUCT(struct_layout_test::Half2, x, h);
PUMICE_STRUCT(struct_layout_test::Half3, in, k, i);
PUMICE_STRUCT(struct_layout_test::Half4, a, b, c, d);
PUMICE_STRUCT(struct_layout_test::Bool1, x, on);
PUMICE_STRUCT(struct_layout_test::Bool2, in, z);
PUMICE_STRUCT(struct_layout_test::Bool3, a, b, c);
PUMICE_STRUCT(struct_layout_test::Bool4, a, b, c);
PUMICE_STRUCT(struct_layout_test::Bool5, a, d, w, e);
PUMICE_STRUCT(struct_layout_test::Long1, a, b, c);
PUMICE_STRUCT(struct_layout_test::Long2, in, d);
PUMICE_STRUCT(struct_layout_test::Double1, a, b);
PUMICE_STRUCT(struct_layout_test::Mixed1, a, b, c, d, e, f, g);

namespace {

constexpr int items = 9;

/// `count` elements whose members hold different numbers. Padding bytes are zero.
template <class T> std::vector<T> numbered(int count) {
    std::vector<T> all(static_cast<size_t>(count));
    std::memset(static_cast<void*>(all.data()), 0, all.size() * sizeof(T));
    int number = 0;
    for (T& one : all)
        for (const Leaf& leaf : detail::element_of<T>().leaves) {
            ++number;
            with_scalar(leaf.type, [&](auto kind) {
                using M = decltype(kind);
                const M value = M(leaf.type == Scalar::boolean ? number % 2 : number % 120);
                std::memcpy(reinterpret_cast<char*>(&one) + leaf.offset, &value, sizeof value);
            });
        }
    return all;
}

template <class T> bool device_has_members() {
    for (const Leaf& leaf : detail::element_of<T>().leaves)
        if (!suite::has_type(device(), leaf.type)) return false;
    return true;
}

template <class T> bool equal_members(const T& a, const T& b) {
    for (const Leaf& leaf : detail::element_of<T>().leaves)
        if (std::memcmp(reinterpret_cast<const char*>(&a) + leaf.offset, reinterpret_cast<const char*>(&b) + leaf.offset,
                        size_t(size_of(leaf.type))) != 0)
            return false;
    return true;
}

/// Copies elements to another array by way of local and of private memory, in reverse.
template <class T> void check_moves(const char* name) {
    if (!device_has_members<T>()) return;
    const auto k = kernel(text("move_", name), static_group<items>, [](Out<T> to, In<T> from) {
        auto i = global_index();
        Local<T, items> tile;
        Private<T, 2> mine;
        tile[local_index()] = from[i];
        synchronize();
        mine[1] = tile[items - 1 - local_index()];
        to[i] = mine[1];
    });
    const std::vector<T> from = numbered<T>(items);
    Array<T> to = device().zeros<T>(items);
    k(ndrange(items), to, device().upload(from));
    const std::vector<T> got = to.download();
    for (size_t i = 0; i < items; ++i) EXPECT_TRUE(equal_members(got[i], from[items - 1 - i])) << name << ", element " << i;
}

TEST(StructLayout, PaddingOfAnySize) {
    check_moves<Byte1>("byte1");
    check_moves<Byte2>("byte2");
    check_moves<Byte3>("byte3");
    check_moves<Byte4>("byte4");
    check_moves<Byte5>("byte5");
    check_moves<Byte6>("byte6");
    check_moves<Byte7>("byte7");
    check_moves<Byte8>("byte8");
    check_moves<Half1>("half1");
    check_moves<Half2>("half2");
    check_moves<Half3>("half3");
    check_moves<Half4>("half4");
    check_moves<Bool1>("bool1");
    check_moves<Bool2>("bool2");
    check_moves<Bool3>("bool3");
    check_moves<Bool4>("bool4");
    check_moves<Bool5>("bool5");
    check_moves<Long1>("long1");
    check_moves<Long2>("long2");
    check_moves<Double1>("double1");
    check_moves<Mixed1>("mixed1");
}

/// Changes one member, named by `member`, in every second element of an array; all other bytes keep their values.
template <class T, class F, class G> void check_one_member(const char* name, F&& on_device, G&& on_host) {
    const std::vector<T> from = numbered<T>(items);
    Array<T> array = device().upload(from);
    kernel(text("one_member_", name), [&](InOut<T> a) { on_device(a, global_index() * 2); })(ndrange((items + 1) / 2), array);
    std::vector<T> want = from;
    for (size_t i = 0; i < items; i += 2) on_host(want[i]);
    const std::vector<T> got = array.download();
    for (size_t i = 0; i < items; ++i) EXPECT_TRUE(equal_members(got[i], want[i])) << name << ", element " << i;
}

// Also on devices that lack the types of other members.
TEST(StructLayout, OnlyOneMemberIsTouched) {
    const auto twice = [](auto a, auto i) { a[i].a = a[i].a * 2; };
    const auto twice_here = [](auto& one) { one.a *= 2; };
    check_one_member<Long1>("long1", twice, twice_here);
    check_one_member<Double1>("double1", twice, twice_here);
    check_one_member<Mixed1>("mixed1", twice, twice_here);
    check_one_member<Long2>(
        "long2", [](auto a, auto i) { a[i].in.b = a[i].in.a + 3; }, [](Long2& one) { one.in.b = one.in.a + 3; });
    check_one_member<Bool5>("bool5", [](auto a, auto i) { a[i].w = a[i].w - 7; }, [](Bool5& one) { one.w -= 7; });
    if (device().supports(Feature::int8)) {
        check_one_member<Byte8>(
            "byte8", [](auto a, auto i) { a[i].c = a[i].c + int8_t(1); }, [](Byte8& one) { one.c = int8_t(one.c + 1); });
        check_one_member<Byte7>(
            "byte7", [](auto a, auto i) { a[i].c = a[i].c + int8_t(1); }, [](Byte7& one) { one.c = int8_t(one.c + 1); });
        check_one_member<Byte2>("byte2", [](auto a, auto i) { a[i].z = a[i].in.y; }, [](Byte2& one) { one.z = one.in.y; });
    }
    if (device().supports(Feature::int16))
        check_one_member<Half3>(
            "half3", [](auto a, auto i) { a[i].i = a[i].i + int16_t(1); }, [](Half3& one) { one.i = int16_t(one.i + 1); });
}

// In local and private memory, members that no kernel touches take no room.
TEST(StructLayout, OnlyOneMemberOfLocalMemoryIsTouched) {
    const auto k = kernel("one_member_of_local", static_group<items>, [](Out<int> out) {
        Local<Mixed1, items> tile;
        Private<Long1, 2> mine;
        auto l = local_index();
        tile[l].a = l * 3;
        synchronize();
        mine[0].b = tile[items - 1 - l].a;
        out[global_index()] = mine[0].b;
    });
    Array<int> out = device().zeros<int>(items);
    k(ndrange(items), out);
    const std::vector<int> got = out.download();
    for (int i = 0; i < items; ++i) EXPECT_EQ(got[size_t(i)], 3 * (items - 1 - i));
}

}  // namespace
