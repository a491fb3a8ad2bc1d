// Pumice inside an application's own Vulkan device: write `#include <pumice/vulkan.h>`.
#pragma once
#include "vulkan/wrap.h"
