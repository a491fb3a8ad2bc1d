// The device vulkan where the runtime is built without Vulkan's headers: every function is an error.
#include "runtime/device/rt_device.h"

namespace pumice_rt {
namespace {
pumice_status no_vulkan() { return fail(PUMICE_ERROR_DEVICE, "the runtime was built without Vulkan"); }
}  // namespace
pumice_status open_vulkan(const char*, const pumice_hooks&, pumice_device*) { return no_vulkan(); }
}  // namespace pumice_rt

using namespace pumice_rt;

pumice_status pumice_vulkan_wrap(const pumice_vulkan_device*, const pumice_hooks*, pumice_device*) { return no_vulkan(); }
pumice_status pumice_vulkan_lend(pumice_device, uint64_t, int64_t, int64_t, pumice_memory*) { return no_vulkan(); }
pumice_status pumice_vulkan_place(pumice_memory, uint64_t*, int64_t*) { return no_vulkan(); }
pumice_status pumice_vulkan_submit(pumice_device, uint64_t*, uint64_t*) { return no_vulkan(); }
pumice_status pumice_vulkan_wait_for(pumice_device, uint64_t, uint64_t) { return no_vulkan(); }
