// Devices of the Vulkan loader. No Vulkan type appears here, and a program that uses this also starts without Vulkan.
//
// The path differs from the system's <vulkan/vulkan.h>: with this repository's root on the include path, Vulkan's own header is
// <vulkan/vulkan_core.h>.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/host/backend.h"

namespace pumice::vulkan {

/// A physical device.
struct PhysicalDevice {
    int index = 0;       ///< argument of open()
    std::string name;    ///< "llvmpipe (LLVM 15.0.6, 256 bits)"
    std::string driver;  ///< driver's name and version; may be empty
    bool usable = false;
    std::string reason;             ///< "it has Vulkan 1.1, and 1.2 is needed"; "" if usable
    bool software = false;          ///< runs on the host's processor
    bool integrated = false;        ///< shares the host's memory
    Limits limits;                  ///< of a usable device
    std::vector<Feature> features;  ///< the supported ones
};

/// All devices in the loader's order. Empty without a loader or driver; unavailable_reason() then tells why.
std::vector<PhysicalDevice> list();
/// The indices of the devices, best first: graphics cards, devices that share the host's memory, software drivers; of one kind,
/// those with more memory first, else in the loader's order.
std::vector<int> best_first(const std::vector<PhysicalDevice>& devices);
/// The reason why list() is empty, as a sentence; "" if it is not.
std::string unavailable_reason();
/// Opens a device by its index in list(). Throws Error with a sentence if that fails.
std::shared_ptr<internal::Backend> open(int index);

}  // namespace pumice::vulkan
