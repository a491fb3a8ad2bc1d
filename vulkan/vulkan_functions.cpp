#include "vulkan/vulkan_functions.h"

#include <type_traits>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace pumice::vulkan {
namespace {

PFN_vkGetInstanceProcAddr find_loader(std::string& reason) {
#ifdef _WIN32
    if (HMODULE library = LoadLibraryA("vulkan-1.dll"))
        return reinterpret_cast<PFN_vkGetInstanceProcAddr>(GetProcAddress(library, "vkGetInstanceProcAddr"));
    reason = "there is no Vulkan loader (vulkan-1.dll cannot be loaded)";
    return nullptr;
#else
#ifdef __APPLE__
    const char* const names[] = {"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"};
#else
    const char* const names[] = {"libvulkan.so.1", "libvulkan.so"};
#endif
    for (const char* name : names) {
        if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
            if (void* symbol = dlsym(library, "vkGetInstanceProcAddr"))
                return reinterpret_cast<PFN_vkGetInstanceProcAddr>(symbol);
            reason = std::string("the Vulkan loader ") + name + " has no vkGetInstanceProcAddr";
        } else if (reason.empty()) {
            const char* why = dlerror();
            reason = std::string("there is no Vulkan loader (") + (why ? why : name) + ")";
        }
    }
    return nullptr;
#endif
}

struct VulkanLoader {
    GlobalFunctions functions;
    std::string reason;
    VulkanLoader() {
        functions.GetInstanceProcAddr = find_loader(reason);
        if (!functions.GetInstanceProcAddr) return;
#define PUMICE_VULKAN_LOOK_UP(name) \
    functions.name = reinterpret_cast<PFN_vk##name>(functions.GetInstanceProcAddr(nullptr, "vk" #name));
        PUMICE_VULKAN_GLOBAL_FUNCTIONS(PUMICE_VULKAN_LOOK_UP)
#undef PUMICE_VULKAN_LOOK_UP
        const bool recent = functions.CreateInstance && functions.EnumerateInstanceVersion;
        reason = recent ? "" : "the Vulkan loader is older than Vulkan 1.1";
    }
};

}  // namespace

const GlobalFunctions* global_functions(std::string& reason) {
    static const VulkanLoader loaded;
    reason = loaded.reason;
    return reason.empty() ? &loaded.functions : nullptr;
}

InstanceFunctions instance_functions(const GlobalFunctions& global, VkInstance instance) {
    InstanceFunctions functions;
#define PUMICE_VULKAN_LOOK_UP(name) \
    functions.name = reinterpret_cast<PFN_vk##name>(global.GetInstanceProcAddr(instance, "vk" #name));
    PUMICE_VULKAN_INSTANCE_FUNCTIONS(PUMICE_VULKAN_LOOK_UP)
    PUMICE_VULKAN_DEBUG_FUNCTIONS(PUMICE_VULKAN_LOOK_UP)
    PUMICE_VULKAN_CLOCK_INSTANCE_FUNCTIONS(PUMICE_VULKAN_LOOK_UP)
#undef PUMICE_VULKAN_LOOK_UP
    return functions;
}

DeviceFunctions device_functions(const InstanceFunctions& instance, VkDevice device) {
    DeviceFunctions functions;
#define PUMICE_VULKAN_LOOK_UP(name) \
    functions.name = reinterpret_cast<PFN_vk##name>(instance.GetDeviceProcAddr(device, "vk" #name));
    PUMICE_VULKAN_DEVICE_FUNCTIONS(PUMICE_VULKAN_LOOK_UP)
    PUMICE_VULKAN_PUSH_DESCRIPTOR_FUNCTIONS(PUMICE_VULKAN_LOOK_UP)
    PUMICE_VULKAN_CLOCK_FUNCTIONS(PUMICE_VULKAN_LOOK_UP)
#undef PUMICE_VULKAN_LOOK_UP
    return functions;
}

namespace {

/// A function that does nothing; those with a result say that the device is lost.
template <class R, class... A> void end(R (*&function)(A...)) {
    if (function)
        function = [](A...) -> R {
            if constexpr (std::is_same_v<R, VkResult>)
                return VK_ERROR_DEVICE_LOST;
            else
                return R();
        };
}

}  // namespace

void end_functions(DeviceFunctions& functions){
#define PUMICE_VULKAN_END(name) end(functions.name);
    PUMICE_VULKAN_DEVICE_FUNCTIONS(PUMICE_VULKAN_END) PUMICE_VULKAN_PUSH_DESCRIPTOR_FUNCTIONS(PUMICE_VULKAN_END)
        PUMICE_VULKAN_CLOCK_FUNCTIONS(PUMICE_VULKAN_END)
#undef PUMICE_VULKAN_END
}

#define PUMICE_VULKAN_MISSING(name) \
    if (!functions.name) return "vk" #name;
std::string missing(const InstanceFunctions& functions) {
    PUMICE_VULKAN_INSTANCE_FUNCTIONS(PUMICE_VULKAN_MISSING)
    return "";
}
std::string missing(const DeviceFunctions& functions) {
    PUMICE_VULKAN_DEVICE_FUNCTIONS(PUMICE_VULKAN_MISSING)
    return "";
}
#undef PUMICE_VULKAN_MISSING

std::string name_of(VkResult result) {
    const char* const known = pumice_rt::vulkan::known_name(result);
    return known ? known : "VkResult " + std::to_string(int(result));
}

}  // namespace pumice::vulkan
