#include "core/kernel/kernel.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>

#include "core/host/preparing_backend.h"
#include "core/host/trace_hook.h"
#include "core/interp/interp_program.h"
#include "core/ir/evaluate.h"
#include "core/ir/memory_limits.h"
#include "core/kernel/checked_launch.h"
#include "core/kernel/image_arguments.h"
#include "core/kernel/indirect.h"
#include "core/kernel/launch_check.h"
#include "core/kernel/prepare.h"
#include "core/kernel/traced_launch.h"
#include "core/lowering/barrier_divergence.h"
#include "core/lowering/images_as_words.h"
#include "core/lowering/specialise_images.h"
#include "core/passes/dead.h"
#include "core/passes/inlining.h"
#include "core/passes/promote.h"
#include "core/passes/simplify.h"
#include "core/support/ascii.h"
#include "core/support/debug.h"
#include "core/support/float_mode.h"

namespace pumice {

using namespace internal;

// ---- recording -----------------------------------------------------------------------------------------------------

struct KernelBase::State {
    std::string name;
    KernelOptions options;
    detail::SourceLocation location;
    std::function<void(detail::Recorder&)> record;
    uint64_t number;
    std::mutex mutex, images_mutex;
    std::shared_ptr<const ir::Kernel> recorded, inlined;
    std::mutex names_mutex;  // not `mutex`, which a recording holds
    std::vector<std::string> names;
    bool names_taken = false;  // by the first use
    /// A device that the kernel was compiled for, and the place of the executable among the device's, while it is open.
    struct Compiled {
        std::weak_ptr<detail::DeviceState> device;
        const std::shared_ptr<Executable>* executable;
    };
    std::vector<std::unique_ptr<const Compiled>> compiled_for;
    // For launches, without locks: the kernel without calls, if it takes no images; the device of the last launch; launches that
    // may come again.
    std::atomic<const ir::Kernel*> plain = nullptr;
    std::atomic<const Compiled*> latest = nullptr;
    detail::CheckedLaunches checked;
    std::map<std::string, KernelBase> for_images;  // by the formats and samplers of the images
    std::unique_ptr<KernelBase> as_words;          // the kernel whose images are arrays of words
    std::recursive_mutex kept_mutex;               // recursive, since `make` may call kept()
    std::unordered_map<std::string, std::shared_ptr<void>> kept;
    std::atomic<const char*> traced_name{nullptr};

    /// The kernel with its calls inlined, so that each call has the function's memory of its own.
    std::shared_ptr<const ir::Kernel> without_calls(const std::shared_ptr<const ir::Kernel>& kernel) {
        if (kernel->functions.empty()) return kernel;
        std::lock_guard lock(mutex);
        if (!inlined) inlined = std::make_shared<const ir::Kernel>(ir::inlining(*kernel));
        return inlined;
    }
    /// The names of the parameters, which are fixed from then on.
    std::vector<std::string> take_names() {
        const std::lock_guard lock(names_mutex);
        names_taken = true;
        return names;
    }
    /// Removes the executables from devices that are still open.
    ~State();
    /// Compiles once, also if several threads ask at the same time. The result lies in the device, while that is open.
    const std::shared_ptr<Executable>& compile(const std::shared_ptr<const ir::Kernel>& kernel,
                                               const std::shared_ptr<detail::DeviceState>& device);
    /// The executable if the last launch was on this device, too; else null.
    const std::shared_ptr<Executable>* executable_of_latest(const std::shared_ptr<detail::DeviceState>& device) const {
        const Compiled* const last = latest.load(std::memory_order_acquire);
        // The weak pointer keeps the owner's block alive, so no other device has it.
        return last && !last->device.owner_before(device) && !device.owner_before(last->device) ? last->executable : nullptr;
    }
};

KernelBase::State::~State() {
    for (const auto& compiled : compiled_for)
        if (const auto device = compiled->device.lock()) {
            std::unique_lock lock(device->mutex);
            const auto forgotten = device->executables.extract(number);
            lock.unlock();  // destroys the executable outside the lock
        }
}

const std::shared_ptr<Executable>& KernelBase::State::compile(const std::shared_ptr<const ir::Kernel>& kernel,
                                                              const std::shared_ptr<detail::DeviceState>& device) {
    std::lock_guard compiling(mutex);
    for (const auto& compiled : compiled_for)
        if (!compiled->device.owner_before(device) && !device.owner_before(compiled->device)) {
            latest.store(compiled.get(), std::memory_order_release);
            return *compiled->executable;
        }
    const FloatMode mode;
    trace::Span span("compile", "compile");
    span.add("kernel", kernel->name);
    span.add("device", device->name);
    try {
        auto executable = device->backend->compile(kernel);
        compiled_for.reserve(compiled_for.size() + 1);
        std::lock_guard lock(device->mutex);
        std::shared_ptr<Executable>& place = device->executables[number];  // elements of a map stay where they are
        place = std::move(executable);
        compiled_for.emplace_back(new Compiled{device, &place});
        latest.store(compiled_for.back().get(), std::memory_order_release);
        return place;
    } catch (const Error& e) {
        throw e.within(
            text("while compiling kernel \"", kernel->name, "\" (", kernel->where(kernel->loc), ") for ", device->name));
    }
}

namespace {
std::atomic<uint64_t> kernel_numbers{0};
}  // namespace

void detail::check_name(const char* what, const std::string& name) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    };
    bool good = !name.empty() && name[0] != '.' && name.size() <= 100;
    for (const char c : name) good = good && allowed(c);
    if (!good) fail("a ", what, " is named \"", name, "\": names are 1 to 100 letters, digits, _, - and . (not first)");
}

KernelBase::KernelBase(std::string name, KernelOptions options, detail::SourceLocation location,
                       std::function<void(detail::Recorder&)> record)
    : state(std::make_shared<State>()) {
    detail::check_name("kernel", name);
    state->name = std::move(name);
    state->options = options;
    state->location = location;
    state->record = std::move(record);
    state->number = ++kernel_numbers;
}

void detail::fail_undefined(const char* what) {
    fail("a ", what, " is used before its definition has run: a global object whose constructor uses a ", what,
         " stands after it, in the same file");
}

KernelBase::KernelBase(std::shared_ptr<const ir::Kernel> recorded) : state(std::make_shared<State>()) {
    if (!recorded) throw Error("a kernel is made of no IR: the pointer is null");
    detail::check_name("kernel", recorded->name);
    state->name = recorded->name;
    state->recorded = std::move(recorded);
    state->number = ++kernel_numbers;
}

namespace {

void require_defined(const std::shared_ptr<KernelBase::State>& state) {
    if (!state) detail::fail_undefined("kernel");
}

}  // namespace

const std::string& KernelBase::name() const {
    require_defined(state);
    return state->name;
}

namespace {

void fix_extents(ir::Kernel& k, const KernelOptions& options) {
    if (!options.group.empty() && !options.range.empty() && options.group.size() != options.range.size())
        fail("it fixes groups of ", detail::extents_text(options.group), " and a range of ", detail::extents_text(options.range),
             ": their dimensions differ");
    for (auto [written, axes] : {std::pair(&options.group, &k.group), std::pair(&options.range, &k.range)}) {
        if (written->empty()) continue;
        k.rank = int(written->size());
        *axes = {1, 1, 1};
        std::copy(written->rbegin(), written->rend(), axes->begin());
    }
}

}  // namespace

namespace {

constexpr size_t longest_parameter_name = 100;

/// An identifier of C that is no keyword there, so that headers for hosts can be made of it.
bool is_name(std::string_view name) {
    constexpr std::string_view keywords[] = {"auto",    "break",  "case",     "char",   "const",    "continue", "default",
                                             "do",      "double", "else",     "enum",   "extern",   "float",    "for",
                                             "goto",    "if",     "inline",   "int",    "long",     "register", "restrict",
                                             "return",  "short",  "signed",   "sizeof", "static",   "struct",   "switch",
                                             "typedef", "union",  "unsigned", "void",   "volatile", "while"};
    const auto letter = [](char c) { return ascii::is_letter(c) || c == '_'; };
    return !name.empty() && name.size() <= longest_parameter_name && letter(name[0]) &&
           std::ranges::all_of(name, [&](char c) { return letter(c) || ascii::is_digit(c); }) &&
           std::find(std::begin(keywords), std::end(keywords), name) == std::end(keywords);
}

}  // namespace

void KernelBase::refuse_number(size_t parameter, bool is_negative, uint64_t whole) const {
    const std::shared_ptr<const ir::Kernel> kernel = recorded();
    const Scalar type = kernel->params[parameter].type;
    const uint64_t largest = ~uint64_t(0) >> (64 - 8 * size_of(type) + is_signed_int(type));
    fail("kernel \"", kernel->name, "\" (", kernel->where(kernel->loc), "): ", kernel->label(parameter), " is given ",
         is_negative ? text(int64_t(whole)) : text(whole), ", which does not fit into ", name_of(type), ": it holds ",
         is_signed_int(type) ? text(-int64_t(largest) - 1) : "0", " to ", largest);
}

void KernelBase::refuse_number(size_t parameter, double real) const {
    const std::shared_ptr<const ir::Kernel> kernel = recorded();
    const Scalar type = kernel->params[parameter].type;
    fail("kernel \"", kernel->name, "\" (", kernel->where(kernel->loc), "): ", kernel->label(parameter), " is given ", real,
         ", which does not fit into ", name_of(type), ": its largest number is ", largest_real(type));
}

void KernelBase::name_parameters(size_t count, std::span<const std::string_view> names) const {
    require_defined(state);
    const auto refuse = [&](const auto&... parts) {
        fail("kernel \"", state->name, "\" (", where(state->location), ") ", parts...);
    };
    if (names.size() != count)
        refuse("has ", count, count == 1 ? " parameter" : " parameters", " and is given ", names.size(),
               names.size() == 1 ? " name" : " names", ": each parameter has one, in order");
    for (size_t p = 0; p < count; ++p) {
        if (!is_name(names[p]))
            refuse("names its parameter ", p + 1, " \"", names[p], "\": names are identifiers of C, 1 to ",
                   longest_parameter_name, " letters, digits and _, with no digit first, and are no keywords");
        const auto first = std::find(names.begin(), names.begin() + ptrdiff_t(p), names[p]);
        if (first != names.begin() + ptrdiff_t(p))
            refuse("names both parameter ", first - names.begin() + 1, " and parameter ", p + 1, " \"", names[p],
                   "\": names differ");
    }
    const std::lock_guard lock(state->names_mutex);
    if (std::ranges::equal(names, state->names)) return;
    // Derivatives, programs and compiled code that exist already would keep the old names.
    if (state->names_taken)
        refuse("is given names of its parameters after its first use: names() stands where the kernel is defined");
    state->names.assign(names.begin(), names.end());
}

namespace {

/// Waiting for a kernel during its own recording would deadlock.
void refuse_while_recording(const std::string& name) {
    if (detail::Recorder* r = detail::Recorder::current_or_null())
        fail("kernel \"", name, "\" is used while kernel \"", r->kernel.name,
             "\" is being recorded: a kernel cannot launch another one");
}

}  // namespace

std::shared_ptr<const ir::Kernel> KernelBase::recorded() const {
    require_defined(state);
    refuse_while_recording(state->name);
    std::lock_guard lock(state->mutex);
    if (!state->recorded) {
        trace::Span span("compile", "record");
        span.add("kernel", state->name);
        detail::Recorder recorder(state->name, state->location);
        recorder.kernel.whole_groups = state->options.whole_groups;
        recorder.kernel.math = state->options.math;
        try {
            fix_extents(recorder.kernel, state->options);
            const std::vector<std::string> names = state->take_names();
            state->record(recorder);
            for (ir::Parameter& p : recorder.kernel.params)
                if (!names.empty() && p.identity.number > 0) p.identity.name = names[size_t(p.identity.number) - 1];
            const std::shared_ptr<const ir::Kernel> finished = recorder.finish();
            ir::refuse_divergent_barriers(*finished);
            state->recorded = finished;
        } catch (const Error& e) {
            const Error first = recorder.misused().empty() ? e : Error(recorder.misused());
            throw first.within(text("while recording kernel \"", state->name, "\" (", where(state->location), ")"));
        }
    }
    return state->recorded;
}

std::shared_ptr<const ir::Kernel> KernelBase::recorded_without_images() const {
    std::shared_ptr<const ir::Kernel> kernel = recorded();
    if (ir::has_images(*kernel))
        fail("kernel \"", kernel->name, "\" (", kernel->where(kernel->loc),
             ") takes images, whose formats only a launch knows: it has no code without one");
    return kernel;
}

std::shared_ptr<void> KernelBase::kept(const std::string& name, const std::function<std::shared_ptr<void>()>& make) const {
    require_defined(state);
    std::lock_guard lock(state->kept_mutex);
    const auto there = state->kept.find(name);
    if (there != state->kept.end()) return there->second;
    return state->kept[name] = make();
}

std::string KernelBase::ir() const {
    const auto kernel = recorded();
    if (!state->record) return ir::print(*kernel);  // a kernel from text or IR keeps its form
    return ir::print(ir::dead(ir::simplify(ir::promote(ir::inlining_without_rules(*kernel)))));
}

namespace {
/// The verifier checks that the sizes are valid numbers; text may ask for more than the language's limit.
void check_private(const ir::Kernel& kernel) {
    for (const ir::Memory& m : kernel.memories) {
        int64_t bytes = m.element.size;
        for (const int64_t extent : m.extents) bytes *= extent;
        if (m.kind == ir::MemoryKind::private_ && bytes > most_private_bytes)
            fail("the private memory \"", m.name, "\" of the kernel text takes ", bytes, " bytes; the limit is ",
                 most_private_bytes);
    }
}
}  // namespace

AnyKernel parse_ir(const std::string& text) {
    auto kernel = std::make_shared<ir::Kernel>(ir::parse(text));
    if (const std::string broken = ir::verify(*kernel); !broken.empty())
        fail("the kernel text breaks a rule of the IR: ", broken);
    check_private(*kernel);
    ir::refuse_divergent_barriers(*kernel);
    return AnyKernel(std::move(kernel));
}

// ---- launching -----------------------------------------------------------------------------------------------------

const KernelBase& KernelBase::for_images(std::span<const detail::HostArgument> arguments, bool keep_fast) const {
    const std::shared_ptr<const ir::Kernel> kernel = recorded();
    if (!ir::has_unresolved_images(*kernel)) return *this;
    const std::vector<ImageInfo> images = detail::images_of(*kernel, arguments);
    std::string key(1, keep_fast ? 'f' : 'e');
    for (const ImageInfo& image : images) detail::append_key(image, key);
    const std::lock_guard lock(state->images_mutex);
    const auto there = state->for_images.find(key);
    if (there != state->for_images.end()) return there->second;
    auto resolved = std::make_shared<const ir::Kernel>(ir::specialise_images(*kernel, images, keep_fast));
    return state->for_images.emplace(std::move(key), AnyKernel(std::move(resolved))).first->second;
}

namespace {

/// Tells a hook of a launch as the program made it, in place of the launch over resolved images or words.
class LaunchAsGiven final : public detail::TraceHook {
public:
    LaunchAsGiven(TraceHook& hook, const KernelBase& kernel, std::span<const detail::HostArgument> arguments)
        : hook(hook), kernel(kernel), arguments(arguments) {}
    bool launching(const KernelBase&, const Range& range, std::span<const detail::HostArgument>) override {
        return hook.launching(kernel, range, arguments);
    }

private:
    TraceHook& hook;
    const KernelBase& kernel;
    std::span<const detail::HostArgument> arguments;
};

}  // namespace

const KernelBase& KernelBase::over_words() const {
    const std::shared_ptr<const ir::Kernel> kernel = recorded();
    const std::lock_guard lock(state->images_mutex);
    if (!state->as_words)
        state->as_words =
            std::make_unique<AnyKernel>(std::make_shared<const ir::Kernel>(ir::images_as_words(*state->without_calls(kernel))));
    return *state->as_words;
}

Event KernelBase::launch_with_images(const Range& range, std::span<const detail::HostArgument> arguments) const {
    const std::shared_ptr<const ir::Kernel> kernel = recorded();
    std::optional<LaunchAsGiven> as_given;
    std::optional<detail::ScopedTraceHook> scope;
    if (detail::TraceHook* const hook = detail::trace_hook()) scope.emplace(&as_given.emplace(*hook, *this, arguments));
    if (ir::has_unresolved_images(*kernel)) return for_images(arguments, true).launch(range, arguments);
    detail::images_of(*kernel, arguments);  // checks them
    return over_words().launch(range, detail::words_of(*kernel, arguments));
}

const std::shared_ptr<Executable>& detail::executable_of(const KernelBase& kernel, const std::shared_ptr<DeviceState>& device) {
    KernelBase::State& state = *kernel.state;
    if (const std::shared_ptr<Executable>* const there = state.executable_of_latest(device)) return *there;
    return state.compile(state.without_calls(kernel.recorded()), device);
}

Event KernelBase::launch(const Range& range, std::span<const detail::HostArgument> arguments) const {
    require_defined(state);
    trace::Span span("host", "launch");
    if (span) span.add_lasting("kernel", detail::lasting_name(state->name, state->traced_name));
    const ir::Kernel* kernel = state->plain.load(std::memory_order_acquire);
    if (kernel) {
        refuse_while_recording(state->name);
    } else {
        const std::shared_ptr<const ir::Kernel> given = recorded();
        if (ir::has_unresolved_images(*given) || ir::has_images_as_words(*given)) return launch_with_images(range, arguments);
        kernel = state->without_calls(given).get();  // which the state holds
        state->plain.store(kernel, std::memory_order_release);
    }
    detail::TraceHook* hook = detail::trace_hook();
    const bool logs_time = debug::time();
    const detail::CheckedLaunches::Loan loan(state->checked);
    const bool comes_again = loan.get() && !hook && !logs_time && detail::CheckedLaunches::takes(range, arguments);
    const uint64_t hash = comes_again ? detail::CheckedLaunches::hash(range, arguments) : 0;
    const auto is_like = [&](const detail::CheckedLaunch& launch) { return launch.is_like(range, arguments); };
    if (detail::CheckedLaunch* const known = comes_again ? loan.get()->launches.find(hash, is_like) : nullptr) {
        Backend& backend = *known->backend;
        const Launch& launch = known->with(arguments);
        {
            detail::TracedScope traced;
            if (span)
                traced.begin(detail::traced_launch(*this, state->number, *kernel, launch, *known->device.lock()), span.since());
            backend.launch(*known->executable, launch);
        }
        return Event(backend.record(0));
    }
    detail::LaunchCheck check(*kernel, range, arguments);
    const bool any = check.collect();
    detail::DeviceState& device = **check.device;
    // True if the launch or the kernel gives the group's extents; else the device chooses them below.
    const bool fixed = range.group_rank || kernel->group[0];
    if (fixed) check.check_group(device.backend->limits());
    if (!any) {
        if (range.counts) detail::counts_now(*this, range, {1, 1, 1});
        Event nothing;
        if (range.is_timed) nothing.begin = nothing.end = device.backend->stamp(check.launch.stream);
        return nothing;
    }

    const bool reads_counts = range.counts && !device.backend->traits().reads_counts;
    const KernelBase& form = reads_counts ? detail::indirect_form(*this, false) : *this;
    const std::shared_ptr<Executable>& executable = detail::executable_of(form, *check.device);
    if (!fixed) check.launch.group = device.backend->choose_group(*kernel, check.launch);
    if (range.rank > 3) check.launch.group[2] = 1;
    for (const ir::Memory& m : kernel->memories)
        if (m.kind == ir::MemoryKind::local && m.size)
            interp::local_elements(*kernel, m, check.launch.group);  // throws unless the number is positive
    const int stream = check.launch.stream;
    const bool timed = range.is_timed || logs_time;
    std::shared_ptr<TimeStamp> begin, end;
    if (timed) begin = device.backend->stamp(stream);
    std::shared_ptr<detail::ArrayState> counts;
    if (range.counts) {
        counts = detail::counts_now(*this, range, check.launch.group);
        check.launch.counts = {counts->memory.get(), counts->offset, counts->bytes, Launch::Array::ones()};
        check.launch.counts.extents[0] = counts->bytes / int64_t(sizeof(int32_t));
        if (reads_counts) check.launch.arguments.push_back({check.launch.counts, 0});
    }
    const bool done = hook && hook->launching(*this, counts ? detail::with_counts(range, counts) : range, arguments);
    if (!done) {
        detail::TracedScope traced;
        if (span) traced.begin(detail::traced_launch(*this, state->number, *kernel, check.launch, device), span.since());
        device.backend->launch(executable, check.launch);
    }
    if (timed) end = device.backend->stamp(stream);
    if (logs_time) device.launch_times.add(name(), begin, end);
    Event event(device.backend->record(stream));
    if (range.is_timed) event.begin = std::move(begin), event.end = std::move(end);
    if (comes_again && loan.get()->launches.takes_more(hash))
        loan.get()->launches.add(hash, {*kernel, range, arguments, *check.device, executable, std::move(check.launch)});
    return event;
}

// ---- preparing -----------------------------------------------------------------------------------------------------

void detail::compile_ahead(const KernelBase& kernel, const Device& device, const PrepareOptions& options,
                           const std::function<void(double)>& report) {
    const DescribedArguments described(*kernel.recorded(), device, options);
    const KernelBase* form = &kernel.for_images(described.arguments, true);
    std::vector<HostArgument> arguments = described.arguments;
    if (ir::has_images_as_words(*form->recorded())) {
        arguments = words_of(*form->recorded(), arguments);
        form = &form->over_words();
    }
    const std::shared_ptr<const ir::Kernel> recorded = form->state->without_calls(form->recorded());
    report(0.25);
    detail::LaunchCheck check(*recorded, options.range, arguments);
    const bool any = check.collect();
    check.device = &device.state;
    Backend& backend = *device.state->backend;
    const bool fixed = options.range.group_rank || recorded->group[0];
    if (fixed) check.check_group(backend.limits());
    const std::shared_ptr<Executable>& executable = form->state->compile(recorded, device.state);
    report(0.5);
    auto* const preparing = dynamic_cast<PreparingBackend*>(&backend);
    if (!any || !preparing) return;
    if (!fixed) check.launch.group = backend.choose_group(*recorded, check.launch);
    if (options.range.rank > 3) check.launch.group[2] = 1;
    preparing->prepare(executable, check.launch);
}

}  // namespace pumice
