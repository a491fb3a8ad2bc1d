// Expressions of random programs, recorded.
#include "tests/fuzz/random_recording.h"

#include <cstring>

namespace fuzz {

using namespace pumice;
using namespace pumice::internal;
using detail::IndexOperand;

const Element& element(int type) {
    const Element* found = nullptr;
    with_type(type, [&]<class T>(std::type_identity<T>) { found = &detail::element_of<T>(); });
    return *found;
}

Value Recording::constant(Scalar type, uint64_t bits) {
    Value v{type, {}};
    with_scalar(type, [&]<class T>(std::type_identity<T>) {
        T host;
        std::memcpy(static_cast<void*>(&host), &bits, sizeof host);
        v.handle = Val<T>(host, here().file, here().line).handle;
    });
    return v;
}

Value Recording::cast_to(Scalar type, Value v) {
    if (type == v.type) return v;
    Value result{type, {}};
    with_scalar(v.type, [&]<class From>(std::type_identity<From>) {
        with_scalar(type, [&]<class T>(std::type_identity<T>) {
            result.handle = cast<T>(Val<From>(v.handle), here().file, here().line).handle;
        });
    });
    return program.smooth && is_narrow_float(type) ? tamed(result) : result;
}

/// v times 1 + d, plus e, where d is `ulps` of the type with a sign that the seed chooses.
Value Recording::moved(Value v, double ulps, double absolute) {
    if (!shaken || !is_float(v.type)) return v;
    const double unit = v.type == Scalar::f16    ? 0x1p-11
                        : v.type == Scalar::bf16 ? 0x1p-8
                        : v.type == Scalar::f32  ? 0x1p-24
                                                 : 0x1p-53;
    const double by = (double(errors() % 2001) / 1000 - 1) * unit * (2 + 2 * ulps),
                 plus = (errors() % 2 ? 1 : -1) * absolute * unit * 0x1p24;
    with_scalar(v.type, [&]<class T>(std::type_identity<T>) {
        if constexpr (NarrowFloat<T>) {
            const Val<float> wide = cast<float>(Val<T>(v.handle));
            v.handle = cast<T>(wide + wide * float(by) + float(plus)).handle;
        } else if constexpr (std::is_floating_point_v<T>) {
            const Val<T> x(v.handle);
            v.handle = (x + x * T(by) + T(plus)).handle;
        }
    });
    return v;
}

/// Keeps floats in a range where some operations have no subnormal results: strict programs select another number, smooth
/// programs clamp.
Value Recording::tamed(Value v) {
    if (!is_float(v.type)) return v;
    v = moved(v, 0, 0);
    with_scalar(v.type, [&]<class T>(std::type_identity<T>) {
        if constexpr (std::is_floating_point_v<T> || NarrowFloat<T>) {
            const Val<T> x(v.handle);
            if (program.smooth) {
                v.handle = clamp(x, -64.0f, 64.0f).handle;
                return;
            }
            const float most = std::is_same_v<T, half> ? 64.0f : 4096.0f;
            const Val<T> size = abs(x);
            v.handle = select((size >= 1 / 16.0f) & (size <= most), x, 1.5f).handle;
        }
    });
    return v;
}

Value Recording::item(Item which, int dimension) {
    const auto at = [&](auto one, auto two, auto three) -> Val<int> {
        switch (shape().rank()) {
            case 1: return one();
            case 2: return two()[size_t(dimension)];
            default: return three()[size_t(dimension)];
        }
    };
    switch (which) {
        case Item::global:
            return value_of(
                at([] { return global_index(); }, [] { return global_index<2>(); }, [] { return global_index<3>(); }));
        case Item::local:
            return value_of(at([] { return local_index(); }, [] { return local_index<2>(); }, [] { return local_index<3>(); }));
        case Item::group:
            return value_of(at([] { return group_index(); }, [] { return group_index<2>(); }, [] { return group_index<3>(); }));
        case Item::global_size:
            return value_of(at([] { return global_size(); }, [] { return global_size<2>(); }, [] { return global_size<3>(); }));
        case Item::global_linear: return value_of(global_index_linear());
        case Item::local_linear: return value_of(local_index_linear());
        case Item::group_linear: return value_of(group_index_linear());
        case Item::group_size: return value_of(group_size_linear());
    }
    return {};
}

namespace {

IndexOperand index(Value v, SourceLocation place) {
    std::optional<IndexOperand> made;
    with_scalar(v.type, [&]<class T>(std::type_identity<T>) {
        if constexpr (is_int(*scalar_of<T>())) made.emplace(Val<T>(v.handle), place.file, place.line);
    });
    return *made;
}

}  // namespace

Value Recording::load(const Held& memory, int part, const std::vector<Value>& indices) {
    Value result{element(memory.type).leaves[size_t(part)].type, {}};
    with_type(memory.type, [&]<class T>(std::type_identity<T>) {
        const auto take = [&](const auto& element) {
            const detail::Operand<T> all(element, here().file, here().line);
            if constexpr (ScalarType<T>)
                result.handle = all.handle;
            else
                result.handle = all.handles[size_t(part)];
        };
        const auto at = [&](std::initializer_list<IndexOperand> i) {
            if (memory.read_only)
                take(memory.load<T>(i));
            else
                take(memory.refer<T>(i));
        };
        const SourceLocation p = here();
        if (indices.size() == 1)
            at({index(indices[0], p)});
        else if (indices.size() == 2)
            at({index(indices[0], p), index(indices[1], p)});
        else
            at({index(indices[0], p), index(indices[1], p), index(indices[2], p)});
    });
    return result;
}

/// Writes one scalar of an element, through its Ref.
void Recording::store_part(const Held& memory, int part, const std::vector<Value>& indices, Value v) {
    with_type(memory.type, [&]<class T>(std::type_identity<T>) {
        const auto write = [&]<class M>(auto&& self, Ref<M>& member, int& n) -> void {
            if constexpr (ScalarType<M>) {
                if (n-- == 0) std::move(member) = detail::Operand<M>(Val<M>(v.handle), here().file, here().line);
            } else {
                member.each([&]<class F>(Ref<F>& inner) { self(self, inner, n); });
            }
        };
        const auto at = [&](std::initializer_list<IndexOperand> i) {
            Ref<T> element = memory.refer<T>(i);
            write(write, element, part);
        };
        const SourceLocation p = here();
        if (indices.size() == 1)
            at({index(indices[0], p)});
        else if (indices.size() == 2)
            at({index(indices[0], p), index(indices[1], p)});
        else
            at({index(indices[0], p), index(indices[1], p), index(indices[2], p)});
    });
}

void Recording::store_all(const Held& memory, const std::vector<Value>& indices, const std::vector<Handle>& handles) {
    with_type(memory.type, [&]<class T>(std::type_identity<T>) {
        const SourceLocation p = here();
        const Val<T> v = typed<T>(handles);
        if (indices.size() == 1)
            memory.refer<T>({index(indices[0], p)}) = v;
        else if (indices.size() == 2)
            memory.refer<T>({index(indices[0], p), index(indices[1], p)}) = v;
        else
            memory.refer<T>({index(indices[0], p), index(indices[1], p), index(indices[2], p)}) = v;
    });
}

Value Recording::operation(const Expr& e) {
    Handle operands[3];
    Scalar first = Scalar::i32;
    for (size_t n = 0; n < e.of.size(); ++n) {
        const Value v = value(e.of[n]);
        if (n == 0) first = v.type;
        operands[n] = moved(v, 0, 0).handle;
    }
    const OpRow& row = pumice::internal::row(e.how);
    Value result{row.result == Result::same ? first : row.result == Result::i32 ? Scalar::i32 : Scalar::boolean, {}};
    switch (e.of.size()) {
        case 1: result.handle = detail::emit_op(e.how, {operands[0]}, here()); break;
        case 2: result.handle = detail::emit_op(e.how, {operands[0], operands[1]}, here()); break;
        default: result.handle = detail::emit_op(e.how, {operands[0], operands[1], operands[2]}, here()); break;
    }
    if (program.smooth) result = moved(result, row.ulps, row.absolute);
    return is_narrow_float(result.type) ? tamed(result) : result;  // infinity times zero is undefined there
}

Value Recording::call(const Expr& e) {
    Value result{e.type, {}};
    const FunctionTree& tree = program.functions[size_t(e.which)];
    with_scalar(e.type, [&]<class T>(std::type_identity<T>) {
        const auto record = [this, &tree](Val<T> a, Val<T> b, Val<int> c) -> Val<T> {
            Recording inner(*this, Inside());
            inner.variables.push_back(std::make_unique<SlotOf<T>>(a, here()));
            inner.variables.push_back(std::make_unique<SlotOf<T>>(b, here()));
            inner.variables.push_back(std::make_unique<SlotOf<int>>(c, here()));
            for (size_t n = 3; n < tree.variables.size(); ++n) inner.declare_variable(tree.variables[n], nullptr);
            inner.block(tree.body);
            return Val<T>(inner.value(tree.result).handle);
        };
        using F = decltype(function("", record));
        std::shared_ptr<void>& made = (*functions)[e.which];
        if (!made) made = std::make_shared<F>(function(text("f", e.which), record, here().file, here().line));
        const F f = *static_cast<const F*>(made.get());
        result.handle = f(typed<T>(e.of[0]), typed<T>(e.of[1]), whole_number(e.of[2])).handle;
    });
    return result;
}

Value Recording::value(const Expr& e) {
    switch (e.kind) {
        case Expr::constant: return constant(e.type, e.bits);
        case Expr::variable: {
            const Slot::Leaf& leaf = variables[size_t(e.which)]->leaves[size_t(e.part)];
            Value v{leaf.type, {}};
            with_scalar(leaf.type, [&]<class T>(std::type_identity<T>) {
                v.handle = detail::handle_of(*static_cast<Var<T>*>(leaf.variable), here());
            });
            return v;
        }
        case Expr::loop_index:
            if (loops.empty()) return constant(e.type, is_float(e.type) ? 0 : 1);
            return cast_to(e.type, loops[loops.size() - 1 - size_t(e.which) % loops.size()]);
        case Expr::item: return item(Item(e.which), e.part);
        case Expr::argument: return arguments[size_t(e.which)];
        case Expr::load: return load(memories[size_t(e.which)], e.part, values(e.of, 0, e.of.size()));
        case Expr::op: return operation(e);
        case Expr::cast: return cast_to(e.type, value(e.of[0]));
        case Expr::bitcast: {
            const Value v = value(e.of[0]);
            detail::Recorder& r = detail::Recorder::current("bitcast", here());
            return {e.type, r.handle(r.at(here()).build.bitcast(e.type, r.use(v.handle, here())))};
        }
        case Expr::select: {
            const Val<bool> c = condition(e.of[0]);
            const Value a = value(e.of[1]), b = value(e.of[2]);
            Value result{a.type, {}};
            with_scalar(a.type, [&]<class T>(std::type_identity<T>) {
                result.handle = select(c, Val<T>(a.handle), Val<T>(b.handle)).handle;
            });
            return result;
        }
        case Expr::call: return call(e);
    }
    return {};
}

std::vector<Value> Recording::values(const std::vector<Expr>& all, size_t from, size_t to) {
    std::vector<Value> result;
    for (size_t n = from; n < to; ++n) result.push_back(value(all[n]));
    return result;
}

}  // namespace fuzz
