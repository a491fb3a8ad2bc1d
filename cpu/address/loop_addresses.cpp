// Addresses in loops: strength reduction of indices that a loop's counter moves.
//
// Why: integers of 32 bits wrap, so LLVM must compute an index in 32 bits in each iteration and extend it to an address. A valid
// index does not wrap from one iteration to the next, which LLVM cannot know:
//
//     for %k = %from to %n {                                        before the loop (LLVM hoists it):
//       %i = %j + %k * %m - 1          an add, a multiplication,      %p = array + (%j + %from * %m - 1)
//       load array[%i]                 a subtraction, an extension  in the loop: load %p + (%k - %from) * %m       in 64 bits
//     }
//
// The second form is an induction variable of LLVM's, which becomes a pointer or a part of an addressing mode.
// Legality: the access runs in every iteration, so the indices of two iterations are valid, equal the form modulo 2^32 and lie in
// [0, 2^31); of a packet whose first lane is not active, at most 15 lower. Their difference is then the true one.
// Cost: a pointer for each access that is live through the loop. Limits: `for` loops with a constant step, without continue;
// indices that are sums, differences and products of the counter and values from outside of the loop; arrays of less than 2^31
// elements.
// Textbook name: strength reduction of induction variables (Cocke and Kennedy 1977; Muchnick, chapter 14).
#include <algorithm>

#include "core/analysis/loop_info.h"
#include "core/support/error.h"
#include "cpu/address/addresses.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/packet/frame_values.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int most_depth = 8;                ///< of the sums and products of an index
constexpr int64_t most_step = 1 << 10;       ///< of the counter
constexpr int64_t most_displacement = 1024;  ///< constant that is added to an index, in elements

bool is_number(const std::string& text) { return text[0] != '%'; }

}  // namespace

/// The sum of two i64, which may be constants.
std::string Addresses::sum_of(const std::string& a, const std::string& b) {
    if (a == "0") return b;
    if (b == "0") return a;
    if (is_number(a) && is_number(b)) return std::to_string(std::stoll(a) + std::stoll(b));
    return out.let(text("add i64 ", a, ", ", b));
}

/// Their product.
std::string Addresses::product_of(const std::string& a, const std::string& b) {
    if (a == "0" || b == "1") return a;
    if (b == "0" || a == "1") return b;
    if (is_number(a) && is_number(b)) return std::to_string(std::stoll(a) * std::stoll(b));
    return out.let(text("mul i64 ", a, ", ", b));
}

/// The value of an index in the first iteration, and what one more of the counter adds to it. `displacement`: takes constants
/// that are added, if given.
std::optional<Addresses::LoopIndex> Addresses::index_in_loop(Value v, InstId loop, int64_t* displacement, int depth) {
    if (!is_int(k.type_of(v)) || size_of(k.type_of(v)) != 4 || depth > most_depth || emit.pure.remainders.count(v.id))
        return std::nullopt;
    if (const auto boundary = emit.pure.interior_values.find(v.id); boundary != emit.pure.interior_values.end())
        return index_in_loop(boundary->second, loop, displacement, depth);
    const Structure& where = packet.uniformity.structure();
    if (v == k[k[loop].blocks[0]].params[0]) return LoopIndex{packet.scalar(k.operands(k[loop])[0]), "1"};
    if (!where.defined_in(loop, v)) {
        if (!packet.has_value[v.id] || (packet.values[v.id].kind == ValueKind::vector && width > 1)) return std::nullopt;
        return LoopIndex{packet.rep_of(v).scalar, "0"};
    }
    const InstId source = k[v].inst;
    if (source.id == none) return std::nullopt;
    const Op op = k[source].op;
    const auto o = k.operands(k[source]);
    if (op == Op::constant) return LoopIndex{packet.scalar(v), "0"};
    if (op == Op::cast) return index_in_loop(o[0], loop, displacement, depth + 1);
    if (op != Op::add && op != Op::sub && op != Op::mul) return std::nullopt;
    if (op == Op::add && displacement)
        for (const size_t n : {0, 1})
            if (const auto more = constant_integer(k, o[n]); more && *more >= 0 && *more <= most_displacement - *displacement) {
                *displacement += int64_t(*more);
                return index_in_loop(o[1 - n], loop, displacement, depth + 1);
            }
    const auto a = index_in_loop(o[0], loop, op == Op::mul ? nullptr : displacement, depth + 1);
    const auto b = a ? index_in_loop(o[1], loop, op == Op::add ? displacement : nullptr, depth + 1) : std::nullopt;
    if (!b || (op == Op::mul && a->step != "0" && b->step != "0")) return std::nullopt;
    const std::string at_begin = out.let(text(op == Op::add   ? "add"
                                              : op == Op::sub ? "sub"
                                                              : "mul",
                                              " i32 ", a->at_begin, ", ", b->at_begin));
    if (op == Op::mul) {
        const LoopIndex &moving = a->step != "0" ? *a : *b, &factor = a->step != "0" ? *b : *a;
        if (moving.step == "0") return LoopIndex{at_begin, "0"};
        return LoopIndex{at_begin, product_of(out.let(text("sext i32 ", factor.at_begin, " to i64")), moving.step)};
    }
    return LoopIndex{at_begin, sum_of(a->step, op == Op::add ? b->step : product_of(b->step, "-1"))};
}

/// The address of an access by one pointer, from the pointer in the loop's first iteration. "" if it is not of this kind.
std::string Addresses::pointer_in_loop(const Inst& i) {
    if (!target.rules.has(Rule::loop_addresses) || variant.wide_offsets) return "";
    const Structure& where = packet.uniformity.structure();
    const InstId loop = where.around(InstId{uint32_t(&i - k.insts.data())});
    if (loop.id == none || k[loop].op != Op::for_ || (packet.has_barriers && plan.regions.around_barrier[loop.id])) return "";
    const Value counter = k[k[loop].blocks[0]].params[0];
    const auto bounds = k.operands(k[loop]);
    const auto step = constant_integer(k, bounds[2]);
    if (k.type_of(counter) != Scalar::i32 || packet.kind_of(counter) != ValueKind::uniform ||
        packet.kind_of(bounds[0]) != ValueKind::uniform || !packet.has_value[bounds[0].id] || !step || *step == 0 ||
        *step > most_step || *step < -most_step)
        return "";
    if (std::ranges::any_of(where.jumps_to(loop), [&](InstId jump) { return k[jump].op == Op::continue_; })) return "";
    const auto indices = indices_of(k, i);
    std::string at_begin, moved;
    int64_t displacement = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
        const auto index = index_in_loop(indices[d], loop, d + 1 == indices.size() ? &displacement : nullptr);
        if (!index) return "";
        if (d == 0) {
            at_begin = index->at_begin, moved = index->step;
            continue;
        }
        const std::string row = out.let(text("mul i32 ", at_begin, ", ", emit.frame.extent_along(i.memory, d, false)));
        at_begin = out.let(text("add i32 ", row, ", ", index->at_begin));
        moved = sum_of(moved == "0" ? moved : product_of(moved, emit.frame.extent_along(i.memory, d, true)), index->step);
    }
    if (moved == "0") return "";
    const auto as_long = [&](const std::string& n) { return is_number(n) ? n : out.let(text("sext i32 ", n, " to i64")); };
    const std::string from = as_long(packet.scalar(bounds[0])), now = as_long(packet.scalar(counter));
    const std::string iterations = from == "0" ? now : out.let(text("sub nsw i64 ", now, ", ", from));
    const std::string elements = product_of(iterations, moved), begin = pointer_to(i, "i32", at_begin, displacement);
    const int64_t bytes = int64_t(k[i.memory].element.size) * std::max(plan.sum_lanes[i.memory.id], 1);
    return out.let(text("getelementptr [", bytes, " x i8], ptr ", begin, ", i64 ", elements), "p");
}

}  // namespace pumice::cpu
