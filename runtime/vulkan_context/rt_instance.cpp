// The instance of the process, and the messages of the validation layer.
#include <stdio.h>
#include <string.h>

#include "runtime/vulkan_context/rt_context.h"
#include "runtime/vulkan_rules/object_rules.h"

namespace pumice_rt::vulkan {
namespace {

/// The process's objects. Zero-initialised, never destroyed.
struct Process {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    GlobalFunctions global;
    bool has_global;
    struct {
        VkInstance handle;
        InstanceFunctions vk;
    } instances[2];  // without and with validation
    pthread_mutex_t messages_mutex = PTHREAD_MUTEX_INITIALIZER;
    char messages[2048];  // "" if there are none
};
Process process{};

struct Held {
    explicit Held(pthread_mutex_t& mutex) : held(mutex) { pthread_mutex_lock(&held); }
    ~Held() { pthread_mutex_unlock(&held); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    pthread_mutex_t& held;
};

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
    if (!is_fault(data->pMessageIdName)) return VK_FALSE;
    fprintf(stderr, "pumice: Vulkan validation: %s\n", data->pMessage);
    const Held held(process.messages_mutex);
    const size_t used = strlen(process.messages);
    snprintf(process.messages + used, sizeof process.messages - used, "%s%s", used > 0 ? "\n" : "", data->pMessage);
    return VK_FALSE;
}

bool has_layer(const GlobalFunctions& vk, const char* name) {
    VkLayerProperties found[64];
    uint32_t count = sizeof found / sizeof *found;
    vk.EnumerateInstanceLayerProperties(&count, found);
    for (uint32_t i = 0; i < count; ++i)
        if (strcmp(found[i].layerName, name) == 0) return true;
    return false;
}

bool has_extension(const GlobalFunctions& vk, const char* name) {
    VkExtensionProperties found[128];
    uint32_t count = sizeof found / sizeof *found;
    vk.EnumerateInstanceExtensionProperties(nullptr, &count, found);
    for (uint32_t i = 0; i < count; ++i)
        if (strcmp(found[i].extensionName, name) == 0) return true;
    return false;
}

pumice_status create_instance(const GlobalFunctions& global, bool validate, VkInstance& handle) {
    auto application = structure<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
    application.pEngineName = "pumice";
    application.apiVersion = VK_API_VERSION_1_3;  // the highest version used; devices of 1.2 work too
    const char *extensions[2], *const layers[] = {validation_layer};
    auto info = structure<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
    info.pApplicationInfo = &application;
    info.ppEnabledExtensionNames = extensions;
    // Synchronisation validation finds missing barriers that have no effect on software drivers.
    const VkValidationFeatureEnableEXT enable[] = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    auto features = structure<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
    features.enabledValidationFeatureCount = 1;
    features.pEnabledValidationFeatures = enable;
    const VkDebugUtilsMessengerCreateInfoEXT debug = messenger_info(on_message);
    if (validate) {
        if (!has_layer(global, validation_layer))
            return fail(PUMICE_ERROR_DEVICE,
                        "PUMICE_VALIDATE is set, but the Vulkan layer %s is not installed (Debian's package is "
                        "vulkan-validationlayers)",
                        validation_layer);
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = layers;
        extensions[info.enabledExtensionCount++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
        features.pNext = &debug;
        info.pNext = &features;
    }
    VkResult result = global.CreateInstance(&info, nullptr, &handle);
    // Drivers on top of another interface are there on request alone. The list of extensions comes second, since the loader
    // searches for layers and drivers for it again: 1 to 2 % of a start on lavapipe.
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER && has_extension(global, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
        extensions[info.enabledExtensionCount++] = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
        info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
        result = global.CreateInstance(&info, nullptr, &handle);
    }
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) return fail(PUMICE_ERROR_DEVICE, "there is no Vulkan driver");
    if (result != VK_SUCCESS) return fail(PUMICE_ERROR_DEVICE, "vkCreateInstance fails with %s", name_of(result));
    return PUMICE_OK;
}

/// The lock is held.
pumice_status need_global() {
    if (!process.has_global) RT_TRY(load_global(process.global));
    process.has_global = true;
    return PUMICE_OK;
}

}  // namespace

pumice_status instance_devices(bool validate, InstanceFunctions& vk, VkPhysicalDevice* found, uint32_t most, uint32_t& count) {
    const Held held(process.mutex);
    RT_TRY(need_global());
    auto& instance = process.instances[validate];
    if (!instance.handle) {
        VkInstance handle = nullptr;
        RT_TRY(create_instance(process.global, validate, handle));
        if (const char* none = load_instance(process.global.GetInstanceProcAddr, handle, instance.vk))
            return fail(PUMICE_ERROR_DEVICE, "the Vulkan loader has no %s", none);
        instance.handle = handle;
        const VkDebugUtilsMessengerCreateInfoEXT debug = messenger_info(on_message);
        VkDebugUtilsMessengerEXT messenger;
        if (validate && instance.vk.CreateDebugUtilsMessengerEXT)
            instance.vk.CreateDebugUtilsMessengerEXT(handle, &debug, nullptr, &messenger);
    }
    vk = instance.vk;
    count = most;
    const VkResult result = vk.EnumeratePhysicalDevices(instance.handle, &count, found);
    if (result == VK_SUCCESS || result == VK_INCOMPLETE) return PUMICE_OK;
    return fail(PUMICE_ERROR_DEVICE, "vkEnumeratePhysicalDevices fails with %s", name_of(result));
}

pumice_status functions_of(const pumice_vulkan_device& application, InstanceFunctions& vk) {
    auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(application.get_instance_proc_addr);
    if (!get) {
        const Held held(process.mutex);
        RT_TRY(need_global());
        get = process.global.GetInstanceProcAddr;
    }
    if (const char* none = load_instance(get, static_cast<VkInstance>(application.instance), vk))
        return fail(PUMICE_ERROR_ARGUMENT, "the application's Vulkan instance has no %s", none);
    return PUMICE_OK;
}

pumice_status Context::raise_messages() const {
    const Held held(process.messages_mutex);
    if (!process.messages[0]) return PUMICE_OK;
    fail(PUMICE_ERROR_SYSTEM, "the Vulkan validation layer finds a fault on %s: %s", name, process.messages);
    process.messages[0] = 0;
    return PUMICE_ERROR_SYSTEM;
}

}  // namespace pumice_rt::vulkan
