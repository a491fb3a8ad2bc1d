// The peer of first_result.c by raw Vulkan, which knows its SPIR-V and keeps the driver's pipelines in a file.
//
//   raw_first_result SPIRV CACHE [LAUNCHES]
//
// With LAUNCHES it prints the microseconds of each of so many launches that depend on each other, the median of ten times.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/raw_vulkan.h"

namespace {

std::vector<char> contents_of(const char* path) {
    std::vector<char> bytes;
    if (std::FILE* const file = std::fopen(path, "rb")) {
        char part[4096];
        for (size_t count; (count = std::fread(part, 1, sizeof part, file)) > 0;) bytes.insert(bytes.end(), part, part + count);
        std::fclose(file);
    }
    return bytes;
}

void keep(VkPipelineCache cache, const raw::Device& device, const char* path) {
    size_t size = 0;
    device.check(vkGetPipelineCacheData(device.device, cache, &size, nullptr), "vkGetPipelineCacheData");
    std::vector<char> data(size);
    device.check(vkGetPipelineCacheData(device.device, cache, &size, data.data()), "vkGetPipelineCacheData");
    if (std::FILE* const file = std::fopen(path, "wb")) {
        std::fwrite(data.data(), 1, size, file);
        std::fclose(file);
    }
}

void launch(raw::Device& device, raw::Pipeline& pipeline, VkDescriptorSet set, uint32_t items, int times) {
    struct {
        uint32_t n;
        float a;
    } const push = {items, 0.5f};
    device.begin();
    pipeline.bind();
    for (int t = 0; t < times; ++t) {
        if (t > 0) device.barrier();
        pipeline.dispatch(set, &push, (items + 63) / 64);
    }
    device.submit_and_wait();
}

int run(const char* spirv_path, const char* cache_path, int launches) {
    constexpr uint32_t n = 1000;
    std::vector<float> x(n), y(n, 1.0f);
    for (uint32_t i = 0; i < n; ++i) x[i] = float(i);
    const std::vector<char> bytes = contents_of(spirv_path), kept = contents_of(cache_path);
    std::vector<uint32_t> spirv(bytes.size() / 4);
    std::memcpy(spirv.data(), bytes.data(), spirv.size() * 4);

    raw::Device device(0);
    const VkPipelineCacheCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, .initialDataSize = kept.size(), .pInitialData = kept.data()};
    VkPipelineCache cache = VK_NULL_HANDLE;
    device.check(vkCreatePipelineCache(device.device, &info, nullptr, &cache), "vkCreatePipelineCache");
    raw::Buffer to(device, n * 4), from(device, n * 4);
    to.upload(y), from.upload(x);
    raw::Pipeline pipeline(device, spirv, 2, 8, 1, cache);
    const VkDescriptorSet set = pipeline.bindings({&to, &from});
    launch(device, pipeline, set, n, 1);
    y = to.download<float>();
    if (kept.empty()) keep(cache, device, cache_path);
    std::vector<double> us;
    for (int round = 0; launches > 0 && round < 10; ++round) {
        const auto start = std::chrono::steady_clock::now();
        launch(device, pipeline, set, 64, launches);
        us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / launches);
    }
    std::ranges::sort(us);
    if (!us.empty()) std::printf("%f\n", us[us.size() / 2]);
    vkDestroyPipelineCache(device.device, cache, nullptr);
    return y[999] == 500.5f ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 1;
    try {
        return run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 0);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
