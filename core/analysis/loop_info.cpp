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

int unit_step(const Kernel& kernel, const Inst& loop) {
    if (loop.op != Op::for_ || kernel.type_of(kernel.operands(loop)[0]) != Scalar::i32) return 0;
    const auto step = constant_integer(kernel, kernel.operands(loop)[2]);
    return step == 1 ? 1 : step == -1 ? -1 : 0;
}

std::optional<int64_t> constant_trip_count(const Kernel& kernel, const Inst& loop) {
    return loop.op == Op::for_ ? constant_trip_count(kernel, kernel.operands(loop)) : std::nullopt;
}

std::optional<int64_t> constant_trip_count(const Kernel& kernel, std::span<const Value> v) {
    const auto from = constant_integer(kernel, v[0]), to = constant_integer(kernel, v[1]), step = constant_integer(kernel, v[2]);
    if (!from || !to || !step) return std::nullopt;
    return trip_count(*from, *to, *step);
}

}  // namespace pumice::ir
