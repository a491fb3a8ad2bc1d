// Footprints: merges the preimages of all taps into one interval of items for each element.
//
// The loop of a gather runs over one interval, whose ends are affine in the element. So the pieces of the preimages
// (index_preimage.cpp), in units of items, are put together:
//
//     tap i        items 2 t + 0.5 to 2 t + 2.5;  t = 0 from the first item on;  t = 9 up to the last item
//     tap i + 1    items 2 t - 1.5 to 2 t + 0.5;  likewise
//     footprint    items 2 t - 1.5 to 2 t + 2.5;  open_before = 0, open_after = 9
//
// Pieces of one element that have no end, as those of a clamp, open its interval. Pieces with a period are shifted by multiples
// of it until they meet. Mirror images have the opposite slope and an interval of their own; both get the wider interval, so that
// they begin in the order of their middles.
// The ends are widened by the rounding of the device, which computes them in f32.
// Cost: a few dozen operations of the host. Limits: f32 holds the items along the axis; more than two intervals are refused, and
// periods far shorter than an item.
// Textbook name: the convex hull of intervals.
#include "autodiff/strategy/item_footprint.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autodiff/strategy/index_preimage.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// Items of a period, at least: the gather loops over the periods in the range, also over those without an item.
constexpr double least_period = 0.5;
constexpr double infinite = std::numeric_limits<double>::infinity();

/// The interval of items of one sign of the slope.
struct Family {
    bool any = false;
    double slope = 0, low = 0, high = 0;
    double middle() const { return (low + high) / 2; }
    double half() const { return (high - low) / 2; }
    /// The ends of the piece relative to the slope, at the multiple of the period that is nearest.
    std::pair<double, double> fitted(const Piece& p) const {
        const double turn = (p.slope - slope) * p.first;  // of the one element of a piece with another slope
        const double low_end = p.low + turn, high_end = p.high + turn;
        const double by = any && p.period > 0 ? std::round(((low_end + high_end) / 2 - middle()) / p.period) * p.period : 0;
        return {low_end - by, high_end - by};
    }
    /// How much wider the interval becomes with the piece.
    double growth(const Piece& p) const {
        const auto [from, to] = fitted(p);
        return std::max(low - from, 0.0) + std::max(to - high, 0.0);
    }
    void add(double from, double to) {
        low = any ? std::min(low, from) : from, high = any ? std::max(high, to) : to;
        any = true;
    }
    void add(const Piece& p) {
        const auto [from, to] = fitted(p);
        add(from, to);
    }
};

bool close(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b)); }

/// Joins constant pieces of one element that touch, such as the parts of a clamped edge before and after another clamp.
void join_touching(std::vector<Piece>& pieces) {
    const auto alone = [](const Piece& p) { return p.slope == 0 && p.period == 0 && p.first == p.last; };
    std::ranges::sort(pieces, {}, &Piece::low);
    std::vector<Piece> joined;
    for (const Piece& p : pieces) {
        const auto same = std::ranges::find_if(
            joined, [&](const Piece& q) { return alone(p) && alone(q) && q.first == p.first && p.low <= q.high; });
        if (same == joined.end())
            joined.push_back(p);
        else
            same->high = std::max(same->high, p.high);
    }
    pieces = std::move(joined);
}

/// The pieces of an index as one or two families.
class Merger {
public:
    Merger(const std::vector<Piece>& pieces, bool reflected) : pieces(pieces), reflected(reflected) {}

    /// False if the pieces have no such footprint.
    bool merge(ItemFootprint& found) {
        const auto main =
            std::ranges::max_element(pieces, {}, [](const Piece& p) { return p.slope == 0 ? -1 : p.last - p.first; });
        own.slope = main->slope, turned.slope = -main->slope;
        if (main->finite())
            own.add(*main);
        else if (const double end = std::isfinite(main->low) ? main->low : main->high; std::isfinite(end))
            own.add(end, end);
        else
            own.add(0, 0);
        double first = infinite, most = -1;
        for (const Piece& p : pieces) {
            if (p.period != main->period) return false;
            first = std::min(first, p.first), most = std::max(most, p.last);
            if (p.finite() && close(p.slope, own.slope))
                own.add(p);
            else if (reflected && close(p.slope, turned.slope))
                turned.add(p);
        }
        for (Piece p : pieces) {
            if (p.finite() && (close(p.slope, own.slope) || (reflected && close(p.slope, turned.slope)))) continue;
            if (p.first != p.last || (!p.finite() && !open_ends(p, found))) return false;
            (turned.any && turned.growth(p) < own.growth(p) ? turned : own).add(p);
        }
        found.slope = own.slope, found.low = own.low, found.high = own.high, found.period = main->period;
        found.first = int64_t(first), found.last = int64_t(most);
        return !reflected || in_turns(found);
    }

private:
    /// A piece of one element without an end opens the element's interval there.
    bool open_ends(Piece& p, ItemFootprint& found) const {
        const double at = own.slope * p.first, low = own.low + at, high = own.high + at;
        const auto open = [&](int64_t& element) {
            const bool fits = element < 0 || element == int64_t(p.first);
            element = int64_t(p.first);
            return fits;
        };
        const bool before = std::isinf(p.low), after = std::isinf(p.high);
        if ((before && !open(found.open_before)) || (after && !open(found.open_after))) return false;
        if (before) p.low = std::min(low, p.high);
        if (after) p.high = std::max(high, p.low);
        return true;
    }

    /// Gives both families the wider interval of them, so that they begin in the order of their middles.
    bool in_turns(ItemFootprint& found) {
        const double period = found.period, at = double(found.first + found.last) / 2;
        const auto apart = [&](double t) { return turned.middle() + turned.slope * t - own.middle() - own.slope * t; };
        if (!turned.any) turned.low = turned.high = own.middle() + 2 * own.slope * at + period / 2;
        const double half = std::max(own.half(), turned.half()), by = std::floor(apart(at) / period) * period;
        turned.low -= by, turned.high -= by;
        found.low = own.middle() - half, found.high = own.middle() + half;
        found.turned_low = turned.middle() - half, found.turned_high = turned.middle() + half;
        const double a = apart(double(found.first)), b = apart(double(found.last));
        return std::min(a, b) >= 0 && std::max(a, b) <= period;
    }

    const std::vector<Piece>& pieces;
    const bool reflected;
    Family own, turned;
};

/// Widens the intervals by the rounding of the device, which computes their ends in f32. False if that is much.
bool widen(ItemFootprint& f, double start, double last, double elements) {
    double largest = std::max(std::abs(start), std::abs(last)) + std::abs(f.slope) * elements +
                     std::max({std::abs(f.low), std::abs(f.high), std::abs(f.turned_low), std::abs(f.turned_high)});
    if (f.period > 0) largest += largest + f.period;  // of the multiple
    const double by = 0x1p-20 * largest;
    f.low -= by, f.high += by, f.turned_low -= by, f.turned_high += by;
    return by <= 0.25;
}

void count_visits(ItemFootprint& f, bool reflected, double start, double last) {
    const double elements = double(f.last - f.first + 1), items = last - start + 1, each = f.high - f.low + 1;
    double copies = 1;
    if (f.period > 0) copies = std::max(1.0, (items + each) / f.period * (reflected ? 2 : 1));
    f.most_visits = std::min(items, each * (std::ceil(copies) + (f.period > 0 ? 1 : 0)));
    f.visits = std::min(items, each * copies) * elements;
    for (const bool before : {true, false}) {
        const int64_t element = before ? f.open_before : f.open_after;
        if (element < 0) continue;
        const double t = f.slope * double(element), more = std::clamp(before ? t + f.low - start : last - t - f.high, 0.0, items);
        f.visits += more, f.most_visits = std::min(items, std::max(f.most_visits, more + each));
    }
    if (f.open_before >= 0 && f.open_before == f.open_after) f.most_visits = items;
}

}  // namespace

std::string footprint_of(const Kernel& k, const AffineBase& base, std::span<const IndexTap> taps, const HostValues& known,
                         int64_t start, int64_t end, int64_t elements, ItemFootprint& found) {
    constexpr int64_t most_items = 1 << 23;
    if (start < -most_items || end > most_items || elements > most_items) return "there are too many indices for f32";
    const Uniform uniform(k);
    AffineValues values(uniform, known, start, end);
    const Affine a = values.of(base.value);
    if (!std::isfinite(a.scale) || !std::isfinite(a.offset) || !std::isfinite(a.error)) return "the position is not finite";
    if (values.overflow) return "an index may wrap";
    if (a.scale == 0 || std::abs(a.scale) * double(end - start) <= 4 * a.error) return "the position is the same for all items";
    Preimage preimage(uniform, base, a, known, start, end);
    for (const IndexTap& tap : taps) preimage.pull(tap, elements);
    if (preimage.refused) return "the host cannot invert an index";
    const double last = double(end - 1);
    std::vector<Piece> items;
    for (Piece p : preimage.pieces) {
        p.low -= a.error, p.high += a.error;
        p.shift(-a.offset);
        p.scale(1 / a.scale), p.period /= std::abs(a.scale);
        Piece inside = p;
        if (p.period == 0) inside.restrict_to(double(start) - 1, last + 1);
        if (inside.empty()) continue;
        p.first = inside.first, p.last = inside.last;
        if (p.period == 0 && p.slope == 0) {  // positions are clamped far outside of a texture
            if (p.low < double(start)) p.low = -infinite;
            if (p.high > last) p.high = infinite;
        }
        if (!p.finite() && (p.period > 0 || p.first != p.last)) return "the host cannot invert an index";
        items.push_back(p);
    }
    join_touching(items);
    if (items.empty()) return found = {}, "";
    if (!Merger(items, base.reflected).merge(found)) return "the items of an element are no interval";
    if (found.period > 0 && found.period < least_period) return "the elements repeat more than twice an item";
    if (!widen(found, double(start), last, double(elements))) return "positions are too coarse in f32";
    count_visits(found, base.reflected, double(start), last);
    return "";
}

}  // namespace pumice::derive
