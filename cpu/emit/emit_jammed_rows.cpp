// Rows that run together: the kernel of unroll-and-jam (cpu/plan/unroll_and_jam.h), as a function of its own beside the plain
// one.
//
//     group of 256 x 4 items:    plain:     row 0: 16 packets   row 1: 16 packets   row 2 ...
//                                together:  call @jammed_rows(group, row 0)     16 packets, each for all four rows
//                                           rests of rows, and rows that are left over: plain packets
//
//     with barriers, in a group that lies in the range:
//                                together:  call @jammed_group(group)           regions over all packets, of every fourth row
//
// Why: the two kernels have their own values, widths and versions, so each has an emitter; memory, arguments and metadata are
// shared.
// Cost: the kernel's code once more. Limits: full packets only; no alignment peeling, whose rows begin at different items;
// register pressure in an innermost loop above the processor's registers takes fewer rows (plan_jammed_rows in
// plan_packets.cpp).

#include "core/support/error.h"
#include "cpu/access/transposed_loads.h"
#include "cpu/address/boundary_index.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/control/emit_masked_control.h"
#include "cpu/emit/llvm_emitter.h"
#include "cpu/plan/unroll_and_jam.h"
#include "cpu/rows/emit_packet_rows.h"
#include "cpu/rows/interior_versions.h"
#include "cpu/width/choose_width.h"

namespace pumice::cpu {

using namespace ir;

/// The function `i32 @jammed_rows(..., group, row, plane, items)`: runs the full packets of rows_together rows, and returns the
/// number of items that it has run of each. `plain` is the emitter of the module.
std::string LlvmEmitter::jammed_rows_function(LlvmEmitter& plain) {
    return function_of_group(plain, "i32 @jammed_rows", ", i32 %row, i32 %plane, i32 %items", [&] {
        packet.local_at = {"0", "%row", "%plane"};
        const std::string slot = out.alloca_of("i32", "x");
        out.line(text("store i32 0, ptr ", slot));
        rows.full_packets(slot, "%items",
                          [&] { versions.interior_and_boundary_versions([&] { control.sequence(k.body().insts); }); });
        out.line(text("ret i32 ", out.let(text("load i32, ptr ", slot))));
    });
}

/// The function `void @jammed_group(..., group)`: runs a group with barriers that lies in the range.
std::string LlvmEmitter::jammed_group_function(LlvmEmitter& plain) {
    return function_of_group(plain, "void @jammed_group", "", [&] {
        packet.return_label = out.label("group_end");
        const std::string end = packet.return_label;
        regions.open_slots();
        regions.group_with_barriers();
        if (out.open) out.jump(end);
        out.start(end);
        out.line("ret void");
    });
}

/// A function of a group whose items are in the range, in the module of `plain`.
std::string LlvmEmitter::function_of_group(LlvmEmitter& plain, const std::string& name, const std::string& more,
                                           const Body& code) {
    out.nodes = plain.out.nodes;
    std::string body;
    out.destination = &body;
    packet.group_at = {"%group0", "%group1", "%group2"};
    place_group();
    pure.all_in_range = true;
    code();
    plain.out.nodes = out.nodes;
    plain.out.declarations.insert(out.declarations.begin(), out.declarations.end());
    plain.out.functions.insert(out.functions.begin(), out.functions.end());
    return text("\ndefine internal ", name, "(", parameters(false), ", i64 %end, i32 %group0, i32 %group1, i32 %group2", more,
                ")", packet.attributes(), " {\nentry:\n", out.allocas, out.entry, body, "}\n");
}

/// The arguments of such a function.
std::string LlvmEmitter::arguments_of_group() {
    return text(parameters(true), ", i64 %end, i32 ", packet.group_at[0], ", i32 ", packet.group_at[1], ", i32 ",
                packet.group_at[2]);
}

void LlvmEmitter::call_jammed_group() { out.line(text("call void @jammed_group(", arguments_of_group(), ")")); }

/// Emits the rows of a plane of the group: as many together as can be, the others one by one.
void LlvmEmitter::jammed_rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& body) {
    const std::string plane = packet.local_at[2], row_slot = out.alloca_of("i32", "row"),
                      first_slot = out.alloca_of("i32", "first"), count_slot = out.alloca_of("i32", "rows");
    const std::string loop = out.label("rows"), inside = out.label("body"), together = out.label("together"),
                      alone = out.label("alone"), packets = out.label("packets"), exit = out.label("exit");
    out.line(text("store i32 0, ptr ", row_slot));
    out.start(loop);
    const std::string row = out.let(text("load i32, ptr ", row_slot), "row");
    out.branch(out.let(text("icmp slt i32 ", row, ", ", counts[1])), inside, exit);
    out.start(inside);
    const std::string next = out.let(text("add nsw i32 ", row, ", ", plan.rows_together));
    out.branch(out.let(text("icmp sle i32 ", next, ", ", counts[1])), together, alone);
    out.start(together);
    const std::string done =
        out.let(text("call i32 @jammed_rows(", arguments_of_group(), ", i32 ", row, ", i32 ", plane, ", i32 ", counts[0], ")"));
    out.line(text("store i32 ", done, ", ptr ", first_slot));
    out.line(text("store i32 ", plan.rows_together, ", ptr ", count_slot));
    out.jump(packets);
    out.start(alone);
    out.line(text("store i32 0, ptr ", first_slot));
    out.line(text("store i32 1, ptr ", count_slot));
    out.start(packets);
    const std::string first = out.let(text("load i32, ptr ", first_slot)), count = out.let(text("load i32, ptr ", count_slot));
    out.counted("y", count, [&](const std::string& y) {
        packet.local_at[1] = out.let(text("add nsw i32 ", row, ", ", y));
        rows.packets_of_row(counts[0], trimmed, body, first);
    });
    out.line(text("store i32 ", out.let(text("add nsw i32 ", row, ", ", count)), ", ptr ", row_slot));
    out.jump(loop);
    out.start(exit);
}

}  // namespace pumice::cpu
