// Device values: Val (immutable), Var (mutable local), Ref (an element of memory), and their operators.
#pragma once
#include "core/host/element_type.h"
#include "core/ir/type.h"
#include "core/language/recorder.h"

namespace pumice {

template <class T> class Val;
template <class T> class Var;
template <class T> class Ref;

namespace detail {

/// Sources of the handles of a struct's members, one after another.
struct HandleSource;
struct VarSource;
struct RefSource;
struct ParameterSource;

template <class> inline constexpr bool never = false;

template <class A> struct device_type {
    using type = void;
};
template <class T> struct device_type<Val<T>> {
    using type = T;
};
template <class T> struct device_type<Var<T>> {
    using type = T;
};
template <class T> struct device_type<Ref<T>> {
    using type = T;
};
/// T for Val<T>, Var<T>, Ref<T>; void for anything else.
template <class A> using device_type_t = typename device_type<std::remove_cvref_t<A>>::type;
template <class A> concept DeviceValue = !std::is_void_v<device_type_t<A>>;
template <class A> concept HostScalar = std::is_arithmetic_v<std::remove_cvref_t<A>> || NarrowFloat<std::remove_cvref_t<A>>;

/// A host scalar that adopts a device type: any number for floats, whole numbers for integers, bool for bool.
template <class T, class U> concept Adopts = ScalarType<T> && HostScalar<U> &&
                                             (is_float(*scalar_of<T>()) ? !std::is_same_v<U, bool>
                                              : std::is_same_v<T, bool> ? std::is_same_v<U, bool>
                                                                        : std::is_integral_v<U> && !std::is_same_v<U, bool>);
template <class A, class T> concept OperandOf =
    (ScalarType<T> && std::is_same_v<device_type_t<A>, T>) || Adopts<T, std::remove_cvref_t<A>>;

/// The device type of an operation on A and B; void if they do not mix.
template <class A, class B> struct common {
    using type = void;
};
template <DeviceValue A, class B>
    requires OperandOf<B, device_type_t<A>>
struct common<A, B> {
    using type = device_type_t<A>;
};
template <HostScalar A, DeviceValue B>
    requires OperandOf<A, device_type_t<B>>
struct common<A, B> {
    using type = device_type_t<B>;
};
template <class A, class B> using common_t = typename common<std::remove_cvref_t<A>, std::remove_cvref_t<B>>::type;
template <class A, class B> concept Mix = !std::is_void_v<common_t<A, B>>;
template <class A, class T> concept OtherType = (DeviceValue<A> || HostScalar<A>) && !OperandOf<A, T>;
template <class A, class B> concept Clash = (DeviceValue<A> || DeviceValue<B>) &&
                                            (ScalarType<device_type_t<A>> || HostScalar<A>) &&
                                            (ScalarType<device_type_t<B>> || HostScalar<B>) && !Mix<A, B>;

template <class T> Handle handle_of(const Val<T>& v, SourceLocation);
template <class T> Handle handle_of(const Var<T>& v, SourceLocation);
template <class T> Handle handle_of(const Ref<T>& v, SourceLocation);

/// An operand of device type T, with the source line of its operation.
template <class T> struct Operand {
    Handle handle;
    SourceLocation location;

    template <class A>
        requires OperandOf<A, T>
    Operand(const A& a, PUMICE_AT) : location(PUMICE_HERE) {
        if constexpr (DeviceValue<A>) {
            handle = handle_of(a, location);
        } else {
            Recorder& r = Recorder::current("an operation on device values", location);
            handle = r.handle(r.constant(*scalar_of<T>(), a, location));
        }
    }
    ir::Value use(Recorder& r) const { return r.use(handle, location); }
};

Handle emit_op(ir::Op op, std::initializer_list<Handle> operands, SourceLocation location);
Handle emit_cast(Scalar to, Handle x, SourceLocation location);
/// A cast of a host number, given by its bits.
Handle emit_host_cast(Scalar to, Scalar from, uint64_t bits, SourceLocation location);

/// The language's functions (functions.h): friends of a base of all device values, found by argument-dependent lookup only, so
/// that a user's own `dot` or `length` is compatible with `using namespace pumice`. The base depends on T since it is complete
/// only there.
struct LanguageFunctions;
template <class T> struct found_through {
    using type = LanguageFunctions;
};

template <class T> concept Integer = ScalarType<T> && is_int(*scalar_of<T>());

/// A shift count for a T: an integer of another type. Counts are taken modulo the width, which a cast to T keeps.
template <class T> struct OtherCount {
    Handle handle;
    SourceLocation location;
    template <class A>
        requires(Integer<T> && Integer<device_type_t<A>> && !std::is_same_v<device_type_t<A>, T>)
    OtherCount(const A& a, PUMICE_AT)
        : handle(emit_cast(*scalar_of<T>(), handle_of(a, PUMICE_HERE), PUMICE_HERE)), location(PUMICE_HERE) {}
};
/// A variable that ++ or -- changes, with the source line.
template <class T> struct Stepped {
    Var<T>& variable;
    SourceLocation location;
    Stepped(Var<T>& variable, PUMICE_AT) : variable(variable), location(PUMICE_HERE) {}
};

/// An index: any integer device value or host integer, as i32 (64-bit types as i64).
struct IndexOperand {
    Handle handle;
    SourceLocation location;
    template <class A>
        requires Integer<device_type_t<A>>
    IndexOperand(const A& a, PUMICE_AT) : handle(handle_of(a, PUMICE_HERE)), location(PUMICE_HERE) {}
    template <std::integral A>
        requires(!std::is_same_v<A, bool>)
    IndexOperand(A a, PUMICE_AT) : location(PUMICE_HERE) {
        Recorder& r = Recorder::current("a subscript", location);
        const bool wide = int64_t(a) != int64_t(int32_t(a));
        handle = r.handle(r.constant(wide ? Scalar::i64 : Scalar::i32, a, location));
    }
    ir::Value use(Recorder& r) const {
        const ir::Value v = r.use(handle, location);
        return r.at(location).index_value(v);
    }
};

/// One of several scalars, selected on the device: leaves of an element, or variables.
struct Choice {
    Handle position;                ///< i32, in range
    std::vector<uint32_t> first;    ///< for each position: the first leaf, or variable, of the chosen member
    std::vector<Handle> variables;  ///< empty if the choice is among an element's leaves
};
/// The place of an element, or of a part of it.
struct ElementAddress {
    ElementAddress(ir::MemoryId memory, uint32_t leaf, std::span<const ir::Value> indices, SourceLocation location,
                   std::shared_ptr<const Choice> choice)
        : memory(memory), leaf(leaf), index_count(int(indices.size())), location(location), choice(std::move(choice)) {
        for (size_t d = 0; d < indices.size(); ++d) this->indices[d] = indices[d];
    }
    std::span<const ir::Value> index_span() const { return {indices, size_t(index_count)}; }

    ir::MemoryId memory;
    uint32_t leaf = 0;  ///< the scalar of the element, or of the chosen member
    ir::Value indices[ir::max_rank];
    int index_count;
    SourceLocation location;
    std::shared_ptr<const Choice> choice;  ///< null if the leaf is known
};
/// Returns the result of `access` for the leaf, or for the number of the variable. If the device selects, records `access` for
/// each position in a tree of ifs, so that only the selected scalar is touched.
ir::Value access_element(Recorder& r, const ElementAddress& at, const std::function<ir::Value(uint32_t)>& access);
ir::Value load_element(Recorder& r, const ElementAddress& from);
void store_element(Recorder& r, const ElementAddress& to, ir::Value value);

// Infix operators are hidden friends of a common base, found through each of Val, Var and Ref alike; their parameters are
// Operands, whose converting constructor knows the line. (auto: Val<T> is not complete where its base is.)
#define PUMICE_INFIX(symbol, op, result, condition)                                \
    friend auto operator symbol(Operand<T> a, Operand<T> b)                        \
        requires(condition)                                                        \
    {                                                                              \
        return Val<result>(emit_op(ir::Op::op, {a.handle, b.handle}, b.location)); \
    }
template <class T> struct Infix : found_through<T>::type {
    static constexpr bool number = !std::is_same_v<T, bool>, integer = is_int(*scalar_of<T>()), boolean = !number;
    PUMICE_INFIX(+, add, T, number)
    PUMICE_INFIX(-, sub, T, number)
    PUMICE_INFIX(*, mul, T, number)
    PUMICE_INFIX(/, div, T, number)
    PUMICE_INFIX(%, rem, T, integer)
    PUMICE_INFIX(&, and_, T, integer || boolean)
    PUMICE_INFIX(|, or_, T, integer || boolean)
    PUMICE_INFIX(^, xor_, T, integer || boolean)
    PUMICE_INFIX(<<, shl, T, integer)
    PUMICE_INFIX(>>, shr, T, integer)
    friend auto operator<<(Operand<T> a, OtherCount<T> n)
        requires(integer)
    {
        return Val<T>(emit_op(ir::Op::shl, {a.handle, n.handle}, n.location));
    }
    friend auto operator>>(Operand<T> a, OtherCount<T> n)
        requires(integer)
    {
        return Val<T>(emit_op(ir::Op::shr, {a.handle, n.handle}, n.location));
    }
    PUMICE_INFIX(==, eq, bool, true)
    PUMICE_INFIX(!=, ne, bool, true)
    PUMICE_INFIX(<, lt, bool, number)
    PUMICE_INFIX(<=, le, bool, number)
    PUMICE_INFIX(>, gt, bool, number)
    PUMICE_INFIX(>=, ge, bool, number)
    friend auto operator-(Operand<T> a)
        requires(number)
    {
        return Val<T>(emit_op(ir::Op::neg, {a.handle}, a.location));
    }
    friend auto operator+(Operand<T> a)
        requires(number)
    {
        return Val<T>(a.handle);
    }
    friend auto operator~(Operand<T> a)
        requires(integer)
    {
        return Val<T>(emit_op(ir::Op::not_, {a.handle}, a.location));
    }
};
#undef PUMICE_INFIX

}  // namespace detail

// Both operands are evaluated, unlike in C++. These are templates, since conversion to an Operand would be as good as that to a
// host bool. The source line is that of the preceding operation.
template <class A, class B>
    requires std::is_same_v<detail::common_t<A, B>, bool>
auto operator&&(const A& a, const B& b) {
    return Val<bool>(
        detail::emit_op(ir::Op::and_, {detail::Operand<bool>(a, "", 0).handle, detail::Operand<bool>(b, "", 0).handle}, {}));
}
template <class A, class B>
    requires std::is_same_v<detail::common_t<A, B>, bool>
auto operator||(const A& a, const B& b) {
    return Val<bool>(
        detail::emit_op(ir::Op::or_, {detail::Operand<bool>(a, "", 0).handle, detail::Operand<bool>(b, "", 0).handle}, {}));
}
template <class A>
    requires std::is_same_v<detail::device_type_t<A>, bool>
auto operator!(const A& a) {
    return Val<bool>(detail::emit_op(ir::Op::not_, {detail::Operand<bool>(a, "", 0).handle}, {}));
}

// Operands that do not mix: these overloads replace "no match for operator" by a helpful message.
// clang-format off
#define PUMICE_CLASH(symbol)                                                                                           \
    template <class A, class B> requires detail::Clash<A, B>                                                           \
    auto operator symbol(const A&, const B&) {                                                                         \
        static_assert(detail::never<A>, "pumice: the operands of " #symbol " have different types: write cast<T>(x), "  \
                                        "and whole numbers where the other operand is an integer");                    \
    }
PUMICE_CLASH(+) PUMICE_CLASH(-) PUMICE_CLASH(*) PUMICE_CLASH(/) PUMICE_CLASH(%) PUMICE_CLASH(&) PUMICE_CLASH(|) PUMICE_CLASH(^)
PUMICE_CLASH(==) PUMICE_CLASH(!=) PUMICE_CLASH(<) PUMICE_CLASH(<=) PUMICE_CLASH(>) PUMICE_CLASH(>=)
#undef PUMICE_CLASH
#define PUMICE_CLASH(symbol)                                                                                                 \
    template <class A, class B>                                                                                              \
        requires(detail::Clash<A, B> && !(detail::Integer<detail::device_type_t<A>> && detail::Integer<detail::device_type_t<B>>)) \
    auto operator symbol(const A&, const B&) {                                                                               \
        static_assert(detail::never<A>, "pumice: the operands of " #symbol " are integers, of whatever types: write cast<T>(x)"); \
    }
PUMICE_CLASH(<<) PUMICE_CLASH(>>)
#undef PUMICE_CLASH
    // clang-format on

    namespace detail {
    /// Rejects the use of a device value as a host condition.
    template <class T> constexpr bool host_condition() {
        static_assert(
            never<T>,
            "pumice: a device value cannot decide a host if, while, && or ?: - write $if, $while, & and |, or select(c, a, b)");
        return false;
    }
}  // namespace detail

/// An immutable device value of scalar type T. Host scalars convert to it.
template <class T> class Val : public detail::Infix<T> {
public:
    static_assert(internal::ScalarType<T>, "pumice: Val<T> takes bool, a fixed-width integer, half, bfloat16, float or double");
    explicit Val(detail::Handle h) : handle(h) {}
    explicit Val(detail::HandleSource& members);
    explicit Val(const detail::ParameterSource& source);
    template <class U>
        requires detail::Adopts<T, U>
    Val(U constant, PUMICE_AT) : handle(detail::Operand<T>(constant, pm_file, pm_line).handle) {}
    template <class U>
        requires(std::is_floating_point_v<U> && std::is_integral_v<T> && !std::is_same_v<T, bool>)
    Val(U) {
        static_assert(detail::never<U>, "pumice: a float literal into an integer: write a whole number, or cast<int>(x)");
    }
    Val(const Val&) = default;
    Val& operator=(const Val&) {
        static_assert(detail::never<T>, "pumice: a Val cannot be assigned: write Var x = ... for a mutable local");
        return *this;
    }
    template <class U = T> void operator++() {
        static_assert(detail::never<U>, "pumice: a Val cannot be changed: write Var x = ... for a mutable local");
    }
    template <class U = T> void operator++(int) {
        static_assert(detail::never<U>, "pumice: a Val cannot be changed: write Var x = ... for a mutable local");
    }
    template <class U = T> void operator--() {
        static_assert(detail::never<U>, "pumice: a Val cannot be changed: write Var x = ... for a mutable local");
    }
    template <class U = T> void operator--(int) {
        static_assert(detail::never<U>, "pumice: a Val cannot be changed: write Var x = ... for a mutable local");
    }
    explicit operator bool() const { return detail::host_condition<T>(); }

    detail::Handle handle;
};

/// A mutable device local. Copying one makes a new variable.
template <class T> class Var : public detail::Infix<T> {
public:
    Var() {
        static_assert(detail::never<T>, "pumice: a Var needs an initial value: write Var x = 0.0f; or Var<float> x = 0.0f;");
    }
    template <class A>
        requires detail::OperandOf<A, T>
    Var(const A& initial, PUMICE_AT) {
        declare(detail::Operand<T>(initial, pm_file, pm_line));
    }
    explicit Var(detail::VarSource& members);
    Var(const Var& other, PUMICE_AT) { declare(detail::Operand<T>(other, pm_file, pm_line)); }
    template <class U>
        requires(std::is_floating_point_v<U> && std::is_integral_v<T>)
    Var(U) {
        static_assert(detail::never<U>, "pumice: a float literal into an integer: write a whole number, or Var x = 0.5f;");
    }

    // A template, since Operand and Var would be equally good conversions. The source line is that of the preceding operation.
    template <class A>
        requires detail::OperandOf<A, T>
    Var& operator=(const A& v) {
        return set(detail::Operand<T>(v, "", 0));
    }
    Var& operator=(const Var& v) { return set(detail::Operand<T>(v, "", 0)); }
    template <class A>
        requires detail::OtherType<A, T>
    Var& operator=(const A&) {
        static_assert(
            detail::never<A>,
            "pumice: the assigned value has another type than the Var: write cast<T>(x), and no float literal into an integer");
        return *this;
    }
    Var& operator+=(detail::Operand<T> v)
        requires(!std::is_same_v<T, bool>)
    {
        return update(ir::Op::add, v);
    }
    Var& operator-=(detail::Operand<T> v)
        requires(!std::is_same_v<T, bool>)
    {
        return update(ir::Op::sub, v);
    }
    Var& operator*=(detail::Operand<T> v)
        requires(!std::is_same_v<T, bool>)
    {
        return update(ir::Op::mul, v);
    }
    Var& operator/=(detail::Operand<T> v)
        requires(!std::is_same_v<T, bool>)
    {
        return update(ir::Op::div, v);
    }
    Var& operator%=(detail::Operand<T> v)
        requires(is_int(*internal::scalar_of<T>()))
    {
        return update(ir::Op::rem, v);
    }
    Var& operator&=(detail::Operand<T> v)
        requires(!is_float(*internal::scalar_of<T>()))
    {
        return update(ir::Op::and_, v);
    }
    Var& operator|=(detail::Operand<T> v)
        requires(!is_float(*internal::scalar_of<T>()))
    {
        return update(ir::Op::or_, v);
    }
    Var& operator^=(detail::Operand<T> v)
        requires(!is_float(*internal::scalar_of<T>()))
    {
        return update(ir::Op::xor_, v);
    }
    Var& operator<<=(detail::Operand<T> v)
        requires(is_int(*internal::scalar_of<T>()))
    {
        return update(ir::Op::shl, v);
    }
    Var& operator>>=(detail::Operand<T> v)
        requires(is_int(*internal::scalar_of<T>()))
    {
        return update(ir::Op::shr, v);
    }
    Var& operator<<=(detail::OtherCount<T> n)
        requires(is_int(*internal::scalar_of<T>()))
    {
        return update(ir::Op::shl, {Val<T>(n.handle), n.location.file, n.location.line});
    }
    Var& operator>>=(detail::OtherCount<T> n)
        requires(is_int(*internal::scalar_of<T>()))
    {
        return update(ir::Op::shr, {Val<T>(n.handle), n.location.file, n.location.line});
    }
    friend Var& operator++(detail::Stepped<T> v)
        requires(!std::is_same_v<T, bool>)
    {
        return v.variable.step(ir::Op::add, v.location);
    }
    friend Var& operator--(detail::Stepped<T> v)
        requires(!std::is_same_v<T, bool>)
    {
        return v.variable.step(ir::Op::sub, v.location);
    }
    friend Val<T> operator++(detail::Stepped<T> v, int)
        requires(!std::is_same_v<T, bool>)
    {
        const Val<T> before(detail::handle_of(v.variable, v.location));
        v.variable.step(ir::Op::add, v.location);
        return before;
    }
    friend Val<T> operator--(detail::Stepped<T> v, int)
        requires(!std::is_same_v<T, bool>)
    {
        const Val<T> before(detail::handle_of(v.variable, v.location));
        v.variable.step(ir::Op::sub, v.location);
        return before;
    }
    explicit operator bool() const { return detail::host_condition<T>(); }
    /// The variable's current value.
    operator Val<T>() const { return Val<T>(detail::handle_of(*this, {})); }

    detail::Handle handle;  ///< the variable, not its value

private:
    void declare(const detail::Operand<T>& initial) {
        detail::Recorder& r = detail::Recorder::current("a Var", initial.location);
        const ir::Value v = initial.use(r);
        handle = r.handle(r.at(initial.location).build.var(v));
    }
    Var& set(const detail::Operand<T>& v) {
        detail::Recorder& r = detail::Recorder::current("an assignment to a Var", v.location);
        const ir::Value variable = r.use(handle, v.location), value = v.use(r);
        if (v.location.line) r.at(v.location);
        r.build.set(variable, value);
        return *this;
    }
    Var& update(ir::Op op, const detail::Operand<T>& v) {
        return set(detail::Operand<T>(Val<T>(detail::emit_op(op, {detail::handle_of(*this, v.location), v.handle}, v.location)),
                                      v.location.file, v.location.line));
    }
    Var& step(ir::Op op, detail::SourceLocation at) { return update(op, detail::Operand<T>(1, at.file, at.line)); }
};
template <> class Var<void> {
public:
    template <class T = void> Var() {
        static_assert(detail::never<T>, "pumice: a Var needs an initial value: write Var x = 0.0f;");
    }
};
Var() -> Var<void>;
template <class U>
    requires detail::HostScalar<U>
Var(U) -> Var<U>;
template <class T> Var(const Ref<T>&) -> Var<T>;
template <class T> Var(Val<T>) -> Var<T>;
template <class T> Var(const Var<T>&) -> Var<T>;
template <class U>
    requires detail::HostScalar<U>
Val(U) -> Val<U>;
template <class T> Val(const Ref<T>&) -> Val<T>;
template <class T> Val(const Var<T>&) -> Val<T>;

/// The result of subscripting writable memory: the element's value at that point, assignable only as `a[i] = v`. A named copy
/// cannot be assigned.
template <class T> class Ref : public detail::Infix<T>, public detail::ElementAddress {
public:
    /// Loads a scalar of the element.
    Ref(detail::ElementAddress of, detail::Recorder& r)
        : detail::ElementAddress(std::move(of)), value(r.handle(detail::load_element(r, *this))) {}
    explicit Ref(detail::RefSource& members);
    Ref(const Ref&) = default;
    // Selected by the host's ?: between an element and a number, to reject it.
    template <class U>
        requires detail::Adopts<T, U>
    Ref(U) : detail::ElementAddress({}, 0, {}, {}, nullptr) {
        detail::host_condition<U>();
    }

    void operator=(detail::Operand<T> v) && { store(v.handle, v.location); }
    // A template, so that numbers become Operands and not Refs.
    template <std::same_as<Ref> R> void operator=(const R& v) && { store(v.value, location); }
    void operator=(const Ref&) & {
        static_assert(detail::never<T>,
                      "pumice: a named copy of an element cannot be assigned: write a[i] = v, or Var x = a[i] for a local");
    }
    template <class A>
        requires detail::OtherType<A, T>
    void operator=(const A&) && {
        static_assert(
            detail::never<A>,
            "pumice: the stored value has another type than the element: write cast<T>(x), and no float literal into an integer");
    }
    void operator+=(detail::Operand<T> v) && { update(ir::Op::add, v); }
    void operator-=(detail::Operand<T> v) && { update(ir::Op::sub, v); }
    void operator*=(detail::Operand<T> v) && { update(ir::Op::mul, v); }
    void operator/=(detail::Operand<T> v) && { update(ir::Op::div, v); }
    void operator%=(detail::Operand<T> v) &&
        requires(is_int(*internal::scalar_of<T>())) { update(ir::Op::rem, v); } void operator&=(detail::Operand<T> v) &&
        requires(!is_float(*internal::scalar_of<T>())) { update(ir::Op::and_, v); } void operator|=(detail::Operand<T> v) &&
        requires(!is_float(*internal::scalar_of<T>())) { update(ir::Op::or_, v); } void operator^=(detail::Operand<T> v) &&
        requires(!is_float(*internal::scalar_of<T>())) { update(ir::Op::xor_, v); } void operator<<=(detail::Operand<T> v) &&
        requires(is_int(*internal::scalar_of<T>())) { update(ir::Op::shl, v); } void operator>>=(detail::Operand<T> v) &&
        requires(is_int(*internal::scalar_of<T>())) { update(ir::Op::shr, v); } void operator<<=(detail::OtherCount<T> n) &&
        requires(is_int(*internal::scalar_of<T>())) {
            update(ir::Op::shl, {Val<T>(n.handle), n.location.file, n.location.line});
        } void operator>>=(detail::OtherCount<T> n) &&
        requires(is_int(*internal::scalar_of<T>())) { update(ir::Op::shr, {Val<T>(n.handle), n.location.file, n.location.line}); }
        // +a[i] returns the new value, a[i]++ the old one.
        Val<T> operator++() &&
        requires(!std::is_same_v<T, bool>) { return step(ir::Op::add); } Val<T> operator--() &&
        requires(!std::is_same_v<T, bool>) { return step(ir::Op::sub); } Val<T> operator++(int) &&
        requires(!std::is_same_v<T, bool>) {
            step(ir::Op::add);
            return Val<T>(value);
        } Val<T> operator--(int) && requires(!std::is_same_v<T, bool>) {
            step(ir::Op::sub);
            return Val<T>(value);
        } template <class A> void operator=(const A&) & {
        static_assert(detail::never<A>,
                      "pumice: a named copy of an element cannot be assigned: write a[i] = v, or Var x = a[i] for a local");
    }
    explicit operator bool() const { return detail::host_condition<T>(); }
    operator Val<T>() const { return Val<T>(value); }

    detail::Handle value;  ///< the element when it was subscripted

private:
    void store(detail::Handle v, detail::SourceLocation at) {
        detail::Recorder& r = detail::Recorder::current("an assignment to an element", at);
        r.use(value, at);
        const ir::Value stored = r.use(v, at);
        detail::store_element(r.at(at), *this, stored);
    }
    detail::Handle update(ir::Op op, const detail::Operand<T>& v) {
        const detail::Handle now = detail::emit_op(op, {value, v.handle}, v.location);
        store(now, v.location);
        return now;
    }
    Val<T> step(ir::Op op) { return Val<T>(update(op, detail::Operand<T>(1, location.file, location.line))); }
};

namespace detail {
template <class T> Handle handle_of(const Val<T>& v, SourceLocation) { return v.handle; }
template <class T> Handle handle_of(const Ref<T>& v, SourceLocation) { return v.value; }
template <class T> Handle handle_of(const Var<T>& v, SourceLocation location) {
    Recorder& r = Recorder::current("a Var", location);
    const ir::Value variable = r.use(v.handle, location);
    if (location.line) r.at(location);
    return r.handle(r.build.get(variable));
}
}  // namespace detail

}  // namespace pumice
