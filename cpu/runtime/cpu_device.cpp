#include "cpu/runtime/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>

#include "core/host/next_launch_hint.h"
#include "core/host/ring.h"
#include "core/source/source_text.h"
#include "core/support/debug.h"
#include "core/support/error.h"
#include "cpu/plan/cpu_group_size.h"
#include "cpu/runtime/cpu_launch.h"

namespace pumice::cpu {
namespace {

/// The time of a launch whose code may have to be compiled first, in nanoseconds.
double expected_ns(const CpuProgram::Code& code, const Launch& launch) {
    constexpr double compilation_ns = 30e6;  // roughly; long enough that another thread than the submitting one waits for it
    if (!code.native) return compilation_ns;
    double groups = 1;
    for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t along = (launch.extent[axis] + launch.group[axis] - 1) / launch.group[axis];
        groups *= double(along);
    }
    return groups * double(code.native->group_ns);
}

struct PointEvent final : EventState {
    PointEvent(std::shared_ptr<CpuDevice> device, Streams& streams, StreamPoint point)
        : device(std::move(device)), streams(streams), point(point) {}
    void wait() override {
        const trace::Span span("host", "wait");
        streams.wait(point);
        device->settle();
    }
    bool done() override { return streams.poll(point); }

    const std::shared_ptr<CpuDevice> device;
    Streams& streams;
    const StreamPoint point;
};

/// A point that is reached, without an error or a report that a wait would deliver. All such points share one event.
struct ReachedEvent final : EventState {
    void wait() override { const trace::Span span("host", "wait"); }
    bool done() override { return true; }
};

const std::shared_ptr<EventState>& reached_event() {
    static const std::shared_ptr<EventState> event = std::make_shared<ReachedEvent>();
    return event;
}

/// The number in a debug switch, or `fallback` if it is not set.
int number(std::string_view name, int fallback, std::string_view meaning, bool (*allowed)(int)) {
    const std::string& set = debug::value(name);
    if (set.empty()) return fallback;
    const bool digits = set.size() < 6 && set.find_first_not_of("0123456789") == set.npos;
    if (!digits || !allowed(std::stoi(set))) fail(name, " is \"", set, "\"; it is ", meaning);
    return std::stoi(set);
}

std::string name_for(const Machine& machine, int width, int threads) {
    return text("cpu (", machine.cpu, ", ", width > 0 ? width : native_width(machine), " wide, ", threads,
                threads == 1 ? " thread)" : " threads)");
}

Limits limits_for(const Machine& machine, int width) {
    Limits l;
    l.max_group_size = max_group_items;
    l.max_group_extent = {max_group_items, max_group_items, max_group_items};
    l.local_memory = max_local_bytes;
    l.max_array_bytes = l.memory = physical_memory();
    l.subgroup_size = width > 0 ? width : native_width(machine);
    return l;
}

}  // namespace

Settings settings() {
    Settings s;
    s.width = number("PUMICE_CPU_WIDTH", ir::source_debugging() ? 1 : 0, "1, 4, 8 or 16",
                     [](int n) { return n == 1 || n == 4 || n == 8 || n == 16; });
    const unsigned there = std::max(1u, std::thread::hardware_concurrency());
    s.threads = number("PUMICE_CPU_THREADS", ir::source_debugging() ? 1 : int(there), "a number from 1 to 1024",
                       [](int n) { return n >= 1 && n <= 1024; });
    s.fixed_parts = number("PUMICE_CPU_STATIC", 0, "0 or 1", [](int n) { return n == 0 || n == 1; }) == 1;
    return s;
}

std::string unavailable_reason() { return llvm_unavailable(); }
std::string name() { return name_for(target_machine(), settings().width, settings().threads); }
Limits limits() { return limits_for(target_machine(), settings().width); }
std::shared_ptr<Backend> open() {
    const Settings s = settings();
    try {
        std::thread([] {}).join();  // oneTBB starts its threads only on demand, and cannot work without
    } catch (const std::system_error& e) { fail("the device cpu cannot be opened: the system gives no thread (", e.what(), ")"); }
    return std::make_shared<CpuDevice>(s.width, s.threads, s.fixed_parts);
}

CpuDevice::CpuDevice(int width, int threads, bool fixed_parts, const Machine& machine)
    : compiler(std::make_shared<Compiler>(width, machine)),
      owned_thread_pool(std::make_unique<ThreadPool>(threads, fixed_parts)),
      owned_streams(std::make_unique<Streams>(*owned_thread_pool)),
      thread_pool(*owned_thread_pool),
      streams(*owned_streams) {
    debug::log_line(text("opened ", name(), compiler->target.sleef ? " with SLEEF" : ""));
}

CpuDevice::~CpuDevice() {
    const auto end = [streams = owned_streams.release(), thread_pool = owned_thread_pool.release()] {
        delete streams;  // waits for its work, which the pool runs
        delete thread_pool;
    };
    try {
        streams.finish();
        std::vector<StreamPoint> unfinished;
        if (take_reports(unfinished)) reports.deliver_lines();
    } catch (...) {
        // Nobody is left to receive the error.
    }
    // A call on a stream may hold the last handle of the device: the pool cannot wait for itself.
    if (!ThreadPool::on_its_thread()) {
        end();
        return;
    }
    try {
        std::thread(end).detach();
    } catch (const std::system_error&) {
        // No thread can be started: both are leaked.
    }
}

std::string CpuDevice::name() const { return name_for(compiler->machine, compiler->target.width, thread_pool.threads); }
Limits CpuDevice::limits() const { return limits_for(compiler->machine, compiler->target.width); }

// ---- memory --------------------------------------------------------------------------------------------------------

std::shared_ptr<Allocation> CpuDevice::allocate(int64_t bytes, bool zero) {
    const auto memory = std::make_shared<CpuMemory>(in_use, pool, bytes, name());
    if (zero && !memory->zero())
        thread_pool.run(Priority::normal, bytes, bytes_piece,
                        [&](int64_t first, int64_t count) { std::memset(memory->data + first, 0, size_t(count)); });
    return memory;
}

void CpuDevice::wait_for_uses(CpuMemory& memory, bool write) {
    std::vector<StreamPoint> points;
    {
        const std::lock_guard lock(streams.mutex);
        conflicts(memory, nullptr, streams[0], write, points);
    }
    for (const StreamPoint& point : points) streams.wait(point);
    settle();
}

void CpuDevice::transfer(void* to, const void* from, int64_t bytes) {
    thread_pool.run(Priority::normal, bytes, bytes_piece, [=](int64_t first, int64_t count) {
        std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first, size_t(count));
    });
}

void CpuDevice::write(Allocation& to, int64_t offset, const void* from, int64_t bytes) {
    CpuMemory& memory = memory_of(to);
    wait_for_uses(memory, true);
    transfer(memory.data + offset, from, bytes);
}

void CpuDevice::read(Allocation& from, int64_t offset, void* to, int64_t bytes) {
    CpuMemory& memory = memory_of(from);
    wait_for_uses(memory, false);
    transfer(to, memory.data + offset, bytes);
}

void CpuDevice::fill(Allocation& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_size, int stream) {
    FillWork work;
    if (pattern_size > int64_t(work.pattern.size())) library_bug(text("a fill by a pattern of ", pattern_size, " bytes"));
    work.to = memory_of(to).shared_from_this();
    work.offset = offset, work.bytes = bytes, work.pattern_size = pattern_size;
    std::memcpy(work.pattern.data(), pattern, size_t(pattern_size));
    const MemoryUse use{&memory_of(to), true};
    submit(stream, work, {&use, 1});
}

void CpuDevice::copy(Allocation& from, int64_t from_offset, Allocation& to, int64_t to_offset, int64_t bytes, int stream) {
    CopyWork work;
    work.held[0] = memory_of(from).shared_from_this(), work.held[1] = memory_of(to).shared_from_this();
    work.from = work.held[0]->data + from_offset, work.to = work.held[1]->data + to_offset, work.bytes = bytes;
    const MemoryUse uses[] = {{work.held[0].get(), false}, {work.held[1].get(), true}};
    submit(stream, work, uses);
}

void CpuDevice::write_async(Allocation& to, int64_t offset, const void* from, int64_t bytes, int stream) {
    CopyWork work;
    work.held[0] = memory_of(to).shared_from_this();
    work.from = static_cast<const std::byte*>(from), work.to = work.held[0]->data + offset, work.bytes = bytes;
    const MemoryUse use{work.held[0].get(), true};
    submit(stream, work, {&use, 1});
}

void CpuDevice::read_async(Allocation& from, int64_t offset, void* to, int64_t bytes, int stream) {
    CopyWork work;
    work.held[0] = memory_of(from).shared_from_this();
    work.from = work.held[0]->data + offset, work.to = static_cast<std::byte*>(to), work.bytes = bytes;
    const MemoryUse use{work.held[0].get(), false};
    submit(stream, work, {&use, 1});
}

// ---- kernels -------------------------------------------------------------------------------------------------------

std::shared_ptr<Executable> CpuDevice::compile(std::shared_ptr<const ir::Kernel> kernel) {
    return std::make_shared<CpuProgram>(compiler, without_group_operations(std::move(kernel), compiler->target.rules));
}

std::array<int64_t, 3> CpuDevice::choose_group(const ir::Kernel& kernel, const Launch& launch) const {
    return cpu::choose_group(kernel, launch.extent, launch.rank);
}

template <class Kind> StreamPoint CpuDevice::submit(int stream, Kind& work, std::span<const MemoryUse> uses, bool followed) {
    std::unique_lock lock(streams.mutex);
    return submit_locked(stream, work, uses, followed, [&] { return std::make_unique<Kind>(std::move(work)); }, lock);
}

StreamPoint CpuDevice::submit_locked(int stream, Work& work, std::span<const MemoryUse> uses, bool followed,
                                     const std::function<std::unique_ptr<Work>()>& keep, std::unique_lock<std::mutex>& lock) {
    CpuStream& on = streams[stream];
    std::vector<StreamPoint> after;
    for (const MemoryUse& use : uses) conflicts(*use.memory, &on, streams[0], use.write, after);
    const StreamPoint point{&on, on.submitted + 1};
    for (const MemoryUse& use : uses) note_use(*use.memory, point, use.write);
    streams.submit(on, work, std::move(after), keep, lock, followed);
    return point;
}

bool CpuDevice::launch_again(CpuProgram& program, const Launch& asked) {
    std::unique_lock lock(streams.mutex);
    auto memoised = program.memoised.take(asked.number, [](const auto& m) { return m != nullptr; });
    if (!memoised || !(*memoised)->work.bind(asked)) return false;
    MemoisedLaunch& known = **memoised;
    known.work.traced = take_traced();
    const auto keep = [&known] {
        std::unique_ptr<LaunchWork> copy = known.work.copy();
        for (const MemoryUse& use : known.uses) copy->held.push_back(use.memory->shared_from_this());
        return copy;
    };
    submit_locked(asked.stream, known.work, known.uses, false, keep, lock);
    program.memoised.add(asked.number, std::move(*memoised));
    return true;
}

void CpuDevice::launch(const std::shared_ptr<Executable>& executable, const Launch& asked) {
    CpuProgram& program = static_cast<CpuProgram&>(*executable);
    const bool indirect = asked.counts.memory;
    const bool followed = !indirect && compiler->target.rules.has(Rule::launch_fusion) && detail::NextLaunchHint::now();
    // A memoised launch is neither indirect nor with reports, and is not held back for a fusion.
    const bool comes_again = asked.number && !indirect && !followed && !program.reports;
    if (comes_again && launch_again(program, asked)) return;
    const int threads = thread_pool.threads;
    // Stays valid as long as the work: the work keeps the program and the pool.
    const auto work_of = [threads, pool = pool, executable, &program](std::shared_ptr<Native> native, const Launch& launch) {
        return LaunchWork(std::move(native), launch, program.across, program.partition(launch, threads), pool);
    };
    const Launch launch = program.arranged(asked, threads, followed);
    std::vector<MemoryUse> uses;
    uses.reserve(launch.arguments.size() + indirect);
    for (size_t i = 0; i < launch.arguments.size(); ++i)
        if (Allocation* const memory = launch.arguments[i].array.memory)
            uses.push_back({&memory_of(*memory), (*program.kernel)[program.kernel->params[i].memory].access != ir::Access::in});
    CpuProgram::Code code;
    if (compiler->in_background())
        code = program.code(launch, threads, true);
    else
        code.native = program.variant(launch, threads);
    if (indirect) {
        uses.push_back({&memory_of(*asked.counts.memory), false});
        // When its turn comes, the variant of the code, the group's size and the partition among threads are chosen.
        DeferredLaunch later(expected_ns(code, launch), [work_of, threads, asked, &program]() -> std::optional<LaunchWork> {
            const std::optional<Launch> counted = with_counts(asked);
            if (!counted) return std::nullopt;
            const Launch now = program.arranged(*counted, threads, false);
            return work_of(program.variant(now, threads), now);
        });
        return submit_launch(program, launch, later, uses, false);
    }
    if (code.native) {
        LaunchWork work = work_of(std::move(code.native), launch);
        if (comes_again && work.can_be_copied()) {
            auto memoised = std::make_shared<MemoisedLaunch>(MemoisedLaunch{std::move(*work.copy()), uses});
            const std::lock_guard lock(streams.mutex);
            program.memoised.add(asked.number, std::move(memoised));
        }
        return submit_launch(program, launch, work, uses, followed);
    }
    DeferredLaunch later(expected_ns(code, launch),
                         [work_of, launch, code]() -> std::optional<LaunchWork> { return work_of(code.later.get(), launch); });
    submit_launch(program, launch, later, uses, false);
}

template <class Kind> void CpuDevice::submit_launch(const CpuProgram& program, const Launch& launch, Kind& work,
                                                    std::span<const MemoryUse> uses, bool followed) {
    work.held.reserve(uses.size());
    for (const MemoryUse& use : uses) work.held.push_back(use.memory->shared_from_this());
    if (!program.reports) return void(submit(launch.stream, work, uses, followed));
    std::vector<StreamPoint> unfinished;
    // Waits for earlier launches and empties the ring, if what they and this launch may print does not fit into it together. A
    // host call on a stream cannot wait for itself: the ring stays, and records without room are counted as lost. The product
    // cannot overflow, since a range has at most 2^48 items. No launch prints more records than the ring has words.
    const int64_t items = std::min<int64_t>(launch.extent[0] * launch.extent[1] * launch.extent[2], ring::words);
    const int64_t words = words_printed(*program.kernel) * items;
    while (expected + words > int64_t(ring::words) && !take_reports(unfinished)) {
        if (CallWork::inside()) break;
        for (const StreamPoint& point : unfinished) streams.wait(point);
    }
    reports.deliver_lines();
    const std::lock_guard lock(reporting);
    if (ring.empty()) {
        ring.resize(ring::words);
        ring::clear(ring);
    }
    work.report(ring.data(), reports.add(program.kernel, {launch.start, launch.extent, launch.group, launch.rank}));
    reporting_work.push_back(submit(launch.stream, work, uses));
    expected += words;
    reported = true;
}

void CpuDevice::prepare(const std::shared_ptr<Executable>& executable, const Launch& described) {
    CpuProgram& program = static_cast<CpuProgram&>(*executable);
    Launch launch = described;
    // Arrays of their own in place of the launch's: the choice of a variant looks at their addresses, and at nothing in them.
    std::vector<std::shared_ptr<Allocation>> places;
    for (Launch::Argument& argument : launch.arguments) {
        if (argument.array.bytes == 0) continue;
        places.push_back(allocate(64, false));
        argument.array.memory = places.back().get();
    }
    program.variant(program.arranged(launch, thread_pool.threads, false), thread_pool.threads);
}

/// Takes the reports if all launches that report are finished. Returns false with the unfinished launches otherwise.
bool CpuDevice::take_reports(std::vector<StreamPoint>& unfinished) {
    const std::lock_guard lock(reporting);
    std::erase_if(reporting_work, [](const StreamPoint& point) { return point.reached(); });
    unfinished = reporting_work;
    if (!unfinished.empty()) return false;
    if (reported) reports.take(ring);
    if (reported) ring::clear(ring);
    reported = false;
    expected = 0;
    return true;
}

void CpuDevice::settle() {
    if (!reported) return;
    std::vector<StreamPoint> unfinished;
    while (!take_reports(unfinished)) {
        if (CallWork::inside()) return;  // another wait delivers them
        for (const StreamPoint& point : unfinished) streams.wait(point);
    }
    reports.deliver();
}

void CpuDevice::synchronize() {
    const trace::Span span("host", "synchronize");
    streams.finish();
    settle();
}

// ---- streams -------------------------------------------------------------------------------------------------------

void CpuDevice::call(int stream, std::function<void()> act) {
    CallWork work;
    work.act = std::move(act);
    submit(stream, work, {});
}

std::shared_ptr<EventState> CpuDevice::record(int stream) {
    if (stream == 0 && !reported && streams.standard_is_settled()) return reached_event();
    return std::make_shared<PointEvent>(std::static_pointer_cast<CpuDevice>(shared_from_this()), streams, streams.last(stream));
}

void CpuDevice::wait_for(int stream, const std::shared_ptr<EventState>& event) {
    const auto* own = dynamic_cast<const PointEvent*>(event.get());
    if (!own || own->device.get() != this) return event->wait();
    streams.wait_for(stream, own->point);
}

}  // namespace pumice::cpu
