// Reading of bundles: every size, reference, text and number is checked once, here; those of programs in program_checks.cpp.
//
//   bytes -> header (magic, version, size, checksum) -> sections (copied into this version's layout) -> check of all references
//
// Why: a bundle is data from outside. After open(), launches follow its references without another look, which is fast, and safe
// for any bytes. Each section is copied, with records of an earlier version's size filled up with zeros.
// Cost: one pass over the file. Memory: the file's size, and at most 4 times that for records of an older, shorter layout.
#include "runtime/bundle/bundle.h"

#include <stdio.h>

#include "runtime/bundle/program_checks.h"

namespace pumice_rt {
namespace {

/// A section in memory: its kind, the size of a record, and the member of Bundle that points to it.
struct SectionLayout {
    char name[20];  // no pointer, which the loader would have to relocate
    uint32_t record_bytes;
};
constexpr uint32_t kinds = uint32_t(SectionKind::count);
constexpr SectionLayout layouts[kinds] = {{"text", 1},
                                          {"words", sizeof(uint32_t)},
                                          {"kernels", sizeof(KernelRecord)},
                                          {"parameters", sizeof(ParameterRecord)},
                                          {"leaves", sizeof(LeafRecord)},
                                          {"modules", sizeof(ModuleRecord)},
                                          {"bindings", sizeof(BindingRecord)},
                                          {"fields", sizeof(FieldRecord)},
                                          {"sized_locals", sizeof(SizedLocalRecord)},
                                          {"size_steps", sizeof(SizeStepRecord)},
                                          {"natives", sizeof(NativeRecord)},
                                          {"sums", sizeof(SumRecord)},
                                          {"stores", sizeof(StoreRecord)},
                                          {"formats", sizeof(FormatRecord)},
                                          {"locals", sizeof(LocalRecord)},
                                          {"programs", sizeof(ProgramRecord)},
                                          {"program_sizes", sizeof(ProgramSizeRecord)},
                                          {"program_parameters", sizeof(ProgramParameterRecord)},
                                          {"entries", sizeof(EntryRecord)},
                                          {"entry_arguments", sizeof(EntryArgumentRecord)},
                                          {"results", sizeof(ResultRecord)},
                                          {"expressions", sizeof(ExpressionRecord)},
                                          {"buffers", sizeof(BufferRecord)},
                                          {"commands", sizeof(CommandRecord)},
                                          {"command_arguments", sizeof(CommandArgumentRecord)},
                                          {"data", 1}};

/// Limits of values that are used to reserve or count: far above those of real kernels.
constexpr uint32_t most_parameters = 128, most_group_items = 1u << 20, most_bindings = 1024, most_push_bytes = 4096,
                   most_block_bytes = 1u << 16;
constexpr float most_group_ns = 1e15f;
constexpr uint64_t most_scratch_bytes = 1ull << 30, most_range_items = 1ull << 48;

pumice_status broken(const char* what, uint64_t value, uint64_t limit) {
    return fail(PUMICE_ERROR_BUNDLE, "%s is %llu; the limit is %llu", what, (unsigned long long)value, (unsigned long long)limit);
}

/// The checks of all records of a bundle.
class Check {
public:
    explicit Check(const Bundle& of) : b(of) {}

    pumice_status all() const {
        if (count(SectionKind::text) == 0 || b.text_bytes[0] != 0 || b.text_bytes[count(SectionKind::text) - 1] != 0)
            return fail(PUMICE_ERROR_BUNDLE, "its section of text does not begin and end with a zero byte");
        for (uint32_t i = 0; i < count(SectionKind::leaves); ++i) RT_TRY(leaf(b.leaves[i]));
        for (uint32_t i = 0; i < count(SectionKind::locals); ++i) {
            RT_TRY(steps(b.locals[i].steps));
            RT_TRY(bytes_of(b.locals[i].element_bytes));
        }
        for (uint32_t i = 0; i < count(SectionKind::sized_locals); ++i) {
            RT_TRY(steps(b.sized_locals[i].steps));
            RT_TRY(bytes_of(b.sized_locals[i].element_bytes));
        }
        for (uint32_t i = 0; i < count(SectionKind::formats); ++i) {
            RT_TRY(text(b.formats[i].text));
            RT_TRY(text(b.formats[i].source));
            RT_TRY(span(b.formats[i].types, SectionKind::leaves));
            RT_TRY(below(b.formats[i].types.count, 65, "the number of values of a format"));
        }
        for (uint32_t i = 0; i < b.kernel_count; ++i) RT_TRY(kernel(b.kernels[i]));
        return PUMICE_OK;
    }

private:
    uint32_t count(SectionKind kind) const { return b.counts[uint32_t(kind)]; }

    static pumice_status below(uint64_t value, uint64_t limit, const char* what) {
        return value < limit ? PUMICE_OK : broken(what, value, limit - 1);
    }
    pumice_status text(uint32_t at) const { return below(at, count(SectionKind::text), "the place of a text"); }
    pumice_status span(const RecordRange& s, SectionKind kind) const {
        const uint64_t end = uint64_t(s.first) + s.count;
        if (s.count == 0 || end <= count(kind)) return PUMICE_OK;
        return fail(PUMICE_ERROR_BUNDLE, "a record refers to the %s %u to %llu, and there are %u", layouts[uint32_t(kind)].name,
                    s.first, (unsigned long long)end, count(kind));
    }
    static pumice_status type(uint32_t t, const char* what) {
        return t == type_struct || t < type_count ? PUMICE_OK : broken(what, t, type_count - 1);
    }
    static pumice_status bytes_of(uint32_t bytes) {
        return bytes > 0 && bytes <= 1u << 16 ? PUMICE_OK : broken("the size of an element in bytes", bytes, 1u << 16);
    }

    pumice_status leaf(const LeafRecord& l) const {
        RT_TRY(text(l.path));
        RT_TRY(below(l.type, type_count, "the type of a member"));
        return below(l.offset, 1u << 16, "the offset of a member");
    }
    /// A computation has at least one step, and each step's operands stand before it.
    pumice_status steps(const RecordRange& s) const {
        RT_TRY(span(s, SectionKind::size_steps));
        if (s.count == 0 || s.count > 256) return broken("the number of steps of a size", s.count, 256);
        for (uint32_t i = 0; i < s.count; ++i) {
            const SizeStepRecord& step = b.size_steps[s.first + i];
            RT_TRY(below(step.op, uint32_t(SizeOp::count), "the op of a size"));
            RT_TRY(below(step.axis, 3, "the axis of a size"));
            if (SizeOp(step.op) != SizeOp::constant && SizeOp(step.op) != SizeOp::group_size)
                for (const uint32_t operand : step.operands) RT_TRY(below(operand, i, "the operand of a size"));
        }
        return PUMICE_OK;
    }

    pumice_status kernel(const KernelRecord& k) const {
        for (const uint32_t t : {k.name, k.source, k.hash}) RT_TRY(text(t));
        RT_TRY(span(k.parameters, SectionKind::parameters));
        RT_TRY(span(k.modules, SectionKind::modules));
        RT_TRY(span(k.natives, SectionKind::natives));
        RT_TRY(span(k.formats, SectionKind::formats));
        RT_TRY(span(k.locals, SectionKind::locals));
        RT_TRY(span(k.stores, SectionKind::stores));
        RT_TRY(below(k.parameters.count, most_parameters + 1, "the number of parameters"));
        RT_TRY(below(k.rank, 4, "the rank of a kernel"));
        RT_TRY(below(k.folded, PUMICE_MAX_RANK - 1, "the number of folded dimensions"));
        if (k.folded == 0 || (k.folded > 1 && k.rank != 3)) return broken("the number of folded dimensions", k.folded, 1);
        RT_TRY(group(k.group));
        RT_TRY(range(k));
        for (uint32_t i = 0; i < k.parameters.count; ++i) RT_TRY(parameter(k, b.parameters[k.parameters.first + i]));
        if (k.across != -1) RT_TRY(array(k, uint32_t(k.across)));
        if ((k.flags & KernelRecord::reports) && k.formats.count == 0)
            return fail(PUMICE_ERROR_BUNDLE, "a kernel prints, and has no formats");
        for (uint32_t i = 0; i < k.modules.count; ++i) RT_TRY(module(k, b.modules[k.modules.first + i]));
        for (uint32_t i = 0; i < k.natives.count; ++i) RT_TRY(native(k, b.natives[k.natives.first + i]));
        for (uint32_t i = 0; i < k.stores.count; ++i) RT_TRY(array(k, b.stores[k.stores.first + i].parameter));
        return PUMICE_OK;
    }
    static pumice_status group(const uint32_t (&extents)[3]) {
        uint64_t items = 1;
        for (const uint32_t e : extents) {
            if ((e == 0) != (extents[0] == 0)) return fail(PUMICE_ERROR_BUNDLE, "an extent of a fixed group is 0");
            RT_TRY(below(e, most_group_items + 1, "the extent of a group"));
            items *= e;
            RT_TRY(below(items, uint64_t(most_group_items) + 1, "the number of items of a group"));
        }
        return PUMICE_OK;
    }
    static pumice_status range(const KernelRecord& k) {
        for (const uint32_t e : k.range) {
            if ((e == 0) != (k.range[0] == 0)) return fail(PUMICE_ERROR_BUNDLE, "an extent of a fixed range is 0");
            RT_TRY(below(e, 1ull << 31, "the extent of a range"));
        }
        if (uint64_t(k.range[0]) * k.range[1] > most_range_items / (k.range[2] ? k.range[2] : 1))
            return fail(PUMICE_ERROR_BUNDLE, "a fixed range has more than 2^48 items");
        if ((k.range[0] || k.group[0]) && k.rank == 0) return fail(PUMICE_ERROR_BUNDLE, "a kernel of any rank fixes its range");
        return PUMICE_OK;
    }
    pumice_status parameter(const KernelRecord& k, const ParameterRecord& p) const {
        RT_TRY(text(p.name));
        RT_TRY(text(p.path));
        RT_TRY(span(p.leaves, SectionKind::leaves));
        RT_TRY(below(p.origin, 3, "the origin of a parameter"));
        RT_TRY(below(p.dimension, PUMICE_MAX_RANK, "the dimension of a parameter"));
        if (!p.is_array) {
            RT_TRY(below(p.type, type_count, "the type of a scalar"));
            return PUMICE_OK;
        }
        if (p.origin != 0) return fail(PUMICE_ERROR_BUNDLE, "an array is said to be an extent of the range");
        if (p.bounds > 0) RT_TRY(bounds(k, p.bounds - 1));
        RT_TRY(type(p.type, "the type of an array"));
        RT_TRY(bytes_of(p.element_bytes));
        RT_TRY(below(p.access, uint32_t(Access::count), "the access of an array"));
        return p.rank >= 1 && p.rank <= PUMICE_MAX_RANK ? PUMICE_OK : broken("the rank of an array", p.rank, PUMICE_MAX_RANK);
    }
    pumice_status array(const KernelRecord& k, uint32_t i) const {
        RT_TRY(below(i, k.parameters.count, "the number of a parameter"));
        return b.parameters[k.parameters.first + i].is_array ? PUMICE_OK
                                                             : fail(PUMICE_ERROR_BUNDLE, "parameter %u is not an array", i + 1);
    }
    pumice_status bounds(const KernelRecord& k, uint32_t i) const {
        RT_TRY(array(k, i));
        const ParameterRecord& p = b.parameters[k.parameters.first + i];
        if (k.rank == 1 && p.rank == 1 && p.type == PUMICE_I32 && p.element_bytes == 4) return PUMICE_OK;
        return fail(PUMICE_ERROR_BUNDLE, "parameter %u does not have the bounds of items", i + 1);
    }

    pumice_status module(const KernelRecord& k, const ModuleRecord& m) const {
        RT_TRY(span(m.words, SectionKind::words));
        RT_TRY(span(m.bindings, SectionKind::bindings));
        RT_TRY(span(m.push, SectionKind::fields));
        RT_TRY(span(m.block, SectionKind::fields));
        RT_TRY(span(m.sized_locals, SectionKind::sized_locals));
        RT_TRY(below(m.bindings.count, most_bindings, "the number of bindings"));
        RT_TRY(below(m.sized_locals.count, 65, "the number of local arrays"));
        RT_TRY(below(m.push_bytes, most_push_bytes + 1, "the size of the push constants"));
        RT_TRY(below(m.block_bytes, most_block_bytes + 1, "the size of the argument block"));
        if (m.words.count < 5 || b.words[m.words.first] != 0x07230203) return fail(PUMICE_ERROR_BUNDLE, "a module is not SPIR-V");
        for (uint32_t i = 0; i < m.bindings.count; ++i) RT_TRY(binding(k, b.bindings[m.bindings.first + i]));
        for (uint32_t i = 0; i < m.push.count; ++i) RT_TRY(field(k, b.fields[m.push.first + i], m.push_bytes));
        for (uint32_t i = 0; i < m.block.count; ++i) RT_TRY(field(k, b.fields[m.block.first + i], m.block_bytes));
        return PUMICE_OK;
    }
    pumice_status binding(const KernelRecord& k, const BindingRecord& binding) const {
        RT_TRY(below(binding.binding, most_bindings, "the number of a binding"));
        RT_TRY(below(binding.access, uint32_t(Access::count), "the access of a binding"));
        if (binding.argument >= 0) return array(k, uint32_t(binding.argument));
        return binding.argument >= BindingRecord::ring ? PUMICE_OK
                                                       : broken("the argument of a binding", uint32_t(binding.argument), 0);
    }
    pumice_status field(const KernelRecord& k, const FieldRecord& f, uint32_t room) const {
        RT_TRY(below(f.kind, uint32_t(FieldKind::count), "the kind of a field"));
        RT_TRY(below(f.type, type_count, "the type of a field"));
        const FieldKind kind = FieldKind(f.kind);
        const bool of_array = kind == FieldKind::extent || kind == FieldKind::address || kind == FieldKind::first;
        RT_TRY(below(f.axis, kind == FieldKind::extent ? PUMICE_MAX_RANK : 3, "the axis of a field"));
        if (of_array) RT_TRY(array(k, f.index));
        if (kind == FieldKind::argument) RT_TRY(below(f.index, k.parameters.count, "the argument of a field"));
        return below(uint64_t(f.offset) + field_bytes(f.type), uint64_t(room) + 1, "the end of a field");
    }

    pumice_status native(const KernelRecord& k, const NativeRecord& n) const {
        RT_TRY(span(n.sums, SectionKind::sums));
        if (n.group[0] == 0) return fail(PUMICE_ERROR_BUNDLE, "the group of a native function is empty");
        RT_TRY(group(n.group));
        RT_TRY(below(n.sum_kind, 3, "the kind of sums"));
        RT_TRY(below(n.scratch_bytes, most_scratch_bytes, "the scratch memory of a native function"));
        if (n.width < 1 || n.width > 64) return broken("the width of a native function", n.width, 64);
        if (!(n.group_ns >= 0 && n.group_ns <= most_group_ns))  // not for NaN either
            return fail(PUMICE_ERROR_BUNDLE, "the time of a group of a native function is no number of nanoseconds");
        RT_TRY(below(n.sums.count, most_parameters + 1, "the number of sums"));
        for (uint32_t i = 0; i < n.sums.count; ++i) RT_TRY(sum(k, b.sums[n.sums.first + i]));
        return PUMICE_OK;
    }

    pumice_status sum(const KernelRecord& k, const SumRecord& s) const {
        RT_TRY(array(k, s.parameter));
        RT_TRY(below(s.type, type_count, "the type of a sum"));
        if (field_bytes(s.type) != b.parameters[k.parameters.first + s.parameter].element_bytes)
            return fail(PUMICE_ERROR_BUNDLE, "a sum has elements of another size than its array");
        // Places are added in pairs.
        return s.lanes >= 1 && s.lanes <= 64 && (s.lanes & (s.lanes - 1)) == 0 ? PUMICE_OK
                                                                               : broken("the places of a sum", s.lanes, 64);
    }

    const Bundle& b;
};

}  // namespace

const char* type_name(uint32_t type) {
    static const char names[type_count][5] = {"bool", "i8",  "i16", "i32", "i64", "u8",  "u16",
                                              "u32",  "u64", "f16", "f32", "f64", "bf16"};
    return type < type_count ? names[type] : type == type_struct ? "a struct" : "an unknown type";
}

Bundle::Bundle(const pumice_hooks& with) : hooks(with) {}

Bundle::~Bundle() {
    for (uint32_t i = 0; i < kinds; ++i) release(hooks, storage[i], storage_bytes[i]);
}

pumice_status Bundle::open(const void* bytes, uint64_t size, const char* name) {
    pumice_status status = read(static_cast<const uint8_t*>(bytes), size);
    if (status == PUMICE_OK) status = check();
    return status == PUMICE_OK ? status : within(status, " (in the bundle %s)", name);
}

pumice_status Bundle::read(const uint8_t* bytes, uint64_t size) {
    BundleHeader header;
    SectionRecord section;
    if (size < sizeof header + sizeof section)
        return fail(PUMICE_ERROR_BUNDLE, "it has %llu bytes, less than a header", (unsigned long long)size);
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, bundle_magic, sizeof bundle_magic) != 0)
        return fail(PUMICE_ERROR_BUNDLE, "it does not begin like a bundle of Pumice");
    if (header.version < 1 || header.version > bundle_version)
        return fail(PUMICE_ERROR_BUNDLE, "its version is %u; this runtime reads the versions 1 to %u", header.version,
                    bundle_version);
    if (header.bytes != size)
        return fail(PUMICE_ERROR_BUNDLE, "it has %llu bytes, and its header says %llu: it is truncated or edited",
                    (unsigned long long)size, (unsigned long long)header.bytes);
    memcpy(&section, bytes + sizeof header, sizeof section);  // the first one begins where the table ends
    if (section.offset != sizeof header + header.section_count * sizeof section ||
        checksum(bytes + sizeof header, size - sizeof header) != header.checksum)
        return fail(PUMICE_ERROR_BUNDLE, "its checksum or table is wrong: it is damaged or edited");
    uint64_t taken = 0;
    for (uint32_t i = 0; i < header.section_count; ++i) {
        memcpy(&section, bytes + sizeof header + i * sizeof section, sizeof section);
        if (section.record_bytes == 0 || section.count > UINT32_MAX || section.offset > size ||
            section.count > (size - section.offset) / section.record_bytes)
            return fail(PUMICE_ERROR_BUNDLE, "its section %u does not fit the file", i);
        if (section.kind >= kinds) continue;  // of a later version
        // Sections that overlap could take many times the file's size.
        taken += section.count * section.record_bytes;
        if (taken > size) return fail(PUMICE_ERROR_BUNDLE, "its sections overlap");
        RT_TRY(copy(section, bytes + section.offset));
    }
    const auto at = [this](SectionKind kind) { return static_cast<const void*>(storage[uint32_t(kind)]); };
    text_bytes = static_cast<const char*>(at(SectionKind::text));
    words = static_cast<const uint32_t*>(at(SectionKind::words));
    kernels = static_cast<const KernelRecord*>(at(SectionKind::kernels));
    parameters = static_cast<const ParameterRecord*>(at(SectionKind::parameters));
    leaves = static_cast<const LeafRecord*>(at(SectionKind::leaves));
    modules = static_cast<const ModuleRecord*>(at(SectionKind::modules));
    bindings = static_cast<const BindingRecord*>(at(SectionKind::bindings));
    fields = static_cast<const FieldRecord*>(at(SectionKind::fields));
    sized_locals = static_cast<const SizedLocalRecord*>(at(SectionKind::sized_locals));
    size_steps = static_cast<const SizeStepRecord*>(at(SectionKind::size_steps));
    natives = static_cast<const NativeRecord*>(at(SectionKind::natives));
    sums = static_cast<const SumRecord*>(at(SectionKind::sums));
    stores = static_cast<const StoreRecord*>(at(SectionKind::stores));
    formats = static_cast<const FormatRecord*>(at(SectionKind::formats));
    locals = static_cast<const LocalRecord*>(at(SectionKind::locals));
    programs = static_cast<const ProgramRecord*>(at(SectionKind::programs));
    program_sizes = static_cast<const ProgramSizeRecord*>(at(SectionKind::program_sizes));
    program_parameters = static_cast<const ProgramParameterRecord*>(at(SectionKind::program_parameters));
    entries = static_cast<const EntryRecord*>(at(SectionKind::entries));
    entry_arguments = static_cast<const EntryArgumentRecord*>(at(SectionKind::entry_arguments));
    results = static_cast<const ResultRecord*>(at(SectionKind::results));
    expressions = static_cast<const ExpressionRecord*>(at(SectionKind::expressions));
    buffers = static_cast<const BufferRecord*>(at(SectionKind::buffers));
    commands = static_cast<const CommandRecord*>(at(SectionKind::commands));
    command_arguments = static_cast<const CommandArgumentRecord*>(at(SectionKind::command_arguments));
    data = static_cast<const uint8_t*>(at(SectionKind::data));
    kernel_count = counts[uint32_t(SectionKind::kernels)];
    return PUMICE_OK;
}

/// Copies a section; shorter records of an older version are filled up with zeros, and fields of a newer one are left out.
pumice_status Bundle::copy(const SectionRecord& section, const uint8_t* from) {
    const uint32_t here = layouts[section.kind].record_bytes;
    if (storage[section.kind] || counts[section.kind])
        return fail(PUMICE_ERROR_BUNDLE, "it has two sections of %s", layouts[section.kind].name);
    if (uint64_t(here) > uint64_t(4) * section.record_bytes)
        return fail(PUMICE_ERROR_BUNDLE, "a record of its section %s has %u bytes, less than in any version",
                    layouts[section.kind].name, section.record_bytes);
    if (section.count == 0) return PUMICE_OK;
    const uint64_t bytes = section.count * here;
    void* const to = allocate(hooks, bytes);
    if (!to)
        return fail(PUMICE_ERROR_MEMORY, "%llu bytes for its section %s are not there: the system gives no more memory",
                    (unsigned long long)bytes, layouts[section.kind].name);
    storage[section.kind] = to, storage_bytes[section.kind] = bytes, counts[section.kind] = uint32_t(section.count);
    if (here == section.record_bytes) {
        memcpy(to, from, bytes);
        return PUMICE_OK;
    }
    const uint32_t common = here < section.record_bytes ? here : section.record_bytes;
    memset(to, 0, bytes);
    for (uint64_t i = 0; i < section.count; ++i)
        memcpy(static_cast<uint8_t*>(to) + i * here, from + i * section.record_bytes, common);
    return PUMICE_OK;
}

pumice_status Bundle::check() const {
    RT_TRY(Check(*this).all());
    return check_programs(*this);
}

uint32_t Bundle::find(const char* name) const {
    uint32_t i = 0;
    while (i < kernel_count && strcmp(text(kernels[i].name), name) != 0) ++i;
    return i;
}

uint32_t Bundle::find_program(const char* name) const {
    uint32_t i = 0;
    while (i < count(SectionKind::programs) && strcmp(text(programs[i].name), name) != 0) ++i;
    return i;
}

int64_t Bundle::size_of(const RecordRange& steps, const int64_t (&group)[3]) const {
    int64_t values[256];
    for (uint32_t i = 0; i < steps.count; ++i) {
        const SizeStepRecord& step = size_steps[steps.first + i];
        const bool leaf = SizeOp(step.op) == SizeOp::constant || SizeOp(step.op) == SizeOp::group_size;
        const int64_t a = leaf ? 0 : values[step.operands[0]], b = leaf ? 0 : values[step.operands[1]];
        const bool undefined = b == 0 || (a == INT64_MIN && b == -1);
        int64_t& to = values[i];
        switch (SizeOp(step.op)) {
            case SizeOp::constant: to = step.constant; break;
            case SizeOp::group_size: to = group[step.axis]; break;
            // Sums and products in unsigned numbers, which wrap around.
            case SizeOp::add: to = int64_t(uint64_t(a) + uint64_t(b)); break;
            case SizeOp::sub: to = int64_t(uint64_t(a) - uint64_t(b)); break;
            case SizeOp::mul: to = int64_t(uint64_t(a) * uint64_t(b)); break;
            case SizeOp::div: to = undefined ? a : a / b; break;
            case SizeOp::mod: to = undefined ? 0 : a % b; break;
            case SizeOp::min: to = a < b ? a : b; break;
            case SizeOp::max: to = a > b ? a : b; break;
            case SizeOp::shift_left: to = int64_t(uint64_t(a) << (b & 63)); break;
            case SizeOp::shift_right: to = a >> (b & 63); break;
            case SizeOp::bit_and: to = a & b; break;
            case SizeOp::bit_or: to = a | b; break;
            case SizeOp::bit_xor: to = a ^ b; break;
            case SizeOp::count: to = 0; break;
        }
        if (step.bits == 32) to = step.is_unsigned ? int64_t(uint32_t(to)) : int64_t(int32_t(to));
    }
    return steps.count ? values[steps.count - 1] : 0;
}

}  // namespace pumice_rt
