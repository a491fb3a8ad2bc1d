// Kernels, each with the same computation in careful hand-written GLSL: code_test.cpp compares AMD's code for both.
#pragma once
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include "bench/raw_vulkan.h"

namespace radv {

/// A hand-written shader. Its storage buffers are the arrays of the kernel, in order; its push constants are its own.
struct ByHand {
    const char* glsl;
    std::vector<uint32_t> push;
    struct Groups {
        uint32_t x, y = 1;
    } groups;  ///< of the dispatch
};

/// The device that runs both sides, one after the other.
class Sides {
public:
    /// `computes`: the device executes shaders, so that results are compared.
    Sides(const pumice::Device& device, raw::Device& by_hand, bool computes)
        : device(device), by_hand_device(by_hand), computes(computes) {}

    template <class Kernel, class... Arguments>
    void run(const Kernel& kernel, const pumice::Range& range, const ByHand& other, const Arguments&... arguments) {
        std::vector<std::vector<std::byte>> inputs;
        (take(inputs, arguments), ...);
        kernel(range, arguments...).wait();
        between();
        raw::Pipeline pipeline(by_hand_device, "by_hand", other.glsl, uint32_t(inputs.size()), uint32_t(other.push.size() * 4));
        if (!computes) return;
        const auto results = dispatch(pipeline, inputs, other);
        size_t next = 0;
        (compare(results, next, arguments), ...);
    }

    const pumice::Device device;
    /// Called between the pipelines of the two sides.
    std::function<void()> between = [] {};

private:
    template <class T> static void take(std::vector<std::vector<std::byte>>& inputs, const T& argument) {
        if constexpr (!std::is_arithmetic_v<T>) {
            const auto host = argument.download();
            inputs.emplace_back(host.size() * sizeof host[0]);
            std::memcpy(inputs.back().data(), host.data(), inputs.back().size());
        }
    }
    std::vector<std::vector<std::byte>> dispatch(raw::Pipeline& pipeline, const std::vector<std::vector<std::byte>>& inputs,
                                                 const ByHand& other);
    /// Compares numbers to rounding.
    template <class T> static void compare(const std::vector<std::vector<std::byte>>& results, size_t& next, const T& argument) {
        if constexpr (!std::is_arithmetic_v<T>) {
            const auto ours = argument.download();
            using Element = std::decay_t<decltype(ours[0])>;
            if constexpr (std::is_same_v<Element, uint32_t>)
                EXPECT_EQ(std::memcmp(ours.data(), results[next].data(), results[next].size()), 0);
            else
                compare_floats(ours.data(), results[next]);
            ++next;
        }
    }
    static void compare_floats(const void* ours, const std::vector<std::byte>& theirs);

    raw::Device& by_hand_device;
    const bool computes;
};

struct Case {
    std::string name;
    std::function<void(Sides&)> run;
};
/// Used by GoogleTest to print parameters.
inline std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
std::vector<Case> streaming_cases();  ///< memory in order: saxpy, stencils
std::vector<Case> group_cases();      ///< local memory, barriers, subgroups
std::vector<Case> function_cases();   ///< arithmetic and functions

/// Deterministic numbers in [from, to).
std::vector<float> noise(int64_t count, float from = -1, float to = 1);
inline uint32_t word(float value) { return std::bit_cast<uint32_t>(value); }
inline uint32_t word(int value) { return uint32_t(value); }

}  // namespace radv
