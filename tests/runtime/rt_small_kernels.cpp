// A library with few kernels of all parts of a bundle: SPIR-V modules, native code, sums, formats, sizes of local memory.
#include <pumice/ship.h>

#include "tests/runtime/rt_kernels.h"

using namespace rt_kernels;

PUMICE_SHIP(swapped);
PUMICE_SHIP(sized_local, pumice::ship::group(16));
PUMICE_SHIP(fixed_both);
PUMICE_SHIP(histogram);
PUMICE_SHIP(escape);
PUMICE_SHIP(many_sums);
PUMICE_SHIP(transposed);
PUMICE_SHIP(prints);
PUMICE_SHIP(world);
