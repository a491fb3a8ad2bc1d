#include "ship/program/size_fit.h"

#include <algorithm>
#include <numeric>

#include "core/ir/type.h"

namespace pumice::ship {

using pumice_rt::ExpressionOp;
using pumice_rt::ExpressionRecord;
using Wide = __int128;

SizeFit::SizeFit(std::vector<std::vector<int64_t>> of, size_t size_count, std::vector<ExpressionRecord>& to)
    : values(std::move(of)), sizes(size_count), list(to) {
    const size_t variables = values[0].size();
    for (size_t a = 0; a < variables; ++a) products.push_back({a});
    for (size_t a = 0; a < variables; ++a)
        for (size_t b = a; b < variables; ++b) products.push_back({a, b});
    for (size_t a = 0; a < sizes; ++a)  // totals of scans are lengths: their cubes are no sizes of anything
        for (size_t b = a; b < sizes; ++b)
            for (size_t c = b; c < sizes; ++c) products.push_back({a, b, c});
    for (const Powers& p : products) {
        std::vector<int64_t>& column = columns.emplace_back();
        for (const auto& one : values) {
            int64_t n = 1;
            for (const size_t v : p) n *= one[v];
            column.push_back(n);
        }
    }
}

uint32_t SizeFit::push(ExpressionOp op, uint32_t a, uint32_t b) {
    ExpressionRecord e{};
    e.op = uint32_t(op), e.type = uint32_t(Scalar::i64), e.operands[0] = a, e.operands[1] = b;
    list.push_back(e);
    return uint32_t(list.size() - 1);
}

uint32_t SizeFit::constant(int64_t value) {
    const auto [found, is_new] = constants.try_emplace(value, 0);
    if (is_new) {
        found->second = push(ExpressionOp::constant, 0, 0);
        list.back().bits = uint64_t(value);
    }
    return found->second;
}

uint32_t SizeFit::product(size_t number) {
    const auto there = made.find(number);
    if (there != made.end()) return there->second;
    const Powers& p = products[number];
    uint32_t of = 0;
    if (p.size() == 1) {
        of = push(p[0] < sizes ? ExpressionOp::size : ExpressionOp::scan_total, 0, 0);
        list.back().index = uint32_t(p[0] < sizes ? p[0] : p[0] - sizes);
    } else {
        of = product(p[0]);  // products of one variable come first
        for (size_t i = 1; i < p.size(); ++i) of = push(ExpressionOp::int_mul, of, product(p[i]));
    }
    return made[number] = of;
}

uint32_t SizeFit::sum(const std::vector<Term>& terms, int64_t plus) {
    std::optional<uint32_t> of;
    for (const Term& term : terms) {
        uint32_t one = product(term.product);
        if (term.factor != 1) one = push(ExpressionOp::int_mul, one, constant(term.factor));
        of = of ? push(ExpressionOp::int_add, *of, one) : one;
    }
    return plus == 0 ? *of : push(ExpressionOp::int_add, *of, constant(plus));
}

namespace {

/// a * b - c * d; false if it does not fit.
bool cross(Wide a, Wide b, Wide c, Wide d, Wide& to) {
    Wide x, y;
    return !__builtin_mul_overflow(a, b, &x) && !__builtin_mul_overflow(c, d, &y) && !__builtin_sub_overflow(x, y, &to);
}

/// Solves the square system, of which each row ends with its right side; false without an integer solution.
bool solve(std::vector<std::vector<Wide>> m, std::vector<Wide>& x) {
    const size_t n = m.size();
    // Fraction-free elimination (Bareiss): all divisions are exact.
    Wide before = 1;
    for (size_t i = 0; i < n; ++i) {
        size_t pivot = i;
        while (pivot < n && m[pivot][i] == 0) ++pivot;
        if (pivot == n) return false;
        std::swap(m[i], m[pivot]);
        for (size_t r = 0; r < n; ++r) {
            if (r == i) continue;
            for (size_t c = n + 1; c-- > i + 1;) {
                if (!cross(m[r][c], m[i][i], m[i][c], m[r][i], m[r][c])) return false;
                m[r][c] /= before;
            }
            m[r][i] = 0;
        }
        for (size_t r = 0; r < i; ++r) m[r][r] = m[i][i];
        before = m[i][i];
    }
    x.resize(n);
    for (size_t i = 0; i < n; ++i) {
        if (m[i][n] % m[i][i] != 0) return false;
        x[i] = m[i][n] / m[i][i];
    }
    return true;
}

}  // namespace

/// Tries all sets of so many products, with one capture for each coefficient; the other captures check.
std::optional<uint32_t> SizeFit::polynomial(const std::vector<int64_t>& column, size_t terms) {
    if (values.size() < terms + 2 || products.size() < terms) return std::nullopt;
    std::vector<size_t> chosen(terms);
    std::iota(chosen.begin(), chosen.end(), size_t(0));
    for (;;) {
        std::vector<std::vector<Wide>> m;
        for (size_t k = 0; k <= terms; ++k) {
            std::vector<Wide>& row = m.emplace_back();
            for (const size_t p : chosen) row.push_back(columns[p][k]);
            row.push_back(1), row.push_back(column[k]);
        }
        std::vector<Wide> x;
        if (solve(m, x)) {
            bool right = true;
            for (size_t k = 0; right && k < column.size(); ++k) {
                Wide is = x[terms];
                for (size_t t = 0; t < terms; ++t) is += x[t] * columns[chosen[t]][k];
                right = is == column[k];
            }
            for (size_t t = 0; t <= terms; ++t) right = right && x[t] == int64_t(x[t]) && (t == terms || x[t] != 0);
            if (right) {
                std::vector<Term> all;
                for (size_t t = 0; t < terms; ++t) all.push_back({int64_t(x[t]), chosen[t]});
                return sum(all, int64_t(x[terms]));
            }
        }
        size_t t = terms;
        while (t > 0 && chosen[t - 1] == products.size() - terms + t - 1) --t;
        if (t == 0) return std::nullopt;
        ++chosen[t - 1];
        for (; t < terms; ++t) chosen[t] = chosen[t - 1] + 1;
    }
}

/// floor((M + c) / d) * times + plus: d and c from the bounds that each capture sets.
std::optional<uint32_t> SizeFit::step_of(const std::vector<int64_t>& steps, size_t p, int64_t times, int64_t plus) {
    const std::vector<int64_t>& m = columns[p];
    const auto [least, most] = std::minmax_element(m.begin(), m.end());
    const int64_t down = steps[size_t(least - m.begin())], up = steps[size_t(most - m.begin())];
    if (up - down < 2) return std::nullopt;
    const int64_t first = std::max<int64_t>(2, (*most - *least) / (up - down + 1)), last = (*most - *least) / (up - down - 1) + 1;
    std::optional<std::pair<int64_t, int64_t>> found;
    int matches = 0;
    for (int64_t d = first; d <= last && d - first < 4096; ++d) {
        Wide low = -(Wide(1) << 100), high = Wide(1) << 100;
        for (size_t k = 0; k < m.size(); ++k) {
            low = std::max<Wide>(low, Wide(d) * steps[k] - m[k]);
            high = std::min<Wide>(high, Wide(d) * steps[k] + d - 1 - m[k]);
        }
        if (low > high) continue;
        // Whole multiples and rounding up are the usual forms.
        const auto allowed = [&](int64_t c) { return low <= c && c <= high; };
        if (allowed(d - 1))
            found = {d, d - 1}, ++matches;
        else if (allowed(0))
            found = {d, 0}, ++matches;
        else if (low == high)
            found = {d, int64_t(low)}, ++matches;
    }
    if (matches != 1) return std::nullopt;  // none, or it is not clear which
    const uint32_t above = sum({{1, p}}, found->second);
    uint32_t of = push(ExpressionOp::int_floor_div, above, constant(found->first));
    if (times != 1) of = push(ExpressionOp::int_mul, of, constant(times));
    return plus == 0 ? of : push(ExpressionOp::int_add, of, constant(plus));
}

std::optional<uint32_t> SizeFit::step(const std::vector<int64_t>& column) {
    int64_t common = 0;
    for (const int64_t x : column) common = std::gcd(common, x - column[0]);
    for (int64_t times = common; times >= 1; --times) {
        if (common % times != 0) continue;
        const int64_t plus = ((column[0] % times) + times) % times;
        std::vector<int64_t> steps;
        for (const int64_t x : column) steps.push_back((x - plus) / times);
        for (size_t p = 0; p < products.size(); ++p)
            if (auto of = step_of(steps, p, times, plus)) return of;
        if (common > 1 << 16) break;
    }
    return std::nullopt;
}

std::optional<uint32_t> SizeFit::of(const std::vector<int64_t>& column) {
    if (std::ranges::all_of(column, [&](int64_t x) { return x == column[0]; })) return constant(column[0]);
    const auto [found, is_new] = known.try_emplace(column);
    if (!is_new) return found->second;
    std::optional<uint32_t> made_of;
    for (size_t terms = 1; terms <= 3 && !made_of; ++terms) made_of = polynomial(column, terms);
    if (!made_of) made_of = step(column);
    return found->second = made_of;
}

}  // namespace pumice::ship
