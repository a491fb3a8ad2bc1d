// The whole library: write `#include <pumice/pumice.h>`.
#pragma once
#include "core/array.h"
#include "core/control.h"
#include "core/device.h"
#include "core/error.h"
#include "core/function.h"
#include "core/functions.h"
#include "core/indices.h"
#include "core/kernel.h"
#include "core/memory.h"
#include "core/rng.h"
#include "core/value.h"
#include "core/vector.h"
