// The whole library: write `#include <pumice/pumice.h>`.
#pragma once
// A constructor's parameters have the names of the members that they become.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "autodiff/autodiff.h"
#include "autodiff/check_gradient.h"
#include "autodiff/custom.h"
#include "autodiff/functions.h"
#include "autodiff/program.h"
#include "core/array.h"
#include "core/console.h"
#include "core/control.h"
#include "core/device.h"
#include "core/error.h"
#include "core/function.h"
#include "core/functions.h"
#include "core/group.h"
#include "core/indices.h"
#include "core/kernel.h"
#include "core/matrix.h"
#include "core/memory.h"
#include "core/rng.h"
#include "core/subgroup.h"
#include "core/value.h"
#include "core/vector.h"
#pragma GCC diagnostic pop
// $if and its like are written in the user's file: to its end, clang's -Wpedantic does not warn of the $.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wdollar-in-identifier-extension"
#endif
