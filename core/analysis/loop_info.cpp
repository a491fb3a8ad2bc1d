#include "core/analysis/loop_info.h"

#include <algorithm>

namespace pumice::ir {

WideInt wide_integer(Scalar type, uint64_t bits) {
    const int shift = 64 - 8 * size_of(type);
    return is_unsigned_int(type) ? WideInt(bits << shift >> shift) : WideInt(int64_t(bits << shift) >> shift);
}

std::optional<WideInt> constant_integer(const Kernel& kernel, Value v) {
    uint64_t bits = 0;
    if (!is_int(kernel.type_of(v)) || !kernel.constant(v, bits)) return std::nullopt;
    return wide_integer(kernel.type_of(v), bits);
}

int64_t trip_count(WideInt from, WideInt to, WideInt step) {
    const WideInt distance = step > 0 ? to - from : from - to, stride = step > 0 ? step : -step;
    if (step == 0 || distance <= 0) return 0;
    return int64_t(std::min<WideInt>((distance - 1) / stride + 1, INT64_MAX));
}

std::optional<int64_t> constant_trip_count(const Kernel& kernel, const Inst& loop) {
    if (loop.op != Op::for_) return std::nullopt;
    const auto v = kernel.operands(loop);
    const auto from = constant_integer(kernel, v[0]), to = constant_integer(kernel, v[1]), step = constant_integer(kernel, v[2]);
    if (!from || !to || !step) return std::nullopt;
    return trip_count(*from, *to, *step);
}

}  // namespace pumice::ir
