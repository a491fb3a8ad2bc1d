// Look-ups in registers: each lane of a packet takes an element of a window of one or two vectors, by an index of its own.
//
// Why: a gather takes an access for each lane. If all elements that a packet may need lie in one or two vectors, these are loaded
// whole and permuted by the lanes' indices.
//
//     %v = gather (%base + <8 x i32> %j), %j in 0 to 15        2 x load <8 x i32>; permute both by %j; choose by %j > 7
//
// AVX-512 permutes by one instruction, also two vectors. AVX2 permutes the words of one vector: two vectors are both permuted and
// then blended, and an element of 8 bytes is two words.
// Cost: one to five instructions for each vector of the result. Limits: elements of 4 and 8 bytes; packets of whole registers;
// AVX2 and AVX-512, since SSE can permute only by constants, or bytes.
// Textbook name: table look-up by permutation (VPERMD, VPERMT2D; vec_perm of AltiVec).
#include "cpu/packet/register_lookups.h"
#include "core/support/error.h"
#include "cpu/packet/shuffles.h"

namespace pumice::cpu {

namespace {
constexpr int word = 4;  ///< bytes
}

RegisterLookups::Register RegisterLookups::register_for(int bytes) const {
    Register r{target.isa == Isa::avx512 ? 64 : 32, 0, 0, "i32", ""};
    r.lanes = r.bytes / bytes;
    if (target.isa == Isa::avx512 && bytes > word) r.unit = "i64";
    r.units = r.unit == "i64" ? r.lanes : r.bytes / word;
    r.vector = text("<", r.units, " x ", r.unit, ">");
    return r;
}

/// The elements of the smallest window of one or two registers that has room for so many elements of `bytes`. 0 if there is none,
/// or if a vector of the packet is not made of whole registers.
int RegisterLookups::window_for(int bytes, int64_t elements) const {
    if ((target.isa != Isa::avx512 && target.isa != Isa::avx2) || (bytes != word && bytes != 2 * word)) return 0;
    const int lanes = register_for(bytes).lanes;
    if (width % lanes != 0 || elements > 2 * lanes) return 0;
    return elements > lanes ? 2 * lanes : lanes;
}

/// `size` lanes of a vector of `count`, from `first` on.
std::string RegisterLookups::part(const std::string& type, int count, const std::string& vector, int first, int size) {
    if (count == size) return vector;
    return emit.shuffles.shuffled(type, count, vector, "poison", size, [&](int lane) { return first + lane; });
}

/// The units `at` of a register, or of two.
std::string RegisterLookups::moved(const Register& r, const std::string& low, const std::string& high, const std::string& at) {
    const auto call = [&](const std::string& function, std::initializer_list<const std::string*> arguments) {
        std::string types, all;
        for (const std::string* a : arguments) {
            types += (types.empty() ? "" : ", ") + r.vector;
            all += text(all.empty() ? "" : ", ", r.vector, " ", *a);
        }
        out.declare(text("declare ", r.vector, " ", function, "(", types, ")"));
        return out.let(text("call ", r.vector, " ", function, "(", all, ")"));
    };
    const bool wide = r.unit == "i64";
    if (target.isa == Isa::avx2) return call("@llvm.x86.avx2.permd", {&low, &at});
    if (high.empty()) return call(wide ? "@llvm.x86.avx512.permvar.di.512" : "@llvm.x86.avx512.permvar.si.512", {&low, &at});
    return call(wide ? "@llvm.x86.avx512.vpermi2var.q.512" : "@llvm.x86.avx512.vpermi2var.d.512", {&low, &at, &high});
}

/// A vector of elements of a type, of `bytes` each: lane l is element `of`[l] of the window, which has so many elements. `of` has
/// an i32 for each lane of the packet; a lane whose index lies outside of the window takes any of its elements.
std::string RegisterLookups::looked_up(const std::string& type, int bytes, int elements, const std::string& window,
                                       const std::string& of) {
    const Register r = register_for(bytes);
    const int all = elements / r.lanes * r.units;
    const bool two = elements > r.lanes, blended = two && target.isa == Isa::avx2, in_words = r.units > r.lanes;
    const std::string units = out.let(text("bitcast <", elements, " x ", type, "> ", window, " to <", all, " x ", r.unit, ">"));
    const std::string low = part(r.unit, all, units, 0, r.units), high = two ? part(r.unit, all, units, r.units, r.units) : "";
    const std::string lanes_type = out.vector_type("i32");
    std::string twice, next, upper;
    if (in_words) {
        twice = out.let(text("shl ", lanes_type, " ", of, ", ", out.splat("i32", "1")));
        next = out.let(text("or ", lanes_type, " ", twice, ", ", out.splat("i32", "1")));
    }
    if (blended) upper = out.let(text("icmp sgt ", lanes_type, " ", of, ", ", out.splat("i32", std::to_string(r.lanes - 1))));
    std::vector<std::string> found;
    const std::string whole = text("<", r.lanes, " x ", type, ">");
    for (int first = 0; first < width; first += r.lanes) {
        std::string at = in_words ? emit.shuffles.shuffled("i32", width, twice, next, r.units,
                                                           [&](int unit) { return first + unit / 2 + unit % 2 * width; })
                                  : part("i32", width, of, first, r.lanes);
        if (r.unit == "i64") at = out.let(text("zext <", r.lanes, " x i32> ", at, " to ", r.vector));
        const auto taken = [&](const std::string& from, const std::string& with) {
            return out.let(text("bitcast ", r.vector, " ", moved(r, from, with, at), " to ", whole));
        };
        std::string one = taken(low, blended ? "" : high);
        if (blended) {
            const std::string other = taken(high, ""), choice = part("i1", width, upper, first, r.lanes);
            one = out.let(text("select <", r.lanes, " x i1> ", choice, ", ", whole, " ", other, ", ", whole, " ", one));
        }
        found.push_back(one);
    }
    return emit.shuffles.concatenated(type, r.lanes, found);
}

}  // namespace pumice::cpu
