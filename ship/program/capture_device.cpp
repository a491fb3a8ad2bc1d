#include "ship/program/capture_device.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "core/host/trace_hook.h"
#include "core/interp/interp.h"
#include "core/support/error.h"
#include "cpu/plan/cpu_group_size.h"
#include "cpu/runtime/cpu.h"
#include "ship/program/scalar_expressions.h"

namespace pumice::ship {

using pumice_rt::CommandKind;

std::string text_of(const CapturedCommand& c) {
    switch (c.kind) {
        case CommandKind::allocate: return "an allocation";
        case CommandKind::fill: return "a fill";
        case CommandKind::write: return "an upload";
        case CommandKind::copy: return "a copy";
        case CommandKind::launch:
            return text("the launch of kernel \"", c.kernel->name, "\" (", c.kernel->where(c.kernel->loc), ")");
        case CommandKind::scan: return "the sum of the counts of a tape";
        default: return "the derivative by a scalar";
    }
}

namespace {

/// Memory of a captured program. `real` is made when the host reads contents that depend on no argument.
struct CaptureMemory : Allocation {
    int buffer = 0;
    bool varies = false;  ///< its contents depend on the program's arguments
    bool zero = false;
    std::shared_ptr<Allocation> real;
};
CaptureMemory& memory_of(Allocation& a) { return static_cast<CaptureMemory&>(a); }

struct CaptureExecutable : Executable {
    std::shared_ptr<const ir::Kernel> kernel;
    std::shared_ptr<Executable> real;
};

struct CaptureEvent : EventState {
    void wait() override {}
    bool done() override { return true; }
};

/// The device, and the hook that sees what the device does not: traced numbers, fixed groups, counts of tapes.
class Capture final : public Backend, public detail::TraceHook, public ProgramCapture {
public:
    Capture(const ProgramItem& program, const CaptureSettings& settings, Entry entry);
    void run();

    CapturedProgram captured;

    // ---- Backend ----
    std::string name() const override { return "capture"; }
    Limits limits() const override;
    bool supports(Feature) const override { return true; }
    BackendTraits traits() const override {
        if (settings.for_cpu) return {.splits_rows = true, .private_sums = true, .cheap_items = true};
        return {};
    }
    std::shared_ptr<Allocation> allocate(int64_t bytes, bool zero) override;
    void write(Allocation& to, int64_t offset, const void* from, int64_t bytes) override;
    void read(Allocation& from, int64_t offset, void* to, int64_t bytes) override;
    void fill(Allocation& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_size, int) override;
    void copy(Allocation& from, int64_t from_offset, Allocation& to, int64_t to_offset, int64_t bytes, int) override;
    std::shared_ptr<Executable> compile(std::shared_ptr<const ir::Kernel> kernel) override {
        auto made = std::make_shared<CaptureExecutable>();
        made->kernel = std::move(kernel);
        return made;
    }
    std::array<int64_t, 3> choose_group(const ir::Kernel& kernel, const Launch& launch) const override;
    void launch(const std::shared_ptr<Executable>& executable, const Launch& launch) override;
    int create_stream(Priority) override { return 1; }
    void release_stream(int) override {}
    std::shared_ptr<EventState> record(int) override { return std::make_shared<CaptureEvent>(); }
    std::shared_ptr<TimeStamp> stamp(int) override { refuse("measures times"); }
    void wait_for(int, const std::shared_ptr<EventState>&) override {}
    void call(int, std::function<void()>) override { refuse("calls a function of the host on a stream"); }
    void synchronize() override {}

    // ---- TraceHook ----
    bool launching(const KernelBase& kernel, const Range& range, std::span<const detail::HostArgument> arguments) override;
    void allocated(const std::shared_ptr<detail::ArrayState>& array, bool) override {
        if (array->memory && array->device->backend.get() != this)
            refuse(text("allocates an array on ", array->device->name,
                        ": it takes the device from its arguments, as in u.device()"));
    }
    void image_allocated(const detail::ImageState&) override { refuse_images(); }
    void image_writing(const detail::ImageState&, int, int64_t, const void*) override { refuse_images(); }
    void image_reading(const detail::ImageState&) override { refuse_images(); }
    void image_copying(const detail::ImageState&, const detail::ImageState&) override { refuse_images(); }
    bool keeps_program() const override { return true; }
    bool scanning(const detail::ArrayState& counts, int64_t most, int64_t& total) override;
    bool summing(const detail::ArrayState& sum, const void* followed_by, int number) override;
    const std::string* strategy() override {
        const size_t n = captured.strategies.size();
        return settings.strategies && n < settings.strategies->size() ? &(*settings.strategies)[n] : nullptr;
    }
    void chose(const std::string& strategy) override { captured.strategies.push_back(strategy); }

    // ---- ProgramCapture ----
    Device device() override { return *opened; }
    int64_t value_of(const Size& size) override;
    void is_argument(const detail::ArrayState& array, int parameter, bool shadow) override;
    void is_argument(const derive::HostScalar& number, int parameter) override;
    derive::HostScalar number(Scalar type, uint64_t bits) override { return {bits, plain, plain->input(type, {}, false)}; }
    void primal_is_done() override { captured.primal = captured.commands.size(); }

private:
    [[noreturn]] void refuse(const std::string& what) const { fail("a program that is shipped ", what); }
    [[noreturn]] void refuse_images() const { refuse("uses an image: what it ships works on arrays"); }
    CapturedCommand& add(CommandKind kind) {
        captured.commands.emplace_back();
        captured.commands.back().kind = kind;
        return captured.commands.back();
    }
    void write_to(CaptureMemory& memory) {
        const int argument = captured.buffers[size_t(memory.buffer)].argument;
        if (argument >= 0) captured.written[size_t(argument)] = true;
    }
    /// The contents of `memory` are from now on those that a command gives it; `real` does the same to the real memory.
    void contents(CaptureMemory& memory, bool varies, bool whole, std::function<void(Allocation&)> real);
    Allocation& real_of(CaptureMemory& memory) {
        if (!memory.real) memory.real = inner->allocate(memory.bytes, memory.zero);
        return *memory.real;
    }
    int argument_of(int parameter, bool shadow) const;
    void launch_later(const std::shared_ptr<CaptureExecutable>& executable, const Launch& launch);

    const ProgramItem& program;
    const CaptureSettings& settings;
    const Entry entry;
    const std::shared_ptr<Backend> inner = open_interp();
    std::optional<Device> opened;
    const std::shared_ptr<derive::HostScalars> plain = std::make_shared<derive::HostScalars>(1);
    std::shared_ptr<const derive::HostScalars> list;  ///< of the arguments
    ScalarExpressions scalars;
    std::vector<std::pair<int, int>> numbers;  ///< bound ones, with their parameters
    std::vector<std::shared_ptr<Allocation>> kept;
    std::vector<std::function<void()>> put_off;
    std::vector<detail::HostArgument> given;  ///< of the launch that the device gets next
    bool group_is_fixed = false;
};

Capture::Capture(const ProgramItem& of, const CaptureSettings& with, Entry kind)
    : program(of), settings(with), entry(kind), scalars(captured.expressions) {
    for (const ProgramParameter& p : program.parameters) {
        if (p.is_size) continue;
        captured.written.push_back(false);
        if (entry == Entry::gradient && p.is_array && p.active) captured.written.push_back(false);
    }
    plain->refuses_values = true;
}

void Capture::run() {
    opened.emplace(shared_from_this());
    const detail::ScopedTraceHook watching(this);
    program.run(*this, entry, program.mode);
    if (entry == Entry::forward) captured.primal = captured.commands.size();
    for (const auto& [number, parameter] : numbers) {
        const ProgramParameter& p = program.parameters[size_t(parameter)];
        if (entry == Entry::gradient && p.active) captured.results.push_back({parameter, p.type, scalars.derivative(number)});
    }
    given.clear();
    opened.reset();
}

Limits Capture::limits() const {
    Limits l;
    l.max_group_size = 1024, l.max_group_extent = {1024, 1024, 64}, l.local_memory = 32 << 10;
    l.max_array_bytes = l.memory = int64_t(1) << 40;
    // Sums in chunks (autodiff/api/chunked_summation.cpp) would have other commands for other sizes.
    l.subgroup_size = settings.has_sizes ? 1 << 30 : settings.for_cpu ? cpu::limits().subgroup_size : 1;
    return l;
}

// ---- memory --------------------------------------------------------------------------------------------------------

std::shared_ptr<Allocation> Capture::allocate(int64_t bytes, bool zero) {
    auto made = std::make_shared<CaptureMemory>();
    made->bytes = bytes, made->zero = zero, made->buffer = int(captured.buffers.size());
    captured.buffers.push_back({-1, bytes});
    CapturedCommand& c = add(CommandKind::allocate);
    c.to = made->buffer, c.bytes = bytes, c.zeroed = zero;
    kept.push_back(made);  // its address stays its own
    return made;
}

void Capture::contents(CaptureMemory& memory, bool varies, bool whole, std::function<void(Allocation&)> real) {
    write_to(memory);
    if (whole && captured.buffers[size_t(memory.buffer)].argument < 0) memory.varies = varies;
    memory.varies = memory.varies || varies;
    if (!varies && real) put_off.push_back([this, &memory, real = std::move(real)] { real(real_of(memory)); });
}

void Capture::write(Allocation& to, int64_t offset, const void* from, int64_t bytes) {
    CaptureMemory& memory = memory_of(to);
    CapturedCommand& c = add(CommandKind::write);
    c.to = memory.buffer, c.to_offset = offset, c.bytes = bytes;
    c.data.assign(static_cast<const std::byte*>(from), static_cast<const std::byte*>(from) + bytes);
    contents(memory, false, offset == 0 && bytes == memory.bytes,
             [this, data = c.data, offset](Allocation& real) { inner->write(real, offset, data.data(), int64_t(data.size())); });
}

void Capture::read(Allocation& from, int64_t offset, void* to, int64_t bytes) {
    CaptureMemory& memory = memory_of(from);
    if (memory.varies) {
        std::string last;
        for (const CapturedCommand& c : captured.commands) {
            const bool writes = c.kind == CommandKind::launch
                                    ? std::ranges::any_of(c.arguments, [&](const auto& a) { return a.buffer == memory.buffer; })
                                    : c.to == memory.buffer;
            if (writes) last = text_of(c);
        }
        refuse(text("reads back ", bytes, " bytes of an array whose contents depend on its arguments",
                    last.empty() ? std::string() : text(" (last in ", last, ")"),
                    ": the values would be the same in every later run"));
    }
    for (const auto& act : std::exchange(put_off, {})) act();
    inner->read(real_of(memory), offset, to, bytes);
}

void Capture::fill(Allocation& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_size, int) {
    CaptureMemory& memory = memory_of(to);
    CapturedCommand& c = add(CommandKind::fill);
    c.to = memory.buffer, c.to_offset = offset, c.bytes = bytes;
    c.data.assign(static_cast<const std::byte*>(pattern), static_cast<const std::byte*>(pattern) + pattern_size);
    contents(memory, false, offset == 0 && bytes == memory.bytes, [this, data = c.data, offset, bytes](Allocation& real) {
        inner->fill(real, offset, bytes, data.data(), int64_t(data.size()), 0);
    });
}

void Capture::copy(Allocation& from, int64_t from_offset, Allocation& to, int64_t to_offset, int64_t bytes, int) {
    CaptureMemory &source = memory_of(from), &target = memory_of(to);
    CapturedCommand& c = add(CommandKind::copy);
    c.from = source.buffer, c.from_offset = from_offset, c.to = target.buffer, c.to_offset = to_offset, c.bytes = bytes;
    contents(target, source.varies, to_offset == 0 && bytes == target.bytes,
             [=, this, &source](Allocation& real) { inner->copy(real_of(source), from_offset, real, to_offset, bytes, 0); });
}

// ---- launches ------------------------------------------------------------------------------------------------------

std::array<int64_t, 3> Capture::choose_group(const ir::Kernel& kernel, const Launch& launch) const {
    static constexpr std::array<int64_t, 3> groups[] = {{64, 1, 1}, {8, 8, 1}, {4, 4, 4}};
    static constexpr std::array<int64_t, 3> ranges[] = {{1 << 20, 1, 1}, {4096, 4096, 1}, {256, 256, 256}};
    const size_t rank = size_t(std::clamp(launch.rank, 1, 3)) - 1;
    if (!settings.for_cpu) return groups[rank];
    return cpu::choose_group(kernel, settings.has_sizes ? ranges[rank] : launch.extent, launch.rank);
}

bool Capture::launching(const KernelBase& kernel, const Range& range, std::span<const detail::HostArgument> arguments) {
    given.assign(arguments.begin(), arguments.end());
    for (const detail::HostArgument& a : arguments)
        if ((a.array || a.image) && a.device()->backend.get() != this)
            refuse(text("launches kernel \"", kernel.name(), "\" on an array of ", a.device()->name,
                        ": arrays are its arguments, or are allocated by it on the device of one"));
    if (std::ranges::any_of(arguments, [](const auto& a) { return a.image != nullptr; })) refuse_images();
    group_is_fixed = range.group_rank > 0 || kernel.recorded()->group[0] > 0;
    return false;
}

void Capture::launch(const std::shared_ptr<Executable>& executable, const Launch& l) {
    const auto code = std::static_pointer_cast<CaptureExecutable>(executable);
    const ir::Kernel& kernel = *code->kernel;
    CapturedCommand c;
    c.kind = CommandKind::launch, c.kernel = code->kernel, c.rank = l.rank, c.start = l.start, c.extent = l.extent;
    c.counted = l.counts.memory != nullptr;
    // The counts have numbers of groups, which Vulkan takes from there.
    if (group_is_fixed || (c.counted && !settings.for_cpu)) c.group = l.group;
    bool varies = false;
    size_t next = 0;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
        const ir::Parameter& p = kernel.params[i];
        const Launch::Argument& a = l.arguments[i];
        const detail::HostArgument* const host =
            p.origin == ir::ParameterOrigin::argument && next < given.size() ? &given[next++] : nullptr;
        CapturedArgument& to = c.arguments.emplace_back();
        to.bits = a.bits;
        if (!p.is_array) {
            if (!host || !host->followed_by) continue;
            to.expression = scalars.of(static_cast<const derive::HostScalars*>(host->followed_by), host->number);
            varies = true;
            continue;
        }
        to.offset = a.array.offset, to.bytes = a.array.bytes, to.extents = a.array.extents;
        if (!a.array.memory) continue;
        const CaptureMemory& memory = memory_of(*a.array.memory);
        to.buffer = memory.buffer;
        varies = varies || (memory.varies && kernel[p.memory].access != ir::Access::out);
    }
    captured.commands.push_back(std::move(c));
    if (!varies) launch_later(code, l);
    for (size_t i = 0; i < kernel.params.size(); ++i) {
        if (!kernel.params[i].is_array || kernel[kernel.params[i].memory].access == ir::Access::in) continue;
        if (Allocation* const a = l.arguments[i].array.memory) contents(memory_of(*a), varies, false, nullptr);
    }
    // The check of the counts of an indirect range is launched without the hook.
    given.clear(), group_is_fixed = false;
}

void Capture::launch_later(const std::shared_ptr<CaptureExecutable>& executable, const Launch& launch) {
    put_off.push_back([this, executable, launch] {
        if (!executable->real) executable->real = inner->compile(executable->kernel);
        Launch real = launch;
        for (Launch::Argument& a : real.arguments)
            if (a.array.memory) a.array.memory = &real_of(memory_of(*a.array.memory));
        real.stream = 0, real.counts = {};
        inner->launch(executable->real, real);
    });
}

// ---- arguments, scans and sums -------------------------------------------------------------------------------------

/// Arguments of an entry: each parameter but the sizes, in the gradient followed by its shadow.
int Capture::argument_of(int parameter, bool shadow) const {
    int number = 0;
    for (int p = 0; p < parameter; ++p) {
        const ProgramParameter& one = program.parameters[size_t(p)];
        if (!one.is_size) number += 1 + (entry == Entry::gradient && one.is_array && one.active);
    }
    return number + shadow;
}

int64_t Capture::value_of(const Size& size) {
    if (size.name.empty()) return size.plus;
    for (const Size& known : settings.sizes)
        if (known.name == size.name) return known.example * size.times + size.plus;
    library_bug("a size that the program does not have");
}

void Capture::is_argument(const detail::ArrayState& array, int parameter, bool shadow) {
    CaptureMemory& memory = memory_of(*array.memory);
    captured.buffers[size_t(memory.buffer)].argument = argument_of(parameter, shadow);
    captured.commands.pop_back();  // the allocation
    memory.varies = true;
}

void Capture::is_argument(const derive::HostScalar& number, int parameter) {
    list = number.all;
    scalars.bind(list.get(), number.number, argument_of(parameter, false));
    numbers.push_back({number.number, parameter});
}

bool Capture::scanning(const detail::ArrayState& counts, int64_t most, int64_t& total) {
    CapturedCommand& c = add(CommandKind::scan);
    CaptureMemory& memory = memory_of(*counts.memory);
    c.to = memory.buffer, c.to_offset = counts.offset, c.bytes = counts.bytes, c.most = most;
    c.index = int(captured.totals.size());
    const size_t number = captured.totals.size();
    total = settings.totals.empty() ? 1000 : settings.totals[std::min(number, settings.totals.size() - 1)];
    captured.totals.push_back(total);
    contents(memory, true, false, nullptr);
    return true;
}

bool Capture::summing(const detail::ArrayState& sum, const void* followed_by, int number) {
    CapturedCommand& c = add(CommandKind::sum);
    c.from = memory_of(*sum.memory).buffer, c.from_offset = sum.offset, c.bytes = sum.bytes;
    c.type = sum.element->leaves[0].type, c.index = captured.sums;
    scalars.add_sum(static_cast<const derive::HostScalars*>(followed_by), number, captured.sums++, c.type);
    return true;
}

}  // namespace

CapturedProgram capture(const ProgramItem& program, Entry entry, const CaptureSettings& settings) {
    const auto device = std::make_shared<Capture>(program, settings, entry);
    device->run();
    return std::move(device->captured);
}

}  // namespace pumice::ship
