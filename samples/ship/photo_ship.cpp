// The kernels of the photo sample as a library that needs no compiler.
#include <pumice/ship.h>

#include "samples/photo/photo_kernels.h"

using pumice::ship::group;

PUMICE_SHIP(Pipeline::kernels()[0]);
PUMICE_SHIP(Pipeline::kernels()[1], group(256));
PUMICE_SHIP(Pipeline::kernels()[2], group(256));
PUMICE_SHIP(Pipeline::kernels()[3]);
PUMICE_SHIP(Pipeline::kernels()[4], group(16, 16));
PUMICE_SHIP(Pipeline::kernels()[5], group(16, 16));
PUMICE_SHIP(Pipeline::kernels()[6]);
