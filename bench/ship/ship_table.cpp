#include "bench/ship/ship_table.h"

#include <cstdio>

namespace bench::ship {

void Table::row(const std::string& name, const std::string& device, double ours, const std::string& peer, double theirs,
                double target, const std::string& unit) {
    const double value = theirs > 0 ? ours / theirs : ours;
    const bool missed = target > 0 && value > target;
    misses += missed;
    std::printf("%-34s %-9s %10.4f %10.4f %-11s %8.3f %8.2f %s\n", name.c_str(), device.c_str(), ours, theirs, peer.c_str(),
                value, target, missed ? "MISS" : "");
    std::fflush(stdout);
    results.push_back({{"case", name},
                       {"device", device},
                       {"unit", unit},
                       {"shipped", ours},
                       {"peer", peer},
                       {"beside", theirs},
                       {"target", target}});
}

void Table::wrong(const std::string& name, const std::string& why) {
    ++misses;
    std::printf("%-34s FAILED: %s\n", name.c_str(), why.c_str());
}

}  // namespace bench::ship
