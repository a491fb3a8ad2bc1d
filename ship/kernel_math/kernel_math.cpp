// The interpreter's loops by name: one function for each op of core/ir/ops.def and each scalar type. Code compiled ahead of time
// calls those of the operations that neither LLVM nor libm has.
//
//   pumice_cpu_OP_TYPE(lanes, count, r, a, b, c)      r[lane] = OP(a[lane], b[lane], c[lane]) for each of `count` lanes
//
// They are the functions that host_function() (cpu/native/host_function.h) gives to code that is compiled in the process, so that
// both have equal results. This file is a static library of its own: it goes only into programs whose kernels call one of them. A
// function for a type that the operation does not take is empty, and no kernel calls it.
#include "core/interp/scalar_loops.h"

namespace {

using namespace pumice;
using namespace pumice::internal;

static_assert(scalar_count == 13, "a new scalar type needs a column here");

}  // namespace

#define EXPORT(name, types, T, suffix)                                                                                        \
    extern "C" void pumice_cpu_##name##_##suffix(uint16_t* lanes, int count, void* r, const void* a, const void* b,           \
                                                 const void* c);                                                              \
    void pumice_cpu_##name##_##suffix([[maybe_unused]] uint16_t* lanes, [[maybe_unused]] int count, [[maybe_unused]] void* r, \
                                      [[maybe_unused]] const void* a, [[maybe_unused]] const void* b,                         \
                                      [[maybe_unused]] const void* c) {                                                       \
        if constexpr (pumice::internal::takes(pumice::internal::TypeClass::types, *pumice::internal::scalar_of<T>()))         \
            pumice::interp::name##_items<T>({lanes, count}, r, a, b, c);                                                      \
    }
#define EXPORT_ALL(name, types)            \
    EXPORT(name, types, bool, bool)        \
    EXPORT(name, types, int8_t, i8)        \
    EXPORT(name, types, int16_t, i16)      \
    EXPORT(name, types, int32_t, i32)      \
    EXPORT(name, types, int64_t, i64)      \
    EXPORT(name, types, uint8_t, u8)       \
    EXPORT(name, types, uint16_t, u16)     \
    EXPORT(name, types, uint32_t, u32)     \
    EXPORT(name, types, uint64_t, u64)     \
    EXPORT(name, types, pumice::half, f16) \
    EXPORT(name, types, float, f32)        \
    EXPORT(name, types, double, f64)       \
    EXPORT(name, types, pumice::bfloat16, bf16)

#define OP1(name, types, ...) EXPORT_ALL(name, types)
#define OP2(name, types, ...) EXPORT_ALL(name, types)
#define OP3(name, types, ...) EXPORT_ALL(name, types)
#include "core/ir/ops.def"
