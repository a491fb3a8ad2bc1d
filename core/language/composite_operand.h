// Operands of composite type, and the sources from which the members of a Val, Var or Ref of a struct take their handles.
#pragma once
#include <array>
#include <cstddef>

#include "core/language/value.h"

namespace pumice::detail {

// Source of a Val's members: each takes the next scalar's handle. named() is called before each member.
struct HandleSource {
    const Handle* next;
    HandleSource& named(const char*) { return *this; }
};
struct VarSource {
    const Handle* next;
    SourceLocation location;
    VarSource& named(const char*) { return *this; }
};
/// Source of kernel parameters. A struct parameter of the kernel is several of the IR; messages name the member.
struct ParameterSource {
    Recorder& recorder;
    SourceLocation location;
    int number;        ///< of the kernel's parameter, counted from 1
    std::string path;  ///< of the member, "" for the parameter itself
    ParameterSource named(const char* member) const { return {recorder, location, number, member_path(path, member)}; }
};
Handle declare_scalar(const ParameterSource& source, Scalar type);
struct RefSource {
    ElementAddress next;
    Recorder& recorder;
    RefSource& named(const char*) { return *this; }
};
RefSource& no_source();  // never called: for expressions that a static_assert rejects

/// An operand of composite type. For a vector, a scalar stands for all components.
template <Composite T> struct Operand<T> {
    std::array<Handle, size_t(leaf_count<T>())> handles;
    SourceLocation location;

    template <class A>
        requires std::is_same_v<device_type_t<A>, T>
    Operand(const A& a, PUMICE_AT) : location(PUMICE_HERE) {
        Handle* next = handles.data();
        put(a, next);
    }
    Operand(const T& constant, PUMICE_AT) : location(PUMICE_HERE) {
        Handle* next = handles.data();
        put(constant, next);
    }
    template <class A>
        requires(structure<T>::is_vector && OperandOf<A, typename structure<T>::component>)
    Operand(const A& a, PUMICE_AT) : location(PUMICE_HERE) {
        handles.fill(Operand<typename structure<T>::component>(a, pm_file, pm_line).handle);
    }
    /// One scalar for all components.
    Operand(Handle all, SourceLocation at) : location(at) { handles.fill(all); }

private:
    template <class A> void put(const A& a, Handle*& next) {
        if constexpr (ScalarType<A>)
            *next++ = Operand<A>(a, location.file, location.line).handle;
        else if constexpr (Composite<A>)
            structure<A>::each_value(a, [&](const auto& member) { put(member, next); });
        else if constexpr (Composite<device_type_t<A>>)
            a.each([&](const auto& member) { put(member, next); });
        else
            *next++ = handle_of(a, location);
    }
};
template <class A, class T> concept CompositeOperandOf = Composite<T> && std::is_convertible_v<const A&, Operand<T>>;

/// Number of components of scalar type S in a part of a vector or matrix: a scalar or a vector; 0 for other types.
template <class S, class A> constexpr int part_count() {
    using D = device_type_t<A>;
    if constexpr (OperandOf<A, S>)
        return 1;
    else if constexpr (Composite<D>)
        return part_count<S, D>();
    else if constexpr (Composite<A>)
        return structure<A>::is_vector && std::is_same_v<typename structure<A>::component, S> ? leaf_count<A>() : 0;
    else
        return 0;
}
/// Parts with as many components in all as the vector or matrix T.
template <class T, class... A> concept PartsOf = Composite<T> && ScalarType<typename structure<T>::component> &&
                                                 ((part_count<typename structure<T>::component, A>() > 0) && ...) &&
                                                 (part_count<typename structure<T>::component, A>() + ...) == leaf_count<T>();
template <class T, class... A> auto joined_handles(const A&... parts) {
    using S = typename structure<T>::component;
    std::array<Handle, size_t(leaf_count<T>())> all;
    size_t n = 0;
    const auto put = [&](const auto& part) {
        using P = std::remove_cvref_t<decltype(part)>;
        if constexpr (OperandOf<P, S>)
            all[n++] = Operand<S>(part, "", 0).handle;
        else if constexpr (Composite<P>)
            for (const Handle& h : Operand<P>(part, "", 0).handles) all[n++] = h;
        else
            for (const Handle& h : Operand<device_type_t<P>>(part, "", 0).handles) all[n++] = h;
    };
    (put(parts), ...);
    return all;
}

/// True for shift counts of a T that are no Operand of T: integers, scalar or vectors of the same length.
template <class U, class T> constexpr bool counts_for() {
    if constexpr (!structure<T>::is_vector)
        return false;
    else if constexpr (!Integer<typename structure<T>::component>)
        return false;
    else if constexpr (ScalarType<U>)
        return Integer<U> && !std::is_same_v<U, typename structure<T>::component>;
    else if constexpr (!Composite<U>)
        return false;
    else if constexpr (!structure<U>::is_vector)
        return false;
    else
        return Integer<typename structure<U>::component> && leaf_count<U>() == leaf_count<T>() && !std::is_same_v<U, T>;
}
template <class A, class T> concept CountsFor = counts_for<device_type_t<A>, T>();

/// Rows (and columns) of a square matrix; 0 for other types.
template <class T> inline constexpr int matrix_size = 0;
template <class T> concept Matrix = Composite<T> && matrix_size<T> > 0;
/// Throws Error unless 0 <= n < count, for component n of a vector or matrix.
void check_component(int n, int count, const char* of);
template <template <class> class W, class S, class M> W<S>* nth_scalar(M& members, int& n) {
    W<S>* found = nullptr;
    members.each([&]<class F>(const W<F>& member) {
        if constexpr (ScalarType<F>) {
            if (n-- == 0) found = const_cast<W<S>*>(&member);
        } else if (!found)
            found = nth_scalar<W, S>(member, n);
    });
    return found;
}
template <template <class> class W, class T, class M> auto& component_at(M& members, int n) {
    check_component(n, leaf_count<T>(), structure<T>::name);
    return *nth_scalar<W, typename structure<T>::component>(members, n);
}
template <class T, template <class> class W, class M> auto& component_at(M& members, int row, int column) {
    check_component(row, matrix_size<T>, structure<T>::name);
    check_component(column, matrix_size<T>, structure<T>::name);
    return component_at<W, T>(members, row * matrix_size<T> + column);
}

/// A value of what `make` gives for the handle of each scalar of x.
template <DeviceValue A, class Emit> auto each_scalar(const A& x, SourceLocation location, const Emit& make) {
    using T = device_type_t<A>;
    const Operand<T> operand(x, location.file, location.line);
    if constexpr (ScalarType<T>) {
        return Val<T>(make(operand.handle));
    } else {
        std::array<Handle, size_t(leaf_count<T>())> results;
        for (size_t n = 0; n < results.size(); ++n) results[n] = make(operand.handles[n]);
        HandleSource source{results.data()};
        return Val<T>(source);
    }
}

/// Emits one op for each component.
template <Composite T> Val<T> emit_each(ir::Op op, std::initializer_list<const Operand<T>*> operands, SourceLocation location) {
    std::array<Handle, size_t(leaf_count<T>())> results;
    for (size_t n = 0; n < results.size(); ++n) {
        ir::Value v[3];
        size_t count = 0;
        Recorder& r = Recorder::current("an operation on device values", location);
        for (const Operand<T>* o : operands) v[count++] = r.use(o->handles[n], location);
        results[n] = r.handle(r.at(location).build.op(op, std::span<const ir::Value>(v, count)));
    }
    HandleSource source{results.data()};
    return Val<T>(source);
}

/// The result of `old op by`, for compound assignments.
template <class A, Composite T> Operand<T> updated(ir::Op op, const A& old, const Operand<T>& by) {
    const Operand<T> first(old, by.location.file, by.location.line);
    return Operand<T>(emit_each<T>(op, {&first, &by}, by.location), by.location.file, by.location.line);
}

}  // namespace pumice::detail
