// Gradient check: compares the reverse mode with central differences along random directions, and finds the worst component.
//
// For random output weights s and a direction v, reverse mode gives <J^T s, v>, and two runs of the primal give the same
// number up to rounding and truncation. Where the two differ most, bisection over the components of v finds one wrong
// component.
//
//     g = reverse(s)                                        one reverse run
//     d = <s, (f(x + h v) - f(x - h v)) / (2 h)>            two primal runs
//     error = |<g, v> - d| / max(norm of g v, |<g, v>|)
//
// Cost: three runs a direction, and about 4 log2(n) more for the bisection of a direction that is the worst so far.
// Limits: the step is absolute for small elements and relative for large ones; kinks between x - h v and x + h v look like
// errors.
// Textbook name: the dot-product (adjoint) test against finite differences.
#include "autodiff/program/check_gradient.h"

#include <cmath>

#include "core/language/rng.h"

namespace pumice {
namespace derive {
namespace {

using Arrays = std::vector<std::vector<double>>;

double dot(const Arrays& a, const Arrays& b) {
    double s = 0;
    for (size_t k = 0; k < a.size(); ++k)
        for (size_t i = 0; i < a[k].size(); ++i) s += a[k][i] * b[k][i];
    return s;
}

std::string in_brackets(const std::string& name) { return name.empty() ? "" : " (" + name + ")"; }

/// The derivative along `direction`, by central differences of the outputs weighted with `seeds`.
double difference(const Checked& c, const Arrays& seeds, const Arrays& direction, double step) {
    Arrays plus = c.start, minus = c.start;
    double length = 0;
    for (size_t k = 0; k < plus.size(); ++k)
        for (size_t i = 0; i < plus[k].size(); ++i) {
            plus[k][i] += step * direction[k][i];
            minus[k][i] -= step * direction[k][i];
            length = std::max(length, std::abs(direction[k][i]));
        }
    return length == 0 ? 0 : (dot(c.run(plus), seeds) - dot(c.run(minus), seeds)) / (2 * step);
}

/// The direction restricted to the components [from, to), counted through all arrays.
Arrays part(const Arrays& direction, size_t from, size_t to) {
    Arrays p = direction;
    size_t n = 0;
    for (std::vector<double>& v : p)
        for (double& d : v) {
            if (n < from || n >= to) d = 0;
            ++n;
        }
    return p;
}

}  // namespace

GradientCheck check(const Checked& c, const GradientCheckOptions& options) {
    if (c.arrays.empty()) fail("check_gradient is given no array of float or double to check: those that are Const are held");
    const double step = options.step > 0 ? options.step : c.single ? 5e-3 : 1e-5;
    const double tolerance = options.tolerance > 0 ? options.tolerance : c.single ? 1e-2 : 1e-6;
    rng::Splittable random(options.seed);
    const auto uniform = [&] { return double(random.next() >> 11) * 0x1p-52 - 1; };  // [-1, 1)

    GradientCheck worst;
    for (int d = 0; d < options.directions; ++d) {
        Arrays seeds = c.start, direction = c.start;
        size_t count = 0;
        for (size_t k = 0; k < seeds.size(); ++k)
            for (size_t i = 0; i < seeds[k].size(); ++i, ++count) {
                seeds[k][i] = double(float(uniform()));
                direction[k][i] = (random.next() & 1 ? 1 : -1) * std::max(1.0, std::abs(c.start[k][i]));
            }
        const Arrays gradient = c.reverse(seeds);
        // Both sums may cancel, so the error is relative to the magnitude of their terms.
        double scale = 1e-30;
        for (size_t k = 0; k < gradient.size(); ++k)
            for (size_t i = 0; i < gradient[k].size(); ++i) scale += std::pow(gradient[k][i] * direction[k][i], 2);
        const auto gap = [&](const Arrays& along) { return std::abs(dot(gradient, along) - difference(c, seeds, along, step)); };
        const double found = gap(direction), error = found / std::max(std::sqrt(scale), std::abs(dot(gradient, direction)));
        if (!(error <= tolerance)) worst.good = false;
        if (d > 0 && (error <= worst.error || std::isnan(worst.error))) continue;
        worst.error = error;
        size_t from = 0, to = count;
        while (to - from > 1) {
            const size_t middle = from + (to - from) / 2;
            const double before = gap(part(direction, from, middle)), after = gap(part(direction, middle, to));
            before >= after || std::isnan(before) ? to = middle : from = middle;
        }
        size_t n = 0;
        for (size_t k = 0; k < gradient.size(); ++k)
            for (size_t i = 0; i < gradient[k].size(); ++i, ++n) {
                if (n != from) continue;
                const CheckedArray& array = c.arrays[k];
                worst.argument = array.argument;
                worst.array = array.name;
                worst.index = int64_t(i / array.members.size());
                worst.member = array.members[i % array.members.size()];
                worst.gradient = gradient[k][i];
                worst.difference = difference(c, seeds, part(direction, from, to), step) / direction[k][i];
            }
    }
    return worst;
}

std::vector<Leaf> checked_leaves(const Element& element, int argument, const std::string& name) {
    std::vector<Leaf> found;
    for (const Leaf& leaf : element.leaves)
        if (leaf.type == Scalar::f32 || leaf.type == Scalar::f64)
            found.push_back(leaf);
        else if (is_float(leaf.type))
            fail("check_gradient is given an array with numbers of type ", name_of(leaf.type), " as argument ", argument,
                 in_brackets(name),
                 "; they are too coarse for differences: give the array as Const, or check the kernel in float");
    return found;
}

}  // namespace derive

std::string GradientCheck::text() const {
    if (good) return pumice::text("the gradient agrees with central differences (worst error ", error, ")");
    return pumice::text("the gradient disagrees with central differences by ", error, ": at element ", index,
                        derive::in_brackets(member), " of argument ", argument, derive::in_brackets(array), " it is ", gradient,
                        ", and the difference ", difference);
}

}  // namespace pumice
