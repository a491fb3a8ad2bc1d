// The cost of the first use of a kernel: recording and compiling saxpy, without the cache and with it.
#include "bench/harness.h"
#include "bench/kernels.h"

namespace bench {
namespace {

using namespace pumice;
using namespace pumice::internal;

Measurement to_spirv(Bench& bench) {
    size_t words = 0;
    fresh_saxpy().spirv();  // waits for shaderc's slow first compile
    const Measurement m = measure(bench, [&] { words = fresh_saxpy().spirv().size(); });
    if (words < 5) fail("the SPIR-V of saxpy has ", words, " words");
    return m;
}

/// From the recorded kernel to its adjoint, IR to IR.
Measurement to_adjoint(Bench& bench) {
    const auto recorded = fresh_saxpy().recorded();
    return measure(bench, [&] { derive::adjoint(*recorded, saxpy_gradient); });
}

Measurement gradient_to_spirv(Bench& bench) {
    const auto make = [] { return adjoint<Duplicated, Duplicated, Active>(fresh_saxpy()).spirv().size(); };
    if (make() < 5) fail("the SPIR-V of saxpy's adjoint is empty");
    return measure(bench, [&] { make(); });
}

/// Recording, and the cached shader given to the driver; the pipeline comes with the first launch, which knows the group size.
Measurement from_cache(Bench& bench) {
    Backend& backend = *bench.device.state->backend;
    const auto compile = [&] { return backend.compile(fresh_saxpy().recorded()); };
    compile();
    return measure(bench, [&] { compile(); });
}

/// From a kernel that the process never saw, but that is cached on disk, to its first result, pipeline and all. The peer has its
/// SPIR-V at hand.
Measurement first_launch(Bench& bench) {
    constexpr int items = 64;
    Array<float> x = bench.device.zeros<float>(items), y = bench.device.zeros<float>(items);
    const Side ours = [&](int) { fresh_saxpy()(ndrange(items).group(64), y, x, 0.5f).wait(); };

    const std::vector<uint32_t> spirv = raw::compile_glsl(saxpy_glsl, "saxpy");
    raw::Buffer px(bench.raw, items * 4), py(bench.raw, items * 4);
    VkPipelineCacheCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    VkPipelineCache cache = VK_NULL_HANDLE;
    bench.raw.check(vkCreatePipelineCache(bench.raw.device, &info, nullptr, &cache), "vkCreatePipelineCache");
    const uint32_t push[2] = {word(items), word(0.5f)};
    const Side peer = [&](int) {
        raw::Pipeline pipeline(bench.raw, spirv, 2, sizeof push, 1, cache);
        bench.raw.begin();
        pipeline.bind();
        pipeline.dispatch(pipeline.bindings({&py, &px}), push, 1);
        bench.raw.submit_and_wait();
    };
    const Measurement m = compare(bench, ours, peer, 1);
    vkDestroyPipelineCache(bench.raw.device, cache, nullptr);
    return m;
}

}  // namespace

std::vector<Case> first_use_cases() {
    return {
        {"saxpy: record to SPIR-V", Kind::first_use, 3, 0, "", to_spirv},
        {"saxpy: the transform to its adjoint", Kind::first_use, 5, 0, "", to_adjoint},
        {"saxpy's gradient: record to SPIR-V", Kind::first_use, 8, 0, "", gradient_to_spirv},
        {"saxpy: executable from the disk cache", Kind::first_use, 1, 0, "", from_cache},
        {"saxpy: first result from the disk cache", Kind::first_use, 1, 0, "", first_launch},
    };
}

}  // namespace bench
