// Rows that run together: the kernel of unroll-and-jam (cpu/plan/unroll_and_jam.h), as a function of its own beside the plain
// one.
//
//     group of 256 x 4 items:    plain:     row 0: 16 packets   row 1: 16 packets   row 2 ...
//                                together:  call @jammed_rows(group, row 0)     16 packets, each for all four rows
//                                           rests of rows, and rows that are left over: plain packets
//
// Why: the two kernels have their own values, widths and versions, so each has an emitter; memory, arguments and metadata are
// shared.
// Cost: the kernel's code once more. Limits: full packets only; no alignment peeling, whose rows begin at different items;
// register pressure above the processor's registers takes fewer rows.

#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"
#include "cpu/plan/unroll_and_jam.h"

namespace pumice::cpu {

using namespace ir;

/// Decides how many rows run together, and makes their emitter.
void LlvmEmitter::plan_jammed_rows() {
    if (!target.rules.has(Rule::unroll_and_jam) || has_barriers || width == 1 || variant.group[1] < 2 ||
        variant.sums != Privatisation::none || !find_transposed_loads(k.body().insts).empty())
        return;
    for (int64_t rows = rows_worth_jamming(k); rows > 1; rows /= 2) {
        if (variant.group[1] < rows) continue;
        jammed_kernel = std::make_unique<const Kernel>(jammed(k, rows));
        jam = std::make_unique<LlvmEmitter>(*jammed_kernel, target, variant);
        if (jam->vectors_alive() <= vector_registers()) {
            rows_together = rows;
            main = jam->main = nullptr;
            return;
        }
        jam = nullptr;
    }
}

/// The function `i32 @jammed_rows(..., group, row, plane, items)`: runs the full packets of rows_together rows, and returns the
/// number of items that it has run of each. `plain` is the emitter of the module.
std::string LlvmEmitter::jammed_function(LlvmEmitter& plain) {
    nodes = plain.nodes;
    std::string body;
    out = &body;
    group_at = {"%group0", "%group1", "%group2"};
    local_at = {"0", "%row", "%plane"};
    place_group();
    all_in_range = true;
    boundaries = find_boundary_indices();
    const std::string slot = alloca_of("i32", "x");
    line(text("store i32 0, ptr ", slot));
    full_packets(slot, "%items", [&] { interior_and_boundary_versions([&] { sequence(k.body().insts); }); });
    line(text("ret i32 ", let(text("load i32, ptr ", slot))));
    plain.nodes = nodes;
    plain.declarations.insert(declarations.begin(), declarations.end());
    plain.functions.insert(functions.begin(), functions.end());
    return text("\ndefine internal i32 @jammed_rows(", parameters(false),
                ", i64 %end, i32 %group0, i32 %group1, i32 %group2, i32 %row, i32 %plane, i32 %items)", attributes(),
                " {\nentry:\n", allocas, entry, body, "}\n");
}

/// Emits the rows of a plane of the group: as many together as can be, the others one by one.
void LlvmEmitter::jammed_rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& body) {
    const std::string plane = local_at[2], row_slot = alloca_of("i32", "row"), first_slot = alloca_of("i32", "first"),
                      count_slot = alloca_of("i32", "rows");
    const std::string loop = label("rows"), inside = label("body"), together = label("together"), alone = label("alone"),
                      packets = label("packets"), exit = label("exit");
    line(text("store i32 0, ptr ", row_slot));
    start(loop);
    const std::string row = let(text("load i32, ptr ", row_slot), "row");
    branch(let(text("icmp slt i32 ", row, ", ", counts[1])), inside, exit);
    start(inside);
    const std::string next = let(text("add nsw i32 ", row, ", ", rows_together));
    branch(let(text("icmp sle i32 ", next, ", ", counts[1])), together, alone);
    start(together);
    const std::string done =
        let(text("call i32 @jammed_rows(", parameters(true), ", i64 %end, i32 ", group_at[0], ", i32 ", group_at[1], ", i32 ",
                 group_at[2], ", i32 ", row, ", i32 ", plane, ", i32 ", counts[0], ")"));
    line(text("store i32 ", done, ", ptr ", first_slot));
    line(text("store i32 ", rows_together, ", ptr ", count_slot));
    jump(packets);
    start(alone);
    line(text("store i32 0, ptr ", first_slot));
    line(text("store i32 1, ptr ", count_slot));
    start(packets);
    const std::string first = let(text("load i32, ptr ", first_slot)), count = let(text("load i32, ptr ", count_slot));
    counted("y", count, [&](const std::string& y) {
        local_at[1] = let(text("add nsw i32 ", row, ", ", y));
        packets_of_row(counts[0], trimmed, body, first);
    });
    line(text("store i32 ", let(text("add nsw i32 ", row, ", ", count)), ", ptr ", row_slot));
    jump(loop);
    start(exit);
}

}  // namespace pumice::cpu
