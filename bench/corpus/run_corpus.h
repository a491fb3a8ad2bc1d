// `bench corpus`: the corpus timed on cpu and lavapipe beside OpenMP.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

namespace bench::corpus {

/// The lowest ratios of OpenMP's time to ours, of a kernel and of the geometric mean, and the longest first use.
struct Targets {
    double kernel = 0.9, mean = 1.5, first_use_ms = 60;
};

/// Runs the kernels and gradients whose names contain the filter on `device` ("" for cpu and then lavapipe), prints a row for
/// each and appends its result. With `processor_time` each side has one thread and is timed by the processor's clock, which other
/// work on the machine hardly changes. Returns the number of missed targets of cpu; a kernel whose sides disagree counts as one.
int run(const std::string& device, const std::string& filter, bool quick, bool processor_time, nlohmann::json& results);
/// Prints the names that the filter leaves.
void list(const std::string& filter);

}  // namespace bench::corpus
