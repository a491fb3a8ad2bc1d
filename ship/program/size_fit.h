// Integers of captured programs as functions of the sizes, found from their values in several captures.
//
//   n = 256, 257, 512, ...    bytes = 1024, 1028, 2048, ...    =>  4 * n
//                             items = 4, 5, 8, ...             =>  floor((n + 63) / 64)
//
// Forms, the simplest first: a constant; a * M + b; a * M1 + b * M2 + c; a * M1 + b * M2 + c * M3 + d; e * floor((M + c) / d) +
// b. M is a product of at most three sizes. A form has integer coefficients and gives the right value in every capture, of which
// there are more than the form has coefficients.
// Limits: other functions of sizes (minima, logarithms) are not found. Cost: some microseconds for a number, and milliseconds for
// one that has no form; equal columns of values are looked up.
// Textbook name: interpolation by sparse multivariate polynomials, and by step functions.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "runtime/bundle/program_format.h"

namespace pumice::ship {

class SizeFit {
public:
    /// `values[k][v]`: variable v in capture k. The first `sizes` variables are sizes, the others totals of scans. Expressions
    /// are appended to `to`.
    SizeFit(std::vector<std::vector<int64_t>> values, size_t sizes, std::vector<pumice_rt::ExpressionRecord>& to);

    /// The expression of a number that has these values, one a capture; nothing if there is no form.
    std::optional<uint32_t> of(const std::vector<int64_t>& column);
    uint32_t constant(int64_t value);
    size_t captures() const { return values.size(); }

private:
    using Powers = std::vector<size_t>;  ///< a product: the variables, ascending
    struct Term {
        int64_t factor;
        size_t product;
    };
    uint32_t push(pumice_rt::ExpressionOp op, uint32_t a, uint32_t b);
    uint32_t product(size_t number);
    uint32_t sum(const std::vector<Term>& terms, int64_t plus);
    std::optional<uint32_t> polynomial(const std::vector<int64_t>& column, size_t terms);
    std::optional<uint32_t> step(const std::vector<int64_t>& column);
    std::optional<uint32_t> step_of(const std::vector<int64_t>& steps, size_t product, int64_t times, int64_t plus);

    const std::vector<std::vector<int64_t>> values;
    const size_t sizes;
    std::vector<pumice_rt::ExpressionRecord>& list;
    std::vector<Powers> products;
    std::vector<std::vector<int64_t>> columns;  ///< by product: its values
    std::map<std::vector<int64_t>, std::optional<uint32_t>> known;
    std::map<int64_t, uint32_t> constants;
    std::map<size_t, uint32_t> made;  ///< expressions of products
};

}  // namespace pumice::ship
