// Peers from PyPI, Taichi and Dr.Jit, where the python3 on the PATH has them (nothing here installs any): each case in a process
// of its own, which bench/peers_python/peer.py runs.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "bench/cpu/case.h"

namespace bench::cpu {

using Arrays = std::vector<std::vector<float>>;

/// Adds what there is of them to a case, which the script knows by `name`. `arrays` makes what the kernel reads. A signal
/// and an answer through a pipe, some 50 us, are in their times.
void add_python_peers(Case& to, const std::string& name, std::function<Arrays()> arrays, std::vector<double> numbers = {});

}  // namespace bench::cpu
