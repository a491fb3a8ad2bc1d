// Misuse of launches, arrays, streams and devices. The device still works after each.
#include "core/interp/interp.h"
#include "tests/error/error_suite.h"

using namespace pumice;
using namespace pumice::internal;
using suite::device;

namespace {

const int copy_line = __LINE__ + 1;
const auto copy_kernel = kernel("copy_kernel", [](Out<float> y, In<float> x) {
    auto i = global_index();
    y[i] = x[i];
});
const int fill_line = __LINE__ + 1;
const auto fill_plane = kernel("fill_plane", [](Out<float, 2> y, Val<float> v) {
    auto [i, j] = global_index<2>();
    y(i, j) = v;
});
const auto no_array = kernel("no_array", [](Val<int>) {});

/// "kernel "copy_kernel" (launch_test.cpp:10): ...".
std::string of_copy(const std::string& rest) { return "kernel \"copy_kernel\" (" + suite::placed("@", __FILE__, copy_line) + "): " + rest; }
std::string of_fill(const std::string& rest) { return "kernel \"fill_plane\" (" + suite::placed("@", __FILE__, fill_line) + "): " + rest; }

class Launches : public testing::Test {
protected:
    Device d = device();
    Array<float> x = d.full<float>(16, 2.0f), y = d.zeros<float>(16);
    Array<float, 2> plane = d.zeros<float>({4, 4});

    void TearDown() override {  // an error has no effect on later calls
        y.fill(0);
        copy_kernel(ndrange(16), y, x);
        EXPECT_EQ(y.download(), std::vector<float>(16, 2.0f));
    }
};

constexpr int static_line = __LINE__ + 1;
const auto static_sizes = kernel("static_sizes", static_group<4, 8>, static_range<16, 20>, [](Out<int, 2> out) {
    auto [i, j] = global_index<2>();
    out(i, j) = 1;
});

constexpr int volume_line = __LINE__ + 1;
const auto four = kernel("four", [](Out<int, 4> out) { auto [a, b, c, e] = global_index<4>(); out(a, b, c, e) = 1; });

TEST_F(Launches, FourDimensions) {
    const std::string of = "kernel \"four\" (" + suite::placed("@", __FILE__, volume_line) + "): ";
    Array<int, 4> out = d.zeros<int>({2, 2, 2, 2});
    EXPECT_ERROR(of + "it is launched over a 3-dimensional range and uses 4-dimensional indices", four(ndrange(2, 2, 2), out));
    EXPECT_ERROR(of + "its group has 2 dimensions and its range 4", four(ndrange(2, 2, 2, 2).group(2, 2), out));
    EXPECT_ERROR(of + "its group has extent 2 along dimension 1; of a 4-dimensional range, groups have extent 1 along all dimensions but the last two",
                 four(ndrange(2, 2, 2, 2).group(1, 2, 1, 1), out));
    EXPECT_ERROR(of + "the first 2 dimensions of its range have more than 2147483647 items, which is the limit for them together",
                 four(ndrange(1 << 16, 1 << 16, 1, 1), out));
    EXPECT_ERROR(of + "its range has extent -2 along dimension 1: extents are not negative", four(ndrange(2, -2, 2, 2), out));
    EXPECT_ERROR("kernel \"k\" asks for global_index<2>() at @ but uses 4-dimensional indices before: one kernel has one rank (the _linear functions work in every rank)\n"
                 "  while recording kernel \"k\" (@)", kernel("k", [](Out<int> a) { auto i = global_index<4>(); auto j = global_index<2>(); a[i[0]] = j[0]; }).ir());
}

TEST_F(Launches, StaticValuesContradicted) {
    const std::string of = "kernel \"static_sizes\" (" + suite::placed("@", __FILE__, static_line) + "): ";
    Array<int, 2> out = d.zeros<int>({16, 20});
    EXPECT_ERROR(of + "its group is 8 x 8, and the kernel fixes 4 x 8", static_sizes(ndrange(16, 20).group(8, 8), out));
    EXPECT_ERROR(of + "its range is 16 x 24, and the kernel fixes 16 x 20", static_sizes(ndrange(16, 24), out));
    EXPECT_ERROR(of + "it is launched over a 1-dimensional range and uses 2-dimensional indices", static_sizes(ndrange(16), out));
    EXPECT_ERROR(of + "its group has 1 dimensions and its range 2", static_sizes(ndrange().group(8), out));
    EXPECT_ERROR(of_copy("it is launched over no range, and fixes none at its definition (static_range)"), copy_kernel(ndrange(), y, x));
    EXPECT_ERROR("it fixes groups of 4 and a range of 8 x 8: their dimensions differ\n  while recording kernel \"k\" (@)",
                 kernel("k", static_group<4>, static_range<8, 8>, [](Out<int>) {}).ir());
    EXPECT_ERROR("kernel \"k\" asks for global_index<1>() at @ but uses 2-dimensional indices before: one kernel has one rank (the _linear functions work in every rank)\n"
                 "  while recording kernel \"k\" (@)", kernel("k", static_group<4, 4>, [](Out<int> a) { a[global_index()] = 1; }).ir());
}

TEST_F(Launches, Groups) {
    const Limits limits = d.limits();
    const std::string of_device = "; the limit of " + d.name() + " is ";
    EXPECT_ERROR(of_copy("its group has extent 1048576 along dimension 0" + of_device + std::to_string(limits.max_group_extent[0])),
                 copy_kernel(ndrange(16).group(1 << 20), y, x));
    EXPECT_ERROR(of_fill("its group has extent 4611686018427387904 along dimension 1" + of_device + std::to_string(limits.max_group_extent[0])),
                 fill_plane(ndrange(4, 4).group(1, int64_t(1) << 62), plane, 1));
    const int64_t rows = limits.max_group_extent[1], columns = limits.max_group_extent[0];
    EXPECT_ERROR(of_fill(text("its group has ", rows * columns, " work-items", of_device, limits.max_group_size)),
                 fill_plane(ndrange(4, 4).group(rows, columns), plane, 1));
    EXPECT_ERROR(of_copy("its group has extent 0 along dimension 0: extents are positive"), copy_kernel(ndrange(16).group(0), y, x));
    EXPECT_ERROR(of_fill("its group has extent -8 along dimension 1: extents are positive"), fill_plane(ndrange(4, 4).group(1, -8), plane, 1));
    EXPECT_ERROR(of_copy("its group has 2 dimensions and its range 1"), copy_kernel(ndrange(16).group(4, 4), y, x));
    EXPECT_ERROR("a group of 7 dimensions is asked for; the limit is 6", copy_kernel(ndrange(16).group(4, 1, 1, 1, 1, 1, 1), y, x));
    EXPECT_ERROR(of_copy("it is launched over a 4-dimensional range and uses 1-dimensional indices"), copy_kernel(ndrange(1, 2, 3, 4), y, x));
    EXPECT_ERROR(of_copy("its group has extent 0 along dimension 0: extents are positive"), copy_kernel(ndrange(0).group(0), y, x));
}

TEST_F(Launches, Ranges) {
    const std::string all_indices = " along dimension 0; indices are from -2147483648 to 2147483646";
    EXPECT_ERROR(of_copy("its range has extent -1 along dimension 0: extents are not negative"), copy_kernel(ndrange(-1), y, x));
    EXPECT_ERROR(of_fill("its range has extent -7 along dimension 1: extents are not negative"), fill_plane(ndrange(4, -7), plane, 1));
    EXPECT_ERROR(of_copy("its range reaches from 5 to 2 along dimension 0: the end is not before the start"), copy_kernel(ndrange({5}, {2}), y, x));
    EXPECT_ERROR(of_copy("its range reaches from 0 to 2147483648" + all_indices), copy_kernel(ndrange(int64_t(1) << 31), y, x));
    EXPECT_ERROR(of_copy("its range reaches from -9223372036854775808 to 9223372036854775807" + all_indices),
                 copy_kernel(ndrange({INT64_MIN}, {INT64_MAX}), y, x));
    EXPECT_ERROR(of_copy("its range has extent 4294967295 along dimension 0; the limit is 2147483647"),
                 copy_kernel(ndrange({INT32_MIN}, {INT32_MAX}), y, x));
    EXPECT_ERROR(of_copy("it is launched over a 2-dimensional range and uses 1-dimensional indices"), copy_kernel(ndrange(4, 4), y, x));
    EXPECT_ERROR(of_fill("it is launched over a 1-dimensional range and uses 2-dimensional indices"), fill_plane(ndrange(4), plane, 1));
    y.fill(5);
    copy_kernel(ndrange({3}, {3}), y, x);  // an empty range: nothing happens
    EXPECT_EQ(y.download(), std::vector<float>(16, 5.0f));
}

TEST_F(Launches, Arrays) {
    const Array<float> nothing;
    EXPECT_ERROR(of_copy("argument 1 and argument 2 overlap in memory, and argument 1 is written"), copy_kernel(ndrange(16), y, y));
    EXPECT_ERROR(of_copy("argument 2 is an array that was never allocated"), copy_kernel(ndrange(16), y, nothing));
    EXPECT_ERROR(of_copy("argument 1 is an array that was never allocated"), copy_kernel(ndrange(16), nothing, x));
    const Device other = Device::open("interp");
    if (other.name() == d.name()) return;
    const Array<float> z = other.zeros<float>(16);
    EXPECT_ERROR(of_copy("argument 2 lies on interp, and argument 1 on " + d.name()), copy_kernel(ndrange(16), y, z));
    EXPECT_ERROR(of_copy("it is put on a stream of interp, and argument 1 lies on " + d.name()),
                 copy_kernel(ndrange(16).on(other.stream()), y, x));
    copy_kernel(ndrange(16), z, other.full<float>(16, 3.0f));  // one kernel on two devices
    EXPECT_EQ(z.download(), std::vector<float>(16, 3.0f));
}

TEST_F(Launches, StreamsThatWereNeverCreated) {
    const Stream none;
    EXPECT_ERROR("a launch is put on a stream that was never made: make it with Device::stream", ndrange(16).on(none));
    EXPECT_ERROR("a stream that was never made is used: make it with Device::stream", none.record());
    EXPECT_ERROR("a stream that was never made is used: make it with Device::stream", none.synchronize());
    EXPECT_ERROR("a stream that was never made is used: make it with Device::stream", none.wait_for(Event()));
}

TEST_F(Launches, KernelsWithoutArraysRunOnTheDefaultDevice) {
    no_array(ndrange(4), 3).wait();
    no_array(ndrange(4).on(d.stream()), 3).wait();
}

TEST_F(Launches, AnyKernelChecksItsArguments) {
    const AnyKernel any = parse_ir(fill_plane.ir());
    EXPECT_ERROR(of_fill("it takes 2 arguments and is given 0"), any(ndrange(4, 4)));
    EXPECT_ERROR(of_fill("it takes 2 arguments and is given 3"), any(ndrange(4, 4), plane, 1.0f, 1.0f));
    EXPECT_ERROR(of_fill("argument 1 is a scalar, and the kernel takes an array"), any(ndrange(4, 4), 1.0f, 1.0f));
    EXPECT_ERROR(of_fill("argument 2 is an array, and the kernel takes a scalar"), any(ndrange(4, 4), plane, x));
    EXPECT_ERROR(of_fill("argument 2 is of type f64, and the kernel takes f32"), any(ndrange(4, 4), plane, 1.0));
    EXPECT_ERROR(of_fill("argument 1 is of type i32, and the kernel takes f32"), any(ndrange(4, 4), d.zeros<int>({4, 4}), 1.0f));
    EXPECT_ERROR(of_fill("argument 1 is a 1-dimensional array, and the kernel takes a 2-dimensional one"), any(ndrange(4, 4), x, 1.0f));
    any(ndrange(4, 4), plane, 3.0f);
    EXPECT_EQ(plane.download(), std::vector<float>(16, 3.0f));
}

TEST_F(Launches, Copies) {
    const std::string never = "an array that was never allocated is used: make it with Device::zeros, full, empty or upload";
    const Array<float> nothing;
    EXPECT_ERROR("17 elements are copied into an array of 16 elements: the sizes must agree", x.copy_from(std::vector<float>(17)));
    EXPECT_ERROR("an array of 17 elements is copied into one of 16 elements: the sizes must agree", x.copy_from(d.zeros<float>(17)));
    EXPECT_ERROR("5 elements are copied into an array of 6 elements: the sizes must agree", d.upload(std::vector<float>(5), {2, 3}));
    EXPECT_ERROR(never, x.copy_from(nothing));
    EXPECT_ERROR(never, nothing.copy_from(x));
    EXPECT_ERROR(never, nothing.copy_from(std::vector<float>()));
    EXPECT_ERROR(never, nothing.download());
    EXPECT_ERROR(never, nothing.fill(1));
    EXPECT_ERROR(never, nothing.clone());
    EXPECT_ERROR(never, nothing.device());
    EXPECT_ERROR("the extent of an array along dimension 1 is asked for; it has 1 dimension", (void)x.size(1));
    EXPECT_ERROR("the extent of an array along dimension -1 is asked for; it has 2 dimensions", (void)plane.size(-1));
}

TEST_F(Launches, RangesOfTooManyItems) {
    const auto volume = kernel("volume", [](InOut<int> out) { atomic_add(out[0], global_index<3>()[0]); });
    const Array<int> out = d.zeros<int>(1);
    const std::string of = suite::placed("kernel \"volume\" (@): ", __FILE__, __LINE__ - 2);
    const std::string limit = " has more than 281474976710656 items, which is the limit";
    constexpr int64_t most = INT32_MAX;
    EXPECT_ERROR(of + "its range of 2147483647 x 2147483647 x 2147483647" + limit, volume(ndrange(most, most, most), out));
    EXPECT_ERROR(of + "its range of 4294967 x 65536 x 1024" + limit, volume(ndrange({0, 0, 0}, {4294967, 65536, 1024}), out));
    EXPECT_ERROR(of + "its range of 2 x 2147483647 x 65537" + limit, volume(ndrange({5, -1, 3}, {7, 2147483646, 65540}).group(1, 1, 1), out));
    volume(ndrange(most, 0, most), out);  // an empty range
    const auto fixed = kernel("volume", static_range<2147483647, 2147483647, 2147483647>, [](InOut<int> y) { y[0] = 1; });
    const std::string of_fixed = suite::placed("kernel \"volume\" (@): ", __FILE__, __LINE__ - 1);
    EXPECT_ERROR(of_fixed + "its range of 2147483647 x 2147483647 x 2147483647" + limit, fixed(ndrange(), out));
    const auto many = kernel("many", [](InOut<int> y) { atomic_add(y[0], global_index<6>()[5]); });
    const std::string of_many = suite::placed("kernel \"many\" (@): ", __FILE__, __LINE__ - 1);
    EXPECT_ERROR(of_many + "its range of 65536 x 2147483647 x 1024" + limit, many(ndrange(16, 16, 16, 16, most, 1024), out));
    EXPECT_ERROR(of + "its group has extent 9223372036854775807 along dimension 0; the limit of " + d.name() + " is " +
                     std::to_string(d.limits().max_group_extent[2]),
                 volume(ndrange(8, 8, 8).group(INT64_MAX, INT64_MAX, INT64_MAX), out));
    const auto static_group_of_many = kernel("volume", static_group<2147483647, 2147483647, 2147483647>, [](InOut<int> y) { y[0] = 1; });
    EXPECT_NE(suite::message_of([&] { static_group_of_many(ndrange(8, 8, 8), out); }).find("its group has"), std::string::npos);
}

TEST_F(Launches, SizesThatOverflow) {
    const std::string large = "of more than 2^63 bytes is asked for on " + d.name();
    EXPECT_EQ(suite::message_of([&] { d.zeros<int>({INT64_MAX, INT64_MAX}); }).find("an array " + large), 0u);
    EXPECT_NE(suite::message_of([&] { d.empty<float>(INT64_MAX / 4); }).find(" bytes"), std::string::npos);
    EXPECT_NE(suite::message_of([&] { d.full<float>(INT64_MAX / 8, 1.0f); }).find("4611686018427387900 bytes"), std::string::npos);
    EXPECT_EQ(d.zeros<int>({0, INT64_MAX, INT64_MAX}).count(), 0);
    EXPECT_TRUE((d.zeros<int>({INT64_MAX, INT64_MAX, 0}).view({1, 2, 0}, {INT64_MAX, INT64_MAX, 0}, {INT64_MAX, 1, 1}).download().empty()));
    EXPECT_ERROR("the extent of a view along dimension 9 is asked for; it has 1 dimension", (void)View<float>(x).size(9));
    EXPECT_ERROR("the extent of a view along dimension -1 is asked for; it has 2 dimensions", (void)plane.view({0, 0}, {1, 1}).size(-1));
    EXPECT_ERROR("a view of the elements 1 to 9223372036854775807 along dimension 0 is asked for, of an array whose extent there is 16",
                 x.view(1, INT64_MAX, 2));
    EXPECT_NE(suite::message_of([&] { x.get(INT64_MAX); }).find("of an array whose extent there is 16"), std::string::npos);
    EXPECT_NE(suite::message_of([&] { plane.row(INT64_MAX); }).find("of an array whose extent there is 4"), std::string::npos);
    EXPECT_ERROR("element 9223372036854775806 along dimension 0 is asked for, of an array whose extent there is 16", x.get(INT64_MAX - 1));
}

TEST_F(Launches, DevicesOfEmptyHandles) {
    EXPECT_ERROR("a device is made of no backend: the pointer is null", Device(std::shared_ptr<Backend>()));
    EXPECT_ERROR("a device is made of nothing: the pointer is null", Device(std::shared_ptr<detail::DeviceState>()));
    EXPECT_ERROR("a stream is made on no device: the pointer is null", Stream(nullptr, Priority::normal));
    EXPECT_TRUE(Event(nullptr).done());
}

TEST_F(Launches, Views) {
    EXPECT_ERROR("a view of the elements 3 to 17 along dimension 0 is asked for, of an array whose extent there is 16", x.view(3, 17));
    EXPECT_ERROR("a view of the elements 3 to 17 along dimension 0 is asked for, of an array whose extent there is 16", x.slice(3, 17));
    EXPECT_ERROR("a view of the elements -1 to 2 along dimension 0 is asked for, of an array whose extent there is 16", x.slice(-1, 2));
    EXPECT_ERROR("a view of the elements 2 to 1 along dimension 1 is asked for, of an array whose extent there is 4", plane.view({0, 2}, {4, 1}));
    EXPECT_ERROR("element 4 along dimension 1 is asked for, of an array whose extent there is 4", plane.get(0, 4));
    EXPECT_ERROR("element 16 along dimension 0 is asked for, of an array whose extent there is 16", x.get(16));
    EXPECT_ERROR("a view of every 0th element along dimension 0 is asked for: steps are positive", x.view(0, 16, 0));
    EXPECT_ERROR("an array of 16 elements is reshaped into one of 15", plane.reshape({3, 5}));
    EXPECT_ERROR("an array of 16 elements is reshaped to extent -4 along dimension 0: extents are not negative", plane.reshape({-4, -4}));
    EXPECT_ERROR("an array of 16 elements is reshaped into one of more than 2^63",
                 plane.reshape({int64_t(1) << 34, int64_t(1) << 34}));
    EXPECT_ERROR("a view is taken as an array, and its elements do not lie one after another: clone() copies them", plane.view({0, 1}, {2, 3}).array());
    EXPECT_ERROR("elements of extents 2 x 3 are copied into a view of extents 3 x 2: they must agree", plane.view({0, 0}, {3, 2}).copy_from(plane.view({0, 0}, {2, 3})));
    EXPECT_ERROR("elements of extents 16 are copied into a view of extents 4: they must agree", x.slice(0, 4).copy_from(View<float>(x)));
    std::vector<float> host(5);
    EXPECT_ERROR("host memory of 5 elements is copied to or from an array or view of 16 elements: the sizes must agree", x.copy_to(host));
    EXPECT_ERROR("host memory of 5 elements is copied to or from an array or view of 4 elements: the sizes must agree", x.view(0, 4).copy_from(host));
    host.resize(16);
    EXPECT_ERROR("a stream that was never made is used: make it with Device::stream", x.copy_to(host, Stream()));
    const Device other(open_interp());
    EXPECT_ERROR("a copy is put on a stream of interp, and its array lies on " + d.name(), x.copy_to(host, other.stream()));
    EXPECT_ERROR("an array that was never allocated is used: make it with Device::zeros, full, empty or upload", (View<float>(Array<float>())));
    EXPECT_ERROR(of_copy("argument 1 and argument 2 overlap in memory, and argument 1 is written"), copy_kernel(ndrange(4), x.slice(0, 8), x.slice(7, 15)));
    copy_kernel(ndrange(8), x.slice(0, 8), x.slice(8, 16));  // disjoint halves are allowed
}

TEST_F(Launches, UseAfterRelease) {
    Array<float> gone = d.zeros<float>(16);
    const Array<float> same = gone;
    gone.release();
    for (const Array<float>& a : {gone, same}) {
        EXPECT_ERROR("an array is used after its release()", a.download());
        EXPECT_ERROR("an array is used after its release()", a.fill(1));
        EXPECT_ERROR("an array is used after its release()", a.release());
        EXPECT_ERROR(of_copy("argument 2 is an array that was released"), copy_kernel(ndrange(16), y, a));
    }
    const Stream stream = d.stream();
    const Range on = ndrange(16).on(stream);
    for (int k = 0; k < 20; ++k) copy_kernel(on, y, x);
    stream.release();
    EXPECT_ERROR("a stream is used after its release()", stream.record());
    EXPECT_ERROR("a stream is used after its release()", stream.call([] {}));
    EXPECT_ERROR("a stream is used after its release()", stream.release());
    EXPECT_ERROR("a launch is put on a stream after its release()", ndrange(16).on(stream));
    EXPECT_ERROR(of_copy("it is put on a stream that was released"), copy_kernel(on, y, x));
    EXPECT_ERROR("a stream is to call a function that is empty", d.stream().call({}));
}

TEST_F(Launches, Allocations) {
    EXPECT_ERROR("an array of extent -1 along dimension 0 is asked for: extents are not negative", d.zeros<float>(-1));
    EXPECT_ERROR("an array of extent -2 along dimension 1 is asked for: extents are not negative", d.empty<float>({0, -2}));
    EXPECT_ERROR(text("an array of more than 2^63 bytes is asked for on ", d.name(), "; its memory is ", d.limits().memory, " bytes"),
                 d.zeros<float>({int64_t(1) << 40, int64_t(1) << 40}));
    const std::string large = suite::message_of([&] { d.zeros<float>(int64_t(1) << 46); });
    EXPECT_NE(large.find("cannot allocate 281474976710656 bytes"), std::string::npos) << large;
    EXPECT_NE(large.find(d.name()), std::string::npos) << large;
    EXPECT_EQ(d.zeros<float>({int64_t(1) << 40, int64_t(1) << 40, 0}).count(), 0);
}

TEST_F(Launches, LocalArraysOfImpossibleSize) {
    const auto shrinking = kernel("shrinking", [](InOut<float> a) {
        Local<float> tile(group_size() - 8);
        tile[0] = 1.0f;
        a[0] = tile[0];
    });
    const std::string place = suite::placed("@", __FILE__, __LINE__ - 4);
    for (const int items : {8, 4})
        EXPECT_ERROR(text("Kernel \"shrinking\" has a local array of ", items - 8, " elements (", place, ") in a group of ", items,
                          " work-items; it takes at least 1."), shrinking(ndrange(items).group(items), x));
}

TEST_F(Launches, UnknownDevices) {
    for (const std::string spec : {"vulkan:99", "vulkan:nosuchname", "cuda", "vulkan:-1", "vulkan:1x", "vulkan:", "Interp", " interp", "interp:0",
                                   "vulkan:999999999999999999999"}) {
        const std::string message = suite::message_of([&] { Device::open(spec); });
        EXPECT_EQ(message.rfind("there is no device \"" + spec + "\": this machine has ", 0), 0u) << message;
        EXPECT_NE(message.find("interp (the reference interpreter)"), std::string::npos) << message;
    }
}

}  // namespace
