#include "core/language/subgroup.h"

namespace pumice::detail {

Val<int> subgroup_index_value(ir::Op which, SourceLocation location) {
    Recorder& r = Recorder::current("an index", location);
    return Val<int>(r.handle(r.at(location).build.index(which)));
}

Handle emit_subgroup(ir::Subgroup what, const Handle* x, const Handle* lane, int word, SourceLocation location) {
    Recorder& r = Recorder::current("a subgroup operation", location);
    ir::Value operands[2];
    size_t count = 0;
    for (const Handle* h : {x, lane})
        if (h) operands[count++] = r.use(*h, location);
    return r.handle(r.at(location).build.subgroup(what, {operands, count}, word));
}

}  // namespace pumice::detail
