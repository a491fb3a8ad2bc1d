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
#include "cpu/access/transposed_loads.h"
#include "cpu/address/boundary_index.h"
#include "cpu/arithmetic/emit_scalar_ops.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/control/emit_masked_control.h"
#include "cpu/emit/emit_barrier_regions.h"
#include "cpu/emit/llvm_emitter.h"
#include "cpu/emit/plan_barrier_regions.h"
#include "cpu/native/frame.h"
#include "cpu/packet/frame_values.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/reduction/emit_private_sums.h"
#include "cpu/rows/emit_packet_rows.h"
#include "cpu/rows/interior_versions.h"
#include "cpu/width/choose_width.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int64_t line_bytes = 64;
/// A kernel's name as a symbol: "kernel_saxpy".
std::string symbol_of(std::string name) {
    for (char& c : name)
        if (!ascii::is_alphanumeric(c)) c = '_';
    return "kernel_" + name;
}
int64_t rounded_up(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

// ---- values of the frame, each loaded once ----

void LlvmEmitter::group_without_barriers() {
    std::array<std::string, 3> counts;
    const bool trimmed = !k.whole_groups && !variant.full;
    for (int axis = 0; axis < 3; ++axis)
        counts[size_t(axis)] = trimmed ? rows.rows_left(axis) : std::to_string(variant.group[size_t(axis)]);
    if (memory.packet_bytes) memory.packet_area = out.let(text("getelementptr i8, ptr %kept, i64 0")), memory.keep_area();
    transposed.transposed_loads = plan.transposed_loads;
    rows.rows(counts, trimmed, [&] { versions.interior_and_boundary_versions([&] { control.sequence(k.body().insts); }); });
}

// ---- groups ----

/// Computes the global index of the group's first item.
void LlvmEmitter::place_group() {
    for (size_t axis = 0; axis < 3; ++axis) {
        const std::string base = out.let(text("mul i32 ", packet.group_at[axis], ", ", variant.group[axis]));
        packet.origin[axis] = out.let(text("add i32 ", frame.axis_text("start", int(axis)), ", ", base));
    }
}

void LlvmEmitter::group() {
    place_group();
    if (plan.main) packet.origin[0] = out.let(text("sub i32 ", packet.origin[0], ", ", most_peeled));
    packet.return_label = out.label("group_end");
    const std::string end = packet.return_label;
    if (packet.has_barriers)
        regions.group_with_barriers();
    else
        group_without_barriers();
    if (out.open) out.jump(end);
    out.start(end);
}

/// The parameters of the function that runs groups, or with `call` the arguments. Arrays that are written overlap no other:
/// launches check that.
std::string LlvmEmitter::parameters(bool call) {
    std::string all = call ? "ptr %frame, ptr %arguments" : "ptr noalias readonly %frame, ptr noalias readonly %arguments";
    const auto add = [&](const std::string& p, const char* attributes) { all += text(", ptr ", call ? "" : attributes, p); };
    for (size_t at = 0; at < k.memories.size(); ++at) {
        const Memory& m = k.memories[at];
        if (m.kind == MemoryKind::array)
            add(memory.memory_text({uint32_t(at)}), m.access == ir::Access::in ? "noalias readonly " : "noalias ");
        if (m.kind == MemoryKind::local && !memory.staged({uint32_t(at)}))
            add(memory.memory_text({uint32_t(at)}), "noalias align 64 ");
    }
    if (packet.has_barriers || memory.packet_bytes) add("%kept", "noalias align 64 ");
    return all;
}

/// The indices of the first group. Later ones are incremented from group to group, without division.
void LlvmEmitter::first_group() {
    std::string rest = "%first";
    for (int axis = 0; axis < 3; ++axis) {
        group_slots[size_t(axis)] = out.alloca_of("i32", "group");
        const std::string count = out.let(text("zext i32 ", frame.axis_text("count", axis), " to i64"));
        const std::string at = out.let(text("trunc i64 ", out.let(text("urem i64 ", rest, ", ", count)), " to i32"));
        out.line(text("store i32 ", at, ", ptr ", group_slots[size_t(axis)]));
        if (axis < 2) rest = out.let(text("udiv i64 ", rest, ", ", count));
    }
}

void LlvmEmitter::next_group() {
    std::string carry = "1";
    for (int axis = 0; axis < 3; ++axis) {
        const std::string next = out.let(text("add i32 ", packet.group_at[size_t(axis)], ", ", carry));
        const std::string first = axis == 0 ? frame.column_text(0) : "0",
                          end = axis == 0 ? frame.column_text(1) : frame.axis_text("count", axis);
        const std::string over = out.let(text("icmp eq i32 ", next, ", ", end));
        out.line(text("store i32 ", out.let(text("select i1 ", over, ", i32 ", first, ", i32 ", next)), ", ptr ",
                      group_slots[size_t(axis)]));
        carry = out.let(text("zext i1 ", over, " to i32"));
    }
}

/// Tells debuggers where the arrays and the variables that `keep_variables` keeps are.
void LlvmEmitter::declare_variables() {
    if (std::any_of(memory.private_offsets.begin(), memory.private_offsets.end(), [](const auto& o) { return !o.empty(); }))
        memory.area_slot = out.alloca_of("ptr", "area");
    for (size_t p = 0; p < k.params.size(); ++p) {
        if (!k.params[p].is_array) continue;
        const std::string slot = out.alloca_of("ptr", "address");
        if (const std::string declared = control.dwarf->declare_array(p, slot); !declared.empty())
            out.entry += text("  store ptr ", memory.memory_text(k.params[p].memory), ", ptr ", slot, "\n", declared);
    }
    for (uint32_t m = 0; m < k.memories.size(); ++m) {
        if (k.memories[m].kind != MemoryKind::private_) continue;
        if (!memory.private_names[m].empty())
            out.entry += control.dwarf->declare_variable({m}, memory.private_names[m][0], "");
        else
            out.entry += control.dwarf->declare_variable({m}, memory.area_slot,
                                                         text("DW_OP_deref, DW_OP_plus_uconst, ", memory.private_offsets[m][0]));
    }
}

void LlvmEmitter::function() {
    if (packet.use == PacketUse::for_debuggers) {
        control.dwarf = std::make_unique<DwarfMetadata>(k, [this](std::string node) { return out.metadata(std::move(node)); });
        out.line_mark = ", !dbg " + control.dwarf->no_line();
        declare_variables();
    }
    // perf shows the name of the symbol.
    const std::string groups_name = control.dwarf ? "@" + symbol_of(k.name) : "@groups";
    const std::string jammed = !jam                  ? ""
                               : packet.has_barriers ? jam->jammed_group_function(*this)
                                                     : jam->jammed_rows_function(*this);
    std::string body;
    out.destination = &body;
    if (packet.has_barriers) regions.open_slots();
    if (!jam) transposed.keep_staging_on_stack();  // both kernels take the same memory
    const std::string slot = out.alloca_of("i64", "group"), loop = out.label("groups"), inside = out.label("group"),
                      exit = out.label("return");
    out.entry += text("  store i64 %first, ptr ", slot, "\n");
    first_group();
    out.jump(loop);
    out.start(loop);
    const std::string g = out.let(text("load i64, ptr ", slot));
    out.branch(out.let(text("icmp slt i64 ", g, ", %end")), inside, exit);
    out.start(inside);
    for (size_t axis = 0; axis < 3; ++axis) packet.group_at[axis] = out.let(text("load i32, ptr ", group_slots[axis]), "group");
    group();
    next_group();
    out.line(text("store i64 ", out.let(text("add nsw i64 ", g, ", 1")), ", ptr ", slot));
    out.jump(loop);
    out.start(exit);
    out.line("ret void");
    out.open = false;
    body = text("define internal void ", groups_name, "(", parameters(false), ", i64 %first, i64 %end)", packet.attributes(),
                control.dwarf ? " !dbg " + control.dwarf->function() : "", " {\nentry:\n", out.allocas, out.entry, body, "}\n");
    const char* const linkage = target.use == CodeUse::launch ? "" : "internal ";
    const char* const inlined = target.use == CodeUse::function ? " alwaysinline" : "";
    std::string outer =
        text("define ", linkage, "void @pumice_kernel(ptr %frame, i64 %first, i64 %count)", inlined, " nounwind {\n");
    outer +=
        "  %arguments = load ptr, ptr %frame\n  %scratch_at = getelementptr i8, ptr %frame, i64 8\n  %scratch = load ptr, ptr "
        "%scratch_at\n";
    for (size_t at = 0; at < k.memories.size(); ++at) {
        const Memory& m = k.memories[at];
        const std::string p = memory.memory_text({uint32_t(at)});
        if (m.kind == MemoryKind::array)
            outer += text("  ", p, "_at = getelementptr i8, ptr %arguments, i64 ",
                          int64_t(m.argument) * int64_t(sizeof(FrameArgument)), "\n  ", p, " = load ptr, ptr ", p, "_at\n");
        if (m.kind == MemoryKind::local && !memory.staged({uint32_t(at)}))
            outer += text("  ", p, " = getelementptr i8, ptr %scratch, i64 ", memory.memory_offsets[at], "\n");
    }
    if (packet.has_barriers || memory.packet_bytes)
        outer += text("  %kept = getelementptr i8, ptr %scratch, i64 ", memory.scratch_bytes, "\n");
    outer +=
        text("  %end = add i64 %first, %count\n  call void ", groups_name, "(", parameters(true), ", i64 %first, i64 %end)\n");
    outer += "  ret void\n}\n";
    module_text = outer + "\n" + body + jammed;
}

/// The bytes that the packets of a group save.
int64_t LlvmEmitter::kept_bytes() const {
    const int64_t rows = packet.has_barriers ? variant.group[1] / packet.item_rows * variant.group[2] : 1;
    return rounded_up(memory.packet_bytes, line_bytes) * rows * (packet.has_barriers ? packet.packets_a_row() : 1);
}

Emitted LlvmEmitter::module() {
    plan_packets();
    function();
    Emitted e;
    e.symbol = "pumice_kernel";
    const int64_t kept = std::max(kept_bytes(), jam ? jam->kept_bytes() : 0);
    const int64_t past_end = std::max(memory.read_past_end, jam ? jam->memory.read_past_end : 0);
    e.scratch_bytes = memory.scratch_bytes + kept + (memory.scratch_bytes > 0 ? past_end : 0);
    for (size_t at = 0; at < k.memories.size(); ++at)
        if (plan.sum_lanes[at])
            e.sums.push_back({k.memories[at].argument, k.memories[at].element.leaves[0].type, plan.sum_lanes[at]});
    e.functions.assign(out.functions.begin(), out.functions.end());
    if (!target.triple.empty()) e.text += "target triple = \"" + target.triple + "\"\n\n";
    e.text += module_text + "\n";
    for (const std::string& d : out.declarations) e.text += d + "\n";
    if (control.dwarf) e.text += control.dwarf->module_lines();
    for (size_t n = 0; n < out.nodes.size(); ++n) e.text += text("!", n, " = ", out.nodes[n], "\n");
    return e;
}

Emitted emit_llvm(const Kernel& lowered, const Target& target, const Variant& variant) {
    return LlvmEmitter(lowered, target, variant).module();
}

Emitted emit_llvm_for_debuggers(const Kernel& lowered, const Target& target, const Variant& variant) {
    return LlvmEmitter(lowered, target, variant, PacketUse::for_debuggers).module();
}

}  // namespace pumice::cpu
