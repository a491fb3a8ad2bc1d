// Memory access widening: each load and store becomes a scalar, contiguous, interleaved, masked or gather/scatter access.
//
// The choice follows from how the index depends on the lane (uniformity and affine analysis). Interleaved groups are tried first,
// then access() decides:
//
//     index                       load of arg1[index], width 8
//     uniform                     load float                                       one scalar for all lanes
//     affine, step 1              load <8 x float>, ptr %p, align 4                contiguous; masked.load in a tail
//     affine, step 2 to 16, or a  interleaved access group (interleaved_group.cpp)
//     member of a struct
//     others, with other words    short vectors of each lane's row, transposed (lane_rows.cpp)
//     of the lane's row beside
//     at one other distance       load float a lane, and insertions (strided_lanes.cpp)
//     vector, probable step 1     a test: load <8 x float>, or a gather (contiguity_check.cpp)
//     anything else               call @llvm.masked.gather.v8f32(<8 x ptr> %p, ...)
//
// Constants that are added to an index (up to 1024) become a byte offset of the address, so that neighbouring accesses share the
// rest. Private memory is laid out lane-interleaved: element e of lane l is at e * width + l, so a uniform index is contiguous.
// Tails of 1, 2, 4 or 8 items use short vectors, since masked loads do not take part in store-to-load forwarding.
// Cost: addresses are i32 arithmetic unless an array has 2^31 elements (Variant::wide_offsets). Limits: a vector index that the
// affine analysis does not know is a gather, even if it happens to be contiguous at run time, unless its probable step is 1.
// Textbook: memory access widening in loop vectorisation (Allen and Kennedy; LLVM LoopVectorize: widen, interleave, scalarise).
#include <algorithm>

#include "core/analysis/alias.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

/// Alignment of an access: the largest power of two that divides the element's size, the member's offset and the member's size.
int LlvmEmitter::alignment_of(const Inst& i) const {
    const Element& e = k[i.memory].element;
    const Leaf& l = e.leaves[i.leaf];
    return int((e.size | l.offset | uint32_t(size_of(l.type))) & -(e.size | l.offset | uint32_t(size_of(l.type))));
}

/// The modulus, as 32 or 64 bits, in which an index has to be known to determine the address. A valid index is in [0, 2^31) if
/// offsets are narrow or the index is a signed 32-bit integer. Two such indices that are equal modulo 2^32 are equal; if their
/// difference is below 2^31 modulo 2^32, it is the true difference.
int LlvmEmitter::index_bits(const Inst& i, Value index) const {
    const auto widened = [&](Value v) {
        const InstId source = k[v].inst;
        return source.id != none && k[source].op == Op::cast && k.type_of(k.operands(k[source])[0]) == Scalar::i32 &&
               size_of(k.type_of(v)) > 4;
    };
    const bool wide = k[i.memory].kind == MemoryKind::array && variant.wide_offsets;
    return wide && k.type_of(index) != Scalar::i32 && !widened(index) ? 64 : 32;
}

/// The step of a valid index from one item to the next along an axis, if it is a constant.
std::optional<int64_t> LlvmEmitter::index_step(const Inst& i, Value index, size_t axis) const {
    return affine.of(index).step(index_bits(i, index), axis);
}

/// True if the active lanes of a packet access adjacent elements of one row: the last index has step 1, the others are uniform.
bool LlvmEmitter::lies_in_row(const Inst& i) const {
    const auto indices = indices_of(k, i);
    return kind_of(indices.back()) == ValueKind::affine && index_step(i, indices.back()) == 1 &&
           std::all_of(indices.begin(), indices.end() - 1, [&](Value v) { return kind_of(v) == ValueKind::uniform; });
}

/// An index as i32, or as i64 with wide offsets. In narrow arrays a valid index is below 2^31 and fits i32 whatever its type is;
/// the value of an invalid index does not matter.
ValueRep LlvmEmitter::integer(Value v, bool wide) {
    const ValueRep h = rep_of(v);
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
        now.scalar = cast(from, to, h.scalar, false);
    } else {
        now.kind = ValueKind::vector;
        now.vector = cast(from, to, vector(v), width > 1);
    }
    return now;
}

/// The extent of a memory along a dimension (the last dimension is the contiguous one): an i32, or an i64 if `wide`.
std::string LlvmEmitter::extent_along(MemoryId m, size_t dimension, bool wide) {
    if (k[m].kind != MemoryKind::array) return std::to_string(k[m].extents[dimension]);
    const std::string extent = extent_text(m, k[m].rank - 1 - int(dimension));
    return wide ? extent : let(text("trunc i64 ", extent, " to i32"));
}

/// Splits off constants that are added to an index and accumulates them in `more`, for the displacement of the address;
/// neighbouring accesses then share the remaining index. A valid index has not wrapped, and neither has one that is at most 1024
/// smaller.
Value LlvmEmitter::without_constant(Value v, int64_t& more) const {
    constexpr uint64_t most = 1024;
    const ValueKind kind = kind_of(v);
    // A row access handles these.
    if (kind == ValueKind::affine || (kind == ValueKind::vector && affine.of(v).step(32))) return v;
    while (size_of(k.type_of(v)) == 4) {
        const auto [base, constant] = base_plus_constant(k, v);
        if (!base || base == v || constant > most - uint64_t(more) || !has_value[base.id] || kind_of(base) != kind) break;
        more += int64_t(constant), v = base;
    }
    return v;
}

/// The element's row-major index minus `more`: an i32, or an i64 if `wide`. `contiguous`: the index has step 1 over the active
/// lanes.
ValueRep LlvmEmitter::offset(const Inst& i, bool wide, bool& contiguous, int64_t& more) {
    const auto indices = indices_of(k, i);
    const Scalar type = wide ? Scalar::i64 : Scalar::i32;
    const std::string t = scalar_type(type);
    ValueRep whole = integer(indices.size() == 1 && !wide ? without_constant(indices[0], more) : indices[0], wide);
    for (size_t d = 1; d < indices.size(); ++d) {
        const std::string extent = extent_along(i.memory, d, wide);
        const ValueRep next = integer(indices[d], wide);
        ValueRep sum;
        if (whole.kind == ValueKind::uniform && next.kind != ValueKind::vector) {
            const std::string row = let(text("mul ", t, " ", whole.scalar, ", ", extent));
            sum.kind = next.kind;
            sum.step = next.step;
            sum.scalar = let(text("add ", t, " ", row, ", ", next.scalar));
        } else {
            const std::string v = vector_type(t);
            const std::string row = let(text("mul ", v, " ", vector_of(whole, type), ", ", splat(t, extent)));
            sum.kind = ValueKind::vector;
            sum.vector = let(text("add ", v, " ", row, ", ", vector_of(next, type)));
        }
        whole = sum;
    }
    contiguous = whole.kind == ValueKind::affine && whole.step == 1;
    // A widened index may wrap as a number, but not as a valid index: the access is contiguous although the value is a vector.
    if (whole.kind == ValueKind::vector && indices.size() == 1 && width > 1) contiguous = index_step(i, indices[0]) == 1;
    return whole;
}

/// The address of element index + `more`: a ptr, or a vector of ptr if the index is a vector.
std::string LlvmEmitter::pointer_to(const Inst& i, const std::string& index_type, const std::string& index, int64_t more) {
    const Memory& m = k[i.memory];
    const bool many = index_type[0] == '<';
    const std::string element = text("[", int(m.element.size) * std::max(sum_lanes[i.memory.id], 1), " x i8]");
    const auto on = [&](const std::string& from) {
        return more == 0 ? from : let(text("getelementptr ", element, ", ptr ", from, ", i64 ", more), "p");
    };
    const std::string base = many ? on(memory_text(i.memory)) : memory_text(i.memory);
    std::string address = let(text("getelementptr ", element, ", ptr ", base, ", ", index_type, " ", index), "p");
    if (!many) address = on(address);
    const uint32_t leaf = m.element.leaves[i.leaf].offset;
    if (leaf == 0) return address;
    return let(text("getelementptr i8, ", many ? vector_type("ptr") : "ptr", " ", address, ", i64 ", leaf), "p");
}

/// The value of an index for the first item of the row, an i32. It is invariant in the loop over the row's packets, so LLVM
/// hoists it. "" if the index is not made of sums and products.
std::string LlvmEmitter::at_row_begin(Value v, int depth) {
    constexpr int most_depth = 8;
    if (remainders.count(v.id)) return "";
    if (const auto boundary = interior_values.find(v.id); boundary != interior_values.end())
        return at_row_begin(boundary->second, depth);
    if (!is_int(k.type_of(v)) || size_of(k.type_of(v)) != 4 || depth > most_depth) return "";
    if (has_value[v.id] && values[v.id].kind == ValueKind::uniform) return values[v.id].scalar;
    if (is_index(v, Op::global_index)) return origin[0];
    if (is_index(v, Op::local_index)) return std::to_string(main ? -most_peeled : 0);
    const InstId source = k[v].inst;
    if (source.id == none) return "";
    const Op op = k[source].op;
    const auto o = k.operands(k[source]);
    if (op == Op::cast) return at_row_begin(o[0], depth + 1);
    if (op != Op::add && op != Op::sub && op != Op::mul) return "";
    const std::string a = at_row_begin(o[0], depth + 1), b = a.empty() ? "" : at_row_begin(o[1], depth + 1);
    return b.empty() ? "" : let(text(op == Op::add ? "add" : op == Op::sub ? "sub" : "mul", " i32 ", a, ", ", b));
}

/// The address of a contiguous access: the address for the row's first item plus the packet's offset in the row. A valid index
/// has not wrapped, and neither has that of the row's first item, which is at most 1040 smaller. `index` is the access's index
/// minus `more`.
std::string LlvmEmitter::pointer_along(const Inst& i, const std::string& index_type, const std::string& index, int64_t more) {
    if (local_at[0][0] != '%') return pointer_to(i, index_type, index, more);
    const std::string x = let(text("zext i32 ", local_at[0], " to i64"));
    const auto indices = indices_of(k, i);
    std::string row = indices.size() == 1 && index_type == "i32" ? at_row_begin(indices[0]) : "";
    if (!row.empty())
        more = 0;
    else
        row = let(text("sub ", index_type, " ", index, ", ", index_type == "i64" ? x : local_at[0]));
    return let(
        text("getelementptr [", k[i.memory].element.size, " x i8], ptr ", pointer_to(i, index_type, row, more), ", i64 ", x),
        "p");
}

Address LlvmEmitter::access(const Inst& i) {
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
            const std::string lane = first_lane(running);
            first = extract(t, index.vector, lane);
            if (lane != "0")
                first = let(text("sub ", t, " ", first, ", ", wide ? let(text("zext i32 ", lane, " to i64")) : lane));
        }
        a.pointer = index.kind == ValueKind::vector ? "" : pointer_in_loop(i);
        if (a.pointer.empty())
            a.pointer = index.kind == ValueKind::vector ? pointer_to(i, t, first, more) : pointer_along(i, t, first, more);
    } else {
        a.how = Address::How::scattered;
        a.pointer = pointer_to(i, vector_type(t), vector_of(index, wide ? Scalar::i64 : Scalar::i32), more);
    }
    return a;
}

/// Private memory is lane-interleaved: for each element, the lanes are adjacent.
Address LlvmEmitter::lane_access(const Inst& i) {
    const Memory& m = k[i.memory];
    const Leaf& leaf = m.element.leaves[i.leaf];
    const int bytes = size_of(leaf.type);
    bool contiguous = false;
    int64_t more = 0;
    const ValueRep index = offset(i, false, contiguous, more);
    Address a;
    a.align = bytes;
    std::string base = private_text(i.memory, i.leaf);
    if (more != 0) base = let(text("getelementptr [", bytes * width, " x i8], ptr ", base, ", i64 ", more), "p");
    if (index.kind == ValueKind::uniform || width == 1) {
        a.how = width == 1 ? Address::How::scalar : Address::How::contiguous;
        a.pointer = let(text("getelementptr [", bytes * width, " x i8], ptr ", base, ", i32 ", index.scalar), "p");
        return a;
    }
    a.how = Address::How::scattered;
    const std::string v = vector_type("i32");
    const std::string scaled =
        let(text("mul ", v, " ", vector_of(index, Scalar::i32), ", ", splat("i32", std::to_string(width))));
    const std::string lane_index = let(text("add ", v, " ", scaled, ", ", lanes("i32", 1)));
    a.pointer = let(text("getelementptr ", memory_type(leaf.type), ", ptr ", base, ", ", v, " ", lane_index), "p");
    return a;
}

std::string LlvmEmitter::from_memory(Scalar type, const std::string& value, bool vector) {
    if (type != Scalar::boolean) return value;
    return let(text("icmp ne ", vector ? vector_type("i8") : "i8", " ", value, ", zeroinitializer"));
}

std::string LlvmEmitter::to_memory(Scalar type, const std::string& value, bool vector) {
    if (type != Scalar::boolean) return value;
    return let(text("zext ", vector ? vector_type("i1") : "i1", " ", value, " to ", vector ? vector_type("i8") : "i8"));
}

/// True if the active lanes are the first 1, 2, 4 or 8, so that shorter vectors can be used. Unlike masked loads, short loads
/// take part in store-to-load forwarding.
bool LlvmEmitter::short_packet() const { return running.first > 0 && (running.first & (running.first - 1)) == 0; }

void LlvmEmitter::load(InstId id) {
    const Inst& i = k[id];
    const Value r = k.result(i);
    const std::string scalar = memory_type(i.type), whole = vector_type(scalar);
    if (const auto tile = in_tiles.find(&i); tile != in_tiles.end()) {
        // An accumulating tile: -0.0 is the neutral element of float addition, so the sum is the other operand.
        if (tile->second.empty())
            return define_lanes(r, splat_constant(i.type, is_float(i.type) ? real_bits(i.type, -0.0) : 0, true));
        return define_lanes(r, let(text("load ", whole, ", ptr ", tile->second)));
    }
    if (const auto known = row_values.find(r.id); known != row_values.end()) {
        values[r.id] = known->second, has_value[r.id] = true;
        return;
    }
    if (loads_interleaved(id)) return;
    if (running.all() && checks_contiguity(i) && rep_of(indices_of(k, i).back()).kind == ValueKind::vector)
        return define_lanes(r, from_memory(i.type, checked_load(i, whole), true));
    if (const auto lanes = strided_lanes(i); !lanes.empty())
        return define_lanes(r, from_memory(i.type, load_lanes(i, lanes), true));
    const Address a = access(i);
    prefetch(id, a);
    if (a.how == Address::How::scalar) {
        const std::string one = from_memory(i.type, let(text("load ", scalar, ", ptr ", a.pointer, ", align ", a.align)), false);
        if (kind_of(r) == ValueKind::vector) return define(r, splat(scalar_type(i.type), one));
        return define(r, one);
    }
    std::string loaded;
    const bool own = k[i.memory].kind == MemoryKind::private_;
    if (a.how == Address::How::contiguous && (running.all() || own)) {
        loaded = let(text("load ", whole, ", ptr ", a.pointer, ", align ", own ? a.align * width : a.align));
    } else if (a.how == Address::How::contiguous && short_packet()) {
        const std::string part =
            let(text("load volatile <", running.first, " x ", scalar, ">, ptr ", a.pointer, ", align ", a.align));
        loaded = resized(scalar, part, running.first, width);
    } else {
        loaded = masked_load(i, a);
    }
    define_lanes(r, from_memory(i.type, loaded, true));
}

/// LLVM's intrinsic for an access under a mask of such elements.
std::string LlvmEmitter::masked_function(const std::string& element, const Address& a, bool stores) const {
    const bool scattered = a.how == Address::How::scattered;
    const char* const kind = scattered ? (stores ? "scatter." : "gather.") : (stores ? "store." : "load.");
    return text("@llvm.masked.", kind, intrinsic_suffix(element, true), scattered ? text(".v", width, "p0") : ".p0");
}

/// The text of its call, which loads 0 in the lanes without a bit of the mask. With a `value` it stores that.
std::string LlvmEmitter::masked_call(const std::string& element, const Address& a, const std::string& mask,
                                     const std::string& value) {
    const bool stores = !value.empty();
    const std::string whole = vector_type(element), bits = vector_type("i1"), function = masked_function(element, a, stores);
    const std::string pointers = a.how == Address::How::scattered ? vector_type("ptr") : "ptr", result = stores ? "void" : whole;
    const std::string first = stores ? whole + ", " : "", last = stores ? "" : ", " + whole;
    declare(text("declare ", result, " ", function, "(", first, pointers, ", i32, ", bits, last, ")"));
    return text("call ", result, " ", function, "(", stores ? text(whole, " ", value, ", ") : "", pointers, " ", a.pointer,
                ", i32 ", a.align, ", ", bits, " ", mask, stores ? "" : last + " zeroinitializer", ")");
}

/// A load under a mask, or by a gather.
std::string LlvmEmitter::masked_load(const Inst& i, const Address& a) {
    const std::string scalar = memory_type(i.type);
    // Halves as integers: where LLVM 15 has no masked load of them, it makes a broadcast that it cannot select.
    const std::string element = i.type == Scalar::f16 ? "i16" : scalar;
    return convert("bitcast", vector_type(element), masked_access(i, a, element), vector_type(scalar));
}

/// Loads an element in each lane of a mask, and 0 in the others.
std::string LlvmEmitter::masked_read(const std::string& element, const Address& a, const std::string& mask) {
    return let(masked_call(element, a, mask));
}

/// Stores the element of each lane of a mask.
void LlvmEmitter::masked_write(const std::string& element, const std::string& value, const Address& a, const std::string& mask) {
    line(masked_call(element, a, mask, value));
}

/// Defines a value by a vector with an element for each lane. If the value is not of kind vector, the first active lane's is
/// kept.
void LlvmEmitter::define_lanes(Value v, const std::string& lanes) {
    if (kind_of(v) == ValueKind::vector) return define(v, lanes);
    define(v, extract(scalar_type(k.type_of(v)), lanes, first_lane(running)));
}

void LlvmEmitter::store(InstId id) {
    const Inst& i = k[id];
    const Value given = k.operands(i).back();
    const std::string scalar_text = memory_type(i.type), whole = vector_type(scalar_text);
    if (const auto tile = in_tiles.find(&i); tile != in_tiles.end())
        return line(text("store ", whole, " ", vector(given), ", ptr ", tile->second));
    if (stores_interleaved(id)) return;
    if (running.all() && checks_contiguity(i) && rep_of(indices_of(k, i).back()).kind == ValueKind::vector)
        return checked_store(i, whole, to_memory(i.type, vector(given), true));
    if (const auto lanes = strided_lanes(i); !lanes.empty()) return store_lanes(i, to_memory(i.type, vector(given), true), lanes);
    const Address a = access(i);
    if (a.how == Address::How::scalar) {
        std::string value;
        if (rep_of(given).kind == ValueKind::uniform) {
            value = to_memory(i.type, scalar(given), false);
        } else {
            // All lanes store to one address: any active lane may be the last. Under a mask often only one lane is active.
            const std::string lane = running.all() ? std::to_string(width - 1) : first_lane(running);
            value = extract(scalar_text, to_memory(i.type, vector(given), true), lane);
        }
        return line(text("store ", scalar_text, " ", value, ", ptr ", a.pointer, ", align ", a.align));
    }
    const std::string value = to_memory(i.type, vector(given), true);
    const bool own = k[i.memory].kind == MemoryKind::private_;
    if (a.how == Address::How::contiguous && own) {
        std::string now = value;
        if (!running.all()) {
            const std::string old = let(text("load ", whole, ", ptr ", a.pointer, ", align ", a.align * width));
            now = let(text("select ", vector_type("i1"), " ", running.text, ", ", whole, " ", value, ", ", whole, " ", old));
        }
        return line(text("store ", whole, " ", now, ", ptr ", a.pointer, ", align ", a.align * width));
    }
    if (a.how == Address::How::contiguous && streams(i)) return streaming_store(i, value, a);
    if (a.how == Address::How::contiguous && running.all())
        return line(text("store ", whole, " ", value, ", ptr ", a.pointer, ", align ", a.align));
    if (a.how == Address::How::contiguous && short_packet()) {
        const std::string part = resized(scalar_text, value, width, running.first);
        return line(text("store <", running.first, " x ", scalar_text, "> ", part, ", ptr ", a.pointer, ", align ", a.align));
    }
    masked_store(i, value, a);
}

void LlvmEmitter::masked_store(const Inst& i, const std::string& value, const Address& a) {
    masked_access(i, a, memory_type(i.type), value);
}

}  // namespace pumice::cpu
