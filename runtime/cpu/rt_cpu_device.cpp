// The device cpu of the runtime: native code that was built ahead of time, on the process's own memory.
//
// The processor's level (x86-64-v2 to v4, AArch64, RISC-V) is found when the device is opened. Each launch takes the best level
// up to it that its kernel has code for, else generic code (rt_choice.cpp, choose_native). The environment variable
// PUMICE_CPU_TARGET asks for a lower level, PUMICE_CPU_THREADS for a number of threads, as in the library.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cpu/rt_choice.h"
#include "runtime/cpu/rt_memory_pool.h"
#include "runtime/cpu/rt_processor.h"
#include "runtime/cpu/rt_run.h"
#include "runtime/cpu/rt_streams.h"
#include "runtime/device/bundles.h"
#include "runtime/device/rt_ring.h"

namespace pumice_rt {
namespace {

struct CpuMemory : pumice_memory_t {
    MemoryPool::MemoryBlock block = {nullptr, 0};
};

/// A library on a device: its native functions of all levels.
struct CpuLibrary {
    uint64_t bundle;    ///< Bundle::serial: another bundle may get the address of a closed one
    NativeCode* codes;  ///< one for each NativeRecord of the bundle; `entry` is null if this machine cannot run it
    size_t bytes;
};

struct CpuDevice final : pumice_device_t {
    explicit CpuDevice(const pumice_hooks& with)
        : pumice_device_t(with), pool(hooks), blocks(hooks), memory(hooks), libraries(hooks), streams(hooks) {}

    pumice_status open();

    pumice_status allocate(int64_t bytes, pumice_memory* to) override;
    void release(pumice_memory one) override;
    pumice_status write(pumice_memory to, int64_t offset, const void* from, int64_t bytes) override;
    pumice_status read(pumice_memory from, int64_t offset, void* to, int64_t bytes) override;
    pumice_status fill(pumice_memory to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_bytes,
                       pumice_stream stream) override;
    pumice_status copy(pumice_memory from, int64_t from_offset, pumice_memory to, int64_t to_offset, int64_t bytes,
                       pumice_stream stream) override;
    pumice_status prepare(const Bundle& bundle, const pumice_library& library, uint32_t kernel) override;
    pumice_status launch(const Launch& launch) override;
    pumice_status create_stream(int priority, pumice_stream* stream) override;
    void release_stream(pumice_stream stream) override;
    pumice_status record(pumice_stream stream, pumice_event* event) override;
    pumice_status wait_for(pumice_stream stream, pumice_event event) override;
    pumice_status wait(pumice_event event) override;
    bool done(pumice_event event) override;
    void release_event(pumice_event event) override;
    pumice_status synchronize() override;
    void close() override;

    pumice_status run(const Command& command);

private:
    void move_bytes(void* to, const void* from, int64_t bytes, int priority = 1);
    pumice_status submit(pumice_stream stream, Command& command);
    pumice_status launch_now(const Launch& launch);
    pumice_status library_of(const Bundle& bundle, const pumice_library& library, const CpuLibrary*& found);
    pumice_status make_library(const Bundle& bundle, const pumice_library& library);
    bool fill_vector_functions(const pumice_library& library);
    pumice_status no_code(const Launch& launch) const;
    pumice_status choose(Launch& launch, NativeCode*& code);
    pumice_status begin_report(const Launch& launch, const NativeRecord& native, uint32_t& number);
    void end_report();
    bool delivering_here() const;
    pumice_status deliver_lines();
    void keep_error(CpuStream& stream);
    /// Waits for the work of all streams so far.
    void drain();
    /// The same; errors of that work are returned, and reports of kernels delivered.
    pumice_status settle();

    ThreadPool pool;
    ScratchBlocks blocks;
    MemoryPool memory;
    int64_t cache_bytes = 0;
    uint32_t most_level = 0;
    Mutex mutex;         ///< guards `libraries` and what belongs to the ring
    Mutex stream_mutex;  ///< guards `streams` and the kept error; no stream's thread takes it
    List<CpuLibrary> libraries;
    List<CpuStream*> streams;
    StreamGate gate;
    int stream_count = 0;
    bool used_streams = false;  ///< there was one
    pumice_status kept_error = PUMICE_OK;
    char kept_sentence[512] = "";

    // Reports of kernels. Lines are delivered while no kernel writes into the ring.
    uint32_t* ring = nullptr;
    bool reported = false, delivers = false;
    int reporting = 0;     ///< launches that run and may report
    int64_t expected = 0;  ///< words that launches may have printed since the ring was empty
    Condition reports_end;
    pthread_t deliverer = {};  ///< the thread that delivers
};

/// Launches between two deliveries.
constexpr size_t most_reporting = 4096;

constexpr int64_t bytes_a_part = 256 << 10;

pumice_status CpuDevice::open() {
    if (!watch_forks())
        return fail(PUMICE_ERROR_MEMORY, "cpu cannot be opened: the process has no memory for a handler of forks");
    const int asked = atoi(environment("PUMICE_CPU_THREADS"));
    RT_TRY(pool.start(hooks.threads > 0 ? hooks.threads : asked));
    cache_bytes = bytes_in_caches(pool.threads());
    most_level = native_level();
    const char* const target = environment("PUMICE_CPU_TARGET");
    if (strncmp(target, "x86-64-v", 8) == 0 && target[8] >= '2' && target[8] <= '4' && runs_level(uint32_t(target[8] - '0')))
        most_level = uint32_t(target[8] - '0');
    snprintf(name, sizeof name, "cpu (%s, %d thread%s)", native_level_name(most_level), pool.threads(),
             pool.threads() == 1 ? "" : "s");
    log("opened %s", name);
    return PUMICE_OK;
}

// ---- memory ----

pumice_status CpuDevice::allocate(int64_t bytes, pumice_memory* to) {
    CpuMemory* const made = make<CpuMemory>(hooks);
    const MemoryPool::MemoryBlock block = made ? memory.take(size_t(bytes)) : MemoryPool::MemoryBlock{nullptr, 0};
    if (!block.data) {
        destroy(hooks, made);
        return fail(PUMICE_ERROR_MEMORY, "cannot allocate %lld bytes on %s: the system gives no more memory", longest(bytes),
                    name);
    }
    made->device = this, made->bytes = bytes, made->block = block;
    *to = made;
    return PUMICE_OK;
}

void CpuDevice::release(pumice_memory one) {
    drain();
    CpuMemory* const own = static_cast<CpuMemory*>(one);
    memory.give(own->block);
    destroy(hooks, own);
}

void CpuDevice::move_bytes(void* to, const void* from, int64_t bytes, int priority) {
    struct Copy {
        char* to;
        const char* from;
        int64_t bytes;
    } whole = {static_cast<char*>(to), static_cast<const char*>(from), bytes};
    pool.run(
        int((bytes + bytes_a_part - 1) / bytes_a_part),
        [](void* copy, int part) {
            const Copy& c = *static_cast<Copy*>(copy);
            const int64_t first = part * bytes_a_part, left = c.bytes - first;
            memcpy(c.to + first, c.from + first, size_t(left < bytes_a_part ? left : bytes_a_part));
        },
        &whole, priority);
}

pumice_status CpuDevice::write(pumice_memory to, int64_t offset, const void* from, int64_t bytes) {
    RT_TRY(settle());
    move_bytes(host_bytes(to) + offset, from, bytes);
    return PUMICE_OK;
}

pumice_status CpuDevice::read(pumice_memory from, int64_t offset, void* to, int64_t bytes) {
    RT_TRY(settle());
    move_bytes(to, host_bytes(from) + offset, bytes);
    return PUMICE_OK;
}

pumice_status CpuDevice::fill(pumice_memory to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_bytes,
                              pumice_stream stream) {
    Command command = {Command::Kind::fill};
    command.to = to, command.to_offset = offset, command.size = bytes, command.pattern_size = pattern_bytes;
    memcpy(command.pattern, pattern, size_t(pattern_bytes));
    return submit(stream, command);
}

pumice_status CpuDevice::copy(pumice_memory from, int64_t from_offset, pumice_memory to, int64_t to_offset, int64_t bytes,
                              pumice_stream stream) {
    Command command = {Command::Kind::copy};
    command.from = from, command.from_offset = from_offset;
    command.to = to, command.to_offset = to_offset, command.size = bytes;
    return submit(stream, command);
}

// ---- streams ----

pumice_status CpuDevice::run(const Command& c) {
    switch (c.kind) {
        case Command::Kind::launch: return launch_now(c.launch);
        case Command::Kind::copy:
            if (c.from == c.to)
                memmove(host_bytes(c.to) + c.to_offset, host_bytes(c.from) + c.from_offset, size_t(c.size));
            else
                move_bytes(host_bytes(c.to) + c.to_offset, host_bytes(c.from) + c.from_offset, c.size,
                           priority_of(c.launch.stream));
            return PUMICE_OK;
        case Command::Kind::fill: {
            char* const begin = host_bytes(c.to) + c.to_offset;
            // Doubles what is filled already.
            memcpy(begin, c.pattern, size_t(c.pattern_size));
            for (int64_t done = c.pattern_size; done < c.size; done *= 2)
                memcpy(begin + done, begin, size_t(done < c.size - done ? done : c.size - done));
            return PUMICE_OK;
        }
        case Command::Kind::wait:
            c.other->wait(c.number);
            c.other->let_go();
            return PUMICE_OK;
    }
    return PUMICE_OK;
}

/// Runs the command now on the default stream, else hands a copy to the stream.
pumice_status CpuDevice::submit(pumice_stream stream, Command& command) {
    command.launch.stream = stream;
    if (!stream) {
        drain();
        return run(command);
    }
    if (static_cast<CpuStream*>(stream)->is_of_parent())
        return fail(PUMICE_ERROR_LOST,
                    "a stream of %s was made before this process was forked, and its thread does not exist here", name);
    const size_t arguments = command.launch.argument_count * sizeof(Launch::Argument);
    Command* const own = static_cast<Command*>(pumice_rt::allocate(hooks, sizeof(Command) + arguments));
    if (!own) return fail(PUMICE_ERROR_MEMORY, "work cannot be given to a stream of %s: the system gives no more memory", name);
    *new (own) Command = command;
    own->bytes = sizeof(Command) + arguments, own->next = nullptr;
    if (arguments) {
        memcpy(static_cast<void*>(own + 1), command.launch.arguments, arguments);
        own->launch.arguments = reinterpret_cast<Launch::Argument*>(own + 1);
    }
    static_cast<CpuStream*>(stream)->submit(own);
    return PUMICE_OK;
}

pumice_status CpuDevice::create_stream(int priority, pumice_stream* stream) {
    CpuStream* const made = make<CpuStream>(
        hooks, this, priority, [](pumice_device on, const Command& c) { return static_cast<CpuDevice*>(on)->run(c); }, gate,
        pool.threads());
    if (!made) return fail(PUMICE_ERROR_MEMORY, "a stream on %s cannot be made: the system gives no more memory", name);
    pumice_status status = made->start();
    const Lock lock(stream_mutex);
    if (status == PUMICE_OK && !streams.push(made))
        status = fail(PUMICE_ERROR_MEMORY, "a stream on %s cannot be made: the system gives no more memory", name);
    if (status != PUMICE_OK) {
        made->stop();
        made->let_go();
        return status;
    }
    __atomic_fetch_add(&stream_count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&used_streams, true, __ATOMIC_RELAXED);
    *stream = made;
    return PUMICE_OK;
}

void CpuDevice::release_stream(pumice_stream stream) {
    CpuStream* const own = static_cast<CpuStream*>(stream);
    if (own->is_of_parent()) return;
    own->wait(own->submitted_so_far());  // before the stream leaves the list, so that other calls wait for it, too
    {
        const Lock lock(stream_mutex);
        size_t i = 0;
        while (streams[i] != own) ++i;
        streams.remove_unordered(i);
        __atomic_fetch_sub(&stream_count, 1, __ATOMIC_RELAXED);
        own->stop();
        keep_error(*own);
    }
    own->let_go();
}

/// An error that nobody has asked for stays for the next wait.
void CpuDevice::keep_error(CpuStream& stream) {
    if (kept_error != PUMICE_OK) return void(stream.take_error(true));
    kept_error = stream.take_error();
    if (kept_error != PUMICE_OK) snprintf(kept_sentence, sizeof kept_sentence, "%s", pumice_error());
}

pumice_status CpuDevice::record(pumice_stream stream, pumice_event* event) {
    CpuEvent* const made = make<CpuEvent>(hooks);
    if (!made) return fail(PUMICE_ERROR_MEMORY, "an event on %s cannot be made: the system gives no more memory", name);
    made->device = this, made->stream = static_cast<CpuStream*>(stream);
    if (stream) made->number = made->stream->submitted_so_far(), made->stream->hold();
    *event = made;
    return PUMICE_OK;
}

pumice_status CpuDevice::wait_for(pumice_stream stream, pumice_event event) {
    const CpuEvent& e = *static_cast<CpuEvent*>(event);
    if (!e.stream) return PUMICE_OK;
    Command command = {Command::Kind::wait};
    command.other = e.stream, command.number = e.number;
    e.stream->hold();
    const pumice_status status = submit(stream, command);
    if (status != PUMICE_OK) e.stream->let_go();
    return status;
}

pumice_status CpuDevice::wait(pumice_event event) {
    const CpuEvent& e = *static_cast<CpuEvent*>(event);
    if (e.stream) {
        e.stream->wait(e.number);
        RT_TRY(e.stream->take_error());
    }
    return __atomic_load_n(&stream_count, __ATOMIC_RELAXED) == 0 ? settle() : PUMICE_OK;
}

bool CpuDevice::done(pumice_event event) {
    const CpuEvent& e = *static_cast<CpuEvent*>(event);
    return !e.stream || e.stream->done(e.number);
}

void CpuDevice::release_event(pumice_event event) {
    CpuEvent* const own = static_cast<CpuEvent*>(event);
    if (own->stream) own->stream->let_go();
    destroy(hooks, own);
}

void CpuDevice::drain() {
    if (__atomic_load_n(&stream_count, __ATOMIC_RELAXED) == 0) return;
    const Lock lock(stream_mutex);
    for (CpuStream* const stream : streams) stream->wait(stream->submitted_so_far());
}

pumice_status CpuDevice::settle() {
    if (__atomic_load_n(&used_streams, __ATOMIC_RELAXED)) {
        const Lock lock(stream_mutex);
        for (CpuStream* const stream : streams) stream->wait(stream->submitted_so_far());
        for (CpuStream* const stream : streams) keep_error(*stream);
    }
    {
        const Lock lock(mutex);
        if (delivering_here()) return PUMICE_OK;
        RT_TRY(deliver_lines());
    }
    // The first error is returned now, and a failed requirement by the next wait.
    if (__atomic_load_n(&used_streams, __ATOMIC_RELAXED)) {
        const Lock lock(stream_mutex);
        const pumice_status kept = kept_error;
        kept_error = PUMICE_OK;
        if (kept != PUMICE_OK) return fail(kept, "%s", kept_sentence);
    }
    return reports.take_failure();
}

/// True in a call by the hook `print`: such a call does not wait for the lines. The caller holds `mutex`.
bool CpuDevice::delivering_here() const { return delivers && pthread_equal(deliverer, pthread_self()); }

/// Waits until no kernel reports, and delivers what was reported. The caller holds `mutex`, which is free while the hook `print`
/// runs.
pumice_status CpuDevice::deliver_lines() {
    while (delivers || reporting > 0) reports_end.wait(mutex);
    if (!reported) return PUMICE_OK;
    delivers = true, deliverer = pthread_self();
    mutex.unlock();
    const pumice_status status = reports.deliver_lines(ring);
    mutex.lock();
    if (status == PUMICE_OK) {
        ring::clear(ring, ring::words);
        expected = 0, reported = false;
    }
    delivers = false;
    reports_end.wake_all();
    return status;
}

pumice_status CpuDevice::synchronize() { return settle(); }

void CpuDevice::close() {
    report(this, settle());
    if (pool.is_of_parent()) return;  // the objects stay: destroying a condition waits for threads that the child lacks
    for (CpuStream* const stream : streams) stream->stop(), stream->let_go();  // that were not released
    for (const CpuLibrary& library : libraries) pumice_rt::release(hooks, library.codes, library.bytes);
    pumice_rt::release(hooks, ring, ring::words * sizeof *ring);
    const pumice_hooks with = hooks;
    destroy(with, this);
}

// ---- kernels ----

/// Finds SLEEF's functions for the library's code that calls them; false if the machine lacks one.
bool CpuDevice::fill_vector_functions(const pumice_library& library) {
    if (library.vector_function_count == 0) return true;
    if (!library.vector_functions || !library.vector_function_names) return false;
    static void* opened = nullptr;  // the same for every thread
    void* sleef = __atomic_load_n(&opened, __ATOMIC_ACQUIRE);
    if (!sleef) {
        sleef = dlopen("libsleef.so.3", RTLD_NOW | RTLD_LOCAL);
        __atomic_store_n(&opened, sleef, __ATOMIC_RELEASE);
    }
    if (!sleef) {
        log("libsleef.so.3 (Debian's package libsleef3) is missing: vector maths of %s runs item by item", library.name);
        return false;
    }
    for (uint32_t i = 0; i < library.vector_function_count; ++i) {
        void* const function = dlsym(sleef, library.vector_function_names[i]);
        if (!function) return false;
        __atomic_store_n(&library.vector_functions[i], function, __ATOMIC_RELEASE);
    }
    return true;
}

pumice_status CpuDevice::make_library(const Bundle& bundle, const pumice_library& library) {
    const uint32_t count = bundle.counts[uint32_t(SectionKind::natives)];
    const size_t bytes = count * sizeof(NativeCode);
    NativeCode* const codes = static_cast<NativeCode*>(pumice_rt::allocate(hooks, bytes));
    if (!codes || !libraries.reserve(libraries.size() + 1)) {
        pumice_rt::release(hooks, codes, bytes);
        return fail(PUMICE_ERROR_MEMORY, "the library %s cannot be used on %s: the system gives no more memory", library.name,
                    name);
    }
    const bool vectors = fill_vector_functions(library);
    for (uint32_t i = 0; i < count; ++i) {
        const NativeRecord& record = bundle.natives[i];
        const bool usable = record.entry < library.code_count && runs_level(record.level) &&
                            (vectors || !(record.flags & NativeRecord::vector_functions));
        codes[i] = {&record, usable ? reinterpret_cast<Entry*>(library.code[record.entry]) : nullptr, record.group_ns};
    }
    libraries.push({bundle.serial, codes, bytes});
    return PUMICE_OK;
}

pumice_status CpuDevice::library_of(const Bundle& bundle, const pumice_library& library, const CpuLibrary*& found) {
    for (const CpuLibrary& one : libraries)
        if (one.bundle == bundle.serial) {
            found = &one;
            return PUMICE_OK;
        }
    RT_TRY(make_library(bundle, library));
    found = &libraries[libraries.size() - 1];
    return PUMICE_OK;
}

pumice_status CpuDevice::no_code(const Launch& launch) const {
    const KernelRecord& k = launch.record();
    if (k.natives.count == 0)
        return fail(PUMICE_ERROR_DEVICE, "kernel \"%s\" (%s) has no code for processors in the library %s", launch.kernel_name(),
                    launch.bundle->text(k.source), launch.library->name);
    if (launch.group[0])
        return fail(
            PUMICE_ERROR_ARGUMENT,
            "kernel \"%s\" (%s) is launched in groups of %lld x %lld x %lld (axis 0 first), and the library %s has no code of "
            "that group size for %s",
            launch.kernel_name(), launch.bundle->text(k.source), longest(launch.group[0]), longest(launch.group[1]),
            longest(launch.group[2]), launch.library->name, name);
    return fail(PUMICE_ERROR_DEVICE, "kernel \"%s\" (%s) has no code in the library %s that %s can run", launch.kernel_name(),
                launch.bundle->text(k.source), launch.library->name, name);
}

pumice_status CpuDevice::prepare(const Bundle& bundle, const pumice_library& library, uint32_t kernel) {
    const Lock lock(mutex);
    const CpuLibrary* found = nullptr;
    RT_TRY(library_of(bundle, library, found));
    const RecordRange& natives = bundle.kernels[kernel].natives;
    for (uint32_t i = 0; i < natives.count; ++i)
        if (found->codes[natives.first + i].entry) return PUMICE_OK;
    Launch launch;
    launch.bundle = &bundle, launch.library = &library, launch.kernel = kernel;
    return no_code(launch);
}

pumice_status CpuDevice::launch(const Launch& launch) {
    if (!launch.stream) {
        drain();
        return launch_now(launch);
    }
    Launch arranged = launch;
    NativeCode* code = nullptr;
    RT_TRY(choose(arranged, code));  // so that a group without code is an error here, and not at the next wait
    Command command = {Command::Kind::launch};
    command.launch = launch;
    return submit(launch.stream, command);
}

/// Words that the launch may print.
int64_t words_printed(const Launch& launch) {
    const RecordRange& formats = launch.record().formats;
    int64_t an_item = 0, items = 1;
    for (uint32_t f = formats.first; f < formats.first + formats.count; ++f) {
        const FormatRecord& format = launch.bundle->formats[f];
        if (format.is_requirement) continue;
        an_item += int64_t(ring::head);
        for (uint32_t i = 0; i < format.types.count; ++i)
            an_item += int64_t(ring::words_of(launch.bundle->leaves[format.types.first + i].type));
    }
    for (const int64_t extent : launch.extent) items *= extent;
    return an_item * (items < int64_t(ring::words) ? items : int64_t(ring::words));
}

/// Registers a launch that may report, and gives its number in the ring's reports; the first one allocates the ring. Earlier
/// lines are delivered first if the ring may have no room for more. Refuses a launch by the hook that takes the lines.
pumice_status CpuDevice::begin_report(const Launch& launch, const NativeRecord& native, uint32_t& number) {
    const Lock lock(mutex);
    if (delivering_here())
        return fail(PUMICE_ERROR_ARGUMENT, "kernel \"%s\" prints, and is launched by the hook that takes the lines",
                    launch.kernel_name());
    if (!ring) {
        ring = static_cast<uint32_t*>(pumice_rt::allocate(hooks, ring::words * sizeof *ring, 64));
        if (ring) ring::clear(ring, ring::words);
    }
    const int64_t words = words_printed(launch);
    while (delivers || (reported && (expected + words > int64_t(ring::words) || reports.added() >= most_reporting)))
        RT_TRY(deliver_lines());
    const int64_t group[3] = {native.group[0], native.group[1], native.group[2]};
    number = ring ? reports.add(launch, group) : 0;
    if (!number)
        return fail(PUMICE_ERROR_MEMORY, "kernel \"%s\" prints, and the system gives no memory for it on %s",
                    launch.kernel_name(), name);
    ++reporting, expected += words, reported = true;
    return PUMICE_OK;
}

void CpuDevice::end_report() {
    const Lock lock(mutex);
    --reporting;
    reports_end.wake_all();
}

/// Arranges the launch's axes as the kernel's code has them, and finds the function.
pumice_status CpuDevice::choose(Launch& launch, NativeCode*& code) {
    const Launch asked = launch;
    if (launch.record().flags & KernelRecord::swapped)
        for (int64_t* const axes : {launch.start, launch.extent, launch.group}) {
            const int64_t one = axes[1];
            axes[1] = axes[2], axes[2] = one;
        }
    const Lock lock(mutex);
    const CpuLibrary* library = nullptr;
    RT_TRY(library_of(*launch.bundle, *launch.library, library));
    code = choose_native(launch, library->codes, most_level, pool.threads(), cache_bytes);
    return code ? PUMICE_OK : no_code(asked);
}

pumice_status CpuDevice::launch_now(const Launch& asked) {
    Launch launch = asked;
    NativeCode* code = nullptr;
    if (launch.counted) {
        const Launch::Argument& counts = launch.arguments[launch.argument_count - 1];
        for (int axis = 0; axis < 3; ++axis) {
            int32_t extent;
            memcpy(&extent, host_bytes(counts.memory) + counts.offset + axis * 4, sizeof extent);
            if (extent <= 0) return PUMICE_OK;
            if (extent < launch.extent[axis]) launch.extent[axis] = extent;
        }
    }
    RT_TRY(choose(launch, code));
    if (!(launch.record().flags & KernelRecord::reports)) return run_native(launch, *code, pool, blocks, nullptr, 0);
    uint32_t number = 0;
    RT_TRY(begin_report(launch, *code->record, number));
    const pumice_status status = run_native(launch, *code, pool, blocks, ring, number);
    end_report();
    return status;
}

}  // namespace

char* host_bytes(pumice_memory memory) { return static_cast<CpuMemory*>(memory)->block.data; }

pumice_status open_cpu(const pumice_hooks& hooks, pumice_device* device) {
    CpuDevice* const made = make<CpuDevice>(hooks, hooks);
    if (!made) return fail(PUMICE_ERROR_MEMORY, "the device cpu cannot be opened: the system gives no more memory");
    const pumice_status status = made->open();
    if (status != PUMICE_OK) {
        destroy(hooks, made);
        return status;
    }
    *device = made;
    return PUMICE_OK;
}

}  // namespace pumice_rt
