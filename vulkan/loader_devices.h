// Devices of the Vulkan loader. No Vulkan type appears here, and a program that uses this starts where there is no Vulkan.
//
// Not to be taken for the system's <vulkan/vulkan.h>: with this repository's root on the include path, Vulkan itself is
// <vulkan/vulkan_core.h>.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/host/backend.h"

namespace pumice::vulkan {

/// A physical device.
struct Found {
    int index = 0;          ///< what open() takes
    std::string name;       ///< "llvmpipe (LLVM 15.0.6, 256 bits)"
    std::string driver;     ///< driver's name and version; may be empty
    bool usable = false;
    std::string reason;     ///< why not: "it has Vulkan 1.1, and 1.2 is needed"; "" when usable
    bool software = false;  ///< runs on the host's processor
    bool integrated = false;///< shares the host's memory
    Limits limits;          ///< of a usable one
    std::vector<Feature> features;  ///< that it supports
};

/// All devices in the loader's order. Empty where there is no loader or no driver; unavailable_reason() then says why.
std::vector<Found> list();
/// The indices of the devices, the best first: graphics cards, what shares the host's memory, software drivers; of one kind, who has more
/// memory, else in the loader's order.
std::vector<int> best_first(const std::vector<Found>& devices);
/// Why list() is empty, as a sentence; "" when it is not.
std::string unavailable_reason();
/// Opens a device by its place in list(). Throws Error with a sentence where that cannot be.
std::shared_ptr<Backend> open(int index);

}  // namespace pumice::vulkan
