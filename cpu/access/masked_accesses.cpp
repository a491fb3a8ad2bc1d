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

/// A masked load or gather of the active lanes, or with a `value` a masked store or scatter.
std::string LlvmEmitter::masked_access(const Inst& i, const Address& a, const std::string& element, const std::string& value) {
    const bool stores = !value.empty(), masked = !running.all();
    if (!is_outlined(i, a)) {
        if (!stores) return masked_read(element, a, mask_text(running));
        masked_write(element, value, a, mask_text(running));
        return "";
    }
    // "@llvm.masked.gather.v16i16.v16p0" becomes "@outlined.masked.gather.v16i16.v16p0.2.all".
    const std::string of = masked_function(element, a, stores);
    const std::string name = text("@outlined", of.substr(of.find('.')), ".", a.align, masked ? "" : ".all");
    const std::string pointers = a.how == Address::How::scattered ? vector_type("ptr") : "ptr", masks = vector_type("i1");
    const std::string whole = vector_type(element), result = stores ? "void" : whole, bits = text("i", width);
    std::string all =
        text("define internal ", result, " ", name, "(", stores ? whole + " %value, " : "", pointers, " %at",
             masked ? text(", ", bits, " %bits") : "", ") noinline nounwind memory(", stores ? "write" : "read", ") {\n");
    if (masked) all += text("  %mask = bitcast ", bits, " %bits to ", masks, "\n");
    const std::string one =
        masked_call(element, {a.how, "%at", a.align}, masked ? "%mask" : mask_text({}), stores ? "%value" : "");
    all += text("  ", stores ? "" : "%loaded = ", one, "\n  ret ", result, stores ? "" : " %loaded", "\n}");
    declare(all);
    const std::string given = masked ? let(text("bitcast ", masks, " ", running.text, " to ", bits)) : "";
    const std::string call = text("call ", result, " ", name, "(", stores ? text(whole, " ", value, ", ") : "", pointers, " ",
                                  a.pointer, masked ? text(", ", bits, " ", given) : "", ")");
    if (!stores) return let(call);
    line(call);
    return "";
}

}  // namespace pumice::cpu
