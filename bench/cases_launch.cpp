// The cost of a launch beside its work: saxpy of 64 items, once with a wait, and 1,000 launches before one wait.
#include "bench/harness.h"
#include "bench/kernels.h"
#include "bench/timing.h"

#include <pumice/vulkan.h>

namespace bench {
namespace {

using namespace pumice;

constexpr int items = 64, batch = 1000;
const float factor = 0.5f;

const auto saxpy = fresh_saxpy();

/// Both sides' arrays: one x, and as many y as launches may run at once.
struct Setting {
    Setting(Bench& bench, int targets)
        : device(bench.raw), pipeline(device, "saxpy", saxpy_glsl, 2, 8, uint32_t(targets)), px(device, items * 4) {
        // The products are exact, so that both sides agree to the bit after any number of launches, fused or not.
        std::vector<float> host(items);
        for (int i = 0; i < items; ++i) host[size_t(i)] = float(i % 8) / 8;
        x = bench.device.upload(host);
        px.upload(host);
        for (int t = 0; t < targets; ++t) {
            y.push_back(bench.device.zeros<float>(items));
            py.push_back(std::make_unique<raw::Buffer>(device, items * 4));
            sets.push_back(pipeline.bindings({py.back().get(), &px}));
        }
    }
    void require_same_results() const {
        for (size_t t = 0; t < y.size(); ++t) require_same(y[t].download(), py[t]->download<float>(), 0);
    }

    raw::Device& device;
    raw::Pipeline pipeline;
    Array<float> x;
    std::vector<Array<float>> y;
    raw::Buffer px;
    std::vector<std::unique_ptr<raw::Buffer>> py;
    std::vector<VkDescriptorSet> sets;
    const uint32_t push[2] = {word(items), word(factor)};
};

Measurement one_launch(Bench& bench) {
    Setting s(bench, 1);
    const Side ours = [&](int times) {
        for (int t = 0; t < times; ++t) saxpy(ndrange(items).group(64), s.y[0], s.x, factor).wait();
    };
    const Side peer = [&](int times) {
        for (int t = 0; t < times; ++t) {
            s.device.begin();
            s.pipeline.bind();
            s.pipeline.dispatch(s.sets[0], s.push, 1);
            s.device.submit_and_wait();
        }
    };
    const Measurement m = compare(bench, ours, peer, 20);
    s.require_same_results();
    return m;
}

/// Each launch takes the next of `targets` arrays; with one of them, each depends on the one before.
Measurement batched(Bench& bench, int targets) {
    Setting s(bench, targets);
    const Side ours = [&](int times) {
        for (int t = 0; t < times; ++t) saxpy(ndrange(items).group(64), s.y[size_t(t % targets)], s.x, factor);
        bench.device.synchronize();
    };
    const Side peer = [&](int times) {
        s.device.begin();
        s.pipeline.bind();
        for (int t = 0; t < times; ++t) {
            if (targets == 1 && t > 0) s.device.barrier();
            s.pipeline.dispatch(s.sets[size_t(t % targets)], s.push, 1);
        }
        s.device.submit_and_wait();
    };
    const Measurement m = compare(bench, ours, peer, batch);
    s.require_same_results();
    return m;
}

/// Ten launches, each dependent on the one before, on a device of the application's (vulkan::wrap). Measured is the CPU time of
/// the application's thread: for the launches and vulkan::submit; or, if `recorded`, for releasing the recording before and for
/// recording the launches into the application's command buffer, whose submission is not counted. The peer records ten dispatches
/// with barriers in plain Vulkan; its time includes the submission in the first case only.
Measurement frame(Bench& bench, bool recorded) {
    constexpr int launches = 10;
    raw::Device& raw = bench.raw;
    vulkan::Application application;
    application.instance = raw::Device::instance();
    application.physical_device = raw.physical;
    application.device = raw.device;
    application.queue = raw.queue;
    application.queue_family = raw.family;
    application.features = &raw.features;
    application.extensions = raw.extensions;
    application.get_instance_proc_addr = reinterpret_cast<decltype(application.get_instance_proc_addr)>(vkGetInstanceProcAddr);
    const Device device = vulkan::wrap(application);
    const Array<float> x = device.full<float>(items, 1.0f), y = device.zeros<float>(items);
    raw::Pipeline pipeline(raw, "saxpy", saxpy_glsl, 2, 8, 1);
    raw::Buffer px(raw, items * 4), py(raw, items * 4);
    px.upload(std::vector<float>(items, 1.0f));
    const VkDescriptorSet set = pipeline.bindings({&py, &px});
    const uint32_t push[2] = {word(items), word(factor)};
    int frames = 0, peer_frames = 0;
    vulkan::Recording recording(device);
    const auto recording_ours = [&] {
        const double start = thread_ms();
        recording.release();  // the frame before
        raw.begin();
        recording.record(raw.commands,
                         [&] {
                             for (int i = 0; i < launches; ++i) saxpy(ndrange(items).group(64), y, x, factor);
                         },
                         {{}, {}});
        const double took = thread_ms() - start;
        raw.submit();
        raw.wait();
        ++frames;
        return took;
    };
    const auto submitting = [&] {
        const double start = thread_ms();
        for (int i = 0; i < launches; ++i) saxpy(ndrange(items).group(64), y, x, factor);
        vulkan::submit(device);
        const double took = thread_ms() - start;
        device.synchronize();
        ++frames;
        return took;
    };
    const auto peer = [&] {
        const double start = thread_ms();
        raw.begin();
        pipeline.bind();
        for (int i = 0; i < launches; ++i) {
            if (i > 0) raw.barrier();
            pipeline.dispatch(set, push, 1);
        }
        if (!recorded) raw.submit();
        const double took = thread_ms() - start;
        if (recorded) raw.submit();
        raw.wait();
        ++peer_frames;
        return took;
    };
    const std::function<double()> ours = recorded ? std::function<double()>(recording_ours) : submitting;
    const Measurement m = compare_timed(bench, ours, peer);
    require_same(y.download(), std::vector<float>(items, factor * float(launches * frames)), 0);
    require_same(py.download<float>(), std::vector<float>(items, factor * float(launches * peer_frames)), 0);
    return m;
}

Case afresh(const std::string& name, double target, const std::function<Measurement(Bench&)>& once) {
    return {name, Kind::launch, target, 0, "", [=](Bench& bench) { return compare_afresh(bench, name, once); }};
}

}  // namespace

std::vector<Case> launch_cases() {
    return {
        afresh("one launch and wait", 1.15, one_launch),
        afresh("1,000 dependent launches, each", 1.25, [](Bench& bench) { return batched(bench, 1); }),
        {"ten launches and a submit, wrapped", Kind::launch, 2.0, 0, "", [](Bench& bench) { return frame(bench, false); }},
        {"ten launches, recorded", Kind::launch, 1.5, 0, "", [](Bench& bench) { return frame(bench, true); }},
        afresh("1,000 independent launches, each", 1.25, [](Bench& bench) { return batched(bench, batch); }),
    };
}

}  // namespace bench
