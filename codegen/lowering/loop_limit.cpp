// Detection of drivers that silently end loops (lavapipe, after 65,535 iterations): a kernel that may exceed the limit checks at
// its end that loops still run.
//
// Mesa's gallivm (lavapipe, llvmpipe) counts the iterations of all loops of a shader down from 65,535, once for a vector of
// work-items. At 0 every loop ends after one iteration, and the shader continues with whatever its variables hold. Nothing resets
// the count: inlined functions share it, and it covers every loop that a shader can contain.
//
//   before: for ... { ... } return          after: for ... { ... }
//                                                  x = 2^30 | (group_index & 1), turns = 0
//                                                  while (x > 2^16) { x >>= 8; ++turns }   two turns; one where loops are ended
//                                                  require(turns >= 2, message); return
//
// The check observes the limit itself, so it is exact whatever the driver counts. Cost: two iterations an item, and none for a
// kernel whose static bound (trip counts times bodies) is below the limit. A counter in the shader would cost every iteration,
// and would not see the iterations of the other items of the vector. Limits: the static bound knows `for` loops with constant
// bounds only; a while loop, a call, and an atomic that is emulated by a loop have no bound. Textbook name: static loop bounds;
// the check is a self-test of the driver at run time.
#include "codegen/lowering/loop_limit.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <set>

#include "codegen/glsl_text/prelude.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/analysis/loop_info.h"
#include "core/ir/rewriter.h"
#include "core/support/error.h"
#include "core/text/print_format.h"

namespace pumice::codegen {

using namespace ir;

namespace {

constexpr int64_t unknown = INT64_MAX;

/// Upper bound on the iterations that a function of shaders/ makes for one operation: the longest loop goes through the exponents
/// of a double.
constexpr int64_t most_in_function = 2200;

/// Upper bound on the iterations of a group instruction: one item reads the values of all subgroups if it is alone in its
/// subgroup. Devices with an iteration limit have groups of at most 1,024 items; the loops of group_by_memory are shorter.
constexpr int64_t most_subgroups = 1024;

int64_t plus(int64_t a, int64_t b) { return a > unknown - b ? unknown : a + b; }
int64_t times(int64_t a, int64_t b) { return a != 0 && b > unknown / a ? unknown : a * b; }

/// True if the GLSL text of an op calls a function with a loop, on a device with 64-bit integers or without. Computed once for
/// each op and type.
bool has_loop(Op op, Scalar type) {
    static std::array<std::array<std::atomic<int>, scalar_count>, scalar_op_count> known{};  // 0: not yet, 1: no, 2: yes
    std::atomic<int>& here = known[size_t(op)][size_t(type)];
    if (here == 0) {
        std::set<Scalar> all;
        for (int t = 0; t < scalar_count; ++t) all.insert(Scalar(t));
        bool found = false;
        for (const bool pairs : {false, true}) {
            const std::string functions = prelude_for(op_text(op, type, false, pairs), all);
            found = found || functions.find("for (") != functions.npos || functions.find("while (") != functions.npos;
        }
        here = found ? 2 : 1;
    }
    return here == 2;
}

class IterationBound {
public:
    explicit IterationBound(const Kernel& kernel) : k(kernel) {}

    int64_t of(BlockId block) const {
        int64_t sum = 0;
        for (const InstId i : k[block].insts) sum = plus(sum, of(k[i]));
        return sum;
    }

private:
    int64_t of(const Inst& i) const {
        if (is_scalar_op(i.op)) return has_loop(i.op, k.type_of(k.operands(i)[0])) ? most_in_function : 0;
        // Atomics that have no instruction are compare-exchange loops, or spin on a lock.
        if (is_atomic(i.op)) return is_int(i.type) && size_of(i.type) == 4 ? 0 : unknown;
        switch (i.op) {
            case Op::if_: return plus(of(i.blocks[0]), of(i.blocks[1]));
            case Op::while_: return unknown;
            case Op::for_: {
                const int64_t inside = of(i.blocks[0]);
                return times(trips(i), plus(inside, 1));
            }
            case Op::require: return 2;
            case Op::group: return most_subgroups;
            case Op::call: return unknown;
            default: return 0;
        }
    }
    int64_t trips(const Inst& loop) const { return std::min(constant_trip_count(k, loop).value_or(unknown), unknown); }

    const Kernel& k;
};

class Requiring : public Rewriter {
public:
    Requiring(const Kernel& kernel, std::string message) : Rewriter(kernel), format(std::move(message)) {}

private:
    void inst(InstId id) override {
        if (from[id].op == Op::return_) require();
        copy(id);
    }
    void require() {
        b.loc = from.loc;
        const auto number = [&](int64_t n) { return b.constant_int(Scalar::i32, n); };
        // The driver must not know the value: it would fold the loop.
        const Value start = b.op(Op::or_, {b.op(Op::and_, {b.index(Op::group_index, 0), number(1)}), number(1 << 30)});
        Inst loop;
        loop.op = Op::while_;
        loop.loc = from.loc;
        const Value initial[] = {start, number(0)};
        const Scalar types[] = {Scalar::i32, Scalar::i32};
        std::array<Value, 2> carried;
        const InstId made = control(loop, initial, types, [&](int which, std::span<const Value> params) {
            if (which == 0) {
                std::ranges::copy(params, carried.begin());
                const Value test[] = {b.op(Op::gt, {carried[0], number(1 << 16)}), carried[0], carried[1]};
                return b.terminate(Op::test, test);
            }
            const Value next[] = {b.op(Op::shr, {carried[0], number(8)}), b.op(Op::add, {carried[1], number(1)})};
            b.terminate(Op::yield, next);
        });
        const Value enough = b.op(Op::ge, {to.result(to[made], 1), number(2)});
        b.report(Op::require, format, {&enough, 1});
    }

    const std::string format;
};

}  // namespace

int64_t most_iterations(const Kernel& kernel) { return IterationBound(kernel).of(BlockId{0}); }

Kernel require_loops(const Kernel& kernel, int64_t limit, const std::string& device) {
    // A margin for the iterations of the check's own loop.
    if (most_iterations(kernel) < limit - 8) return kernel;
    const std::string digits = std::to_string(limit);
    std::string grouped;
    for (size_t n = 0; n < digits.size(); ++n) {
        if (n > 0 && (digits.size() - n) % 3 == 0) grouped += ',';
        grouped += digits[n];
    }
    return Requiring(kernel,
                     PrintFormat::escaped(text("the loops of a work-item make fewer than ", grouped,
                                               " iterations in all, after which ", device, " ends them, with wrong results")))
        .run();
}

}  // namespace pumice::codegen
