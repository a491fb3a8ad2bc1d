#include "samples/fluid/fluid_by_hand.h"

#include <cmath>
#include <cstring>
#include <string>

#include <shaderc/shaderc.hpp>

namespace fluid {

using pumice::fail;

namespace {

constexpr uint32_t group_width = 32, group_height = 8;

const char head[] = R"(#version 450
layout(local_size_x = 32, local_size_y = 8) in;
#define FIELD(n, access, type, name) layout(set = 0, binding = n, std430) access restrict buffer Field##n { type name[]; };
#define CELL ivec2 c = ivec2(gl_GlobalInvocationID.xy); if (c.x >= k.width || c.y >= k.height) return; int here = c.y * k.width + c.x;
#define NEIGHBOURS int up = max(c.y - 1, 0) * k.width + c.x, down = min(c.y + 1, k.height - 1) * k.width + c.x; \
    int left = c.y * k.width + max(c.x - 1, 0), right = c.y * k.width + min(c.x + 1, k.width - 1);
)";

// Bilinear interpolation of `field` at p, in cells.
const char between[] = R"(
#define BETWEEN(type) type between(vec2 p) { \
    p = clamp(p, vec2(0), vec2(k.columns - 1, k.rows - 1)); \
    ivec2 a = ivec2(p), b = min(a + 1, ivec2(k.columns - 1, k.rows - 1)); \
    vec2 w = p - vec2(a); \
    return mix(mix(field[a.y * k.columns + a.x], field[a.y * k.columns + b.x], w.x), \
               mix(field[b.y * k.columns + a.x], field[b.y * k.columns + b.x], w.x), w.y); \
}
)";

struct Size {
    int width, height;
};
struct PushConstants {
    Size size;
    float at[2], velocity[2], dye[4], radius, seconds;
};
struct Strength {
    Size size;
    float strength;
};
struct Advection {
    Size size;
    int columns, rows;
    float seconds, kept;
};
struct Shading {
    Size size;
    int columns, rows, bgra;
};

const char push_glsl[] = R"(
layout(push_constant) uniform K { int width, height; float at[2], velocity[2], dye[4], radius, seconds; } k;
FIELD(0, , vec2, velocity) FIELD(1, , vec4, dye)
void main() {
    CELL
    vec2 d = vec2(c) - vec2(k.at[0], k.at[1]);
    float weight = exp(-dot(d, d) / (k.radius * k.radius));
    if (weight > 1e-4) {
        velocity[here] += (vec2(k.velocity[0], k.velocity[1]) - velocity[here]) * min(8.0 * k.seconds * weight, 1.0);
        dye[here] += vec4(k.dye[0], k.dye[1], k.dye[2], k.dye[3]) * (k.seconds * weight);
    }
})";
const char curl_glsl[] = R"(
layout(push_constant) uniform K { int width, height; } k;
FIELD(0, writeonly, float, vorticity) FIELD(1, readonly, vec2, velocity)
void main() {
    CELL NEIGHBOURS
    vorticity[here] = 0.5 * (velocity[right].y - velocity[left].y - velocity[down].x + velocity[up].x);
})";
const char confine_glsl[] = R"(
layout(push_constant) uniform K { int width, height; float strength; } k;
FIELD(0, , vec2, velocity) FIELD(1, readonly, float, vorticity)
void main() {
    CELL NEIGHBOURS
    vec2 g = 0.5 * vec2(abs(vorticity[right]) - abs(vorticity[left]), abs(vorticity[down]) - abs(vorticity[up]));
    float force = k.strength * vorticity[here] / sqrt(dot(g, g) + 1e-4);
    velocity[here] += vec2(g.y, -g.x) * force;
})";
const char diverge_glsl[] = R"(
layout(push_constant) uniform K { int width, height; } k;
FIELD(0, writeonly, float, divergence) FIELD(1, readonly, vec2, velocity)
void main() {
    CELL NEIGHBOURS
    vec2 v = velocity[here];
    float l = c.x > 0 ? velocity[left].x : -v.x, r = c.x < k.width - 1 ? velocity[right].x : -v.x;
    float u = c.y > 0 ? velocity[up].y : -v.y, d = c.y < k.height - 1 ? velocity[down].y : -v.y;
    divergence[here] = 0.5 * (r - l + d - u);
})";
const char relax_glsl[] = R"(
layout(push_constant) uniform K { int width, height; } k;
FIELD(0, writeonly, float, to) FIELD(1, readonly, float, pressure) FIELD(2, readonly, float, divergence)
void main() {
    CELL NEIGHBOURS
    to[here] = 0.25 * (pressure[left] + pressure[right] + pressure[up] + pressure[down] - divergence[here]);
})";
const char project_glsl[] = R"(
layout(push_constant) uniform K { int width, height; } k;
FIELD(0, , vec2, velocity) FIELD(1, readonly, float, pressure)
void main() {
    CELL NEIGHBOURS
    velocity[here] -= 0.5 * vec2(pressure[right] - pressure[left], pressure[down] - pressure[up]);
})";
const char advect_velocity_glsl[] = R"(
layout(push_constant) uniform K { int width, height, columns, rows; float seconds, kept; } k;
FIELD(0, writeonly, vec2, to) FIELD(1, readonly, vec2, field)
BETWEEN(vec2)
void main() { CELL to[here] = between(vec2(c) - k.seconds * field[here]); })";
const char advect_dye_glsl[] = R"(
layout(push_constant) uniform K { int width, height, columns, rows; float seconds, kept; } k;
FIELD(0, writeonly, vec4, to) FIELD(1, readonly, vec4, field) FIELD(2, readonly, vec2, velocity)
BETWEEN(vec4)
void main() { CELL to[here] = between(vec2(c) - k.seconds * velocity[here]) * k.kept; })";
const char shade_glsl[] = R"(
layout(push_constant) uniform K { int width, height, columns, rows, bgra; } k;
FIELD(0, writeonly, uint, pixels) FIELD(1, readonly, vec4, field)
BETWEEN(vec4)
void main() {
    CELL
    vec2 p = (vec2(c) + 0.5) * vec2(k.columns, k.rows) / vec2(k.width, k.height) - 0.5;
    uvec3 b = uvec3(pow(1.0 - exp(-between(p).xyz), vec3(1.0 / 2.2)) * 255.0 + 0.5);
    pixels[here] = (k.bgra != 0 ? b.z | b.x << 16 : b.x | b.z << 16) | b.y << 8 | 0xff000000u;
})";

/// Makes the writes of a dispatch visible to the next ones.
void barrier(VkCommandBuffer commands) {
    auto written = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
    written.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
    written.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &written, 0,
                         nullptr, 0, nullptr);
}

}  // namespace

ByHand::ByHand(Screen& screen, int width, int height) : screen(screen), width(width), height(height) {
    const VkDescriptorPoolSize sizes{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 128};
    auto info = structure<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
    info.flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT;
    info.maxSets = 64;
    info.poolSizeCount = 1;
    info.pPoolSizes = &sizes;
    check(vkCreateDescriptorPool(screen.device, &info, nullptr, &pool), "vkCreateDescriptorPool");
    push = make_pipeline("push", push_glsl, 2);
    curl = make_pipeline("curl", curl_glsl, 2);
    confine = make_pipeline("confine", confine_glsl, 2);
    diverge = make_pipeline("diverge", diverge_glsl, 2);
    relax = make_pipeline("relax", relax_glsl, 3);
    project = make_pipeline("project", project_glsl, 2);
    advect_velocity = make_pipeline("advect_velocity", advect_velocity_glsl, 2);
    advect_dye = make_pipeline("advect_dye", advect_dye_glsl, 3);
    shade = make_pipeline("shade", shade_glsl, 2);

    const VkDeviceSize cells = VkDeviceSize(width) * VkDeviceSize(height);
    const auto field = [&](int scalars) {
        return make_buffer(cells * VkDeviceSize(scalars) * 4, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    };
    for (int half = 0; half < 2; ++half) velocity[half] = field(2), dye[half] = field(4), pressure[half] = field(1);
    divergence = field(1), vorticity = field(1);
    for (int now = 0; now < 2; ++now) {
        const int next = 1 - now;
        push_set[now] = bind(push, {velocity[now].buffer, dye[now].buffer});
        curl_set[now] = bind(curl, {vorticity.buffer, velocity[now].buffer});
        confine_set[now] = bind(confine, {velocity[now].buffer, vorticity.buffer});
        diverge_set[now] = bind(diverge, {divergence.buffer, velocity[now].buffer});
        relax_set[now] = bind(relax, {pressure[next].buffer, pressure[now].buffer, divergence.buffer});
        // An even number of iterations ends in the half where it began.
        project_set[now] = bind(project, {velocity[now].buffer, pressure[0].buffer});
        velocity_set[now] = bind(advect_velocity, {velocity[next].buffer, velocity[now].buffer});
        dye_set[now] = bind(advect_dye, {dye[next].buffer, dye[now].buffer, velocity[now].buffer});
    }
    static_assert(Fluid::iterations % 2 == 0);
}

ByHand::~ByHand() {
    vkDeviceWaitIdle(screen.device);
    for (Buffer* buffer : {&velocity[0], &velocity[1], &dye[0], &dye[1], &pressure[0], &pressure[1], &divergence, &vorticity,
                           &painted[0], &painted[1]})
        drop(*buffer);
    for (Pipeline* pipeline : {&push, &curl, &confine, &diverge, &relax, &project, &advect_velocity, &advect_dye, &shade}) {
        vkDestroyPipeline(screen.device, pipeline->pipeline, nullptr);
        vkDestroyPipelineLayout(screen.device, pipeline->layout, nullptr);
        vkDestroyDescriptorSetLayout(screen.device, pipeline->set_layout, nullptr);
    }
    vkDestroyDescriptorPool(screen.device, pool, nullptr);
}

ByHand::Buffer ByHand::make_buffer(VkDeviceSize bytes, VkMemoryPropertyFlags properties) {
    Buffer made;
    auto info = structure<VkBufferCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO);
    info.size = bytes;
    info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    check(vkCreateBuffer(screen.device, &info, nullptr, &made.buffer), "vkCreateBuffer");
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(screen.device, made.buffer, &needs);
    VkPhysicalDeviceMemoryProperties memories;
    vkGetPhysicalDeviceMemoryProperties(screen.physical, &memories);
    auto allocation = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    allocation.allocationSize = needs.size;
    const auto fits = [&](uint32_t type) {
        return (needs.memoryTypeBits >> type & 1) && (memories.memoryTypes[type].propertyFlags & properties) == properties;
    };
    while (allocation.memoryTypeIndex < memories.memoryTypeCount && !fits(allocation.memoryTypeIndex))
        ++allocation.memoryTypeIndex;
    if (allocation.memoryTypeIndex == memories.memoryTypeCount)
        fail("the device has no memory for a buffer of ", bytes, " bytes");
    check(vkAllocateMemory(screen.device, &allocation, nullptr, &made.memory), "vkAllocateMemory");
    check(vkBindBufferMemory(screen.device, made.buffer, made.memory, 0), "vkBindBufferMemory");
    // Fields begin with zeros.
    screen.submit([&](VkCommandBuffer commands) { vkCmdFillBuffer(commands, made.buffer, 0, VK_WHOLE_SIZE, 0); });
    screen.wait();
    return made;
}

void ByHand::drop(Buffer& buffer) {
    vkDestroyBuffer(screen.device, buffer.buffer, nullptr);
    vkFreeMemory(screen.device, buffer.memory, nullptr);
    buffer = {};
}

ByHand::Pipeline ByHand::make_pipeline(const char* name, const char* body, uint32_t buffers) {
    shaderc::CompileOptions options;
    options.SetTargetEnvironment(shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_2);
    options.SetOptimizationLevel(shaderc_optimization_level_performance);
    const auto spirv =
        shaderc::Compiler().CompileGlslToSpv(std::string(head) + between + body, shaderc_compute_shader, name, options);
    if (spirv.GetCompilationStatus() != shaderc_compilation_status_success) fail("GLSL by hand: ", spirv.GetErrorMessage());
    const std::vector<uint32_t> words(spirv.begin(), spirv.end());

    Pipeline made;
    made.buffers = buffers;
    std::vector<VkDescriptorSetLayoutBinding> bindings(buffers);
    for (uint32_t b = 0; b < buffers; ++b)
        bindings[b] = {b, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    auto set_info = structure<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
    set_info.bindingCount = buffers;
    set_info.pBindings = bindings.data();
    check(vkCreateDescriptorSetLayout(screen.device, &set_info, nullptr, &made.set_layout), "vkCreateDescriptorSetLayout");
    const VkPushConstantRange constants{VK_SHADER_STAGE_COMPUTE_BIT, 0, 64};
    auto layout_info = structure<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
    layout_info.setLayoutCount = layout_info.pushConstantRangeCount = 1;
    layout_info.pSetLayouts = &made.set_layout;
    layout_info.pPushConstantRanges = &constants;
    check(vkCreatePipelineLayout(screen.device, &layout_info, nullptr, &made.layout), "vkCreatePipelineLayout");
    auto module_info = structure<VkShaderModuleCreateInfo>(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    module_info.codeSize = words.size() * 4;
    module_info.pCode = words.data();
    VkShaderModule shader;
    check(vkCreateShaderModule(screen.device, &module_info, nullptr, &shader), "vkCreateShaderModule");
    auto info = structure<VkComputePipelineCreateInfo>(VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO);
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = shader;
    info.stage.pName = "main";
    info.layout = made.layout;
    check(vkCreateComputePipelines(screen.device, VK_NULL_HANDLE, 1, &info, nullptr, &made.pipeline), "vkCreateComputePipelines");
    vkDestroyShaderModule(screen.device, shader, nullptr);
    return made;
}

VkDescriptorSet ByHand::bind(const Pipeline& pipeline, std::initializer_list<VkBuffer> buffers) {
    auto info = structure<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
    info.descriptorPool = pool;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &pipeline.set_layout;
    VkDescriptorSet set;
    check(vkAllocateDescriptorSets(screen.device, &info, &set), "vkAllocateDescriptorSets");
    uint32_t binding = 0;
    for (const VkBuffer buffer : buffers) {
        const VkDescriptorBufferInfo whole{buffer, 0, VK_WHOLE_SIZE};
        auto write = structure<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
        write.dstSet = set;
        write.dstBinding = binding++;
        write.descriptorCount = 1;
        write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        write.pBufferInfo = &whole;
        vkUpdateDescriptorSets(screen.device, 1, &write, 0, nullptr);
    }
    return set;
}

void ByHand::resize(VkExtent2D wanted) {
    if (wanted.width == extent.width && wanted.height == extent.height) return;
    vkDeviceWaitIdle(screen.device);
    extent = wanted;
    for (uint32_t slot = 0; slot < Screen::frames_in_flight; ++slot) {
        if (painted[slot].buffer) {
            drop(painted[slot]);
            check(vkFreeDescriptorSets(screen.device, pool, 2, shade_set[slot]), "vkFreeDescriptorSets");
        }
        painted[slot] = make_buffer(VkDeviceSize(extent.width) * extent.height * 4,
                                    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
        for (int now = 0; now < 2; ++now) shade_set[slot][now] = bind(shade, {painted[slot].buffer, dye[now].buffer});
    }
}

void ByHand::dispatch(VkCommandBuffer commands, const Pipeline& pipeline, VkDescriptorSet set, const void* constants,
                      uint32_t bytes, VkExtent2D items) {
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1, &set, 0, nullptr);
    vkCmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, constants);
    vkCmdDispatch(commands, (items.width + group_width - 1) / group_width, (items.height + group_height - 1) / group_height, 1);
}

void ByHand::record(VkCommandBuffer commands, const Step& step, uint32_t slot, bool bgra) {
    const Size size{width, height};
    const VkExtent2D cells{uint32_t(width), uint32_t(height)};
    barrier(commands);  // after the last frame
    for (const Jet& jet : step.jets) {
        const PushConstants constants{
            size,       {jet.at.x, jet.at.y}, {jet.velocity.x, jet.velocity.y}, {jet.dye.x, jet.dye.y, jet.dye.z, jet.dye.w},
            jet.radius, step.seconds};
        dispatch(commands, push, push_set[current], &constants, sizeof(constants), cells);
        barrier(commands);
    }
    dispatch(commands, curl, curl_set[current], &size, sizeof(size), cells);
    barrier(commands);
    const Strength strength{size, step.confinement * step.seconds};
    dispatch(commands, confine, confine_set[current], &strength, sizeof(strength), cells);
    barrier(commands);
    dispatch(commands, diverge, diverge_set[current], &size, sizeof(size), cells);
    barrier(commands);
    for (int n = 0; n < Fluid::iterations; ++n) {
        dispatch(commands, relax, relax_set[n % 2], &size, sizeof(size), cells);
        barrier(commands);
    }
    dispatch(commands, project, project_set[current], &size, sizeof(size), cells);
    barrier(commands);
    Advection advection{size, width, height, step.seconds, 1};
    dispatch(commands, advect_velocity, velocity_set[current], &advection, sizeof(advection), cells);
    advection.kept = std::exp(-step.dissipation * step.seconds);
    dispatch(commands, advect_dye, dye_set[current], &advection, sizeof(advection), cells);
    barrier(commands);
    current = 1 - current;
    const Shading shading{{int(extent.width), int(extent.height)}, width, height, bgra};
    dispatch(commands, shade, shade_set[slot][current], &shading, sizeof(shading), extent);
}

std::vector<uint32_t> ByHand::download(uint32_t slot) const {
    std::vector<uint32_t> host(size_t(extent.width) * extent.height);
    void* at = nullptr;
    check(vkMapMemory(screen.device, painted[slot].memory, 0, VK_WHOLE_SIZE, 0, &at), "vkMapMemory");
    std::memcpy(host.data(), at, host.size() * 4);
    vkUnmapMemory(screen.device, painted[slot].memory);
    return host;
}

}  // namespace fluid
