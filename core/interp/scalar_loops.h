// The loops over work-items of the scalar operations, as templates: for each row of ops.def NAME_items<T>(items, r, a, b, c),
// whose body is the row's host column. interp_scalar.cpp makes a table of them, and ship/kernel_math exports them to code that
// was compiled ahead of time.
#pragma once
#include <cmath>

#include "core/interp/interp_items.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/ir/scalar_math.h"

namespace pumice::interp {

/// The result type of an operation on T.
template <class T, Result result> using ResultType =
    std::conditional_t<result == Result::boolean, bool, std::conditional_t<result == Result::i32, int32_t, T>>;

// Each row as a loop over items for an operand type T; the second operand of F_I is an int32_t.
#define LOOP(name, result)                                                                                       \
    template <class T> void name##_items(Items items, [[maybe_unused]] void* to, [[maybe_unused]] const void* x, \
                                         [[maybe_unused]] const void* y, [[maybe_unused]] const void* z) {       \
        using Out = ResultType<T, Result::result>;                                                               \
        Out* __restrict r = static_cast<Out*>(to);
#define OPERAND(p, from, type) const type* p##_items = static_cast<const type*>(from);
#define OP1(name, types, result, cost, glsl, llvm, host, ...) \
    LOOP(name, result)                                        \
    OPERAND(a, x, T)                                          \
    each(items, [=](int i) {                                  \
        const auto a = Computed<T>(a_items[i]);               \
        r[i] = Out(host);                                     \
    });                                                       \
    }
#define OP2(name, types, result, cost, glsl, llvm, host, ...)                          \
    LOOP(name, result)                                                                 \
    using Second = std::conditional_t<TypeClass::types == TypeClass::F_I, int32_t, T>; \
    OPERAND(a, x, T)                                                                   \
    OPERAND(b, y, Second)                                                              \
    each(items, [=](int i) {                                                           \
        const auto a = Computed<T>(a_items[i]);                                        \
        const auto b = Computed<Second>(b_items[i]);                                   \
        r[i] = Out(host);                                                              \
    });                                                                                \
    }
#define OP3(name, types, result, cost, glsl, llvm, host, ...)                                             \
    LOOP(name, result)                                                                                    \
    OPERAND(a, x, T)                                                                                      \
    OPERAND(b, y, T)                                                                                      \
    OPERAND(c, z, T)                                                                                      \
    each(items, [=](int i) {                                                                              \
        const auto a = Computed<T>(a_items[i]), b = Computed<T>(b_items[i]), c = Computed<T>(c_items[i]); \
        r[i] = Out(host);                                                                                 \
    });                                                                                                   \
    }
#include "core/ir/ops.def"
#undef LOOP
#undef OPERAND

}  // namespace pumice::interp
