// The records that print and require write to the host's ring.
//
// A record takes its room in the ring with one atomicAdd; without room, it is counted as lost (core/host/ring.h). Cost: a failing
// require writes twice only for the first failure of all.
#include "codegen/glsl_body/emit_reports.h"

#include <string>
#include <vector>

#include "core/host/ring.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

namespace {

/// Appends the words of a record's value in the layout of core/host/ring.h.
void append_words(std::vector<std::string>& words, Scalar type, const std::string& value, bool pairs) {
    const std::string in = "(" + value + ")";
    switch (type) {
        case Scalar::i64:
        case Scalar::u64: {
            if (pairs) return words.push_back(in + ".x"), words.push_back(in + ".y");
            const char* unpack = type == Scalar::i64 ? "unpackInt2x32" : "unpackUint2x32";
            for (const char* half : {".x", ".y"}) words.push_back(text("uint(", unpack, in, half, ")"));
            return;
        }
        case Scalar::f64:
            for (const char* half : {".x", ".y"}) words.push_back("unpackDouble2x32" + in + half);
            return;
        case Scalar::f16:
        case Scalar::bf16: words.push_back("floatBitsToUint(float" + in + ")"); return;
        case Scalar::f32: words.push_back("floatBitsToUint" + in); return;
        case Scalar::i8:
        case Scalar::i16: words.push_back("uint(int" + in + ")"); return;
        default: words.push_back("uint" + in); return;
    }
}

/// Allocates a record in the ring: returns the index of its first word, or 0 if there is no room.
constexpr const char* take_room = R"(uint room_for(uint count) {
    uint at = ring[0];
    if (at <= ring[3]) at = atomicAdd(ring[0], count);
    if (at + count <= ring[3]) return 64u + at;
    atomicAdd(ring[1], 1u);
    if (at < ring[3]) ring[64u + at] = 0u;
    return 0u;
}
)";
static_assert(ring::used == 0 && ring::lost == 1 && ring::failed == 2 && ring::capacity == 3 && ring::first_failure == 4 &&
              ring::records == 64);

}  // namespace

void emit_report(const BodyContext& context, ValueEmitter& values, const Inst& i) {
    const Kernel& k = context.k;
    Interface& interface = context.interface;
    BodyText& out = context.out;
    const bool requirement = i.op == Op::require;
    const auto operands = k.operands(i).subspan(requirement);
    std::vector<std::string> words{interface.field(Field::Kind::launch, 0, 0, Scalar::u32), text(i.immediate, "u")};
    for (int axis = 0; axis < 3; ++axis) {
        const int rank = k.rank ? k.rank : 3;  // the names that name_indices gives
        words.push_back(axis < rank ? text("uint(", "ijk"[k.rank ? rank - 1 - axis : axis], ")") : "0u");
    }
    const std::string broken = requirement ? fill("!$0", {values.use(k.operands(i)[0])}).text : "";
    for (const Value v : operands) append_words(words, k.type_of(v), values.use_named(v).text, context.options.pairs);
    if (!out.has_function("room_for")) out.define_function("room_for", take_room);
    const auto statements = [&] {
        const std::string at = out.new_name("at"), room = text("room_for(", words.size(), "u)");
        const auto record = [&](const std::string& place) {
            out.line(text("const uint ", at, " = ", place, ";"));
            out.braced("if (" + at + " != 0u)", out.captured([&] {
                for (size_t w = 0; w < words.size(); ++w) out.line(text("ring[", at, " + ", w, "u] = ", words[w], ";"));
            }));
        };
        if (!requirement) return record(room);
        interface.need("GL_EXT_control_flow_attributes");
        // The first requirement that fails is recorded twice: in the slot for the first failure, and in the ring. A loop writes
        // both, so that the stores are in the code once: some drivers make a loop over the lanes of each store.
        const std::string copy = out.new_name("copy");
        out.braced(text("[[dont_unroll]] for (int ", copy, " = 0; ", copy, " < 2; ++", copy, ")"),
                   out.captured([&] { record(text(copy, " == 0 ? (atomicAdd(ring[2], 1u) == 0u ? 4u : 0u) : ", room)); }));
    };
    if (requirement)
        out.braced("if (" + broken + ")", out.captured(statements));
    else
        statements();
}

}  // namespace pumice::codegen
