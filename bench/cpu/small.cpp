// The cost of a launch and of a first use on the CPU device, beside the work itself.
#include <cstdio>
#include <functional>

#include <pumice/pumice.h>

#include "bench/cpu/run.h"
#include "bench/kernels.h"
#include "bench/timing.h"
#include "core/support/debug.h"
#include "cpu/runtime/cpu.h"

namespace bench::cpu {
namespace {

using namespace pumice;

/// Five hundred operations, none of which is like another.
auto fresh_large() {
    return kernel("large", [](InOut<float> y, In<float> x, Val<float> a) {
        auto i = global_index();
        Var v = x[i], w = y[i];
        for (int k = 0; k < 125; ++k) {
            v = v * a + w;
            w = select(v > float(k), w - v, v * (0.25f + float(k)));
        }
        y[i] = v + w;
    });
}

double median_ms(int times, const std::function<void()>& act, int per_time = 1) {
    std::vector<double> all;
    for (int t = 0; t < times; ++t) all.push_back(milliseconds_of(act) / per_time);
    return median(all);
}

Device opened(const char* cache) {
    const debug::Override folder("PUMICE_CACHE_DIR", cache ? cache : debug::value("PUMICE_CACHE_DIR"));
    return Device(pumice::cpu::open());
}

}  // namespace

int run_small(const Options& options, nlohmann::json& results) {
    const Device cached = opened(nullptr), uncached = opened("off");
    const Array<float> y = cached.zeros<float>(64), x = cached.zeros<float>(64);
    const Array<float> v = uncached.zeros<float>(64), u = uncached.zeros<float>(64);
    const auto warm = fresh_saxpy();
    warm(ndrange(64).group(64), y, x, 0.5f).wait();
    fresh_saxpy()(ndrange(64).group(64), v, u, 0.5f).wait();
    fresh_large()(ndrange(64).group(64), y, x, 0.5f).wait();

    int missed = 0;
    const auto report = [&, d = cached.name()](const std::string& name, double target, const std::function<double()>& measure) {
        if (name.find(options.filter) == std::string::npos) return;
        const double ms = measure();
        const bool miss = ms > target;
        missed += miss;
        std::printf("%-44s %10.5f ms  target %7.3f ms%s\n", name.c_str(), ms, target, miss ? "  MISS" : "");
        results.push_back({{"case", name},
                           {"device", d},
                           {"ours_ms", ms},
                           {"peers", nlohmann::json::object()},
                           {"limit_share", nullptr},
                           {"target_ms", target},
                           {"reached", !miss}});
    };
    const int times = options.quick ? 11 : 31;
    report("cpu: one launch and wait", 0.005, [&] {
        return median_ms(
            times,
            [&] {
                for (int k = 0; k < 200; ++k) warm(ndrange(64).group(64), y, x, 0.5f).wait();
            },
            200);
    });
    report("cpu: 1,000 dependent launches, each", 0.002, [&] {
        return median_ms(
            times,
            [&] {
                for (int k = 0; k < 1000; ++k) warm(ndrange(64).group(64), y, x, 0.5f);
                cached.synchronize();
            },
            1000);
    });
    report("cpu: saxpy, record to native code and run", 10,
           [&] { return median_ms(times, [&] { fresh_saxpy()(ndrange(64).group(64), v, u, 0.5f).wait(); }); });
    report("cpu: saxpy, the transform to its adjoint", 5,
           [&, k = fresh_saxpy().recorded()] { return median_ms(times, [&] { derive::adjoint(*k, saxpy_gradient); }); });
    const Array<float> dv = uncached.zeros<float>(64), du = uncached.zeros<float>(64);
    report("cpu: saxpy's gradient, record to native code and run", 40, [&] {
        return median_ms(times, [&] {
            autodiff(Reverse, fresh_saxpy(), ndrange(64).group(64), Duplicated(v, dv), Duplicated(u, du), Active(0.5f));
        });
    });
    report("cpu: 500 operations, record to native code and run", 60,
           [&] { return median_ms(times, [&] { fresh_large()(ndrange(64).group(64), v, u, 0.5f).wait(); }); });
    report("cpu: saxpy from the disk cache", 1,
           [&] { return median_ms(times, [&] { fresh_saxpy()(ndrange(64).group(64), y, x, 0.5f).wait(); }); });
    report("cpu: 500 operations from the disk cache", 1,
           [&] { return median_ms(times, [&] { fresh_large()(ndrange(64).group(64), y, x, 0.5f).wait(); }); });
    return missed;
}

}  // namespace bench::cpu
