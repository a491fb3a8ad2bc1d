// Gradients beside their primals and beside adjoints written by hand.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

namespace bench::gradients {

/// Runs the cases on a device: the time of the gradient over the primal's (with `cpu`, processor time), and of ours over that of
/// the adjoint written by hand. Appends a result for each; the number of missed targets and of sides that disagree.
int run(const std::string& device, const std::string& filter, bool quick, bool cpu, nlohmann::json& results);
void list(const std::string& filter);

}  // namespace bench::gradients
