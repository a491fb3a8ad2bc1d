// Subgroup operations, with the packet as subgroup: reductions and scans by shuffles in log2(width) steps; print and require.
//
//     subgroup reduce_add %x     x += shuffle(x, lane ^ 4);  x += shuffle(x, lane ^ 2);  x += shuffle(x, lane ^ 1)
//     subgroup inclusive_add %x  x += shift(x, 1);  x += shift(x, 2);  x += shift(x, 4)       shifted-in lanes: neutral element
//     subgroup shuffle %x, %l    store x to the stack; gather with index l
//
// Inactive lanes hold the neutral element. Cost: log2(width) shuffles and operations; each subgroup shuffle is a store and a
// gather.
// Reports (print, require) call the host once for each active lane.
// Limits: float scans and reductions are rounded in tree order. Textbook: butterfly reduction; Hillis-Steele scan (1986).
#include "core/host/ring.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"
#include "cpu/native/frame.h"

namespace pumice::cpu {

using namespace ir;

/// A constant permutation: lane l of the result is lane source(l).
std::string LlvmEmitter::permuted(const std::string& type, const std::string& value, const std::function<int(int)>& source) {
    if (width == 1) return value;
    std::string indices;
    for (int l = 0; l < width; ++l) indices += text(l ? ", " : "", "i32 ", source(l));
    return let(text("shufflevector ", vector_type(type), " ", value, ", ", vector_type(type), " poison, <", width, " x i32> <",
                    indices, ">"));
}

void LlvmEmitter::subgroup(const Inst& i) {
    const Subgroup what = Subgroup(i.immediate);
    const auto v = k.operands(i);
    const Value r = k.result(i);
    const Scalar type = v.empty() ? Scalar::boolean : k.type_of(v[0]);
    const std::string t = scalar_type(type), whole = vector_type(t), b = vector_type("i1");
    if (const auto op = combines(what)) return combine(i, *op, what);
    const auto one = [&](const std::string& scalar) {
        define(r, kind_of(r) == ValueKind::vector ? splat(scalar_type(i.type), scalar) : scalar);
    };
    switch (what) {
        case Subgroup::any: return one(any(narrowed(running, vector(v[0]))));
        case Subgroup::all: {
            const std::string not_all =
                any(narrowed(running, let(text("xor ", b, " ", vector(v[0]), ", ", splat_constant(Scalar::boolean, 1, true)))));
            return one(let(text("xor i1 ", not_all, ", true")));
        }
        case Subgroup::elect: {
            if (width == 1) return define(r, "true");
            const std::string first = splat("i32", first_lane(running));
            return define(r, let(text("icmp eq ", vector_type("i32"), " ", lanes("i32", 1), ", ", first)));
        }
        case Subgroup::ballot: {
            if (i.leaf > 0) return one("0");
            const Mask votes = narrowed(running, vector(v[0]));
            if (width == 1) return one(let(text("zext i1 ", votes.text, " to i32")));
            const std::string bits = let(text("bitcast ", b, " ", votes.text, " to i", width));
            return one(let(text("zext i", width, " ", bits, " to i32")));
        }
        case Subgroup::broadcast_first: return one(extract(t, vector(v[0]), first_lane(running)));
        case Subgroup::broadcast: {
            const ValueRep lane = rep_of(v[1]);
            const std::string from =
                lane.kind == ValueKind::uniform ? lane.scalar : extract("i32", vector(v[1]), first_lane(running));
            return one(extract(t, vector(v[0]), from));
        }
        default: break;
    }
    if (width == 1) return define(r, scalar(v[0]));
    // A source lane outside the subgroup leaves the own value. The shuffle is a gather from the stack, which works for every
    // type.
    const std::string vi = vector_type("i32"), own = lanes("i32", 1), given = vector(v[1]);
    std::string source = given;
    if (what == Subgroup::shuffle_xor) source = let(text("xor ", vi, " ", own, ", ", given));
    if (what == Subgroup::shuffle_up) source = let(text("sub ", vi, " ", own, ", ", given));
    if (what == Subgroup::shuffle_down) source = let(text("add ", vi, " ", own, ", ", given));
    const std::string inside = let(text("icmp ult ", vi, " ", source, ", ", splat("i32", std::to_string(width))));
    source = let(text("select ", b, " ", inside, ", ", vi, " ", source, ", ", vi, " ", own));
    const std::string memory = vector_type(memory_type(type)), array = alloca_of(memory, "lanes");
    line(text("store ", memory, " ", to_memory(type, vector(v[0]), true), ", ptr ", array));
    const std::string addresses = let(text("getelementptr ", memory_type(type), ", ptr ", array, ", ", vi, " ", source));
    const Address from{Address::How::scattered, addresses, size_of(type)};
    define(r, from_memory(type, masked_read(memory_type(type), from, "splat (i1 true)"), true));
}

/// Reductions and scans in log2(width) steps; inactive lanes hold the neutral element.
void LlvmEmitter::combine(const Inst& i, Op op, Subgroup what) {
    const Value given = k.operands(i)[0], r = k.result(i);
    const Scalar type = k.type_of(given);
    const std::string value = operand_or_neutral(given, op);
    if (!is_scan(what)) {
        const std::string t = scalar_type(type), all = extract(t, reduced(op, type, value), "0");
        return define(r, kind_of(r) == ValueKind::vector ? splat(t, all) : all);
    }
    const std::string inclusive = scanned(op, type, value);
    define_lanes(r, what >= Subgroup::exclusive_add ? moved_up(op, type, inclusive, 1) : inclusive);
}

/// For each active lane in turn: writes a record with the item's index and values, and calls the host's report function.
void LlvmEmitter::report(const Inst& i) {
    const bool failure = i.op == Op::require;
    const auto v = k.operands(i).subspan(failure ? 1 : 0);
    const Mask outer = running;
    const std::string end = label("reported"), go = label("report");
    if (failure) {
        const ValueRep c = rep_of(k.operands(i)[0]);
        const std::string b = vector_type("i1");
        if (c.kind == ValueKind::uniform && width == 1) {
            branch(c.scalar, end, go);
        } else {
            running = narrowed(running, let(text("xor ", b, " ", vector(k.operands(i)[0]), ", splat (i1 true)")));
            branch(any(running), go, end);
        }
        start(go);
    }
    size_t words = 0;
    for (const Value o : v) words += ring::words_of(k.type_of(o));
    const std::string record = alloca_of(text("[", words + 3, " x i32]"), "record");
    functions.insert("pumice_cpu_report");
    declare("declare void @pumice_cpu_report(ptr, i32, i32, ptr, i32)");
    std::vector<std::string> vectors;
    for (const Value o : v) vectors.push_back(vector(o));
    each_lane({}, false, [&](const std::string& lane, const auto&) {
        const auto put = [&](size_t word, const std::string& type, const std::string& value) {
            line(text("store ", type, " ", value, ", ptr ", let(text("getelementptr i32, ptr ", record, ", i64 ", word)),
                      ", align 4"));
        };
        for (int axis = 0; axis < 3; ++axis) {
            const std::string here = let(text("add i32 ", origin[size_t(axis)], ", ", local_at[size_t(axis)]));
            put(size_t(axis), "i32", axis == 0 && width > 1 ? let(text("add i32 ", here, ", ", lane)) : here);
        }
        size_t at = 3;
        for (size_t n = 0; n < v.size(); ++n) {
            const Scalar type = k.type_of(v[n]);
            std::string one = extract(scalar_type(type), vectors[n], lane);
            if (type == Scalar::boolean)
                one = let(text("zext i1 ", one, " to i32")), put(at, "i32", one);
            else if (is_narrow_float(type))
                put(at, "float", cast(type, Scalar::f32, one, false));
            else if (size_of(type) < 4)
                put(at, "i32", cast(type, is_signed_int(type) ? Scalar::i32 : Scalar::u32, one, false));
            else
                put(at, scalar_type(type), one);
            at += ring::words_of(type);
        }
        line(text("call void @pumice_cpu_report(ptr %frame, i32 ", failure ? 1 : 0, ", i32 ", i.immediate, ", ptr ", record,
                  ", i32 ", words, ")"));
    });
    if (failure) start(end);
    running = outer;
}

}  // namespace pumice::cpu
