// Random kernels over ranges of one to three dimensions, whole or with offsets, in groups of any shape. They load neighbours by
// indices that are clamped, periodic, wrapped in narrow types, mirrored, doubled or halved. They store in place, mirrored,
// transposed, under branches and after loops that end early. The device and the interpreter must agree bit for bit. A failure
// prints its seed and the kernel. Every third range without an offset is indirect on the device under test.
#include <pumice/pumice.h>

#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "tests/fuzz/random_indices.h"
#include "tests/fuzz/seeds.h"
#include "tests/kept_device.h"

using namespace pumice;
using fuzz::at, fuzz::each_dimension, fuzz::own_index;

namespace {

template <class T, int R> class Case {
public:
    using Index = fuzz::Index<R>;

    explicit Case(uint64_t seed) : random(seed * 1315423911u + 7), seed(seed) {
        choose_shape();
        how = random();
        kernel.emplace(
            pumice::kernel(text("ranges_", seed), Math::strict,
                           [this](Out<T, R> y, Out<T, R> z, InOut<T, R> own, In<T, R> a, In<T, R> b, InOut<int, R> count,
                                  Val<int> times, In<int>) { record(y, z, own, a, b, count, times); }));
    }

    void check() {
        const auto want = run(Device::open("interp"), false), got = run(kept_device->get(), seed % 3 == 0);
        for (size_t n = 0; n < want.size(); ++n)
            for (size_t i = 0; i < want[n].size(); ++i)
                if (want[n][i] != got[n][i]) {
                    ADD_FAILURE() << "PUMICE_FUZZ_SEED=" << seed << " on " << kept_device->get().name() << ": element " << i
                                  << " of array " << n << " is " << got[n][i] << ", and the interpreter's " << want[n][i] << "\n"
                                  << kernel->ir();
                    return;
                }
    }

private:
    uint64_t roll(uint64_t n) { return random() % n; }

    void choose_shape() {
        extents.fill(1);
        if (R == 1) extents[0] = 16384 + int(roll(3000));
        if (R == 2) {
            extents = {40 + int(roll(60)), 128 + int(roll(150))};
            if (roll(4) == 0) extents = {3 + int(roll(3)), 2000 + int(roll(2000))};
            if (roll(3) == 0) extents[0] = extents[1] = 96 + 16 * int(roll(3));
        }
        if (R == 3) extents = {4 + int(roll(6)), 4 + int(roll(8)), 100 + int(roll(80))};
        const bool whole = roll(2);
        for (size_t d = 0; d < R; ++d) {
            from[d] = whole ? 0 : int(roll(uint64_t(std::min(extents[d] / 3 + 1, 9))));
            to[d] = extents[d] - (whole ? 0 : int(roll(uint64_t(std::min(extents[d] / 4 + 1, 7)))));
        }
        const int last[] = {1, 4, 16, 64, 48, 20};
        for (size_t d = 0; d < R; ++d) group[d] = d == R - 1 ? last[roll(6)] : 1 + 3 * int64_t(roll(2));
        if (std::accumulate(group.begin(), group.begin() + R, int64_t(1), std::multiplies<>()) >
            kept_device->get().limits().max_group_size)
            group.fill(1);
        offsets64 = roll(4) == 0;
        shares = roll(4) == 0;
        grouped = shares || roll(3) == 0;
    }

    /// An index near the item's own. In about half of the dimensions it is the item's own index.
    Index near(const Index& own) {
        const uint64_t way = roll(17);
        return each_dimension<R>([&](size_t d) -> Val<int> {
            const Val<int> i = own[d];
            const int n = extents[d], off = roll(2) ? 0 : int(roll(5)) - 2;
            if (counter && roll(3) != 0) return moved(i, n);
            switch (way) {
                case 4: return (i + (off + n)) % n;
                case 5: return clamp(n - 1 - i + off, 0, n - 1);
                case 6: return select(i + off < n && i + off >= 0, i + off, i);
                case 7: return cast<int>((cast<uint32_t>(i) + uint32_t(off)) % uint32_t(n));
                case 8: return min(i * 2, n - 1);
                case 9: return i / 2;
                case 10: return off < 0 ? max(i + off, 0) : min(i + off, n - 1);
                case 11: return select(i == 0, Val<int>(n - 1), i - 1);
                case 12: return select(i == n - 1, Val<int>(0), i + 1);
                case 14: return min(i ^ (1 << roll(6)), n - 1);
                case 15: return min((i & ~7) + ((i + off) & 7), n - 1);
                case 16: return min(i / 16 + i % 16, n - 1);
                case 13: return n >= 8 ? select(i >= n - 4, i - 4, i + 4) : i;
                default: return clamp(i + off, 0, n - 1);
            }
        });
    }

    /// An index that moves with the counter of the loop, as that of a filter.
    Val<int> moved(Val<int> i, int n) {
        constexpr int factors[] = {1, 1, -1, 2, 3};
        const Val<int> m = i + factors[roll(5)] * *counter + (int(roll(12)) - 8);
        switch (roll(4)) {
            case 0: return clamp(m, 0, n - 1);
            case 1: return select(m < 0, Val<int>(0), min(m, n - 1));
            case 2: return clamp(n - 1 - m, 0, n - 1);
            default: return max(min(n - 1, m), 0);
        }
    }

    /// Whole numbers below 64, which all types hold exactly.
    static Val<T> tamed(Val<T> v) {
        if constexpr (std::is_floating_point_v<T>)
            return v - T(64) * floor(v * T(0.015625));
        else
            return v & T(63);
    }

    void record(const Out<T, R>& y, const Out<T, R>& z, const InOut<T, R>& own, const In<T, R>& a, const In<T, R>& b,
                const InOut<int, R>& count, Val<int> times) {
        random.seed(how);
        const Index p = [&] {
            if constexpr (R == 1)
                if (roll(3) == 0) return Index{group_index() * group_size() + local_index() + from[0]};
            return own_index<R>();
        }();
        const auto load = [&]() -> Val<T> { return at(roll(2) ? a : b, near(p)); };
        const auto term = [&](uint64_t most) {
            Var<T> v = load();
            for (uint64_t n = 1 + roll(most); n > 0; --n) {
                const Val<T> w = load();
                switch (roll(5)) {
                    case 0: v = v + w; break;
                    case 1: v = v * w; break;
                    case 2: v = v - w; break;
                    case 3: v = select(v < w, v + w, w); break;
                    default: v = max(v, w); break;
                }
                v = tamed(v);
            }
            return Val<T>(v);
        };
        Var<T> sum = term(4);
        Var<int> seen = 0;
        const uint64_t body = roll(6);
        switch (body) {
            case 0: $if(sum > T(20)) { sum = term(2);
                }
                $else { sum = sum + T(1); }
                break;
            case 1: {
                const bool down = roll(3) == 0;
                $for(k, down ? range(times, -2, -1) : range(0, times, roll(4) == 0 ? 2 : 1)) {
                    counter = &k;
                    sum = tamed(sum + load() + cast<T>(k) + load());
                    counter = nullptr;
                }
                break;
            }
            case 2:
                $for(k, range(cast<int>(sum) & 7)) {
                    sum = tamed(sum + term(2));
                    seen += k;
                    $if(sum > T(50)) { $break; }
                }
                break;
            case 3:
                if (!shares) {
                    $if(sum == T(13)) { $return; }
                }
                break;
            case 4: {
                Private<T, 4> kept;
                for (int n = 0; n < 4; ++n) kept[n] = load();
                sum = sum + kept[cast<int>(sum) & 3];
                break;
            }
            default: break;
        }
        if (shares) {
            Local<T> all(group_size_linear());
            all[local_index_linear()] = sum;
            synchronize();
            sum = sum + all[local_index_linear()];
        }
        sum = tamed(sum);
        if (R == 2 && roll(4) == 0) {
            // All items of a row read what none of them writes, from an array that they write.
            const int column = extents[1] / 2;
            const Index pivot = each_dimension<R>([&](size_t d) -> Val<int> { return d == R - 1 ? Val<int>(column) : p[d]; });
            sum = tamed(sum + at(own, pivot));
            $if(p[R - 1] != column) { at(own, p) = tamed(at(own, p) + sum); }
        } else if (roll(2)) {
            const Val<T> old = at(own, p);
            at(own, p) = tamed(old + sum);
        }
        // An element of this item alone: its own, the mirrored one along the last axis, or the transposed one.
        const bool mirrored = roll(4) == 0;
        const bool transposed = R == 2 && extents[0] == extents[1] && from[0] == from[1] && to[0] == to[1] && roll(2);
        const Index to_write = each_dimension<R>([&](size_t d) -> Val<int> {
            const size_t s = transposed ? 1 - d : d;
            return mirrored && s == R - 1 ? from[s] + to[s] - 1 - p[s] : p[s];
        });
        if (roll(4) == 0) {
            $if(sum > T(10)) { at(y, to_write) = sum; }
        } else
            at(y, to_write) = sum;
        if (roll(2)) at(z, to_write) = tamed(sum + load());
        if (roll(2)) at(count, p) += cast<int>(sum) + seen;
    }

    std::vector<std::vector<double>> run(const Device& device, bool indirectly) {
        std::array<int64_t, size_t(R)> shape;
        std::copy_n(extents.begin(), R, shape.begin());
        const auto filled = [&]<class U>(int s, U) {
            Array<U, R> array(device, shape, false);
            std::vector<U> host(size_t(array.count()));
            for (size_t i = 0; i < host.size(); ++i) host[i] = U((i * 7 + size_t(s) * 13 + i / size_t(shape[R - 1])) % 31);
            array.copy_from(host);
            return array;
        };
        const auto y = filled(1, T()), z = filled(2, T()), own = filled(3, T()), a = filled(4, T()), b = filled(5, T());
        const auto count = filled(6, int());
        Range range;
        range.rank = R;
        std::copy_n(from.begin(), R, range.from.begin());
        std::copy_n(to.begin(), R, range.to.begin());
        if (grouped)
            range = [&]<size_t... D>(std::index_sequence<D...>) {
                return range.group(group[D]...);
            }(std::make_index_sequence<R>());
        if (indirectly && from == std::array<int, 3>{}) {
            range.counts = {true, true, false, device.upload(std::vector<int>(to.begin(), to.begin() + R)).state};
            for (size_t d = 0; d < R; ++d) range.to[d] += int64_t(seed % 5) * 3;
        }
        // The device cpu uses wide offsets where an array has 2^31 elements; nothing touches them here.
        const bool far = offsets64 && device.name().starts_with("cpu") && device.limits().memory > int64_t(16) << 30;
        (*kernel)(range, y, z, own, a, b, count, 5, device.empty<int>(far ? int64_t(1) << 31 : 1));
        std::vector<std::vector<double>> all;
        for (const auto& array : {y, z, own}) {
            const std::vector<T> v = array.download();
            all.emplace_back(v.begin(), v.end());
        }
        const std::vector<int> v = count.download();
        all.emplace_back(v.begin(), v.end());
        return all;
    }

    const Val<int>* counter = nullptr;  ///< of the loop that is being recorded
    std::mt19937_64 random;
    const uint64_t seed;
    std::array<int, 3> extents, from{}, to{};
    std::array<int64_t, 3> group{};
    bool grouped = false, shares = false, offsets64 = false;
    uint64_t how = 0;
    std::optional<Kernel<Out<T, R>, Out<T, R>, InOut<T, R>, In<T, R>, In<T, R>, InOut<int, R>, Val<int>, In<int>>> kernel;
};

template <class T> void check_rank(uint64_t seed) {
    switch (seed / 3 % 3) {
        case 0: return Case<T, 1>(seed).check();
        case 1: return Case<T, 2>(seed).check();
        default: return Case<T, 3>(seed).check();
    }
}

TEST(Fuzz, RangesAgreeWithTheInterpreter) {
    const Device device = kept_device->get();
    fuzz::each_seed(30, [&](uint64_t seed) {
        if (seed % 3 == 1 && device.supports(Feature::int8)) return check_rank<uint8_t>(seed);
        if (seed % 3 == 2 && device.supports(Feature::float64)) return check_rank<double>(seed);
        check_rank<float>(seed);
    });
}

}  // namespace
