#include "core/ir/rewriter.h"
#include "core/passes/passes.h"

namespace pumice::ir {
namespace {

/// An index as base + constant, modulo 2^32; no base where all of it is constant.
struct Split {
    Value base;
    uint32_t constant = 0;
};

/// The offset of a(i + c, j + d, k + e) is that of a(i, j, k) plus c planes, d rows and e elements: neighbours have one product
/// in common, where each row-major offset on its own would have as many as the array has dimensions.
class LinearizeIndices : public Rewriter {
public:
    using Rewriter::Rewriter;

private:
    void inst(InstId id) override {
        const Inst& i = from[id];
        const bool accesses = i.op == Op::load || i.op == Op::store || i.op == Op::atomic || i.op == Op::compare_exchange;
        if (!accesses || from[i.memory].kind != MemoryKind::array || indices_of(from, i).size() < 2) return copy(id);
        b.loc = i.loc;
        const std::span<const Value> indices = indices_of(from, i);
        std::vector<Value> operands{offset(i.memory, indices)};  // the pass keeps all memories, and so their ids
        for (const Value v : from.operands(i).subspan(indices.size())) operands.push_back(of(v));
        Inst flat;
        flat.op = i.op;
        flat.type = i.type;
        flat.memory = i.memory;
        flat.leaf = i.leaf;
        flat.immediate = i.immediate;
        const std::vector<Scalar> types(i.result_count, i.type);
        map_results(i, b.append(flat, operands, types));
    }

    Value offset(MemoryId array, std::span<const Value> indices) {
        const int rank = int(indices.size());
        Value whole;  // row-major offset of the bases; none while they are zero
        std::vector<Split> splits;
        for (int d = 0; d < rank; ++d) {
            splits.push_back(split(indices[size_t(d)]));
            if (whole) whole = b.op(Op::mul, {whole, b.extent(array, rank - 1 - d)});
            if (const Value base = splits.back().base) whole = whole ? b.op(Op::add, {whole, base}) : base;
        }
        Value stride = b.constant_int(Scalar::i32, 1);  // elements from one index to the next
        for (int d = rank - 1; d >= 0; --d) {
            whole = moved(whole, splits[size_t(d)].constant, stride);
            if (d > 0) stride = b.op(Op::mul, {b.extent(array, rank - 1 - d), stride});
        }
        return whole ? whole : b.constant_int(Scalar::i32, 0);
    }

    /// whole + constant * stride.
    Value moved(Value whole, uint32_t constant, Value stride) {
        if (constant == 0) return whole;
        const bool back = int32_t(constant) < 0 && whole;
        const Value steps = b.op(Op::mul, {stride, b.constant_int(Scalar::i32, int32_t(back ? 0u - constant : constant))});
        return whole ? b.op(back ? Op::sub : Op::add, {whole, steps}) : steps;
    }

    /// Of a value of `from`. Offsets wrap like i32, so sums of i32 may be taken apart; wider sums may not before they are cut.
    Split split(Value v) {
        Split s;
        uint64_t bits = 0;
        while (from.type_of(v) == Scalar::i32) {
            if (from.constant(v, bits)) return {{}, s.constant + uint32_t(bits)};
            if (from[v].inst.id == none) break;
            const Inst& i = from[from[v].inst];
            if (i.op != Op::add && i.op != Op::sub) break;
            const auto operands = from.operands(i);
            if (from.constant(operands[1], bits)) {
                s.constant += i.op == Op::add ? uint32_t(bits) : 0u - uint32_t(bits);
                v = operands[0];
            } else if (i.op == Op::add && from.constant(operands[0], bits)) {
                s.constant += uint32_t(bits);
                v = operands[1];
            } else {
                break;
            }
        }
        s.base = from.type_of(v) == Scalar::i32 ? of(v) : b.cast(Scalar::i32, of(v));
        return s;
    }
};

}  // namespace

Kernel linearize_indices(const Kernel& kernel) { return LinearizeIndices(kernel).run(); }

}  // namespace pumice::ir
