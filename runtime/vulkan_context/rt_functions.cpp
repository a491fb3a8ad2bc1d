// Vulkan's functions: the loader, and tables that are filled by walking a list of names.
#include "runtime/vulkan_context/rt_functions.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

namespace pumice_rt::vulkan {
namespace {

// Names one after another, each with a zero byte, in the order of the members.
#define PUMICE_RT_NAME(name) "vk" #name "\0"
constexpr const char* global_names = PUMICE_VULKAN_GLOBAL_FUNCTIONS(PUMICE_RT_NAME);
constexpr const char* instance_names = PUMICE_VULKAN_SHARED_INSTANCE_FUNCTIONS(PUMICE_RT_NAME);
constexpr const char* device_names = PUMICE_VULKAN_SHARED_DEVICE_FUNCTIONS(PUMICE_RT_NAME);
#undef PUMICE_RT_NAME

/// Fills a table whose members are pointers to functions; returns the first name that has none, or null.
template <class Get> const char* load(const char* names, void* table, Get&& get) {
    const char* missing = nullptr;
    char* member = static_cast<char*>(table);
    for (const char* name = names; *name; name += strlen(name) + 1, member += sizeof(PFN_vkVoidFunction)) {
        const PFN_vkVoidFunction function = get(name);
        memcpy(member, &function, sizeof function);
        if (!function && !missing) missing = name;
    }
    return missing;
}

/// True in a program that is linked statically. It has no dynamic linker of its own: drivers would load a second C library.
bool is_static_program() {
    const auto has_linker = [](dl_phdr_info* program, size_t, void*) {
        for (int i = 0; i < program->dlpi_phnum; ++i)
            if (program->dlpi_phdr[i].p_type == PT_INTERP) return 2;
        return 1;  // the first one is the program itself
    };
    return dl_iterate_phdr(has_linker, nullptr) == 1;
}

}  // namespace

pumice_status load_global(GlobalFunctions& functions) {
    if (is_static_program()) return fail(PUMICE_ERROR_DEVICE, "a program that is linked statically cannot load Vulkan drivers");
    const char* const names[] = {"libvulkan.so.1", "libvulkan.so"};
    void* symbol = nullptr;
    for (const char* name : names) {
        if (symbol) break;
        if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) symbol = dlsym(library, "vkGetInstanceProcAddr");
    }
    if (!symbol) return fail(PUMICE_ERROR_DEVICE, "there is no Vulkan loader: libvulkan.so.1 cannot be loaded");
    const auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(symbol);
    functions.GetInstanceProcAddr = get;
    if (load(global_names, &functions, [&](const char* name) { return get(nullptr, name); }))
        return fail(PUMICE_ERROR_DEVICE, "the Vulkan loader is older than Vulkan 1.1");
    return PUMICE_OK;
}

const char* load_instance(PFN_vkGetInstanceProcAddr get, VkInstance instance, InstanceFunctions& functions) {
    const char* const missing = load(instance_names, &functions, [&](const char* name) { return get(instance, name); });
    functions.CreateDebugUtilsMessengerEXT =
        reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(get(instance, "vkCreateDebugUtilsMessengerEXT"));
    return missing;
}

const char* load_device(const InstanceFunctions& instance, VkDevice device, DeviceFunctions& functions) {
    const char* const missing =
        load(device_names, &functions, [&](const char* name) { return instance.GetDeviceProcAddr(device, name); });
    functions.CmdPushDescriptorSetKHR =
        reinterpret_cast<PFN_vkCmdPushDescriptorSetKHR>(instance.GetDeviceProcAddr(device, "vkCmdPushDescriptorSetKHR"));
    return missing;
}

const char* name_of(VkResult result) {
    const char* const known = known_name(result);
    return known ? known : "an unknown result";
}

}  // namespace pumice_rt::vulkan
