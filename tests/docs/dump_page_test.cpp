// docs/dump.md and docs/objects.md: their examples compile; the files run by plain Vulkan, as the page describes; objects have
// the prototypes that the page shows. tests/retarget runs objects.
#include <pumice/pumice.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "cpu/native/llvm.h"
#include "tests/docs/page.h"
#include "tests/vulkan_application.h"

namespace {

namespace fs = std::filesystem;
using namespace pumice;
using Json = nlohmann::json;

/// A storage buffer of floats that the host can access.
class Floats {
public:
    Floats(tests::VulkanApplication& app, const std::vector<float>& start) : app(app), count(start.size()) {
        VkBufferCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        info.size = count * sizeof(float);
        info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
        app.vk.CreateBuffer(app.device, &info, nullptr, &buffer);
        VkMemoryRequirements needs;
        app.vk.GetBufferMemoryRequirements(app.device, buffer, &needs);
        VkPhysicalDeviceMemoryProperties has;
        app.functions.GetPhysicalDeviceMemoryProperties(app.physical, &has);
        constexpr VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        VkMemoryAllocateInfo allocation{};
        allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
        allocation.allocationSize = needs.size;
        while (!(needs.memoryTypeBits >> allocation.memoryTypeIndex & 1) ||
               (has.memoryTypes[allocation.memoryTypeIndex].propertyFlags & wanted) != wanted)
            ++allocation.memoryTypeIndex;
        app.vk.AllocateMemory(app.device, &allocation, nullptr, &memory);
        app.vk.BindBufferMemory(app.device, buffer, memory, 0);
        void* mapped = nullptr;
        app.vk.MapMemory(app.device, memory, 0, VK_WHOLE_SIZE, 0, &mapped);
        host = static_cast<float*>(mapped);
        std::copy(start.begin(), start.end(), host);
    }
    ~Floats() {
        app.vk.DestroyBuffer(app.device, buffer, nullptr);
        app.vk.FreeMemory(app.device, memory, nullptr);
    }
    Floats(const Floats&) = delete;
    std::vector<float> values() const { return {host, host + count}; }

    tests::VulkanApplication& app;
    const size_t count;
    VkBuffer buffer = VK_NULL_HANDLE;

private:
    VkDeviceMemory memory = VK_NULL_HANDLE;
    float* host = nullptr;
};

std::string contents(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail("there is no file ", path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Launches NAME.spv over `size` items in groups of `group`, as NAME.json describes. Arguments by name; all are floats.
void launch(tests::VulkanApplication& app, const fs::path& base, uint32_t size, uint32_t group,
            const std::map<std::string, Floats*>& arrays, const std::map<std::string, float>& scalars) {
    const Json manifest = Json::parse(contents(base.string() + ".json"));
    const std::string code = contents(base.string() + ".spv");

    VkShaderModuleCreateInfo module_info{};
    module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    module_info.codeSize = code.size();
    module_info.pCode = reinterpret_cast<const uint32_t*>(code.data());
    VkShaderModule shader;
    app.vk.CreateShaderModule(app.device, &module_info, nullptr, &shader);

    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (const Json& b : manifest["bindings"])
        bindings.push_back({b["binding"], VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
    VkDescriptorSetLayoutCreateInfo set_info{};
    set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set_info.bindingCount = uint32_t(bindings.size());
    set_info.pBindings = bindings.data();
    VkDescriptorSetLayout set_layout;
    app.vk.CreateDescriptorSetLayout(app.device, &set_info, nullptr, &set_layout);

    std::vector<char> push(manifest["push_constants"]["bytes"].get<size_t>());
    for (const Json& field : manifest["push_constants"]["fields"]) {
        const std::string kind = field["kind"];
        const bool along_x = field.value("axis", "x") == "x";
        int32_t number = 0;
        if (kind == "end" || kind == "size")
            number = along_x ? int32_t(size) : 1;
        else if (kind == "group_count")
            number = along_x ? int32_t((size + group - 1) / group) : 1;
        else if (kind == "extent")
            number = int32_t(arrays.at(field["name"])->count);
        else if (kind == "argument")
            std::memcpy(&number, &scalars.at(field["name"]), sizeof number);
        else
            EXPECT_TRUE(kind == "start" || kind == "group_base") << kind;
        std::memcpy(push.data() + field["offset"].get<size_t>(), &number, sizeof number);
    }
    const VkPushConstantRange push_range{VK_SHADER_STAGE_COMPUTE_BIT, 0, uint32_t(push.size())};
    VkPipelineLayoutCreateInfo layout_info{};
    layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout_info.setLayoutCount = 1;
    layout_info.pSetLayouts = &set_layout;
    layout_info.pushConstantRangeCount = 1;
    layout_info.pPushConstantRanges = &push_range;
    VkPipelineLayout layout;
    app.vk.CreatePipelineLayout(app.device, &layout_info, nullptr, &layout);

    std::vector<VkSpecializationMapEntry> entries;
    std::vector<uint32_t> constants;
    for (const Json& axis : manifest["group_size"]) {
        entries.push_back({axis["specialization_constant"], uint32_t(entries.size() * sizeof(uint32_t)), sizeof(uint32_t)});
        constants.push_back(axis["axis"] == "x" ? group : 1);
    }
    const VkSpecializationInfo specialization{uint32_t(entries.size()), entries.data(), constants.size() * sizeof(uint32_t),
                                              constants.data()};
    const std::string entry = manifest["entry"];
    VkComputePipelineCreateInfo pipeline_info{};
    pipeline_info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    pipeline_info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    pipeline_info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    pipeline_info.stage.module = shader;
    pipeline_info.stage.pName = entry.c_str();
    pipeline_info.stage.pSpecializationInfo = &specialization;
    pipeline_info.layout = layout;
    VkPipeline pipeline;
    app.vk.CreateComputePipelines(app.device, VK_NULL_HANDLE, 1, &pipeline_info, nullptr, &pipeline);

    const VkDescriptorPoolSize pool_size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, uint32_t(bindings.size())};
    VkDescriptorPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    pool_info.maxSets = pool_info.poolSizeCount = 1;
    pool_info.pPoolSizes = &pool_size;
    VkDescriptorPool pool;
    app.vk.CreateDescriptorPool(app.device, &pool_info, nullptr, &pool);
    VkDescriptorSetAllocateInfo set_allocation{};
    set_allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    set_allocation.descriptorPool = pool;
    set_allocation.descriptorSetCount = 1;
    set_allocation.pSetLayouts = &set_layout;
    VkDescriptorSet set;
    app.vk.AllocateDescriptorSets(app.device, &set_allocation, &set);
    for (const Json& b : manifest["bindings"]) {
        const VkDescriptorBufferInfo buffer{arrays.at(b["name"])->buffer, 0, VK_WHOLE_SIZE};
        VkWriteDescriptorSet write{};
        write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        write.dstSet = set;
        write.dstBinding = b["binding"];
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &buffer;
        app.vk.UpdateDescriptorSets(app.device, 1, &write, 0, nullptr);
    }

    app.submit([&](VkCommandBuffer commands) {
        app.vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
        app.vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
        app.vk.CmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, uint32_t(push.size()), push.data());
        app.vk.CmdDispatch(commands, (size + group - 1) / group, 1, 1);
    });
    app.wait();
    app.vk.DestroyDescriptorPool(app.device, pool, nullptr);
    app.vk.DestroyPipeline(app.device, pipeline, nullptr);
    app.vk.DestroyPipelineLayout(app.device, layout, nullptr);
    app.vk.DestroyDescriptorSetLayout(app.device, set_layout, nullptr);
    app.vk.DestroyShaderModule(app.device, shader, nullptr);
}

TEST(ShippingPage, TheFilesRunWithoutTheLibrary) {
    const fs::path folder = fs::temp_directory_path() / text("pumice-shipping-", getpid());
    {
#include "shipping/dump.inc"
    }
    EXPECT_EQ(parse_ir(contents(folder / "saxpy.ir")).name(), "saxpy");
    if (Device::open().name().rfind("vulkan:", 0) == 0) {
        tests::VulkanApplication app(0, tests::VulkanApplication::Features::least);
        {
            const uint32_t n = 1000;
            Floats x(app, std::vector<float>(n, 3.0f)), y(app, std::vector<float>(n, 10.0f));
            launch(app, folder / "saxpy", n, 64, {{"y", &y}, {"x", &x}}, {{"a", 0.5f}});
            EXPECT_EQ(y.values(), std::vector<float>(n, 11.5f));
            // Each Duplicated array is followed by its shadow, an Active scalar by a one-element array for its adjoint.
            Floats dx(app, std::vector<float>(n, 1.0f)), dy(app, std::vector<float>(n, 2.0f)), da(app, {0.0f});
            launch(app, folder / "saxpy.adjoint", n, 64, {{"y", &y}, {"d_y", &dy}, {"x", &x}, {"d_x", &dx}, {"d_a", &da}},
                   {{"a", 0.5f}});
            EXPECT_EQ(dx.values(), std::vector<float>(n, 2.0f));
            EXPECT_EQ(da.values(), std::vector<float>(1, 6000.0f));
        }
        EXPECT_EQ(app.messages, std::vector<std::string>());
    }
    fs::remove_all(folder);
}

TEST(ShippingPage, ObjectsHaveThePrototypesThatItShows) {
    if (!cpu::llvm_unavailable().empty()) GTEST_SKIP() << "SKIPPED: " << cpu::llvm_unavailable();
    const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
        auto i = global_index();
        y[i] += a * x[i];
    });
    const fs::path folder = fs::temp_directory_path() / text("pumice-objects-", getpid());
    fs::create_directories(folder);
#include "shipping/object.inc"
    docs::Page("docs/objects.md").expect_block("c prototypes", code.prototype + ";\n" + loop.prototype + ";\n");
    for (const char* const name : {"smooth", "saxpy"}) {
        EXPECT_EQ(contents(folder / (std::string(name) + ".o")).substr(0, 4), "\177ELF");
        EXPECT_NE(contents(folder / (std::string(name) + ".h")).find(name), std::string::npos);
    }
    fs::remove_all(folder);
}

TEST(ShippingPage, ProgramForBpf) {
    if (!cpu::llvm_unavailable().empty()) GTEST_SKIP() << "SKIPPED: " << cpu::llvm_unavailable();
#include "shipping/bpf.inc"
    EXPECT_EQ(program.prototype, "uint32_t filter(uint32_t* arg1)");
    EXPECT_EQ(program.needs, std::vector<std::string>());
}

}  // namespace
