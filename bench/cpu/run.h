// The CPU device beside its peers: the table and the figures. The limits of the machine are measured first: memory bandwidth by
// STREAM's triad, and the peak of floating-point operations. Each case is printed as a share of them, too.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

namespace bench::cpu {

struct Options {
    std::string filter;
    bool quick = false;
};

/// Runs the cases, prints the table, and appends a result for each. Returns the number of missed targets; a case whose sides
/// disagree is reported and counts as one.
int run(const Options& options, nlohmann::json& results);
/// Launches, compiling and the disk cache; the number of missed targets.
int run_small(const Options& options, nlohmann::json& results);
/// Prints the names of the cases that the filter leaves.
void list(const std::string& filter);
/// Bars of the ratios to each peer, as SVG.
std::string plot(const nlohmann::json& results);

}  // namespace bench::cpu
