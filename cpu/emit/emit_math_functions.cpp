// Functions of packets of floats that are worth their instructions in place of a call: no registers are lost to it, the
// constants stay in registers, and several of them run at once. Doubles, scalars and rarer functions are SLEEF's (emit_scalar_ops.cpp).
#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

/// Writes arithmetic on vectors of floats: operands and results are names of LLVM values.
class Emitter::Floats {
public:
    explicit Floats(Emitter& e)
        : e(e),
          t(e.vector_type("float")),
          i(e.vector_type("i32")),
          b(e.vector_type("i1")),
          suffix(e.intrinsic_suffix("float", true)) {}

    std::string constant(float value) const {
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        return e.splat_constant(Scalar::f32, bits, true);
    }
    static std::string whole(int32_t value) { return text("splat (i32 ", value, ")"); }
    std::string add(const std::string& x, const std::string& y) { return binary("fadd", t, x, y); }
    std::string sub(const std::string& x, const std::string& y) { return binary("fsub", t, x, y); }
    std::string mul(const std::string& x, const std::string& y) { return binary("fmul", t, x, y); }
    std::string on_bits(const char* instruction, const std::string& x, const std::string& y) {
        return binary(instruction, i, x, y);
    }
    std::string neg(const std::string& x) { return e.let(text("fneg ", t, " ", x)); }
    /// x * y + z, rounded once.
    std::string fma(const std::string& x, const std::string& y, const std::string& z) {
        e.declare(text("declare ", t, " @llvm.fma.", suffix, "(", t, ", ", t, ", ", t, ")"));
        return e.let(text("call ", t, " @llvm.fma.", suffix, "(", t, " ", x, ", ", t, " ", y, ", ", t, " ", z, ")"));
    }
    /// c0 + c1 x + c2 x^2 + ..., by Estrin's scheme: pairs of terms, then pairs of those, wait less for each other.
    std::string polynomial(const std::string& x, std::initializer_list<float> coefficients) {
        std::vector<std::string> terms;
        for (const float c : coefficients) terms.push_back(constant(c));
        for (std::string power = x; terms.size() > 1; power = terms.size() > 1 ? mul(power, power) : "") {
            for (size_t pair = 0; 2 * pair + 1 < terms.size(); ++pair)
                terms[pair] = fma(terms[2 * pair + 1], power, terms[2 * pair]);
            if (terms.size() % 2) terms[terms.size() / 2] = terms.back();
            terms.resize((terms.size() + 1) / 2);
        }
        return terms[0];
    }
    std::string compare(const char* how, const std::string& x, const std::string& y) {
        return e.let(text("fcmp ", how, " ", t, " ", x, ", ", y));
    }
    std::string select(const std::string& condition, const std::string& yes, const std::string& no) {
        return e.let(text("select ", b, " ", condition, ", ", t, " ", yes, ", ", t, " ", no));
    }
    std::string bits(const std::string& x) { return e.convert("bitcast", t, x, i); }
    std::string of_bits(const std::string& x) { return e.convert("bitcast", i, x, t); }
    std::string of_whole(const std::string& x) { return e.convert("sitofp", i, x, t); }
    /// 1 / sqrt(x) to 11.4 bits; exact where x is 0 or infinite, and infinite where it is subnormal.
    std::string rough_rsqrt(const std::string& x) {
        return native(x, "float", [&](const std::string& part, int lanes) {
            const std::string v = text("<", lanes, " x float>");
            const char* const function = lanes == 8 ? "@llvm.x86.avx.rsqrt.ps.256" : "@llvm.x86.sse.rsqrt.ps";
            e.declare(text("declare ", v, " ", function, "(", v, ")"));
            return e.let(text("call ", v, " ", function, "(", v, " ", part, ")"));
        });
    }
    /// 1 / sqrt(x) and 1 / x to 14 bits; exact where x is 0 or infinite.
    std::string estimate(const char* of, const std::string& x) {
        return native(x, "float", [&](const std::string& part, int lanes) {
            const std::string v = text("<", lanes, " x float>"), mask = text("i", std::max(lanes, 8));
            const std::string function = text("@llvm.x86.avx512.", of, ".ps.", 32 * lanes);
            e.declare(text("declare ", v, " ", function, "(", v, ", ", v, ", ", mask, ")"));
            return e.let(text("call ", v, " ", function, "(", v, " ", part, ", ", v, " zeroinitializer, ", mask, " -1)"));
        });
    }
    /// Of +-0 and +infinity.
    std::string zero_or_infinite(const std::string& x) {
        return native(x, "i1", [&](const std::string& part, int lanes) {
            const std::string v = text("<", lanes, " x float>"), yes = text("<", lanes, " x i1>");
            const std::string function = text("@llvm.x86.avx512.fpclass.ps.", 32 * lanes);
            e.declare(text("declare ", yes, " ", function, "(", v, ", i32)"));
            return e.let(text("call ", yes, " ", function, "(", v, " ", part, ", i32 14)"));
        });
    }

private:
    /// By an instruction of the machine's, which takes no more than 16 floats, or 8.
    std::string native(const std::string& x, const char* result,
                       const std::function<std::string(const std::string&, int)>& part) {
        const int lanes = std::min(e.width, e.target.isa == Isa::avx512 ? 16 : 8);
        const auto one = [&](const std::vector<std::string>& pieces) { return part(pieces[0], lanes); };
        return e.in_parts(lanes, "float", {x}, result, one);
    }
    std::string binary(const char* instruction, const std::string& type, const std::string& x, const std::string& y) {
        return e.let(text(instruction, " ", type, " ", x, ", ", y));
    }
    Emitter& e;
    const std::string t, i, b, suffix;
};

namespace {

constexpr float infinity = __builtin_inff(), nan = __builtin_nanf("");

/// x + 1.5 * 2^23 has the whole number nearest x in its low bits, for |x| < 2^22.
constexpr float to_whole = 12582912.0f;

/// Where sines are taken by three parts of pi: far enough inside the limit of `to_whole`.
constexpr float most_reduced = 1e6f;

}  // namespace

/// 2^n exp(r), n + r / log(2) = x / log(2) (exp) or x (exp2), |r| <= log(2) / 2. Its error is 1 ulp at most or little more; results below the
/// normal numbers are 0. 2^n goes into the exponent's bits, inside the limits where that does.
std::string Emitter::exponential(Op op, const std::string& x) {
    Floats f(*this);
    const bool natural = op == Op::exp;
    const std::string moved =
        natural ? f.fma(x, f.constant(1.442695041f), f.constant(to_whole)) : f.add(x, f.constant(to_whole));
    const std::string n = f.sub(moved, f.constant(to_whole));
    const std::string r = natural ? f.fma(n, f.constant(-1.42860677e-6f), f.fma(n, f.constant(-0.693145752f), x))
                                  : f.mul(f.sub(x, n), f.constant(0.693147181f));
    const std::string p = f.polynomial(r, {0.49999994f, 0.16666520f, 0.041668404f, 0.0083688991f, 0.0013814222f});
    const std::string near = f.add(f.fma(f.mul(r, r), p, r), f.constant(1));
    const std::string power = f.on_bits("shl", f.bits(moved), Floats::whole(23));
    const std::string y = f.of_bits(f.on_bits("add", f.bits(near), power));
    const std::string most = f.constant(natural ? 88.7228317f : 127.999992f), least = f.constant(natural ? -87.3365402f : -126.0f);
    const std::string past = f.mul(x, f.constant(infinity));  // infinite, or a NaN as x is
    const std::string bounded = f.select(f.compare("ole", x, most), y, past);
    return f.select(f.compare("olt", x, least), f.constant(0), bounded);
}

/// x = 2^n (1 + u), 1 + u in [sqrt(1/2), sqrt(2)]: n log(2) + log(1 + u), or for log2 that by log(2). Within 2 ulps.
std::string Emitter::logarithm(Op op, const std::string& x) {
    Floats f(*this);
    const std::string tiny = f.compare("olt", x, f.constant(1.17549435e-38f));
    const std::string scaled = f.mul(x, f.select(tiny, f.constant(16777216), f.constant(1)));
    const std::string from_root = f.on_bits("sub", f.bits(scaled), Floats::whole(0x3f3504f3));  // less the bits of sqrt(1/2)
    const std::string exponent = f.on_bits("ashr", from_root, Floats::whole(23));
    const std::string more = f.select(tiny, f.constant(24), f.constant(0)), n = f.sub(f.of_whole(exponent), more);
    const std::string power = f.on_bits("shl", exponent, Floats::whole(23));
    const std::string mantissa = f.on_bits("sub", f.bits(scaled), power);
    const std::string u = f.sub(f.of_bits(mantissa), f.constant(1)), uu = f.mul(u, u);
    const std::string p = f.polynomial(u, {0.33333331f, -0.25000855f, 0.20001361f, -0.16622166f, 0.14197604f, -0.13168192f,
                                           0.12796739f, -0.076577708f});
    const bool natural = op == Op::log;
    std::string low = f.mul(f.mul(u, uu), p);
    if (natural) low = f.fma(n, f.constant(-2.12194440e-4f), low);
    const std::string near = f.add(u, f.fma(uu, f.constant(-0.5f), low));
    const std::string r = natural ? f.fma(n, f.constant(0.693359375f), near) : f.fma(near, f.constant(1.44269504f), n);
    const std::string outside = f.select(f.compare("oeq", x, f.constant(0)), f.constant(-infinity), f.constant(nan));
    const std::string inside = f.select(f.compare("olt", x, f.constant(infinity)), r, x);
    return f.select(f.compare("ogt", x, f.constant(0)), inside, outside);
}

/// sin(x) = (-1)^n sin(r), r = x - n pi; of the cosine n is half of an odd number, and the sign the other one. Three parts of
/// pi, whose products fma does not round: within 2.5 ulps for |x| <= 10^6.
std::string Emitter::near_sine(Op op, const std::string& x) {
    Floats f(*this);
    const bool cosine = op == Op::cos;
    const std::string turns =
        cosine ? f.add(f.fma(x, f.constant(0.318309886f), f.constant(-0.5f)), f.constant(to_whole))
               : f.fma(x, f.constant(0.318309886f), f.constant(to_whole));
    std::string n = f.sub(turns, f.constant(to_whole));
    if (cosine) n = f.add(n, f.constant(0.5f));
    std::string r = f.fma(n, f.constant(-3.14159274f), x);
    r = f.fma(n, f.constant(8.74227766e-8f), r);
    r = f.fma(n, f.constant(3.43024902e-15f), r);
    const std::string z = f.mul(r, r);
    // One term after the other: beside 1, where cosines are, the error of the pairs' sum would show.
    std::string p = f.constant(2.5992474e-6f);
    for (const float c : {-1.9807421e-4f, 0.0083330534f, -0.1666666f}) p = f.fma(p, z, f.constant(c));
    const std::string y = f.fma(f.mul(z, r), p, r);
    std::string flips = f.on_bits("shl", f.bits(turns), Floats::whole(31));
    if (cosine) flips = f.on_bits("xor", flips, Floats::whole(INT32_MIN));
    return f.of_bits(f.on_bits("xor", f.bits(y), flips));
}

/// The sine that goes with a cosine, or the other way round: of the same value, later in the same block and region.
Value Emitter::partner(const Inst& i) const {
    if ((i.op != Op::sin && i.op != Op::cos) || i.type != Scalar::f32 || !writes_out(i.op)) return {};
    const InstId own = k[k.result(i)].inst;
    for (const InstId id : k[uniformity.structure().block_of(own)].insts) {
        const Inst& other = k[id];
        if (other.op != (i.op == Op::sin ? Op::cos : Op::sin) || k.operands(other)[0] != k.operands(i)[0]) continue;
        if (has_barriers && inst_region[id.id] != inst_region[own.id]) continue;
        if (!has_value[k.result(other).id]) return k.result(other);
    }
    return {};
}

/// Sine or cosine of x, or both, which then wait less for each other; where an x of the packet is too far from 0, as the functions that are
/// called elsewhere give them.
std::vector<std::string> Emitter::sines(const std::vector<Op>& ops, const std::string& x) {
    Floats f(*this);
    const std::string t = vector_type("float"), far = label("far"), end = label("near");
    std::vector<std::string> slots, values;
    for (const Op op : ops) {
        slots.push_back(alloca_of(t, "far"));
        line(text("store ", t, " ", near_sine(op, x), ", ptr ", slots.back()));
    }
    const std::string magnitude = expanded("call $t @llvm.fabs.$s($t $0)", Scalar::f32, {x}, true);
    const std::string outside = any({f.compare("uge", magnitude, f.constant(most_reduced))});
    const std::string seldom = metadata("!{!\"branch_weights\", i32 1, i32 100000}");
    line(text("br i1 ", outside, ", label %", far, ", label %", end, ", !prof ", seldom));
    open = false;
    start(far);
    for (size_t n = 0; n < ops.size(); ++n)
        line(text("store ", t, " ", called(ops[n], Scalar::f32, {x}, true), ", ptr ", slots[n]));
    start(end);
    for (const std::string& slot : slots) values.push_back(let(text("load ", t, ", ptr ", slot)));
    return values;
}

/// Where the target has a fused multiply-add.
bool Emitter::writes_out(Op op) const {
    const bool fused = target.isa == Isa::avx2 || target.isa == Isa::avx512 || target.isa == Isa::neon;
    return fused && (op == Op::exp || op == Op::exp2 || op == Op::log || op == Op::log2 || op == Op::sin || op == Op::cos);
}

std::string Emitter::written_out(Op op, const std::string& x) {
    if (op == Op::exp || op == Op::exp2) return exponential(op, x);
    if (op == Op::log || op == Op::log2) return logarithm(op, x);
    return sines({op}, x)[0];
}

// ---- by the machine's estimates, within the rows' tolerances, and several times as fast as its roots and divisions ----

/// One step of Newton's method. Of 0 and infinity, where the error has no number, the estimate is exact, and any error above -1
/// leaves it as it is; what the estimate lacks is 2^-14 of it at most. Where it may be 2^-11.4, a term more of (1 + error)^(-1/2) =
/// 1 - error / 2 + 3 error^2 / 8 ... is taken, as a factor, which leaves estimates that are infinite as they are.
std::string Emitter::estimated_rsqrt(const std::string& x) {
    Floats f(*this);
    const bool rough = target.isa != Isa::avx512;
    const std::string y = rough ? f.rough_rsqrt(x) : f.estimate("rsqrt14", x), least = f.constant(-0.5f);
    const std::string lacks = f.fma(f.mul(x, y), y, f.constant(-1)), error = f.select(f.compare("ogt", lacks, least), lacks, least);
    if (rough) return f.mul(y, f.fma(error, f.fma(error, f.constant(0.375f), least), f.constant(1)));
    return f.fma(f.mul(y, least), error, y);
}

/// The root, and what its square lacks of x; 0 and infinity, of which that is no number, are their own roots.
/// Of subnormal numbers it rounds to 14 bits or so.
std::string Emitter::estimated_sqrt(const std::string& x) {
    Floats f(*this);
    const std::string y = f.estimate("rsqrt14", x), root = f.mul(x, y);
    const std::string lack = f.fma(f.neg(root), root, x), better = f.fma(lack, f.mul(y, f.constant(0.5f)), root);
    return f.select(f.zero_or_infinite(x), x, better);
}

/// x / y by the estimate of 1 / y, whose error mends the quotient; then by what that lacks: quotients that are numbers come out
/// exact. Where the error has no number, of zeros and infinities, the product with the estimate is what it should be.
std::string Emitter::estimated_quotient(const std::string& x, const std::string& y) {
    Floats f(*this);
    const std::string e = f.estimate("rcp14", y), minus = f.neg(y), rough = f.mul(x, e);
    const std::string error = f.fma(minus, e, f.constant(1)), q = f.fma(rough, error, rough);
    const std::string lack = f.fma(minus, q, x), reciprocal = f.fma(e, error, e), better = f.fma(lack, reciprocal, q);
    return f.select(f.compare("ord", better, better), better, rough);
}

}  // namespace pumice::cpu
