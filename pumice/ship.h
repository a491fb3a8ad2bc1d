// Kernels as a library of their own, for a file given to pumice_add_library: write `#include <pumice/ship.h>`.
#pragma once
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "ship/library/ship_library.h"
#pragma GCC diagnostic pop
