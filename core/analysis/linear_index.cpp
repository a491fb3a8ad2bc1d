#include "core/analysis/linear_index.h"

#include <algorithm>

#include "core/analysis/loop_info.h"

namespace pumice::ir {
namespace {

bool add(Coefficient& to, Coefficient other, int64_t sign) {
    if (other.zero()) return true;
    if (!to.zero() && to.times != other.times) return false;
    to = {wrapping_add(to.factor, wrapping_mul(sign, other.factor)), other.times};
    if (to.zero()) to.times = {};
    return true;
}

template <class F> void each_coefficient(AffineForm& f, F&& change) {
    for (Coefficient& c : f.local) change(c);
    for (Coefficient& c : f.global) change(c);
}

/// Limits the form to hold modulo 2^bits.
void limit(AffineForm& f, int bits) {
    f.bits = std::min(f.bits, bits);
    if (f.bits == 64) return;
    f.offset = wrapped(f.offset, f.bits);
    each_coefficient(f, [&](Coefficient& c) {
        c.factor = wrapped(c.factor, f.bits);
        if (c.zero()) c.times = {};
    });
}

/// True if the form is a constant.
bool is_constant(const AffineForm& f) { return f.uniform() && !f.composed && !f.base; }

void compose(AffineForm& f) {
    f.composed = true;
    f.base = {};
    f.offset = 0;
}

}  // namespace

bool AffineForm::uniform() const {
    const auto zero = [](const Coefficient& c) { return c.zero(); };
    return std::ranges::all_of(local, zero) && std::ranges::all_of(global, zero);
}

std::optional<int64_t> AffineForm::step(int modulo, size_t axis) const {
    if (!known || bits < modulo || !local[axis].constant() || !global[axis].constant()) return std::nullopt;
    return wrapped(wrapping_add(local[axis].factor, global[axis].factor), modulo);
}

/// Optimistic fixpoint: a carried value has the form of its first source until another source contradicts.
LinearIndex::LinearIndex(const Kernel& kernel, const Uniformity& scopes)
    : k(kernel), uniformity(scopes), forms(kernel.values.size()), states(kernel.values.size()) {
    do {
        changed = false;
        walk(BlockId{0});
    } while (changed);
    for (size_t v = 0; v < forms.size(); ++v)
        if (states[v] != State::affine) forms[v] = {};
}

void LinearIndex::walk(BlockId block) {
    for (const InstId i : k[block].insts) visit(i);
}

void LinearIndex::update(Value v, AffineForm f) {
    if (states[v.id] == State::other) return;
    // A form only becomes weaker, so that the rounds end: fewer bits, then composed, then unknown.
    const bool before = states[v.id] == State::affine;
    if (before && f.known) limit(f, forms[v.id].bits), f.exact = f.exact && forms[v.id].exact;
    if (before && forms[v.id] == f) return;
    const bool again = before && forms[v.id].composed && !f.composed;
    states[v.id] = f.known && !again ? State::affine : State::other;
    forms[v.id] = f.known && !again ? f : AffineForm{};
    changed = true;
}

void LinearIndex::visit(InstId id) {
    const Inst& i = k[id];
    if (is_control(i.op)) {
        columns(id);
        for (const BlockId b : i.owned()) walk(b);
        columns(id);
        return;
    }
    if (i.result_count == 0 || !is_int(i.type)) return;
    for (const Value v : k.operands(i))
        if (is_int(k.type_of(v)) && states[v.id] == State::unset) return;
    update(k.result(i), form_of(i));
}

AffineForm LinearIndex::remainder(Value v) const {
    AffineForm f;
    f.known = uniformity.of(v) < Scope::item;
    f.rest = uniformity.of(v);
    f.base = v;
    return f;
}

AffineForm LinearIndex::form_of(const Inst& i) const {
    const auto v = k.operands(i);
    const Value result = k.result(i);
    const auto operand = [&](size_t n) -> const AffineForm& { return forms[v[n].id]; };
    AffineForm f;
    uint64_t bits = 0;
    f.known = true;
    switch (i.op) {
        case Op::constant: f.offset = int64_t(wide_integer(i.type, i.immediate)); return f;
        case Op::local_index: f.local[i.immediate].factor = 1; return f;
        case Op::global_index: f.global[i.immediate].factor = 1; return f;
        case Op::add: f = sum(operand(0), operand(1), 1); break;
        case Op::sub: f = sum(operand(0), operand(1), -1); break;
        case Op::mul: f = product(operand(0), operand(1)); break;
        case Op::neg: f = sum(f, operand(0), -1); break;
        case Op::shl:
            f.known = k.constant(v[1], bits);
            f.offset = int64_t(uint64_t(1) << (bits & uint64_t(bits_of(i.type) - 1)));
            f = f.known ? product(operand(0), f) : AffineForm{};
            break;
        case Op::cast: f = converted(k.type_of(v[0]), operand(0), i.type); break;
        case Op::rem:
        case Op::and_:
        case Op::or_:
        case Op::xor_: f = in_packet(i); break;
        case Op::bitcast: f = is_int(k.type_of(v[0])) ? operand(0) : AffineForm{}; break;
        default: f = {}; break;
    }
    if (f.known && i.op != Op::cast) limit(f, bits_of(i.type));
    f.exact = f.exact && f.bits >= bits_of(i.type);
    // A value that depends on no index becomes the base itself.
    const bool plain = !f.known || (f.uniform() && !is_constant(f));
    return plain ? remainder(result) : f;
}

/// The form of a remainder or bit operation that keeps the step of its operand within a packet: what it changes is uniform there.
/// The operand depends on axis 0 alone, since the items of other packets differ by other amounts.
AffineForm LinearIndex::in_packet(const Inst& i) const {
    AffineForm f = forms[k.operands(i)[0].id];
    const auto zero = [&](size_t axis) { return f.local[axis].zero() && f.global[axis].zero(); };
    if (!f.known || !zero(1) || !zero(2) || f.rest > Scope::group || !uniformity.keeps_step(i)) return {};
    f.rest = Scope::subgroup;
    compose(f);
    return f;
}

/// The form of a cast between integer types: unchanged if `to` holds all values of `from`, else limited to the bits of `to`.
AffineForm LinearIndex::converted(Scalar from, AffineForm f, Scalar to) const {
    if (!is_int(from) || (f.uniform() && !is_constant(f))) return {};
    // All coefficients have cancelled, so the value is a constant of its type, and holds in 64 bits.
    if (f.known && f.uniform() && f.bits >= bits_of(from))
        f.bits = 64, f.offset = int64_t(wide_integer(from, uint64_t(f.offset)));
    const bool holds_all = size_of(to) > size_of(from) && (is_signed_int(to) || is_unsigned_int(from));
    if (f.known && !holds_all) limit(f, bits_of(to));
    return f;
}

AffineForm LinearIndex::sum(const AffineForm& a, const AffineForm& b, int64_t sign) const {
    if (!a.known || !b.known) return {};
    AffineForm f = a;
    bool same = true;
    for (size_t axis = 0; axis < 3; ++axis) {
        same = same && add(f.local[axis], b.local[axis], sign);
        same = same && add(f.global[axis], b.global[axis], sign);
    }
    if (!same) return {};
    f.rest = common_scope(a.rest, b.rest);
    f.bits = std::min(a.bits, b.bits), f.exact = a.exact && b.exact;
    f.offset = wrapping_add(a.offset, wrapping_mul(sign, b.offset));
    if (b.composed || (b.base && (a.base || sign < 0)))
        compose(f);
    else if (b.base && !f.composed)
        f.base = b.base;
    if (f.composed) compose(f);
    return f;
}

AffineForm LinearIndex::product(const AffineForm& a, const AffineForm& b) const {
    if (!a.known || !b.known) return {};
    if (is_constant(a) && !is_constant(b)) return product(b, a);
    if (!b.uniform()) return a.uniform() ? product(b, a) : AffineForm{};
    AffineForm f = a;
    f.rest = common_scope(a.rest, b.rest);
    f.bits = std::min(a.bits, b.bits), f.exact = a.exact && b.exact;
    if (is_constant(b)) {
        each_coefficient(f, [&](Coefficient& c) {
            c.factor = wrapping_mul(c.factor, b.offset);
            if (c.zero()) c.times = {};
        });
        f.offset = wrapping_mul(f.offset, b.offset);
        if (f.base && b.offset == 0) f.base = {};
        if (f.base && b.offset != 1) compose(f);
        return f;
    }
    // `b` is a uniform value; it becomes the symbolic part of the coefficients.
    if (b.composed || b.offset != 0) return {};
    bool plain = true;
    each_coefficient(f, [&](Coefficient& c) {
        if (c.zero()) return;
        plain = plain && c.constant();
        c.times = b.base;
    });
    if (!plain) return {};
    if (f.base || f.composed || f.offset != 0) compose(f);
    return f;
}

/// Updates the forms of a construct's results and of a loop's parameters.
void LinearIndex::columns(InstId id) {
    const Inst& i = k[id];
    if (i.op == Op::for_) {
        const auto v = k.operands(i);
        const Value index = k[i.blocks[0]].params[0];
        const AffineForm &from = forms[v[0].id], &step = forms[v[2].id];
        if (states[v[0].id] != State::unset && states[v[2].id] != State::unset) {
            AffineForm f = from.known && step.known && step.uniform() ? from : AffineForm{};
            f.rest = common_scope(f.rest, step.rest);
            if (f.known) limit(f, step.bits), f.exact = f.exact && step.exact;
            if (f.known && f.uniform())
                f = remainder(index);
            else if (f.known)
                compose(f);
            update(index, f);
        }
    }
    for (uint32_t c = 0; c < i.result_count; ++c) {
        const Value result = k.result(i, int(c));
        if (!is_int(k.type_of(result))) continue;
        AffineForm all, carried;
        bool any = false, any_carried = false, pending = false, continues = false;
        const auto join = [](AffineForm& to, bool& first, AffineForm f) {
            if (!first)
                to = f;
            else if (to.known && !(to == f)) {
                if (f.known) limit(to, f.bits), limit(f, to.bits);
                const bool alike = f.known && to.local == f.local && to.global == f.global;
                if (!alike)
                    to = {};
                else
                    to.rest = common_scope(to.rest, f.rest), to.exact = to.exact && f.exact, compose(to);
            }
            first = true;
        };
        uniformity.structure().each_source(id, c, [&](Value v, InstId by) {
            if (states[v.id] == State::unset) {
                pending = true;
                return;
            }
            const AffineForm& f = forms[v.id];
            const bool leaves = k[by].op == Op::break_ || k[by].op == Op::test;
            continues = continues || k[by].op == Op::continue_;
            join(all, any, f);
            if (!leaves) join(carried, any_carried, f);
        });
        if (is_loop(i.op) && any_carried) {
            const Value param = k[i.blocks[0]].params[leading_params(i.op) + c];
            if (continues && carried.composed) carried = {};
            if (carried.known && carried.uniform() && !is_constant(carried)) carried = remainder(param);
            update(param, carried);
        }
        if (!any || pending) continue;
        if (is_loop(i.op)) {
            const AffineForm& param = forms[k[i.blocks[0]].params[leading_params(i.op) + c].id];
            join(all, any, param);
        }
        // Items that took different paths, or left the loop at different times, have different remainders.
        if (all.composed && uniformity.parting(id) == Scope::item) all = {};
        if (all.known && all.uniform() && !is_constant(all)) all = remainder(result);
        update(result, all);
    }
}

}  // namespace pumice::ir
