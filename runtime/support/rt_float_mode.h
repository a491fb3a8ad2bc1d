// The floating-point mode in which native code runs, by the rules of core/support/float_mode.h of the library, whose interpreter
// also computes with long double.
#pragma once
#if !defined(__SSE2__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace pumice_rt {

/// RAII: while it lives, the thread rounds to nearest, neither flushes subnormal numbers nor takes them for zeros (FTZ, DAZ), and
/// has no floating-point traps: vector code computes in lanes that no work-item has, and in branches that an item does not take.
/// Applications set such modes (feenableexcept) for code of their own, and a thread starts with the mode of the thread that made
/// it. Cost: some cycles where the mode is right.
class FloatMode {
public:
    FloatMode() {
        if (before != wanted) enter();
    }
    ~FloatMode() {
        if (before != wanted) leave();
    }
    FloatMode(const FloatMode&) = delete;

private:
#if defined(__SSE2__)
    using Word = unsigned;
    static Word get() { return __builtin_ia32_stmxcsr(); }
    static constexpr Word masks = 0x1f80;
    static Word kernels(Word mode) { return (mode & ~Word(0xe040)) | masks; }  // without FTZ, rounding, DAZ
    void enter() const { __builtin_ia32_ldmxcsr(wanted); }
    void leave() const { __builtin_ia32_ldmxcsr(before); }
#elif defined(__aarch64__)
    using Word = unsigned long;
    static Word get() {
        Word mode;
        __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
        return mode;
    }
    static void set(Word mode) { __asm__ __volatile__("msr fpcr, %0" : : "r"(mode)); }
    static Word kernels(Word mode) { return mode & ~Word(0x1c89f00); }  // FZ, rounding, FZ16, traps
    void enter() const { set(wanted); }
    void leave() const { set(before); }
#else
    using Word = int;
    static Word get() { return std::fegetround(); }
    static Word kernels(Word) { return FE_TONEAREST; }  // traps stay as they are
    void enter() const { std::fesetround(wanted); }
    void leave() const { std::fesetround(before); }
#endif
    const Word before = get(), wanted = kernels(before);
};

}  // namespace pumice_rt
