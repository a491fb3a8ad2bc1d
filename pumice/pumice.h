// The whole library: write `#include <pumice/pumice.h>`.
#pragma once
// A constructor's parameters have the names of the members that they become.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "autodiff/api/autodiff.h"
#include "autodiff/api/custom_rules.h"
#include "autodiff/api/derivative_functions.h"
#include "autodiff/api/explain.h"
#include "autodiff/program/check_gradient.h"
#include "autodiff/program/program.h"
#include "core/host/array.h"
#include "core/host/device.h"
#include "core/host/image.h"
#include "core/kernel/function.h"
#include "core/kernel/image_copies.h"
#include "core/kernel/image_parameter.h"
#include "core/kernel/kernel.h"
#include "core/kernel/prepare.h"
#include "core/language/console.h"
#include "core/language/control.h"
#include "core/language/functions.h"
#include "core/language/group_ops.h"
#include "core/language/indices.h"
#include "core/language/matrix.h"
#include "core/language/memory.h"
#include "core/language/rng.h"
#include "core/language/subgroup.h"
#include "core/language/value.h"
#include "core/language/vector.h"
#include "core/support/error.h"
#pragma GCC diagnostic pop
// $if and its like are written in the user's file: to its end, clang's -Wpedantic does not warn of the $.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wdollar-in-identifier-extension"
#endif
