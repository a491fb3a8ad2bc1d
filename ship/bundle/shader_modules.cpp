#include "ship/bundle/shader_modules.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "codegen/artifact/exact_conversions.h"
#include "codegen/glsl/codegen.h"
#include "codegen/lowering/loop_limit.h"
#include "core/support/error.h"
#include "ship/bundle/kernel_records.h"

namespace pumice::ship {
namespace {

using codegen::Options;
using codegen::Subgroups;
namespace has = property;

constexpr uint64_t subgroup_operations = has::subgroup_basic | has::subgroup_vote | has::subgroup_arithmetic |
                                         has::subgroup_ballot | has::subgroup_shuffle | has::subgroup_relative;
constexpr uint64_t integers = has::int8 | has::int16 | has::int64 | has::byte_storage | has::short_storage;
constexpr uint64_t floats = has::float16 | has::float64;
constexpr uint64_t atomics64 = has::int64_atomics | has::local_int64_atomics;
constexpr uint64_t works = has::barriers | has::all_iterations | has::signed_order | has::unsigned_to_float |
                           has::precise_unrolled | has::bit_merges | has::conversions | has::locks | has::scalar_layout;
constexpr uint64_t float_modes = has::float_specials | has::float_subnormals | has::float_to_even | has::double_specials;
constexpr uint64_t ordered_subgroups = has::linear_subgroups | has::packed_subgroups;

/// The classes of devices: what a class has, by the plans of known drivers.
constexpr uint64_t classes[] = {
    // Cards with everything (AMD and Intel with a driver of their own); NVIDIA's; without float atomics; with Mesa before 25.
    integers | floats | atomics64 | works | float_modes | subgroup_operations | has::subgroup_int64 | ordered_subgroups |
        has::float_atomics | has::local_float_atomics,
    (integers | floats | atomics64 | works | float_modes | subgroup_operations | has::subgroup_int64 | ordered_subgroups |
     has::float_atomics | has::local_float_atomics) &
        ~(has::conversions | has::float_subnormals),
    integers | floats | atomics64 | works | float_modes | subgroup_operations | has::subgroup_int64 | ordered_subgroups,
    (integers | floats | atomics64 | works | float_modes | subgroup_operations | has::subgroup_int64 | ordered_subgroups |
     has::float_atomics) &
        ~(has::signed_order | has::conversions),
    // lavapipe of Mesa 25 and later, and of Mesa 22, which keeps no subnormals. Where lanes without an item return, items are
    // lost on a driver whose subgroups hold items of several rows, so idle_lanes is a property that a module wants.
    integers | floats | atomics64 | float_modes | subgroup_operations | has::subgroup_int64 | has::linear_subgroups |
        has::float_atomics | has::local_float_atomics | has::ordered_atomics | has::signed_order | has::unsigned_to_float |
        has::precise_unrolled | has::rounded_division | has::locks | has::scalar_layout | has::cheap_private,
    integers | floats | atomics64 | has::float_specials | has::float_to_even | subgroup_operations | has::subgroup_int64 |
        has::linear_subgroups | has::float_atomics | has::local_float_atomics | has::ordered_atomics | has::unsigned_to_float |
        has::precise_unrolled | has::rounded_division | has::locks | has::scalar_layout | has::cheap_private | has::idle_lanes,
    // SwiftShader: no 64-bit integers' atomics, no subgroup arithmetic of 64 bits.
    (integers & ~has::int64) | works | subgroup_operations | ordered_subgroups | has::rounded_division | has::cheap_private,
    // Any device of Vulkan 1.2.
    works & ~(has::signed_order | has::unsigned_to_float | has::precise_unrolled | has::bit_merges | has::conversions |
              has::scalar_layout),
    has::ordered_atomics | has::locks | has::idle_lanes,
    has::ordered_atomics | has::locks,
    0,
};

Options options_for(uint64_t p, size_t parameters, bool shifted) {
    const auto is = [p](uint64_t bit) { return (p & bit) != 0; };
    Options o;
    o.long_extents = true;  // a launch does not look at extents
    o.float_atomics = is(has::float_atomics), o.local_float_atomics = is(has::local_float_atomics);
    o.int64_atomics = is(has::int64_atomics) && is(has::int64),
    o.local_int64_atomics = is(has::local_int64_atomics) && is(has::int64);
    o.memory_barriers = !is(has::ordered_atomics);
    o.idle_lanes = is(has::idle_lanes);
    o.ordered_as_unsigned = !is(has::signed_order);
    o.unsigned_rounds_twice = !is(has::unsigned_to_float);
    o.unrolled_imprecise = !is(has::precise_unrolled);
    o.parted_merges = o.folded_zeros = o.stale_counters = !is(has::bit_merges);  // lavapipe
    o.exact_conversions = !is(has::conversions);
    o.rounded_division = is(has::rounded_division);
    o.float_modes =
        uint32_t((p & float_modes) / has::float_specials);  // the bits of FloatModes, from that of the first property on
    o.byte_storage = is(has::byte_storage), o.short_storage = is(has::short_storage);
    o.pairs = !is(has::int64);
    // The bits of Subgroups are Vulkan's, and so are those of the properties.
    o.subgroups = uint32_t((p & subgroup_operations) / has::subgroup_basic);
    if (is(has::subgroup_int64) && is(has::int64)) o.subgroups |= Subgroups::int64;
    o.linear_subgroups = is(has::linear_subgroups), o.packed_subgroups = is(has::packed_subgroups);
    o.subgroup_sums = is(has::subgroup_arithmetic);
    o.cross_loop_cse = is(has::cheap_private);
    if (shifted) o.shifted.assign(parameters, true);
    return o;
}

/// A device for whose atomics no barrier is needed must not get one, and the reverse: both are wanted properties.
uint64_t closed(uint64_t p) { return p & has::barriers ? p & ~has::ordered_atomics : p; }

constexpr int64_t most_iterations = 65535;

/// The kernel for a class: with a check of its loops where a driver ends them.
ir::Kernel for_class(const ir::Kernel& k, uint64_t p) {
    return p & has::all_iterations ? k : codegen::require_loops(k, most_iterations, "this driver");
}

codegen::Shader glsl(const ir::Kernel& k, uint64_t p, bool shifted) {
    const Options options = options_for(p, k.params.size(), shifted);
    return codegen::emit_glsl(codegen::lower(for_class(k, p), options), options);
}

uint64_t hard_features(const codegen::Shader& s) {
    uint64_t bits = 0;
    for (const Feature f : s.features) bits |= uint64_t(1) << int(f);
    return bits;
}

/// The properties that the text for `p` depends on.
uint64_t wanted(const ir::Kernel& k, uint64_t p, const codegen::Shader& whole, bool shifted) {
    const std::string& text = whole.glsl;
    const auto same_without = [&](uint64_t bits) {
        try {
            const uint64_t less = closed(p & ~bits);
            return glsl(k, less, shifted).glsl == text;
        } catch (const Error&) { return false; }
    };
    uint64_t needed = 0;
    for (uint64_t rest = p; rest; rest &= rest - 1) {
        const uint64_t bit = rest & -rest;
        if (!same_without(bit)) needed |= bit;
    }
    // Properties that matter only together.
    if (const uint64_t free = p & ~needed; free && !same_without(free)) needed = p;
    return needed | hard_features(whole);
}

std::vector<FieldRecord> field_records(const std::vector<codegen::Field>& fields) {
    std::vector<FieldRecord> all;
    for (const codegen::Field& f : fields)
        all.push_back({uint32_t(f.kind), uint32_t(f.index), uint32_t(f.axis), f.offset, uint32_t(f.type)});
    return all;
}

ModuleRecord module_record(const ir::Kernel& k, const codegen::Shader& s, uint64_t wants, bool shifted, BundleWriter& to) {
    ModuleRecord m{};
    m.wants = wants, m.features = uint32_t(hard_features(s));
    if (s.asks_full_groups) m.flags |= ModuleRecord::asks_full_groups;
    if (s.asks_at_origin) m.flags |= ModuleRecord::asks_at_origin;
    if (shifted) m.flags |= ModuleRecord::shifted;
    for (const std::string& c : s.capabilities)
        if (c.starts_with("GroupNonUniform")) m.flags |= ModuleRecord::subgroups;
    m.words = to.module_words(s.spirv);
    std::vector<BindingRecord> bindings;
    for (const codegen::Binding& b : s.bindings) {
        const int32_t argument = b.argument == codegen::Binding::argument_block ? BindingRecord::argument_block
                                 : b.argument == codegen::Binding::locks        ? BindingRecord::locks
                                 : size_t(b.argument) == k.params.size()        ? BindingRecord::ring
                                                                                : b.argument;
        bindings.push_back({argument, uint32_t(b.binding), uint32_t(b.access)});
    }
    m.bindings = BundleWriter::append(to.bindings, bindings);
    m.push = BundleWriter::append(to.fields, field_records(s.push)),
    m.block = BundleWriter::append(to.fields, field_records(s.block));
    m.push_bytes = s.push_bytes, m.block_bytes = s.block_bytes, m.local_bytes = uint32_t(s.local_bytes);
    return m;
}

}  // namespace

namespace {

/// The modules of one kernel, while they are made.
class ModuleSet {
public:
    ModuleSet(const ir::Kernel& of, std::vector<FormatRecord>& with, BundleWriter& writer) : k(of), formats(with), to(writer) {}

    void add(uint64_t p, bool shifted) {
        const Options options = options_for(p, k.params.size(), shifted);
        const ir::Kernel checked = for_class(k, p);
        const codegen::Shader shader = codegen::compile(checked, options);
        uint64_t wants = wanted(k, p, shader, shifted);
        // The decorations of exact conversions are added to the words: no text tells of them.
        if (p & has::conversions && codegen::with_exact_conversions(shader.spirv) != shader.spirv) wants |= has::conversions;
        // A class without both properties has memory barriers: they have to work. So have locks, if there are any.
        if (!(p & has::ordered_atomics) &&
            glsl(k, closed(p & ~has::barriers) | has::ordered_atomics, shifted).glsl != shader.glsl)
            wants |= has::barriers;
        for (const codegen::Binding& b : shader.bindings)
            if (b.argument == codegen::Binding::locks) wants |= has::locks;
        ModuleRecord record = module_record(k, shader, wants, shifted, to);
        for (ModuleRecord& known : made) {
            if (known.words.first != record.words.first || known.flags != record.flags) continue;
            // Both sets of properties suffice for these words; the smaller one is kept.
            if ((known.wants & wants) == wants) known.wants = wants;
            return;
        }
        std::vector<SizedLocalRecord> sized;
        for (const codegen::SizedLocal& local : shader.sized_locals)
            sized.push_back({local.constant, local.element_bytes, local.in_words, size_steps(k, shader.steps_of(local), to)});
        record.sized_locals = BundleWriter::append(to.sized_locals, sized);
        made.push_back(record);
        for (const FormatRecord& f : format_records(checked, to))
            if (std::ranges::none_of(formats, [&](const FormatRecord& known) { return known.index == f.index; }))
                formats.push_back(f);
    }
    std::vector<ModuleRecord> made;

private:
    const ir::Kernel& k;
    std::vector<FormatRecord>& formats;
    BundleWriter& to;
};

}  // namespace

std::vector<ModuleRecord> shader_modules(const ir::Kernel& k, std::vector<FormatRecord>& formats, BundleWriter& to) {
    ModuleSet modules(k, formats, to);
    std::optional<Error> first_error;
    for (const bool shifted : {false, true})
        for (const uint64_t p : classes) try {
                modules.add(p, shifted);
            } catch (const Error& e) {  // the class lacks a type of the kernel
                if (!first_error) first_error = e;
            }
    if (modules.made.empty() && first_error) throw *first_error;
    std::ranges::stable_sort(modules.made, [](const ModuleRecord& a, const ModuleRecord& b) {
        return std::popcount(a.wants) > std::popcount(b.wants);
    });
    return modules.made;
}

}  // namespace pumice::ship
