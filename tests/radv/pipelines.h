// The driver's statistics of the compute pipelines of this process: the file that tests/layers/null_card_layer.cpp writes.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace radv {

/// Figures of RADV: registers of an item (VGPRs) and of a subgroup (SGPRs); scratch memory of a subgroup in bytes; the estimated
/// cycles of a subgroup, where all loops count as equally long.
struct Pipeline {
    int64_t instructions = 0, vgprs = 0, sgprs = 0, spilled_vgprs = 0, spilled_sgprs = 0, scratch = 0, latency = 0;
    int64_t spills() const { return spilled_vgprs + spilled_sgprs; }
    bool operator==(const Pipeline&) const = default;
};

inline std::string text_of(const Pipeline& p) {
    return std::to_string(p.instructions) + " instructions, " + std::to_string(p.vgprs) + " VGPRs, " + std::to_string(p.sgprs) +
           " SGPRs, " + std::to_string(p.spilled_vgprs) + " and " + std::to_string(p.spilled_sgprs) + " of them spilled, " +
           std::to_string(p.scratch) + " bytes of scratch";
}

/// Reads the file that PUMICE_TEST_PIPELINES names, as it grows. Throws std::runtime_error where a line is not as it should be.
class Pipelines {
public:
    /// The file begins empty.
    Pipelines() {
        const char* const named = std::getenv("PUMICE_TEST_PIPELINES");
        if (!named || !*named) throw std::runtime_error("PUMICE_TEST_PIPELINES names no file");
        std::ofstream(named, std::ios::trunc);
        file.open(named);
        if (!file) throw std::runtime_error(std::string("the file cannot be made: ") + named);
    }
    /// The pipelines that were compiled since the last call.
    std::vector<Pipeline> take() {
        std::vector<Pipeline> all;
        file.clear();
        for (std::string line; std::getline(file, line);) {
            Pipeline p;
            const int read =
                std::sscanf(line.c_str(),
                            "instructions=%ld vgprs=%ld sgprs=%ld spilled_vgprs=%ld spilled_sgprs=%ld scratch=%ld "
                            "latency=%ld",
                            &p.instructions, &p.vgprs, &p.sgprs, &p.spilled_vgprs, &p.spilled_sgprs, &p.scratch, &p.latency);
            if (read != 7) throw std::runtime_error("no line of a pipeline: " + line);
            all.push_back(p);
        }
        return all;
    }

private:
    std::ifstream file;
};

}  // namespace radv
