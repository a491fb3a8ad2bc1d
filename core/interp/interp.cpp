// The device "interp": the reference interpreter as a Backend. Memory, launches, streams and reports on the host, synchronous and
// checked.
//
// A launch runs inside launch(), one group after another, each group in lockstep over its items (interp_control.cpp):
//
//   kernel -> inlining, group_by_memory, promote, simplify, dead -> Program -> InterpRun(program, launch, views).all_groups()
//
// Purpose: the definition of every operation (the host column of ops.def), and dynamic checks: bounds, data races by shadow
// memory (interp_shadow.h), reads of unwritten memory, divergent barriers. Each allocation that a launch writes gets shadow
// cells, one for each granule of the smallest leaf in it (48 bytes a cell, from calloc, so that untouched pages cost nothing).
// New memory holds bytes 0xCD, and a byte map of what is still unwritten. Cost: one indirect call for an instruction and group,
// plus the checks for each access; launches hold one mutex. Limits: groups of at most 1,024 items, 64 KiB of local memory, 2^22
// instructions. Streams do nothing, since all work is done when it is given; events only refuse a wait inside a called function
// for work that comes after it.
#include "core/interp/interp.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "core/host/ring.h"
#include "core/host/traced_work.h"
#include "core/interp/interp_control.h"
#include "core/interp/interp_program.h"
#include "core/interp/interp_shadow.h"
#include "core/lowering/group_by_memory.h"
#include "core/passes/dead.h"
#include "core/passes/inlining.h"
#include "core/passes/promote.h"
#include "core/passes/simplify.h"
#include "core/support/error.h"
#include "core/support/float_mode.h"
#include "core/tools/coverage.h"

namespace pumice {

using namespace internal;
namespace {

using namespace interp;

int64_t physical_memory() {
    static const int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * int64_t(sysconf(_SC_PAGE_SIZE));
    return bytes;
}

/// Counter of the bytes that a device's allocations hold. Shared, since allocations may outlive the device.
using InUse = std::shared_ptr<std::atomic<int64_t>>;

struct HostMemory : Allocation {
    HostMemory(InUse counter, int64_t size, bool zero) : in_use(std::move(counter)) {
        data.reset(static_cast<std::byte*>(zero ? std::calloc(size_t(size), 1) : std::malloc(size_t(size))));
        if (!data) no_more(size);
        if (!zero) {
            std::memset(data.get(), 0xCD, size_t(size));
            note_all(size, true);
        }
        *in_use += bytes = size;
    }
    [[noreturn]] static void no_more(int64_t size) {
        fail("cannot allocate ", size, " bytes on interp: the system gives no more memory");
    }
    void note_all(int64_t size, bool is_unset) {
        unset.reset(new (std::nothrow) bool[size_t(size)]);
        if (!unset) no_more(size);
        std::fill_n(unset.get(), size, is_unset);
    }
    /// Records a write from outside of a kernel: upload or fill.
    void note_write(int64_t offset, int64_t count) {
        if (count == bytes)
            unset = nullptr;
        else if (unset)
            std::fill_n(unset.get() + offset, count, false);
    }
    /// Records a copy: bytes copied from unwritten memory count as unwritten, too.
    void note_copy(const HostMemory& from, int64_t from_offset, int64_t offset, int64_t count) {
        if (!from.unset) return note_write(offset, count);
        if (!unset) note_all(bytes, false);
        std::memmove(unset.get() + offset, from.unset.get() + from_offset, size_t(count));
    }
    ~HostMemory() override { *in_use -= bytes; }

    InUse in_use;
    std::unique_ptr<std::byte[], Shadow::Free> data;
    std::unique_ptr<bool[]> unset;  ///< per byte: not written yet; null if all bytes are written
    Shadow shadow;
};

HostMemory& host(Allocation& memory) { return static_cast<HostMemory&>(memory); }

/// Stack of the stream calls (Backend::call) that the current thread is executing, the innermost first.
struct Calling {
    const Backend* device;
    int stream;
    const Calling* outer;
};
thread_local const Calling* calling = nullptr;

/// The innermost call of the device on this thread; if a stream is given, of that stream.
const Calling* call_of(const Backend* device, int stream = -1) {
    for (const Calling* c = calling; c; c = c->outer)
        if (c->device == device && (stream < 0 || c->stream == stream)) return c;
    return nullptr;
}

/// A recorded point of a stream. All work is done when it is given, so every point has been reached, except a point after a call
/// that has not returned yet: waiting for that one inside the call throws. A wait delivers the reports of kernels.
struct InterpEvent : EventState {
    InterpEvent(std::function<void()> settle, const Calling* after) : settle(std::move(settle)), after(after) {}
    void wait() override {
        for (const Calling* c = calling; after && c; c = c->outer)
            if (c == after) refuse_wait();
        settle();
    }
    bool done() override { return true; }
    [[noreturn]] static void refuse_wait() { throw Error("a function that a stream calls waits for work that comes after it"); }
    const std::function<void()> settle;
    const Calling* const after;
};

/// The interpreter's passes: recorded IR to the IR that it runs.
ir::Kernel prepare(const ir::Kernel& recorded) {
    ir::Kernel k = ir::promote(ir::group_by_memory(ir::inlining(recorded)));
    k = ir::simplify(k);
    // Last, as it also drops the loads that simplifying leaves unused: a load that nothing needs must not be checked.
    return ir::dead(k);
}

class Interp final : public Backend {
public:
    Interp(InterpMode mode, int lanes) : mode(mode), lanes(lanes) {}
    ~Interp() override {
        take_reports();
        reports.deliver_lines();
    }

    std::string name() const override { return "interp"; }
    Limits limits() const override {
        Limits l;
        l.max_group_size = max_items;
        l.max_group_extent = {max_items, max_items, max_items};
        l.local_memory = 64 << 10;
        l.max_array_bytes = l.memory = physical_memory();
        l.subgroup_size = lanes;
        return l;
    }
    bool supports(Feature) const override { return true; }
    BackendTraits traits() const override { return {.sums_by_subgroups = false, .reads_counts = true}; }

    std::shared_ptr<Allocation> allocate(int64_t bytes, bool zero) override {
        // The system overcommits: it would grant more memory than there is, and end the process when the memory is used.
        if (bytes > physical_memory() - *in_use)
            fail("cannot allocate ", bytes, " bytes on interp: of the machine's ", physical_memory(),
                 " bytes of memory its arrays take ", in_use->load(), " already");
        return std::make_shared<HostMemory>(in_use, bytes, zero);
    }
    void write(Allocation& to, int64_t offset, const void* from, int64_t bytes) override {
        std::lock_guard lock(mutex);
        std::memcpy(host(to).data.get() + offset, from, size_t(bytes));
        host(to).note_write(offset, bytes);
    }
    void read(Allocation& from, int64_t offset, void* to, int64_t bytes) override {
        {
            std::lock_guard lock(mutex);
            std::memcpy(to, host(from).data.get() + offset, size_t(bytes));
        }
        settle();
    }
    void fill(Allocation& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_size, int) override {
        std::lock_guard lock(mutex);
        for (int64_t at = 0; at < bytes; at += pattern_size)
            std::memcpy(host(to).data.get() + offset + at, pattern, size_t(pattern_size));
        host(to).note_write(offset, bytes);
    }
    void copy(Allocation& from, int64_t from_offset, Allocation& to, int64_t to_offset, int64_t bytes, int) override {
        std::lock_guard lock(mutex);
        std::memmove(host(to).data.get() + to_offset, host(from).data.get() + from_offset, size_t(bytes));
        host(to).note_copy(host(from), from_offset, to_offset, bytes);
    }

    std::shared_ptr<Executable> compile(std::shared_ptr<const ir::Kernel> kernel) override {
        return std::make_shared<InterpProgram>(
            mode == InterpMode::recorded ? ir::group_by_memory(ir::inlining(*kernel)) : prepare(*kernel), lanes);
    }
    std::array<int64_t, 3> choose_group(const ir::Kernel&, const Launch& launch) const override {
        const int64_t side = launch.rank == 1 ? 64 : launch.rank == 2 ? 8 : 4;
        std::array<int64_t, 3> group{1, 1, 1};
        for (size_t axis = 0; axis < size_t(launch.rank); ++axis) group[axis] = std::min(side, launch.extent[axis]);
        return group;
    }
    void launch(const std::shared_ptr<Executable>& executable, const Launch& given) override {
        const FloatMode mode;
        std::lock_guard lock(mutex);
        Launch launch = given;
        if (given.counts.memory && !take_counts(launch)) return;
        const InterpProgram& program = static_cast<const InterpProgram&>(*executable);
        if (launch.group[0] * launch.group[1] * launch.group[2] > max_items) library_bug("a group past the limits of interp");
        check_local_memory(program.kernel, launch);
        if (scratch.epoch > UINT32_MAX / 2) begin_epochs_anew();
        if (program.reports) prepare_ring(std::shared_ptr<const ir::Kernel>(executable, &program.kernel), launch);
        struct Traced {
            const std::shared_ptr<const detail::TracedWork> work = trace::on() ? detail::TracedScope::take() : nullptr;
            const int64_t begin = work ? trace::ticks() : 0;
            ~Traced() {
                if (work) trace::event(work, begin, trace::ticks());
            }
        } traced;
        InterpRun run(program, launch, views_of(program, launch), scratch);
        if (!tools::counts_executions()) return run.all_groups();
        struct Counted {
            const ir::Kernel& kernel;
            tools::Executions executions;
            ~Counted() { tools::note_executions(kernel, executions); }  // of a launch with a fault, too
        } counted{program.kernel, tools::Executions(program.kernel.insts.size())};
        run.executions = counted.executions.data();
        run.all_groups();
    }

    int create_stream(Priority) override { return ++streams; }
    void release_stream(int) override {}
    std::shared_ptr<EventState> record(int stream) override {
        return std::make_shared<InterpEvent>([self = shared_from_this(), this] { settle(); }, call_of(this, stream));
    }
    void wait_for(int, const std::shared_ptr<EventState>&) override {}
    void call(int stream, std::function<void()> act) override {
        const Calling here{this, stream, calling};
        struct Inside {
            explicit Inside(const Calling* here) { calling = here; }
            ~Inside() { calling = calling->outer; }
        } inside(&here);
        try {
            act();
        } catch (...) {
            std::lock_guard lock(mutex);
            if (!thrown) thrown = std::current_exception();
        }
    }
    void synchronize() override {
        if (call_of(this)) InterpEvent::refuse_wait();
        settle();
    }

private:
    /// Sets the extents of an indirect launch. Returns false if the range is empty.
    static bool take_counts(Launch& launch) {
        int32_t extents[3];
        std::memcpy(extents, host(*launch.counts.memory).data.get() + launch.counts.offset, sizeof extents);
        std::copy_n(extents, 3, launch.extent.begin());
        return std::all_of(std::begin(extents), std::end(extents), [](int32_t n) { return n > 0; });
    }

    /// Makes the ring, or empties it if it is more than half full; gives the launch its number.
    void prepare_ring(std::shared_ptr<const ir::Kernel> kernel, const Launch& launch) {
        if (scratch.ring.empty()) {
            scratch.ring.resize(ring::words);
            ring::clear(scratch.ring);
        } else if (scratch.ring[ring::used] > scratch.ring[ring::capacity] / 2) {
            take_ring();
        }
        scratch.launch_number = reports.add(std::move(kernel), {launch.start, launch.extent, launch.group, launch.rank});
    }
    void take_ring() {
        reports.take(scratch.ring);
        ring::clear(scratch.ring);
    }
    void take_reports() {
        std::lock_guard lock(mutex);
        if (!scratch.ring.empty()) take_ring();
    }
    void settle() {
        take_reports();
        reports.deliver();
        std::unique_lock lock(mutex);
        if (const std::exception_ptr first = std::exchange(thrown, nullptr)) {
            lock.unlock();
            std::rethrow_exception(first);
        }
    }

    void check_local_memory(const ir::Kernel& k, const Launch& launch) const {
        int64_t bytes = 0;
        for (const ir::Memory& m : k.memories)
            if (m.kind == ir::MemoryKind::local) bytes += local_elements(k, m, launch.group) * m.element.size;
        interp::check_local_memory(k, launch.group, bytes, limits().local_memory, "interp");
    }

    /// The memory of the kernel's arrays, with shadow cells for allocations that the launch writes: only these can have a race.
    std::vector<interp::View> views_of(const InterpProgram& program, const Launch& launch) {
        const ir::Kernel& k = program.kernel;
        std::vector<interp::View> views(k.memories.size());
        for (size_t m = 0; m < views.size(); ++m) {
            const ir::Memory& memory = k.memories[m];
            if (memory.kind != ir::MemoryKind::array) continue;
            const Launch::Array& array = launch.arguments[size_t(memory.argument)].array;
            interp::View& view = views[m];
            view.elements = 1;
            for (int axis = memory.rank - 1; axis >= 0; --axis) {
                view.extents.push_back(array.extents[size_t(axis)]);
                view.elements *= view.extents.back();
            }
            if (!array.memory) continue;
            const HostMemory& held = host(*array.memory);
            view.data = held.data.get() + array.offset;
            if (held.unset) view.unset = held.unset.get() + array.offset;
        }
        for (size_t m = 0; m < views.size(); ++m)
            if (program.written[m] && views[m].data)
                give_cells(k, launch, *launch.arguments[size_t(k.memories[m].argument)].array.memory, views);
        return views;
    }

    /// Sets the shadow cells of all arrays in an allocation; allocates them if the existing ones do not fit.
    void give_cells(const ir::Kernel& k, const Launch& launch, Allocation& memory, std::vector<interp::View>& views) {
        // The granule must fit every view of the memory: the smallest leaf of any of them, or less if they are misaligned to each
        // other.
        int shift = 3;
        const auto each_view = [&](auto&& f) {
            for (size_t m = 0; m < views.size(); ++m) {
                if (k.memories[m].kind != ir::MemoryKind::array) continue;
                const Launch::Array& array = launch.arguments[size_t(k.memories[m].argument)].array;
                if (array.memory == &memory) f(k.memories[m], views[m], array.offset);
            }
        };
        each_view([&](const ir::Memory& m, interp::View&, int64_t offset) {
            shift = std::min(shift, granule_shift(m.element));
            for (const Leaf& leaf : m.element.leaves)
                shift = std::min(shift, std::countr_zero(uint64_t(offset) | leaf.offset | m.element.size | 8u));
        });
        Shadow& shadow = host(memory).shadow;
        const bool fits = shadow.cells && shadow.granule_shift <= shift && shadow.generation == scratch.generation;
        if (!fits) {
            const size_t count = size_t((memory.bytes >> shift) + 1);
            shadow.cells.reset(static_cast<Cell*>(std::calloc(count, sizeof(Cell))));
            if (!shadow.cells)
                fail("cannot allocate ", count * sizeof(Cell), " bytes on interp for the race checks of an allocation of ",
                     memory.bytes, " bytes: the system gives no more memory");
            shadow.granule_shift = shift;
            shadow.generation = scratch.generation;
        }
        each_view([&](const ir::Memory&, interp::View& view, int64_t offset) {
            view.cells = shadow.cells.get() + (offset >> shadow.granule_shift);
            view.granule_shift = shadow.granule_shift;
        });
    }

    /// Resets the 32-bit epochs before they run out, and drops all remembered accesses. Nothing refers to them between launches.
    void begin_epochs_anew() {
        scratch.epoch = 0;
        ++scratch.generation;
        std::ranges::fill(scratch.local_cells, Cell{});
        std::ranges::fill(scratch.private_written, 0);
    }

    const InterpMode mode;
    const int lanes;
    const InUse in_use = std::make_shared<std::atomic<int64_t>>(0);
    std::atomic<int> streams = 0;
    std::mutex mutex;  ///< guards all members below and the contents of allocations
    Scratch scratch;
    std::exception_ptr thrown;  ///< the first exception of a function that a stream called; the next wait throws it
};

}  // namespace

std::shared_ptr<Backend> open_interp(InterpMode mode, int subgroup_size) {
    if (subgroup_size < 1 || subgroup_size > 128)
        fail("interp is opened with subgroups of ", subgroup_size, "; they have 1 to 128 lanes");
    return std::make_shared<Interp>(mode, subgroup_size);
}
}  // namespace pumice
