// The values of a packet as LLVM text: scalars, affine values and vectors, and the stack slots that control flow carries them in.
//
// Why: an instruction takes each operand in the form that suits it. A uniform value is one scalar for all lanes. An affine value
// is lane 0's scalar and a constant step from lane to lane, so an index stays a scalar until an instruction needs a vector.
//
//     uniform    %v3                                      vector(v):   splat of %v3
//     affine     %v4, step 1                              vector(v):   splat of %v4 + <0, 1, 2, 3, 4, 5, 6, 7>
//     vector     %v5                                      scalar(v):   a bug of the emitter
//
// Values leave a construct through slots: alloca_for() and write_rep() before, read() behind. LLVM's mem2reg makes phis of them.
// Cost: none; each method prints at most three instructions.
// Limits: a value has one form in a packet, which kind_of() gives; interior packets define some vectors as affine values.
// Textbook name: uniform, affine and varying values (Karrenberg and Hack 2011; Collange's divergence analysis).
#include <algorithm>

#include "core/ir/ops.h"
#include "core/support/error.h"
#include "cpu/packet/packet.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr size_t most_computed = 16;  ///< instructions of an arm that is computed for all lanes

/// Packets of kernels with barriers and local memory begin at multiples of their width, which choose_width() does not raise.
/// Those of other kernels may begin anywhere in a row.
PacketAlignment alignment_of(const Kernel& kernel, const Target& target, const Variant& variant) {
    const bool shares =
        std::any_of(kernel.memories.begin(), kernel.memories.end(), [](const Memory& m) { return m.kind == MemoryKind::local; });
    if (!contains_barrier(kernel) || !shares || !target.rules.has(Rule::packet_steps)) return {};
    return {target.width, variant.aligned && variant.group[0] % target.width == 0};
}

}  // namespace

Packet::Packet(const Kernel& kernel, const Target& t, const Variant& v, LlvmText& out)
    : k(kernel),
      target(t),
      variant(v),
      width(out.width),
      uniformity(kernel, {Scope::item, Scope::subgroup, Scope::subgroup}, alignment_of(kernel, t, v)),
      affine(kernel, uniformity),
      uses(kernel),
      values(kernel.values.size()),
      has_value(kernel.values.size()),
      has_barriers(
          std::any_of(k.body().insts.begin(), k.body().insts.end(), [&](InstId i) { return contains_barrier(k, k[i]); })),
      out(out) {}

/// Defines a value by a vector with an element for each lane. If the value is not of kind vector, the first active lane's is
/// kept.
void Packet::define_lanes(Value v, const std::string& lanes) {
    if (kind_of(v) == ValueKind::vector) return define(v, lanes);
    define(v, out.extract(out.scalar_type(k.type_of(v)), lanes, first_lane(running)));
}

/// True if a value is the instruction `op` along axis 0.
bool Packet::is_index(Value v, Op op) const {
    const InstId source = k[v].inst;
    return source.id != none && k[source].op == op && k[source].immediate == 0;
}

bool Packet::is_costly(const Inst& i) const {
    uint64_t divisor = 0;
    const bool divides = (i.op == Op::div || i.op == Op::rem) && is_int(i.type);
    return pumice::internal::is_costly(i.op) || (divides && !(k.constant(k.operands(i)[1], divisor) && divisor != 0));
}

/// The instructions that an arm takes if it is computed for all items; of an if within it, those of both arms and a select for
/// each result. None for an arm with effects, with a costly instruction, or that leaves the if.
std::optional<size_t> Packet::size_if_computed(BlockId b) const {
    size_t size = 0;
    for (const InstId id : k[b].insts) {
        const Inst& i = k[id];
        if (i.op == Op::yield || i.op == Op::constant) continue;
        if (i.op == Op::if_) {
            size += i.result_count;
            for (const BlockId arm : i.blocks) {
                const std::optional<size_t> inner = size_if_computed(arm);
                if (!inner) return {};
                size += *inner;
            }
        } else if (is_pure(i.op) && !is_costly(i)) {
            ++size;
        } else {
            return {};
        }
    }
    return size;
}

/// True for an arm that takes less time than a branch that is mispredicted now and then.
bool Packet::is_cheap_arm(BlockId b) const { return size_if_computed(b).value_or(most_computed + 1) <= most_computed; }

/// The attributes of functions that run items.
std::string Packet::attributes() const {
    // Spilled vectors must not cross cache lines. LLVM learns of spills only when it is too late to align the stack.
    const int vector_bytes = target.isa == Isa::avx512 ? 64 : target.isa == Isa::avx2 ? 32 : 0;
    const std::string aligned = vector_bytes ? text(" alignstack(", vector_bytes, ")") : "";
    const char* const exact = " \"reciprocal-estimates\"=\"none\"";  // LLVM's estimate of 1 / sqrt(x) is NaN at 0 and infinity
    return (target.use == CodeUse::function ? " alwaysinline nounwind" : " noinline nounwind") + aligned + exact;
}

/// The step of an integer from lane to lane, modulo the bits of its type, if it is a constant.
std::optional<int64_t> Packet::lane_step(Value v) const { return affine.of(v).step(8 * size_of(k.type_of(v))); }

ValueKind Packet::kind_of(Value v) const {
    if (width == 1 || uniformity.of(v) != Scope::item) return ValueKind::uniform;
    return is_int(k.type_of(v)) && affine.of(v).exact && lane_step(v) ? ValueKind::affine : ValueKind::vector;
}

const ValueRep& Packet::rep_of(Value v) {
    if (!has_value[v.id]) library_bug(text("the LLVM emitter uses value ", v.id, " before it is defined\n", print(k)));
    return values[v.id];
}

std::string Packet::scalar(Value v) {
    const ValueRep& h = rep_of(v);
    if (h.kind == ValueKind::vector)
        library_bug(text("the LLVM emitter takes a vector, value ", v.id, ", for a scalar\n", print(k)));
    return h.scalar;
}

std::string Packet::vector(Value v) {
    const ValueRep h = rep_of(v);
    return vector_of(h, k.type_of(v));
}

std::string Packet::vector_of(const ValueRep& h, Scalar t) {
    if (h.kind == ValueKind::vector) return h.vector;
    const std::string type = out.scalar_type(t);
    if (h.kind == ValueKind::uniform || h.step == 0 || width == 1) return out.splat(type, h.scalar);
    const std::string base = out.splat(type, h.scalar);
    return out.let(text("add ", out.vector_type(type), " ", base, ", ", out.lanes(type, h.step)));
}

/// Defines a value by text of its kind: a scalar, lane 0's scalar if it is affine, or a vector.
void Packet::define(Value v, const std::string& defined) {
    ValueRep h;
    h.kind = kind_of(v);
    (h.kind == ValueKind::vector ? h.vector : h.scalar) = defined;
    if (h.kind == ValueKind::affine) h.step = *lane_step(v);
    values[v.id] = h;
    has_value[v.id] = true;
    if (when_defined) when_defined(v);
}

Alloca Packet::alloca_for(Value v, const char* stem) {
    Alloca s;
    s.kind = kind_of(v);
    s.type = k.type_of(v);
    if (s.kind == ValueKind::affine) s.step = *lane_step(v);
    s.name = out.alloca_of(out.type_of(s.type, s.kind), stem);
    return s;
}

/// Writes a slot. In a slot of vectors, lanes outside `only` keep their value.
void Packet::write_rep(const Alloca& s, const ValueRep& now, const Mask& only) {
    const std::string type = out.type_of(s.type, s.kind);
    if (s.kind != ValueKind::vector && now.kind == ValueKind::vector)
        library_bug("a vector for a slot of one scalar in kernel " + k.name);
    std::string value = s.kind == ValueKind::vector ? vector_of(now, s.type) : now.scalar;
    if (s.kind == ValueKind::vector && !only.all()) {
        const std::string old = out.let(text("load ", type, ", ptr ", s.name));
        value = out.let(text("select ", out.vector_type("i1"), " ", only.text, ", ", type, " ", value, ", ", type, " ", old));
    }
    out.line(text("store ", type, " ", value, ", ptr ", s.name));
}

void Packet::read(Value v, const Alloca& s) { define(v, out.let(text("load ", out.type_of(s.type, s.kind), ", ptr ", s.name))); }

void Packet::clear(const Alloca& s) {
    const std::string type = out.type_of(s.type, s.kind);
    out.line(text("store ", type, " zeroinitializer, ptr ", s.name));
}

/// An add or sub of all lanes to one address, whose old value is unused.
bool Packet::adds_together(const Inst& i) const {
    if (width == 1 || !is_atomic_sum(i) || uses.any(k.result(i))) return false;
    const auto indices = indices_of(k, i);
    return std::none_of(indices.begin(), indices.end(), [&](Value v) { return varying(v); });
}

int64_t Packet::packets_a_row() const { return (variant.group[0] + width - 1) / width; }

/// The packet's number in its group, an i32.
std::string Packet::packet_number() {
    const std::string plane = out.let(text("mul i32 ", local_at[2], ", ", variant.group[1] / item_rows));
    const std::string in_plane = item_rows == 1 ? local_at[1] : out.let(text("udiv i32 ", local_at[1], ", ", item_rows));
    const std::string row = out.let(text("mul i32 ", out.let(text("add i32 ", plane, ", ", in_plane)), ", ", packets_a_row()));
    return out.let(text("add i32 ", row, ", ", out.let(text("udiv i32 ", local_at[0], ", ", width))));
}

}  // namespace pumice::cpu
