// Functions for what drivers do wrongly with zeros and roundings that they know. The rules are those of basic_functions.glsl,
// whose functions these use.

// x * 0, 0 / x and x / 0, of either zero.
float pm_times_zero(float x, float zero) {
    uint bits = floatBitsToUint(x), sign = (bits ^ floatBitsToUint(zero)) & 0x80000000u;
    return uintBitsToFloat((bits & 0x7fffffffu) >= 0x7f800000u ? 0x7fc00000u : sign);
}
double pm_times_zero(double x, double zero) {
    uint bits = unpackDouble2x32(x).y, sign = (bits ^ unpackDouble2x32(zero).y) & 0x80000000u;
    return packDouble2x32(uvec2(0u, (bits & 0x7fffffffu) >= 0x7ff00000u ? 0x7ff80000u : sign));
}
float pm_zero_over(float x, float zero) {
    uint bits = floatBitsToUint(x), sign = (bits ^ floatBitsToUint(zero)) & 0x80000000u, size = bits & 0x7fffffffu;
    return uintBitsToFloat(size == 0u || size > 0x7f800000u ? 0x7fc00000u : sign);
}
double pm_zero_over(double x, double zero) {
    uint sign = (unpackDouble2x32(x).y ^ unpackDouble2x32(zero).y) & 0x80000000u;
    return packDouble2x32(uvec2(0u, pm_isnan(x) || ((unpackDouble2x32(x).y & 0x7fffffffu) | unpackDouble2x32(x).x) == 0u ? 0x7ff80000u : sign));
}
float pm_over_zero(float x, float zero) {
    uint bits = floatBitsToUint(x), sign = (bits ^ floatBitsToUint(zero)) & 0x80000000u, size = bits & 0x7fffffffu;
    return uintBitsToFloat(size == 0u || size > 0x7f800000u ? 0x7fc00000u : 0x7f800000u | sign);
}
double pm_over_zero(double x, double zero) {
    uint sign = (unpackDouble2x32(x).y ^ unpackDouble2x32(zero).y) & 0x80000000u;
    bool nan = pm_isnan(x) || ((unpackDouble2x32(x).y & 0x7fffffffu) | unpackDouble2x32(x).x) == 0u;
    return packDouble2x32(uvec2(0u, nan ? 0x7ff80000u : 0x7ff00000u | sign));
}

// The number itself, which compilers cannot know. See Options::folded_zeros.
float pm_hidden(float x) {
    return uintBitsToFloat(floatBitsToUint(x) | pm_zero());
}
double pm_hidden(double x) {
    uvec2 bits = unpackDouble2x32(x);
    return packDouble2x32(uvec2(bits.x, bits.y | pm_zero()));
}
// The half itself, whose rounding compilers cannot drop. See Options::exact_conversions.
float16_t pm_rounded_half(float16_t h) {
    return unpackFloat2x16(packFloat2x16(f16vec2(h, h)) ^ pm_zero()).x;
}
