// Launches on the CPU. A small launch stays on one thread, a large one is cut into ranges for the worker threads
// (LaunchWork::run_all).
#include "cpu/runtime/cpu_launch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/support/error.h"
#include "core/support/float_mode.h"
#include "cpu/runtime/cache_sizes.h"

namespace pumice::cpu {
namespace {

// Less work than this stays on one thread: if another one has to be woken; if one is awake. A range of groups takes at least
// about range_ns.
constexpr double worth_sharing_ns = 15'000, worth_sharing_awake_ns = 8'000, range_ns = 4'000;

/// Loop tiling of transposes, where rows of one array are columns of another: groups are run by patches of this many items along
/// the axes. Of the array whose rows lie along axis 1, a patch takes long pieces of 32 rows: no more than the hardware
/// prefetcher can follow. Of the array whose rows lie along axis 0, it takes two cache lines of each of many rows. The long
/// pieces begin at page borders where the array's rows do, since the prefetcher stops at a page of 1024 floats. With alignment
/// peeling, a group begins early and loads elements of its predecessor again; these are still cached if pieces are shorter,
/// hence `peeled_patch_rows`.
constexpr int64_t patch_columns = 32, patch_rows = 4096, peeled_patch_rows = 1024;

// Work of fewer nanoseconds is timed once in `times_a_measurement`: the clock costs some 50 ns.
constexpr double short_ns = 4'000;
constexpr int times_a_measurement = 8;
/// The most by which a measured time may exceed the time known so far, as a factor, to count as it is.
constexpr float most_growth = 3;

uint64_t address_of(const Launch::Array& array) {
    return uint64_t(reinterpret_cast<uintptr_t>(memory_of(*array.memory).data + array.offset));
}

struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
};

}  // namespace

double now_ns() {
    return double(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::byte* thread_scratch(int64_t bytes) {
    thread_local std::unique_ptr<std::byte[], Free> memory;
    thread_local int64_t size = 0;
    if (size < bytes) {
        const int64_t rounded = (bytes + 4095) / 4096 * 4096;
        memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, size_t(rounded))));
        size = memory ? rounded : 0;
        if (!memory) fail("cannot allocate ", rounded, " bytes of local memory on cpu: the system gives no more memory");
    }
    return memory.get();
}

LaunchWork::LaunchWork(std::shared_ptr<Native> code, const Launch& launch, int crosses, const OwnershipPartition& given,
                       const std::shared_ptr<MemoryPool>& pool)
    : native(std::move(code)), partition(given) {
    const size_t n = launch.arguments.size();
    arguments.resize(n);
    extents.resize(n);
    for (size_t i = 0; i < n; ++i) {
        const Launch::Argument& given = launch.arguments[i];
        extents[i] = given.array.extents;
        arguments[i].bits = given.array.memory ? address_of(given.array) : given.bits;
        arguments[i].extents = extents[i].data();
    }
    for (size_t axis = 0; axis < 3; ++axis) {
        // With alignment peeling the groups of a row begin early, so the last items of the row may need one more group.
        const int64_t extent = launch.extent[axis] + (axis == 0 && native->peeled ? most_peeled - 1 : 0);
        const int64_t count = (extent + launch.group[axis] - 1) / launch.group[axis];
        frame.start[axis] = int32_t(launch.start[axis]);
        frame.extent[axis] = int32_t(launch.extent[axis]);
        frame.count[axis] = int32_t(count);
        groups *= count;
    }
    frame.columns[1] = frame.count[0];
    slowest = size_t(launch.rank - 1);
    row_items = launch.group[slowest];
    frame.arguments = arguments.data();
    units = groups;
    patch[0] = std::max<int64_t>(1, patch_columns / launch.group[0]);
    patch[1] = std::max<int64_t>(1, (native->peeled ? peeled_patch_rows : patch_rows) / launch.group[1]);
    if (crosses >= 0 && frame.count[0] > patch[0] && frame.count[1] > 1) {
        across = (frame.count[0] + patch[0] - 1) / patch[0];
        const auto& e = extents[size_t(crosses)];
        const int64_t elements = std::max<int64_t>(1, std::accumulate(e.begin(), e.end(), int64_t(1), std::multiplies<>()));
        const int64_t bytes = std::max<int64_t>(1, launch.arguments[size_t(crosses)].array.bytes / elements) * launch.group[1];
        const int64_t offset = int64_t(arguments[size_t(crosses)].bits) % (patch[1] * bytes) / bytes;
        // Of the short patches at both ends, one is merged with its neighbour.
        begin = offset <= patch[1] / 2 ? -offset : patch[1] - offset;
        down = std::max<int64_t>(1, (frame.count[1] - begin + patch[1] / 2) / patch[1]);
        units = across * down * frame.count[2];
    } else {
        patch[0] = 0;
    }
    if (native->sums.empty()) return;
    std::vector<SumCopies::SummedArray> summed;
    for (const PrivatisedArray& sum : native->sums) {
        const int64_t scalars = launch.arguments[size_t(sum.argument)].array.bytes / size_of(sum.type);
        summed.push_back({scalars, sum.lanes == 1 && partition.cover(sum.argument)});
        if (const OwnedRanges of = partition.ranges_of(sum.argument); summed.back().shared && of.bounds >= 0)
            ranges.push_back(of);
    }
    const auto by_rows = [&](const PrivatisedArray& sum) { return sum.lanes == 1 && partition.covers_rows(sum.argument); };
    if (std::ranges::none_of(native->sums, by_rows)) partition = {};
    sums = std::make_shared<SumCopies>(native->sums, arguments, std::move(summed), alone(launch), pool);
}

// Moving a vector keeps its elements' addresses, and so the pointers to them.
LaunchWork::LaunchWork(LaunchWork&& other) = default;

bool LaunchWork::bind(const Launch& again) {
    for (size_t i = 0; i < arguments.size(); ++i) {
        const Launch::Argument& given = again.arguments[i];
        if (!given.array.memory)
            arguments[i].bits = given.bits;
        else if (arguments[i].bits != address_of(given.array))
            return false;
    }
    return true;
}

std::unique_ptr<LaunchWork> LaunchWork::copy() const {
    std::unique_ptr<LaunchWork> same(new LaunchWork(*this));
    for (size_t i = 0; i < arguments.size(); ++i) same->arguments[i].extents = same->extents[i].data();
    same->frame.arguments = same->arguments.data();
    return same;
}

/// Runs the patch's groups, row by row; returns their number.
int64_t LaunchWork::run_patch(Frame& own, int64_t number) const {
    const int64_t x = number % across * patch[0], at = number / across % down, z = number / across / down;
    const int64_t y = at == 0 ? 0 : begin + at * patch[1], end = at == down - 1 ? frame.count[1] : begin + (at + 1) * patch[1];
    const int64_t wide = std::min(patch[0], frame.count[0] - x);
    own.columns[0] = int32_t(x), own.columns[1] = int32_t(x + wide);
    native->entry(&own, (z * frame.count[1] + y) * frame.count[0] + x, wide * (end - y));
    return wide * (end - y);
}

/// Runs a share's groups, plane by plane; returns their number.
int64_t LaunchWork::run_part(Frame& own, int64_t wavefront, int64_t number) const {
    const OwnershipPartition::GroupRange range = partition.part(wavefront, number);
    const int64_t wide = range.end[0] - range.begin[0], high = range.end[1] - range.begin[1],
                  deep = range.end[2] - range.begin[2];
    own.columns[0] = int32_t(range.begin[0]), own.columns[1] = int32_t(range.end[0]);
    for (int64_t z = range.begin[2]; z < range.end[2]; ++z)
        native->entry(&own, (z * frame.count[1] + range.begin[1]) * frame.count[0] + range.begin[0], wide * high);
    return wide * high * deep;
}

/// Calls `some`, which runs groups in the thread's frame and returns their number.
template <class Some> void LaunchWork::run_some(const Some& some, bool is_timed) const {
    const FloatMode mode;
    Frame own = frame_with(thread_scratch(native->scratch_bytes));
    if (sums) own.arguments = sums->own();
    const double start = is_timed ? now_ns() : 0;
    const int64_t done = some(own);
    if (native->streaming) finish_stores();
    if (is_timed) note_group(float((now_ns() - start) / double(done)));
}

void LaunchWork::run_groups(int64_t first, int64_t count, bool is_timed) const {
    const auto some = [&](Frame& own) {
        if (patch[0] == 0) return native->entry(&own, first, count), count;
        int64_t done = 0;
        for (int64_t p = first; p < first + count; ++p) done += run_patch(own, p);
        return done;
    };
    run_some(some, is_timed);
}

/// Runs all groups on the calling thread.
void LaunchWork::run_alone() {
    const bool is_timed = untimed == 0;
    run_groups(0, units, is_timed);
    untimed = is_timed ? (cost() < short_ns ? times_a_measurement - 1 : 0) : untimed - 1;
}

void LaunchWork::note_group(float took) const {
    const float known = native->group_ns.load(std::memory_order_relaxed);
    if (!native->measured.load(std::memory_order_relaxed)) {
        native->measured.store(true, std::memory_order_relaxed);
        native->group_ns.store(took, std::memory_order_relaxed);
        return;
    }
    // Avoids a store for small changes, since it would invalidate the line in other threads' caches.
    if (took > known * 0.9f && took < known * 1.1f) return;
    // Takes lower times at once and averages higher ones: the thread may have been preempted, for a thousand times as long as a
    // short launch takes. A time that has grown is reached in steps of a quarter.
    native->group_ns.store(took < known ? took : known + (std::min(took, most_growth * std::max(known, 1.0f)) - known) / 8,
                           std::memory_order_relaxed);
}

void LaunchWork::run(const WorkerThreads& workers) {
    const TracedRun run(traced);
    run_all(workers);
    if (sums) sums->add_up(workers);
}

/// True if no two items share an element of these ranges. Bounds that the kernel would read beyond their array are not looked at.
bool LaunchWork::owns(const OwnedRanges& range) const {
    const int64_t first = frame.start[0] + range.offset, count = int64_t(frame.extent[0]) + 1;
    if (first < 0 || first + count > extents[size_t(range.bounds)][0]) return false;
    const auto* const bounds = reinterpret_cast<const int32_t*>(uintptr_t(arguments[size_t(range.bounds)].bits));
    return never_decrease({bounds + first, size_t(count)});
}

void LaunchWork::run_all(const WorkerThreads& workers) {
    if (!std::ranges::all_of(ranges, [&](const OwnedRanges& range) { return owns(range); })) return run_alone();
    if (units == 1 || !(worth_sharing() || (cost() >= worth_sharing_awake_ns && workers.awake()))) return run_alone();
    if (sums && partition.any()) {
        const int64_t piece = int64_t(range_ns * double(partition.parts_in_wavefront() * partition.wavefronts()) / cost());
        for (int64_t wavefront = 0; wavefront < partition.wavefronts(); ++wavefront)
            workers.run(partition.parts_in_wavefront(), piece, [this, wavefront](int64_t first, int64_t count) {
                run_some([&](Frame& own) {
                    int64_t done = 0;
                    for (int64_t n = first; n < first + count; ++n) done += run_part(own, wavefront, n);
                    return done;
                });
            });
        return;
    }
    const double each = std::max(1.0, double(native->group_ns.load(std::memory_order_relaxed)) * double(groups) / double(units));
    workers.run(
        units, int64_t(range_ns / each), [this](int64_t first, int64_t count) { run_groups(first, count); },
        native->clears ? Order::backwards : Order::forwards);
}

// ---- rows of groups ----

bool LaunchWork::worth_sharing() const { return cost() >= worth_sharing_ns; }

/// True if rows may run in any order.
bool LaunchWork::in_rows() const { return patch[0] == 0 && !sums && !frame.ring && !native->streaming; }

LaunchWork::Rows LaunchWork::rows() const {
    return {frame.start[slowest], row_items, slowest == 0 && native->peeled ? most_peeled - 1 : 0, frame.count[slowest]};
}

Frame LaunchWork::frame_with(std::byte* memory) const {
    Frame own = frame;
    own.scratch = memory;
    return own;
}

void LaunchWork::run_rows(const Frame& own, int64_t first, int64_t count) const {
    const int64_t wide = groups / frame.count[slowest];
    native->entry(&own, first * wide, count * wide);
}

void LaunchWork::note_pace(double times) const { note_group(float(native->group_ns.load(std::memory_order_relaxed) * times)); }

std::vector<RowsTouched> LaunchWork::touched() const {
    std::vector<RowsTouched> all;
    for (size_t i = 0; i < arguments.size(); ++i) {
        const RowAccess& access = native->accesses[i];
        const auto& e = extents[i];
        if (access.touches && arguments[i].bits)
            all.push_back({access, arguments[i].bits,
                           std::accumulate(e.begin(), e.end(), access.element_bytes, std::multiplies<>()),
                           e[size_t(access.rank - 1)]});
    }
    return all;
}

void LaunchWork::report(uint32_t* ring, uint32_t number) {
    frame.ring = reinterpret_cast<std::byte*>(ring);
    frame.launch = number;
}

// ---- indirect launches ----

void DeferredLaunch::run(const WorkerThreads& workers) {
    std::optional<LaunchWork> work = make();
    if (!work) return;
    if (ring) work->report(ring, number);
    work->traced = std::move(traced);
    work->run(workers);
}

std::optional<Launch> with_counts(const Launch& launch) {
    int32_t extents[3];
    std::memcpy(extents, memory_of(*launch.counts.memory).data + launch.counts.offset, sizeof extents);
    if (std::any_of(std::begin(extents), std::end(extents), [](int32_t n) { return n <= 0; })) return std::nullopt;
    Launch now = launch;
    std::copy_n(extents, 3, now.extent.begin());
    return now;
}

// ---- other work ----

namespace {
thread_local bool in_a_call = false;
}
bool CallWork::inside() { return in_a_call; }

void CallWork::run(const WorkerThreads&) {
    struct Inside {
        const bool before = std::exchange(in_a_call, true);
        ~Inside() { in_a_call = before; }
    } inside;
    act();
}

void FillWork::run(const WorkerThreads& workers) {
    const TracedRun run(traced);
    const bool streaming = bytes >= bytes_in_caches(workers.threads());
    const bool one_byte =
        std::all_of(pattern.begin(), pattern.begin() + pattern_size, [&](std::byte b) { return b == pattern[0]; });
    const int64_t size = one_byte ? 1 : pattern_size;
    const auto fill = [this, size, streaming](int64_t first, int64_t count) {
        std::byte* const begin = to->data + offset + first * size;
        const int64_t all = count * size, step = std::min<int64_t>(all, 8192 / size * size);
        if (size == 1 && !streaming) return void(std::memset(begin, int(pattern[0]), size_t(all)));
        // Doubles the filled part: few long copies instead of many short ones, in steps within the first-level cache.
        std::memcpy(begin, pattern.data(), size_t(size));
        for (int64_t done = size; done < step;) {
            const int64_t next = std::min(done, step - done);
            std::memcpy(begin + done, begin, size_t(next));
            done += next;
        }
        for (int64_t done = step; done < all; done += step)
            copy_bytes(begin + done, begin, std::min(step, all - done), streaming);
        if (streaming) finish_stores();
    };
    workers.run(bytes / size, bytes_piece / size, fill);
}

void CopyWork::run(const WorkerThreads& workers) {
    const TracedRun run(traced);
    const bool overlap = from < to + bytes && to < from + bytes;
    if (overlap || bytes < 2 * bytes_piece) return void(std::memmove(to, from, size_t(bytes)));
    const bool streaming = 2 * bytes >= bytes_in_caches(workers.threads());
    workers.run(bytes, bytes_piece, [this, streaming](int64_t first, int64_t count) {
        copy_bytes(to + first, from + first, count, streaming);
        if (streaming) finish_stores();
    });
}

}  // namespace pumice::cpu
