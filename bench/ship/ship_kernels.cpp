// The kernels of the CPU device's cases as a shipped library, bench_kernels.
#include <pumice/ship.h>

#include "bench/cpu/cpu_kernels.h"
#include "bench/ship/hundred_launches.h"

using namespace bench::cpu;

PUMICE_SHIP(triad);
PUMICE_SHIP(diffuse);
PUMICE_SHIP(maths);
PUMICE_SHIP(transpose, pumice::ship::group(16, 16));
PUMICE_SHIP(lbm);
PUMICE_SHIP(push);
PUMICE_SHIP(nbody);
PUMICE_SHIP(mandelbrot);
PUMICE_SHIP(black_scholes);
PUMICE_SHIP(histogram, pumice::ship::group(256));
PUMICE_SHIP(clear);
PUMICE_SHIP(matmul, pumice::ship::group(16, 16));
PUMICE_SHIP(block_sum, pumice::ship::group(256));

namespace {
const auto saxpy = bench::fresh_saxpy();
PUMICE_SHIP(saxpy);

const auto hundred = [](pumice::Array<float>& y, const pumice::Array<float>& x) { bench::ship::hundred_launches(saxpy, y, x); };
PUMICE_SHIP(pumice::ship::program("hundred", hundred, pumice::ship::inout<float>("y", {pumice::ship::size("n", 64)}),
                                  pumice::ship::constant<float>("x", {pumice::ship::size("n", 64)})));
}  // namespace
