// Pumice inside an application's own Vulkan device: write `#include <pumice/vulkan.h>`.
#pragma once
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "vulkan/interop.h"
#include "vulkan/record.h"
#pragma GCC diagnostic pop
