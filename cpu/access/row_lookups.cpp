// Row look-ups: loads from a row of local memory that fits in one or two vectors load the row and permute it.
//
// Why: the rows of a tile are often as long as a packet or two, and a table in local memory may be as short. A neighbour
// `tile(y, max(x - 1, 0))` is then an element of a row that was stored as whole vectors. A vector that begins at the neighbour
// lies across two of these stores, and waits until both have left the store buffer. The row's own vectors do not, and need no
// test of whether the lanes lie side by side. Elements of a table would be gathered.
//
//     before:  if %j == splat(%j[0]) + <0, 1, ...> { load <16 x float>, ptr local1 + %row + %j[0] } else { gather }
//     after:   permute(load <16 x float>, ptr local1 + %row, %j)
//
// Cost: one or two aligned loads, and what cpu/packet/register_lookups.cpp says. Memory behind a short row is read, too: the
// scratch memory has room for that (MemoryLayout::read_past_end).
// Limits: elements are single scalars of 4 or 8 bytes; extents are constants; the other indices are uniform. Where lanes are
// masked, the row's place must be a constant, since a uniform index may be any value if no lane is active.
// Textbook name: table look-up by permutation; register tiling of a stencil's rows.
#include "cpu/access/row_lookups.h"

#include <functional>
#include <numeric>

#include "core/support/error.h"
#include "cpu/address/addresses.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/packet/register_lookups.h"

namespace pumice::cpu {

using namespace ir;

/// The elements of the row in which an access has its last index.
int64_t RowLookups::row_of(const Inst& i) const {
    const auto& extents = k[i.memory].extents;
    if (indices_of(k, i).size() > 1) return extents.back();
    return std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
}

bool RowLookups::looks_up(const Inst& i) const {
    if (!target.rules.has(Rule::row_lookups) || i.op != Op::load || width == 1) return false;
    const Memory& m = k[i.memory];
    if (m.kind != MemoryKind::local || m.extents.empty() || int(m.element.size) != size_of(i.type)) return false;
    if (!emit.memory.memory_offsets.empty() && emit.memory.staged(i.memory)) return false;  // LLVM promotes it to registers
    const auto indices = indices_of(k, i);
    for (const Value v : indices.first(indices.size() - 1)) {
        uint64_t row = 0;
        if (packet.kind_of(v) != ValueKind::uniform || (!packet.running.all() && !k.constant(v, row))) return false;
    }
    const Value last = indices.back();
    return packet.kind_of(last) == ValueKind::vector && size_of(k.type_of(last)) == 4 &&
           emit.lookups.window_for(size_of(i.type), row_of(i)) > 0;
}

/// The loaded vector, of the type that elements have in memory.
std::string RowLookups::load(const Inst& i) {
    const int bytes = size_of(i.type), elements = emit.lookups.window_for(bytes, row_of(i));
    const std::string type = out.memory_type(i.type);
    const std::string row = out.let(text("load <", elements, " x ", type, ">, ptr ", emit.addresses.pointer_at(i, "0"),
                                         ", align ", emit.addresses.alignment_of(i)));
    return emit.lookups.looked_up(type, bytes, elements, row, packet.vector(indices_of(k, i).back()));
}

}  // namespace pumice::cpu
