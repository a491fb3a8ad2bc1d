// Code shared by the layers of this folder: how a Vulkan layer finds the next one, and tells its objects apart.
#pragma once
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

namespace layer {

/// Handles of one instance or device begin with the same pointer, the loader's table.
template <class Handle> void* table_of(Handle handle) { return *reinterpret_cast<void**>(handle); }

/// The link to the next layer in a chain of create infos; the chain then points to the layer after that.
template <class Link> auto* take_link(const void* chain, VkStructureType type) {
    auto* link = static_cast<Link*>(const_cast<void*>(chain));
    while (link && !(link->sType == type && link->function == VK_LAYER_LINK_INFO))
        link = static_cast<Link*>(const_cast<void*>(link->pNext));
    auto* info = link->u.pLayerInfo;
    link->u.pLayerInfo = info->pNext;
    return info;
}

/// Looks up a function of the next layer. This is done once, when an instance or device is made: later the loader answers with
/// functions of the first layer.
template <class Get, class Handle, class Function> void ask(Get get, Handle handle, Function& function, const char* name) {
    function = reinterpret_cast<Function>(get(handle, name));
}

template <class F> PFN_vkVoidFunction plain(F* function) { return reinterpret_cast<PFN_vkVoidFunction>(function); }

/// The answer to the loader's vkNegotiateLoaderLayerInterfaceVersion, which every layer exports.
inline VkResult negotiate(VkNegotiateLayerInterface* version, PFN_vkGetInstanceProcAddr of_instances,
                          PFN_vkGetDeviceProcAddr of_devices) {
    version->loaderLayerInterfaceVersion = 2;
    version->pfnGetInstanceProcAddr = of_instances;
    version->pfnGetDeviceProcAddr = of_devices;
    version->pfnGetPhysicalDeviceProcAddr = nullptr;
    return VK_SUCCESS;
}

}  // namespace layer
