// Entry points: the code around the kernel's body, which is memory, groups, the functions and the module.
//
//     define void @pumice_kernel(ptr %frame, i64 %first, i64 %count) {      called by the runtime for a range of groups
//       %array0 = load ptr, ptr %array0_at  ...                             addresses of arrays and of the scratch memory
//       call void @groups(..., ptr %array0, i64 %first, i64 %end)
//     }
//     define internal void @groups(ptr noalias %array0, ...) {              for each group: rows, packets, the kernel's body
//       %group = load i32, ptr %group_slot  ...
//     }
//
// Why two functions: LLVM knows that arrays do not overlap from `noalias` on parameters. Values of the frame (arguments, extents,
// counts) are loaded once, in the entry block, if the kernel uses them. The indices of the first group are found by division;
// those of the next are incremented. The scratch memory of a thread holds local arrays, each from a cache line on, and with
// barriers what packets save. Private memory is on the stack if it takes at most 32 KiB in a kernel without barriers.
// Cost: one call for a range of groups. Limits: group indices are 32-bit; a frame belongs to one thread (cpu/native/frame.h).
// Textbook name: work-item loops (Stratton et al., MCUDA, 2008; Jaaskelainen et al., pocl, 2015).
#include <algorithm>

#include "core/interp/interp_program.h"
#include "core/ir/ops.h"
#include "core/support/ascii.h"
#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"
#include "cpu/native/frame.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int64_t line_bytes = 64;
constexpr int64_t most_private_on_stack = 32 << 10;  ///< bytes of a packet's private memory
/// A kernel's name as a symbol: "kernel_saxpy".
std::string symbol_of(std::string name) {
    for (char& c : name)
        if (!ascii::is_alphanumeric(c)) c = '_';
    return "kernel_" + name;
}
int64_t rounded_up(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

LlvmEmitter::LlvmEmitter(const Kernel& kernel, const Target& t, const Variant& v)
    : k(kernel),
      target(t),
      variant(v),
      width(t.width),
      uniformity(kernel, {Scope::item, Scope::subgroup, Scope::subgroup}),
      affine(kernel, uniformity),
      uses(kernel),
      values(kernel.values.size()),
      has_value(kernel.values.size()) {
    for (const InstId i : k.body().insts) has_barriers = has_barriers || contains_barrier(k, k[i]);
    sum_lanes.assign(k.memories.size(), 0);
    choose_width();
    wide = choose_wide();
    lay_out_memories();
    plan_private_sums();
    plan_products();
    main = main_access();
}

/// Lays out the scratch memory: local arrays, then (with barriers) what packets save. Private memory is on the stack if it fits.
void LlvmEmitter::lay_out_memories() {
    memory_offsets.assign(k.memories.size(), -1);
    private_names.resize(k.memories.size());
    private_offsets.resize(k.memories.size());
    const int most = width * wide;  // items of a packet
    int64_t private_bytes = 0;
    for (const Memory& m : k.memories) {
        if (m.kind != MemoryKind::private_) continue;
        for (const Leaf& l : m.element.leaves)
            private_bytes += interp::local_elements(k, m, variant.group) * size_of(l.type) * most;
    }
    if (std::any_of(k.insts.begin(), k.insts.end(), [&](const Inst& i) { return checks_contiguity(i); }))
        read_past_end = line_bytes;  // by permutes_window()
    const bool on_stack = !has_barriers && private_bytes <= most_private_on_stack;
    for (size_t at = 0; at < k.memories.size(); ++at) {
        const Memory& m = k.memories[at];
        if (m.kind == MemoryKind::array) continue;
        const int64_t elements = interp::local_elements(k, m, variant.group);
        if (m.kind == MemoryKind::local) {
            memory_offsets[at] = scratch_bytes;
            scratch_bytes = rounded_up(scratch_bytes + elements * m.element.size, line_bytes);
            continue;
        }
        for (const Leaf& l : m.element.leaves) {
            const int64_t bytes = rounded_up(elements * size_of(l.type) * most, line_bytes);
            if (on_stack) {
                const std::string array = name("private");
                allocas += text("  ", array, " = alloca [", elements * most, " x ", memory_type(l.type), "], align 64\n");
                private_names[at].push_back(array);
            } else {
                private_offsets[at].push_back(packet_bytes);
                packet_bytes += bytes;
            }
        }
    }
}

std::string LlvmEmitter::memory_text(MemoryId m) {
    if (k[m].kind == MemoryKind::array) return text("%array", k[m].argument);
    return text("%local", m.id);
}

std::string LlvmEmitter::private_text(MemoryId m, uint32_t leaf) {
    if (!private_names[m.id].empty()) return private_names[m.id][leaf];
    return let(text("getelementptr i8, ptr ", packet_area, ", i64 ", private_offsets[m.id][leaf]), "private");
}

// ---- values of the frame, each loaded once ----

std::string LlvmEmitter::frame_load(const std::string& key, const std::string& type, const std::string& base, int64_t offset) {
    std::string& known = frame_texts[key];
    if (!known.empty()) return known;
    const std::string address = name("p");
    known = name("f");
    entry += text("  ", address, " = getelementptr i8, ptr ", base, ", i64 ", offset, "\n");
    entry += text("  ", known, " = load ", type, ", ptr ", address, "\n");
    return known;
}

std::string LlvmEmitter::argument_text(int parameter, Scalar type) {
    return frame_load(text("argument", parameter), memory_type(type), "%arguments",
                      int64_t(parameter) * int64_t(sizeof(FrameArgument)));
}

/// An array's extent, an i64.
std::string LlvmEmitter::extent_text(MemoryId m, int axis) {
    const int64_t offset = int64_t(k[m].argument) * int64_t(sizeof(FrameArgument)) + int64_t(offsetof(FrameArgument, extents));
    const std::string extents = frame_load(text("extents", k[m].argument), "ptr", "%arguments", offset);
    return frame_load(text("extent", k[m].argument, ".", axis), "i64", extents, 8 * axis);
}

/// start, extent or count of the frame along an axis, an i32.
std::string LlvmEmitter::axis_text(const char* field, int axis) {
    const std::string_view f = field;
    const size_t offset = f == "start"    ? offsetof(Frame, start)
                          : f == "extent" ? offsetof(Frame, extent)
                                          : offsetof(Frame, count);
    return frame_load(text(field, axis), "i32", "%frame", int64_t(offset) + 4 * axis);
}

/// Frame::columns, an i32.
std::string LlvmEmitter::column_text(int which) {
    return frame_load(text("columns", which), "i32", "%frame", int64_t(offsetof(Frame, columns)) + 4 * which);
}

void LlvmEmitter::pure_value(const Inst& i) {
    const Value r = k.result(i);
    const int axis = int(i.immediate);
    if (passed(r) || interior_value(i)) return;
    if (const auto known = row_values.find(r.id); known != row_values.end()) {
        values[r.id] = known->second;
        has_value[r.id] = true;
        return;
    }
    switch (i.op) {
        case Op::constant:
            if (kind_of(r) == ValueKind::vector) return define(r, splat_constant(i.type, i.immediate, true));
            return define(r, constant(i.type, i.immediate));
        case Op::argument: return define(r, from_memory(i.type, argument_text(axis, i.type), false));
        case Op::local_index:
            if (main && axis == 0) return define(r, let(text("sub i32 ", local_at[0], ", ", most_peeled)));
            return define(r, local_at[size_t(axis)]);
        case Op::global_index: return define(r, let(text("add i32 ", origin[size_t(axis)], ", ", local_at[size_t(axis)])));
        case Op::group_index: return define(r, group_at[size_t(axis)]);
        case Op::group_size: return define(r, std::to_string(variant.group[size_t(axis)]));
        case Op::group_count: return define(r, axis_text("count", axis));
        case Op::global_size: return define(r, axis_text("extent", axis));
        case Op::subgroup_size: return define(r, std::to_string(target.width));
        case Op::subgroup_lane: return define(r, lanes("i32", 1));
        case Op::subgroup_count: return define(r, std::to_string(packets_a_row() * variant.group[1] * variant.group[2]));
        case Op::subgroup_index: return define(r, packet_number());
        case Op::extent: {
            const Memory& m = k[i.memory];
            if (m.kind == MemoryKind::array) return define(r, let(text("trunc i64 ", extent_text(i.memory, axis), " to i32")));
            const int64_t elements =
                m.extents.empty() ? interp::local_elements(k, m, variant.group) : m.extents[m.extents.size() - 1 - size_t(axis)];
            return define(r, std::to_string(elements));
        }
        case Op::in_range: return in_range(r);
        default: return pure(i);
    }
}

void LlvmEmitter::in_range(Value r) {
    if (all_in_range) {
        values[r.id] = {ValueKind::uniform, "true", "", 0};
        has_value[r.id] = true;
        return;
    }
    std::string all;
    for (int axis = 2; axis >= 0; --axis) {
        const size_t a = size_t(axis);
        if (axis > 0 && variant.group[a] == 1) continue;
        // Items from the group's first one to the end of the range.
        const std::string base = let(text("mul i32 ", group_at[a], ", ", variant.group[a]));
        const std::string left = let(text("sub i32 ", axis_text("extent", axis), ", ", base));
        std::string inside;
        if (axis > 0 || width == 1) {
            inside = let(text("icmp slt i32 ", local_at[a], ", ", left));
            if (axis > 0 && width > 1) inside = splat("i1", inside);
        } else {
            const std::string v = vector_type("i32");
            ValueRep here;
            here.kind = ValueKind::affine, here.scalar = local_at[0], here.step = 1;
            const std::string limit = splat("i32", left), at = vector_of(here, Scalar::i32);
            inside = let(text("icmp slt ", v, " ", at, ", ", limit));
        }
        all = all.empty() ? inside : let(text("and ", vector_type("i1"), " ", all, ", ", inside));
    }
    define(r, all);
}

bool LlvmEmitter::is_costly(const Inst& i) const {
    uint64_t divisor = 0;
    const bool divides = (i.op == Op::div || i.op == Op::rem) && is_int(i.type);
    return pumice::is_costly(i.op) || (divides && !(k.constant(k.operands(i)[1], divisor) && divisor != 0));
}

void LlvmEmitter::group_without_barriers() {
    std::array<std::string, 3> counts;
    const bool trimmed = !k.whole_groups && !variant.full;
    for (int axis = 0; axis < 3; ++axis)
        counts[size_t(axis)] = trimmed ? rows_left(axis) : std::to_string(variant.group[size_t(axis)]);
    all_in_range = !k.whole_groups || variant.full;
    if (packet_bytes) packet_area = let(text("getelementptr i8, ptr %kept, i64 0")), keep_area();
    transposed_loads = find_transposed_loads(k.body().insts);
    boundaries = find_boundary_indices();
    rows(counts, trimmed, [&] { interior_and_boundary_versions([&] { sequence(k.body().insts); }); });
}

// ---- groups ----

/// Computes the global index of the group's first item.
void LlvmEmitter::place_group() {
    for (size_t axis = 0; axis < 3; ++axis) {
        const std::string base = let(text("mul i32 ", group_at[axis], ", ", variant.group[axis]));
        origin[axis] = let(text("add i32 ", axis_text("start", int(axis)), ", ", base));
    }
}

void LlvmEmitter::group() {
    place_group();
    if (main) origin[0] = let(text("sub i32 ", origin[0], ", ", most_peeled));
    return_label = label("group_end");
    const std::string end = return_label;
    if (has_barriers)
        group_with_barriers();
    else
        group_without_barriers();
    if (open) jump(end);
    start(end);
}

/// The parameters of the function that runs groups, or with `call` the arguments. Arrays that are written overlap no other:
/// launches check that.
std::string LlvmEmitter::parameters(bool call) {
    std::string all = call ? "ptr %frame, ptr %arguments" : "ptr noalias readonly %frame, ptr noalias readonly %arguments";
    const auto add = [&](const std::string& p, const char* attributes) { all += text(", ptr ", call ? "" : attributes, p); };
    for (size_t at = 0; at < k.memories.size(); ++at) {
        const Memory& m = k.memories[at];
        if (m.kind == MemoryKind::array)
            add(memory_text({uint32_t(at)}), m.access == ir::Access::in ? "noalias readonly " : "noalias ");
        if (m.kind == MemoryKind::local && !staged({uint32_t(at)})) add(memory_text({uint32_t(at)}), "noalias align 64 ");
    }
    if (has_barriers || packet_bytes) add("%kept", "noalias align 64 ");
    return all;
}

/// The indices of the first group. Later ones are incremented from group to group, without division.
void LlvmEmitter::first_group() {
    std::string rest = "%first";
    for (int axis = 0; axis < 3; ++axis) {
        group_slots[size_t(axis)] = alloca_of("i32", "group");
        const std::string count = let(text("zext i32 ", axis_text("count", axis), " to i64"));
        const std::string at = let(text("trunc i64 ", let(text("urem i64 ", rest, ", ", count)), " to i32"));
        line(text("store i32 ", at, ", ptr ", group_slots[size_t(axis)]));
        if (axis < 2) rest = let(text("udiv i64 ", rest, ", ", count));
    }
}

void LlvmEmitter::next_group() {
    std::string carry = "1";
    for (int axis = 0; axis < 3; ++axis) {
        const std::string next = let(text("add i32 ", group_at[size_t(axis)], ", ", carry));
        const std::string first = axis == 0 ? column_text(0) : "0", end = axis == 0 ? column_text(1) : axis_text("count", axis);
        const std::string over = let(text("icmp eq i32 ", next, ", ", end));
        line(text("store i32 ", let(text("select i1 ", over, ", i32 ", first, ", i32 ", next)), ", ptr ",
                  group_slots[size_t(axis)]));
        carry = let(text("zext i1 ", over, " to i32"));
    }
}

/// The attributes of functions that run items.
std::string LlvmEmitter::attributes() const {
    // Spilled vectors must not cross cache lines. LLVM learns of spills only when it is too late to align the stack.
    const int vector_bytes = target.isa == Isa::avx512 ? 64 : target.isa == Isa::avx2 ? 32 : 0;
    const std::string aligned = vector_bytes ? text(" alignstack(", vector_bytes, ")") : "";
    const char* const exact = " \"reciprocal-estimates\"=\"none\"";  // LLVM's estimate of 1 / sqrt(x) is NaN at 0 and infinity
    return (target.use == CodeUse::function ? " alwaysinline nounwind" : " noinline nounwind") + aligned + exact;
}

/// Tells debuggers where the arrays and the variables that `keep_variables` keeps are.
void LlvmEmitter::declare_variables() {
    if (std::any_of(private_offsets.begin(), private_offsets.end(), [](const auto& o) { return !o.empty(); }))
        area_slot = alloca_of("ptr", "area");
    for (size_t p = 0; p < k.params.size(); ++p) {
        if (!k.params[p].is_array) continue;
        const std::string slot = alloca_of("ptr", "address");
        if (const std::string declared = dwarf->declare_array(p, slot); !declared.empty())
            entry += text("  store ptr ", memory_text(k.params[p].memory), ", ptr ", slot, "\n", declared);
    }
    for (uint32_t m = 0; m < k.memories.size(); ++m) {
        if (k.memories[m].kind != MemoryKind::private_) continue;
        if (!private_names[m].empty())
            entry += dwarf->declare_variable({m}, private_names[m][0], "");
        else
            entry += dwarf->declare_variable({m}, area_slot, text("DW_OP_deref, DW_OP_plus_uconst, ", private_offsets[m][0]));
    }
}

void LlvmEmitter::keep_area() {
    if (!area_slot.empty()) line(text("store ptr ", packet_area, ", ptr ", area_slot));
}

void LlvmEmitter::function() {
    if (for_debuggers) {
        dwarf = std::make_unique<DwarfMetadata>(k, [this](std::string node) { return metadata(std::move(node)); });
        line_mark = ", !dbg " + dwarf->no_line();
        declare_variables();
    }
    // perf shows the name of the symbol.
    const std::string groups_name = dwarf ? "@" + symbol_of(k.name) : "@groups";
    plan_jammed_rows();
    const std::string jammed = jam ? jam->jammed_function(*this) : "";
    std::string body;
    out = &body;
    if (has_barriers) plan_regions();
    keep_staging_on_stack();
    const std::string slot = alloca_of("i64", "group"), loop = label("groups"), inside = label("group"), exit = label("return");
    entry += text("  store i64 %first, ptr ", slot, "\n");
    first_group();
    jump(loop);
    start(loop);
    const std::string g = let(text("load i64, ptr ", slot));
    branch(let(text("icmp slt i64 ", g, ", %end")), inside, exit);
    start(inside);
    for (size_t axis = 0; axis < 3; ++axis) group_at[axis] = let(text("load i32, ptr ", group_slots[axis]), "group");
    group();
    next_group();
    line(text("store i64 ", let(text("add nsw i64 ", g, ", 1")), ", ptr ", slot));
    jump(loop);
    start(exit);
    line("ret void");
    open = false;
    body = text("define internal void ", groups_name, "(", parameters(false), ", i64 %first, i64 %end)", attributes(),
                dwarf ? " !dbg " + dwarf->function() : "", " {\nentry:\n", allocas, entry, body, "}\n");
    const char* const linkage = target.use == CodeUse::launch ? "" : "internal ";
    const char* const inlined = target.use == CodeUse::function ? " alwaysinline" : "";
    std::string outer =
        text("define ", linkage, "void @pumice_kernel(ptr %frame, i64 %first, i64 %count)", inlined, " nounwind {\n");
    outer +=
        "  %arguments = load ptr, ptr %frame\n  %scratch_at = getelementptr i8, ptr %frame, i64 8\n  %scratch = load ptr, ptr "
        "%scratch_at\n";
    for (size_t at = 0; at < k.memories.size(); ++at) {
        const Memory& m = k.memories[at];
        const std::string p = memory_text({uint32_t(at)});
        if (m.kind == MemoryKind::array)
            outer += text("  ", p, "_at = getelementptr i8, ptr %arguments, i64 ",
                          int64_t(m.argument) * int64_t(sizeof(FrameArgument)), "\n  ", p, " = load ptr, ptr ", p, "_at\n");
        if (m.kind == MemoryKind::local && !staged({uint32_t(at)}))
            outer += text("  ", p, " = getelementptr i8, ptr %scratch, i64 ", memory_offsets[at], "\n");
    }
    if (has_barriers || packet_bytes) outer += text("  %kept = getelementptr i8, ptr %scratch, i64 ", scratch_bytes, "\n");
    outer +=
        text("  %end = add i64 %first, %count\n  call void ", groups_name, "(", parameters(true), ", i64 %first, i64 %end)\n");
    outer += "  ret void\n}\n";
    module_text = outer + "\n" + body + jammed;
}

Emitted LlvmEmitter::module() {
    function();
    Emitted e;
    e.symbol = "pumice_kernel";
    const int64_t packets = has_barriers ? packets_a_row() * variant.group[1] * variant.group[2] : 1;
    packet_bytes = rounded_up(packet_bytes, line_bytes);
    e.scratch_bytes = scratch_bytes + packet_bytes * packets + (scratch_bytes > 0 ? read_past_end : 0);
    for (size_t at = 0; at < k.memories.size(); ++at)
        if (sum_lanes[at]) e.sums.push_back({k.memories[at].argument, k.memories[at].element.leaves[0].type, sum_lanes[at]});
    e.functions.assign(functions.begin(), functions.end());
    if (!target.triple.empty()) e.text += "target triple = \"" + target.triple + "\"\n\n";
    e.text += module_text + "\n";
    for (const std::string& d : declarations) e.text += d + "\n";
    if (dwarf) e.text += dwarf->module_lines();
    for (size_t n = 0; n < nodes.size(); ++n) e.text += text("!", n, " = ", nodes[n], "\n");
    return e;
}

Emitted emit_llvm(const Kernel& lowered, const Target& target, const Variant& variant) {
    return LlvmEmitter(lowered, target, variant).module();
}

Emitted emit_llvm_for_debuggers(const Kernel& lowered, const Target& target, const Variant& variant) {
    LlvmEmitter emitter(lowered, target, variant);
    emitter.for_debuggers = true;
    return emitter.module();
}

}  // namespace pumice::cpu
