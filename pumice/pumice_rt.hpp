// The runtime of kernels that were built ahead of time, for C++17: write `#include <pumice/pumice_rt.hpp>`.
#pragma once
#include "runtime/api/rt_api.hpp"
