// The floating-point mode in which kernels run, whatever the calling thread has set. The shipped runtime, which includes nothing
// of the library, has the same in runtime/support/rt_float_mode.h.
#pragma once
#if !defined(__SSE2__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace pumice {

/// RAII: while it lives, the thread rounds to nearest and neither flushes subnormal numbers nor takes them for zeros (FTZ, DAZ).
/// Applications set such modes for code of their own, and a thread starts with the mode of the thread that made it. Traps
/// stay as they are. Cost: some cycles where the mode is right.
class FloatMode {
public:
    FloatMode() {
        if (before != wanted) set(wanted);
    }
    ~FloatMode() {
        if (before != wanted) set(before);
    }
    FloatMode(const FloatMode&) = delete;

private:
#if defined(__SSE2__)
    using Word = unsigned;
    static Word get() { return __builtin_ia32_stmxcsr(); }
    static void set(Word mode) { __builtin_ia32_ldmxcsr(mode); }
    static Word nearest(Word mode) { return mode & ~Word(0xe040); }  // FTZ, rounding, DAZ
#elif defined(__aarch64__)
    using Word = unsigned long;
    static Word get() {
        Word mode;
        __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
        return mode;
    }
    static void set(Word mode) { __asm__ __volatile__("msr fpcr, %0" : : "r"(mode)); }
    static Word nearest(Word mode) { return mode & ~Word(0x1c80000); }  // FZ, rounding, FZ16
#else
    using Word = int;
    static Word get() { return std::fegetround(); }
    static void set(Word mode) { std::fesetround(mode); }
    static Word nearest(Word) { return FE_TONEAREST; }
#endif
    const Word before = get(), wanted = nearest(before);
};

}  // namespace pumice
