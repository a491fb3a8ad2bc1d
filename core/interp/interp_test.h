// Helpers of the interpreter's tests: runs kernels given as text.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "core/host/backend.h"
#include "core/interp/interp.h"
#include "core/support/error.h"

namespace pumice::interp_test {

using namespace internal;

/// An array of a device, with its extents in written order.
template <class T> struct DeviceArray {
    DeviceArray(Backend& on, const std::vector<T>& host, std::vector<int64_t> extents = {}) : device(on), count(host.size()) {
        if (extents.empty()) extents = {int64_t(count)};
        argument.array.bytes = int64_t(count * sizeof(T));
        for (size_t d = 0; d < extents.size(); ++d) argument.array.extents[extents.size() - 1 - d] = extents[d];
        if (count == 0) return;
        memory = device.allocate(argument.array.bytes, true);
        argument.array.memory = memory.get();
        device.write(*memory, 0, host.data(), argument.array.bytes);
    }
    std::vector<T> read() const {
        std::vector<T> host(count);
        if (count) device.read(*memory, argument.array.offset, host.data(), int64_t(count * sizeof(T)));
        return host;
    }
    operator Launch::Argument() const { return argument; }

    Backend& device;
    size_t count;
    std::shared_ptr<Allocation> memory;
    Launch::Argument argument;
};

template <class T> Launch::Argument scalar(T value) {
    Launch::Argument a;
    std::memcpy(&a.bits, &value, sizeof(T));
    return a;
}

/// Extents, group and start of a launch, in written order.
struct Range {
    std::vector<int64_t> extent;
    std::vector<int64_t> group = {};
    std::vector<int64_t> start = {};
};

inline void run(Backend& device, const std::string& kernel_text, const Range& range, std::vector<Launch::Argument> arguments) {
    auto kernel = std::make_shared<ir::Kernel>(ir::parse(kernel_text));
    ASSERT_EQ(ir::verify(*kernel), "");
    Launch launch;
    launch.rank = int(range.extent.size());
    const auto set = [](std::array<int64_t, 3>& axes, const std::vector<int64_t>& written) {
        for (size_t d = 0; d < written.size(); ++d) axes[written.size() - 1 - d] = written[d];
    };
    set(launch.extent, range.extent);
    set(launch.start, range.start);
    launch.group = {1, 1, 1};
    if (range.group.empty())
        launch.group = device.choose_group(*kernel, launch);
    else
        set(launch.group, range.group);
    launch.arguments = std::move(arguments);
    device.launch(device.compile(kernel), launch);
}

/// The message of the Error that a launch throws; "" if it throws none.
inline std::string fault(Backend& device, const std::string& kernel_text, const Range& range,
                         std::vector<Launch::Argument> arguments) {
    try {
        run(device, kernel_text, range, std::move(arguments));
    } catch (const Error& e) { return e.what(); }
    return "";
}

inline std::vector<int> counting(int n) {
    std::vector<int> v(static_cast<size_t>(n));
    std::iota(v.begin(), v.end(), 0);
    return v;
}

/// Tests of kernels both as recorded and as prepared.
class interp : public ::testing::TestWithParam<InterpMode> {
protected:
    std::shared_ptr<Backend> device = open_interp(GetParam());
    template <class T> DeviceArray<T> array(const std::vector<T>& host, std::vector<int64_t> extents = {}) {
        return {*device, host, std::move(extents)};
    }
    template <class... Args> void launch(const std::string& kernel, const Range& range, const Args&... args) {
        run(*device, kernel, range, {Launch::Argument(args)...});
    }
};

/// The checking device.
class interp_check : public ::testing::Test {
protected:
    std::shared_ptr<Backend> device = open_interp();
    DeviceArray<float> eight{*device, std::vector<float>(8)}, sixteen{*device, std::vector<float>(16, 2.0f)};
    DeviceArray<float> grid{*device, std::vector<float>(32), {4, 8}};

    /// After every fault, the device still runs a correct kernel.
    void TearDown() override {
        const char* half = R"(kernel "half" math contract rank 1 (arg1: inout f32[1]) files [] {
            %i = global_index 0 : i32
            %x = load arg1[%i] : f32
            %h = constant 0.5 : f32
            %y = mul %x, %h : f32
            store arg1[%i], %y : f32
            return
        })";
        DeviceArray<float> a{*device, std::vector<float>(100, 3.0f)};
        run(*device, half, {{100}}, {a});
        EXPECT_EQ(a.read(), std::vector<float>(100, 1.5f));
    }
};

/// A kernel of these instructions, on lines 1, 2, ... of "dir/k.cpp".
inline std::string kernel(const std::string& head, const std::string& body, const std::string& memories = "") {
    std::string out = "kernel " + head + " @9 files [\"dir/k.cpp\"] {\n" + memories + "\n";
    int line = 0;
    for (size_t at = 0; at < body.size();) {
        const size_t end = std::min(body.find('\n', at), body.size());
        std::string instruction = body.substr(at, end - at);
        at = end + 1;
        if (instruction.find_first_not_of(' ') == std::string::npos) continue;
        ++line;
        const bool block = instruction.find_first_of("{}") != std::string::npos;
        out += instruction + (block ? "" : " @" + std::to_string(line)) + "\n";
    }
    return out + "}\n";
}

}  // namespace pumice::interp_test
