// Helpers for tests of the backend: a device of every driver in each mode of operation, and a kernel. The kernel is hand-written
// GLSL, to be independent of the code generator.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/support/error.h"
#include "tests/vulkan_application.h"
#include "vulkan/loader_devices.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan::test {

using codegen::Field;
using codegen::Shader;

struct Case {
    int index;
    std::string device, mode;
};

struct Parameter {
    bool array;
    ir::Access access = ir::Access::inout;
    Scalar type = Scalar::f32;
};

inline std::shared_ptr<ir::Kernel> kernel(const std::string& name, const std::vector<Parameter>& parameters) {
    auto k = std::make_shared<ir::Kernel>();
    k->name = name;
    for (const Parameter& p : parameters) {
        ir::Parameter parameter{p.array, p.type, {}};
        if (p.array) {
            ir::Memory memory;
            memory.element = Element::of(p.type);
            memory.access = p.access;
            memory.argument = int(k->params.size());
            parameter.memory.id = uint32_t(k->memories.size());
            k->memories.push_back(memory);
        }
        k->params.push_back(parameter);
    }
    return k;
}

const char* const head =
    "#version 460\n#extension GL_EXT_buffer_reference : require\n#extension GL_EXT_buffer_reference_uvec2 : require\n"
    "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n";

/// y[i] = a * x[i] + y[i], with bindings or with addresses.
inline Shader saxpy_shader(const codegen::Options& options) {
    Shader s;
    s.name = "saxpy";
    const bool by_address = !options.by_address.empty() && options.by_address[0];
    const std::string fields = "float a; int start; int end; int base;";
    std::string glsl = head;
    if (by_address)
        glsl +=
            "layout(buffer_reference, std430) buffer Y { float at[]; };\n"
            "layout(buffer_reference, std430) readonly buffer X { float at[]; };\n"
            "layout(push_constant) uniform Push { uvec2 y; uvec2 x; " +
            fields +
            " };\n"
            "#define YY Y(y).at\n#define XX X(x).at\n";
    else
        glsl +=
            "layout(binding = 0) buffer Y { float y[]; }; layout(binding = 1) readonly buffer X { float x[]; };\n"
            "layout(push_constant) uniform Push { " +
            fields + " };\n#define YY y\n#define XX x\n";
    glsl += "void main() { int i = start + int(gl_GlobalInvocationID.x); if (i < end) YY[i] = a * XX[i] + YY[i]; }\n";
    s.glsl = glsl;
    s.spirv = codegen::assemble(glsl, "saxpy");
    const uint32_t at = by_address ? 16 : 0;
    if (by_address) {
        s.push = {{Field::Kind::address, 0, 0, 0, Scalar::u64}, {Field::Kind::address, 1, 0, 8, Scalar::u64}};
    } else {
        s.bindings = {{0, 0, ir::Access::inout}, {1, 1, ir::Access::in}};
    }
    s.push.push_back({Field::Kind::argument, 2, 0, at, Scalar::f32});
    s.push.push_back({Field::Kind::start, 0, 0, at + 4, Scalar::i32});
    s.push.push_back({Field::Kind::end, 0, 0, at + 8, Scalar::i32});
    s.push.push_back({Field::Kind::group_base, 0, 0, at + 12, Scalar::i32});
    s.push_bytes = at + 16;
    return s;
}

inline std::shared_ptr<ir::Kernel> saxpy_kernel() {
    return kernel("saxpy", {{true, ir::Access::inout}, {true, ir::Access::in}, {false}});
}

inline Launch::Argument whole(const std::shared_ptr<Allocation>& memory, int64_t element = 4) {
    Launch::Argument argument;
    argument.array = {memory.get(), 0, memory->bytes, {memory->bytes / element, 1, 1}};
    return argument;
}

inline Launch::Argument scalar(float value) {
    Launch::Argument argument;
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    argument.bits = bits;
    return argument;
}

class DeviceTest : public testing::TestWithParam<Case> {
protected:
    void SetUp() override { device = open_again(); }
    /// Releases everything; late validation messages appear here.
    void TearDown() override {
        if (device) device->synchronize();
        device.reset();
        for (const auto& application : applications) EXPECT_EQ(application->messages, std::vector<std::string>());
    }
    std::shared_ptr<VulkanDevice> open_again() {
        const std::string& mode = GetParam().mode;
        if (mode == "wrapped") {
            applications.push_back(std::make_unique<tests::VulkanApplication>(GetParam().index));
            return std::static_pointer_cast<VulkanDevice>(wrap(applications.back()->application()).state->backend);
        }
        if (mode != "plain") setenv(mode.c_str(), "1", 1);
        auto opened = std::static_pointer_cast<VulkanDevice>(open(GetParam().index));
        unsetenv(mode.c_str());
        return opened;
    }
    std::shared_ptr<Allocation> upload(const std::vector<float>& values) {
        auto memory = device->allocate(int64_t(values.size()) * 4, false);
        device->write(*memory, 0, values.data(), memory->bytes);
        return memory;
    }
    std::vector<float> download(const std::shared_ptr<Allocation>& memory) {
        std::vector<float> values(size_t(memory->bytes / 4));
        device->read(*memory, 0, values.data(), memory->bytes);
        return values;
    }
    Launch saxpy_launch(const std::shared_ptr<Allocation>& y, const std::shared_ptr<Allocation>& x, float a) {
        Launch l;
        l.extent = {y->bytes / 4, 1, 1};
        l.group = {64, 1, 1};
        l.arguments = {whole(y), whole(x), scalar(a)};
        return l;
    }
    std::vector<std::unique_ptr<tests::VulkanApplication>> applications;  // owners of wrapped devices
    std::shared_ptr<VulkanDevice> device;
};

inline std::vector<float> ramp(size_t n, float from = 0) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), from);
    return values;
}

}  // namespace pumice::vulkan::test
