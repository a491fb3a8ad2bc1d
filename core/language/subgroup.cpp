#include "core/language/subgroup.h"

namespace pumice::detail {

Val<int> subgroup_place(ir::Op which, Place place) {
    Recorder& r = Recorder::current("an index", place);
    return Val<int>(r.handle(r.at(place).build.index(which)));
}

Handle emit_subgroup(ir::Subgroup what, const Handle* x, const Handle* lane, int word, Place place) {
    Recorder& r = Recorder::current("a subgroup operation", place);
    ir::Value operands[2];
    size_t count = 0;
    for (const Handle* h : {x, lane})
        if (h) operands[count++] = r.use(*h, place);
    return r.handle(r.at(place).build.subgroup(what, {operands, count}, word));
}

}  // namespace pumice::detail
