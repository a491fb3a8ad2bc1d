// LLVM text: names, blocks, types, constants, vectors and counted loops.
//
// Why: the back end writes LLVM's textual IR (cpu/native/llvm_versions.cpp adapts it to older versions). This is its lowest
// layer, which all parts of the emitter call.
//
//     splat("float", "%a")    %v1 = insertelement <8 x float> poison, float %a, i64 0
//                             %v2 = shufflevector <8 x float> %v1, <8 x float> poison, <8 x i32> zeroinitializer
//     constant(f32, 1.0)      0x3FF0000000000000                         a float as the double of the same value
//     alloca_of("i32", "x")   %x3 = alloca i32                           in the entry block; mem2reg makes phis of its uses
//
// `let` names a result, `lanes` is <0, s, 2 s, ...>, and slots are allocas. With width 1 a vector is its scalar.
// Cost: linear in the text. Limits: one module, whose names are numbered and so never clash.
// Textbook name: SSA construction, which is left to mem2reg (Cytron et al. 1991).
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "core/ir/evaluate.h"
#include "core/support/error.h"
#include "cpu/packet/llvm_text.h"

namespace pumice::cpu {

using namespace ir;

std::string LlvmText::let(const std::string& instruction, const char* stem) {
    const std::string v = name(stem);
    line(v + " = " + instruction);
    return v;
}

std::string LlvmText::metadata(std::string node) {
    std::string number = text("!", nodes.size());
    if (const size_t at = node.find('$'); at != std::string::npos) {
        node.replace(at, 1, number);
    } else if (const auto same = std::find(nodes.begin(), nodes.end(), node); same != nodes.end()) {
        return text("!", same - nodes.begin());
    }
    nodes.push_back(std::move(node));
    return number;
}

void LlvmText::start(const std::string& l) {
    if (open) jump(l);
    *destination += l + ":\n";
    open = true;
    block_lines = 0;
}

void LlvmText::jump(const std::string& l) {
    line("br label %" + l);
    open = false;
}

void LlvmText::branch(const std::string& condition, const std::string& yes, const std::string& no) {
    line(text("br i1 ", condition, ", label %", yes, ", label %", no));
    open = false;
}

std::string LlvmText::alloca_of(const std::string& type, const char* stem) {
    const std::string v = name(stem);
    allocas += text("  ", v, " = alloca ", type, "\n");
    return v;
}

// ---- types and constants ----

std::string LlvmText::scalar_type(Scalar t) const {
    if (t == Scalar::boolean) return "i1";
    if (t == Scalar::f16) return "half";
    if (t == Scalar::f32) return "float";
    if (t == Scalar::f64) return "double";
    return text("i", 8 * size_of(t));  // bf16, too: LLVM 15 cannot convert its own bfloat on most processors
}

std::string LlvmText::vector_type(const std::string& scalar) const {
    return width == 1 ? scalar : text("<", width, " x ", scalar, ">");
}

std::string LlvmText::intrinsic_suffix(const std::string& scalar, bool vector) const {
    const std::string base = scalar == "float" ? "f32" : scalar == "double" ? "f64" : scalar == "half" ? "f16" : scalar;
    return vector && width > 1 ? text("v", width, base) : base;
}

std::string LlvmText::constant(Scalar t, uint64_t bits) const {
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

std::string LlvmText::splat_constant(Scalar t, uint64_t bits, bool vector) const {
    if (!vector || width == 1) return constant(t, bits);
    if (bits == 0) return "zeroinitializer";
    return text("splat (", scalar_type(t), " ", constant(t, bits), ")");
}

std::string LlvmText::splat(const std::string& type, const std::string& scalar) {
    if (width == 1) return scalar;
    if (scalar[0] != '%') return text("splat (", type, " ", scalar, ")");
    const std::string v = vector_type(type);
    const std::string one = let(text("insertelement ", v, " poison, ", type, " ", scalar, ", i64 0"));
    return let(text("shufflevector ", v, " ", one, ", ", v, " poison, <", width, " x i32> zeroinitializer"));
}

std::string LlvmText::lanes(const std::string& type, int64_t step) const {
    if (width == 1) return "0";
    std::string all = "<";
    const int bits = std::atoi(type.c_str() + 1);
    for (int lane = 0; lane < width; ++lane) {
        const int64_t value = int64_t(uint64_t(step) * uint64_t(lane));
        all += text(lane ? ", " : "", type, " ", int64_t(uint64_t(value) << (64 - bits)) >> (64 - bits));
    }
    return all + ">";
}

std::string LlvmText::extract(const std::string& type, const std::string& vector, const std::string& lane) {
    if (width == 1) return vector;
    return let(text("extractelement ", vector_type(type), " ", vector, ", i32 ", lane));
}

// ---- values ----

// ---- masks ----

std::string LlvmText::first_bit(const std::string& bits) {
    const std::string type = text("i", width);
    declare(text("declare ", type, " @llvm.cttz.", type, "(", type, ", i1)"));
    const std::string zeros = let(text("call ", type, " @llvm.cttz.", type, "(", type, " ", bits, ", i1 true)"));
    return width == 32 ? zeros : let(text(width < 32 ? "zext " : "trunc ", type, " ", zeros, " to i32"));
}

// ---- slots ----

/// `for (n = 0; n < end; ++n)`.
void LlvmText::counted(const char* stem, const std::string& end, const std::function<void(const std::string&)>& body) {
    if (end == "1") return body("0");
    const std::string slot = alloca_of("i32", stem), loop = label("loop"), inside = label("body"), exit = label("exit");
    line(text("store i32 0, ptr ", slot));
    start(loop);
    const std::string n = let(text("load i32, ptr ", slot));
    branch(let(text("icmp slt i32 ", n, ", ", end)), inside, exit);
    start(inside);
    body(n);
    if (open) {
        line(text("store i32 ", let(text("add nsw i32 ", n, ", 1")), ", ptr ", slot));
        repeat(loop);
    }
    start(exit);
}

/// Ends the back edge's block of a loop over packets, of which LLVM emits `times` in a row.
void LlvmText::repeat(const std::string& loop, int times) {
    if (!unrolled && times == 1) return jump(loop);
    const std::string how = unrolled ? unrolled_in_full : text("distinct !{$, !{!\"llvm.loop.unroll.count\", i32 ", times, "}}");
    line(text("br label %", loop, ", !llvm.loop ", metadata(how)));
    open = false;
}

}  // namespace pumice::cpu
