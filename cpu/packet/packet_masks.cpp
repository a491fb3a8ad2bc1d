// The masks of a packet: which items are active, as <width x i1>.
//
// Why: under divergent control flow, instructions with an effect must touch active lanes alone.
//
//     Mask{}                  all items are active: no instruction needs a mask
//     narrowed(m, c)          select <8 x i1> m, c, zeroinitializer     inactive lanes of c may be poison, which `and` would keep
//     any(m)                  bitcast to i8, icmp ne 0
//     first_lane(m)           llvm.cttz of the bits
//
// Cost: one to three instructions each. Limits: with width 1 a mask is an i1, and with all items active it is no text at all.
// Textbook name: predication, execution masks (Allen, Kennedy, Porterfield and Warren 1983).
#include "core/support/error.h"
#include "cpu/packet/packet.h"

namespace pumice::cpu {

using namespace ir;

std::string Packet::mask_text(const Mask& m) const { return m.all() ? (width == 1 ? "true" : "splat (i1 true)") : m.text; }

Mask Packet::first_items(int64_t count) const {
    std::string text = "<";
    for (int lane = 0; lane < width; ++lane) text += pumice::text(lane ? ", " : "", "i1 ", lane < count ? "true" : "false");
    return {text + ">", int(count)};
}

/// The condition of inactive lanes may be poison. `select` does not propagate it; `and` would.
Mask Packet::narrowed(const Mask& m, const std::string& condition) {
    if (m.all()) return {condition};
    const std::string type = out.vector_type("i1");
    return {out.let(
        text("select ", type, " ", m.text, ", ", type, " ", condition, ", ", type, width == 1 ? " false" : " zeroinitializer"),
        "m")};
}

Mask Packet::united(const Mask& a, const Mask& b) {
    if (a.all() || b.all()) return {};
    return {out.let(text("or ", out.vector_type("i1"), " ", a.text, ", ", b.text), "m")};
}

std::string Packet::any(const Mask& m) {
    if (m.all()) return "true";
    if (width == 1) return m.text;
    const std::string bits = out.let(text("bitcast ", out.vector_type("i1"), " ", m.text, " to i", width));
    return out.let(text("icmp ne i", width, " ", bits, ", 0"));
}

std::string Packet::first_lane(const Mask& m) {
    if (m.all() || width == 1) return "0";
    return out.first_bit(out.let(text("bitcast ", out.vector_type("i1"), " ", m.text, " to i", width)));
}

Alloca Packet::mask_alloca(const char* stem) {
    return {out.alloca_of(out.vector_type("i1"), stem), ValueKind::vector, Scalar::boolean, 0};
}

void Packet::write_mask(const Alloca& s, const Mask& m) {
    out.line(text("store ", out.vector_type("i1"), " ", mask_text(m), ", ptr ", s.name));
}

Mask Packet::read_mask(const Alloca& s) { return {out.let(text("load ", out.vector_type("i1"), ", ptr ", s.name), "m")}; }

}  // namespace pumice::cpu
