#include "cpu/runtime/cpu_program.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "core/interp/interp_program.h"
#include "core/ir/cache_key.h"
#include "core/ir/structure.h"
#include "core/lowering/group_by_memory.h"
#include "core/passes/inlining.h"
#include "core/source/source_text.h"
#include "core/support/debug.h"
#include "core/support/error.h"
#include "core/support/trace.h"
#include "cpu/native/debugger_registration.h"
#include "cpu/native/host_function.h"
#include "cpu/native/llvm_use.h"
#include "cpu/plan/alignment_peeling.h"
#include "cpu/plan/cpu_group_size.h"
#include "cpu/plan/lower_for_cpu.h"
#include "cpu/plan/unroll_and_jam.h"
#include "cpu/runtime/cache_sizes.h"
#include "cpu/runtime/launch_alignment.h"
#include "cpu/runtime/sum_copies.h"

namespace pumice::cpu {
namespace {

Isa isa_of(const Machine& machine) {
    if (machine.triple.rfind("aarch64", 0) == 0) return Isa::neon;
    if (native_width(machine) == 16) return Isa::avx512;
    if (native_width(machine) == 8) return Isa::avx2;
    if (machine.has("sse4.1")) return Isa::sse4;
    return machine.has("sse2") ? Isa::sse2 : Isa::none;
}

/// Estimate of a group's time in nanoseconds from the number of instructions, until one is measured.
double guess(const ir::Kernel& k, ir::BlockId block, double times) {
    double sum = 0;
    for (const ir::InstId id : k[block].insts) {
        const ir::Inst& inst = k[id];
        const double inner = times * (inst.op == ir::Op::for_ || inst.op == ir::Op::while_ ? 1000 : 1);
        sum += times;
        for (const ir::BlockId b : inst.owned()) sum += guess(k, b, inner);
    }
    return sum;
}

constexpr std::string_view layout = "pumice cpu object 2";  // must change with the layout that follows

}  // namespace

struct Compiler::Unloaded {
    std::string symbol, object;
    int64_t scratch_bytes = 0;
    std::vector<PrivatisedArray> sums;

    std::string pack() const {
        std::string bytes(layout);
        for (const uint64_t number : {uint64_t(scratch_bytes), uint64_t(symbol.size()), uint64_t(sums.size())})
            bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
        bytes.append(reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(PrivatisedArray));
        return bytes + symbol + object;
    }
    static std::optional<Unloaded> unpack(const std::string& bytes) {
        uint64_t numbers[3];
        if (!bytes.starts_with(layout) || bytes.size() < layout.size() + sizeof numbers) return std::nullopt;
        std::memcpy(numbers, bytes.data() + layout.size(), sizeof numbers);
        size_t at = layout.size() + sizeof numbers;
        if (numbers[2] > (bytes.size() - at) / sizeof(PrivatisedArray)) return std::nullopt;
        std::vector<PrivatisedArray> sums(numbers[2]);
        if (!sums.empty()) std::memcpy(sums.data(), bytes.data() + at, sums.size() * sizeof(PrivatisedArray));
        at += sums.size() * sizeof(PrivatisedArray);
        if (numbers[1] > bytes.size() - at) return std::nullopt;
        return Unloaded{bytes.substr(at, numbers[1]), bytes.substr(at + numbers[1]), int64_t(numbers[0]), std::move(sums)};
    }
};

Compiler::Compiler(int width, const Machine& of)
    : machine(of), cache(debug::cache_folder()), compilations(std::max(1u, std::thread::hardware_concurrency())) {
    target.width = width > 0 ? width : native_width(machine);
    target.isa = isa_of(machine);
    target.splits_vectors = target.isa == Isa::avx512 && machine.cpu == "znver4";
    target.fast_gathers = has_fast_gathers(machine);
    target.rules = rules_without(ir::source_debugging() ? "all" : debug::value("PUMICE_CPU_WITHOUT"));
    target.triple = machine.triple;
    for_debuggers = ir::source_debugging();
    sleef = dlopen("libsleef.so.3", RTLD_NOW | RTLD_LOCAL);
    target.sleef = sleef != nullptr;
    if (!sleef)
        debug::log_line("libsleef.so.3 (Debian's package libsleef3) is not there: vector maths is done one item after another");
    loader = std::async(std::launch::async, [machine = machine, sleef = sleef, use = std::make_unique<LlvmUse>()]() mutable {
                 const auto ends = std::move(use);
                 auto ready = make_loader([sleef](const char* name) -> void* {
                     if (void* own = host_function(name)) return own;
                     if (void* vector = sleef ? dlsym(sleef, name) : nullptr) return vector;
                     return dlsym(RTLD_DEFAULT, name);
                 });
                 make_object("define void @warm(ptr %p) { store <16 x float> zeroinitializer, ptr %p ret void }", machine);
                 return ready;
             }).share();
}

Compiler::~Compiler() { loader.wait(); }

std::string Compiler::key(const ir::Kernel& kernel, const Variant& variant) const {
    static const std::string& build = *new std::string(build_stamp());  // never destroyed, as element_of
    CacheKey key;
    key.add(build), key.add(llvm_version()), key.add(machine.triple), key.add(machine.cpu), key.add(machine.features),
        key.add(target), key.add(variant);
    key.add(kernel);
    return key.hash() + ".object";
}

Emitted Compiler::emit(const ir::Kernel& kernel, const Variant& variant) const {
    std::vector<std::string_view> stages = pass_names();
    stages.insert(stages.end(), {"unroll_and_jam", "ir", "analysis", "plan", "llvm", "optimised", "asm"});
    debug::check_dump(stages);

    trace::Span span("compile", "IR to LLVM");
    span.add("kernel", kernel.name);
    const ir::Kernel lowered = for_debuggers ? lower_for_debugging(kernel, variant.wide_offsets)
                                             : lower(kernel, variant.wide_offsets, variant.sums, target.rules);
    Emitted emitted = for_debuggers ? emit_llvm_for_debuggers(lowered, target, variant) : emit_llvm(lowered, target, variant);
    if (debug::dumps("plan")) debug::dump_text("plan", kernel.name, "ir", packet_plan(lowered, target, variant, for_debuggers));
    if (debug::dumps("llvm")) debug::dump_text("llvm", kernel.name, "ll", emitted.text);
    return emitted;
}

Compiler::Unloaded Compiler::make(const std::string& name, const Emitted& emitted) const {
    const bool readable = debug::dumps("optimised") || debug::dumps("asm");
    const Object object = [&] {
        trace::Span span("compile", "LLVM");
        span.add("kernel", name);
        return make_object(emitted.text, machine, readable, for_debuggers);
    }();
    if (debug::dumps("optimised")) debug::dump_text("optimised", name, "ll", object.optimised);
    if (debug::dumps("asm")) debug::dump_text("asm", name, "s", object.assembly);
    return {emitted.symbol, object.bytes, emitted.scratch_bytes, emitted.sums};
}

std::shared_ptr<Native> Compiler::load(const Unloaded& unloaded, std::string& reason) {
    auto native = std::make_shared<Native>();
    native->code = loader.get()->load(unloaded.object, unloaded.symbol, reason);
    if (!native->code) return nullptr;
    if (for_debuggers) native->registration = register_for_debuggers(unloaded.object, unloaded.symbol, native->code->entry);
    native->entry = reinterpret_cast<Entry*>(native->code->entry);
    native->scratch_bytes = unloaded.scratch_bytes;
    native->sums = unloaded.sums;
    return native;
}

float estimated_group_ns(const ir::Kernel& kernel, const Variant& variant, int width) {
    const double items = double(variant.group[0] * variant.group[1] * variant.group[2]);
    return float(guess(kernel, ir::BlockId{0}, 1) * items / width);
}

bool Compiler::in_background() const { return debug::value("PUMICE_DUMP").empty() && !for_debuggers; }

Compiler::Begun Compiler::begin(const ir::Kernel& kernel, const Variant& variant) {
    using Clock = std::chrono::steady_clock;
    std::string reason;
    // A dump needs a compilation; a debugger needs the names in today's source file.
    const bool cached = cache.on() && in_background();
    const std::string entry = cached ? key(kernel, variant) : "";
    const float group_ns = estimated_group_ns(kernel, variant, target.width);
    if (cached)
        if (const auto stored = cache.read(entry))
            if (const auto unloaded = Unloaded::unpack(*stored))
                if (auto native = load(*unloaded, reason)) {
                    if (debug::time()) std::fprintf(stderr, "pumice: %s: from the disk cache\n", kernel.name.c_str());
                    native->group_ns = group_ns;
                    return {std::move(native), nullptr};
                }
    if (cached) debug::log_line(text("the code of kernel ", kernel.name, " is not in the disk cache ", reason));
    const auto start = Clock::now();
    Emitted emitted = emit(kernel, variant);
    const auto took = Clock::now() - start;
    const auto rest = [this, entry, group_ns, took, name = kernel.name, emitted = std::move(emitted)] {
        const auto again = Clock::now();
        const Unloaded unloaded = make(name, emitted);
        const std::chrono::duration<double, std::milli> ms = took + (Clock::now() - again);
        if (debug::time())
            std::fputs(text("pumice: ", name, ": ", fixed_text(ms.count(), 2), " ms to native code, ", unloaded.object.size(),
                            " bytes\n")
                           .c_str(),
                       stderr);
        std::string why;
        const std::shared_ptr<Native> native = load(unloaded, why);
        if (!native) library_bug(text("the code of kernel \"", name, "\" cannot be loaded: ", why));
        if (!entry.empty()) cache.write(entry, unloaded.pack());
        native->group_ns = group_ns;
        return native;
    };
    return {nullptr, rest};
}

std::shared_ptr<const ir::Kernel> without_group_operations(std::shared_ptr<const ir::Kernel> kernel, const Rules& rules) {
    const auto is_group = [](const ir::Inst& i) { return i.op == ir::Op::group; };
    if (std::none_of(kernel->insts.begin(), kernel->insts.end(), is_group)) return kernel;
    const ir::Kernel inlined = ir::inlining(*kernel);
    return std::make_shared<const ir::Kernel>(rules.has(Rule::group_accumulators) ? inlined : ir::group_by_memory(inlined));
}

namespace {

std::vector<int> owners_of(const ir::Kernel& k, std::span<const ir::MemoryId> arrays) {
    std::vector<int> owners(k.params.size(), -1);
    for (const ir::MemoryId m : arrays) owners[size_t(k[m].argument)] = axis_of_owners(k, m);
    const bool any = std::any_of(owners.begin(), owners.end(), [](int axis) { return axis >= 0; });
    return any ? owners : std::vector<int>();
}

std::vector<OwnedRanges> ranges_of(const ir::Kernel& k, std::span<const ir::MemoryId> arrays) {
    std::vector<OwnedRanges> ranges(k.params.size());
    for (const ir::MemoryId m : arrays) ranges[size_t(k[m].argument)] = owned_ranges(k, m).value_or(OwnedRanges());
    return std::ranges::all_of(ranges, [](const OwnedRanges& r) { return r == OwnedRanges(); }) ? std::vector<OwnedRanges>()
                                                                                                : ranges;
}

/// True if axes 1 and 2 should be swapped: items may run in any order, and rows of an array are along axis 2 but none along axis
/// 1. Not if axis 2 is folded from several dimensions, since its successive items are not adjacent.
bool gains_by_swap(const ir::Kernel& k, const Rules& rules) {
    return rules.has(Rule::axis_exchange) && k.rank == 3 && k.folded == 1 && movable(k) && !reports(k) &&
           argument_across(k, 1) < 0 && argument_across(k, 2) >= 0;
}

/// The rows that are worth running together, if the back end may choose groups of several rows.
int64_t rows_together(const ir::Kernel& k, const Rules& rules) {
    const bool loops = std::any_of(k.insts.begin(), k.insts.end(), [](const ir::Inst& i) { return ir::is_loop(i.op); });
    if (k.rank < 2 || !loops || !rules.has(Rule::unroll_and_jam)) return 1;
    return rows_worth_jamming(lower(k, false, Privatisation::none, rules));
}

}  // namespace

CpuProgram::CpuProgram(std::shared_ptr<Compiler> with, std::shared_ptr<const ir::Kernel> given)
    : swapped(gains_by_swap(*given, with->target.rules)),
      kernel(swapped ? std::make_shared<const ir::Kernel>(with_axes_swapped(*given)) : std::move(given)),
      movable(cpu::movable(*kernel)),
      stencil(movable ? axes_of_stencils(*kernel) : 0),
      across(argument_across(*kernel)),
      jammed_rows(movable && !reports ? rows_together(*kernel, with->target.rules) : 1),
      synchronises(contains_barrier(*kernel)),
      asks_range(!kernel->whole_groups || std::any_of(kernel->insts.begin(), kernel->insts.end(),
                                                      [](const ir::Inst& i) { return i.op == ir::Op::in_range; })),
      ranges(with->target.rules.has(Rule::row_ownership) ? ranges_of(*kernel, added_to) : std::vector<OwnedRanges>()),
      owners(owners_of(*kernel, added_to)),
      compiler(std::move(with)) {}

namespace {

int64_t items_in(const std::array<int64_t, 3>& extents) { return extents[0] * extents[1] * extents[2]; }

/// True if stores to arrays that are only written should bypass the caches: the launch's arrays exceed these.
bool streams(const Launch& launch, int threads) {
    int64_t bytes = 0;
    for (const Launch::Argument& argument : launch.arguments) bytes += argument.array.memory ? argument.array.bytes : 0;
    return bytes >= bytes_in_caches(threads);
}

}  // namespace

Launch CpuProgram::arranged(const Launch& asked, int threads, bool followed) {
    Launch launch = asked;
    if (swapped)
        for (auto* const each : {&launch.start, &launch.extent, &launch.group}) std::swap((*each)[1], (*each)[2]);
    launch.group = group_of(launch, threads, followed);
    if (movable && !reports && items_in(launch.extent) < long_range) launch.group = compiled_group(launch, threads);
    return launch;
}

/// The group size of the launch, or a longer one for which there is code already, if it gives all threads work. Ranges that
/// shrink, as in an elimination, would otherwise compile the kernel for each of half a dozen group sizes.
std::array<int64_t, 3> CpuProgram::compiled_group(const Launch& launch, int threads) {
    const auto groups = [&](const std::array<int64_t, 3>& size) {
        return items_in({(launch.extent[0] + size[0] - 1) / size[0], (launch.extent[1] + size[1] - 1) / size[1],
                         (launch.extent[2] + size[2] - 1) / size[2]});
    };
    const std::lock_guard lock(mutex);
    std::array<int64_t, 3> best = launch.group;
    for (const CompiledVariant& m : made) {
        if (m.variant.group == launch.group) return launch.group;
        const bool enough = groups(m.variant.group) >= std::min<int64_t>(groups(launch.group), 4 * threads);
        if (enough && m.variant.group[0] >= launch.group[0]) best = m.variant.group;
    }
    return best;
}

std::array<int64_t, 3> CpuProgram::group_of(const Launch& launch, int threads, bool followed) const {
    const auto& e = launch.extent;
    const Rules& rules = compiler->target.rules;
    if (!movable || reports || launch.rank > 3 || !rules.has(Rule::cache_blocking)) return launch.group;
    const std::array<int64_t, 3> group = launch.rank > 1 && across < 0 ? with_short_rows(launch.group, e[0]) : launch.group;
    if (group[1] < jammed_rows && across < 0 && e[1] >= 2 * threads * jammed_rows) return {group[0], jammed_rows, group[2]};
    if (launch.rank > 1 && across < 0 && !stencil && !swapped) return with_long_rows(group);
    if (items_in(e) < long_range) return group;
    // Without blocking, too, rows are still in the first-level cache when they are needed again; a fused launch then finds them
    // all there.
    if (stencil) return followed ? group : group_of_stencil(e, stencil, largest_element(*kernel));
    if (across >= 0 && rules.has(Rule::alignment_peeling) && worth_peeling(*kernel, launch, streams(launch, threads)))
        return peeled_group_across;
    return swapped ? group_across : launch.group;
}

/// No owners if the arrays are small compared to the range: private copies are cheap then, and threads keep to the order of
/// memory.
OwnershipPartition CpuProgram::partition(const Launch& launch, int threads) const {
    constexpr int64_t most_items_an_element = 16;
    if (!compiler->target.rules.has(Rule::row_ownership) || (owners.empty() && ranges.empty()) || across >= 0 || !alone(launch))
        return {};
    int64_t elements = 0, items = 1;
    for (size_t p = 0; p < launch.arguments.size(); ++p) {
        const bool owned = (!owners.empty() && owners[p] >= 0) || (!ranges.empty() && ranges[p].bounds >= 0);
        if (owned) elements += launch.arguments[p].array.count();
    }
    std::array<int64_t, 3> groups{};
    for (size_t axis = 0; axis < 3; ++axis) {
        items *= launch.extent[axis];
        groups[axis] = (launch.extent[axis] + launch.group[axis] - 1) / launch.group[axis];
    }
    return items > most_items_an_element * elements ? OwnershipPartition() : OwnershipPartition(owners, ranges, groups, threads);
}

/// The variant that suits the launch best.
Variant CpuProgram::variant_of(const Launch& launch, int threads) const {
    Variant wanted;
    wanted.group = launch.group;
    // Halves the code and its compile time: no masked packets at a row's end, no version for the last group.
    wanted.full = asks_range;
    for (size_t axis = 0; axis < 3; ++axis) wanted.full = wanted.full && launch.extent[axis] % launch.group[axis] == 0;
    for (const Launch::Argument& argument : launch.arguments) {
        wanted.wide_offsets = wanted.wide_offsets || (argument.array.memory && argument.array.count() > INT32_MAX);
    }
    const OwnershipPartition shared = partition(launch, threads);
    const Rules& rules = compiler->target.rules;
    if (!added_to.empty() && rules.has(Rule::privatised_reductions)) {
        choose_privatisation(wanted, *kernel, added_to, shared, launch, compiler->target.width, threads);
        if (wanted.sums == Privatisation::lanes && (added_on_data || !rules.has(Rule::lane_private_sums)))
            wanted.sums = Privatisation::copies;
    }
    wanted.streaming = streams(launch, threads);
    // Groups that begin early do not cover the same columns in all rows.
    wanted.peeled = rules.has(Rule::alignment_peeling) && movable && !shared.any() && wanted.sums != Privatisation::lanes &&
                    launch.group[0] % most_peeled == 0 && compiler->target.width > 1 &&
                    worth_peeling(*kernel, launch, wanted.streaming);
    wanted.full = wanted.full && !wanted.peeled;
    wanted.aligned = synchronises && launch.start[0] % most_peeled == 0;
    return wanted;
}

/// The compilation of a variant, up to LLVM's text; the rest adds what launches ask.
Compiler::Begun CpuProgram::begin(const Variant& wanted) const {
    const auto described = [this, wanted](std::shared_ptr<Native> native) {
        native->streaming = wanted.streaming;
        native->peeled = wanted.peeled;
        native->clears = mostly_stores(*kernel, 0);
        native->accesses = row_accesses(*kernel);
        return native;
    };
    try {
        Compiler::Begun begun = compiler->begin(*kernel, wanted);
        if (begun.native) return {described(begun.native), nullptr};
        return {nullptr, [described, rest = std::move(begun.rest)] {
                    const LlvmUse use;
                    return described(rest());
                }};
    } catch (const Error& e) {
        throw e.within(text("while compiling kernel \"", kernel->name, "\" (", kernel->where(kernel->loc), ") for cpu"));
    }
}

CpuProgram::Code CpuProgram::code(const Launch& launch, int threads, bool background) {
    const Variant wanted = variant_of(launch, threads);
    Variant general = wanted;
    general.full = false;
    const std::lock_guard lock(mutex);
    // Code for ranges with a tail serves ranges without one, too.
    for (const Variant& suitable : {wanted, general}) {
        const auto found = std::ranges::find(made, suitable, &CompiledVariant::variant);
        if (found == made.end()) continue;
        Code& known = found->code;
        if (known.native || known.later.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return known;
        try {
            return known = {std::shared_future(known.later).get(), {}};
        } catch (...) { made.erase(found); }  // whoever waited for it has got the error; this launch tries again
    }
    interp::check_local_memory(*kernel, launch.group, local_bytes(*kernel, launch.group), max_local_bytes, "cpu");
    Compiler::Begun begun = begin(wanted);
    Code code{begun.native, {}};
    if (!code.native && background) {
        struct Compilation {
            explicit Compilation(std::function<std::shared_ptr<Native>()> of) : task(std::move(of)) {}
            std::packaged_task<std::shared_ptr<Native>()> task;
            LlvmUse use;  // from now on, so that the thread that launches waits before the process ends
        };
        const auto compilation = std::make_shared<Compilation>(begun.rest);
        if (compiler->compilations.add([compilation] { compilation->task(); }))
            code.later = compilation->task.get_future().share();
        else
            debug::log_line(text("the system gives no thread that compiles kernel ", kernel->name));
    }
    if (!code.native && !code.later.valid()) code.later = std::async(std::launch::deferred, begun.rest).share();
    made.push_back({wanted, code});
    return code;
}

CpuProgram::~CpuProgram() {
    for (const CompiledVariant& m : made)
        if (m.code.later.valid() && m.code.later.wait_for(std::chrono::seconds(0)) == std::future_status::timeout)
            m.code.later.wait();  // the thread uses the kernel
}

std::shared_ptr<Native> CpuProgram::variant(const Launch& launch, int threads) {
    const Code found = code(launch, threads, false);
    return found.native ? found.native : found.later.get();
}

}  // namespace pumice::cpu
