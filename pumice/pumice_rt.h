/* The runtime of kernels that were built ahead of time, for C and C++: write `#include <pumice/pumice_rt.h>`. */
#ifndef PUMICE_PUMICE_RT_H
#define PUMICE_PUMICE_RT_H
#include "runtime/api/rt_api.h"
#endif
