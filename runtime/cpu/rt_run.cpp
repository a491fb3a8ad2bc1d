// Execution of a launch on the processor: the range's groups, in units, shared among threads.
//
// The rules are those of cpu/runtime/cpu_launch.cpp. A unit is a group, or a patch of groups where rows of one array are columns
// of another (loop tiling of transposes). Short launches stay on the calling thread. Others are split into as many contiguous
// parts as there are threads. Each thread takes ranges of units from its own part, and then helps with the others' (static
// partitioning with work stealing): rows that neighbouring groups share are then in one core's caches. The time of a group is
// measured, and decides with the next launch.
#include "runtime/cpu/rt_run.h"

#include <time.h>

#include "runtime/cpu/rt_choice.h"
#include "runtime/cpu/rt_processor.h"
#include "runtime/cpu/rt_sums.h"
#include "runtime/support/rt_float_mode.h"

namespace pumice_rt {
namespace {

// Nanoseconds of a launch from which it is shared: if threads have to be woken; if they are awake; and of the smallest piece.
constexpr double worth_sharing_ns = 15'000, worth_sharing_awake_ns = 8'000, piece_ns = 4'000;
constexpr int64_t pieces_a_share = 64;  // if groups take unequal times, the last ranges are short
constexpr int64_t patch_columns = 32, patch_rows = 4096, peeled_patch_rows = 1024;

double clock_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec) * 1e9 + double(now.tv_nsec);
}

float load(const float& from) {
    float value;
    __atomic_load(&from, &value, __ATOMIC_RELAXED);
    return value;
}

class KernelRun {
public:
    KernelRun(const Launch& of, NativeCode& with, ThreadPool& threads, ScratchBlocks& from, uint32_t* ring, uint32_t number)
        : launch(of), code(with), native(*with.record), pool(threads), blocks(from), priority(priority_of(of.stream)) {
        for (uint32_t i = 0; i < launch.argument_count; ++i) {
            const Launch::Argument& a = launch.arguments[i];
            arguments[i].bits = a.memory ? address(a) : a.bits;
            arguments[i].extents = a.extents;
        }
        frame.arguments = arguments, frame.ring = ring, frame.launch = number;
        for (int axis = 0; axis < 3; ++axis) {
            // With alignment peeling the groups of a row begin early, so that its last items may need one more group.
            const int64_t extent = launch.extent[axis] + (axis == 0 && peeled() ? most_peeled - 1 : 0), size = native.group[axis];
            frame.start[axis] = int32_t(launch.start[axis]), frame.extent[axis] = int32_t(launch.extent[axis]);
            frame.count[axis] = int32_t((extent + size - 1) / size);
            groups *= frame.count[axis];
        }
        frame.columns[0] = 0, frame.columns[1] = frame.count[0];
        units = groups;
        plan_patches();
    }

    pumice_status all() {
        if (native.sums.count == 0) {
            share_out();
        } else {
            PrivateSums made(launch, native, arguments, launch.stream == nullptr, blocks);
            sums = &made;
            share_out();
            made.add_up(pool, priority);
            sums = nullptr;
        }
        // A share that finds no memory leaves its units to the others: units are left only if no share has run any.
        bool done = true;
        for (int part = 0; part < shares; ++part) done = done && next[part] >= begin_of(part + 1);
        if (done) return PUMICE_OK;
        return fail(PUMICE_ERROR_MEMORY, "kernel \"%s\" lacks memory for its groups on %s: the system gives no more",
                    launch.kernel_name(), "cpu");
    }

private:
    static uint64_t address(const Launch::Argument& a);
    bool peeled() const { return (native.flags & NativeRecord::peeled) != 0; }
    double cost() const { return double(groups) * double(load(code.group_ns)); }

    void plan_patches() {
        const int crosses = launch.record().across;
        patch[0] = patch_columns / native.group[0] > 1 ? patch_columns / native.group[0] : 1;
        patch[1] = (peeled() ? peeled_patch_rows : patch_rows) / native.group[1];
        if (patch[1] < 1) patch[1] = 1;
        if (crosses < 0 || frame.count[0] <= patch[0] || frame.count[1] <= 1) {
            patch[0] = 0;
            return;
        }
        across = (frame.count[0] + patch[0] - 1) / patch[0];
        const int64_t bytes = int64_t(launch.parameter(uint32_t(crosses)).element_bytes) * native.group[1];
        const int64_t offset = int64_t(arguments[crosses].bits) % (patch[1] * bytes) / bytes;
        // Of the short patches at both ends, one is merged with its neighbour.
        begin = offset <= patch[1] / 2 ? -offset : patch[1] - offset;
        down = (frame.count[1] - begin + patch[1] / 2) / patch[1];
        if (down < 1) down = 1;
        units = across * down * frame.count[2];
    }

    /// Runs the patch's groups, row by row; returns their number.
    int64_t run_patch(Frame& own, int64_t number) const {
        const int64_t x = number % across * patch[0], at = number / across % down, z = number / across / down;
        const int64_t y = at == 0 ? 0 : begin + at * patch[1],
                      end = at == down - 1 ? frame.count[1] : begin + (at + 1) * patch[1];
        const int64_t left = frame.count[0] - x, wide = patch[0] < left ? patch[0] : left;
        own.columns[0] = int32_t(x), own.columns[1] = int32_t(x + wide);
        code.entry(&own, (z * frame.count[1] + y) * frame.count[0] + x, wide * (end - y));
        return wide * (end - y);
    }
    void run_units(Frame& own, int64_t first, int64_t count) const {
        const FloatMode mode;
        const double start = clock_ns();
        int64_t done = count;
        if (patch[0] == 0) {
            code.entry(&own, first, count);
        } else {
            done = 0;
            for (int64_t p = first; p < first + count; ++p) done += run_patch(own, p);
        }
        if (native.flags & NativeRecord::streaming) finish_streaming_stores();
        note(float((clock_ns() - start) / double(done)));
    }
    /// Takes lower times at once and averages higher ones: the thread may have been preempted.
    void note(float took) const {
        const float known = load(code.group_ns);
        if (took > known * 0.9f && took < known * 1.1f) return;
        float now = took < known ? took : known + (took - known) / 8;
        __atomic_store(&code.group_ns, &now, __ATOMIC_RELAXED);
    }

    void share_out() {
        const double whole = cost();
        const bool shared = units > 1 && pool.threads() > 1 &&
                            (whole >= worth_sharing_ns || (whole >= worth_sharing_awake_ns && pool.awake())) &&
                            (!sums || sums->disjoint());
        if (!shared) {
            piece = units, next[0] = 0;
            return share(0);
        }
        shares = pool.threads() < most_shares ? pool.threads() : most_shares;
        if (units < shares) shares = int(units);
        for (int part = 0; part < shares; ++part) next[part] = begin_of(part);
        const double each = whole / double(units) > 1 ? whole / double(units) : 1;
        piece = units / (pieces_a_share * shares);
        if (piece < int64_t(piece_ns / each)) piece = int64_t(piece_ns / each);
        if (piece < 1) piece = 1;
        pool.run(shares, [](void* self, int number) { static_cast<KernelRun*>(self)->share(number); }, this, priority);
    }

    int64_t begin_of(int part) const { return units * part / shares; }

    /// True in a thread that helps, if a more urgent launch has work for it. What it leaves, the others take.
    bool leaves() const { return shares > 1 && pool.urgent(priority) && !pthread_equal(caller, pthread_self()); }

    /// One thread's share: ranges of units of its own part, then of the other parts, until none are left.
    void share(int number) {
        Frame own = frame;
        FrameArgument private_arguments[most_arguments];
        ScratchBlocks::MemoryBlock scratch = {nullptr, 0};
        bool ready = false;
        for (int k = 0; k < shares; ++k) {
            const int part = (number + k) % shares;
            const int64_t begin = begin_of(part), end = begin_of(part + 1);
            while (__atomic_load_n(&next[part], __ATOMIC_RELAXED) < end) {
                // Before units are taken, so that none is lost.
                if (!ready && !(ready = prepare(number, own, private_arguments, scratch))) return blocks.give(scratch);
                const int64_t first = __atomic_fetch_add(&next[part], piece, __ATOMIC_RELAXED), left = end - first;
                if (left <= 0) break;
                const int64_t count = piece < left ? piece : left;
                const bool backwards = launch.record().flags & KernelRecord::clears && shares > 1;
                run_units(own, backwards ? begin + left - count : first, count);
                if (!leaves()) continue;
                pool.leave(priority, number);
                return blocks.give(scratch);
            }
        }
        blocks.give(scratch);
    }
    bool prepare(int number, Frame& own, FrameArgument* private_arguments, ScratchBlocks::MemoryBlock& scratch) {
        if (native.scratch_bytes > 0) {
            scratch = blocks.take(native.scratch_bytes);
            own.scratch = scratch.data;
            if (!scratch.data) return false;
        }
        if (!sums) return true;
        own.arguments = private_arguments;
        return sums->arguments_of(number, private_arguments);
    }

    const Launch& launch;
    NativeCode& code;
    const NativeRecord& native;
    ThreadPool& pool;
    ScratchBlocks& blocks;
    const int priority;
    const pthread_t caller = pthread_self();
    PrivateSums* sums = nullptr;
    FrameArgument arguments[most_arguments];
    Frame frame = {};
    int64_t groups = 1, units = 1, piece = 1;
    int64_t patch[2] = {0, 0}, across = 1, begin = 0, down = 1;
    int shares = 1;
    int64_t next[most_shares];  ///< of each part: the first unit that nobody has taken
};

uint64_t KernelRun::address(const Launch::Argument& a) {
    return uint64_t(reinterpret_cast<uintptr_t>(host_bytes(a.memory) + a.offset));
}

}  // namespace

pumice_status run_native(const Launch& launch, NativeCode& code, ThreadPool& pool, ScratchBlocks& blocks, uint32_t* ring,
                         uint32_t number) {
    return KernelRun(launch, code, pool, blocks, ring, number).all();
}

}  // namespace pumice_rt
