#include "vulkan/object_names.h"

#include "core/support/debug.h"

namespace pumice::vulkan {

bool names_are_wanted() {
    // RenderDoc's layer is turned on by the first variable, layers that the user asks for by the others.
    for (const char* name : {"ENABLE_VULKAN_RENDERDOC_CAPTURE", "VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_ENABLE"})
        if (const char* set = debug::variable(name); set && *set) return true;
    return debug::validate();
}

void ObjectNames::set(VkDevice device, VkObjectType type, uint64_t handle, const std::string& text) const {
    auto info = structure<VkDebugUtilsObjectNameInfoEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT);
    info.objectType = type;
    info.objectHandle = handle;
    info.pObjectName = text.c_str();
    vk.SetDebugUtilsObjectNameEXT(device, &info);  // a name that is refused is no failure
}

void ObjectNames::name_range(VkDevice device, VkBuffer buffer, int64_t offset, const std::string& text) {
    if (!on()) return;
    auto& all = ranges[buffer];
    all[offset] = text;
    std::string names;
    for (const auto& [at, one] : all) names += (names.empty() ? "" : ", ") + one;
    name(device, VK_OBJECT_TYPE_BUFFER, buffer, names);
}

void ObjectNames::begin(VkCommandBuffer commands, const std::string& label) const {
    if (!vk.CmdBeginDebugUtilsLabelEXT) return;
    auto info = structure<VkDebugUtilsLabelEXT>(VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT);
    info.pLabelName = label.c_str();
    vk.CmdBeginDebugUtilsLabelEXT(commands, &info);
}

void ObjectNames::end(VkCommandBuffer commands) const {
    if (vk.CmdEndDebugUtilsLabelEXT) vk.CmdEndDebugUtilsLabelEXT(commands);
}

}  // namespace pumice::vulkan
