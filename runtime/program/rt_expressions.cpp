#include "runtime/program/rt_expressions.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "runtime/api/rt_api.h"

namespace pumice_rt {
namespace {

template <class T> T from_bits(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> uint64_t to_bits(T value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

/// Correctly rounded; without a call of the C library, which the runtime does not link for this alone.
double square_root(double a) {
#if defined(__x86_64__)
    __asm__("sqrtsd %1, %0" : "=x"(a) : "x"(a));
    return a;
#elif defined(__aarch64__)
    __asm__("fsqrt %d0, %d1" : "=w"(a) : "w"(a));
    return a;
#elif defined(__riscv_d)
    __asm__("fsqrt.d %0, %1" : "=f"(a) : "f"(a));
    return a;
#else
    return __builtin_sqrt(a);
#endif
}

/// The functions that were found, by number, those for float first. Every thread writes the same.
void *unary_found[2][unary_count], *binary_found[2][binary_count];

void*& function_of(const ExpressionRecord& x) {
    const bool wide = x.type == PUMICE_F64;
    return ExpressionOp(x.op) == ExpressionOp::call ? unary_found[wide][x.index] : binary_found[wide][x.index];
}

template <class T> T call(const ExpressionRecord& x, T a, T b) {
    void* const function = __atomic_load_n(&function_of(x), __ATOMIC_RELAXED);
    return ExpressionOp(x.op) == ExpressionOp::call ? reinterpret_cast<T (*)(T)>(function)(a)
                                                    : reinterpret_cast<T (*)(T, T)>(function)(a, b);
}

template <class T> bool evaluate_as(const ExpressionRecord& x, uint64_t first, uint64_t second, uint64_t& result) {
    const T a = from_bits<T>(first), b = from_bits<T>(second);
    T made = 0;
    switch (ExpressionOp(x.op)) {
        case ExpressionOp::add: made = a + b; break;
        case ExpressionOp::sub: made = a - b; break;
        case ExpressionOp::mul: made = a * b; break;
        case ExpressionOp::div: made = a / b; break;
        case ExpressionOp::neg: made = -a; break;
        case ExpressionOp::abs: made = sizeof(T) == 8 ? T(__builtin_fabs(double(a))) : T(__builtin_fabsf(float(a))); break;
        case ExpressionOp::sign: made = a > 0 ? T(1) : a < 0 ? T(-1) : a; break;
        // The root of a float, computed in double and rounded to float, is the root rounded once: for that 2 * 24 + 2 = 50 binary
        // digits suffice, and a double has 53. The reciprocal root is not.
        case ExpressionOp::sqrt: made = T(square_root(double(a))); break;
        case ExpressionOp::rsqrt: made = T(1.0 / square_root(double(a))); break;
        case ExpressionOp::min: made = b < a || a != a ? b : a; break;
        case ExpressionOp::max: made = b > a || a != a ? b : a; break;
        case ExpressionOp::eq: return result = a == b, true;
        case ExpressionOp::ne: return result = a != b, true;
        case ExpressionOp::lt: return result = a < b, true;
        case ExpressionOp::le: return result = a <= b, true;
        case ExpressionOp::gt: return result = a > b, true;
        case ExpressionOp::ge: return result = a >= b, true;
        case ExpressionOp::call:
        case ExpressionOp::call_two: made = call(x, a, b); break;
        default: return result = 0, true;
    }
    return result = to_bits(made), true;
}

bool floor_divide(int64_t a, int64_t b, uint64_t& result) {
    if (b < 1) return false;
    const int64_t quotient = a / b;
    return result = uint64_t(a % b < 0 ? quotient - 1 : quotient), true;
}

uint64_t convert(uint32_t from, uint32_t to, uint64_t bits) {
    if (from == to) return bits;
    return to == PUMICE_F64 ? to_bits(double(from_bits<float>(bits))) : to_bits(float(from_bits<double>(bits)));
}

}  // namespace

const char* find_function(const ExpressionRecord& x) {
    const ExpressionOp op = ExpressionOp(x.op);
    if (op != ExpressionOp::call && op != ExpressionOp::call_two) return nullptr;
    void*& found = function_of(x);
    if (__atomic_load_n(&found, __ATOMIC_RELAXED)) return nullptr;
    const char* const name = op == ExpressionOp::call ? unary_functions[x.index] : binary_functions[x.index];
    char full[16];
    snprintf(full, sizeof full, "%s%s", name, x.type == PUMICE_F64 ? "" : "f");
    // The runtime does not link libm, which would cost every program some 0.1 ms at its start.
    void* function = dlsym(RTLD_DEFAULT, full);
    if (!function)
        if (void* const library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL)) function = dlsym(library, full);
    __atomic_store_n(&found, function, __ATOMIC_RELAXED);
    return function ? nullptr : name;
}

bool evaluate(const ExpressionRecord& x, const uint64_t* values, uint64_t& result) {
    const uint32_t operands = operand_count(ExpressionOp(x.op));
    const uint64_t a = operands > 0 ? values[x.operands[0]] : 0, b = operands > 1 ? values[x.operands[1]] : 0;
    int64_t made = 0;
    switch (ExpressionOp(x.op)) {
        case ExpressionOp::constant: return result = x.bits, true;
        case ExpressionOp::int_add:
            if (__builtin_add_overflow(int64_t(a), int64_t(b), &made)) return false;
            return result = uint64_t(made), true;
        case ExpressionOp::int_mul:
            if (__builtin_mul_overflow(int64_t(a), int64_t(b), &made)) return false;
            return result = uint64_t(made), true;
        case ExpressionOp::int_floor_div: return floor_divide(int64_t(a), int64_t(b), result);
        case ExpressionOp::select: return result = a ? b : values[x.operands[2]], true;
        case ExpressionOp::convert: return result = convert(x.index, x.type, a), true;
        default: return x.type == PUMICE_F64 ? evaluate_as<double>(x, a, b, result) : evaluate_as<float>(x, a, b, result);
    }
}

uint64_t bits_of_type(uint32_t type, uint64_t bits) {
    switch (type) {
        case PUMICE_BOOL: return bits != 0;
        case PUMICE_I8:
        case PUMICE_U8: return bits & 0xff;
        case PUMICE_I16:
        case PUMICE_U16:
        case PUMICE_F16:
        case PUMICE_BF16: return bits & 0xffff;
        case PUMICE_I64:
        case PUMICE_U64:
        case PUMICE_F64: return bits;
        default: return bits & 0xffffffffu;
    }
}

}  // namespace pumice_rt
