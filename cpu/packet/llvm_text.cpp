// LLVM text: names, types, constants, vectors, masks and slots.
//
// Why: the back end writes LLVM's textual IR (cpu/native/llvm_versions.cpp adapts it to older versions). This is its lowest
// layer, which the other files of cpu/emit and cpu/access call.
//
//     splat("float", "%a")    %v1 = insertelement <8 x float> poison, float %a, i64 0
//                             %v2 = shufflevector <8 x float> %v1, <8 x float> poison, <8 x i32> zeroinitializer
//     constant(f32, 1.0)      0x3FF0000000000000                         a float as the double of the same value
//     alloca_of("i32", "x")   %x3 = alloca i32                           in the entry block; mem2reg makes phis of its uses
//
// `let` names a result, `lanes` is <0, s, 2 s, ...>; masks are <width x i1>, and slots are allocas. A value is uniform (one
// scalar), affine (lane 0 and a step) or a vector; an affine value becomes a vector where an instruction needs one. With width 1
// a vector is its scalar.
// Cost: linear in the text. Limits: one module, whose names are numbered and so never clash.
// Textbook name: SSA construction, which is left to mem2reg (Cytron et al. 1991).
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "core/ir/evaluate.h"
#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

std::string LlvmEmitter::let(const std::string& instruction, const char* stem) {
    const std::string v = name(stem);
    line(v + " = " + instruction);
    return v;
}

std::string LlvmEmitter::metadata(std::string node) {
    std::string number = text("!", nodes.size());
    if (const size_t at = node.find('$'); at != std::string::npos) {
        node.replace(at, 1, number);
    } else if (const auto same = std::find(nodes.begin(), nodes.end(), node); same != nodes.end()) {
        return text("!", same - nodes.begin());
    }
    nodes.push_back(std::move(node));
    return number;
}

void LlvmEmitter::start(const std::string& l) {
    if (open) jump(l);
    *out += l + ":\n";
    open = true;
    block_lines = 0;
}

void LlvmEmitter::jump(const std::string& l) {
    line("br label %" + l);
    open = false;
}

void LlvmEmitter::branch(const std::string& condition, const std::string& yes, const std::string& no) {
    line(text("br i1 ", condition, ", label %", yes, ", label %", no));
    open = false;
}

std::string LlvmEmitter::alloca_of(const std::string& type, const char* stem) {
    const std::string v = name(stem);
    allocas += text("  ", v, " = alloca ", type, "\n");
    return v;
}

// ---- types and constants ----

std::string LlvmEmitter::scalar_type(Scalar t) const {
    if (t == Scalar::boolean) return "i1";
    if (t == Scalar::f16) return "half";
    if (t == Scalar::f32) return "float";
    if (t == Scalar::f64) return "double";
    return text("i", 8 * size_of(t));  // bf16, too: LLVM 15 cannot convert its own bfloat on most processors
}

std::string LlvmEmitter::vector_type(const std::string& scalar) const {
    return width == 1 ? scalar : text("<", width, " x ", scalar, ">");
}

std::string LlvmEmitter::intrinsic_suffix(const std::string& scalar, bool vector) const {
    const std::string base = scalar == "float" ? "f32" : scalar == "double" ? "f64" : scalar == "half" ? "f16" : scalar;
    return vector && width > 1 ? text("v", width, base) : base;
}

std::string LlvmEmitter::constant(Scalar t, uint64_t bits) const {
    char hex[24];
    switch (t) {
        case Scalar::boolean: return bits ? "true" : "false";
        case Scalar::f16: std::snprintf(hex, sizeof hex, "0xH%04X", unsigned(bits)); return hex;
        case Scalar::f32:  // LLVM writes a float as the double of the same value; a NaN keeps its payload
            std::snprintf(hex, sizeof hex, "0x%016llX",
                          (unsigned long long)std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(bits)))));
            return hex;
        case Scalar::f64: std::snprintf(hex, sizeof hex, "0x%016llX", (unsigned long long)bits); return hex;
        default: break;
    }
    const int unused = 64 - 8 * size_of(t);
    return std::to_string(int64_t(bits << unused) >> unused);
}

std::string LlvmEmitter::splat_constant(Scalar t, uint64_t bits, bool vector) const {
    if (!vector || width == 1) return constant(t, bits);
    if (bits == 0) return "zeroinitializer";
    return text("splat (", scalar_type(t), " ", constant(t, bits), ")");
}

std::string LlvmEmitter::splat(const std::string& type, const std::string& scalar) {
    if (width == 1) return scalar;
    if (scalar[0] != '%') return text("splat (", type, " ", scalar, ")");
    const std::string v = vector_type(type);
    const std::string one = let(text("insertelement ", v, " poison, ", type, " ", scalar, ", i64 0"));
    return let(text("shufflevector ", v, " ", one, ", ", v, " poison, <", width, " x i32> zeroinitializer"));
}

std::string LlvmEmitter::lanes(const std::string& type, int64_t step) const {
    if (width == 1) return "0";
    std::string all = "<";
    const int bits = std::atoi(type.c_str() + 1);
    for (int lane = 0; lane < width; ++lane) {
        const int64_t value = int64_t(uint64_t(step) * uint64_t(lane));
        all += text(lane ? ", " : "", type, " ", int64_t(uint64_t(value) << (64 - bits)) >> (64 - bits));
    }
    return all + ">";
}

std::string LlvmEmitter::extract(const std::string& type, const std::string& vector, const std::string& lane) {
    if (width == 1) return vector;
    return let(text("extractelement ", vector_type(type), " ", vector, ", i32 ", lane));
}

// ---- values ----

/// The step of an integer from lane to lane, modulo the bits of its type, if it is a constant.
std::optional<int64_t> LlvmEmitter::lane_step(Value v) const { return affine.of(v).step(8 * size_of(k.type_of(v))); }

ValueKind LlvmEmitter::kind_of(Value v) const {
    if (width == 1 || uniformity.of(v) != Scope::item) return ValueKind::uniform;
    return is_int(k.type_of(v)) && affine.of(v).exact && lane_step(v) ? ValueKind::affine : ValueKind::vector;
}

const ValueRep& LlvmEmitter::rep_of(Value v) {
    if (!has_value[v.id]) library_bug(text("the LLVM emitter uses value ", v.id, " before it is defined\n", print(k)));
    return values[v.id];
}

std::string LlvmEmitter::scalar(Value v) {
    const ValueRep& h = rep_of(v);
    if (h.kind == ValueKind::vector)
        library_bug(text("the LLVM emitter takes a vector, value ", v.id, ", for a scalar\n", print(k)));
    return h.scalar;
}

std::string LlvmEmitter::vector(Value v) {
    const ValueRep h = rep_of(v);
    return vector_of(h, k.type_of(v));
}

std::string LlvmEmitter::vector_of(const ValueRep& h, Scalar t) {
    if (h.kind == ValueKind::vector) return h.vector;
    const std::string type = scalar_type(t);
    if (h.kind == ValueKind::uniform || h.step == 0 || width == 1) return splat(type, h.scalar);
    const std::string base = splat(type, h.scalar);
    return let(text("add ", vector_type(type), " ", base, ", ", lanes(type, h.step)));
}

/// Defines a value by text of its kind: a scalar, lane 0's scalar if it is affine, or a vector.
void LlvmEmitter::define(Value v, const std::string& defined) {
    ValueRep h;
    h.kind = kind_of(v);
    (h.kind == ValueKind::vector ? h.vector : h.scalar) = defined;
    if (h.kind == ValueKind::affine) h.step = *lane_step(v);
    values[v.id] = h;
    has_value[v.id] = true;
    save_if_live_out(v);
}

// ---- masks ----

std::string LlvmEmitter::mask_text(const Mask& m) const { return m.all() ? (width == 1 ? "true" : "splat (i1 true)") : m.text; }

Mask LlvmEmitter::first_items(int64_t count) const {
    std::string text = "<";
    for (int lane = 0; lane < width; ++lane) text += pumice::text(lane ? ", " : "", "i1 ", lane < count ? "true" : "false");
    return {text + ">", int(count)};
}

/// A vector resized from `from` to `to` lanes: truncated, or padded with zeros.
std::string LlvmEmitter::resized(const std::string& scalar, const std::string& vector, int from, int to) {
    std::string indices;
    for (int lane = 0; lane < to; ++lane) indices += text(lane ? ", " : "", "i32 ", std::min(lane, from));
    const std::string type = text("<", from, " x ", scalar, ">");
    return let(text("shufflevector ", type, " ", vector, ", ", type, " zeroinitializer, <", to, " x i32> <", indices, ">"));
}

/// The condition of inactive lanes may be poison. `select` does not propagate it; `and` would.
Mask LlvmEmitter::narrowed(const Mask& m, const std::string& condition) {
    if (m.all()) return {condition};
    const std::string type = vector_type("i1");
    return {let(
        text("select ", type, " ", m.text, ", ", type, " ", condition, ", ", type, width == 1 ? " false" : " zeroinitializer"),
        "m")};
}

Mask LlvmEmitter::united(const Mask& a, const Mask& b) {
    if (a.all() || b.all()) return {};
    return {let(text("or ", vector_type("i1"), " ", a.text, ", ", b.text), "m")};
}

std::string LlvmEmitter::any(const Mask& m) {
    if (m.all()) return "true";
    if (width == 1) return m.text;
    const std::string bits = let(text("bitcast ", vector_type("i1"), " ", m.text, " to i", width));
    return let(text("icmp ne i", width, " ", bits, ", 0"));
}

std::string LlvmEmitter::first_lane(const Mask& m) {
    if (m.all() || width == 1) return "0";
    return first_bit(let(text("bitcast ", vector_type("i1"), " ", m.text, " to i", width)));
}

std::string LlvmEmitter::first_bit(const std::string& bits) {
    const std::string type = text("i", width);
    declare(text("declare ", type, " @llvm.cttz.", type, "(", type, ", i1)"));
    const std::string zeros = let(text("call ", type, " @llvm.cttz.", type, "(", type, " ", bits, ", i1 true)"));
    return width == 32 ? zeros : let(text(width < 32 ? "zext " : "trunc ", type, " ", zeros, " to i32"));
}

Alloca LlvmEmitter::mask_alloca(const char* stem) {
    return {alloca_of(vector_type("i1"), stem), ValueKind::vector, Scalar::boolean, 0};
}

void LlvmEmitter::write_mask(const Alloca& s, const Mask& m) {
    line(text("store ", vector_type("i1"), " ", mask_text(m), ", ptr ", s.name));
}

Mask LlvmEmitter::read_mask(const Alloca& s) { return {let(text("load ", vector_type("i1"), ", ptr ", s.name), "m")}; }

// ---- slots ----

Alloca LlvmEmitter::alloca_for(Value v, const char* stem) {
    Alloca s;
    s.kind = kind_of(v);
    s.type = k.type_of(v);
    if (s.kind == ValueKind::affine) s.step = *lane_step(v);
    s.name = alloca_of(type_of(s.type, s.kind), stem);
    return s;
}

/// Writes a slot. In a slot of vectors, lanes outside `only` keep their value.
void LlvmEmitter::write_rep(const Alloca& s, const ValueRep& now, const Mask& only) {
    const std::string type = type_of(s.type, s.kind);
    if (s.kind != ValueKind::vector && now.kind == ValueKind::vector)
        library_bug("a vector for a slot of one scalar in kernel " + k.name);
    std::string value = s.kind == ValueKind::vector ? vector_of(now, s.type) : now.scalar;
    if (s.kind == ValueKind::vector && !only.all()) {
        const std::string old = let(text("load ", type, ", ptr ", s.name));
        value = let(text("select ", vector_type("i1"), " ", only.text, ", ", type, " ", value, ", ", type, " ", old));
    }
    line(text("store ", type, " ", value, ", ptr ", s.name));
}

void LlvmEmitter::read(Value v, const Alloca& s) { define(v, let(text("load ", type_of(s.type, s.kind), ", ptr ", s.name))); }

void LlvmEmitter::clear(const Alloca& s) {
    const std::string type = type_of(s.type, s.kind);
    line(text("store ", type, " zeroinitializer, ptr ", s.name));
}

}  // namespace pumice::cpu
