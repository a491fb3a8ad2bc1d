// Derivatives of the random programs of tests/fuzz, whose kernels are recorded through the C++ language. For each kernel, on the
// device under test and on the interpreter: reverse mode is the transpose of forward mode, both devices agree to rounding, and
// forward mode agrees with central differences. PUMICE_FUZZ_SEED, PUMICE_FUZZ_COUNT and PUMICE_FUZZ_WITHOUT choose seeds and
// parts of the language, as in tests/fuzz/random_programs_test.cpp.
#include <cmath>
#include <cstring>
#include <iostream>
#include <random>

#include "autodiff/api/derivative_call.h"
#include "core/ir/evaluate.h"
#include "tests/device/suite.h"
#include "tests/fuzz/random_record.h"
#include "tests/fuzz/random_run.h"
#include "tests/fuzz/seeds.h"

using namespace pumice;
using namespace pumice::internal;
using derive::Activity;

namespace {

double real_at(Scalar type, const char* at) {
    uint64_t bits = 0;
    std::memcpy(&bits, at, size_t(size_of(type)));
    return real_of(type, bits);
}
void put(Scalar type, double value, char* at) {
    const uint64_t bits = real_bits(type, value);
    std::memcpy(at, &bits, size_t(size_of(type)));
}
bool has_floats(const Element& e) {
    return std::any_of(e.leaves.begin(), e.leaves.end(), [](const Leaf& l) { return is_float(l.type); });
}

/// The floats of an array, in order.
std::vector<char> bytes_of(const detail::ArrayState& array) {
    std::vector<char> bytes(size_t(array.bytes));
    detail::read(array, bytes.data());
    return bytes;
}
template <class F> void each_float(const detail::ArrayState& array, std::vector<char>& bytes, F f) {
    for (size_t i = 0; i < bytes.size(); i += array.element->size)
        for (const Leaf& leaf : array.element->leaves)
            if (is_float(leaf.type)) f(leaf.type, &bytes[i + leaf.offset]);
}
std::vector<double> floats_of(const detail::ArrayState& array) {
    std::vector<char> bytes = bytes_of(array);
    std::vector<double> all;
    each_float(array, bytes, [&](Scalar type, const char* at) { all.push_back(real_at(type, at)); });
    return all;
}
void set_floats(const detail::ArrayState& array, const std::vector<double>& values) {
    std::vector<char> bytes = bytes_of(array);
    size_t n = 0;
    each_float(array, bytes, [&](Scalar type, char* at) { put(type, values[n++], at); });
    const int64_t count = array.bytes / int64_t(array.element->size);
    detail::write(array, bytes.data(), count, count);
}

double draw(std::mt19937_64& random) { return double(random() >> 11) * 0x1p-52 - 1; }
bool is_differentiated(const detail::HostArgument& a) { return a.is_array ? has_floats(*a.element) : is_float(a.type); }

/// A vector for each array of floats, and one for the tangents or adjoints of the scalars.
using Numbers = std::vector<std::vector<double>>;

/// Shadows before and after a call of a mode.
struct Swept {
    Numbers before, after;
};

Swept sweep(const fuzz::Program& program, const KernelBase& kernel, const Device& device, bool reverse, uint64_t seed) {
    const fuzz::Bench bench(program, device);
    const Range range = fuzz::Bench::range_of(program.shape);
    derive::Call call{kernel, range, {}};
    std::vector<std::shared_ptr<detail::ArrayState>> shadows;
    std::vector<double> scalars;
    std::mt19937_64 random(seed);
    Swept found;
    for (const detail::HostArgument& a : bench.arguments()) {
        derive::ArgumentSlot slot{Activity::constant, a, {}};
        if (is_differentiated(a)) {
            detail::HostArgument shadow = a;
            if (a.is_array) {
                const int64_t count = a.array->bytes / int64_t(a.element->size);
                shadows.push_back(detail::allocate(device.state, &count, 1, *a.element, true));
                shadow.array = shadows.back().get();
                std::vector<double> values = floats_of(*shadow.array);
                for (double& v : values) v = draw(random);
                set_floats(*shadow.array, values);
                found.before.push_back(floats_of(*shadow.array));
            } else {
                scalars.push_back(draw(random));
                shadow.bits = real_bits(a.type, scalars.back());
            }
            slot.activity = reverse && !a.is_array ? Activity::active : Activity::duplicated;
            if (!reverse || a.is_array) slot.shadows = {shadow};
        }
        call.arguments.push_back(std::move(slot));
    }
    found.before.push_back(scalars);
    if (reverse) {
        const std::vector<uint64_t> bits = derive::reverse(call);
        scalars.clear();
        for (const derive::ArgumentSlot& slot : call.arguments)
            if (slot.activity == Activity::active) scalars.push_back(real_of(slot.value.type, bits[scalars.size()]));
    } else {
        derive::forward(call);
    }
    for (const auto& shadow : shadows) found.after.push_back(floats_of(*shadow));
    found.after.push_back(scalars);
    return found;
}

/// The floats of all arrays after the kernel, where the inputs were moved along the tangents by a step.
Numbers moved(const fuzz::Program& program, const KernelBase& kernel, const Device& device, const Numbers& tangents,
              double step) {
    const fuzz::Bench bench(program, device);
    std::vector<detail::HostArgument> arguments = bench.arguments();
    size_t array = 0, scalar = 0;
    for (detail::HostArgument& a : arguments) {
        if (!is_differentiated(a)) continue;
        if (!a.is_array) {
            a.bits = real_bits(a.type, real_of(a.type, a.bits) + step * tangents.back()[scalar++]);
            continue;
        }
        std::vector<double> values = floats_of(*a.array);
        for (size_t i = 0; i < values.size(); ++i) values[i] += step * tangents[array][i];
        set_floats(*a.array, values);
        ++array;
    }
    kernel.launch(fuzz::Bench::range_of(program.shape), arguments);
    Numbers found;
    for (const detail::HostArgument& a : arguments)
        if (a.is_array && is_differentiated(a)) found.push_back(floats_of(*a.array));
    return found;
}

/// Compares central differences of each float, with two steps, with forward mode. A float is skipped if the two steps
/// disagree, or if the differences to either side do, as at a tie of a maximum.
std::string differs_from_differences(const fuzz::Program& program, const KernelBase& kernel, const Swept& forward) {
    const Device interp = Device::open("interp");
    const double step = 0x1p-8;
    const auto at = [&](double by) { return moved(program, kernel, interp, forward.before, by); };
    const Numbers far[] = {at(-step), at(step)}, near[] = {at(-step / 2), at(step / 2)}, here = at(0);
    for (size_t a = 0; a < far[0].size(); ++a)
        for (size_t i = 0; i < far[0][a].size(); ++i) {
            const double one = (far[1][a][i] - far[0][a][i]) / (2 * step), two = (near[1][a][i] - near[0][a][i]) / step,
                         is = forward.after[a][i];
            const double size = 1 + std::abs(two);
            if (!(std::abs(one - two) <= 0.01 * size) || std::abs(near[0][a][i]) > 1e3) continue;
            if (!(std::abs(near[0][a][i] + near[1][a][i] - 2 * here[a][i]) <= 0.05 * size * step)) continue;
            if (std::abs(is - two) > 0.1 * size)
                return text("number ", i, " of array ", a, " has the tangent ", is, ", and by differences ", two);
        }
    return "";
}

/// <seeds, J t> and <J' seeds, t>, and the magnitude of their terms.
struct Products {
    double forwards = 0, backwards = 0, scale = 0;
};
Products products(const Swept& forward, const Swept& reverse) {
    Products p;
    const auto add = [&](double& sum, double x, double y) { sum += x * y, p.scale += std::abs(x * y); };
    for (size_t a = 0; a + 1 < forward.before.size(); ++a)
        for (size_t i = 0; i < forward.before[a].size(); ++i) {
            add(p.forwards, reverse.before[a][i], forward.after[a][i]);
            add(p.backwards, reverse.after[a][i], forward.before[a][i]);
        }
    for (size_t i = 0; i < forward.before.back().size(); ++i) add(p.backwards, reverse.after.back()[i], forward.before.back()[i]);
    return p;
}

constexpr double much = 1e6;  ///< where derivatives are larger, rounding is, too

bool near(double got, double want, double spread) { return std::abs(got - want) <= 100 * spread + 2e-4 * (1 + std::abs(want)); }

/// The failure of a program, or none.
std::string fault(const fuzz::Program& given, int& compared) {
    const auto program = std::make_shared<const fuzz::Program>(given);
    const fuzz::RandomKernel kernel(program);
    const Device interp = Device::open("interp"), device = suite::device();
    Swept want[2], got[2], shaken[2];
    for (const bool reverse : {false, true}) {
        try {
            want[reverse] = sweep(*program, kernel, interp, reverse, 17 + reverse);
        } catch (const Error& error) {
            // An operation without a derivative is refused by an error.
            const std::string message = error.what();
            for (const char* said : {"which has no derivative", "which has no reverse rule", "and has no derivative"})
                if (message.find(said) != message.npos) return "";
            return text("the interpreter refuses it: ", message);
        }
        shaken[reverse] = sweep(*program, fuzz::RandomKernel(program, false, 1), interp, reverse, 17 + reverse);
        try {
            got[reverse] = sweep(*program, kernel, device, reverse, 17 + reverse);
        } catch (const Error& error) { return text("the device refuses it: ", error.what()); }
    }
    // A program whose results change much by rounding is skipped.
    bool steady = true;
    double spread = 0;
    for (const bool reverse : {false, true})
        for (size_t a = 0; a < want[reverse].after.size(); ++a)
            for (size_t i = 0; i < want[reverse].after[a].size(); ++i) {
                const double w = want[reverse].after[a][i], s = std::abs(w - shaken[reverse].after[a][i]);
                steady = steady && std::abs(w) < much && s <= 1e-3 * (1 + std::abs(w));
                spread = std::max(spread, s);
            }
    if (!steady) return "";
    ++compared;
    if (const std::string found = differs_from_differences(*program, kernel, want[false]); !found.empty()) return found;
    for (const bool on_device : {false, true}) {
        const Products p = on_device ? products(got[0], got[1]) : products(want[0], want[1]);
        if (std::abs(p.forwards - p.backwards) > (1e-4 + 100 * spread) * (1 + p.scale))
            return text("forward mode gives ", p.forwards, ", and reverse mode ", p.backwards,
                        on_device ? " on the device" : " on the interpreter");
    }
    for (const bool reverse : {false, true})
        for (size_t a = 0; a < want[reverse].after.size(); ++a)
            for (size_t i = 0; i < want[reverse].after[a].size(); ++i)
                if (const double g = got[reverse].after[a][i], w = want[reverse].after[a][i]; !near(g, w, spread))
                    return text("number ", i, " of shadow ", a, " is ", g, " after ", reverse ? "reverse" : "forward",
                                " mode, and the interpreter's ", w);
    return "";
}

TEST(AutodiffFuzz, ProgramsThroughTheLanguage) {
    fuzz::Options options = fuzz::options_for(suite::device());
    options.only_smooth = true;
    std::erase_if(options.scalars, is_narrow_float);  // central differences need more digits
    // Only one launch is differentiated. Known failures of programs are left out here, too.
    for (const fuzz::Part part : {fuzz::Part::twins, fuzz::Part::calls, fuzz::Part::call_reads, fuzz::Part::equal_stores,
                                  fuzz::Part::local_sizes, fuzz::Part::climbs, fuzz::Part::bitcasts})
        options.leave_out(part);
    int compared = 0, seeds = 0;
    const bool compiles = suite::device().name() != "interp";
    fuzz::each_seed(compiles ? 16 : 120, [&](uint64_t seed) {
        ++seeds;
        const fuzz::Program program = fuzz::random_program(seed, options);
        if (std::getenv("PUMICE_FUZZ_TRACE")) std::cerr << "seed " << seed << std::endl;
        const std::string found = fault(program, compared);
        if (!found.empty()) ADD_FAILURE() << "PUMICE_FUZZ_SEED=" << seed << ": " << found << "\n" << fuzz::told(program);
    });
    std::cout << compared << " of " << seeds << " programs are differentiable, and steady under rounding" << std::endl;
    EXPECT_GE(compared, seeds / 5);
}

}  // namespace
