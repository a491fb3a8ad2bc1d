// Pointer strength reduction: addresses of a group's rows are incremented by a constant stride instead of recomputed in each row.
//
// Why: when the rows of a group are unrolled, index arithmetic (multiply by the extent, add, extend, scale) is repeated in each.
//
//     before, each row:  %o = mul i32 %row, %columns; %i = add i32 %o, %x; %p = getelementptr float, ptr %a, i32 %i
//     after, once:       %p0 = address in row 0; %stride = address in row 1 - address in row 0
//     after, each row:   %p = load ptr, ptr %slot;  store ptr (%p + %stride), ptr %slot     (a register after mem2reg)
//
// Since base and stride are known before the rows, one test decides whether all streaming stores of the rows take whole aligned
// lines; the rows are written in two versions by that (with_incremented_pointers).
// Cost: one register for each pointer, so at most 8; code for rows twice if there are streaming stores.
// Limits: contiguous loads and stores of arrays whose address is affine in the row (axis 1) and cheap to recompute.
// Textbook: operator strength reduction (Allen, Cocke, Kennedy 1981; Cooper, Simpson, Vick 2001).
#include <algorithm>

#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int line_bytes = 64;
constexpr int most_steps = 16;       ///< instructions that an index may take to recompute
constexpr size_t most_pointers = 8;  ///< pointers for which there are registers
}  // namespace

/// True if an access is contiguous in a packet and its address grows by a constant stride from row to row.
bool LlvmEmitter::is_incremented(const Inst& i) const {
    if (!target.rules.has(Rule::incremented_pointers)) return false;
    if ((i.op != Op::load && i.op != Op::store) || k[i.memory].kind != MemoryKind::array || sum_lanes[i.memory.id] > 0)
        return false;
    if (int(k[i.memory].element.size) != size_of(i.type)) return false;
    const auto indices = indices_of(k, i);
    int steps = most_steps;
    return lies_in_row(i) && std::all_of(indices.begin(), indices.end(), [&](Value v) {
               const AffineForm& f = affine.of(v);
               return f.known && f.bits >= index_bits(i, v) && f.rest <= Scope::group && is_rematerialisable(v, steps);
           });
}

/// Computes base and stride of such accesses among the instructions, from the row at local_at and the row after it.
void LlvmEmitter::open_incremented_pointers(std::span<const InstId> insts) {
    std::vector<const Inst*> found;
    for (const InstId id : executed(insts))
        if (is_incremented(k[id]) && !in_tiles.count(&k[id]) && found.size() < most_pointers) found.push_back(&k[id]);
    if (found.empty()) return;
    const auto addresses = [&] {
        std::vector<std::string> all;
        packet({}, [&] {
            const bool before = std::exchange(restoring, true);  // values computed here are not saved for other regions
            for (const Inst* i : found) {
                for (const Value v : indices_of(k, *i)) rematerialise(v);
                all.push_back(access(*i).pointer);
            }
            restoring = before;
        });
        return all;
    };
    const std::vector<std::string> here = addresses();
    const std::string row = local_at[1];
    local_at[1] = let(text("add i32 ", row, ", 1"));
    const std::vector<std::string> next = addresses();
    local_at[1] = row;
    for (size_t n = 0; n < found.size(); ++n) {
        IncrementedPointer& w = incremented_pointers[found[n]];
        w = {here[n], let(text("sub i64 ", integer_address(next[n]), ", ", integer_address(here[n])), "stride"),
             alloca_of("ptr", "slot"), local_at[0]};
        line(text("store ptr ", w.first, ", ptr ", w.slot));
    }
}

void LlvmEmitter::increment_pointers() {
    for (const auto& [access, w] : incremented_pointers) {
        const std::string now = let(text("load ptr, ptr ", w.slot), "p");
        line(text("store ptr ", let(text("getelementptr i8, ptr ", now, ", i64 ", w.row_stride), "p"), ", ptr ", w.slot));
    }
}

/// The current address of an incremented pointer, for the packet at local_at.
std::string LlvmEmitter::incremented_address(const Inst& i, const IncrementedPointer& w) {
    const std::string now = let(text("load ptr, ptr ", w.slot), "p");
    if (w.x == local_at[0]) return now;
    const std::string on = let(text("sub i32 ", local_at[0], ", ", w.x));
    return let(text("getelementptr [", k[i.memory].element.size, " x i8], ptr ", now, ", i32 ", on), "p");
}

/// An i1: all streaming stores are aligned to whole lines, or to whole vectors if these are shorter. "" if there are no streaming
/// stores.
std::string LlvmEmitter::incremented_stores_on_lines() {
    running = {};
    std::string low;
    for (const auto& [access, w] : incremented_pointers) {
        if (access->op != Op::store || !streams(*access)) continue;
        const std::string either = let(text("or i64 ", integer_address(w.first), ", ", w.row_stride));
        const int bytes = std::min(size_of(access->type) * width, line_bytes);
        const std::string here = let(text("and i64 ", either, ", ", bytes - 1));
        low = low.empty() ? here : let(text("or i64 ", low, ", ", here));
    }
    return low.empty() ? low : let(text("icmp eq i64 ", low, ", 0"));
}

/// Writes the rows' packets and ends the incremented pointers. With streaming stores: one version for aligned rows, one for others.
void LlvmEmitter::with_incremented_pointers(const Body& packets) {
    if (const std::string whole = incremented_stores_on_lines(); !whole.empty()) {
        const std::string lines = label("lines"), other = label("other"), end = label("rows_end");
        branch(whole, lines, other);
        start(lines);
        on_lines = true;
        packets();
        on_lines = false;
        jump(end);
        start(other);
        packets();
        start(end);
    } else {
        packets();
    }
    incremented_pointers.clear();
}

}  // namespace pumice::cpu
