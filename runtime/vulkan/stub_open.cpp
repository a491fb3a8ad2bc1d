#include "runtime/device/device.h"
namespace pumice_rt { pumice_status open_vulkan(const char*, const pumice_hooks&, pumice_device*) { return fail(PUMICE_ERROR_DEVICE, "no vulkan yet"); } }
