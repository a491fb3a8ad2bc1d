// Structs as device values and in memory: PUMICE_STRUCT, and Val, Var and Ref of a struct.
//
// A struct is never one value of the IR: Val<S> has a Val for each member, Var<S> a Var, Ref<S> a Ref. Its layout in memory is
// the host's. Operations and derivatives thus handle scalars only.
#pragma once
#include <array>
#include <cstddef>
#include <utility>

#include "core/language/composite_operand.h"

namespace pumice {
namespace detail {

// ---- array members ----

/// Number of elements of an array member; 0 for other members.
template <class T> inline constexpr int array_size = 0;
template <class T, size_t N> inline constexpr int array_size<T[N]> = int(N);
template <class T, size_t N> inline constexpr int array_size<std::array<T, N>> = int(N);
template <class T> concept ArrayMember = array_size<T> > 0;
template <class T> struct array_item;
template <class T, size_t N> struct array_item<T[N]> {
    using type = T;
};
template <class T, size_t N> struct array_item<std::array<T, N>> {
    using type = T;
};
template <class T> using array_item_t = typename array_item<T>::type;

/// Throws Error unless a member of `count` elements has element n.
void check_item(int64_t n, int count);
/// A device index into `count` elements, as i32, clamped to them.
Handle item_position(const IndexOperand& index, int count);
/// Selects one of several scalars by position.
Handle pick(std::span<const Handle> scalars, Handle position, SourceLocation location);
/// The choice of one of `count` items with `leaves` scalars each, beginning at `whole` or, if that is itself a choice, within it.
std::shared_ptr<const Choice> choice_within(const ElementAddress& whole, const IndexOperand& index, int count, int leaves);
/// The same for variables.
std::shared_ptr<const Choice> choice_of(std::vector<Handle> variables, const IndexOperand& index, int count, int leaves);

/// The place of an element's first scalar.
template <class T> const ElementAddress& first_address(const Ref<T>& element) {
    if constexpr (ScalarType<T>)
        return element;
    else {
        const ElementAddress* first = nullptr;
        element.each([&]<class F>(const Ref<F>& member) {
            if (!first) first = &first_address(member);
        });
        return *first;
    }
}
template <class T> void append_variables(const Var<T>& variable, std::vector<Handle>& all) {
    if constexpr (ScalarType<T>)
        all.push_back(variable.handle);
    else
        variable.each([&](const auto& member) { append_variables(member, all); });
}
/// The item of an array of values or variables at a device index.
template <class T> Val<array_item_t<T>> item_at(const Val<T>& values, const IndexOperand& index) {
    using Item = array_item_t<T>;
    const Operand<T> all(values, index.location.file, index.location.line);
    const Handle position = item_position(index, array_size<T>);
    std::array<Handle, size_t(leaf_count<Item>())> picked;
    for (size_t leaf = 0; leaf < picked.size(); ++leaf) {
        std::array<Handle, size_t(array_size<T>)> scalars;
        for (size_t n = 0; n < scalars.size(); ++n) scalars[n] = all.handles[n * picked.size() + leaf];
        picked[leaf] = pick(scalars, position, index.location);
    }
    HandleSource source{picked.data()};
    return Val<Item>(source);
}
template <class T> Ref<array_item_t<T>> item_at(const Var<T>& variables, const IndexOperand& index) {
    std::vector<Handle> all;
    append_variables(variables, all);
    Recorder& r = Recorder::current("a subscript", index.location);
    return Ref<array_item_t<T>>(
        ElementAddress({}, 0, {}, index.location, choice_of(std::move(all), index, array_size<T>, leaf_count<array_item_t<T>>())),
        r);
}
template <class T> Ref<array_item_t<T>> item_at(const Ref<T>& elements, const IndexOperand& index) {
    const ElementAddress& whole = first_address(elements);
    Recorder& r = Recorder::current("a subscript", index.location);
    return Ref<array_item_t<T>>(ElementAddress(whole.memory, 0, whole.index_span(), index.location,
                                               choice_within(whole, index, array_size<T>, leaf_count<array_item_t<T>>())),
                                r);
}

/// "[0]", "[1]", ...
template <size_t n> inline constexpr auto item_name = [] {
    std::array<char, 24> text{'['};
    size_t digits = 1, end = 1;
    for (size_t rest = n; rest >= 10; rest /= 10) ++digits;
    for (size_t rest = n, at = digits; at > 0; --at, rest /= 10, ++end) text[at] = char('0' + rest % 10);
    text[end] = ']';
    return text;
}();

/// The members of W<array>: a W for each element.
template <template <class> class W, class T, size_t N> struct ArrayMembers {
    template <class Source>
        requires requires(Source& s) { s.named(""); }
    explicit ArrayMembers(Source& source) : ArrayMembers(source, std::make_index_sequence<N>()) {}
    template <class Act> void each(Act&& act) {
        for (auto& item : items) act(item);
    }
    template <class Act> void each(Act&& act) const {
        for (const auto& item : items) act(item);
    }
    template <std::integral I> const W<T>& operator[](I n) const { return items[at(n)]; }
    template <std::integral I> W<T>& operator[](I n) { return items[at(n)]; }

    std::array<W<T>, N> items;

private:
    template <class Source, size_t... I> ArrayMembers(Source& source, std::index_sequence<I...>)
        : items{W<T>(source.named(item_name<I>.data()))...} {}
    template <std::integral I> static size_t at(I n) {
        check_item(int64_t(n), int(N));
        return size_t(n);
    }
};
template <class A, class T, size_t N> struct ArrayStructure {
    using described = A;
    using component = void;
    static constexpr bool is_vector = false;
    static constexpr const char* name = "array";
    template <template <class> class W> using members = ArrayMembers<W, T, N>;
    template <class Act> static constexpr void each_type(Act&& act) {
        [&]<size_t... I>(std::index_sequence<I...>) {
            (act(item_name<I>.data(), I * sizeof(T), static_cast<T*>(nullptr)), ...);
        }(std::make_index_sequence<N>());
    }
    template <class Value, class Act> static void each_value(Value& value, Act&& act) {
        for (auto& item : value) act(item);
    }
};

#define PUMICE_INFIX(symbol, op, condition)                    \
    friend auto operator symbol(Operand<T> a, Operand<T> b)    \
        requires(structure<T>::is_vector && (condition))       \
    {                                                          \
        return emit_each<T>(ir::Op::op, {&a, &b}, b.location); \
    }
/// Shift counts of a composite T: integers of another type, a vector of the same length or one for all components.
template <Composite T> struct OtherCount<T> : Operand<T> {
    template <class A>
        requires CountsFor<A, T>
    OtherCount(const A& a, PUMICE_AT) : Operand<T>(Handle(), PUMICE_HERE) {
        using S = typename structure<T>::component;
        using U = device_type_t<A>;
        if constexpr (ScalarType<U>)
            this->handles.fill(emit_cast(*scalar_of<S>(), handle_of(a, PUMICE_HERE), PUMICE_HERE));
        else {
            const Operand<U> counts(a, pm_file, pm_line);
            for (size_t n = 0; n < counts.handles.size(); ++n)
                this->handles[n] = emit_cast(*scalar_of<S>(), counts.handles[n], PUMICE_HERE);
        }
    }
};

/// Componentwise operators of vectors; a scalar operand stands for all components.
template <class T> struct VectorInfix : found_through<T>::type {
    static constexpr bool integer = [] {
        if constexpr (structure<T>::is_vector)
            return is_int(*scalar_of<typename structure<T>::component>());
        else
            return false;
    }();
    PUMICE_INFIX(+, add, true)
    PUMICE_INFIX(-, sub, true)
    PUMICE_INFIX(*, mul, true)
    PUMICE_INFIX(/, div, true)
    PUMICE_INFIX(%, rem, integer)
    PUMICE_INFIX(&, and_, integer)
    PUMICE_INFIX(|, or_, integer)
    PUMICE_INFIX(^, xor_, integer)
    PUMICE_INFIX(<<, shl, integer)
    PUMICE_INFIX(>>, shr, integer)
    friend auto operator<<(Operand<T> a, OtherCount<T> n)
        requires(integer)
    {
        return emit_each<T>(ir::Op::shl, {&a, &n}, n.location);
    }
    friend auto operator>>(Operand<T> a, OtherCount<T> n)
        requires(integer)
    {
        return emit_each<T>(ir::Op::shr, {&a, &n}, n.location);
    }
    friend auto operator-(Operand<T> a)
        requires(structure<T>::is_vector)
    {
        return emit_each<T>(ir::Op::neg, {&a}, a.location);
    }
    friend auto operator+(Operand<T> a)
        requires(structure<T>::is_vector)
    {
        return Val<T>(a);
    }
    friend auto operator~(Operand<T> a)
        requires(integer)
    {
        return emit_each<T>(ir::Op::not_, {&a}, a.location);
    }
};
#undef PUMICE_INFIX
/// The operators of matrices: see matrix.h.
template <class T> struct MatrixInfix {};

}  // namespace detail

// Array members (T[N], std::array<T, N>) of any type that may be a member.
template <class T, size_t N>
    requires(internal::ScalarType<T> || detail::Composite<T> || detail::is_array<T>::value)
struct structure<T[N]> : detail::ArrayStructure<T[N], T, N> {};
template <class T, size_t N>
    requires(internal::ScalarType<T> || detail::Composite<T> || detail::is_array<T>::value)
struct structure<std::array<T, N>> : detail::ArrayStructure<std::array<T, N>, T, N> {};

template <detail::Composite T> class Val<T>
    : public structure<T>::template members<Val>, public detail::VectorInfix<T>, public detail::MatrixInfix<T> {
    using Members = typename structure<T>::template members<Val>;

public:
    explicit Val(detail::HandleSource& source) : Members(source) {}
    explicit Val(const detail::ParameterSource& source) : Members(source) {}
    template <class A>
        requires detail::CompositeOperandOf<A, T>
    Val(const A& a, PUMICE_AT) : Val(detail::Operand<T>(a, pm_file, pm_line)) {}
    /// A vector or matrix made of its components in order, given as scalars and vectors: Val<float4>(v.x, v3).
    template <class... C>
        requires(sizeof...(C) > 1 && detail::PartsOf<T, C...>)
    explicit Val(const C&... parts) : Val(detail::joined_handles<T>(parts...)) {}
    /// A component of a vector, counted from 0, or of a matrix, by row and column.
    auto operator[](int n) const
        requires(structure<T>::is_vector)
    {
        return detail::component_at<pumice::Val, T>(*this, n);
    }
    auto operator()(int row, int column) const
        requires detail::Matrix<T>
    {
        return detail::component_at<T, pumice::Val>(*this, row, column);
    }
    /// An item of an array, counted from 0. A device index is clamped to the array.
    template <std::integral I> auto operator[](I n) const
        requires detail::ArrayMember<T>
    {
        return Members::operator[](n);
    }
    auto operator[](detail::IndexOperand n) const
        requires detail::ArrayMember<T>
    {
        return detail::item_at(*this, n);
    }
    Val(const Val&) = default;
    explicit Val(const detail::Operand<T>& o) : Val(o.handles) {}

private:
    template <size_t N> explicit Val(const std::array<detail::Handle, N>& handles) : Val(detail::HandleSource{handles.data()}) {}
    explicit Val(detail::HandleSource&& source) : Members(source) {}
};

namespace detail {
/// Its members are those of a Var without an initial value: the message stands alone, before those of the members' constructors.
template <class T> struct missing_initial_value {
    static_assert(never<T>, "pumice: a Var needs an initial value: write Var x = v; or Var<float3> x = float3{};");
    static VarSource& source;
};
}  // namespace detail

template <detail::Composite T> class Var<T>
    : public structure<T>::template members<Var>, public detail::VectorInfix<T>, public detail::MatrixInfix<T> {
    using Members = typename structure<T>::template members<Var>;

public:
    template <class A>
        requires detail::CompositeOperandOf<A, T>
    Var(const A& a, PUMICE_AT) : Var(detail::Operand<T>(a, pm_file, pm_line)) {}
    template <class U = T> Var() : Members(detail::missing_initial_value<U>::source) {}
    explicit Var(detail::VarSource& source) : Members(source) {}
    Var(const Var& other, PUMICE_AT) : Var(detail::Operand<T>(other, pm_file, pm_line)) {}

    template <class A>
        requires detail::CompositeOperandOf<A, T>
    Var& operator=(const A& v) {
        return set(detail::Operand<T>(v, "", 0));
    }
    Var& operator=(const Var& v) { return set(detail::Operand<T>(v, "", 0)); }
    auto& operator[](int n)
        requires(structure<T>::is_vector)
    {
        return detail::component_at<pumice::Var, T>(*this, n);
    }
    auto& operator()(int row, int column)
        requires detail::Matrix<T>
    {
        return detail::component_at<T, pumice::Var>(*this, row, column);
    }
    template <std::integral I> auto& operator[](I n)
        requires detail::ArrayMember<T>
    {
        return Members::operator[](n);
    }
    auto operator[](detail::IndexOperand n)
        requires detail::ArrayMember<T>
    {
        return detail::item_at(*this, n);
    }
    Var& operator+=(detail::Operand<T> v)
        requires(structure<T>::is_vector || detail::Matrix<T>)
    {
        return set(detail::updated(ir::Op::add, *this, v));
    }
    Var& operator-=(detail::Operand<T> v)
        requires(structure<T>::is_vector || detail::Matrix<T>)
    {
        return set(detail::updated(ir::Op::sub, *this, v));
    }
    template <class B>
        requires detail::Matrix<T>
    Var& operator*=(const B& b) {
        return *this = *this * b;
    }
    Var& operator*=(detail::Operand<T> v)
        requires(structure<T>::is_vector)
    {
        return set(detail::updated(ir::Op::mul, *this, v));
    }
    Var& operator/=(detail::Operand<T> v)
        requires(structure<T>::is_vector)
    {
        return set(detail::updated(ir::Op::div, *this, v));
    }

private:
    Var(const detail::Operand<T>& o) : Var(detail::VarSource{o.handles.data(), o.location}) {}
    explicit Var(detail::VarSource&& source) : Members(source) {}
    Var& set(const detail::Operand<T>& v) {
        const detail::Handle* next = v.handles.data();
        assign(*this, next);
        return *this;
    }
    template <class M> static void assign(M& members, const detail::Handle*& next) {
        members.each([&]<class F>(Var<F>& member) {
            if constexpr (internal::ScalarType<F>)
                member = Val<F>(*next++);
            else
                assign(member, next);
        });
    }
};

/// An element of struct type: its members are Refs, so that `a[i].velocity.x = v` assigns one scalar.
template <detail::Composite T> class Ref<T>
    : public structure<T>::template members<Ref>, public detail::VectorInfix<T>, public detail::MatrixInfix<T> {
    using Members = typename structure<T>::template members<Ref>;

public:
    Ref(detail::ElementAddress of, detail::Recorder& r) : Ref(detail::RefSource{std::move(of), r}) {}
    explicit Ref(detail::RefSource& source) : Members(source) {}
    Ref(const Ref&) = default;
    // Selected by the host's ?: between an element and a host value, to reject it.
    template <std::same_as<T> U> Ref(const U&) : Members(detail::no_source()) { detail::host_condition<U>(); }

    template <class A>
        requires detail::CompositeOperandOf<A, T>
    void operator=(const A& v) && {
        store(detail::Operand<T>(v, "", 0));
    }
    void operator=(const Ref& v) && { store(detail::Operand<T>(v, "", 0)); }
    auto&& operator[](int n) &&
        requires(structure<T>::is_vector) {
            return std::move(detail::component_at<pumice::Ref, T>(*this, n));
        } auto&& operator()(int row, int column) &&
            requires detail::Matrix<T>
    {
        return std::move(detail::component_at<T, pumice::Ref>(*this, row, column));
    }
    template <std::integral I> auto&& operator[](I n) &&
        requires detail::ArrayMember<T>
    {
        return std::move(Members::operator[](n));
    }
    template <std::integral I> auto& operator[](I n) &
        requires detail::ArrayMember<T>
    {
        return Members::operator[](n);
    }
    template <std::integral I> const auto& operator[](I n) const&
        requires detail::ArrayMember<T>
    {
        return Members::operator[](n);
    }
    auto operator[](detail::IndexOperand n) &&
        requires detail::ArrayMember<T>
    {
        return detail::item_at(*this, n);
    }
    auto operator[](detail::IndexOperand n) const&
        requires detail::ArrayMember<T>
    {
        return detail::item_at(Val<T>(detail::Operand<T>(*this, n.location.file, n.location.line)), n);
    }
    void operator+=(detail::Operand<T> v) && requires(structure<T>::is_vector) {
        store(detail::updated(ir::Op::add, *this, v));
    } void operator-=(detail::Operand<T> v) && requires(structure<T>::is_vector) {
        store(detail::updated(ir::Op::sub, *this, v));
    } void operator*=(detail::Operand<T> v) && requires(structure<T>::is_vector) {
        store(detail::updated(ir::Op::mul, *this, v));
    } void operator/=(detail::Operand<T> v) && requires(structure<T>::is_vector) {
        store(detail::updated(ir::Op::div, *this, v));
    } template <class A> void operator=(const A&) & {
        static_assert(detail::never<A>,
                      "pumice: a named copy of an element cannot be assigned: write a[i] = v, or Var x = a[i] for a local");
    }

private:
    explicit Ref(detail::RefSource&& source) : Members(source) {}
    void store(const detail::Operand<T>& v) {
        const detail::Handle* next = v.handles.data();
        assign(*this, next);
    }
    template <class M> static void assign(M& members, const detail::Handle*& next) {
        members.each([&]<class F>(Ref<F>& member) {
            if constexpr (internal::ScalarType<F>)
                std::move(member) = detail::Operand<F>(Val<F>(*next++), member.location.file, member.location.line);
            else
                assign(member, next);
        });
    }
};

template <class T> Val<T>::Val(detail::HandleSource& members) : handle(*members.next++) {}
template <class T> Val<T>::Val(const detail::ParameterSource& source)
    : handle(detail::declare_scalar(source, *internal::scalar_of<T>())) {}
template <class T> Var<T>::Var(detail::VarSource& members) {
    declare(detail::Operand<T>(Val<T>(*members.next++), members.location.file, members.location.line));
}
template <class T> Ref<T>::Ref(detail::RefSource& m) : Ref(m.next, m.recorder) { ++m.next.leaf; }

}  // namespace pumice

// ---- PUMICE_STRUCT -----------------------------------------------------------------------------------------------------
// Expands `m(S, f)` for each member f, up to 64 of them; PM_LIST puts commas between.
#define PM_EXPAND(...) PM_E3(PM_E3(PM_E3(PM_E3(__VA_ARGS__))))
#define PM_E3(...) PM_E2(PM_E2(PM_E2(PM_E2(__VA_ARGS__))))
#define PM_E2(...) PM_E1(PM_E1(PM_E1(PM_E1(__VA_ARGS__))))
#define PM_E1(...) __VA_ARGS__
#define PM_PARENS ()
#define PM_EACH(m, S, ...) __VA_OPT__(PM_EXPAND(PM_EACH_(m, S, __VA_ARGS__)))
#define PM_EACH_(m, S, f, ...) m(S, f) __VA_OPT__(PM_EACH_AGAIN PM_PARENS(m, S, __VA_ARGS__))
#define PM_EACH_AGAIN() PM_EACH_
#define PM_LIST(m, S, ...) __VA_OPT__(PM_EXPAND(PM_LIST_(m, S, __VA_ARGS__)))
#define PM_LIST_(m, S, f, ...) m(S, f) __VA_OPT__(, PM_LIST_AGAIN PM_PARENS(m, S, __VA_ARGS__))
#define PM_LIST_AGAIN() PM_LIST_
// PM_W and the pm_ names below are unlikely in a described struct: a member of that name would be hidden.
#define PM_DECLARE(S, f) PM_W<decltype(S::f)> f;
#define PM_MAKE(S, f) f(pm_source.named(#f))
#define PM_VISIT(S, f) pm_act(f);
#define PM_TYPE(S, f) pm_act(#f, offsetof(S, f), static_cast<decltype(S::f)*>(nullptr));
#define PM_VALUE(S, f) pm_act(pm_value.f);

#define PUMICE_STRUCT_AS(S, vector, scalar, ...)                                                                      \
    template <> struct pumice::structure<S> {                                                                         \
        using described = S;                                                                                          \
        using component = scalar;                                                                                     \
        static constexpr bool is_vector = vector;                                                                     \
        static constexpr const char* name = #S;                                                                       \
        template <template <class> class PM_W> struct members {                                                       \
            template <class PM_Source>                                                                                \
                requires requires(PM_Source& s) { s.named(""); }                                                      \
            explicit members(PM_Source& pm_source) : PM_LIST(PM_MAKE, S, __VA_ARGS__) {}                              \
            PM_EACH(PM_DECLARE, S, __VA_ARGS__)                                                                       \
            template <class PM_Act> void each(PM_Act&& pm_act) { PM_EACH(PM_VISIT, S, __VA_ARGS__) }                  \
            template <class PM_Act> void each(PM_Act&& pm_act) const { PM_EACH(PM_VISIT, S, __VA_ARGS__) }            \
        };                                                                                                            \
        template <class PM_Act> static constexpr void each_type(PM_Act&& pm_act) { PM_EACH(PM_TYPE, S, __VA_ARGS__) } \
        template <class PM_Value, class PM_Act> static void each_value(PM_Value& pm_value, PM_Act&& pm_act) {         \
            PM_EACH(PM_VALUE, S, __VA_ARGS__)                                                                         \
        }                                                                                                             \
    }
/// At global scope, after the struct: lists its members in order, so that kernels can hold and access it. Members are scalars,
/// vectors, described structs, and arrays of fixed size of these (T[N], std::array); up to 64.
#define PUMICE_STRUCT(S, ...) PUMICE_STRUCT_AS(S, false, void, __VA_ARGS__)
