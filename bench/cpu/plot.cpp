// The figures as a picture, a bar chart in SVG: for each case a bar for each peer, as long as the peer's time over ours, on a
// logarithmic scale.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/cpu/run.h"

namespace bench::cpu {
namespace {

constexpr double left = 250, right = 740, bar = 11, gap = 12, top = 50;

/// From 1/4 to 256 times our time.
double place(double ratio) { return left + (right - left) * (std::log2(std::clamp(ratio, 0.25, 256.0)) + 2) / 10; }

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
}

const char* colour(const std::string& peer) {
    if (peer == "OpenMP") return "#4878a8";
    if (peer == "PoCL") return "#c8802c";
    if (peer == "by hand") return "#5a9a5a";
    if (peer == "Halide") return "#9a6aa8";
    return "#888888";
}

}  // namespace

std::string plot(const nlohmann::json& results) {
    std::string body;
    char line[512];
    double y = top;
    const auto put = [&](auto... values) {
        std::snprintf(line, sizeof line, values...);
        body += line;
    };
    for (const auto& r : results) {
        if (!r.contains("peers") || r["peers"].empty() || r.value("device", "").rfind("cpu", 0) != 0) continue;
        put("<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%s</text>\n", left - 8, y + bar, escaped(r["case"]).c_str());
        for (const auto& [peer, ms] : r["peers"].items()) {
            const double ratio = ms.template get<double>() / r["ours_ms"].template get<double>(), one = place(1),
                         end = place(ratio);
            put("<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"%s\"/>\n", std::min(one, end), y, std::abs(end - one),
                bar - 1, colour(peer));
            put("<text x=\"%g\" y=\"%g\" font-size=\"9\">%s %.2f</text>\n", std::max(one, end) + 3, y + bar - 2,
                escaped(peer).c_str(), ratio);
            y += bar;
        }
        y += gap;
    }
    std::string grid;
    for (double ratio = 0.25; ratio <= 256; ratio *= 2) {
        std::snprintf(line, sizeof line,
                      "<line x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\" stroke=\"%s\"/><text x=\"%g\" y=\"%g\" "
                      "text-anchor=\"middle\" font-size=\"9\">%g</text>\n",
                      place(ratio), top - 6, place(ratio), y, ratio == 1 ? "#333333" : "#dddddd", place(ratio), top - 10, ratio);
        grid += line;
    }
    std::snprintf(
        line, sizeof line,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"%g\" font-family=\"sans-serif\" font-size=\"11\">\n",
        y + 20);
    return std::string(line) +
           "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"20\" y=\"20\">Time of each peer over Pumice's on "
           "cpu, by case "
           "(right of 1: Pumice is faster)</text>\n" +
           grid + body + "</svg>\n";
}

}  // namespace bench::cpu
