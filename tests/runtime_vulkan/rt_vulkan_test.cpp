// The runtime's Vulkan back end: kernels of every kind against expected values, bit by bit, on each driver with validation.
#include "tests/runtime_vulkan/rt_vulkan_test.h"

#include <cmath>
#include <thread>
#include <type_traits>

using namespace rt_test;
using pumice::global_index;
using pumice::In;
using pumice::InOut;
using pumice::Local;
using pumice::Out;
using pumice::Val;

struct Particle {
    pumice::float3 position;
    int hits;
    pumice::float2 velocity;
};
PUMICE_STRUCT(Particle, position, hits, velocity);

namespace {

auto saxpy_kernel() {
    return pumice::kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
        auto i = global_index();
        y[i] += a * x[i];
    });
}

TEST(RuntimeVulkan, SaxpyOverRangesOfManySizes) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(saxpy_kernel());
    const pumice_library* library = bundle.get();
    for (const size_t n : {1u, 7u, 256u, 1000u, 100003u}) {
        TestArray<float> y(on, ramp(n), PUMICE_F32), x(on, ramp(n, 1.0f), PUMICE_F32);
        RT_OK(
            launch(on, library, k, pumice_range_1(int64_t(n)), {argument(y.array), argument(x.array), scalar(PUMICE_F32, 2.0f)}));
        const std::vector<float> got = y.read();
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], float(i) + 2 * (float(i) + 1)) << "of " << n << " at " << i;
    }
}

TEST(RuntimeVulkan, RangesHaveAStartAndGroups) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(saxpy_kernel());
    const pumice_library* library = bundle.get();
    TestArray<float> y(on, Extents{{500}}, PUMICE_F32), x(on, std::vector<float>(500, 1), PUMICE_F32);
    pumice_range range = grouped(pumice_range_1(400), 32);
    range.from[0] = 100;
    RT_OK(launch(on, library, k, range, {argument(y.array), argument(x.array), scalar(PUMICE_F32, 3.0f)}));
    const std::vector<float> got = y.read();
    for (size_t i = 0; i < 500; ++i) ASSERT_EQ(got[i], i >= 100 && i < 400 ? 3 : 0) << i;
}

TEST(RuntimeVulkan, StencilIn2D) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(pumice::kernel("stencil", [](pumice::Out<float, 2> out, pumice::In<float, 2> in) {
        auto [i, j] = pumice::global_index<2>();
        auto rows = in.size(0), columns = in.size(1);
        auto up = max(i - 1, 0), down = min(i + 1, rows - 1);
        auto left = max(j - 1, 0), right = min(j + 1, columns - 1);
        out(i, j) = in(up, j) + in(down, j) + in(i, left) + in(i, right) - 4.0f * in(i, j);
    }));
    const pumice_library* library = bundle.get();
    const int64_t rows = 67, columns = 131;
    TestArray<float> in(on, Extents{{rows, columns}}, PUMICE_F32), out(on, Extents{{rows, columns}}, PUMICE_F32);
    std::vector<float> values(size_t(rows * columns));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i * i % 1009);
    in.write(values);
    for (const pumice_range& range : {pumice_range_2(rows, columns), grouped(pumice_range_2(rows, columns), 4, 8)}) {
        RT_OK(launch(on, library, k, range, {argument(out.array), argument(in.array)}));
        const std::vector<float> got = out.read();
        const auto at = [&](int64_t i, int64_t j) {
            return values[size_t(std::clamp<int64_t>(i, 0, rows - 1) * columns + std::clamp<int64_t>(j, 0, columns - 1))];
        };
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j)
                ASSERT_EQ(got[size_t(i * columns + j)], at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1) - 4 * at(i, j));
    }
}

TEST(RuntimeVulkan, ReductionThroughLocalMemoryOfTheGroupsSize) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(pumice::kernel("sums", pumice::whole_groups, [](Out<int> out, In<int> in) {
        Local<int> tile(pumice::group_size() + 1);
        auto l = pumice::local_index();
        tile[l] = in[global_index()];
        pumice::synchronize();
        pumice::Var step = pumice::group_size() / 2;
        $while(step > 0) {
            $if(l < step) { tile[l] += tile[l + step]; }
            pumice::synchronize();
            step = step / 2;
        }
        $if(l == 0) { out[pumice::group_index()] = tile[0]; }
    }));
    const pumice_library* library = bundle.get();
    TestArray<int> in(on, ramp<int>(1024), PUMICE_I32), out(on, Extents{{64}}, PUMICE_I32);
    for (const int64_t group : {16, 64, 32}) {
        RT_OK(launch(on, library, k, grouped(pumice_range_1(1024), group), {argument(out.array), argument(in.array)}));
        const std::vector<int> got = out.read();
        for (int64_t g = 0; g < 1024 / group; ++g)
            ASSERT_EQ(got[size_t(g)], (g * group + (g + 1) * group - 1) * group / 2) << "group " << g << " of " << group;
    }
}

TEST(RuntimeVulkan, StructsInArrays) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(pumice::kernel("move", [](InOut<Particle> particles, Val<float> step) {
        pumice::Var p = particles[global_index()];
        p.position.x += step * p.velocity.x;
        p.position.z -= step * p.velocity.y;
        p.hits += 3;
        particles[global_index()] = p;
    }));
    const pumice_library* library = bundle.get();
    std::vector<Particle> values(77);
    for (size_t i = 0; i < values.size(); ++i) values[i] = {{float(i), 1, 2}, int(i), {4, 8}};
    TestArray<Particle> array(on, values, PUMICE_STRUCT);
    RT_OK(launch(on, library, k, pumice_range_1(77), {argument(array.array), scalar(PUMICE_F32, 0.5f)}));
    const std::vector<Particle> got = array.read();
    for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(got[i].position.x, float(i) + 2);
        ASSERT_EQ(got[i].position.y, 1);
        ASSERT_EQ(got[i].position.z, -2);
        ASSERT_EQ(got[i].hits, int(i) + 3);
        ASSERT_EQ(got[i].velocity.y, 8);
    }
    // A part of the array begins at a multiple of 24 bytes, which no device binds.
    const pumice_array part = array.part(5, 10);
    RT_OK(launch(on, library, k, pumice_range_1(10), {argument(part), scalar(PUMICE_F32, 0.0f)}));
    const std::vector<Particle> after = array.read();
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(after[i].hits, int(i) + (i >= 5 && i < 15 ? 6 : 3)) << i;
}

TEST(RuntimeVulkan, PartsOfArraysAtAnyElement) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(saxpy_kernel());
    const pumice_library* library = bundle.get();
    TestArray<float> y(on, Extents{{1000}}, PUMICE_F32), x(on, ramp(1000), PUMICE_F32);
    std::vector<float> want(1000, 0.0f);
    for (const int64_t first : {0, 1, 3, 64, 65, 901}) {
        const pumice_array to = y.part(first, 99), from = x.part(900 - first % 7, 99);
        RT_OK(launch(on, library, k, pumice_range_1(99), {argument(to), argument(from), scalar(PUMICE_F32, 1.0f)}));
        for (int64_t i = 0; i < 99; ++i) want[size_t(first + i)] += float(900 - first % 7 + i);
    }
    EXPECT_EQ(y.read(), want);
}

template <class T> void adds(int32_t type, uint64_t wanted) {
    TestDevice on;
    if ((on.properties() & wanted) != wanted) return;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(pumice::kernel("add", [](InOut<T> y, In<T> x, Val<T> a) {
        auto i = global_index();
        y[i] = y[i] + x[i] * x[i] + a;
    }));
    const pumice_library* library = bundle.get();
    std::vector<T> a(300), b(300), want(300);
    for (size_t i = 0; i < 300; ++i) {
        a[i] = T(int(i) - 150), b[i] = T(int(i) % 11 - 5);
        // Integers wrap; in the arithmetic of int, a product of two uint16_t would overflow.
        using Exact = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
        want[i] = T(Exact(a[i]) + Exact(b[i]) * Exact(b[i]) + Exact(T(-3)));
    }
    TestArray<T> y(on, a, type), x(on, b, type);
    RT_OK(launch(on, library, k, pumice_range_1(300), {argument(y.array), argument(x.array), scalar(type, T(-3))}));
    EXPECT_EQ(y.read(), want) << "type " << type;
}

TEST(RuntimeVulkan, TypesOf8To64Bits) {
    adds<int8_t>(PUMICE_I8, property::int8);
    adds<uint8_t>(PUMICE_U8, property::int8);
    adds<int16_t>(PUMICE_I16, property::int16);
    adds<uint16_t>(PUMICE_U16, property::int16);
    adds<int32_t>(PUMICE_I32, 0);
    adds<uint32_t>(PUMICE_U32, 0);
    adds<int64_t>(PUMICE_I64, 0);
    adds<uint64_t>(PUMICE_U64, 0);
    adds<float>(PUMICE_F32, 0);
    adds<double>(PUMICE_F64, property::float64);
}

TEST(RuntimeVulkan, AtomicsOfEachWidth) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t count = bundle.add(pumice::kernel("count", [](InOut<int> bins, InOut<float> floats, In<int> keys) {
        auto i = global_index();
        pumice::atomic_add(bins[keys[i]], 1);
        pumice::atomic_add(floats[keys[i]], 1.0f);
    }));
    // On a device without atomics on 64-bit integers, this takes locks.
    const uint32_t sum = bundle.add(pumice::kernel("sum", [](InOut<int64_t> sums, In<int> keys) {
        auto i = global_index();
        pumice::atomic_add(sums[keys[i]], pumice::cast<int64_t>(i) * (int64_t(1) << 20));
    }));
    const pumice_library* library = bundle.get();
    const size_t n = 3000, m = 17;
    std::vector<int> keys(n), bins(m);
    std::vector<int64_t> sums(m);
    std::vector<float> floats(m);
    for (size_t i = 0; i < n; ++i) {
        keys[i] = int(i * i % m);
        bins[size_t(keys[i])] += 2;
        sums[size_t(keys[i])] += 2 * (int64_t(i) << 20);
        floats[size_t(keys[i])] += 2;
    }
    TestArray<int> from(on, keys, PUMICE_I32), to(on, Extents{{int64_t(m)}}, PUMICE_I32);
    TestArray<int64_t> wide(on, Extents{{int64_t(m)}}, PUMICE_I64);
    TestArray<float> real(on, Extents{{int64_t(m)}}, PUMICE_F32);
    for (int times = 0; times < 2; ++times) {
        RT_OK(launch(on, library, count, pumice_range_1(n), {argument(to.array), argument(real.array), argument(from.array)}));
        RT_OK(launch(on, library, sum, pumice_range_1(n), {argument(wide.array), argument(from.array)}));
    }
    EXPECT_EQ(to.read(), bins);
    EXPECT_EQ(wide.read(), sums);
    EXPECT_EQ(real.read(), floats);
}

TEST(RuntimeVulkan, MoreGroupsThanADispatchHas) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(pumice::kernel("index", [](pumice::Out<int, 2> out) {
        auto [i, j] = pumice::global_index<2>();
        auto [gi, gj] = pumice::group_index<2>();
        out(i - 5, j) = 1000 * gi + gj + pumice::group_count<2>()[1];
    }));
    const pumice_library* library = bundle.get();
    const int64_t rows = 3, columns = 140001;
    TestArray<int> out(on, Extents{{rows, columns}}, PUMICE_I32);
    pumice_range range = grouped(pumice_range_2(rows, columns), 1, 2);
    range.from[0] += 5, range.to[0] += 5;
    RT_OK(launch(on, library, k, range, {argument(out.array)}));
    const std::vector<int> got = out.read();
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
            ASSERT_EQ(got[size_t(i * columns + j)], 1000 * i + j / 2 + (columns + 1) / 2) << i << ", " << j;
}

TEST(RuntimeVulkan, LongLaunchesAreSliced) {
    int64_t extents[3];
    const auto sliced = [&](int64_t most) {
        vulkan::slice_extents({{0, 0, 0}, {8, 4, 2}}, most, extents);
        return std::vector<int64_t>(extents, extents + 3);
    };
    EXPECT_EQ(sliced(1000), (std::vector<int64_t>{8, 4, 2}));
    EXPECT_EQ(sliced(63), (std::vector<int64_t>{8, 4, 1}));
    EXPECT_EQ(sliced(31), (std::vector<int64_t>{8, 3, 1}));
    EXPECT_EQ(sliced(7), (std::vector<int64_t>{7, 1, 1}));
    EXPECT_EQ(sliced(0), (std::vector<int64_t>{1, 1, 1}));
    const auto probed = [](const vulkan::GroupRange& all) {
        vulkan::GroupRange others[3];
        const int64_t first = vulkan::take_probe(all, others).groups();
        EXPECT_EQ(first + others[0].groups() + others[1].groups() + others[2].groups(), all.groups());
        return first;
    };
    EXPECT_EQ(probed({{0, 0, 0}, {10, 128, 1}}), 20);
    EXPECT_EQ(probed({{0, 0, 0}, {1000, 1000, 2}}), 31000);  // not a plane, half of the groups
    EXPECT_EQ(probed({{0, 0, 0}, {1000, 3, 1}}), 46);

    setenv("PUMICE_VULKAN_SLICES", "1", 1);  // as if every launch were too long for a watchdog
    {
        TestDevice on;
        TestBundle bundle(on.properties());
        const uint32_t k = bundle.add(pumice::kernel("next", [](pumice::InOut<int, 2> a) {
            auto [i, j] = pumice::global_index<2>();
            auto [gi, gj] = pumice::group_index<2>();
            a(i, j) = 3 * a(i, j) + 1000 * gi + gj;
        }));
        const pumice_library* library = bundle.get();
        const int64_t rows = 40, columns = 90;
        TestArray<int> a(on, Extents{{rows, columns}}, PUMICE_I32);
        for (int times = 0; times < 3; ++times)
            RT_OK(launch(on, library, k, grouped(pumice_range_2(rows, columns), 1, 8), {argument(a.array)}));
        const std::vector<int> got = a.read();
        for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < columns; ++j)
                ASSERT_EQ(got[size_t(i * columns + j)], 13 * (1000 * i + j / 8)) << i << ", " << j;
    }
    unsetenv("PUMICE_VULKAN_SLICES");
}

TEST(RuntimeVulkan, MoreScalarsThanPushConstantsHold) {
    TestDevice on;
    TestBundle bundle(on.properties());
    using D = Val<int64_t>;
    const uint32_t k = bundle.add(pumice::kernel("scalars",
                                                 [](Out<int64_t> out, D a, D b, D c, D d, D e, D f, D g, D h, D i, D j, D l, D m,
                                                    D n, D o, D p, D q, D r, D s) {
                                                     out[global_index()] = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g +
                                                                           8 * h + 9 * i + 10 * j + 11 * l + 12 * m + 13 * n +
                                                                           14 * o + 15 * p + 16 * q + 17 * r + 18 * s;
                                                 }),
                                  [](codegen::Options& options) { options.push_bytes = 128; });
    ASSERT_GT(bundle.modules[0].block_bytes, 0u);
    const pumice_library* library = bundle.get();
    TestArray<int64_t> out(on, Extents{{10}}, PUMICE_I64);
    for (int64_t round = 0; round < 300; ++round) {
        std::vector<pumice_argument> arguments{argument(out.array)};
        int64_t want = 0;
        for (int64_t i = 1; i <= 18; ++i) {
            const int64_t value = round * 1'000'000'007 - i;
            arguments.push_back(scalar(PUMICE_I64, value));
            want += i * value;
        }
        RT_OK(launch(on, library, k, pumice_range_1(10), arguments));
        if (round % 50 == 0 || round == 299) { ASSERT_EQ(out.read(), std::vector<int64_t>(10, want)); }
    }
}

TEST(RuntimeVulkan, SubgroupsAndGroupReductions) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(pumice::kernel("reduce", pumice::whole_groups, [](Out<int> out, In<int> in) {
        auto sum = pumice::group::reduce_add(in[global_index()]);
        $if(pumice::local_index() == 0) { out[pumice::group_index()] = sum; }
    }));
    const pumice_library* library = bundle.get();
    TestArray<int> in(on, ramp<int>(4096), PUMICE_I32), out(on, Extents{{64}}, PUMICE_I32);
    RT_OK(launch(on, library, k, grouped(pumice_range_1(4096), 64), {argument(out.array), argument(in.array)}));
    const std::vector<int> got = out.read();
    for (int g = 0; g < 64; ++g) ASSERT_EQ(got[size_t(g)], (g * 64 + g * 64 + 63) * 32);
}

TEST(RuntimeVulkan, LaunchesThatDependOnEachOtherAreOrdered) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(pumice::kernel("next", [](Out<int> out, In<int> in) {
        auto i = global_index();
        out[i] = in[in.size() - 1 - i] + 1;
    }));
    const pumice_library* library = bundle.get();
    const int n = 5000;
    TestArray<int> a(on, ramp<int>(size_t(n)), PUMICE_I32), b(on, Extents{{n}}, PUMICE_I32),
        c(on, ramp<int>(size_t(n)), PUMICE_I32), d(on, Extents{{n}}, PUMICE_I32);
    for (int i = 0; i < 1500; ++i) {
        RT_OK(launch(on, library, k, pumice_range_1(n),
                     {argument(i % 2 ? a.array : b.array), argument(i % 2 ? b.array : a.array)}));
        RT_OK(launch(on, library, k, pumice_range_1(n),
                     {argument(i % 2 ? c.array : d.array), argument(i % 2 ? d.array : c.array)}));
    }
    std::vector<int> want = ramp<int>(size_t(n), 1500);
    EXPECT_EQ(a.read(), want);
    EXPECT_EQ(c.read(), want);
}

TEST(RuntimeVulkan, FillsAndCopies) {
    TestDevice on;
    TestArray<int> a(on, Extents{{1000}}, PUMICE_I32), b(on, ramp<int>(1000), PUMICE_I32);
    EXPECT_EQ(a.read(), std::vector<int>(1000, 0));
    const int seven = 7;
    RT_OK(pumice_array_fill(&a.array, &seven, nullptr));
    EXPECT_EQ(a.read(), std::vector<int>(1000, 7));
    RT_OK(pumice_array_copy(&b.array, &a.array, nullptr));
    EXPECT_EQ(a.read(), ramp<int>(1000));
    // Overlapping parts of one array.
    const pumice_array from = a.part(0, 900), to = a.part(100, 900);
    RT_OK(pumice_array_copy(&from, &to, nullptr));
    std::vector<int> want = ramp<int>(1000);
    for (size_t i = 999; i >= 100; --i) want[i] = int(i - 100);
    EXPECT_EQ(a.read(), want);
    // Patterns that vkCmdFillBuffer does not take.
    TestArray<uint8_t> bytes(on, Extents{{70001}}, PUMICE_U8);
    const uint8_t byte = 0xa5;
    RT_OK(pumice_array_fill(&bytes.array, &byte, nullptr));
    EXPECT_EQ(bytes.read(), std::vector<uint8_t>(70001, 0xa5));
    TestArray<Particle> particles(on, Extents{{300000}}, PUMICE_STRUCT);
    const Particle one{{1, 2, 3}, 4, {5, 6}};
    RT_OK(pumice_array_fill(&particles.array, &one, nullptr));
    const std::vector<Particle> got = particles.read();
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(memcmp(&got[i], &one, sizeof one), 0) << i;
}

TEST(RuntimeVulkan, LargeArraysPassThroughStagingInPieces) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(saxpy_kernel());
    const pumice_library* library = bundle.get();
    const size_t n = (24u << 20) / 4 + 123;
    TestArray<float> y(on, ramp(n), PUMICE_F32), x(on, std::vector<float>(n, 1), PUMICE_F32);
    RT_OK(launch(on, library, k, pumice_range_1(int64_t(n)), {argument(y.array), argument(x.array), scalar(PUMICE_F32, 1.0f)}));
    x.write(std::vector<float>(n, 5));  // while the launch may still read it
    RT_OK(launch(on, library, k, pumice_range_1(int64_t(n)), {argument(y.array), argument(x.array), scalar(PUMICE_F32, 1.0f)}));
    const std::vector<float> got = y.read();
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], float(i) + 1 + 5) << i;
}

TEST(RuntimeVulkan, StreamsAndEvents) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(saxpy_kernel());
    const pumice_library* library = bundle.get();
    pumice_stream first = nullptr, second = nullptr;
    RT_OK(pumice_stream_create(on.device, 0, &first));
    RT_OK(pumice_stream_create(on.device, 1, &second));
    TestArray<float> y(on, Extents{{1000}}, PUMICE_F32), x(on, std::vector<float>(1000, 1), PUMICE_F32);
    pumice_range range = pumice_range_1(1000);
    for (int i = 0; i < 20; ++i) {
        range.stream = i % 2 ? first : second;
        RT_OK(launch(on, library, k, range, {argument(y.array), argument(x.array), scalar(PUMICE_F32, 1.0f)}));
        pumice_event event = nullptr;
        RT_OK(pumice_record(on.device, range.stream, &event));
        RT_OK(pumice_wait_for(on.device, i % 2 ? second : first, event));
        if (i == 10) {
            RT_OK(pumice_event_wait(event));
            EXPECT_EQ(pumice_event_done(event), 1);
            EXPECT_EQ(y.read()[0], 11);
        }
        pumice_event_release(event);
    }
    pumice_event event = nullptr;
    RT_OK(pumice_record(on.device, nullptr, &event));
    while (!pumice_event_done(event)) std::this_thread::yield();
    pumice_event_release(event);
    EXPECT_EQ(y.read(), std::vector<float>(1000, 20));
    pumice_stream_release(first);
    pumice_stream_release(second);
}

TEST(RuntimeVulkan, ThreadsShareADevice) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(saxpy_kernel());
    const pumice_library* library = bundle.get();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int round = 0; round < 15; ++round) {
                const size_t n = size_t(500 + 100 * t + round);
                TestArray<float> y(on, ramp(n), PUMICE_F32), x(on, ramp(n), PUMICE_F32);
                for (int i = 0; i < 5; ++i)
                    EXPECT_EQ(launch(on, library, k, pumice_range_1(int64_t(n)),
                                     {argument(y.array), argument(x.array), scalar(PUMICE_F32, 1.0f)}),
                              PUMICE_OK)
                        << pumice_error();
                const std::vector<float> got = y.read();
                for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], 6 * float(i));
            }
        });
    for (std::thread& thread : threads) thread.join();
}

TEST(RuntimeVulkan, MemoryIsReusedAndZero) {
    TestDevice on;
    for (int round = 0; round < 30; ++round) {
        std::vector<std::unique_ptr<TestArray<int>>> arrays;
        for (int64_t i = 1; i < 40; ++i) {
            arrays.push_back(std::make_unique<TestArray<int>>(on, Extents{{i * 1000}}, PUMICE_I32));
            const int one = 1;
            ASSERT_EQ(arrays.back()->read(), std::vector<int>(size_t(i) * 1000, 0));
            RT_OK(pumice_array_fill(&arrays.back()->array, &one, nullptr));
            if (i % 3 == 0) arrays.erase(arrays.begin() + i % int64_t(arrays.size()));
        }
    }
    pumice_array none;
    const int64_t huge = int64_t(1) << 50;
    EXPECT_EQ(pumice_array_create(on.device, PUMICE_F32, 4, 1, &huge, &none), PUMICE_ERROR_MEMORY);
    EXPECT_NE(std::string(pumice_error()).find("cannot allocate 4503599627370496 bytes on vulkan:0"), std::string::npos)
        << pumice_error();
}

TEST(RuntimeVulkan, ErrorsAreSentencesAndTheDeviceGoesOn) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(saxpy_kernel()), lacking = bundle.add(saxpy_kernel()), aligned = bundle.add(saxpy_kernel());
    for (uint32_t i = 0; i < 2; ++i) {
        ModuleRecord& module = bundle.modules[bundle.kernels[lacking].modules.first + i];
        module.wants |= 1ull << 4 | 1ull << 63;
        module.features = 1 << 4;
        if (on.properties() & property::float64) module.features = 0;
    }
    bundle.kernels[aligned].modules.count = 1;
    const uint32_t big = bundle.add(pumice::kernel("big", [](Out<int> out) {
        Local<int> tile(pumice::group_size() * 256);
        tile[pumice::local_index()] = 1;
        pumice::synchronize();
        out[global_index()] = tile[pumice::local_index()];
    }));
    const pumice_library* library = bundle.get();
    TestArray<float> y(on, Extents{{1000}}, PUMICE_F32), x(on, std::vector<float>(1000, 1), PUMICE_F32);
    TestArray<int> out(on, Extents{{1000}}, PUMICE_I32);
    const auto try_launch = [&](uint32_t kernel, const pumice_range& range, const pumice_array& to) {
        return launch(on, library, kernel, range, {argument(to), argument(x.array), scalar(PUMICE_F32, 1.0f)});
    };
    EXPECT_EQ(try_launch(lacking, pumice_range_1(1000), y.array), PUMICE_ERROR_FEATURE);
    const std::string needs = on.properties() & property::float64 ? "a driver without a known defect" : "shaderFloat64";
    EXPECT_NE(std::string(pumice_error()).find("kernel \"saxpy\" (rt_vulkan_test.cpp:"), std::string::npos) << pumice_error();
    EXPECT_NE(std::string(pumice_error()).find("needs " + needs + ", which vulkan:0 "), std::string::npos) << pumice_error();
    EXPECT_EQ(try_launch(k, grouped(pumice_range_1(1000), 1 << 20), y.array), PUMICE_ERROR_ARGUMENT);
    EXPECT_NE(std::string(pumice_error()).find("its group has extent 1048576 along axis 0; the limit of vulkan:0"),
              std::string::npos)
        << pumice_error();
    EXPECT_EQ(try_launch(aligned, pumice_range_1(10), y.part(1, 10)), PUMICE_ERROR_ARGUMENT);
    EXPECT_NE(std::string(pumice_error()).find("argument 1 begins at byte 4 of its memory"), std::string::npos) << pumice_error();
    EXPECT_EQ(launch(on, library, big, grouped(pumice_range_1(256), 128), {argument(out.array)}), PUMICE_ERROR_ARGUMENT);
    EXPECT_NE(std::string(pumice_error()).find("needs 131072 bytes of local memory for a group of 128 work-items"),
              std::string::npos)
        << pumice_error();
    RT_OK(launch(on, library, big, pumice_range_1(256), {argument(out.array)}));  // the default group fits
    RT_OK(try_launch(k, pumice_range_1(1000), y.array));
    EXPECT_EQ(y.read(), std::vector<float>(1000, 1));
    EXPECT_EQ(out.read()[255], 1);
    pumice_device none = nullptr;
    EXPECT_EQ(pumice_open("vulkan:99", nullptr, &none), PUMICE_ERROR_DEVICE);
    EXPECT_EQ(pumice_open("vulkan:no such name", nullptr, &none), PUMICE_ERROR_DEVICE);
    EXPECT_NE(std::string(pumice_error()).find("there is no device vulkan:no such name; Vulkan has vulkan:0 ("),
              std::string::npos)
        << pumice_error();
}

TEST(RuntimeVulkan, ArraysWithoutElementsAndPreparedKernels) {
    TestDevice on;
    TestBundle bundle(on.properties());
    const uint32_t k = bundle.add(pumice::kernel("sizes", [](Out<int> out, In<int> none) {
        $if(none.size() > 0) { out[global_index()] = none[0]; }
        $else { out[global_index()] = 42; };
    }));
    const pumice_library* library = bundle.get();
    RT_OK(pumice_prepare(on.device, library, k));
    TestArray<int> out(on, Extents{{10}}, PUMICE_I32), none(on, Extents{{0}}, PUMICE_I32);
    RT_OK(launch(on, library, k, pumice_range_1(10), {argument(out.array), argument(none.array)}));
    EXPECT_EQ(out.read(), std::vector<int>(10, 42));
}

}  // namespace
