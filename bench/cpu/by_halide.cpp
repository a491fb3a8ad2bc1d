#include "bench/cpu/by_halide.h"

#include <dlfcn.h>

namespace bench::cpu {

const HalideSides* halide() {
    static const HalideSides* const sides = []() -> const HalideSides* {
        void* const module = dlopen(PUMICE_BENCH_HALIDE, RTLD_NOW | RTLD_LOCAL);
        void* const function = module ? dlsym(module, "pumice_bench_halide") : nullptr;
        return function ? reinterpret_cast<const HalideSides* (*)()>(function)() : nullptr;
    }();
    return sides;
}

}  // namespace bench::cpu
