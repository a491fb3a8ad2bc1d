#include "bench/optimisation_register.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>

#include "bench/corpus/corpus.h"
#include "bench/cpu/case.h"
#include "bench/gradient_cases.h"
#include "bench/timing.h"
#include "core/support/debug.h"
#include "core/support/error.h"
#include "cpu/plan/cpu_rules.h"
#include "cpu/runtime/cpu.h"

namespace bench {
namespace {

constexpr double counts = 1.03;  ///< a ratio from which a gain or a loss is told from noise

/// A piece of work on any device.
struct Work {
    std::string name;
    std::function<std::function<void()>(const pumice::Device&)> on;
};

std::vector<Work> all_work() {
    std::vector<Work> all;
    for (const auto& cases : {cpu::stream_cases, cpu::group_cases, cpu::compute_cases, cpu::flow_cases})
        for (cpu::Case& c : cases())
            all.push_back({c.name, [ours = std::move(c.ours)](const pumice::Device& d) { return ours(d).once; }});
    for (corpus::Kernel& k : corpus::kernels())
        all.push_back(
            {k.name, [ours = std::move(k.ours)](const pumice::Device& d) { return ours(d, corpus::Size::benchmark).once; }});
    const std::pair<const char*, gradients::Case (*)(const pumice::Device&)> cases[] = {
        {"diffusion", gradients::diffusion},
        {"n-body", gradients::nbody},
        {"Lotka-Volterra", gradients::lotka_volterra},
        {"product of matrices", gradients::matrices},
        {"logsumexp", gradients::rows},
        {"Gaussian mixture", gradients::gmm},
    };
    for (const auto& [name, make] : cases)
        all.push_back({pumice::text("gradient of ", name), [make = make](const pumice::Device& d) {
                           const auto c = std::make_shared<gradients::Case>(make(d));
                           return [c] { c->seed(), c->gradient(); };
                       }});
    for (corpus::Gradient& g : corpus::gradients())
        all.push_back({pumice::text("gradient of ", g.name), [sides = std::move(g.sides)](const pumice::Device& d) {
                           const auto s = std::make_shared<corpus::Gradient::Sides>(sides(d, corpus::Size::benchmark));
                           return [s] { s->seed(), s->reverse(); };
                       }});
    return all;
}

/// A device of one thread, whose processor time other work on the machine hardly changes.
pumice::Device without(std::string_view rule) {
    const pumice::debug::Override rules("PUMICE_CPU_WITHOUT", std::string(rule)), threads("PUMICE_CPU_THREADS", "1");
    return pumice::Device(pumice::cpu::open());
}

int code_lines(const std::filesystem::path& path) {
    std::ifstream file(path);
    int lines = 0;
    for (std::string line; std::getline(file, line);) {
        const size_t first = line.find_first_not_of(" \t");
        lines += first != line.npos && line.compare(first, 2, "//") != 0;
    }
    return lines;
}

/// The effect of a rule on each piece of work: the time without it over the time with it.
struct Gains {
    std::vector<std::pair<double, std::string>> ratios;
    double mean() const {
        double logs = 0;
        for (const auto& [ratio, name] : ratios) logs += std::log(ratio);
        return ratios.empty() ? 1 : std::exp(logs / double(ratios.size()));
    }
    /// The work that counts, the largest effect first, as "triad 1.20, gemm 1.05".
    std::string listed(bool gains, size_t most) const {
        std::vector<std::pair<double, std::string>> some;
        for (const auto& r : ratios)
            if (gains ? r.first > counts : r.first < 1 / counts) some.push_back(r);
        std::ranges::sort(some, [&](const auto& a, const auto& b) { return gains ? a.first > b.first : a.first < b.first; });
        std::string out;
        char number[32];
        for (size_t s = 0; s < std::min(most, some.size()); ++s) {
            std::snprintf(number, sizeof number, " %.2f", some[s].first);
            out += (s ? ", " : "") + some[s].second + number;
        }
        if (some.size() > most) out += pumice::text(", and ", some.size() - most, " more");
        return out;
    }
};

Gains gains_of(std::string_view rule, const pumice::Device& all, double budget_ms) {
    const pumice::Device one_less = without(rule);
    Gains gains;
    for (const Work& work : all_work()) {
        // An effect that counts is measured again, and counts as far as both measurements agree on it.
        const auto without_it = work.on(one_less), with_it = work.on(all);
        const auto ratio = [&] {
            const std::vector<double> ms = measure_in_blocks({without_it, with_it}, budget_ms / 2, {}, processor_ms);
            return ms[0] / ms[1];
        };
        const double first = ratio(), second = first > counts || first < 1 / counts ? ratio() : first;
        const bool gain = first > 1 && second > 1, loss = first < 1 && second < 1;
        gains.ratios.emplace_back(gain ? std::min(first, second) : loss ? std::max(first, second) : 1, work.name);
    }
    return gains;
}

/// The page with this section in place of the one with the same heading, or after all others.
std::string with_section(const std::string& page, const std::string& heading, const std::string& body) {
    const std::string begin = "## " + heading + "\n";
    size_t at = page.find(begin);
    if (at == page.npos) return page + "\n" + begin + body;
    const size_t end = page.find("\n## ", at);
    return page.substr(0, at) + begin + body + (end == page.npos ? "" : page.substr(end));
}

}  // namespace

void register_rules(const std::string& filter, bool quick, const std::filesystem::path& path) {
    const pumice::Device all = without("");
    const std::string name = all.name();  // "cpu (znver3, 8 wide, 2 threads)"
    const std::string heading = name.find("16 wide") != name.npos ? "AVX-512" : name.find("8 wide") != name.npos ? "AVX2" : name;
    std::string body = pumice::text("\nMeasured on ", name, ", over ", all_work().size(), " pieces of work. ",
                                    "Ratio: time without the rule / time with the rule.\n\n",
                                    "| rule | file | lines | mean | gains | loses |\n|---|---|---|---|---|---|\n");
    std::printf("%s\nTime without a rule over the time with it.\n", name.c_str());
    for (const pumice::cpu::RuleText& rule : pumice::cpu::rule_texts()) {
        if (rule.name.find(filter) == rule.name.npos) continue;
        const Gains gains = gains_of(rule.name, all, quick ? 60 : 400);
        char mean[32];
        std::snprintf(mean, sizeof mean, "%.3f", gains.mean());
        const std::string better = gains.listed(true, 6), worse = gains.listed(false, 4);
        std::printf("%-26s %s  gains: %s  loses: %s\n", std::string(rule.name).c_str(), mean, better.c_str(), worse.c_str());
        std::fflush(stdout);
        body += pumice::text("| `", rule.name, "` | `", rule.file, "` | ",
                             code_lines(std::filesystem::path(PUMICE_SOURCE_FOLDER) / rule.file), " | ", mean, " | ", better,
                             " | ", worse, " |\n");
    }
    if (path.empty() || !filter.empty()) return;
    std::ifstream old(path);
    const std::string page(std::istreambuf_iterator<char>(old), {});
    std::ofstream file(path);
    file << with_section(page, heading, body);
    if (!file.flush()) pumice::fail("the register of optimisations cannot be written to ", path.string());
}

}  // namespace bench
