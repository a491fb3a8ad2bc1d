// Array linearisation: several indices become one row-major offset; neighbouring accesses share the arithmetic.
// Why: each row-major offset on its own takes rank - 1 multiplications. With shared products, hoist and CSE see the common
// part.
//
//   %above = sub %i, %one : i32                      |  %6 = mul %0, %5 : i32          # %0, %1, %2 = %i, %j, %k
//   %next = add %k, %one : i32                       |  %7 = add %6, %1 : i32          # %5 = extent arg2, 1
//   %a = load arg2[%above, %j, %k] : f32             |  %9 = mul %7, %8 : i32          # %8 = extent arg2, 0
//   %c = load arg2[%i, %j, %next] : f32              |  %10 = add %9, %2 : i32
//                                                    |  %11 = mul %5, %8 : i32         # elements of a plane
//                                                    |  %12 = sub %10, %11 : i32
//                                                    |  %13 = load arg2[%12] : f32
//                                                    |  %18 = add %10, %3 : i32
//                                                    |  %19 = load arg2[%18] : f32
//
// Method: an index is split into base + constant. The offset of the bases comes first and is equal for neighbours; constants
// are added as planes, rows and elements. The Builder's value numbering merges the equal parts.
// Cost: O(rank) instructions for an access, plus the length of the chain of additions of constants.
// Limits: i32 arithmetic modulo 2^32, so not for arrays of 2^31 elements or more. Arrays only, local and private memory keeps
// its indices. Only sums of i32 are split; a wider index is cut to i32 first. Extents are no longer checked, so not for the
// interpreter.
// Textbook name: array address linearisation (Aho et al., "Compilers", section 6.4), with common subexpressions exposed.
#include "core/lowering/linearize_indices.h"

#include "core/analysis/alias.h"
#include "core/ir/rewriter.h"

namespace pumice::ir {
namespace {

/// Computes the offset of a(i + c, j + d, k + e) as that of a(i, j, k) plus c planes, d rows and e elements. Neighbours share
/// the first term.
class LinearizeIndices : public Rewriter {
public:
    using Rewriter::Rewriter;

private:
    void inst(InstId id) override {
        const Inst& i = from[id];
        if (!accesses_memory(i.op) || from[i.memory].image || from[i.memory].kind != MemoryKind::array ||
            indices_of(from, i).size() < 2)
            return copy(id);
        b.loc = i.loc;
        const std::span<const Value> indices = indices_of(from, i);
        std::vector<Value> operands{offset(i.memory, indices)};  // the pass keeps all memories, so their ids are unchanged
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
        Value whole;  // row-major offset of the bases; none while there is no base
        std::vector<BasePlusConstant> decomposed;
        for (int d = 0; d < rank; ++d) {
            decomposed.push_back(decompose(indices[size_t(d)]));
            if (whole) whole = b.op(Op::mul, {whole, b.extent(array, rank - 1 - d)});
            if (const Value base = decomposed.back().base) whole = whole ? b.op(Op::add, {whole, base}) : base;
        }
        Value stride = b.constant_int(Scalar::i32, 1);  // elements from one index to the next
        for (int d = rank - 1; d >= 0; --d) {
            whole = moved(whole, uint32_t(decomposed[size_t(d)].constant), stride);
            if (d > 0) stride = b.op(Op::mul, {b.extent(array, rank - 1 - d), stride});
        }
        return whole ? whole : b.constant_int(Scalar::i32, 0);
    }

    /// whole + constant * stride; a null `whole` counts as 0, and stays null if the constant is 0.
    Value moved(Value whole, uint32_t constant, Value stride) {
        if (constant == 0) return whole;
        const bool back = int32_t(constant) < 0 && whole;
        const Value steps = b.op(Op::mul, {stride, b.constant_int(Scalar::i32, int32_t(back ? 0u - constant : constant))});
        return whole ? b.op(back ? Op::sub : Op::add, {whole, steps}) : steps;
    }

    /// Splits an index, a value of the kernel `from`, into a constant and a base, which is an i32 of the new kernel. Looks
    /// through sums and differences with constants in i32, which wrap modulo 2^32 as offsets do. A sum of 8 or 16 bits wraps
    /// earlier and is not split, and neither is a wider one: such an index is cast to i32 as a whole, with constant 0.
    BasePlusConstant decompose(Value v) {
        BasePlusConstant s{v, 0};
        while (from.type_of(s.base) == Scalar::i32) {
            const BasePlusConstant next = base_plus_constant(from, s.base);
            if (next.base == s.base) break;
            s = {next.base, s.constant + next.constant};
            if (!s.base) return s;
        }
        s.base = from.type_of(s.base) == Scalar::i32 ? of(s.base) : b.cast(Scalar::i32, of(s.base));
        return s;
    }
};

}  // namespace

Kernel linearize_indices(const Kernel& kernel) { return LinearizeIndices(kernel).run(); }

}  // namespace pumice::ir
