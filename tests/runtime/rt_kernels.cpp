#include "tests/runtime/rt_kernels.h"

#include <pumice/ship.h>

using namespace rt_kernels;

PUMICE_SHIP(saxpy);
PUMICE_SHIP(pumice::adjoint<pumice::Duplicated, pumice::Duplicated, pumice::Active>(saxpy));
PUMICE_SHIP(strict);
PUMICE_SHIP(fast);
PUMICE_SHIP(floats);
PUMICE_SHIP(doubles);
PUMICE_SHIP(halves);
PUMICE_SHIP(narrow);
PUMICE_SHIP(wide);
PUMICE_SHIP(escape);
PUMICE_SHIP(dice);
PUMICE_SHIP(rt_kernels::clear);
PUMICE_SHIP(add_all);
PUMICE_SHIP(spin);
PUMICE_SHIP(mix);
PUMICE_SHIP(stencil);
PUMICE_SHIP(cube);
PUMICE_SHIP(transposed);
PUMICE_SHIP(transposed_bytes);
PUMICE_SHIP(swapped);
PUMICE_SHIP(matmul, pumice::ship::group(16, 16));
PUMICE_SHIP(whole, pumice::ship::group(8));
PUMICE_SHIP(fixed_group);
PUMICE_SHIP(fixed_range);
PUMICE_SHIP(fixed_both);
PUMICE_SHIP(told_group, pumice::ship::group(64), pumice::ship::group(32), pumice::ship::group(7));
PUMICE_SHIP(collective, pumice::ship::group(64), pumice::ship::group(5));
PUMICE_SHIP(sized_local, pumice::ship::group(16));
PUMICE_SHIP(private_sort);
PUMICE_SHIP(total);
PUMICE_SHIP(rt_kernels::count);
PUMICE_SHIP(histogram);
PUMICE_SHIP(rt_kernels::sparse);
PUMICE_SHIP(adjoint_of_sparse);
PUMICE_SHIP(range_sums);
PUMICE_SHIP(row_sums);
PUMICE_SHIP(deep_sums);
PUMICE_SHIP(many_sums);
PUMICE_SHIP(atomics);
PUMICE_SHIP(bodies);
PUMICE_SHIP(world);
PUMICE_SHIP(squares);
PUMICE_SHIP(five);
PUMICE_SHIP(six);
PUMICE_SHIP(four);
PUMICE_SHIP(any_rank);
PUMICE_SHIP(prints);
PUMICE_SHIP(prints_planes);
PUMICE_SHIP(requires_small);
PUMICE_SHIP(requires_deep);
