// Square matrices of 2 to 4 rows: host types, and their operators in kernels. Their functions are in functions.h. Row-major, like
// arrays.
#pragma once
#include "core/language/vector.h"

// Host types: plain structs, packed as an array of their rows: float2x2{{1, 2}, {3, 4}}.
#define PUMICE_MATRIX(scalar, vector, name, size, ...)                                                                      \
    namespace pumice {                                                                                                      \
    struct name {                                                                                                           \
        vector __VA_ARGS__;                                                                                                 \
        static name identity() {                                                                                            \
            name m;                                                                                                         \
            for (int i = 0; i < size; ++i) m(i, i) = 1;                                                                     \
            return m;                                                                                                       \
        }                                                                                                                   \
        scalar& operator()(int row, int column) { return reinterpret_cast<scalar*>(this)[row * size + column]; }            \
        scalar operator()(int row, int column) const { return reinterpret_cast<const scalar*>(this)[row * size + column]; } \
        friend bool operator==(const name&, const name&) = default;                                                         \
    };                                                                                                                      \
    template <> inline constexpr int detail::matrix_size<name> = size;                                                      \
    }                                                                                                                       \
    PUMICE_STRUCT_AS(pumice::name, false, scalar, __VA_ARGS__);
#define PUMICE_MATRICES(scalar)                                        \
    PUMICE_MATRIX(scalar, scalar##2, scalar##2x2, 2, row0, row1)       \
    PUMICE_MATRIX(scalar, scalar##3, scalar##3x3, 3, row0, row1, row2) \
    PUMICE_MATRIX(scalar, scalar##4, scalar##4x4, 4, row0, row1, row2, row3)
PUMICE_MATRICES(float)
PUMICE_MATRICES(double)
#undef PUMICE_MATRICES
#undef PUMICE_MATRIX

namespace pumice {
namespace detail {

template <class T> using scalar_of_matrix = typename structure<T>::component;
template <class T> using row_of = typename vector_of<scalar_of_matrix<T>, matrix_size<T>>::type;
template <class A> concept MatrixValue = Matrix<device_type_t<A>>;

/// A scalar with the source line of the operation that uses it.
struct ScalarTerm {
    Handle handle;
    SourceLocation location;
    friend ScalarTerm operator+(ScalarTerm a, ScalarTerm b) {
        return {emit_op(ir::Op::add, {a.handle, b.handle}, a.location), a.location};
    }
    friend ScalarTerm operator-(ScalarTerm a, ScalarTerm b) {
        return {emit_op(ir::Op::sub, {a.handle, b.handle}, a.location), a.location};
    }
    friend ScalarTerm operator*(ScalarTerm a, ScalarTerm b) {
        return {emit_op(ir::Op::mul, {a.handle, b.handle}, a.location), a.location};
    }
    friend ScalarTerm operator/(ScalarTerm a, ScalarTerm b) {
        return {emit_op(ir::Op::div, {a.handle, b.handle}, a.location), a.location};
    }
    ScalarTerm operator-() const { return {emit_op(ir::Op::neg, {handle}, location), location}; }
};
/// Determinant, and the adjugate: the inverse is adjugate / determinant. Row-major, `n` rows.
ScalarTerm determinant(const ScalarTerm* m, int n);
void adjugate(const ScalarTerm* m, int n, ScalarTerm* result);

/// The scalars of a vector or matrix as terms, and back.
template <class T> using Terms = std::array<ScalarTerm, size_t(leaf_count<T>())>;
template <class T> Terms<T> terms(const Operand<T>& operand, SourceLocation location) {
    Terms<T> all;
    for (size_t n = 0; n < all.size(); ++n) all[n] = {operand.handles[n], location};
    return all;
}
template <class T> Val<T> from_terms(const Terms<T>& all) {
    std::array<Handle, std::tuple_size_v<Terms<T>>> handles;
    for (size_t n = 0; n < all.size(); ++n) handles[n] = all[n].handle;
    HandleSource source{handles.data()};
    return Val<T>(source);
}
/// Product of rows x inner and inner x columns; each sum adds from first to last.
template <class R, class A, class B> Val<R> product(const A& a, const B& b, int rows, int inner, int columns) {
    Terms<R> all;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            ScalarTerm sum = a[size_t(i * inner)] * b[size_t(j)];
            for (int k = 1; k < inner; ++k) sum = sum + a[size_t(i * inner + k)] * b[size_t(k * columns + j)];
            all[size_t(i * columns + j)] = sum;
        }
    return from_terms<R>(all);
}

/// An operand that accepts only a T; a vector's Operand also accepts scalars.
template <Composite T> struct Exactly : Operand<T> {
    template <class A>
        requires(std::is_same_v<device_type_t<A>, T> || std::is_same_v<A, T>)
    Exactly(const A& a, PUMICE_AT) : Operand<T>(a, pm_file, pm_line) {}
};

template <Matrix T> struct MatrixInfix<T> {
    using Row = row_of<T>;
    using S = scalar_of_matrix<T>;
    static constexpr int n = matrix_size<T>;
    friend auto operator+(Operand<T> a, Operand<T> b) { return emit_each<T>(ir::Op::add, {&a, &b}, b.location); }
    friend auto operator-(Operand<T> a, Operand<T> b) { return emit_each<T>(ir::Op::sub, {&a, &b}, b.location); }
    friend auto operator-(Operand<T> a) { return emit_each<T>(ir::Op::neg, {&a}, a.location); }
    friend auto operator*(Operand<T> a, Operand<T> b) { return product<T>(terms(a, b.location), terms(b, b.location), n, n, n); }
    /// Matrix times column, and row times matrix.
    friend auto operator*(Operand<T> a, Exactly<Row> b) {
        return product<Row>(terms(a, b.location), terms<Row>(b, b.location), n, n, 1);
    }
    friend auto operator*(Exactly<Row> a, Operand<T> b) {
        return product<Row>(terms<Row>(a, b.location), terms(b, b.location), 1, n, n);
    }
    friend auto operator*(Operand<T> a, Operand<S> b) { return scaled(ir::Op::mul, a, b, b.location); }
    friend auto operator*(Operand<S> a, Operand<T> b) { return scaled(ir::Op::mul, b, a, b.location); }
    friend auto operator/(Operand<T> a, Operand<S> b) { return scaled(ir::Op::div, a, b, b.location); }

private:
    static Val<T> scaled(ir::Op op, const Operand<T>& m, const Operand<S>& by, SourceLocation location) {
        Operand<T> all = m;
        for (Handle& h : all.handles) h = emit_op(op, {h, by.handle}, location);
        return Val<T>(all);
    }
};

}  // namespace detail

// A host matrix with a device value. The source line is that of the preceding operation.
template <detail::Matrix T, class B>
    requires(std::is_same_v<detail::device_type_t<B>, detail::row_of<T>> ||
             std::is_same_v<detail::device_type_t<B>, detail::scalar_of_matrix<T>>)
auto operator*(const T& a, const B& b) {
    return Val<T>(a, "", 0) * b;
}
template <class A, detail::Matrix T>
    requires(std::is_same_v<detail::device_type_t<A>, detail::row_of<T>> ||
             std::is_same_v<detail::device_type_t<A>, detail::scalar_of_matrix<T>>)
auto operator*(const A& a, const T& b) {
    return a * Val<T>(b, "", 0);
}

}  // namespace pumice
