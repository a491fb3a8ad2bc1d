#include "core/kernel/kernel.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "core/host/preparing_backend.h"
#include "core/host/trace_hook.h"
#include "core/interp/interp_program.h"
#include "core/ir/memory_limits.h"
#include "core/kernel/image_arguments.h"
#include "core/kernel/indirect.h"
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

namespace pumice {

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
    std::vector<std::weak_ptr<detail::DeviceState>> compiled_for;
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
    /// Compiles once, also if several threads ask at the same time.
    std::shared_ptr<Executable> compile(const std::shared_ptr<const ir::Kernel>& kernel,
                                        const std::shared_ptr<detail::DeviceState>& device);
};

KernelBase::State::~State() {
    for (const auto& compiled : compiled_for)
        if (const auto device = compiled.lock()) {
            std::unique_lock lock(device->mutex);
            const auto forgotten = device->executables.extract(number);
            lock.unlock();  // destroys the executable outside the lock
        }
}

std::shared_ptr<Executable> KernelBase::State::compile(const std::shared_ptr<const ir::Kernel>& kernel,
                                                       const std::shared_ptr<detail::DeviceState>& device) {
    std::lock_guard compiling(mutex);
    if (auto there = device->compiled(number)) return there;
    trace::Span span("compile", "compile");
    span.add("kernel", kernel->name);
    span.add("device", device->name);
    try {
        auto executable = device->backend->compile(kernel);
        compiled_for.push_back(device);
        std::lock_guard lock(device->mutex);
        return device->executables[number] = std::move(executable);
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

KernelBase::KernelBase(std::shared_ptr<const ir::Kernel> recorded) : state(std::make_shared<State>()) {
    if (!recorded) throw Error("a kernel is made of no IR: the pointer is null");
    detail::check_name("kernel", recorded->name);
    state->name = recorded->name;
    state->recorded = std::move(recorded);
    state->number = ++kernel_numbers;
}

const std::string& KernelBase::name() const { return state->name; }

namespace {

/// "16 x 8"
std::string extents_text(std::span<const int64_t> written) {
    std::string out;
    for (const int64_t n : written) out += text(out.empty() ? "" : " x ", n);
    return out;
}
/// The text of an axis array, in written order.
std::string extents_text(const std::array<int64_t, 3>& axes, int rank) {
    std::vector<int64_t> written(axes.rend() - rank, axes.rend());
    return extents_text(written);
}

void fix_extents(ir::Kernel& k, const KernelOptions& options) {
    if (!options.group.empty() && !options.range.empty() && options.group.size() != options.range.size())
        fail("it fixes groups of ", extents_text(options.group), " and a range of ", extents_text(options.range),
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
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || ascii::is_digit(c); }) &&
           std::find(std::begin(keywords), std::end(keywords), name) == std::end(keywords);
}

}  // namespace

void KernelBase::name_parameters(size_t count, std::span<const std::string_view> names) const {
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
    if (std::equal(names.begin(), names.end(), state->names.begin(), state->names.end())) return;
    // Derivatives, programs and compiled code that exist already would keep the old names.
    if (state->names_taken)
        refuse("is given names of its parameters after its first use: names() stands where the kernel is defined");
    state->names.assign(names.begin(), names.end());
}

std::shared_ptr<const ir::Kernel> KernelBase::recorded() const {
    // Waiting for a kernel during its own recording would deadlock; Recorder reports that first.
    if (detail::Recorder* r = detail::Recorder::current_or_null())
        fail("kernel \"", state->name, "\" is used while kernel \"", r->kernel.name,
             "\" is being recorded: a kernel cannot launch another one");
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

namespace {

/// Collects one launch and checks it; every message starts with the kernel.
class LaunchCheck {
public:
    LaunchCheck(const ir::Kernel& kernel, const Range& range, std::span<const detail::HostArgument> arguments)
        : kernel(kernel), range(range), arguments(arguments) {}

    std::shared_ptr<detail::DeviceState> device;
    Launch launch;

    /// Returns false if the range is empty.
    bool collect() {
        check_arguments();
        check_aliases();
        return check_range();
    }
    void check_group(const Limits& limits) const {
        int64_t items = 1;
        bool too_many = false;
        for (int d = 0; d < launch.rank; ++d) {
            const int axis = launch.rank - 1 - d;
            const int64_t n = launch.group[axis], limit = limits.max_group_extent[axis];
            if (n < 1) refuse("its group has extent ", n, " along dimension ", d, ": extents are positive");
            if (n > limit)
                refuse("its group has extent ", n, " along dimension ", d, "; the limit of ", device->name, " is ", limit);
            too_many = __builtin_mul_overflow(items, n, &items) || too_many;
        }
        if (too_many || items > limits.max_group_size)
            refuse("its group has ", too_many ? "more than 2^63" : text(items), " work-items; the limit of ", device->name,
                   " is ", limits.max_group_size);
    }

private:
    template <class... Parts> [[noreturn]] void refuse(const Parts&... parts) const {
        fail("kernel \"", kernel.name, "\" (", kernel.where(kernel.loc), "): ", parts...);
    }

    /// "f32", or of a struct "{position.x f32, ...} of 28 bytes".
    static std::string text_of(const Element& element) {
        if (element.is_scalar()) return std::string(name_of(element.leaves[0].type));
        std::string leaves;
        for (const Leaf& leaf : element.leaves) leaves += text(leaves.empty() ? "" : ", ", leaf.path, " ", name_of(leaf.type));
        return text("{", leaves, "} of ", element.size, " bytes");
    }

    void check_arguments() {
        const size_t takes = size_t(std::count_if(kernel.params.begin(), kernel.params.end(), [](const ir::Parameter& p) {
            return p.origin == ir::ParameterOrigin::argument;
        }));
        if (arguments.size() != takes)
            refuse("it takes ", takes, takes == 1 ? " argument" : " arguments", " and is given ", arguments.size());
        launch.arguments.resize(kernel.params.size());
        size_t first = 0, next = 0;
        for (size_t i = 0; i < kernel.params.size(); ++i) {
            const ir::Parameter& wanted = kernel.params[i];
            if (wanted.origin != ir::ParameterOrigin::argument) {
                launch.arguments[i].bits = range_bits(wanted);
                continue;
            }
            const detail::HostArgument& given = arguments[next++];
            if (given.is_array != wanted.is_array)
                refuse(kernel.label(i), " is ", given.is_array ? "an array" : "a scalar", ", and the kernel takes ",
                       wanted.is_array ? "an array" : "a scalar");
            if (given.is_array ? *given.element != kernel[wanted.memory].element : given.type != wanted.type)
                refuse(kernel.label(i), " is of type ", given.is_array ? text_of(*given.element) : text(name_of(given.type)),
                       ", and the kernel takes ",
                       wanted.is_array ? text_of(kernel[wanted.memory].element) : text(name_of(wanted.type)));
            launch.arguments[i].bits = given.bits;
            if (!given.is_array) continue;
            if (const std::string wrong = detail::wrong_image(kernel, i, given); !wrong.empty()) refuse(wrong);
            if (!given.array && !given.image) refuse(kernel.label(i), " is an array that was never allocated");
            if (given.array && given.array->released) refuse(kernel.label(i), " is an array that was released");
            if (given.rank != kernel[wanted.memory].rank)
                refuse(kernel.label(i), " is a ", given.rank, "-dimensional array, and the kernel takes a ",
                       kernel[wanted.memory].rank, "-dimensional one");
            if (!device) device = given.device, first = i;
            if (given.device->backend != device->backend)
                refuse(kernel.label(i), " lies on ", given.device->name, ", and ", kernel.label(first), " on ", device->name);
            Launch::Array& array = launch.arguments[i].array;
            if (given.array) {
                array = {given.array->memory.get(), given.array->offset, given.array->bytes, Launch::Array::ones()};
            } else {
                const detail::ImageState& image = *given.image->image;
                array = {image.memory.get(), 0, image.memory->bytes, Launch::Array::ones()};
                launch.arguments[i].image = {image.memory.get(), &image.shape};
            }
            for (int d = 0; d < given.rank; ++d) array.extents[given.rank - 1 - d] = given.extents[d];
        }
        if (range.counts) check_counts(first);
        const Stream& stream = range.stream;
        if (stream.state) {
            if (!stream.state->device) refuse("it is put on a stream that was released");
            if (device && device->backend != stream.state->device->backend)
                refuse("it is put on a stream of ", stream.state->device->name, ", and ", kernel.label(first), " lies on ",
                       device->name);
            device = stream.state->device;
            launch.stream = stream.state->number;
        }
        if (!device) device = Device::open().state;
    }

    /// Checks the counts of an indirect range. `first`: the first array argument, if there is one.
    void check_counts(size_t first) {
        if (const std::string wrong = detail::wrong_counts(kernel, range); !wrong.empty()) refuse(wrong);
        const std::shared_ptr<detail::DeviceState>& here = range.counts.array->device;
        if (!device) device = here;
        if (device->backend != here->backend)
            refuse("the counts of its indirect range lie on ", here->name, ", and ", kernel.label(first), " on ", device->name);
    }

    /// The value of a range parameter, as i32.
    uint64_t range_bits(const ir::Parameter& p) const {
        const size_t d = size_t(p.dimension);
        return uint32_t(p.origin == ir::ParameterOrigin::range_start ? uint64_t(range.from[d])
                                                                     : uint64_t(range.to[d]) - uint64_t(range.from[d]));
    }

    void check_aliases() const {
        for (size_t i = 0; i < launch.arguments.size(); ++i)
            for (size_t j = i + 1; j < launch.arguments.size(); ++j) {
                const Launch::Array &a = launch.arguments[i].array, &b = launch.arguments[j].array;
                if (!a.memory || a.memory != b.memory || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
                    continue;
                const bool written_a = kernel[kernel.params[i].memory].access != ir::Access::in,
                           written_b = kernel[kernel.params[j].memory].access != ir::Access::in;
                if (written_a || written_b)
                    refuse(kernel.label(i), " and ", kernel.label(j), " overlap in memory, and ", kernel.label(written_a ? i : j),
                           " is written");
            }
    }

    bool check_range() {
        if (range.rank == 0) return own_range();
        if (kernel.rank != 0 && kernel.dimensions() != range.rank)
            refuse("it is launched over a ", range.rank, "-dimensional range and uses ", kernel.dimensions(),
                   "-dimensional indices");
        launch.rank = std::min(range.rank, 3);
        bool empty = false;
        for (int d = 0; d < range.rank; ++d) {
            const int axis = std::min(range.rank - 1 - d, 2);
            if (range.from[d] > range.to[d] && range.from[d] == 0)
                refuse("its range has extent ", range.to[d], " along dimension ", d, ": extents are not negative");
            if (range.from[d] > range.to[d])
                refuse("its range reaches from ", range.from[d], " to ", range.to[d], " along dimension ", d,
                       ": the end is not before the start");
            if (range.to[d] > INT32_MAX || range.from[d] < INT32_MIN)
                refuse("its range reaches from ", range.from[d], " to ", range.to[d], " along dimension ", d,
                       "; indices are from ", INT32_MIN, " to ", INT32_MAX - 1);
            const int64_t extent = range.to[d] - range.from[d];
            if (extent > INT32_MAX) refuse("its range has extent ", extent, " along dimension ", d, "; the limit is ", INT32_MAX);
            // More than 3 dimensions: the first ones are folded into one axis, which starts at 0.
            const bool folds = range.rank > 3 && axis == 2;
            launch.start[axis] = folds ? 0 : range.from[d];
            launch.extent[axis] = folds && d > 0 ? launch.extent[axis] * extent : extent;
            if (launch.extent[axis] > INT32_MAX)
                refuse("the first ", range.rank - 2, " dimensions of its range have more than ", INT32_MAX,
                       " items, which is the limit for them together");
            empty = empty || extent == 0;
        }
        if (kernel.range[0] && launch.extent != kernel.range)
            refuse("its range is ", extents_text(launch.extent, range.rank), ", and the kernel fixes ",
                   extents_text(kernel.range, kernel.rank));
        take_group();
        if (!empty) check_items();
        return !empty;
    }

    /// Limits the items, since devices count in 64 bits both items and their work.
    void check_items() const {
        constexpr int64_t most = int64_t(1) << 48;
        int64_t items = 1;
        for (const int64_t extent : launch.extent) {
            if (extent > most / items)
                refuse("its range of ", extents_text(launch.extent, launch.rank), " has more than ", most,
                       " items, which is the limit");
            items *= extent;
        }
    }

    /// Takes the range that the kernel fixes.
    bool own_range() {
        if (!kernel.range[0]) refuse("it is launched over no range, and fixes none at its definition (static_range)");
        launch.rank = kernel.rank;
        launch.extent = kernel.range;
        take_group();
        check_items();
        return true;
    }

    void take_group() {
        if (range.group_rank) {
            const int dimensions = std::max(range.rank, launch.rank);
            if (range.group_rank != dimensions)
                refuse("its group has ", range.group_rank, " dimensions and its range ", dimensions);
            launch.group = {1, 1, 1};
            for (int d = 0; d < dimensions; ++d) {
                if (dimensions > 3 && d < dimensions - 2 && range.group_extents[d] != 1)
                    refuse("its group has extent ", range.group_extents[d], " along dimension ", d, "; of a ", dimensions,
                           "-dimensional range, groups have extent 1 along all dimensions but the last two");
                launch.group[std::min(dimensions - 1 - d, 2)] = range.group_extents[d];
            }
        }
        if (!kernel.group[0]) return;
        if (range.group_rank && launch.group != kernel.group)
            refuse("its group is ", extents_text(launch.group, launch.rank), ", and the kernel fixes ",
                   extents_text(kernel.group, kernel.rank));
        launch.group = kernel.group;
    }

    const ir::Kernel& kernel;
    const Range& range;
    std::span<const detail::HostArgument> arguments;
};

}  // namespace

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

Event KernelBase::launch_with_images(const Range& range, std::span<const detail::HostArgument> arguments) const {
    const std::shared_ptr<const ir::Kernel> kernel = recorded();
    if (detail::trace_hook())
        fail("kernel \"", kernel->name, "\" (", kernel->where(kernel->loc),
             ") takes images and is launched within a program: the derivative of a program does not follow images");
    if (ir::has_unresolved_images(*kernel)) return for_images(arguments, true).launch(range, arguments);
    detail::images_of(*kernel, arguments);  // checks them
    std::unique_lock lock(state->images_mutex);
    if (!state->as_words)
        state->as_words =
            std::make_unique<AnyKernel>(std::make_shared<const ir::Kernel>(ir::images_as_words(*state->without_calls(kernel))));
    lock.unlock();
    return state->as_words->launch(range, detail::words_of(*kernel, arguments));
}

std::shared_ptr<Executable> detail::executable_of(const KernelBase& kernel, const std::shared_ptr<DeviceState>& device) {
    KernelBase::State& state = *kernel.state;
    std::shared_ptr<Executable> executable = device->compiled(state.number);
    if (!executable) executable = state.compile(state.without_calls(kernel.recorded()), device);
    return executable;
}

Event KernelBase::launch(const Range& range, std::span<const detail::HostArgument> arguments) const {
    trace::Span span("host", "launch");
    if (span) span.add_lasting("kernel", detail::lasting_name(state->name, state->traced_name));
    const std::shared_ptr<const ir::Kernel> given = recorded();
    if (ir::has_unresolved_images(*given) || ir::has_images_as_words(*given)) return launch_with_images(range, arguments);
    const std::shared_ptr<const ir::Kernel> kernel = state->without_calls(given);
    LaunchCheck check(*kernel, range, arguments);
    const bool any = check.collect();
    detail::DeviceState& device = *check.device;
    detail::TraceHook* hook = detail::trace_hook();
    // The group extents are given by the launch or the kernel.
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
    const std::shared_ptr<Executable> executable = detail::executable_of(form, check.device);
    if (!fixed) check.launch.group = device.backend->choose_group(*kernel, check.launch);
    if (range.rank > 3) check.launch.group[2] = 1;
    for (const ir::Memory& m : kernel->memories)
        if (m.kind == ir::MemoryKind::local && m.size)
            interp::local_elements(*kernel, m, check.launch.group);  // throws unless the number is positive
    const int stream = check.launch.stream;
    const bool timed = range.is_timed || debug::time();
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
    if (debug::time()) device.launch_times.add(name(), begin, end);
    Event event(device.backend->record(stream));
    if (range.is_timed) event.begin = std::move(begin), event.end = std::move(end);
    return event;
}

// ---- preparing -----------------------------------------------------------------------------------------------------

void detail::compile_ahead(const KernelBase& kernel, const Device& device, const PrepareOptions& options,
                           const std::function<void(double)>& report) {
    const std::shared_ptr<const ir::Kernel> recorded = kernel.state->without_calls(kernel.recorded());
    const Described described(*recorded, device, options);
    report(0.25);
    LaunchCheck check(*recorded, options.range, described.arguments);
    const bool any = check.collect();
    check.device = device.state;
    Backend& backend = *device.state->backend;
    const bool fixed = options.range.group_rank || recorded->group[0];
    if (fixed) check.check_group(backend.limits());
    std::shared_ptr<Executable> executable = device.state->compiled(kernel.state->number);
    if (!executable) executable = kernel.state->compile(recorded, device.state);
    report(0.5);
    auto* const preparing = dynamic_cast<PreparingBackend*>(&backend);
    if (!any || !preparing) return;
    if (!fixed) check.launch.group = backend.choose_group(*recorded, check.launch);
    if (options.range.rank > 3) check.launch.group[2] = 1;
    preparing->prepare(executable, check.launch);
}

}  // namespace pumice
