// Linked with a suite that runs on the interpreter: every kernel that the suite launches is also launched on an AMD card, so that
// AMD's compiler compiles it. It must compile without spilled registers (but see too_large() and in_random_program()).
//
// The card is the driver's null device below tests/layers/null_card_layer.cpp, so that the library makes the shader for the
// features, limits and subgroups of a real card. The null device computes nothing, and a suite on it would leave most tests at
// their first wrong result; therefore the suite runs on the interpreter. Kernels of derivatives are those that GPUs get, because
// the interpreter uses the same strategies; strategies that depend on the subgroup size use the interpreter's. Launches on
// threads that a test starts are not seen.
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "core/host/trace_hook.h"
#include "tests/device/suite.h"
#include "tests/radv/pipelines.h"

using namespace pumice;
using detail::ArrayState;
using detail::HostArgument;

namespace {

class EveryKernel : public detail::TraceHook, public testing::Environment {
public:
    void SetUp() override {
        pipelines.emplace();
        card.emplace(Device::open("vulkan"));
        // With another driver the test would pass without meaning anything.
        ASSERT_NE(card->name().find("RADV"), std::string::npos) << card->name();
        stream = card->stream();
        watching.emplace(this);
    }
    void TearDown() override {
        watching.reset();
        std::cout << "radv: " << seen.size() << " kernels, " << made << " pipelines, " << spilling_vgprs << " that spill VGPRs, "
                  << spilling_sgprs << " that spill SGPRs, " << refused
                  << " launches that the card refuses; the most: " << most.instructions << " instructions, " << most.vgprs
                  << " VGPRs, " << most.scratch << " bytes of scratch\n";
        EXPECT_TRUE(made > 0 || testing::UnitTest::GetInstance()->test_to_run_count() < 20);
    }

    bool launching(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) override {
        // The driver ends the process where an image is made on its null device.
        if (std::any_of(arguments.begin(), arguments.end(), [](const HostArgument& a) { return a.image; })) return false;
        if (is_new(kernel, range)) {
            const detail::ScopedTraceHook aside(nullptr);
            try {
                launch_on_card(kernel, range, arguments);
            } catch (const Error& e) {
                const std::string what = e.what();
                // Features of the interpreter that the card lacks: types, and the size of groups.
                const bool lacks = what.find("does not have") != what.npos || what.find("bytes of local memory") != what.npos;
                if (lacks)
                    ++refused;
                else
                    ADD_FAILURE() << kernel.name() << ": " << what;
            }
            check(kernel);
        }
        return false;
    }

private:
    /// The inputs on which a pipeline depends, except arrays of 2 GiB and more.
    bool is_new(const KernelBase& kernel, const Range& range) {
        auto& [kept, ranges] = seen[kernel.recorded().get()];
        kept = kernel.recorded();
        return ranges.insert({range.rank, range.from, range.to, range.group_extents}).second;
    }

    void launch_on_card(const KernelBase& kernel, Range range, std::span<const HostArgument> arguments) {
        std::vector<HostArgument> own(arguments.begin(), arguments.end());
        std::vector<std::shared_ptr<ArrayState>> states;
        for (HostArgument& a : own) {
            if (!a.is_array) continue;
            const int64_t elements = a.array->bytes / a.element->size;
            states.push_back(detail::allocate(card->state, &elements, 1, *a.element, false));
            a.array = states.back().get();
        }
        if (range.counts) {  // checked ones: six numbers
            const int64_t six = 6;
            range.counts.array = detail::allocate(card->state, &six, 1, detail::element_of<int32_t>(), true);
        }
        range.stream = stream;  // a kernel without arrays gets its device from the stream
        kernel.launch(range, own).wait();
    }

    void check(const KernelBase& kernel) {
        for (const radv::Pipeline& p : pipelines->take()) {
            ++made;
            EXPECT_GT(p.instructions, 0) << kernel.name();
            EXPECT_TRUE(p.spilled_vgprs == 0 || too_large(p)) << kernel.name() << ": " << radv::text_of(p) << "\n" << kernel.ir();
            EXPECT_TRUE(p.spilled_sgprs == 0 || in_random_program()) << kernel.name() << ": " << radv::text_of(p) << "\n"
                                                                     << kernel.ir();
            spilling_vgprs += p.spilled_vgprs > 0;
            spilling_sgprs += p.spilled_sgprs > 0;
            most.instructions = std::max(most.instructions, p.instructions);
            most.vgprs = std::max(most.vgprs, p.vgprs);
            most.scratch = std::max(most.scratch, p.scratch);
        }
    }

    /// Mesa 22 limits code for RDNA 3, which it calls GFX1100, to 132 VGPRs; other families, and Mesa 23, have 256. Derivatives
    /// with thousands of instructions and no loop do not fit.
    bool too_large(const radv::Pipeline& p) const {
        return card->name().find("GFX1100") != std::string::npos && p.vgprs > 128 && p.instructions > 3000;
    }
    /// Derivatives of random programs have thousands of instructions in nested loops and branches. A few spill one or two
    /// execution masks, which are SGPRs, to lanes of a VGPR. That costs two instructions, and no memory.
    static bool in_random_program() {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        return test && std::string_view(test->test_suite_name()).find("Fuzz") != std::string_view::npos;
    }

    using Extents = std::array<int64_t, ir::max_rank>;
    using Ranges = std::set<std::tuple<int, Extents, Extents, Extents>>;
    std::map<const ir::Kernel*, std::pair<std::shared_ptr<const ir::Kernel>, Ranges>> seen;
    std::optional<radv::Pipelines> pipelines;
    std::optional<Device> card;
    Stream stream;
    std::optional<detail::ScopedTraceHook> watching;
    radv::Pipeline most;
    int made = 0, refused = 0, spilling_vgprs = 0, spilling_sgprs = 0;
};

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    testing::AddGlobalTestEnvironment(new EveryKernel);
    return RUN_ALL_TESTS();
}
