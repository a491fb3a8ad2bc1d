// Addresses of accesses: from indices to a ptr, or to a vector of ptrs.
//
//     index %i, step 1           %p = getelementptr [4 x i8], ptr %array0, i32 %i            contiguous from lane 0's element on
//     index %i + 3, step 1       %q = getelementptr [4 x i8], ptr %p, i64 3                  shares %p with its neighbours
//     index uniform              the element's ptr
//     index a vector             getelementptr ..., <8 x i32> %j                             a ptr for each lane
//     private, index uniform     getelementptr [32 x i8], ptr %private, i32 %i               lanes are adjacent
//
// Why displacements: constants that are added to an index (up to 1024) go into the displacement of the address, so neighbouring
// accesses share the rest. In a row the address is that of the row's first item plus the packet's offset, which LLVM hoists; in a
// loop it is a pointer that moves (loop_addresses.cpp).
// Cost: i32 arithmetic unless an array has 2^31 elements (Variant::wide_offsets).
// Limits: a valid index is in the array, so it has not wrapped; an invalid one has any address under check mode's error.
// Textbook name: strength reduction of addresses; displacement addressing.
#include <algorithm>

#include "core/analysis/alias.h"
#include "core/support/error.h"
#include "cpu/address/addresses.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/packet/frame_values.h"
#include "cpu/packet/memory_layout.h"

namespace pumice::cpu {

using namespace ir;

/// Alignment of an access: the largest power of two that divides the element's size, the member's offset and the member's size.
int Addresses::alignment_of(const Inst& i) const {
    const Element& e = k[i.memory].element;
    const Leaf& l = e.leaves[i.leaf];
    return int((e.size | l.offset | uint32_t(size_of(l.type))) & -(e.size | l.offset | uint32_t(size_of(l.type))));
}

/// The modulus, as 32 or 64 bits, in which an index has to be known to determine the address. A valid index is in [0, 2^31) if
/// offsets are narrow or the index is a signed 32-bit integer. Two such indices that are equal modulo 2^32 are equal; if their
/// difference is below 2^31 modulo 2^32, it is the true difference.
int Addresses::index_bits(const Inst& i, Value index) const {
    const auto widened = [&](Value v) {
        const InstId source = k[v].inst;
        return source.id != none && k[source].op == Op::cast && k.type_of(k.operands(k[source])[0]) == Scalar::i32 &&
               size_of(k.type_of(v)) > 4;
    };
    const bool wide = k[i.memory].kind == MemoryKind::array && variant.wide_offsets;
    return wide && k.type_of(index) != Scalar::i32 && !widened(index) ? 64 : 32;
}

/// The step of a valid index from one item to the next along an axis, if it is a constant.
std::optional<int64_t> Addresses::index_step(const Inst& i, Value index, size_t axis) const {
    return packet.affine.of(index).step(index_bits(i, index), axis);
}

/// True if the active lanes of a packet access adjacent elements of one row: the last index has step 1, the others are uniform.
bool Addresses::lies_in_row(const Inst& i) const {
    const auto indices = indices_of(k, i);
    return packet.kind_of(indices.back()) == ValueKind::affine && index_step(i, indices.back()) == 1 &&
           std::all_of(indices.begin(), indices.end() - 1, [&](Value v) { return packet.kind_of(v) == ValueKind::uniform; });
}

/// An index as i32, or as i64 with wide offsets. In narrow arrays a valid index is below 2^31 and fits i32 whatever its type is;
/// the value of an invalid index does not matter.
ValueRep Addresses::integer(Value v, bool wide) {
    const ValueRep h = packet.rep_of(v);
    const Scalar from = k.type_of(v), to = wide ? Scalar::i64 : Scalar::i32;
    const bool same = size_of(from) == size_of(to);
    if (same) return h;
    ValueRep now;
    // A signed 32-bit index that is valid does not wrap between lanes, so it stays affine when it is widened.
    const bool counts =
        h.kind == ValueKind::uniform || (h.kind == ValueKind::affine && (size_of(from) > size_of(to) || from == Scalar::i32));
    if (counts) {
        now.kind = h.kind;
        now.step = h.step;  // the affine analysis does not know the step of a boundary index
        now.scalar = emit.casts.cast(from, to, h.scalar, false);
    } else {
        now.kind = ValueKind::vector;
        now.vector = emit.casts.cast(from, to, packet.vector(v), width > 1);
    }
    return now;
}

/// Splits off constants that are added to an index and accumulates them in `more`, for the displacement of the address;
/// neighbouring accesses then share the remaining index. A valid index has not wrapped, and neither has one that is at most 1024
/// smaller.
Value Addresses::without_constant(Value v, int64_t& more) const {
    constexpr uint64_t most = 1024;
    const ValueKind kind = packet.kind_of(v);
    // A row access handles these.
    if (kind == ValueKind::affine || (kind == ValueKind::vector && packet.affine.of(v).step(32))) return v;
    while (size_of(k.type_of(v)) == 4) {
        const auto [base, constant] = base_plus_constant(k, v);
        if (!base || base == v || constant > most - uint64_t(more) || !packet.has_value[base.id] || packet.kind_of(base) != kind)
            break;
        more += int64_t(constant), v = base;
    }
    return v;
}

/// The element's row-major index minus `more`: an i32, or an i64 if `wide`. `contiguous`: the index has step 1 over the active
/// lanes.
ValueRep Addresses::offset(const Inst& i, bool wide, bool& contiguous, int64_t& more) {
    const auto indices = indices_of(k, i);
    const Scalar type = wide ? Scalar::i64 : Scalar::i32;
    const std::string t = out.scalar_type(type);
    ValueRep whole = integer(indices.size() == 1 && !wide ? without_constant(indices[0], more) : indices[0], wide);
    for (size_t d = 1; d < indices.size(); ++d) {
        const std::string extent = emit.frame.extent_along(i.memory, d, wide);
        const ValueRep next = integer(indices[d], wide);
        ValueRep sum;
        if (whole.kind == ValueKind::uniform && next.kind != ValueKind::vector) {
            const std::string row = out.let(text("mul ", t, " ", whole.scalar, ", ", extent));
            sum.kind = next.kind;
            sum.step = next.step;
            sum.scalar = out.let(text("add ", t, " ", row, ", ", next.scalar));
        } else {
            const std::string v = out.vector_type(t);
            const std::string row = out.let(text("mul ", v, " ", packet.vector_of(whole, type), ", ", out.splat(t, extent)));
            sum.kind = ValueKind::vector;
            sum.vector = out.let(text("add ", v, " ", row, ", ", packet.vector_of(next, type)));
        }
        whole = sum;
    }
    contiguous = whole.kind == ValueKind::affine && whole.step == 1;
    // A widened index may wrap as a number, but not as a valid index: the access is contiguous although the value is a vector.
    if (whole.kind == ValueKind::vector && indices.size() == 1 && width > 1) contiguous = index_step(i, indices[0]) == 1;
    return whole;
}

/// The address of element index + `more`: a ptr, or a vector of ptr if the index is a vector.
std::string Addresses::pointer_to(const Inst& i, const std::string& index_type, const std::string& index, int64_t more) {
    const Memory& m = k[i.memory];
    const bool many = index_type[0] == '<';
    const std::string element = text("[", int(m.element.size) * std::max(plan.sum_lanes[i.memory.id], 1), " x i8]");
    const auto on = [&](const std::string& from) {
        return more == 0 ? from : out.let(text("getelementptr ", element, ", ptr ", from, ", i64 ", more), "p");
    };
    const std::string base = many ? on(emit.memory.memory_text(i.memory)) : emit.memory.memory_text(i.memory);
    std::string address = out.let(text("getelementptr ", element, ", ptr ", base, ", ", index_type, " ", index), "p");
    if (!many) address = on(address);
    const uint32_t leaf = m.element.leaves[i.leaf].offset;
    if (leaf == 0) return address;
    return out.let(text("getelementptr i8, ", many ? out.vector_type("ptr") : "ptr", " ", address, ", i64 ", leaf), "p");
}

/// The value of an index for the first item of the row, an i32. It is invariant in the loop over the row's packets, so LLVM
/// hoists it. "" if the index is not made of sums and products.
std::string Addresses::at_row_begin(Value v, int depth) {
    constexpr int most_depth = 8;
    if (emit.pure.remainders.count(v.id)) return "";
    if (const auto boundary = emit.pure.interior_values.find(v.id); boundary != emit.pure.interior_values.end())
        return at_row_begin(boundary->second, depth);
    if (!is_int(k.type_of(v)) || size_of(k.type_of(v)) != 4 || depth > most_depth) return "";
    if (packet.has_value[v.id] && packet.values[v.id].kind == ValueKind::uniform) return packet.values[v.id].scalar;
    if (packet.is_index(v, Op::global_index)) return packet.origin[0];
    if (packet.is_index(v, Op::local_index)) return std::to_string(plan.main ? -most_peeled : 0);
    const InstId source = k[v].inst;
    if (source.id == none) return "";
    const Op op = k[source].op;
    const auto o = k.operands(k[source]);
    if (op == Op::cast) return at_row_begin(o[0], depth + 1);
    if (op != Op::add && op != Op::sub && op != Op::mul) return "";
    const std::string a = at_row_begin(o[0], depth + 1), b = a.empty() ? "" : at_row_begin(o[1], depth + 1);
    return b.empty() ? "" : out.let(text(op == Op::add ? "add" : op == Op::sub ? "sub" : "mul", " i32 ", a, ", ", b));
}

/// The address of a contiguous access: the address for the row's first item plus the packet's offset in the row. A valid index
/// has not wrapped, and neither has that of the row's first item, which is at most 1040 smaller. `index` is the access's index
/// minus `more`.
std::string Addresses::pointer_along(const Inst& i, const std::string& index_type, const std::string& index, int64_t more) {
    if (packet.local_at[0][0] != '%') return pointer_to(i, index_type, index, more);
    const std::string x = out.let(text("zext i32 ", packet.local_at[0], " to i64"));
    const auto indices = indices_of(k, i);
    std::string row = indices.size() == 1 && index_type == "i32" ? at_row_begin(indices[0]) : "";
    if (!row.empty())
        more = 0;
    else
        row = out.let(text("sub ", index_type, " ", index, ", ", index_type == "i64" ? x : packet.local_at[0]));
    return out.let(
        text("getelementptr [", k[i.memory].element.size, " x i8], ptr ", pointer_to(i, index_type, row, more), ", i64 ", x),
        "p");
}

/// The address of the element whose last index is `last`, a scalar of the index's type.
std::string Addresses::pointer_at(const Inst& i, const std::string& last) {
    const auto indices = indices_of(k, i);
    const Value index = indices.back();
    const bool wide = k[i.memory].kind == MemoryKind::array && variant.wide_offsets;
    const std::string t = wide ? "i64" : "i32";
    const ValueRep whole = std::exchange(packet.values[index.id], ValueRep{ValueKind::uniform, last, "", 0});
    bool contiguous = false;
    int64_t more = 0;
    // A single index may have a constant split off, which `last` has not.
    const ValueRep at = indices.size() == 1 ? integer(index, wide) : offset(i, wide, contiguous, more);
    packet.values[index.id] = whole;
    return pointer_to(i, t, at.scalar, more);
}

Address Addresses::access(const Inst& i) {
    const Memory& m = k[i.memory];
    if (m.kind == MemoryKind::private_) return lane_access(i);
    const bool wide = m.kind == MemoryKind::array && variant.wide_offsets;
    const std::string t = wide ? "i64" : "i32";
    bool contiguous = false;
    int64_t more = 0;
    const ValueRep index = offset(i, wide, contiguous, more);
    const Leaf& leaf = m.element.leaves[i.leaf];
    Address a;
    a.align = alignment_of(i);
    if (index.kind == ValueKind::uniform || width == 1) {
        a.pointer = pointer_in_loop(i);
        if (a.pointer.empty()) a.pointer = pointer_to(i, t, index.scalar, more);
    } else if (contiguous && int(m.element.size) == size_of(leaf.type)) {
        a.how = Address::How::contiguous;
        std::string first = index.scalar;
        if (index.kind == ValueKind::vector) {
            // Inactive lanes hold arbitrary values: lane 0's index is computed back from the first active lane.
            const std::string lane = packet.first_lane(packet.running);
            first = out.extract(t, index.vector, lane);
            if (lane != "0")
                first = out.let(text("sub ", t, " ", first, ", ", wide ? out.let(text("zext i32 ", lane, " to i64")) : lane));
        }
        a.pointer = index.kind == ValueKind::vector ? "" : pointer_in_loop(i);
        if (a.pointer.empty())
            a.pointer = index.kind == ValueKind::vector ? pointer_to(i, t, first, more) : pointer_along(i, t, first, more);
    } else {
        a.how = Address::How::scattered;
        a.pointer = pointer_to(i, out.vector_type(t), packet.vector_of(index, wide ? Scalar::i64 : Scalar::i32), more);
    }
    return a;
}

/// Private memory is lane-interleaved: for each element, the lanes are adjacent.
Address Addresses::lane_access(const Inst& i) {
    const Memory& m = k[i.memory];
    const Leaf& leaf = m.element.leaves[i.leaf];
    const int bytes = size_of(leaf.type);
    bool contiguous = false;
    int64_t more = 0;
    const ValueRep index = offset(i, false, contiguous, more);
    Address a;
    a.align = bytes;
    std::string base = emit.memory.private_text(i.memory, i.leaf);
    if (more != 0) base = out.let(text("getelementptr [", bytes * width, " x i8], ptr ", base, ", i64 ", more), "p");
    if (index.kind == ValueKind::uniform || width == 1) {
        a.how = width == 1 ? Address::How::scalar : Address::How::contiguous;
        a.pointer = out.let(text("getelementptr [", bytes * width, " x i8], ptr ", base, ", i32 ", index.scalar), "p");
        return a;
    }
    a.how = Address::How::scattered;
    const std::string v = out.vector_type("i32");
    const std::string scaled =
        out.let(text("mul ", v, " ", packet.vector_of(index, Scalar::i32), ", ", out.splat("i32", std::to_string(width))));
    const std::string lane_index = out.let(text("add ", v, " ", scaled, ", ", out.lanes("i32", 1)));
    a.pointer = out.let(text("getelementptr ", out.memory_type(leaf.type), ", ptr ", base, ", ", v, " ", lane_index), "p");
    return a;
}

}  // namespace pumice::cpu
