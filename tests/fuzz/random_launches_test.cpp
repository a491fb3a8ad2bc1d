// Random launches: a few launches that come again and again with other scalars, among uploads, copies, slices and arrays that are
// freed and made anew, beside the same steps on the host. A launch like an earlier one skips checks and preparations.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <random>
#include <thread>

#include "tests/fuzz/seeds.h"
#include "tests/kept_device.h"

using namespace pumice;

namespace {

constexpr int width = 8;  // of an array that is seen as a table

const auto add_scaled = kernel("add_scaled", [](InOut<int> y, In<int> x, Val<int> a) {
    auto i = global_index();
    y[i] += a * x[i];
});
const auto neighbours = kernel("neighbours", [](Out<int> y, In<int> x, Val<int> a) {
    auto i = global_index();
    Var sum = x[i] * a;
    $if(i > 0) { sum += x[i - 1]; };
    $if(i + 1 < x.size()) { sum -= x[i + 1]; };
    y[i] = sum;
});
const auto add_up = kernel("add_up", [](InOut<int> y, In<int> x, Val<int> a) { atomic_add(y[0], a * x[global_index()]); });
const auto wait_long = kernel("wait_long", [](InOut<int> y, Val<int> a) {
    auto i = global_index();
    Var value = y[i];
    $for(k, range(1'000)) { value = value * a + cast<int>(k); }
    y[i] = value;
});
const auto table = kernel("table", [](InOut<int, 2> y, In<int, 2> x, Val<int> a) {
    auto [i, j] = global_index<2>();
    y(i, j) = y(i, j) * 3 + a * x(i, j) + y.size(0);
});

/// Elements on the device and on the host.
struct Numbers {
    Array<int> there;
    std::vector<int> here;
};

int wrapped(uint32_t v) { return int(v); }

/// A launch that comes again: on elements [y_at, y_at + n) of one array and [x_at, x_at + n) of another one.
struct Repeated {
    int kind;
    size_t y, x;
    int y_at, x_at, n;
    int start, end;  ///< the range
    int group;       ///< 0: chosen by the device
    int stream;      ///< -1: the default one

    void launch(const std::vector<Numbers>& all, const std::vector<Stream>& streams, int a) const {
        const Array<int> to = all[y].there.slice(y_at, y_at + n), from = all[x].there.slice(x_at, x_at + n);
        auto items = ndrange({start}, {end});
        if (group) items = items.group(group);
        if (stream >= 0) items = items.on(streams[size_t(stream)]);
        if (kind == 0) add_scaled(items, to, from, a);
        if (kind == 1) neighbours(items, to, from, a);
        if (kind == 2) add_up(items, to, from, a);
        if (kind == 3) wait_long(items, to, a);
        if (kind != 4) return;
        const auto rows = ndrange({start / width, 0}, {end / width, width});
        table(stream >= 0 ? rows.on(streams[size_t(stream)]) : rows, to.reshape({n / width, width}),
              from.reshape({n / width, width}), a);
    }

    void on_host(std::vector<Numbers>& all, int a) const {
        int* const to = all[y].here.data() + y_at;
        const std::vector<int> from(all[x].here.begin() + x_at, all[x].here.begin() + x_at + n);
        const uint32_t by = uint32_t(a);
        const auto at = [&](int i) { return uint32_t(from[size_t(i)]); };
        if (kind == 4)
            for (int i = start / width * width; i < end / width * width; ++i)
                to[i] = wrapped(uint32_t(to[i]) * 3u + by * at(i) + uint32_t(n / width));
        for (int i = start; i < end && kind < 4; ++i) {
            if (kind == 0) to[i] = wrapped(uint32_t(to[i]) + by * at(i));
            if (kind == 1) to[i] = wrapped(at(i) * by + (i > 0 ? at(i - 1) : 0u) - (i + 1 < n ? at(i + 1) : 0u));
            if (kind == 2) to[0] = wrapped(uint32_t(to[0]) + by * at(i));
            for (uint32_t k = 0; k < 1'000 && kind == 3; ++k) to[i] = wrapped(uint32_t(to[i]) * by + k);
        }
    }
};

/// Steps of one thread on arrays of its own.
void take_steps(const Device& device, uint64_t seed, int steps) {
    std::mt19937_64 random(seed * 104'729);
    const auto roll = [&](int n) { return int(random() % uint64_t(n)); };
    const int n = width * (2 + roll(roll(2) ? 8 : 200));
    std::vector<Numbers> all(5);
    const auto renew = [&](Numbers& numbers) {
        for (int& v : numbers.here) v = roll(2001) - 1000;
        numbers.there = device.upload(numbers.here);
    };
    for (Numbers& numbers : all) numbers.here.resize(size_t(n)), renew(numbers);
    const std::vector<Stream> streams{device.stream(), device.stream()};
    std::vector<Repeated> launches;
    for (int k = 0; k < 6; ++k) {
        Repeated r{roll(5), size_t(roll(5)), 0, 0, 0, n, 0, 0, roll(3) ? 0 : 1 << roll(7), roll(3) ? -1 : roll(2)};
        r.x = (r.y + 1 + size_t(roll(4))) % 5;
        if (roll(2)) {  // slices, which begin at a multiple of 16 bytes or not
            r.n = width * (1 + roll(n / width));
            r.y_at = roll(n - r.n + 1), r.x_at = roll(n - r.n + 1);
            if (roll(2) && r.n <= n / 2) r.x = r.y, r.y_at = 0, r.x_at = r.n;  // of one array
        }
        r.start = roll(3) ? 0 : roll(r.n + 1);
        r.end = roll(3) ? r.n : r.start + roll(r.n - r.start + 1);
        r.group = int(std::min<int64_t>(r.group, device.limits().max_group_size));
        launches.push_back(r);
    }
    std::vector<Array<int>> kept;  // handles of arrays that have been replaced
    int last_stream = 0;           // only events order the work of streams that are not the default one
    for (int step = 0; step < steps; ++step) {
        const int what = roll(20);
        Numbers& some = all[size_t(roll(5))];
        if (what == 0) renew(some);
        if (what == 1) kept.push_back(some.there), renew(some);
        if (what == 2) kept.clear();
        if (what == 3) some.there.copy_from(some.here);
        if (what == 4) { ASSERT_EQ(some.there.download(), some.here) << "seed " << seed << ", step " << step; }
        if (what == 5) {
            Numbers& other = all[size_t(roll(5))];
            if (&other != &some) some.there.copy_from(other.there), some.here = other.here;
        }
        if (what == 6) device.synchronize();
        if (what == 7) std::swap(some, all[0]);
        if (what < 8) continue;
        const Repeated& r = launches[size_t(roll(int(launches.size())))];
        if (r.stream >= 0 && r.stream != last_stream) {
            streams[size_t(r.stream)].wait_for(streams[size_t(last_stream)].record());
            last_stream = r.stream;
        }
        for (int times = 1 + roll(4); times > 0; --times) {
            const int a = roll(9) - 4;
            r.launch(all, streams, a);
            r.on_host(all, a);
        }
    }
    for (const Numbers& numbers : all) ASSERT_EQ(numbers.there.download(), numbers.here) << "seed " << seed;
}

TEST(RandomLaunches, DoWhatTheHostDoes) {
    const Device device = kept_device->get();
    fuzz::each_seed(60, [&](uint64_t seed) { take_steps(device, seed, 150); });
}

TEST(RandomLaunches, OfSeveralThreadsDoWhatTheHostDoes) {
    const Device device = kept_device->get();
    fuzz::each_seed(12, [&](uint64_t seed) {
        std::vector<std::thread> threads;
        for (uint64_t t = 0; t < 3; ++t) threads.emplace_back([&, t] { take_steps(device, 1'000 * (t + 1) + seed, 60); });
        for (std::thread& thread : threads) thread.join();
    });
}

}  // namespace
