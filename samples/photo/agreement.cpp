#include "samples/photo/agreement.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>

namespace {

/// NaN in one result only is an infinite difference.
double greatest_difference(const std::vector<float>& a, const std::vector<float>& b) {
    double greatest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const double difference = std::abs(double(a[i]) - double(b[i]));
        if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
        greatest = std::max(greatest, difference);
    }
    return greatest;
}

}  // namespace

Agreement compare(const Results& a, const Results& b) {
    Agreement found;
    for (size_t i = 0; i < a.histogram.size(); ++i)
        found.histogram = std::max(found.histogram, std::abs(int64_t(a.histogram[i]) - int64_t(b.histogram[i])));
    for (size_t i = 0; i < a.equalised.size(); ++i)
        for (int shift : {0, 8, 16, 24})
            found.equalised = std::max(found.equalised,
                                       std::abs(int64_t(a.equalised[i] >> shift & 255) - int64_t(b.equalised[i] >> shift & 255)));
    found.blurred = greatest_difference(a.blurred, b.blurred);
    found.edges = greatest_difference(a.edges, b.edges);
    return found;
}

bool Agreement::good() const {
    return histogram == 0 && equalised == 0 && blurred <= blurred_tolerance && edges <= edges_tolerance;
}

std::string Agreement::sentence() const {
    std::ostringstream out;
    out << std::setprecision(2);
    const auto part = [&](const char* what, double difference, const char* unit, double allowed) {
        if (out.tellp() > 0) out << ", ";
        if (difference == 0)
            out << what << " equal";
        else
            out << what << " differs by up to " << difference << unit << " (allowed: " << allowed << ")";
    };
    part("histogram", double(histogram), " pixels", 0);
    part("equalised picture", double(equalised), " levels", 0);
    part("blurred picture", blurred, " levels", blurred_tolerance);
    part("edge picture", edges, " levels a pixel", edges_tolerance);
    return out.str();
}
