// Kernels of doubles as text, differentiated and run on the reference interpreter: forward against central differences, reverse
// against forward.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "autodiff/analysis/transform.h"
#include "core/interp/interp_test.h"

namespace pumice::derive::test {

using interp_test::DeviceArray;
using interp_test::Range;

/// An argument of a kernel: an array of doubles or ints, or a scalar.
struct Value {
    bool array = true, real = true, constant = false;
    std::vector<double> numbers;  ///< ints too
    std::vector<int64_t> extents = {};
};
inline Value reals(std::vector<double> v, std::vector<int64_t> extents = {}) {
    return {true, true, false, std::move(v), std::move(extents)};
}
inline Value constant(Value v) {
    v.constant = true;
    return v;
}
inline Value ints(const std::vector<int>& v) { return {true, false, true, {v.begin(), v.end()}, {}}; }
inline Value real(double v) { return {false, true, false, {v}, {}}; }
inline Value whole(int v) { return {false, false, true, {double(v)}, {}}; }
inline Value random_reals(std::mt19937& random, size_t n, double low = -1, double high = 1, std::vector<int64_t> extents = {}) {
    std::vector<double> v(n);
    for (double& x : v) x = std::uniform_real_distribution(low, high)(random);
    return reals(v, std::move(extents));
}
/// The same from one generator for all tests of a program.
inline Value some(size_t n, double low = -1, double high = 1, std::vector<int64_t> extents = {}) {
    static std::mt19937 random(7);
    return random_reals(random, n, low, high, std::move(extents));
}

using Values = std::vector<Value>;

inline Signature signature(const Values& values, bool reverse, int width = 1) {
    Signature s;
    for (const Value& v : values)
        s.params.push_back(v.constant ? Activity::constant : v.array || !reverse ? Activity::duplicated : Activity::active);
    s.width = width;
    return s;
}

/// The arrays of a launch, in the kernel's order.
class Arguments {
public:
    explicit Arguments(Backend& on) : device(on) {}
    void add(const Value& v) {
        if (!v.array) {
            if (v.real)
                list.push_back(interp_test::scalar(v.numbers[0]));
            else
                list.push_back(interp_test::scalar(int32_t(v.numbers[0])));
        } else if (v.real) {
            add_array(v.numbers, v.extents);
        } else {
            add_array(std::vector<int32_t>(v.numbers.begin(), v.numbers.end()), v.extents);
        }
    }
    template <class T> void add_array(const std::vector<T>& data, std::vector<int64_t> extents = {}) {
        auto made = std::make_shared<DeviceArray<T>>(device, data, std::move(extents));
        list.push_back(*made);
        if constexpr (std::is_same_v<T, double>) arrays.push_back(made);
        if constexpr (std::is_same_v<T, int32_t>) integers.push_back(made);
        keep.push_back(made);
    }
    Backend& device;
    std::vector<Launch::Argument> list;
    std::vector<std::shared_ptr<DeviceArray<double>>> arrays;  ///< of doubles
    std::vector<std::shared_ptr<DeviceArray<int32_t>>> integers;
    std::vector<std::shared_ptr<void>> keep;
};

inline int64_t items(const Range& range, bool whole_groups) {
    int64_t n = 1;
    for (size_t d = 0; d < range.extent.size(); ++d) {
        int64_t extent = range.extent[d];
        if (whole_groups) extent = (extent + range.group[d] - 1) / range.group[d] * range.group[d];
        n *= extent;
    }
    return n;
}

class Derivatives {
public:
    Derivatives(const std::string& text, Range where, bool promoted = true)
        : kernel(ir::parse(text)),
          range(std::move(where)),
          device(open_interp(promoted ? InterpMode::prepared : InterpMode::recorded)) {
        EXPECT_EQ(ir::verify(kernel), "");
        if (range.group.empty()) {
            range.group = range.extent;
            for (int64_t& g : range.group) g = std::min<int64_t>(g, range.group.size() == 1 ? 32 : 4);
        }
    }

    /// The contents of the arrays of doubles after the kernel.
    std::vector<std::vector<double>> primal(const Values& values) const {
        Arguments a(*device);
        for (const Value& v : values) a.add(v);
        launch(kernel, a);
        std::vector<std::vector<double>> out;
        for (const auto& array : a.arrays) out.push_back(array->read());
        return out;
    }

    /// Forward mode: from tangents of all differentiated arrays and scalars, in order, to tangents of the arrays.
    std::vector<std::vector<double>> forward(const Values& values, const std::vector<std::vector<double>>& tangents) const {
        Arguments a(*device);
        std::vector<std::shared_ptr<DeviceArray<double>>> shadows;
        size_t next = 0;
        for (const Value& v : values) {
            a.add(v);
            if (v.constant) continue;
            Value t = v;
            t.numbers = tangents[next++];
            a.add(t);
            if (v.array) shadows.push_back(a.arrays.back());
        }
        const ir::Kernel derived = derive::forward(kernel, signature(values, false));
        check(derived);
        launch(derived, a);
        std::vector<std::vector<double>> out;
        for (const auto& s : shadows) out.push_back(s->read());
        return out;
    }

    struct Reverse {
        std::vector<std::vector<double>> primal, adjoints;  ///< arrays after it; adjoints of all that are differentiated
    };
    /// Reverse mode: from adjoints of the arrays after the kernel to adjoints of all differentiated arrays and scalars.
    Reverse reverse(const Values& values, const std::vector<std::vector<std::vector<double>>>& seeds, size_t w = 0) const {
        const Signature s = signature(values, true, int(seeds.size()));
        const Adjoint derived = derive::adjoint(kernel, s);
        check(derived.kernel);
        Sides sides = arguments(values, seeds);
        add_tapes(sides.a, values, derived.tapes, derived.count);
        const int64_t start = range.start.empty() ? 0 : range.start[0];
        pairs = derived.pairwise && derived.pairwise->fits(known(values), start, start + range.extent[0]);
        if (by_pairs && pairs) {
            check(derived.pairwise->kernel);
            launch(derived.pairwise->kernel, sides.a);
            launch(derived.pairwise->zero, sides.a);
        } else if (by_owners && derived.owner_computes) {
            launch_owners(*derived.owner_computes, values, sides.a);
        } else if (const auto& cells = interchanged ? derived.interchanged : derived.loop_partial_sums;
                   in_cells && cells && start == 0) {
            by_cells(*cells, values, sides.a);
        } else {
            sweep(derived.kernel, derived.halo_gather, sides.a);
        }
        owns = bool(derived.owner_computes);
        sums = bool(derived.loop_partial_sums), exchanges = bool(derived.interchanged);
        steps(derived.after, sides.a);
        return sides.read(w);
    }
    /// The same in halves; between them the primal's arrays are overwritten.
    Reverse in_halves(const Values& values, const std::vector<std::vector<std::vector<double>>>& seeds) const {
        const SplitDerivative derived = derive::split(kernel, signature(values, true));
        check(derived.augmented);
        check(derived.reverse);
        Sides sides = arguments(values, seeds);
        add_tapes(sides.a, values, derived.tapes, derived.count);
        launch(derived.augmented, sides.a);
        Reverse result = sides.read(0);
        const auto primal = result.primal;
        for (auto& p : sides.primal) {
            const std::vector<double> spoilt(p->count, 1e30);
            if (p->count) device->write(*p->memory, 0, spoilt.data(), int64_t(spoilt.size() * sizeof(double)));
        }
        sweep(derived.reverse, derived.halo_gather, sides.a);
        steps(derived.after, sides.a);
        result = sides.read(0);
        result.primal = primal;
        return result;
    }

    const ir::Kernel kernel;
    Range range;
    bool widely = false;          ///< run the kernel over a halo-extended range if there is one,
    bool by_rows = false;         ///< and the one for devices that split rows
    mutable bool widens = false;  ///< set if such a kernel ran
    bool by_pairs = false;        ///< run the kernel with pairwise loops if it fits
    mutable bool pairs = false;   ///< set if it ran
    bool by_owners = false;       ///< run the kernels whose items own shadow elements if there are any
    mutable bool owns = false;    ///< set if there were
    bool in_cells = false,
         interchanged = false;  ///< run the kernels for sums of a loop's iterations: in their place; interchanged
    mutable bool sums = false, exchanges = false;  ///< set if such kernels ran

private:
    struct Sides {
        Arguments a;
        std::vector<std::shared_ptr<DeviceArray<double>>> primal;
        std::vector<std::vector<std::shared_ptr<DeviceArray<double>>>> shadows;
        Reverse read(size_t w) const {
            Reverse r;
            for (const auto& p : primal) r.primal.push_back(p->read());
            for (const auto& s : shadows) r.adjoints.push_back(s[w]->read());
            return r;
        }
    };
    Sides arguments(const Values& values, const std::vector<std::vector<std::vector<double>>>& seeds) const {
        Sides sides{Arguments(*device), {}, {}};
        size_t next = 0;
        for (const Value& v : values) {
            sides.a.add(v);
            if (v.array && v.real) sides.primal.push_back(sides.a.arrays.back());
            if (v.constant) continue;
            sides.shadows.emplace_back();
            for (const auto& seed : seeds) {
                sides.a.add_array(v.array ? seed[next] : std::vector<double>{0}, v.extents);
                sides.shadows.back().push_back(sides.a.arrays.back());
            }
            next += v.array;
        }
        return sides;
    }

    static void check(const ir::Kernel& k) {
        ASSERT_EQ(ir::verify(k), "") << ir::print(k);
        const std::string text = ir::print(k);
        ASSERT_EQ(ir::print(ir::parse(text)), text);
    }
    void launch(const ir::Kernel& k, const Arguments& a, int64_t items = 0) const {
        Range r = range;
        if (items > 0) r.extent.assign(r.extent.size(), 1), r.extent.back() = items, r.start.clear();
        interp_test::run(*device, ir::print(k), r, a.list);
    }
    void launch_owners(const OwnerComputesAdjoint& owners, const Values& values, const Arguments& a) const {
        for (const OwnerComputesAdjoint::Owner& owner : owners.owners) {
            check(owner.kernel);
            const auto primal = [&](int axis) {
                const size_t d = range.extent.size() - 1 - size_t(axis);
                const int64_t start = range.start.empty() ? 0 : range.start[d];
                return std::pair(start, start + range.extent[d]);
            };
            Range r;
            r.extent.resize(owner.range.axes.size()), r.start = r.extent, r.group.assign(r.extent.size(), 4);
            for (size_t axis = 0; axis < r.extent.size(); ++axis) {
                const auto [from, to] =
                    owner.range.axes[axis] < 0 ? owner.range.iterations(known(values)) : primal(owner.range.axes[axis]);
                r.start[r.extent.size() - 1 - axis] = from + owner.range.shifts[axis];
                r.extent[r.extent.size() - 1 - axis] = std::max<int64_t>(to - from, 0);
            }
            if (std::ranges::count(r.extent, 0)) continue;
            std::vector<Launch::Argument> list = a.list;
            for (auto axis = owner.range.looped.rbegin(); axis != owner.range.looped.rend(); ++axis)
                for (const int64_t bound : {primal(*axis).first, primal(*axis).second})
                    list.push_back(interp_test::scalar(int32_t(bound)));
            interp_test::run(*device, ir::print(owner.kernel), r, list);
        }
        check(owners.rest);
        launch(owners.rest, a);
    }
    void by_cells(const LoopPartialSumsAdjoint& cells, const Values& values, Arguments& a) const {
        const int64_t n = items(range, kernel.whole_groups), iterations = cells.iterations(known(values));
        const auto run = [&](const ir::Kernel& k, const Range& over) {
            check(k);
            interp_test::run(*device, ir::print(k), over, a.list);
        };
        a.add_array(std::vector<double>(size_t(cells.count * iterations), 0.0));
        if (cells.interchanged) a.add_array(std::vector<double>(size_t(cells.passed_values * n), 1e30));
        run(cells.kernel, range);
        if (iterations == 0) return;
        if (cells.interchanged) run(*cells.interchanged, {{3, iterations}, {1, 4}});
        run(cells.total, {{iterations}, {4}});
    }
    void sweep(const ir::Kernel& k, const Lazy<HaloGather>& halo_gather, const Arguments& a) const {
        widens = bool(halo_gather);
        if (!widely || !halo_gather) return launch(k, a);
        const ir::Kernel& kernel = by_rows && halo_gather->by_rows ? *halo_gather->by_rows : halo_gather->kernel;
        check(kernel);
        Range r = range;
        r.start.resize(r.extent.size());
        for (size_t d = 0, axis = r.extent.size(); d < r.extent.size(); ++d) {
            --axis;
            r.start[d] -= halo_gather->before[axis];
            r.extent[d] += halo_gather->before[axis] + halo_gather->after[axis];
        }
        interp_test::run(*device, ir::print(kernel), r, a.list);
    }
    void steps(const std::vector<FollowUpKernel>& all, const Arguments& a) const {
        for (const FollowUpKernel& step : all) launch(step.kernel, a, step.items);
    }
    void add_tapes(Arguments& a, const Values& values, const std::vector<TapeParameter>& tapes,
                   const std::optional<CountKernel>& count) const {
        const int64_t n = items(range, kernel.whole_groups);
        std::vector<std::vector<int32_t>> counts;
        if (count) {
            Arguments c(*device);
            for (const Value& v : values) c.add(v);
            const size_t before = c.integers.size();
            for (const TapeParameter& t : tapes)
                if (t.size == TapeParameter::Sizing::offsets) c.add_array(std::vector<int32_t>(size_t(n), 0));
            check(count->kernel);
            launch(count->kernel, c);
            for (size_t t = before; t < c.integers.size(); ++t) counts.push_back(c.integers[t]->read());
        }
        size_t next = 0;
        for (const TapeParameter& t : tapes) {
            int64_t size = t.count + (t.more ? t.more(known(values)) : 0);
            if (t.size == TapeParameter::Sizing::item) size *= n;
            if (t.size == TapeParameter::Sizing::counted) size = total;
            if (t.size == TapeParameter::Sizing::offsets) {
                std::vector<int32_t> offsets;
                total = 0;
                for (const int32_t c : counts[next]) offsets.push_back(int32_t(total)), total += c;
                ++next;
                a.add_array(offsets);
            } else if (t.type == Scalar::i32) {
                a.add_array(std::vector<int32_t>(size_t(size), t.zeroed ? 0 : -1));
            } else {
                a.add_array(std::vector<double>(size_t(size), t.zeroed ? 0 : 1e30));
            }
        }
    }

    static HostValues known(const Values& values) {
        HostValues of;
        of.scalar = [&values](size_t p) {
            return values[p].real ? std::bit_cast<uint64_t>(values[p].numbers[0])
                                  : uint64_t(uint32_t(int32_t(values[p].numbers[0])));
        };
        of.extent = [&values](size_t p, int axis) {
            return values[p].extents.empty() ? int64_t(values[p].numbers.size())
                                             : values[p].extents[values[p].extents.size() - 1 - size_t(axis)];
        };
        return of;
    }

    std::shared_ptr<Backend> device;
    mutable int64_t total = 0;
};

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

/// Forward mode against central differences, reverse mode (whole, in halves, in a batch) against forward mode.
inline void check_derivatives(const std::string& text, const Values& values, const Range& range, uint32_t seed = 1,
                              double tolerance = 1e-6, bool halves = true) {
    SCOPED_TRACE(text);
    Derivatives d(text, range);
    std::mt19937 random(seed);
    std::vector<std::vector<double>> tangents, seeds, others;
    for (const Value& v : values) {
        if (v.constant) continue;
        tangents.push_back(random_reals(random, v.numbers.size()).numbers);
        if (!v.array) continue;
        seeds.push_back(random_reals(random, v.numbers.size()).numbers);
        others.push_back(random_reals(random, v.numbers.size()).numbers);
    }
    const auto primal = d.primal(values);
    const auto forward = d.forward(values, tangents);
    if (::testing::Test::HasFatalFailure()) return;
    const double h = 1e-6;
    Values up = values, down = values;
    size_t next = 0;
    for (size_t v = 0; v < values.size(); ++v) {
        if (values[v].constant) continue;
        for (size_t i = 0; i < values[v].numbers.size(); ++i) {
            up[v].numbers[i] += h * tangents[next][i];
            down[v].numbers[i] -= h * tangents[next][i];
        }
        ++next;
    }
    const auto above = d.primal(up), below = d.primal(down);
    size_t array = 0, shadow = 0;
    double want = 0, got = 0, scale = 1e-30;
    for (const Value& v : values) {
        if (!v.array || !v.real) continue;
        if (!v.constant) {
            for (size_t i = 0; i < v.numbers.size(); ++i) {
                const double difference = (above[array][i] - below[array][i]) / (2 * h);
                EXPECT_NEAR(forward[shadow][i], difference,
                            tolerance * std::max({1.0, std::fabs(difference), std::fabs(primal[array][i])}))
                    << "tangent " << i << " of array " << shadow;
            }
            ++shadow;
        }
        ++array;
    }
    for (size_t s = 0; s < forward.size(); ++s) want += dot(seeds[s], forward[s]);
    const auto compare = [&](const Derivatives::Reverse& r, double wanted, const char* how) {
        got = 0, scale = 1e-3;
        size_t n = 0;
        for (size_t s = 0; s < r.adjoints.size(); ++s) {
            got += dot(r.adjoints[s], tangents[s]);
            for (size_t i = 0; i < r.adjoints[s].size(); ++i) scale += std::fabs(r.adjoints[s][i] * tangents[s][i]);
        }
        EXPECT_NEAR(got, wanted, 1e-11 * scale + 1e-12 * std::fabs(wanted)) << "dot products, " << how;
        for (size_t p = 0; p < primal.size(); ++p)
            for (size_t i = 0; i < primal[p].size(); ++i)
                n += !(std::fabs(primal[p][i] - r.primal[p][i]) <= 1e-12 * std::fabs(primal[p][i]));
        EXPECT_EQ(n, 0u) << "the primal ran, " << how;
    };
    compare(d.reverse(values, {seeds}), want, "reverse");
    if (halves) compare(d.in_halves(values, {seeds}), want, "in halves");
    double want_other = 0;
    for (size_t s = 0; s < forward.size(); ++s) want_other += dot(others[s], forward[s]);
    compare(d.reverse(values, {seeds, others}, 1), want_other, "second of a batch");
    if (d.pairs) {
        d.by_pairs = true;
        compare(d.reverse(values, {seeds}), want, "each item taking what all others add");
        compare(d.reverse(values, {seeds, others}, 1), want_other, "second of a batch, each item taking what all others add");
    }
    if (d.owns) {
        d.by_owners = true;
        compare(d.reverse(values, {seeds}), want, "by owners");
        compare(d.reverse(values, {seeds, others}, 1), want_other, "second of a batch, by owners");
        d.by_owners = false;
    }
    d.in_cells = true;
    for (const bool interchanged : {false, true}) {
        if (!(interchanged ? d.exchanges : d.sums)) continue;
        d.interchanged = interchanged;
        compare(d.reverse(values, {seeds}), want, interchanged ? "by sums of exchanged iterations" : "by sums of iterations");
        compare(d.reverse(values, {seeds, others}, 1), want_other, "second of a batch, by sums of iterations");
    }
    if (!d.widens) return;
    d.widely = true;
    for (const bool by_rows : {false, true}) {
        d.by_rows = by_rows;
        compare(d.reverse(values, {seeds, others}, 1), want_other, "second of a batch, over a wider range");
        if (halves) compare(d.in_halves(values, {seeds}), want, "in halves, over a wider range");
    }
}

}  // namespace pumice::derive::test
