// Outlining of accesses that LLVM takes apart: after the first ones, each is a call of a function that has one access.
//
// LLVM has no instruction for scatters of 8- and 16-bit elements, for example, and makes a store of each lane, with a test of the
// mask before it. In its code generation the time for these stores grows with the square of their number.
//
//     store arg1[%1], %2 : i16       first ones:    call void @llvm.masked.scatter.v16i16.v16p0(%v2, %p1, i32 2, %mask)
//     ... 200 of them                later ones:    call void @outlined.masked.scatter.v16i16.v16p0.2(%v2, %p1, %bits)
//
// The functions that the module calls are definitions among its declarations; the mask is an integer with a bit for each lane.
// Cost: a call, around which live vectors are saved; 16 stores take longer.
// Limits: kernels with few such accesses have none; nor have kernels of which all functions must be inlined (CodeUse::function).
// Textbook name: function outlining (LLVM: IROutliner, MachineOutliner).
#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"
#include "cpu/plan/tuning.h"

namespace pumice::cpu {

using namespace ir;

/// True if LLVM makes scalar accesses of an access under a mask or of a gather or scatter. LLVM uses the gathers of AVX2 only for
/// processors on which they are fast.
bool LlvmEmitter::is_scalarised(const Inst& i, const Address& a) const {
    const bool whole_words = size_of(i.type) >= 4;
    if (target.isa == Isa::avx512) return a.how == Address::How::scattered && !whole_words;
    return target.isa != Isa::avx2 || a.how == Address::How::scattered || !whole_words;
}

/// True if the access, which is about to be emitted, has to be a call. Counts the lanes of scalarised accesses.
bool LlvmEmitter::is_outlined(const Inst& i, const Address& a) {
    if (width == 1 || target.use == CodeUse::function || !is_scalarised(i, a)) return false;
    scalarised_lanes += width;
    return scalarised_lanes > tuning::most_scalarised_lanes;
}

/// A masked load or gather of LLVM (`function`), or with a `value` a masked store or scatter, as LLVM text.
std::string LlvmEmitter::masked_access(const Inst& i, const Address& a, const std::string& function, const std::string& vectors,
                                       const std::string& value) {
    const bool stores = !value.empty(), outlined = is_outlined(i, a), masked = !running.all();
    const std::string pointers = a.how == Address::How::scattered ? vector_type("ptr") : "ptr", masks = vector_type("i1");
    const std::string result = stores ? "void" : vectors;
    declare(stores ? text("declare void ", function, "(", vectors, ", ", pointers, ", i32, ", masks, ")")
                   : text("declare ", vectors, " ", function, "(", pointers, ", i32, ", masks, ", ", vectors, ")"));
    const auto call = [&](const std::string& v, const std::string& p, const std::string& mask) {
        return text("call ", result, " ", function, "(", stores ? text(vectors, " ", v, ", ") : "", pointers, " ", p, ", i32 ",
                    a.align, ", ", masks, " ", mask, stores ? "" : text(", ", vectors, " zeroinitializer"), ")");
    };
    const auto emit = [&](const std::string& instruction) {
        if (!stores) return let(instruction);
        line(instruction);
        return std::string();
    };
    if (!outlined) return emit(call(value, a.pointer, mask_text(running)));

    // "@llvm.masked.gather.v16i16.v16p0" becomes "@outlined.masked.gather.v16i16.v16p0.2.all".
    const std::string bits = text("i", width),
                      name = text("@outlined", function.substr(function.find('.')), ".", a.align, masked ? "" : ".all");
    std::string all =
        text("define internal ", result, " ", name, "(", stores ? vectors + " %value, " : "", pointers, " %at",
             masked ? text(", ", bits, " %bits") : "", ") noinline nounwind memory(", stores ? "write" : "read", ") {\n");
    if (masked) all += text("  %mask = bitcast ", bits, " %bits to ", masks, "\n");
    all += text("  ", stores ? "" : "%loaded = ", call("%value", "%at", masked ? "%mask" : mask_text({})), "\n  ret ", result,
                stores ? "" : " %loaded", "\n}");
    declare(all);
    const std::string given = masked ? let(text("bitcast ", masks, " ", running.text, " to ", bits)) : "";
    return emit(text("call ", result, " ", name, "(", stores ? text(vectors, " ", value, ", ") : "", pointers, " ", a.pointer,
                     masked ? text(", ", bits, " ", given) : "", ")"));
}

}  // namespace pumice::cpu
