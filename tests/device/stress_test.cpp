// Many launches on several streams and from several threads, against a sequential oracle.
// Each launch mixes its arrays in a way that shows a wrong order.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <thread>

#include "tests/device/suite.h"
#include "tests/sanitized.h"

using namespace pumice;
using suite::device;

namespace {

#ifdef PUMICE_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

int64_t resident() {
    std::ifstream statm("/proc/self/statm");
    int64_t total = 0, pages = 0;
    statm >> total >> pages;
    return pages * sysconf(_SC_PAGESIZE);
}

constexpr int arrays = 8, items = 16;

// Not commutative: any order but the right one gives other results.
const auto mix = kernel("mix", [](InOut<uint32_t> a, In<uint32_t> b, Val<uint32_t> k) {
    auto i = global_index();
    a[i] = a[i] * 1664525u + (b[i] ^ k);
});

const auto read_only = kernel("read_only", [](Out<uint32_t> a, In<uint32_t> b) { a[global_index()] = b[global_index()]; });

struct Oracle {
    std::vector<std::vector<uint32_t>> state = std::vector<std::vector<uint32_t>>(arrays, std::vector<uint32_t>(items, 1));
    void mix(size_t a, size_t b, uint32_t k) {
        for (size_t i = 0; i < items; ++i) state[a][i] = state[a][i] * 1664525u + (state[b][i] ^ k);
    }
};

/// Three streams. An array belongs to the stream that used it last; another stream waits for an event of that stream first. Reads
/// on several streams are ordered against the next write in the same way.
TEST(Stress, ThreeStreamsWithRandomDependencies) {
    const Device d = device();
    const int launches = sanitized ? 5'000 : 100'000;
    std::mt19937 random(7);
    const Stream streams[] = {d.stream(Priority::high), d.stream(), d.stream(Priority::low)};
    std::vector<Array<uint32_t>> on_device;
    for (int i = 0; i < arrays; ++i) on_device.push_back(d.full<uint32_t>(items, 1u));
    d.synchronize();
    Oracle oracle;
    std::vector<Event> writer(arrays);                  // the last write of each array
    std::vector<std::array<Event, 3>> readers(arrays);  // reads since then, by stream
    std::atomic<int> called = 0;
    int calls = 0;
    int64_t after_warm_up = 0, most = 0;
    const int64_t held = d.memory_in_use();
    for (int n = 0; n < launches; ++n) {
        const size_t s = random() % 3, a = random() % arrays, b = (a + 1 + random() % (arrays - 1)) % arrays;
        const uint32_t k = random();
        streams[s].wait_for(writer[a]);
        streams[s].wait_for(writer[b]);
        for (Event& reader : readers[a]) {
            streams[s].wait_for(reader);
            reader = {};
        }
        writer[a] = readers[b][s] = mix(ndrange(items).group(items).on(streams[s]), on_device[a], on_device[b], k);
        oracle.mix(a, b, k);
        if (n % 1000 == 999) {
            const int before = calls++;
            streams[s].call([&called, before] { called = called == before ? before + 1 : -1; });
        }
        if (n % 5000 == 0) {
            const Array<uint32_t> brief = on_device[a].clone();
            ASSERT_EQ(brief.download(), oracle.state[a]) << "after launch " << n;
            if (n == launches / 10) after_warm_up = resident();
            most = std::max(most, resident());
        }
    }
    for (const Stream& stream : streams) stream.synchronize();
    for (size_t a = 0; a < arrays; ++a) EXPECT_EQ(on_device[a].download(), oracle.state[a]);
    EXPECT_EQ(called, calls);
    EXPECT_EQ(d.memory_in_use(), held);
    if (!sanitized) {
        EXPECT_GT(after_warm_up, 0);
        // NVIDIA's driver allocates up to 13 MiB for the commands in flight. The validation layer allocates up to 24 MiB, and up
        // to 120 MiB on that driver.
        const bool nvidia = d.name().find("NVIDIA") != std::string::npos;
        const int64_t mebibytes = std::getenv("PUMICE_VALIDATE") ? (nvidia ? 200 : 40) : (nvidia ? 24 : 8);
        EXPECT_LT(most - after_warm_up, mebibytes << 20);
    }
}

/// Each thread has its own arrays, a shared stream or its own one, and adds to a shared sum.
TEST(Stress, EightThreadsLaunchCopyAndWait) {
    const Device d = device();
    const int rounds = sanitized ? 50 : 400;
    const auto count = kernel("count_up", [](InOut<uint32_t> a) { atomic_add(a[global_index()], 1u); });
    const Array<uint32_t> sum = d.zeros<uint32_t>(items);
    const Stream shared = d.stream();
    std::atomic<int> wrong = 0, calls = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            std::mt19937 random(unsigned(t + 1));
            const Stream stream = t % 2 ? shared : d.stream(Priority(t % 3));
            Oracle oracle;
            std::vector<Array<uint32_t>> own;
            for (int i = 0; i < arrays; ++i) own.push_back(d.full<uint32_t>(items, 1u));
            std::vector<uint32_t> got(items);
            for (int n = 0; n < rounds; ++n) {
                const size_t a = random() % arrays, b = (a + 1 + random() % (arrays - 1)) % arrays;
                const uint32_t k = random();
                mix(ndrange(items).on(stream), own[a], own[b], k);
                oracle.mix(a, b, k);
                count(ndrange(items).on(stream), sum);
                switch (random() % 16) {
                    case 0:
                        stream.synchronize();
                        wrong += own[a].download() != oracle.state[a];
                        break;
                    case 1:
                        own[b].copy_to(got, stream).wait();
                        wrong += got != oracle.state[b];
                        break;
                    case 2:
                        stream.call([&calls] { ++calls; }).wait();
                        calls -= 1;
                        break;
                    case 3: {
                        const Array<uint32_t> brief = own[a].clone();
                        mix(ndrange(items).on(stream), brief, own[b], 0);
                        break;
                    }
                    default: break;
                }
            }
            stream.synchronize();
            for (size_t a = 0; a < arrays; ++a) wrong += own[a].download() != oracle.state[a];
        });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(calls, 0);
    d.synchronize();
    EXPECT_EQ(sum.download(), std::vector<uint32_t>(items, uint32_t(8 * rounds)));
}

/// The interior of a field on a low-priority stream and its borders on a high-priority one agree with one launch.
template <int N> void triad_in_pieces(std::array<int64_t, N> n) {
    const Device d = device();
    const auto triad = kernel("triad", [](Out<float, N> a, In<float, N> b, In<float, N> c, Val<float> s) {
        if constexpr (N == 1) {
            auto i = global_index();
            a(i) = b(i) + s * c(i);
        } else if constexpr (N == 2) {
            auto [i, j] = global_index<2>();
            a(i, j) = b(i, j) + s * c(i, j);
        } else {
            auto [i, j, k] = global_index<3>();
            a(i, j, k) = b(i, j, k) + s * c(i, j, k);
        }
    });
    const std::vector<float> b = suite::iota<float>(detail::count_of(n)), c = suite::iota<float>(detail::count_of(n), 5.0f);
    const Array<float, N> a(d, n, true), db(d, n, false), dc(d, n, false);
    db.copy_from(b);
    dc.copy_from(c);
    const Stream low = d.stream(Priority::low), high = d.stream(Priority::high);
    Range inner;
    inner.rank = N;
    for (size_t i = 0; i < N; ++i) inner.from[i] = 3, inner.to[i] = n[i] - 3;
    const Event interior = triad(inner.on(low), a, db, dc, 2.0f);
    // Two slabs along each dimension: they extend over the whole later dimensions, and over the interior of the earlier ones.
    Event border;
    for (size_t dimension = 0; dimension < N; ++dimension)
        for (const bool end : {false, true}) {
            Range slab;
            slab.rank = N;
            for (size_t i = 0; i < N; ++i) slab.from[i] = i < dimension ? 3 : 0, slab.to[i] = i < dimension ? n[i] - 3 : n[i];
            (end ? slab.from : slab.to)[dimension] = end ? n[dimension] - 3 : 3;
            border = triad(slab.on(high), a, db, dc, 2.0f);
        }
    border.wait();
    interior.wait();
    std::vector<float> want;
    for (size_t i = 0; i < b.size(); ++i) want.push_back(b[i] + 2.0f * c[i]);
    EXPECT_EQ(a.download(), want);
}

TEST(Stress, TriadWithBordersOnAStreamOfTheirOwn) {
    triad_in_pieces<1>({10});
    triad_in_pieces<1>({1000});
    triad_in_pieces<2>({10, 11});
    triad_in_pieces<2>({70, 65});
    triad_in_pieces<3>({10, 11, 12});
    triad_in_pieces<3>({20, 33, 17});
}

TEST(Host, ArraysAndStreamsReleasedWithWorkPending) {
    const Device d = device();
    const int n = 1 << 14;
    std::vector<uint32_t> got(n);
    Event last;
    std::atomic<bool> called = false;
    {
        const Array<uint32_t> a = d.full<uint32_t>(n, 2u), b = d.full<uint32_t>(n, 3u), c = d.full<uint32_t>(n, 4u);
        const Stream stream = d.stream();
        for (int k = 0; k < 100; ++k) mix(ndrange(n).on(stream), a, b, 0);
        b.release();
        mix(ndrange(n).on(stream), a, c, 1);
        stream.call([&called] { called = true; });
        last = a.copy_to(got, stream);
        stream.release();
    }
    const Array<uint32_t> other = d.full<uint32_t>(n, 9u);  // perhaps in the same memory
    last.wait();
    EXPECT_TRUE(called);
    uint32_t want = 2;
    for (int k = 0; k < 100; ++k) want = want * 1664525u + 3;
    want = want * 1664525u + (4 ^ 1);
    EXPECT_EQ(got, std::vector<uint32_t>(n, want));
    EXPECT_EQ(other.download(), std::vector<uint32_t>(n, 9u));
}

TEST(Host, HostCallsThatLaunchThrowAndWait) {
    const Device d = device();
    const Array<uint32_t> a = d.full<uint32_t>(items, 1u), b = d.zeros<uint32_t>(items);
    const Stream stream = d.stream();
    mix(ndrange(items).on(stream), a, b, 7);
    stream.call([&] { mix(ndrange(items), b, a, 0); });  // runs after all work that the device has got by then
    stream.synchronize();
    EXPECT_EQ(b.download(), std::vector<uint32_t>(items, 1664525u + 7));
    stream.call([] { fail("the call says so"); });
    EXPECT_EQ(suite::message_of([&] { stream.synchronize(); }), "the call says so");
    stream.synchronize();  // the second one is the wait of the launch
    // The host function may hold the last handle of the device.
    auto brief = std::make_shared<Array<uint32_t>>(d.zeros<uint32_t>(items));
    stream.call([held = std::move(brief)] {});
    mix(ndrange(items).on(stream), a, b, 7);
    stream.synchronize();
}

/// The processor's seconds, of all threads, to create, use and release so many streams. On a busy machine, wall time would say
/// more about the other processes.
double time_of_streams(const Device& d, int count) {
    const std::clock_t start = std::clock();
    const Array<uint32_t> shared = d.full<uint32_t>(items, 1u), own = d.full<uint32_t>(items, 1u),
                          b = d.full<uint32_t>(items, 2u);
    std::vector<Stream> streams;
    for (int k = 0; k < count; ++k) streams.push_back(d.stream());
    std::atomic<int> called = 0;
    Event last;
    for (const Stream& s : streams) {
        s.wait_for(last);
        last = mix(ndrange(items).on(s), own, b, 3u);
        read_only(ndrange(items).on(s), d.empty<uint32_t>(items), shared);
        if (&s - streams.data() < 500) s.call([&] { ++called; });
    }
    for (const Stream& s : streams) s.synchronize();
    for (int k = 0; k < 200; ++k) shared.fill(uint32_t(k));  // after the work of all streams
    streams.clear();
    for (int k = 0; k < count; ++k) d.stream();
    d.synchronize();
    EXPECT_EQ(called, std::min(count, 500));
    return double(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(Stress, LaunchTimeDoesNotGrowWithTheNumberOfStreams) {
    const Device d = device();
    int few = sanitized ? 500 : 4000;
    if (time_of_streams(d, few) > 0.4 && !sanitized) few = 1000;  // compiles; software drivers need no more to show it
    const double some = time_of_streams(d, few), many = time_of_streams(d, 8 * few);
    EXPECT_LT(many, 24 * some + 0.5);
}

}  // namespace
