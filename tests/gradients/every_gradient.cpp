// Linked with the device suite: the first launches of each of its kernels are also differentiated, on copies of their arguments.
// Reverse mode must be the transpose of forward mode, <seeds, J t> = <J' seeds, t>, to rounding; this holds for kernels that are
// not smooth, and for kernels with integers. Forward mode must agree with central differences wherever the results are smooth.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>

#include "core/host/trace_hook.h"
#include "core/ir/evaluate.h"
#include "tests/device/suite.h"

using namespace pumice;
using namespace pumice::internal;
using derive::Activity;
using derive::ArgumentSlot;
using detail::ArrayState;
using detail::HostArgument;

namespace {

using State = std::shared_ptr<ArrayState>;

double number_of(Scalar type, const void* at) {
    uint64_t bits = 0;
    std::memcpy(&bits, at, size_t(size_of(type)));
    return derive::from_bits<double>(cast_bits(type, Scalar::f64, bits));
}
uint64_t bits_of(Scalar type, double number) {
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return cast_bits(Scalar::f64, type, bits);
}
bool has_floats(const Element& element) {
    return std::any_of(element.leaves.begin(), element.leaves.end(), [](const Leaf& leaf) { return is_float(leaf.type); });
}

/// The floats of an array, and their offsets in its bytes.
template <class F> void each_number(const HostArgument& array, F&& f) {
    const int64_t count = array.array->bytes / array.element->size;
    for (int64_t e = 0; e < count; ++e)
        for (const Leaf& leaf : array.element->leaves)
            if (is_float(leaf.type)) f(leaf.type, size_t(e * array.element->size + leaf.offset));
}
std::vector<double> numbers_of(const HostArgument& array) {
    std::vector<char> bytes(size_t(array.array->bytes));
    detail::read(*array.array, bytes.data());
    std::vector<double> numbers;
    each_number(array, [&](Scalar type, size_t at) { numbers.push_back(number_of(type, &bytes[at])); });
    return numbers;
}

/// A launch with its own copies of the arrays.
class Copied {
public:
    Copied(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments, uint64_t seed, bool forward)
        : call{kernel, range, {}, 1}, random(seed) {
        for (const HostArgument& a : arguments) {
            ArgumentSlot slot{Activity::constant, a, {}, nullptr, false};
            if (a.is_array) {
                slot.value = copy_of(a);
                if (has_floats(*a.element)) slot.activity = Activity::duplicated, slot.shadows = {numbers_like(a)};
            } else if (is_float(a.type)) {
                const double tangent = next();
                slot.activity = forward ? Activity::duplicated : Activity::active;
                if (forward) slot.shadows = {a}, slot.shadows[0].bits = bits_of(a.type, tangent);
                scalars.push_back(number_of(a.type, slot.shadows.empty() ? &a.bits : &slot.shadows[0].bits));
            }
            call.arguments.push_back(slot);
        }
    }
    /// The floats of all shadows of arrays.
    std::vector<double> shadows() const {
        return numbers([](const ArgumentSlot& slot) -> const HostArgument& { return slot.shadows[0]; });
    }
    /// The floats of the arrays themselves.
    std::vector<double> values() const {
        return numbers([](const ArgumentSlot& slot) -> const HostArgument& { return slot.value; });
    }
    /// Moves all floats along their tangents, then runs the kernel.
    void run_moved(double step) {
        std::vector<HostArgument> arguments;
        for (ArgumentSlot& slot : call.arguments) {
            if (slot.activity != Activity::constant) {
                if (slot.value.is_array) {
                    std::vector<char> bytes(size_t(slot.value.array->bytes)), along(bytes.size());
                    detail::read(*slot.value.array, bytes.data());
                    detail::read(*slot.shadows[0].array, along.data());
                    each_number(slot.value, [&](Scalar type, size_t at) {
                        const uint64_t bits = bits_of(type, number_of(type, &bytes[at]) + step * number_of(type, &along[at]));
                        std::memcpy(&bytes[at], &bits, size_t(size_of(type)));
                    });
                    const int64_t elements = int64_t(bytes.size()) / slot.value.element->size;
                    if (elements) detail::write(*slot.value.array, bytes.data(), elements, elements);
                } else {
                    const Scalar type = slot.value.type;
                    slot.value.bits =
                        bits_of(type, number_of(type, &slot.value.bits) + step * number_of(type, &slot.shadows[0].bits));
                }
            }
            arguments.push_back(slot.value);
        }
        call.kernel.launch(call.range, arguments);
    }

    derive::Call call;
    std::vector<double> scalars;  ///< forward: the tangents

private:
    template <class F> std::vector<double> numbers(const F& of) const {
        std::vector<double> all;
        for (const ArgumentSlot& slot : call.arguments)
            if (slot.value.is_array && slot.activity != Activity::constant)
                for (const double d : numbers_of(of(slot))) all.push_back(d);
        return all;
    }
    double next() { return double(random.next() >> 11) * 0x1p-52 - 1; }
    HostArgument over(const HostArgument& like, std::vector<char>& bytes) {
        HostArgument own = like;
        const int64_t elements = like.array->bytes / like.element->size;
        states.push_back(detail::allocate(like.device(), &elements, 1, *like.element, false));
        if (elements) detail::write(*states.back(), bytes.data(), elements, elements);
        own.array = states.back().get();
        return own;
    }
    HostArgument copy_of(const HostArgument& array) {
        HostArgument own = array;
        const int64_t elements = array.array->bytes / array.element->size;
        states.push_back(detail::allocate(array.device(), &elements, 1, *array.element, false));
        if (elements) detail::copy(*array.array, *states.back());
        own.array = states.back().get();
        return own;
    }
    HostArgument numbers_like(const HostArgument& array) {
        std::vector<char> bytes(size_t(array.array->bytes), 0);
        each_number(array, [&](Scalar type, size_t at) {
            const uint64_t bits = bits_of(type, next());
            std::memcpy(&bytes[at], &bits, size_t(size_of(type)));
        });
        return over(array, bytes);
    }

    std::vector<State> states;
    rng::Splittable random;
};

class EveryKernel : public detail::TraceHook, public testing::Environment {
public:
    void SetUp() override {
        // A second range has code of its own, which drivers take long to compile.
        if (suite::device().name().starts_with("vulkan")) most = 1;
        watching.emplace(this);
    }
    void TearDown() override {
        watching.reset();
        std::cout << "gradients: " << checked << " launches checked, " << refused << " refused, " << skipped
                  << " not of finite floats; " << smooth << " numbers compared with differences, " << kinks << " not smooth\n";
        EXPECT_TRUE(checked > 0 || testing::UnitTest::GetInstance()->test_to_run_count() < 50);
    }

    bool launching(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) override {
        const std::shared_ptr<const ir::Kernel> recorded = kernel.recorded();
        auto& [times, kept] = seen[recorded.get()];
        kept = recorded;
        if (++times > most || !worthwhile(*recorded, range, arguments)) return false;
        const detail::ScopedTraceHook aside(nullptr);
        try {
            compare(kernel, range, arguments);
        } catch (const Error& e) {
            const std::string what = e.what();
            for (const char* known : {"has no derivative", "has no reverse rule", "bytes of local memory"})
                if (what.find(known) != what.npos) return ++refused, false;
            ADD_FAILURE() << kernel.name() << ": " << what;
        }
        return false;
    }

private:
    /// True for small launches that change floats and print nothing.
    static bool worthwhile(const ir::Kernel& kernel, const Range& range, std::span<const HostArgument> arguments) {
        for (const ir::Inst& i : kernel.insts)
            if (i.op == ir::Op::print || i.op == ir::Op::require) return false;
        int64_t items = 1, bytes = 0;
        for (int d = 0; d < range.rank; ++d) items *= range.to[size_t(d)] - range.from[size_t(d)];
        bool floats = false;
        for (const HostArgument& a : arguments)
            if (a.image) return false;  // derivatives of images: tests/images
        for (const HostArgument& a : arguments)
            if (a.is_array) bytes += a.array->bytes, floats = floats || has_floats(*a.element);
        return floats && items > 0 && items <= 5000 && bytes <= 1 << 20;
    }

    /// User-defined rules may give any derivative, so such kernels are not checked.
    static bool by_rules(const ir::Kernel& kernel) {
        return std::any_of(kernel.functions.begin(), kernel.functions.end(), [](const ir::Function& f) { return f.has_rule(); });
    }

    void compare(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments) {
        Copied forward(kernel, range, arguments, 1, true), reverse(kernel, range, arguments, 2, false);
        const std::vector<double> tangents = forward.shadows(), seeds = reverse.shadows();
        derive::forward(forward.call);
        const std::vector<uint64_t> bits = derive::reverse(reverse.call);
        const std::vector<double> after = forward.shadows(), adjoints = reverse.shadows();
        double want = 0, got = 0, scale = 0;
        for (size_t i = 0; i < after.size(); ++i) {
            want += seeds[i] * after[i], got += adjoints[i] * tangents[i];
            scale += std::abs(seeds[i] * after[i]) + std::abs(adjoints[i] * tangents[i]);
        }
        double tolerance = 1e-12;
        size_t scalar = 0;
        const auto coarser = [&](Scalar type) {
            const double of_type = type == Scalar::bf16 ? 8e-2 : type == Scalar::f16 ? 1e-2 : type == Scalar::f32 ? 1e-5 : 0;
            tolerance = std::max(tolerance, of_type);
        };
        for (const ir::Inst& i : kernel.recorded()->insts)  // floats may pass through a narrower type
            if (is_float(i.type)) coarser(i.type);
        for (const HostArgument& a : arguments) {
            if (a.is_array) {
                for (const Leaf& leaf : a.element->leaves) coarser(leaf.type);
            } else if (is_float(a.type)) {
                coarser(a.type);
                const double term = number_of(a.type, &bits[scalar]) * forward.scalars[scalar];
                ++scalar;
                got += term, scale += std::abs(term);
            }
        }
        if (tolerance < 1e-3 && !by_rules(*kernel.recorded()))
            compare_with_differences(kernel, range, arguments, after, forward.values(), tolerance);
        if (!std::isfinite(scale)) return void(++skipped);
        ++checked;
        EXPECT_NEAR(got, want, tolerance * scale) << kernel.name() << ": reverse mode is not the transpose of forward mode\n"
                                                  << kernel.ir();
    }

    /// If differences forwards and backwards agree, the result is smooth there, and the tangent is checked. `y` is the result of
    /// the kernel without a step.
    void compare_with_differences(const KernelBase& kernel, const Range& range, std::span<const HostArgument> arguments,
                                  const std::vector<double>& tangents, const std::vector<double>& y, double tolerance) {
        const double h = tolerance > 1e-6 ? 1e-2 : 1e-5, epsilon = tolerance > 1e-6 ? 1e-6 : 1e-15;
        Copied above(kernel, range, arguments, 1, true), below(kernel, range, arguments, 1, true);
        above.run_moved(h), below.run_moved(-h);
        const std::vector<double> high = above.values(), low = below.values();
        double largest = 0;
        for (const double v : y)
            if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
        for (size_t i = 0; i < y.size(); ++i) {
            const double up = (high[i] - y[i]) / h, down = (y[i] - low[i]) / h, rounding = epsilon * largest / h + 1e-6;
            if (!std::isfinite(up) || !std::isfinite(down) || !std::isfinite(tangents[i])) continue;
            const double allowed = 0.1 * std::max(std::abs(up), std::abs(down)) + rounding;
            if (std::abs(up - down) > allowed) {
                ++kinks;
                continue;
            }
            ++smooth;
            EXPECT_NEAR(tangents[i], (up + down) / 2, allowed)
                << kernel.name() << ", number " << i << ": forward mode disagrees with differences\n"
                << kernel.ir();
            if (testing::Test::HasFailure()) return;
        }
    }

    int most = 2;  ///< launches of a kernel that are checked
    std::optional<detail::ScopedTraceHook> watching;
    std::map<const ir::Kernel*, std::pair<int, std::shared_ptr<const ir::Kernel>>> seen;
    int checked = 0, refused = 0, skipped = 0, smooth = 0, kinks = 0;
};

}  // namespace

int main(int argc, char** argv) {
    // Leaves out tests with many launches and without floats. A filter on the command line replaces this one.
    std::string filter =
        "-Stress.*:Threads.*:Ranges.*:Atomics.*:Random.*:Views*:*64*:Host.ThousandsOfLaunches*:Host.MemoryInUse*:"
        "Host.ArraysAndStreams*:Device.Print*:*ManyLaunches*";
    // Drivers take seconds for each of these derivatives; autodiff_suite has some of their kind.
    if (const char* device = std::getenv("PUMICE_DEVICE"); device && std::strncmp(device, "vulkan", 6) == 0)
        filter += ":Sums.Tiles*:Matrices.MathsOfDoubles:Device.Group*:WrappingIndices.NeighboursAtTheRimInALoop";
    GTEST_FLAG_SET(filter, filter);
    testing::InitGoogleTest(&argc, argv);
    testing::AddGlobalTestEnvironment(new EveryKernel);
    return RUN_ALL_TESTS();
}
