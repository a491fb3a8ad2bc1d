// Micro GEMV: deferred sums of products as a vector-matrix product, by broadcasts instead of horizontal adds.
//
// Why: a loop that does `m[k] += sum over lanes l of f[l] * w[l, k]` for k = 0 .. width - 1, with f invariant and w in local
// memory, is y += f W. Column by column it needs a horizontal add for each k; row by row it needs none.
//
//     before, each k:  %p = fmul <8 x float> %f, column k of w;  horizontal add of %p;  m[k] += it
//     after:           y = splat(f[0]) * w[0, 0..7]  +  splat(f[1]) * w[1, 0..7]  + ... + splat(f[7]) * w[7, 0..7]
//                      m[0..7] += y
//
// The rows of w are made once for all packets of a group, before their loop, by a register transpose. The sum has two partial
// chains, so that the multiply-adds do not all wait for each other.
// Cost: `width` vectors live in the region. Limits: trip count, width and group extent along axis 0 must all be equal; elements
// of 4 bytes; the loop's product has no other use; w must be local memory that the region does not write and that all packets
// index alike.
// Textbook: GEMV as linear combination of rows (axpy form), register-blocked micro-kernel (Goto and van de Geijn 2008).
#include <algorithm>

#include "core/analysis/rematerialisation.h"
#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

/// Legality: matches the addend as a product of an invariant factor and a load; sets `deferred.factor` and `deferred.load` and
/// returns true.
bool LlvmEmitter::matches_gemv(const Inst& add, DeferredReduction& deferred) const {
    if (!target.rules.has(Rule::micro_gemv)) return false;
    const Structure& where = uniformity.structure();
    const BlockId body = k[deferred.loop].blocks[0];
    const Value given = k.operands(add).back();
    const InstId product = k[given].inst;
    if (product.id == none || k[product].op != Op::mul || where.block_of(product) != body || uses.count(given) != 1) return false;
    if (Atomic(add.immediate) != Atomic::add || size_of(add.type) != 4 || width % quad != 0) return false;
    if (constant_trips(deferred.loop) != width || variant.group[0] != width) return false;
    for (size_t o = 0; o < 2; ++o) {
        const Value x = k.operands(k[product])[o], factor = k.operands(k[product])[1 - o];
        const InstId load = k[x].inst;
        if (load.id == none || k[load].op != Op::load || where.block_of(load) != body) continue;
        const Memory& m = k[k[load].memory];
        if (m.kind != MemoryKind::local || int(m.element.size) != size_of(add.type)) continue;
        if (growth(factor, deferred.loop, 32) != 0 || kind_of(factor) != ValueKind::vector) continue;
        const auto indices = indices_of(k, k[load]);
        bool same = kind_of(indices.back()) == ValueKind::affine && index_step(k[load], indices.back()) == 1;
        for (const Value v : indices) same = same && same_in_packets(v, k[deferred.loop]);
        if (same) return deferred.factor = factor, deferred.load = load, true;
    }
    return false;
}

/// True if a value has, lane by lane, the same contents in all packets of the group. Each packet is one row of items here.
bool LlvmEmitter::same_in_packets(Value v, const Inst& loop) const {
    const auto same = [](const Inst& i) {
        const bool index = i.op == Op::local_index || i.op == Op::global_index;
        return index ? i.immediate == 0 : i.op == Op::constant || is_scalar_op(i.op);
    };
    return Rematerialisation(k, same, [&](Value o) { return context_saves[o.id].outer || o == k[loop.blocks[0]].params[0]; })
        .of(v);
}

/// Code before the packets of a region: transposes the matrices that its loops read.
void LlvmEmitter::transpose_gemv_matrices(std::span<const InstId> insts) {
    const MemoryEffects effects(k, insts);
    const std::vector<InstId> run = executed(insts);
    for (auto& [add, deferred] : deferred_reductions) {
        const bool here = std::find(run.begin(), run.end(), deferred.loop) != run.end();
        if (here && matches_gemv(*add, deferred) && !effects.writes(k[deferred.load].memory))
            deferred.lines = transposed_matrix(deferred);
    }
}

/// For each lane, a vector of the elements that it reads in the loop's iterations, in the order of the target's addresses.
std::vector<std::string> LlvmEmitter::transposed_matrix(const DeferredReduction& deferred) {
    const Inst &loop = k[deferred.loop], &load = k[deferred.load];
    const Value index = k[loop.blocks[0]].params[0];
    const auto before = std::make_tuple(values, has_value, restoring, local_at);
    restoring = true;  // values computed here are not saved for other regions
    local_at = {"0", "0", "0"};
    uint64_t first = 0, step = 0;
    k.constant(k.operands(loop)[0], first), k.constant(k.operands(loop)[2], step);
    std::vector<Address> lines;
    for (int n = 0; n < width; ++n) {
        std::tie(values, has_value, std::ignore, std::ignore) = before;
        const int iteration = deferred.step > 0 ? n : width - 1 - n;
        values[index.id] = {ValueKind::uniform, constant(k.type_of(index), first + step * uint64_t(iteration)), "", 0};
        has_value[index.id] = true;
        const std::function<void(Value)> compute = [&](Value of) {
            if (has_value[of.id]) return;
            for (const Value o : k.operands(k[k[of].inst])) compute(o);
            pure_value(k[k[of].inst]);
        };
        for (const Value of : indices_of(k, load)) compute(of);
        lines.push_back(access(load));
    }
    std::tie(values, has_value, restoring, local_at) = before;
    const std::string type = scalar_type(load.type);
    return transposed(type, width, width, [&](int line, int column) {
        const Address& address = lines[size_t(line)];
        const std::string there = let(text("getelementptr ", type, ", ptr ", address.pointer, ", i32 ", column));
        return let(text("load <", quad, " x ", type, ">, ptr ", there, ", align ", address.align));
    });
}

/// The alias scope of the packets' context save area, for accesses whose pointer LLVM cannot trace: reduction targets do not
/// alias it.
std::string LlvmEmitter::packets_alias_scope() {
    if (packets_scope.empty()) packets_scope = metadata(text("distinct !{$, ", metadata("distinct !{$}"), "}"));
    return metadata(text("!{", packets_scope, "}"));
}

/// The sum over lanes l of splat(factor[l]) * line l, in two independent chains of multiply-adds.
std::string LlvmEmitter::gemv_row(const DeferredReduction& deferred) {
    const Scalar type = k.type_of(deferred.factor);
    const std::string t = scalar_type(type), whole = vector_type(t);
    const int64_t kept = context_saves[deferred.factor.id].offset;
    // If the factor is saved in memory, a load broadcasts an element without a shuffle. The empty asm hides from LLVM that the
    // vector was stored there; otherwise LLVM would extract the elements from the vector, at one instruction each.
    std::string memory;
    if (kept >= 0) {
        const std::string address = let(text("getelementptr i8, ptr ", packet_area, ", i64 ", kept));
        memory = let(text("call ptr asm \"\", \"=r,0\"(ptr ", address, ") nounwind willreturn memory(none)"));
    }
    const auto element = [&](int lane) {
        if (kept < 0) return extract(t, vector(deferred.factor), std::to_string(lane));
        const std::string address = let(text("getelementptr ", t, ", ptr ", memory, ", i32 ", lane));
        return let(text("load ", t, ", ptr ", address, ", !alias.scope ", packets_alias_scope()));
    };
    std::string parts[2];
    for (int lane = 0; lane < width; ++lane) {
        const std::string term = operation(Op::mul, type, {splat(t, element(lane)), deferred.lines[size_t(lane)]}, true, false);
        std::string& part = parts[lane % 2];
        part = part.empty() ? term : operation(Op::add, type, {part, term}, true, false);
    }
    return operation(Op::add, type, {parts[0], parts[1]}, true, false);
}

}  // namespace pumice::cpu
