// Forks of a process: the rule of the library and the runtime for devices that are open meanwhile.
// The child has one thread, and none of the driver's: a wait for a fence may never end. It also shares the parent's file of the
// card, through which the driver would free what the parent uses. So it may neither use nor destroy the parent's objects.
#pragma once

namespace pumice_rt::vulkan {

/// The end of sentences about such a device.
constexpr const char* after_fork =
    ", and the driver's threads do not exist here: a process that forks must open its Vulkan devices after the fork";

}  // namespace pumice_rt::vulkan
