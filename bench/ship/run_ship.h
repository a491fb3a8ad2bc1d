// A shipped library beside the library itself: native code, launches, and the start of a process.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

namespace bench::ship {

/// Runs the cases, prints the table, and appends a result for each. Returns the number of missed targets; a case whose results
/// differ counts as one.
int run(const std::string& filter, bool quick, nlohmann::json& results);

}  // namespace bench::ship
