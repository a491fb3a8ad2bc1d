// Sequentialisation of parallel copies, the last step of out-of-SSA translation (Boissinot et al., "Revisiting Out-of-SSA
// Translation for Correctness, Code Quality, and Efficiency", CGO 2009, algorithm 1), extended to sources that are expressions
// over several variables.
//
//   parallel: a = b, b = a          const t = b; b = a; a = t;      (in CopySteps: {0, keep}, {1}, {0})
//   parallel: a = b, b = c          a = b; b = c;
//
// While a target is read by no other remaining copy, it is assigned. When only cycles are left, one source is evaluated into a
// temporary, which frees what it reads; a copy that is the last reader of some target is preferred. Cost: quadratic in the number
// of copies, which is the number of values that a loop or if carries: few. Limits: targets are distinct. For plain moves the
// number of temporaries is the least one, one a cycle; for expressions that read several variables it is a heuristic.
#include "codegen/glsl_body/parallel_copy.h"

#include <algorithm>
#include <unordered_map>

namespace pumice::codegen {
namespace {

class Sequencer {
public:
    explicit Sequencer(std::span<const Assignment> all) : copies(all), kept(all.size()), assigned(all.size()) {
        for (size_t c = 0; c < all.size(); ++c)
            for (const uint32_t v : distinct_reads(c)) ++readers[v];
    }

    std::vector<CopyStep> run() {
        for (size_t left = copies.size(); left > 0;) {
            bool moved = false;
            for (size_t c = 0; c < copies.size(); ++c) {
                if (assigned[c] || readers[copies[c].target] > 0) continue;
                assigned[c] = moved = true;
                --left;
                if (!kept[c]) stop_reading(c);
                steps.push_back({c, false});
            }
            if (!moved && left > 0) break_circle();
        }
        return std::move(steps);
    }

private:
    /// The variables that copy c reads, without repetition and without its own target: an assignment may read what it overwrites.
    std::vector<uint32_t> distinct_reads(size_t c) const {
        std::vector<uint32_t> reads = copies[c].reads;
        std::ranges::sort(reads);
        reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
        std::erase(reads, copies[c].target);
        return reads;
    }
    void stop_reading(size_t c) {
        for (const uint32_t v : distinct_reads(c)) --readers[v];
    }
    /// Evaluates one copy into a temporary. Every remaining target is read by another copy, so at least one copy reads something
    /// and is not kept yet. Preferred: a copy that is the only reader of some target, since that target can be assigned next.
    void break_circle() {
        size_t chosen = copies.size();
        for (size_t c = 0; c < copies.size(); ++c) {
            if (assigned[c] || kept[c]) continue;
            const std::vector<uint32_t> reads = distinct_reads(c);
            const auto frees = [&](uint32_t v) { return readers[v] == 1 && is_open_target(v); };
            if (std::ranges::any_of(reads, frees)) {
                chosen = c;
                break;
            }
            if (!reads.empty() && chosen == copies.size()) chosen = c;
        }
        kept[chosen] = true;
        stop_reading(chosen);
        steps.push_back({chosen, true});
    }
    bool is_open_target(uint32_t v) const {
        for (size_t c = 0; c < copies.size(); ++c)
            if (!assigned[c] && copies[c].target == v) return true;
        return false;
    }

    std::span<const Assignment> copies;
    std::vector<bool> kept, assigned;
    std::unordered_map<uint32_t, int> readers;  ///< per variable: copies that still have to evaluate an expression that reads it
    std::vector<CopyStep> steps;
};

}  // namespace

std::vector<CopyStep> sequence(std::span<const Assignment> copies) { return Sequencer(copies).run(); }

}  // namespace pumice::codegen
