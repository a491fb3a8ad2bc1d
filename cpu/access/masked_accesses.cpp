// Accesses under masks: masked loads and stores, gathers and scatters. After the first ones that LLVM takes apart, each is a call
// of a function that has one access.
//
// LLVM has no instruction for scatters of 8- and 16-bit elements, for example, and makes a store of each lane, with a test of the
// mask before it. In its code generation the time for these stores grows with the square of their number.
//
//     store arg1[%1], %2 : i16       first ones:    call void @llvm.masked.scatter.v16i16.v16p0(%v2, %p1, i32 2, %mask)
//     ... 200 of them                later ones:    call void @outlined.masked.scatter.v16i16.v16p0.2(%v2, %p1, %bits)
//
// The functions that the module calls are definitions among its declarations; the mask is an integer with a bit for each lane.
// Cost: a call, around which live vectors are saved; 16 stores take longer.
//
// Gathers under a mask that LLVM takes apart load from all lanes (branchless_gathers); an inactive lane loads a zero instead:
//
//     call @llvm.masked.gather.v8i8.v8p0(%p, i32 1, %mask)    =>   %at = select <8 x i1> %mask, <8 x ptr> %p, <8 x ptr> %nowhere
//     a test and a branch for each lane                            call @llvm.masked.gather.v8i8.v8p0(%at, i32 1, all)
//
// Gathers in complete packets are taken apart here if LLVM has no fast gather for the processor (scalarised_gathers): all
// processors before AVX-512 but Intel's since Skylake. LLVM would compute a vector of 64-bit addresses and extract these; a
// scalar load extends, scales and adds its own index. Indices that come from adjacent elements are loaded again, as scalars:
//
//     %j = load <8 x i32>, ptr %row                             %j0 = load i32, ptr %row; %p0 = getelementptr ptr %x, i64 %j0
//     gather <8 x float> (%x + %j)                         =>   %x0 = load float, ptr %p0
//                                                               ... and 7 more of each, and insertions
//
// Gathers of elements of one or two bytes, which no processor has, load the aligned words of four bytes around them where gathers
// are fast (word_gathers). Such a word lies in the page of its element, so the load cannot fault:
//
//     gather <16 x i8> (%p)     =>     %word = gather <16 x i32> (%p & ~3);  %x = trunc (%word >> 8 * (%p & 3))
//
// Limits: kernels with few such accesses have no calls; nor have kernels of which all functions must be inlined
// (CodeUse::function).
// Textbook name: function outlining (LLVM: IROutliner, MachineOutliner); if-conversion of loads to a safe address; scalarisation
// of gathers (LLVM: ScalarizeMaskedMemIntrin, VectorCombine).
#include "cpu/access/masked_accesses.h"

#include <algorithm>

#include "core/analysis/uniformity.h"
#include "core/support/error.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/plan/tuning.h"

namespace pumice::cpu {

using namespace ir;

/// True if LLVM makes scalar accesses of an access under a mask or of a gather or scatter. LLVM uses the gathers of AVX2 only for
/// processors on which they are fast.
bool MaskedAccesses::is_scalarised(const Inst& i, const Address& a) const {
    const bool whole_words = size_of(i.type) >= 4;
    if (target.isa == Isa::avx512) return a.how == Address::How::scattered && !whole_words;
    return target.isa != Isa::avx2 || a.how == Address::How::scattered || !whole_words;
}

/// True if the access, which is about to be emitted, has to be a call. Counts the lanes of scalarised accesses.
bool MaskedAccesses::is_outlined(const Inst& i, const Address& a) {
    if (width == 1 || target.use == CodeUse::function || !is_scalarised(i, a)) return false;
    scalarised_lanes += width;
    return scalarised_lanes > tuning::most_scalarised_lanes;
}

/// A masked load or gather of the active lanes, or with a `value` a masked store or scatter.
std::string MaskedAccesses::masked_access(const Inst& i, const Address& a, const std::string& element, const std::string& value) {
    const bool stores = !value.empty(), masked = !packet.running.all();
    if (!is_outlined(i, a)) {
        if (!stores && masked && loads_without_branches(i, a))
            return masked_read(element, {a.how, where_active(a), a.align}, packet.mask_text({}));
        if (!stores) return masked_read(element, a, packet.mask_text(packet.running));
        masked_write(element, value, a, packet.mask_text(packet.running));
        return "";
    }
    // "@llvm.masked.gather.v16i16.v16p0" becomes "@outlined.masked.gather.v16i16.v16p0.2.all".
    const std::string of = masked_function(element, a, stores);
    const std::string name = text("@outlined", of.substr(of.find('.')), ".", a.align, masked ? "" : ".all");
    const std::string pointers = a.how == Address::How::scattered ? out.vector_type("ptr") : "ptr", masks = out.vector_type("i1");
    const std::string whole = out.vector_type(element), result = stores ? "void" : whole, bits = text("i", width);
    std::string all =
        text("define internal ", result, " ", name, "(", stores ? whole + " %value, " : "", pointers, " %at",
             masked ? text(", ", bits, " %bits") : "", ") noinline nounwind memory(", stores ? "write" : "read", ") {\n");
    if (masked) all += text("  %mask = bitcast ", bits, " %bits to ", masks, "\n");
    const std::string one =
        masked_call(element, {a.how, "%at", a.align}, masked ? "%mask" : packet.mask_text({}), stores ? "%value" : "");
    all += text("  ", stores ? "" : "%loaded = ", one, "\n  ret ", result, stores ? "" : " %loaded", "\n}");
    out.declare(all);
    const std::string given = masked ? out.let(text("bitcast ", masks, " ", packet.running.text, " to ", bits)) : "";
    const std::string call = text("call ", result, " ", name, "(", stores ? text(whole, " ", value, ", ") : "", pointers, " ",
                                  a.pointer, masked ? text(", ", bits, " ", given) : "", ")");
    if (!stores) return out.let(call);
    out.line(call);
    return "";
}

/// True for a gather under a mask that LLVM takes apart. LLVM would test the mask before the load of each lane: lanes that leave
/// a loop one by one make these branches unpredictable, and each load would wait for the last one's insertion.
bool MaskedAccesses::loads_without_branches(const Inst& i, const Address& a) const {
    return width > 1 && a.how == Address::How::scattered && is_scalarised(i, a) && target.rules.has(Rule::branchless_gathers);
}

/// True if the gather, which is about to be emitted at the addresses `a`, is a scalar load for each lane.
bool MaskedAccesses::scalarises(const Inst& i, const Address& a) {
    const bool may = width > 1 && a.how == Address::How::scattered && packet.running.all() &&
                     k[i.memory].kind != MemoryKind::private_ && target.isa != Isa::none && target.isa != Isa::avx512 &&
                     !target.fast_gathers && target.rules.has(Rule::scalarised_gathers);
    return may && !is_outlined(i, a);
}

/// True for a gather of elements of one or two bytes that loads the words around them. Not of memory that the items have written
/// shortly before: a load of a word waits for a store into it.
bool MaskedAccesses::gathers_words(const Inst& i, const Address& a) const {
    return width > 1 && a.how == Address::How::scattered && size_of(i.type) < 4 && k[i.memory].kind == MemoryKind::array &&
           target.fast_gathers && target.rules.has(Rule::word_gathers);
}

/// The elements of the active lanes, as integers.
std::string MaskedAccesses::gathered_words(const Inst& i, const Address& a) {
    const std::string pointers = out.vector_type("ptr"), addresses = out.vector_type("i64"), words = out.vector_type("i32"),
                      given = out.let(text("ptrtoint ", pointers, " ", a.pointer, " to ", addresses)),
                      aligned = out.let(text("and ", addresses, " ", given, ", ", out.splat("i64", "-4"))),
                      at = out.let(text("inttoptr ", addresses, " ", aligned, " to ", pointers)),
                      loaded = masked_read("i32", {a.how, at, 4}, packet.mask_text(packet.running)),
                      low = emit.casts.convert("trunc", addresses, given, words),
                      byte = out.let(text("and ", words, " ", low, ", ", out.splat("i32", "3"))),
                      bits = out.let(text("shl ", words, " ", byte, ", ", out.splat("i32", "3"))),
                      shifted = out.let(text("lshr ", words, " ", loaded, ", ", bits));
    return emit.casts.convert("trunc", words, shifted, out.vector_type(text("i", 8 * size_of(i.type))));
}

/// The address of the adjacent elements from which all lanes have loaded their index; "" if there is none, or if something
/// between that load and the gather may write memory: arrays may overlap.
std::string MaskedAccesses::index_row(InstId gather) const {
    const Value index = indices_of(k, k[gather])[0];
    const InstId source = k[index].inst;
    if (source.id == none || k[source].op != Op::load || size_of(k.type_of(index)) != 4) return "";
    const auto& block = k[packet.uniformity.structure().block_of(index)].insts;
    const auto from_load = std::ranges::find(block, source), to_gather = std::find(from_load, block.end(), gather);
    const auto changes = [&](InstId i) { return writes_memory(k[i].op) || !(is_pure(k[i].op) || k[i].op == Op::load); };
    if (to_gather == block.end() || std::any_of(from_load, to_gather, changes)) return "";
    const Inst& loaded = k[source];
    const Memory& from = k[loaded.memory];
    if (from.kind != MemoryKind::array || from.element.leaves.size() != 1) return "";
    if (!emit.addresses.lies_in_row(loaded)) return "";
    const Address a = emit.addresses.access(loaded);
    return a.how == Address::How::contiguous ? a.pointer : "";
}

/// The elements of all lanes as one vector.
std::string MaskedAccesses::load_by_lanes(InstId id) {
    const Inst& i = k[id];
    const bool wide = k[i.memory].kind == MemoryKind::array && variant.wide_offsets;
    const std::string t = wide ? "i64" : "i32", scalar = out.memory_type(i.type), whole = out.vector_type(scalar);
    bool contiguous = false;
    int64_t more = 0;
    const ValueRep index = emit.addresses.offset(i, wide, contiguous, more);
    const std::string vector = packet.vector_of(index, wide ? Scalar::i64 : Scalar::i32);
    const std::string row = indices_of(k, i).size() == 1 && !wide && more == 0 ? index_row(id) : "";
    std::string all = "poison";
    for (int lane = 0; lane < width; ++lane) {
        std::string at = !row.empty()
                             ? out.let(text("load i32, ptr ", out.let(text("getelementptr i32, ptr ", row, ", i64 ", lane), "p")))
                             : out.extract(t, vector, std::to_string(lane));
        // A valid index is not negative, but one from which a constant was split off may be.
        const bool extends = !wide && more == 0;
        if (extends) at = out.let(text("zext i32 ", at, " to i64"));
        const std::string pointer = emit.addresses.pointer_to(i, wide || extends ? "i64" : "i32", at, more);
        const std::string one = out.let(text("load ", scalar, ", ptr ", pointer, ", align ", emit.addresses.alignment_of(i)));
        all = out.let(text("insertelement ", whole, " ", all, ", ", scalar, " ", one, ", i64 ", lane));
    }
    return all;
}

/// The addresses of the active lanes; in the others that of a zero in the function's frame.
std::string MaskedAccesses::where_active(const Address& a) {
    const std::string pointers = out.vector_type("ptr");
    if (nowhere.empty()) {
        nowhere = out.alloca_of("i64", "nowhere");
        out.entry += text("  store i64 0, ptr ", nowhere, "\n");
    }
    return out.let(text("select ", out.vector_type("i1"), " ", packet.running.text, ", ", pointers, " ", a.pointer, ", ",
                        pointers, " ", out.splat("ptr", nowhere)));
}

/// LLVM's intrinsic for an access under a mask of such elements.
std::string MaskedAccesses::masked_function(const std::string& element, const Address& a, bool stores) const {
    const bool scattered = a.how == Address::How::scattered;
    const char* const kind = scattered ? (stores ? "scatter." : "gather.") : (stores ? "store." : "load.");
    return text("@llvm.masked.", kind, out.intrinsic_suffix(element, true), scattered ? text(".v", width, "p0") : ".p0");
}

/// The text of its call, which loads 0 in the lanes without a bit of the mask. With a `value` it stores that.
std::string MaskedAccesses::masked_call(const std::string& element, const Address& a, const std::string& mask,
                                        const std::string& value) {
    const bool stores = !value.empty();
    const std::string whole = out.vector_type(element), bits = out.vector_type("i1"),
                      function = masked_function(element, a, stores);
    const std::string pointers = a.how == Address::How::scattered ? out.vector_type("ptr") : "ptr",
                      result = stores ? "void" : whole;
    const std::string first = stores ? whole + ", " : "", last = stores ? "" : ", " + whole;
    out.declare(text("declare ", result, " ", function, "(", first, pointers, ", i32, ", bits, last, ")"));
    return text("call ", result, " ", function, "(", stores ? text(whole, " ", value, ", ") : "", pointers, " ", a.pointer,
                ", i32 ", a.align, ", ", bits, " ", mask, stores ? "" : last + " zeroinitializer", ")");
}

/// A load under a mask, or by a gather.
std::string MaskedAccesses::masked_load(const Inst& i, const Address& a) {
    const std::string scalar = out.memory_type(i.type);
    // Halves as integers: where LLVM 15 has no masked load of them, it makes a broadcast that it cannot select.
    const std::string element = i.type == Scalar::f16 ? "i16" : scalar;
    const std::string loaded = gathers_words(i, a) ? gathered_words(i, a) : masked_access(i, a, element);
    return emit.casts.convert("bitcast", out.vector_type(element), loaded, out.vector_type(scalar));
}

/// Loads an element in each lane of a mask, and 0 in the others.
std::string MaskedAccesses::masked_read(const std::string& element, const Address& a, const std::string& mask) {
    return out.let(masked_call(element, a, mask));
}

/// Stores the element of each lane of a mask.
void MaskedAccesses::masked_write(const std::string& element, const std::string& value, const Address& a,
                                  const std::string& mask) {
    out.line(masked_call(element, a, mask, value));
}

void MaskedAccesses::masked_store(const Inst& i, const std::string& value, const Address& a) {
    masked_access(i, a, out.memory_type(i.type), value);
}

}  // namespace pumice::cpu
