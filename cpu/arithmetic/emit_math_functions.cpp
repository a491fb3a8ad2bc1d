// Inline vector mathematics: exp, log, sin, cos, roots and quotients of f32 packets as polynomials and refined estimates.
//
// Why: a call of a vector function spills all registers, reloads its constants, and does not overlap with a second call.
//
//     exp(x):   n = round(x / ln 2);  r = x - n ln 2 (two parts);  2^n * p(r)        range reduction, then a polynomial
//     x / y:    e = vrcp14(y);  one Newton step for e;  q = x e';  q += e' (x - q y)   estimate, then a correction
//     sin(x):   for |x| < 1e6 inline; a packet with a larger x calls the library function, in an unlikely branch
//
// Polynomials use Estrin's scheme (a tree of fma) for latency; the sine uses Horner's for accuracy. sin and cos of one argument
// are computed together (partner).
// After the first tuning::most_inlined_functions of a kernel, further ones are calls of a function with the same code.
// Cost: about 15 to 30 instructions. Accuracy: exp about 1 ulp, log 2 ulps, sin and cos 2.5 ulps for |x| <= 10^6; the tests in
// emit_math_functions_test.cpp check that. Limits: f32 vectors on targets with fma (AVX2, AVX-512, NEON); estimates only with
// AVX-512 (rsqrt also with AVX2) and not under strict maths. Doubles, scalars and rarer functions are SLEEF's
// (emit_scalar_ops.cpp). Textbook: Cody and Waite range reduction (1980); Muller, "Elementary Functions"; Newton-Raphson with fma
// (Markstein 2000).
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "core/ir/ops.h"
#include "core/support/error.h"
#include "cpu/arithmetic/emit_math_functions.h"
#include "cpu/arithmetic/emit_scalar_ops.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/plan/tuning.h"

namespace pumice::cpu {

using namespace ir;

/// Arithmetic on vectors of floats: operands and results are names of LLVM values.
class MathFunctions::Floats {
public:
    explicit Floats(MathFunctions& e)
        : e(e),
          t(e.out.vector_type("float")),
          i(e.out.vector_type("i32")),
          b(e.out.vector_type("i1")),
          suffix(e.out.intrinsic_suffix("float", true)) {}

    std::string constant(float value) const {
        uint32_t bits;
        std::memcpy(&bits, &value, 4);
        return e.out.splat_constant(Scalar::f32, bits, true);
    }
    static std::string whole(int32_t value) { return text("splat (i32 ", value, ")"); }
    std::string add(const std::string& x, const std::string& y) { return binary("fadd", t, x, y); }
    std::string sub(const std::string& x, const std::string& y) { return binary("fsub", t, x, y); }
    std::string mul(const std::string& x, const std::string& y) { return binary("fmul", t, x, y); }
    std::string on_bits(const char* instruction, const std::string& x, const std::string& y) {
        return binary(instruction, i, x, y);
    }
    std::string neg(const std::string& x) { return e.out.let(text("fneg ", t, " ", x)); }
    /// x * y + z, rounded once.
    std::string fma(const std::string& x, const std::string& y, const std::string& z) {
        e.out.declare(text("declare ", t, " @llvm.fma.", suffix, "(", t, ", ", t, ", ", t, ")"));
        return e.out.let(text("call ", t, " @llvm.fma.", suffix, "(", t, " ", x, ", ", t, " ", y, ", ", t, " ", z, ")"));
    }
    /// c0 + c1 x + c2 x^2 + ..., by Estrin's scheme: a binary tree of fma, whose dependence chain is shorter than Horner's.
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
        return e.out.let(text("fcmp ", how, " ", t, " ", x, ", ", y));
    }
    std::string select(const std::string& condition, const std::string& yes, const std::string& no) {
        return e.out.let(text("select ", b, " ", condition, ", ", t, " ", yes, ", ", t, " ", no));
    }
    std::string bits(const std::string& x) { return e.emit.casts.convert("bitcast", t, x, i); }
    std::string of_bits(const std::string& x) { return e.emit.casts.convert("bitcast", i, x, t); }
    std::string of_whole(const std::string& x) { return e.emit.casts.convert("sitofp", i, x, t); }
    /// 1 / sqrt(x) to 11.4 bits; exact where x is 0 or infinite, and infinite where it is subnormal.
    std::string rough_rsqrt(const std::string& x) {
        return native(x, "float", [&](const std::string& part, int lanes) {
            const std::string v = text("<", lanes, " x float>");
            const char* const function = lanes == 8 ? "@llvm.x86.avx.rsqrt.ps.256" : "@llvm.x86.sse.rsqrt.ps";
            e.out.declare(text("declare ", v, " ", function, "(", v, ")"));
            return e.out.let(text("call ", v, " ", function, "(", v, " ", part, ")"));
        });
    }
    /// 1 / sqrt(x) and 1 / x to 14 bits; exact where x is 0 or infinite.
    std::string estimate(const char* of, const std::string& x) {
        return native(x, "float", [&](const std::string& part, int lanes) {
            const std::string v = text("<", lanes, " x float>"), mask = text("i", std::max(lanes, 8));
            const std::string function = text("@llvm.x86.avx512.", of, ".ps.", 32 * lanes);
            e.out.declare(text("declare ", v, " ", function, "(", v, ", ", v, ", ", mask, ")"));
            return e.out.let(text("call ", v, " ", function, "(", v, " ", part, ", ", v, " zeroinitializer, ", mask, " -1)"));
        });
    }
    /// A mask: x is +0, -0 or +infinity.
    std::string zero_or_infinite(const std::string& x) {
        return native(x, "i1", [&](const std::string& part, int lanes) {
            const std::string v = text("<", lanes, " x float>"), yes = text("<", lanes, " x i1>");
            const std::string function = text("@llvm.x86.avx512.fpclass.ps.", 32 * lanes);
            e.out.declare(text("declare ", yes, " ", function, "(", v, ", i32)"));
            return e.out.let(text("call ", yes, " ", function, "(", v, " ", part, ", i32 14)"));
        });
    }

private:
    /// Applies a machine instruction that takes at most 16 (AVX-512) or 8 floats to the parts of a packet.
    std::string native(const std::string& x, const char* result,
                       const std::function<std::string(const std::string&, int)>& part) {
        const int lanes = std::min(e.width, e.target.isa == Isa::avx512 ? 16 : 8);
        const auto one = [&](const std::vector<std::string>& pieces) { return part(pieces[0], lanes); };
        return e.emit.ops.in_parts(lanes, "float", {x}, result, one);
    }
    std::string binary(const char* instruction, const std::string& type, const std::string& x, const std::string& y) {
        return e.out.let(text(instruction, " ", type, " ", x, ", ", y));
    }
    MathFunctions& e;
    const std::string t, i, b, suffix;
};

namespace {

constexpr float infinity = __builtin_inff(), nan = __builtin_nanf("");

/// Rounding constant 1.5 * 2^23: the low mantissa bits of x + to_whole are the integer nearest to x, for |x| < 2^22.
constexpr float to_whole = 12582912.0f;

/// Largest |x| of the inline sine, whose range reduction uses three parts of pi. It is well inside the limit of `to_whole`.
constexpr float most_reduced = 1e6f;

}  // namespace

/// 2^n exp(r), where n + r / log(2) = x / log(2) (exp) or x (exp2), and |r| <= log(2) / 2. The error is about 1 ulp. Subnormal
/// results are flushed to 0. 2^n is added to the exponent bits; x outside the limits within which that works is selected apart.
std::string MathFunctions::exponential(Op op, const std::string& x) {
    Floats f(*this);
    const bool natural = op == Op::exp;
    const std::string moved = natural ? f.fma(x, f.constant(1.442695041f), f.constant(to_whole)) : f.add(x, f.constant(to_whole));
    const std::string n = f.sub(moved, f.constant(to_whole));
    const std::string r = natural ? f.fma(n, f.constant(-1.42860677e-6f), f.fma(n, f.constant(-0.693145752f), x))
                                  : f.mul(f.sub(x, n), f.constant(0.693147181f));
    const std::string p = f.polynomial(r, {0.49999994f, 0.16666520f, 0.041668404f, 0.0083688991f, 0.0013814222f});
    const std::string near = f.add(f.fma(f.mul(r, r), p, r), f.constant(1));
    const std::string power = f.on_bits("shl", f.bits(moved), Floats::whole(23));
    const std::string y = f.of_bits(f.on_bits("add", f.bits(near), power));
    const std::string most = f.constant(natural ? 88.7228317f : 127.999992f),
                      least = f.constant(natural ? -87.3365402f : -126.0f);
    const std::string past = f.mul(x, f.constant(infinity));  // infinite, or a NaN as x is
    const std::string bounded = f.select(f.compare("ole", x, most), y, past);
    return f.select(f.compare("olt", x, least), f.constant(0), bounded);
}

/// x = 2^n (1 + u), 1 + u in [sqrt(1/2), sqrt(2)]: n log(2) + log(1 + u); log2 divides that by log(2). The error is at most 2
/// ulps.
std::string MathFunctions::logarithm(Op op, const std::string& x) {
    Floats f(*this);
    const std::string tiny = f.compare("olt", x, f.constant(1.17549435e-38f));
    const std::string scaled = f.mul(x, f.select(tiny, f.constant(16777216), f.constant(1)));
    const std::string from_root = f.on_bits("sub", f.bits(scaled), Floats::whole(0x3f3504f3));  // minus the bits of sqrt(1/2)
    const std::string exponent = f.on_bits("ashr", from_root, Floats::whole(23));
    const std::string more = f.select(tiny, f.constant(24), f.constant(0)), n = f.sub(f.of_whole(exponent), more);
    const std::string power = f.on_bits("shl", exponent, Floats::whole(23));
    const std::string mantissa = f.on_bits("sub", f.bits(scaled), power);
    const std::string u = f.sub(f.of_bits(mantissa), f.constant(1)), uu = f.mul(u, u);
    const std::string p = f.polynomial(
        u, {0.33333331f, -0.25000855f, 0.20001361f, -0.16622166f, 0.14197604f, -0.13168192f, 0.12796739f, -0.076577708f});
    const bool natural = op == Op::log;
    std::string low = f.mul(f.mul(u, uu), p);
    if (natural) low = f.fma(n, f.constant(-2.12194440e-4f), low);
    const std::string near = f.add(u, f.fma(uu, f.constant(-0.5f), low));
    const std::string r = natural ? f.fma(n, f.constant(0.693359375f), near) : f.fma(near, f.constant(1.44269504f), n);
    const std::string outside = f.select(f.compare("oeq", x, f.constant(0)), f.constant(-infinity), f.constant(nan));
    const std::string inside = f.select(f.compare("olt", x, f.constant(infinity)), r, x);
    return f.select(f.compare("ogt", x, f.constant(0)), inside, outside);
}

/// sin(x) = (-1)^n sin(r), r = x - n pi. For the cosine, n is half of an odd number and the sign is inverted. Cody-Waite
/// reduction with three parts of pi, whose products fma does not round: at most 2.5 ulps for |x| <= 10^6.
std::string MathFunctions::near_sine(Op op, const std::string& x) {
    Floats f(*this);
    const bool cosine = op == Op::cos;
    const std::string is_transposed_load =
        cosine ? f.add(f.fma(x, f.constant(0.318309886f), f.constant(-0.5f)), f.constant(to_whole))
               : f.fma(x, f.constant(0.318309886f), f.constant(to_whole));
    std::string n = f.sub(is_transposed_load, f.constant(to_whole));
    if (cosine) n = f.add(n, f.constant(0.5f));
    std::string r = f.fma(n, f.constant(-3.14159274f), x);
    r = f.fma(n, f.constant(8.74227766e-8f), r);
    r = f.fma(n, f.constant(3.43024902e-15f), r);
    const std::string z = f.mul(r, r);
    // Horner's scheme: near 1, the values of cosines, the rounding error of Estrin's scheme would show.
    std::string p = f.constant(2.5992474e-6f);
    for (const float c : {-1.9807421e-4f, 0.0083330534f, -0.1666666f}) p = f.fma(p, z, f.constant(c));
    const std::string y = f.fma(f.mul(z, r), p, r);
    std::string flips = f.on_bits("shl", f.bits(is_transposed_load), Floats::whole(31));
    if (cosine) flips = f.on_bits("xor", flips, Floats::whole(INT32_MIN));
    return f.of_bits(f.on_bits("xor", f.bits(y), flips));
}

/// The cosine of the same value as this sine, or the reverse, later in the same block and barrier region.
Value MathFunctions::partner(const Inst& i) const {
    if ((i.op != Op::sin && i.op != Op::cos) || i.type != Scalar::f32 || !writes_out(i.op)) return {};
    const InstId own = k[k.result(i)].inst;
    for (const InstId id : k[packet.uniformity.structure().block_of(own)].insts) {
        const Inst& other = k[id];
        if (other.op != (i.op == Op::sin ? Op::cos : Op::sin) || k.operands(other)[0] != k.operands(i)[0]) continue;
        if (packet.has_barriers && plan.regions.inst_region[id.id] != plan.regions.inst_region[own.id]) continue;
        if (!packet.has_value[k.result(other).id]) return k.result(other);
    }
    return {};
}

/// Sine or cosine of x, or both, whose instructions then overlap. If any x of the packet exceeds most_reduced, the results of the
/// whole packet come from the library functions.
std::vector<std::string> MathFunctions::sines(const std::vector<Op>& ops, const std::string& x) {
    Floats f(*this);
    const std::string t = out.vector_type("float"), far = out.label("far"), end = out.label("near");
    std::vector<std::string> slots, values;
    for (const Op op : ops) {
        slots.push_back(out.alloca_of(t, "far"));
        out.line(text("store ", t, " ", near_sine(op, x), ", ptr ", slots.back()));
    }
    const std::string magnitude = emit.ops.expanded("call $t @llvm.fabs.$s($t $0)", Scalar::f32, {x}, true);
    const std::string outside = packet.any({f.compare("uge", magnitude, f.constant(most_reduced))});
    const std::string seldom = out.metadata("!{!\"branch_weights\", i32 1, i32 100000}");
    out.line(text("br i1 ", outside, ", label %", far, ", label %", end, ", !prof ", seldom));
    out.open = false;
    out.start(far);
    for (size_t n = 0; n < ops.size(); ++n)
        out.line(text("store ", t, " ", emit.ops.called(ops[n], Scalar::f32, {x}, true), ", ptr ", slots[n]));
    out.start(end);
    for (const std::string& slot : slots) values.push_back(out.let(text("load ", t, ", ptr ", slot)));
    return values;
}

/// True for the functions that are written inline; the target must have fused multiply-add.
bool MathFunctions::writes_out(Op op) const {
    const bool fused = target.isa == Isa::avx2 || target.isa == Isa::avx512 || target.isa == Isa::neon;
    return fused && target.rules.has(Rule::inline_mathematics) &&
           (op == Op::exp || op == Op::exp2 || op == Op::log || op == Op::log2 || op == Op::sin || op == Op::cos);
}

std::vector<std::string> MathFunctions::written_out(const std::vector<Op>& ops, const std::string& x) {
    const Op op = ops[0];
    if (op == Op::exp || op == Op::exp2) return {exponential(op, x)};
    if (op == Op::log || op == Op::log2) return {logarithm(op, x)};
    return sines(ops, x);
}

/// One function of a vector x, or sine and cosine: code in the kernel for the first ones, then calls of a function with that
/// code.
std::vector<std::string> MathFunctions::mathematics(const std::vector<Op>& ops, const std::string& x) {
    inlined_functions += int(ops.size());
    if (inlined_functions <= tuning::most_inlined_functions || target.use == CodeUse::function) return written_out(ops, x);
    const std::string t = out.vector_type("float"), result = ops.size() == 1 ? t : text("{", t, ", ", t, "}");
    std::string function = "@outlined";
    for (const Op op : ops) function += text(".", row(op).name);
    function += text(".", out.intrinsic_suffix("float", true));
    if (outlined_functions.insert(function).second) out.declare(outlined_mathematics(function, result, ops));
    const std::string both = out.let(text("call ", result, " ", function, "(", t, " ", x, ")"));
    if (ops.size() == 1) return {both};
    return {out.let(text("extractvalue ", result, " ", both, ", 0")), out.let(text("extractvalue ", result, " ", both, ", 1"))};
}

/// The definition of such a function. Its text depends on the functions alone, since emitters that share a module may both have
/// it.
std::string MathFunctions::outlined_mathematics(const std::string& function, const std::string& result,
                                                const std::vector<Op>& ops) {
    std::string body;
    std::string* const outer_out = std::exchange(out.destination, &body);
    const std::string outer_allocas = std::exchange(out.allocas, ""), outer_mark = std::exchange(out.line_mark, "");
    const int outer_names = std::exchange(out.names, 0), outer_lines = out.block_lines;
    std::vector<std::string> y = written_out(ops, "%x");
    if (y.size() == 2) {
        const std::string t = out.vector_type("float");
        const std::string first = out.let(text("insertvalue ", result, " poison, ", t, " ", y[0], ", 0"));
        y[0] = out.let(text("insertvalue ", result, " ", first, ", ", t, " ", y[1], ", 1"));
    }
    out.line(text("ret ", result, " ", y[0]));
    const std::string all = text("define internal ", result, " ", function, "(", out.vector_type("float"), " %x)",
                                 packet.attributes(), " memory(none) {\nentry:\n", out.allocas, body, "}");
    out.destination = outer_out, out.allocas = outer_allocas, out.line_mark = outer_mark, out.names = outer_names,
    out.block_lines = outer_lines;
    out.open = true;
    return all;
}

// ---- refined hardware estimates: within the tolerances of ops.def; faster than exact roots and divisions where these are slow
// ----

/// One Newton step on the estimate of 1 / sqrt(x), with error = x y^2 - 1. For x = 0 and infinity the estimate is exact and the
/// error is NaN; the select replaces it by a harmless value. The relative error of the AVX-512 estimate is at most 2^-14. The
/// older estimate has 2^-11.4, so one more term of (1 + error)^(-1/2) = 1 - error / 2 + 3 error^2 / 8 ... is used, as a factor,
/// which keeps infinite estimates.
std::string MathFunctions::estimated_rsqrt(const std::string& x) {
    Floats f(*this);
    const bool rough = target.isa != Isa::avx512;
    const std::string y = rough ? f.rough_rsqrt(x) : f.estimate("rsqrt14", x), least = f.constant(-0.5f);
    const std::string lacks = f.fma(f.mul(x, y), y, f.constant(-1)),
                      error = f.select(f.compare("ogt", lacks, least), lacks, least);
    if (rough) return f.mul(y, f.fma(error, f.fma(error, f.constant(0.375f), least), f.constant(1)));
    return f.fma(f.mul(y, least), error, y);
}

/// x * rsqrt(x), corrected by the residual x - root^2. 0 and infinity, whose residual is NaN, are returned unchanged. Results for
/// subnormal x have about 14 bits.
std::string MathFunctions::estimated_sqrt(const std::string& x) {
    Floats f(*this);
    const std::string y = f.estimate("rsqrt14", x), root = f.mul(x, y);
    const std::string lack = f.fma(f.neg(root), root, x), better = f.fma(lack, f.mul(y, f.constant(0.5f)), root);
    return f.select(f.zero_or_infinite(x), x, better);
}

/// x / y: x times the refined estimate of 1 / y, then one correction by the residual x - q y, so that representable quotients are
/// exact. For zeros and infinities the correction is NaN; x times the estimate is the result then.
std::string MathFunctions::estimated_quotient(const std::string& x, const std::string& y) {
    Floats f(*this);
    const std::string e = f.estimate("rcp14", y), minus = f.neg(y), rough = f.mul(x, e);
    const std::string error = f.fma(minus, e, f.constant(1)), q = f.fma(rough, error, rough);
    const std::string lack = f.fma(minus, q, x), reciprocal = f.fma(e, error, e), better = f.fma(lack, reciprocal, q);
    return f.select(f.compare("ord", better, better), better, rough);
}

}  // namespace pumice::cpu
