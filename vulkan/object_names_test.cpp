// Names and labels of VK_EXT_debug_utils, as an application's hook of vkGetInstanceProcAddr sees them.
#include "vulkan/object_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "core/kernel/kernel.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
#include "tests/vulkan_application.h"
#include "vulkan/loader_devices.h"
#include "vulkan/vulkan_device.h"

namespace {

using namespace pumice;

constexpr int advect_line = __LINE__ + 1;
const auto advect = kernel("advect", [](InOut<float> density) {
    auto i = global_index();
    density[i] = density[i] * 0.5f;
});

struct Seen {
    std::mutex mutex;
    std::vector<std::pair<VkObjectType, std::string>> names;
    std::vector<std::string> labels;
    int open = 0;
    bool enabled = true;
    PFN_vkSetDebugUtilsObjectNameEXT set_name = nullptr;
    PFN_vkCmdBeginDebugUtilsLabelEXT begin = nullptr;
    PFN_vkCmdEndDebugUtilsLabelEXT end = nullptr;
} seen;

VKAPI_ATTR VkResult VKAPI_CALL set_name(VkDevice device, const VkDebugUtilsObjectNameInfoEXT* info) {
    const std::lock_guard lock(seen.mutex);
    seen.names.emplace_back(info->objectType, info->pObjectName);
    return seen.set_name(device, info);
}
VKAPI_ATTR void VKAPI_CALL begin_label(VkCommandBuffer commands, const VkDebugUtilsLabelEXT* label) {
    const std::lock_guard lock(seen.mutex);
    seen.labels.push_back(label->pLabelName);
    ++seen.open;
    seen.begin(commands, label);
}
VKAPI_ATTR void VKAPI_CALL end_label(VkCommandBuffer commands) {
    const std::lock_guard lock(seen.mutex);
    --seen.open;
    seen.end(commands);
}

/// vkGetInstanceProcAddr of a tool, or of an instance without the extension.
PFN_vkVoidFunction hooked(VkInstance instance, const char* name) {
    std::string reason;
    const PFN_vkVoidFunction real = vulkan::global_functions(reason)->GetInstanceProcAddr(instance, name);
    const auto replace = [&](const char* which, auto& kept, auto ours) -> PFN_vkVoidFunction {
        if (std::strcmp(name, which) != 0) return nullptr;
        kept = reinterpret_cast<std::remove_reference_t<decltype(kept)>>(real);
        return reinterpret_cast<PFN_vkVoidFunction>(ours);
    };
    for (const PFN_vkVoidFunction own : {replace("vkSetDebugUtilsObjectNameEXT", seen.set_name, set_name),
                                         replace("vkCmdBeginDebugUtilsLabelEXT", seen.begin, begin_label),
                                         replace("vkCmdEndDebugUtilsLabelEXT", seen.end, end_label)})
        if (own) return seen.enabled ? own : nullptr;
    return real;
}

void run(tests::VulkanApplication& app) {
    vulkan::Application application = app.application();
    application.get_instance_proc_addr = hooked;
    const Device device = vulkan::wrap(application);
    const Array<float> density = device.full<float>(64, 2.0f).named("density"), pressure = device.zeros<float>(64);
    pressure.named("pressure");
    advect(ndrange(64), density);
    pressure.copy_from(density);
    EXPECT_EQ(pressure.download()[63], 1.0f);
}

TEST(ObjectNames, AreThoseOfKernelsArraysAndBatches) {
    for (const vulkan::PhysicalDevice& found : vulkan::list()) {
        if (!found.usable) continue;
        seen.names.clear(), seen.labels.clear(), seen.enabled = true;
        tests::VulkanApplication app(found.index);
        run(app);
        EXPECT_TRUE(app.messages.empty()) << app.messages[0];
        const std::string kernel = "advect (object_names_test.cpp:" + std::to_string(advect_line) + ")";
        const auto has = [&](VkObjectType type, const std::string& part) {
            return std::ranges::any_of(seen.names,
                                       [&](const auto& one) { return one.first == type && one.second.find(part) != part.npos; });
        };
        EXPECT_TRUE(has(VK_OBJECT_TYPE_PIPELINE, kernel));
        EXPECT_TRUE(has(VK_OBJECT_TYPE_SHADER_MODULE, kernel));
        EXPECT_TRUE(has(VK_OBJECT_TYPE_BUFFER, "density"));
        EXPECT_TRUE(has(VK_OBJECT_TYPE_BUFFER, "pressure"));
        const auto labels = [&](const std::string& begin) {
            return std::ranges::count_if(seen.labels, [&](const auto& one) { return one.starts_with(begin); });
        };
        EXPECT_EQ(labels(kernel), 1);
        EXPECT_EQ(labels("copy"), 1);
        EXPECT_GE(labels("pumice batch "), 1);
        EXPECT_EQ(seen.open, 0);
    }
}

TEST(ObjectNames, AreNotSetWhereTheApplicationHasNotEnabledThem) {
    for (const vulkan::PhysicalDevice& found : vulkan::list()) {
        if (!found.usable) continue;
        seen.names.clear(), seen.labels.clear(), seen.enabled = false;
        tests::VulkanApplication app(found.index);
        run(app);
        EXPECT_TRUE(seen.names.empty() && seen.labels.empty());
        break;
    }
}

}  // namespace
