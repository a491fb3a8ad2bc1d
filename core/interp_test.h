// Kernels as text, run on the reference interpreter: what its tests share.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/error.h"
#include "core/interp.h"

namespace pumice::interp_test {

/// An array of a device, with its extents in written order.
template <class T>
struct DeviceArray {
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

template <class T>
Launch::Argument scalar(T value) {
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
    if (range.group.empty()) launch.group = device.choose_group(*kernel, launch);
    else set(launch.group, range.group);
    launch.arguments = std::move(arguments);
    device.launch(device.compile(kernel), launch);
}

/// The message of the Error that a launch throws; "" when it throws none.
inline std::string fault(Backend& device, const std::string& kernel_text, const Range& range,
                         std::vector<Launch::Argument> arguments) {
    try {
        run(device, kernel_text, range, std::move(arguments));
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

}  // namespace pumice::interp_test
