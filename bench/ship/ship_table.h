// The table of the benchmark of shipped libraries: a shipped library beside a peer.
#pragma once
#include <string>

#include <nlohmann/json.hpp>

namespace bench::ship {

class Table {
public:
    explicit Table(nlohmann::json& to) : results(to) {}
    /// `theirs`: of the peer; 0 compares the value itself with the target, and a target of 0 with nothing.
    void row(const std::string& name, const std::string& device, double ours, const std::string& peer, double theirs,
             double target, const std::string& unit);
    void wrong(const std::string& name, const std::string& why);
    /// Missed targets, and cases that failed.
    int misses = 0;

private:
    nlohmann::json& results;
};

}  // namespace bench::ship
