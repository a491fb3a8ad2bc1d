#include "core/language/matrix.h"

#include "core/support/error.h"

namespace pumice::detail {

void check_component(int n, int count, const char* of) {
    const std::string name = std::string(of).substr(std::string(of).rfind(':') + 1);
    if (n < 0 || n >= count)
        fail(name.starts_with("int") ? "an " : "a ", name, " is asked for its component ", n, "; they are 0 to ", count - 1);
}

namespace {

/// A minor of a matrix of 3 or 4 rows: the determinant without this row and column.
ScalarTerm minor_of(const ScalarTerm* m, int n, int row, int column) {
    ScalarTerm rest[9];
    int count = 0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            if (i != row && j != column) rest[count++] = m[i * n + j];
    return determinant(rest, n - 1);
}

}  // namespace

// Laplace expansion along the first row. Value numbering shares the common terms of the minors.
ScalarTerm determinant(const ScalarTerm* m, int n) {
    if (n == 1) return m[0];
    if (n == 2) return m[0] * m[3] - m[1] * m[2];
    ScalarTerm sum = m[0] * minor_of(m, n, 0, 0);
    for (int j = 1; j < n; ++j) {
        const ScalarTerm part = m[j] * minor_of(m, n, 0, j);
        sum = j % 2 ? sum - part : sum + part;
    }
    return sum;
}

void adjugate(const ScalarTerm* m, int n, ScalarTerm* result) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            const ScalarTerm minor = n == 2 ? m[(1 - i) * 2 + (1 - j)] : minor_of(m, n, i, j);
            result[j * n + i] = (i + j) % 2 ? -minor : minor;
        }
}

}  // namespace pumice::detail
