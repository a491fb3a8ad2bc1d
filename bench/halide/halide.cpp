// Halide's form of the benchmark cases, scheduled by hand. A shared library of its own, which bench/cpu/by_halide.cpp loads by
// dlopen with RTLD_LOCAL: Halide's LLVM 14 and PoCL's LLVM 15 would call each other's functions where both can see them.
#include "bench/cpu/by_halide.h"

#include <Halide.h>

namespace bench::cpu {
namespace {

using Halide::Buffer;
using Halide::Func;
using Halide::Var;

Buffer<float> buffer(const std::vector<float>& from, std::vector<int> sizes) {
    Buffer<float> b(sizes);
    std::copy(from.begin(), from.end(), b.data());
    return b;
}

Side side(Func f, Buffer<float> out) {
    f.compile_jit();
    return {"Halide", [=]() mutable { f.realize(out); },
            [=] { return std::vector<float>(out.data(), out.data() + out.number_of_elements()); }};
}

/// The schedule of long loops of one dimension: a task for each chunk, in vectors of 16.
void elementwise(Func& f, Var x) {
    Var block;
    f.split(x, block, x, 65536, Halide::TailStrategy::ShiftInwards).vectorize(x, 16).parallel(block);
}

Side triad(const std::vector<float>& b, const std::vector<float>& c, float s) {
    const int n = int(b.size());
    Buffer<float> in_b = buffer(b, {n}), in_c = buffer(c, {n});
    Func f;
    Var x;
    f(x) = in_b(x) + s * in_c(x);
    elementwise(f, x);
    return side(f, Buffer<float>(n));
}

Side diffusion(const std::vector<float>& now, float c, int n) {
    Buffer<float> in = buffer(now, {n, n, n});
    Func f;
    Var x, y, z;
    f(x, y, z) = in(x, y, z) + c * (in(x, y, z - 1) + in(x, y, z + 1) + in(x, y - 1, z) + in(x, y + 1, z) + in(x - 1, y, z) +
                                    in(x + 1, y, z) - 6.0f * in(x, y, z));
    f.vectorize(x, 16, Halide::TailStrategy::ShiftInwards).parallel(z);
    // The interior of a whole grid, as the others write it.
    Buffer<float> whole(n, n, n);
    whole.fill(0);
    Buffer<float> interior(whole.get()->cropped(0, 1, n - 2).cropped(1, 1, n - 2).cropped(2, 1, n - 2));
    f.compile_jit();
    return {"Halide", [=]() mutable { f.realize(interior); },
            [=] { return std::vector<float>(whole.data(), whole.data() + whole.number_of_elements()); }};
}

Side maths(const std::vector<float>& x_host) {
    const int n = int(x_host.size());
    Buffer<float> in = buffer(x_host, {n});
    Func f;
    Var x;
    f(x) = Halide::sin(in(x)) * Halide::exp(in(x)) + in(x)*in(x)*in(x);
    elementwise(f, x);
    return side(f, Buffer<float>(n));
}

Side transpose(const std::vector<float>& from, int n) {
    Buffer<float> in = buffer(from, {n, n});
    Func f;
    Var x, y, xi, yi;
    f(x, y) = in(y, x);
    f.tile(x, y, xi, yi, 16, 16).vectorize(xi).unroll(yi).parallel(y);
    return side(f, Buffer<float>(n, n));
}

Side matmul(const std::vector<float>& a, const std::vector<float>& b, int n) {
    Buffer<float> in_a = buffer(a, {n, n}), in_b = buffer(b, {n, n});
    Func product, f;
    Var x, y, xi, yi;
    Halide::RDom k(0, n);
    product(x, y) = 0.0f;
    product(x, y) += in_a(k, y) * in_b(x, k);
    f(x, y) = product(x, y);
    // A block of 4 x 32 results stays in registers.
    f.tile(x, y, xi, yi, 32, 4).vectorize(xi, 16).unroll(xi).unroll(yi).parallel(y);
    product.compute_at(f, x).vectorize(x, 16).unroll(x).unroll(y);
    product.update().reorder(x, y, k).vectorize(x, 16).unroll(x).unroll(y);
    return side(f, Buffer<float>(n, n));
}

}  // namespace

}  // namespace bench::cpu

extern "C" const bench::cpu::HalideSides* pumice_bench_halide() {
    using namespace bench::cpu;
    static const HalideSides sides{triad, diffusion, maths, transpose, matmul};
    return &sides;
}
