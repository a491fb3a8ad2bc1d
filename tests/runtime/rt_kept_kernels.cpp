// The kernels of the kept bundles (tests/runtime/bundles/README.md).
#include <pumice/ship.h>

#include "tests/runtime/rt_kernels.h"

PUMICE_SHIP(rt_kernels::saxpy);
PUMICE_SHIP(rt_kernels::sized_local);
