#include "core/language/value.h"

#include "core/ir/evaluate.h"
#include "core/ir/structured.h"

namespace pumice::detail {

Handle emit_op(ir::Op op, std::initializer_list<Handle> operands, SourceLocation location) {
    Recorder& r = Recorder::current("an operation on device values", location);
    ir::Value values[3];
    size_t n = 0;
    for (const Handle& h : operands) values[n++] = r.use(h, location);
    return r.handle(r.at(location).build.op(op, std::span<const ir::Value>(values, n)));
}

Handle emit_cast(Scalar to, Handle x, SourceLocation location) {
    Recorder& r = Recorder::current("cast", location);
    const ir::Value v = r.use(x, location);
    return r.handle(r.at(location).build.cast(to, v));
}

Handle emit_host_cast(Scalar to, Scalar from, uint64_t bits, SourceLocation location) {
    Recorder& r = Recorder::current("cast", location);
    return r.handle(r.at(location).build.constant(to, cast_bits(from, to, bits)));
}

namespace {

/// Emits the access for a position in [from, to) as a binary search.
ir::Value choose(Recorder& r, const ElementAddress& at, ir::Value position, size_t from, size_t to,
                 const std::function<ir::Value(uint32_t)>& access) {
    if (to - from == 1) return access(at.choice->first[from] + at.leaf);
    const size_t middle = from + (to - from) / 2;
    const ir::Value before = r.build.op(ir::Op::lt, {position, r.build.constant_int(Scalar::i32, int64_t(middle))});
    return emit_if(
        r.build, r.kernel, before, [&] { return choose(r, at, position, from, middle, access); },
        [&] { return choose(r, at, position, middle, to, access); });
}

bool among_variables(const ElementAddress& at) { return at.choice && !at.choice->variables.empty(); }

}  // namespace

ir::Value access_element(Recorder& r, const ElementAddress& at, const std::function<ir::Value(uint32_t)>& access) {
    if (!at.choice) return access(at.leaf);
    const ir::Value position = r.use(at.choice->position, at.location);
    uint64_t known = 0;
    if (r.kernel.constant(position, known)) return access(at.choice->first[size_t(known)] + at.leaf);
    return choose(r, at, position, 0, at.choice->first.size(), access);
}

ir::Value load_element(Recorder& r, const ElementAddress& from) {
    r.at(from.location);
    return access_element(r, from, [&](uint32_t n) {
        return among_variables(from) ? r.build.get(r.use(from.choice->variables[n], from.location))
                                     : r.build.load(from.memory, n, from.index_span());
    });
}

void store_element(Recorder& r, const ElementAddress& to, ir::Value value) {
    access_element(r, to, [&](uint32_t n) {
        if (among_variables(to))
            r.build.set(r.use(to.choice->variables[n], to.location), value);
        else
            r.build.store(to.memory, n, to.index_span(), value);
        return ir::Value();
    });
}

}  // namespace pumice::detail
