// Adds to elements of several scalars, in private copies and in local memory, against sums on the host.
#include <gtest/gtest.h>

#include <optional>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/kernel/kernel.h"
#include "core/language/composite.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "cpu/runtime/cpu_device.h"

namespace pumice::cpu {
namespace {

constexpr int elements = 37;

/// Items with numbers that are exact in f32, so that the order of additions does not matter.
std::vector<int> places(int items) {
    std::vector<int> at;
    for (int i = 0; i < items; ++i) at.push_back((i * 7919 + i * i) % elements);
    return at;
}

class VectorAdds : public testing::TestWithParam<int> {
protected:
    void SetUp() override {
        if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
        if (native_width(host_machine()) < GetParam()) GTEST_SKIP() << "SKIPPED: this machine's vectors are narrower";
        opened.emplace(std::make_shared<cpu::CpuDevice>(GetParam(), 2, false, host_machine()));
    }
    std::optional<pumice::Device> opened;
};

TEST_P(VectorAdds, all_scalars_of_an_element) {
    const auto add = kernel("add", [](InOut<float4> sums, In<int> at) {
        auto i = global_index();
        auto e = at[i];
        auto x = cast<float>(i % 16);
        atomic_add(sums[e].x, x);
        atomic_sub(sums[e].w, x * 0.5f);
        atomic_add(sums[e].y, x * 0.25f);
        atomic_add(sums[e].z, 1.0f);
    });
    for (const int items : {1, 5, 16, 77, 3000}) {
        const std::vector<int> at = places(items);
        std::vector<float4> wanted(elements, float4{1, 2, 3, 4});
        const Array<float4> sums = opened->upload(wanted);
        add(ndrange(items), sums, opened->upload(at));
        for (int i = 0; i < items; ++i) {
            float4& e = wanted[size_t(at[size_t(i)])];
            const float x = float(i % 16);
            e.x += x, e.y += x * 0.25f, e.z += 1, e.w -= x * 0.5f;
        }
        const std::vector<float4> got = sums.download();
        for (size_t e = 0; e < size_t(elements); ++e) EXPECT_EQ(got[e], wanted[e]) << e << " of " << items << " items";
    }
}

TEST_P(VectorAdds, some_scalars_under_a_condition_and_of_integers) {
    const auto add = kernel("add", [](InOut<float3> sums, InOut<int2> counts, In<int> at) {
        auto i = global_index();
        auto e = at[i];
        $if(i % 3 != 0) {
            atomic_add(sums[e].z, 0.5f);
            atomic_add(counts[i % 5].x, i);
            atomic_add(sums[e].x, cast<float>(e));
            atomic_add(counts[i % 5].y, -1);
        }
    });
    for (const int items : {3, 16, 83, 2000}) {
        const std::vector<int> at = places(items);
        std::vector<float3> wanted(elements, float3{0, -0.0f, 0});
        std::vector<int2> counted(5);
        const Array<float3> sums = opened->upload(wanted);
        const Array<int2> counts = opened->upload(counted);
        add(ndrange(items), sums, counts, opened->upload(at));
        for (int i = 0; i < items; ++i) {
            if (i % 3 == 0) continue;
            const int e = at[size_t(i)];
            wanted[size_t(e)].z += 0.5f, wanted[size_t(e)].x += float(e);
            counted[size_t(i % 5)].x += i, counted[size_t(i % 5)].y -= 1;
        }
        const std::vector<float3> got = sums.download();
        for (size_t e = 0; e < size_t(elements); ++e) EXPECT_EQ(got[e], wanted[e]) << e << " of " << items << " items";
        const std::vector<int2> numbers = counts.download();
        for (size_t c = 0; c < 5; ++c) EXPECT_EQ(numbers[c], counted[c]) << c << " of " << items << " items";
    }
}

TEST_P(VectorAdds, local_memory_that_is_read_in_between) {
    const auto add = kernel("add", whole_groups, [](Out<float2> to, Out<float> seen, In<int> at) {
        Local<float2, 32> tile;
        auto i = global_index();
        auto l = local_index();
        tile[l] = Val<float2>(0.0f, 1.0f);
        synchronize();
        auto e = at[i] % 32;
        atomic_add(tile[e].x, 1.0f);
        atomic_add(tile[e].y, 2.0f);
        synchronize();
        seen[i] = tile[e].x;
        synchronize();
        atomic_add(tile[31 - e].y, 4.0f);
        synchronize();
        to[i] = tile[l];
    });
    const std::vector<int> at = places(64);
    const Array<float2> to = opened->zeros<float2>(64);
    const Array<float> seen = opened->zeros<float>(64);
    add(ndrange(64).group(32), to, seen, opened->upload(at));
    for (size_t g = 0; g < 2; ++g) {
        std::vector<float2> wanted(32, float2{0, 1});
        for (size_t i = 32 * g; i < 32 * g + 32; ++i) {
            wanted[size_t(at[i] % 32)].x += 1, wanted[size_t(at[i] % 32)].y += 2, wanted[size_t(31 - at[i] % 32)].y += 4;
        }
        for (size_t i = 0; i < 32; ++i) {
            EXPECT_EQ(to.download()[32 * g + i], wanted[i]) << i;
            EXPECT_EQ(seen.download()[32 * g + i], wanted[size_t(at[32 * g + i] % 32)].x) << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Widths, VectorAdds, testing::Values(1, 4, 8, 16));

}  // namespace
}  // namespace pumice::cpu
