// Names and labels of VK_EXT_debug_utils, for RenderDoc, other capture tools and the validation layer.
//
// Pipelines and shader modules have the kernel's name and line, "advect (sim.cpp:57)", buffers the names of the arrays in them
// (Array::named); each batch is a labelled region of its command buffer, and each launch, copy and fill one inside of that. All
// of it only where the extension is enabled: on an own device under PUMICE_VALIDATE or a capture tool, on a wrapped
// one if the application has enabled it.
#pragma once
#include <map>
#include <string>

#include "vulkan/vulkan_functions.h"

namespace pumice::vulkan {

/// True if an own instance enables the extension: someone is going to look at the names.
bool names_are_wanted();

/// Thread-safe but for name_range(), which the queue's mutex guards.
class ObjectNames {
public:
    /// The functions are null where the extension is not enabled.
    ObjectNames(const InstanceFunctions& functions) : vk(functions) {}
    bool on() const { return vk.SetDebugUtilsObjectNameEXT; }
    /// Of an object that is not dispatchable.
    template <class Handle> void name(VkDevice device, VkObjectType type, Handle handle, const std::string& text) const {
        if (on()) set(device, type, uint64_t(handle), text);
    }
    /// A name of the range of a buffer that begins at this offset. The buffer's name lists those of its ranges.
    void name_range(VkDevice device, VkBuffer buffer, int64_t offset, const std::string& text);
    void begin(VkCommandBuffer commands, const std::string& label) const;
    void end(VkCommandBuffer commands) const;

private:
    void set(VkDevice device, VkObjectType type, uint64_t handle, const std::string& text) const;

    const InstanceFunctions vk;
    std::map<VkBuffer, std::map<int64_t, std::string>> ranges;
};

/// A labelled region of a command buffer, as long as it lives.
class Label {
public:
    Label(const ObjectNames& names, VkCommandBuffer commands, const std::string& label) : names(names), commands(commands) {
        names.begin(commands, label);
    }
    ~Label() { names.end(commands); }
    Label(const Label&) = delete;

private:
    const ObjectNames& names;
    const VkCommandBuffer commands;
};

}  // namespace pumice::vulkan
