#include "bench/corpus/corpus.h"

#include <cmath>
#include <type_traits>

namespace bench::corpus {
namespace {

template <class T> std::string first_difference(const std::vector<T>& ours, const std::vector<T>& theirs, double tolerance) {
    if (ours.size() != theirs.size()) return pumice::text("has ", ours.size(), " elements and the peer's ", theirs.size());
    for (size_t i = 0; i < ours.size(); ++i) {
        bool same = false;
        if constexpr (std::is_floating_point_v<T>) {
            const double a = double(ours[i]), b = double(theirs[i]);
            same = std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b)) || a == b;
        } else {
            same = ours[i] == theirs[i];
        }
        // Bytes are numbers here.
        if (!same) return pumice::text("is ", +ours[i], " at element ", i, " of ", ours.size(), ", and the peer's ", +theirs[i]);
    }
    return "";
}

}  // namespace

std::vector<Kernel> kernels() {
    std::vector<Kernel> all;
    for (const auto& family : {linear_algebra, stencils, groups, irregular, integers, pictures, sampling})
        for (Kernel& k : family()) all.push_back(std::move(k));
    return all;
}

std::string difference(const std::vector<Values>& ours, const std::vector<Values>& theirs, double tolerance) {
    if (ours.size() != theirs.size()) return pumice::text("there are ", ours.size(), " outputs and ", theirs.size());
    for (size_t k = 0; k < ours.size(); ++k) {
        if (ours[k].index() != theirs[k].index()) return pumice::text("output ", k, " is of another type than the peer's");
        const std::string found = std::visit(
            [&](const auto& mine) {
                return first_difference(mine, std::get<std::decay_t<decltype(mine)>>(theirs[k]), tolerance);
            },
            ours[k]);
        if (!found.empty()) return pumice::text("output ", k, " ", found);
    }
    return "";
}

}  // namespace bench::corpus
