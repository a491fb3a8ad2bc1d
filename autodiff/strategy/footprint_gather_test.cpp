// Footprint gather: the kernels that it makes of samples, the refusals, and the intervals of items, which must contain every item
// that touches an element.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "autodiff/analysis/accumulation.h"
#include "autodiff/analysis/canonical_form.h"
#include "autodiff/sweep/primal.h"
#include "core/lowering/specialise_images.h"
#include "core/support/error.h"

namespace pumice::derive {
namespace {

using ir::Kernel;

/// The kernel for textures with this filter and wrap.
Kernel with_textures(const std::string& text, Filter filter, Wrap wrap) {
    const Kernel k = ir::parse(text);
    std::vector<ImageInfo> images(k.params.size());
    for (const ir::Memory& m : k.memories) {
        if (!m.image) continue;
        ImageInfo& info = images[size_t(m.argument)];
        info = m.image;
        info.resolved = true, info.format = Format::r32_float, info.filter = filter, info.wrap = wrap;
        info.border = {0x3f800000, 0, 0, 0};
    }
    return ir::specialise_images(k, images, false);
}

/// A kernel of one dimension with one sample at arg3 * x + arg4.
std::string line(const std::string& position = "%p = mul %f, %s : f32\n%u = add %p, %o : f32", const std::string& use = "") {
    return R"(kernel "line" math contract rank 1 (arg1: out f32[1], arg2: in f32[2] texture 1, arg3: f32, arg4: f32) files ["l.cpp"] {
        %x = global_index 0 : i32
        %f = cast %x : f32
        %s = argument arg3 : f32
        %o = argument arg4 : f32
        %none = constant 0.0 : f32
        )" +
           position + "\n%c = sample arg2[%none, %u] : f32\n" + use + R"(
        store arg1[%x], %c : f32
        return
    })";
}
const Signature by_texels{{Activity::duplicated_no_need, Activity::duplicated, Activity::constant, Activity::constant}, 1};

size_t gatherers(const std::string& text) {
    const Adjoint made = adjoint(with_textures(text, Filter::linear, Wrap::clamp), by_texels);
    return made.footprint_gather ? made.footprint_gather->gatherers.size() : 0;
}

TEST(footprint_gather, of_a_sample_has_no_atomics) {
    for (const Wrap wrap : {Wrap::repeat, Wrap::clamp, Wrap::mirror, Wrap::border}) {
        const Adjoint made = adjoint(with_textures(line(), Filter::linear, wrap), by_texels);
        ASSERT_TRUE(made.footprint_gather) << wrap_names[size_t(wrap)];
        ASSERT_EQ(made.footprint_gather->gatherers.size(), 1u);
        const auto& g = made.footprint_gather->gatherers[0];
        const std::string text = ir::print(g.kernel), rest = ir::print(made.footprint_gather->rest);
        EXPECT_EQ(ir::verify(g.kernel), "");
        EXPECT_NE(text.find("math strict"), std::string::npos);
        EXPECT_NE(text.find("for "), std::string::npos) << text;
        EXPECT_EQ(text.find("atomic"), std::string::npos) << text;
        EXPECT_EQ(rest.find("atomic"), std::string::npos) << rest;
        EXPECT_EQ(rest.find("sample"), std::string::npos) << rest;
        ASSERT_EQ(g.groups.size(), 1u);
        EXPECT_EQ(g.groups[0].additions, 2);
        EXPECT_EQ(g.groups[0].dimensions[0].periodic, wrap == Wrap::repeat || wrap == Wrap::mirror);
        EXPECT_EQ(g.groups[0].dimensions[0].reflected, wrap == Wrap::mirror);
    }
}

/// The shape of the kernel: the interval, the taps with their weights, one addition of the adjoint for both taps.
TEST(footprint_gather, adds_an_item_once_for_all_taps) {
    const Adjoint made = adjoint(with_textures(line(), Filter::linear, Wrap::clamp), by_texels);
    const std::string text = ir::print(made.footprint_gather->gatherers[0].kernel);
    const size_t loop = text.find("for "), taken = text.find("load arg2[", loop);
    ASSERT_NE(taken, std::string::npos) << text;
    EXPECT_EQ(text.find("load arg2[", taken + 1), std::string::npos) << text;
    EXPECT_LT(text.find("ceil"), loop) << text;  // the ends stand before the loop
    EXPECT_NE(text.find("select", loop), std::string::npos) << text;
    EXPECT_NE(text.find("store arg4["), std::string::npos) << text;
}

TEST(footprint_gather, of_positions_that_are_affine) {
    EXPECT_EQ(gatherers(line("%u = fma %f, %s, %o : f32")), 1u);
    EXPECT_EQ(gatherers(line("%p = add %f, %o : f32\n%u = div %p, %s : f32")), 1u);
    EXPECT_EQ(gatherers(line("%two = constant 2 : i32\n%y = mul %x, %two : i32\n%g = cast %y : f32\n%u = mul %g, %s : f32")), 1u);
    EXPECT_EQ(gatherers(line("%p = mul %f, %s : f32\n%q = sub %o, %p : f32\n%u = neg %q : f32")), 1u);
    EXPECT_EQ(gatherers(line("%r = mul %s, %o : f32\n%p = mul %f, %r : f32\n%u = sub %p, %f : f32")), 1u);
}

TEST(footprint_gather, not_of_other_positions) {
    EXPECT_EQ(gatherers(line("%u = mul %f, %f : f32")), 0u);
    EXPECT_EQ(gatherers(line("%p = mul %f, %s : f32\n%u = sin %p : f32")), 0u);
    EXPECT_EQ(gatherers(line("%c1 = cos %s : f32\n%u = mul %f, %c1 : f32")), 0u);  // the host's cosine may be another one
    EXPECT_EQ(gatherers(line("%a = load arg1[%x] : f32\n%u = mul %a, %s : f32")), 0u);
    EXPECT_EQ(gatherers(line("%u = mul %s, %o : f32")), 0u);  // a sum over all items
}

TEST(footprint_gather, says_why_not) {
    const auto reason = [](const std::string& text) -> std::string {
        const Kernel k = canonical(with_textures(text, Filter::linear, Wrap::clamp));
        const Primal primal(k, by_texels, false);
        const char* why = primal.footprints.why_not(ir::MemoryId{1});
        return why ? why : "";
    };
    EXPECT_EQ(reason(line()), "");
    EXPECT_EQ(reason(line("%u = mul %f, %f : f32")), "an index has no affine position");
    EXPECT_EQ(reason(line("%u = mul %f, %s : f32", "print \"x\"\n")), "the kernel has a loop, an atomic, or memory of its own");
    const Kernel k = canonical(with_textures(line(), Filter::linear, Wrap::clamp));
    EXPECT_STREQ(Primal(k, by_texels, true).footprints.why_not(ir::MemoryId{1}), "the halves of a derivative are two kernels");
}

// ---- the intervals ----

/// The taps of the sample of a kernel, and their base.
struct Sample {
    Kernel k;
    std::vector<IndexTap> taps;
    AffineBase base;
};
Sample sample_of(Filter filter, Wrap wrap) {
    Sample s{canonical(with_textures(line(), filter, wrap)), {}, {}};
    const Primal primal(s.k, by_texels, false);
    EXPECT_EQ(primal.footprints.owners.size(), 1u);
    const FootprintGather::Group& group = primal.footprints.owners.at(0).groups.at(0);
    EXPECT_EQ(group.loads.size(), filter == Filter::nearest ? 1u : filter == Filter::linear ? 2u : 4u);
    s.base = group.dimensions[0].base;
    for (const ir::InstId load : group.loads) {
        const ir::Value index = indices_of(s.k, s.k[load])[0];
        std::vector<IndexCondition> conditions;
        for (const auto& [user, operand] : primal.gather.users(s.k.result(s.k[load])))
            if (s.k[user].op == ir::Op::select) conditions.push_back({s.k.operands(s.k[user])[0], operand == 1});
        s.taps.push_back({index, conditions_on(s.k, index, conditions)});
    }
    return s;
}

/// The items that the kernel visits for an element: the loops of emit_footprint_gather.cpp.
std::vector<int64_t> visited_by(const ItemFootprint& f, const AffineBase& base, int64_t t, int64_t start, int64_t end) {
    std::vector<int64_t> items;
    if (t < f.first || t > f.last) return items;
    const float at = float(t) * float(f.slope), from = float(start), to = float(end);
    const auto inside = [&](float x) { return int64_t(std::max(std::min(x, to), from)); };
    const auto visit = [&](int64_t first, int64_t past) {
        for (int64_t i = first; i < past; ++i) items.push_back(i);
    };
    const float low = at + float(f.low), high = at + float(f.high);
    if (!base.periodic) {
        visit(base.cut && t == f.open_before ? start : inside(std::ceil(low)),
              base.cut && t == f.open_after ? end : inside(std::floor(high) + 1));
        return items;
    }
    const float period = f.period > 0 ? float(f.period) : 1, rate = f.period > 0 ? float(1 / f.period) : 1;
    const float turned_low = float(f.turned_low) - at, turned_high = float(f.turned_high) - at;
    const float least = base.reflected ? std::min(low, turned_low) : low,
                most = base.reflected ? std::max(high, turned_high) : high;
    int64_t visited = start;
    for (int64_t n = int64_t(std::floor((from - most) * rate)); n <= int64_t(std::ceil((to - least) * rate)); ++n)
        for (int turn = 0; turn < (base.reflected ? 2 : 1); ++turn) {
            const float by = float(n) * period;
            const int64_t past = inside(std::floor((turn ? turned_high : high) + by) + 1);
            visit(std::max(inside(std::ceil((turn ? turned_low : low) + by)), visited), past);
            visited = std::max(visited, past);
        }
    return items;
}

TEST(footprint_gather, intervals_contain_every_item_of_an_element_once) {
    std::mt19937_64 random(3);
    const auto roll = [&](uint64_t n) { return int64_t(random() % n); };
    const auto real = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    for (const Filter filter : {Filter::nearest, Filter::linear, Filter::cubic})
        for (const Wrap wrap : {Wrap::repeat, Wrap::clamp, Wrap::mirror, Wrap::border}) {
            const Sample s = sample_of(filter, wrap);
            int refused = 0;
            for (int trial = 0; trial < 60; ++trial) {
                const int64_t texels = 1 + roll(trial % 2 ? 40 : 6), start = roll(3) ? 0 : roll(50), end = start + 1 + roll(300);
                float scale = float(real(-4, 4) / double(texels) / (roll(2) ? 1 : 8)), offset = float(real(-3, 3));
                if (roll(4) == 0) scale = float(roll(2) ? 1 : -1) / float(end - start), offset = scale > 0 ? 0.5f * scale : 1;
                HostValues known;
                known.scalar = [&](size_t p) { return uint64_t(std::bit_cast<uint32_t>(p == 2 ? scale : offset)); };
                known.extent = [&](size_t, int) { return texels; };
                ItemFootprint f;
                const std::string refusal = footprint_of(s.k, s.base, s.taps, known, start, end, texels, f);
                SCOPED_TRACE(text(filter_names[size_t(filter)], " ", wrap_names[size_t(wrap)], ", ", texels, " texels, items ",
                                  start, " to ", end, ", ", scale, " x + ", offset, " ", refusal));
                if (!refusal.empty()) {
                    ++refused;
                    continue;
                }
                std::vector<std::vector<int64_t>> visited(static_cast<size_t>(texels));
                double visits = 0;
                for (int64_t t = 0; t < texels; ++t) {
                    auto& items = visited[size_t(t)];
                    items = visited_by(f, s.base, t, start, end);
                    visits += double(items.size());
                    EXPECT_LE(double(items.size()), f.most_visits + 2);
                    for (size_t i = 1; i < items.size(); ++i) ASSERT_LT(items[i - 1], items[i]) << "texel " << t;
                }
                double touches = 0;
                for (int64_t x = start; x < end; ++x) {
                    known.item[0] = x;
                    std::vector<int64_t> touched;
                    for (const IndexTap& tap : s.taps) {
                        const auto holds = [&](const IndexCondition& c) {
                            return (number_of(s.k, c.condition, known) != 0) == c.holds;
                        };
                        if (!std::ranges::all_of(tap.conditions, holds)) continue;
                        touched.push_back(number_of(s.k, tap.index, known));
                        ASSERT_TRUE(std::ranges::binary_search(visited[size_t(touched.back())], x))
                            << "item " << x << " has texel " << touched.back();
                    }
                    std::ranges::sort(touched);
                    touches += double(std::unique(touched.begin(), touched.end()) - touched.begin());
                }
                // Not many more than need be: the ends of intervals, and rounding.
                EXPECT_LE(visits, 1.5 * touches + 4 * double(texels) * (1 + double(end - start) * std::abs(scale)));
                EXPECT_LE(visits, 1.5 * f.visits + 2 * double(texels));
            }
            EXPECT_LE(refused, 10) << filter_names[size_t(filter)] << " " << wrap_names[size_t(wrap)];
        }
}

/// Positions in f32 round so that the last texel of one copy is the first one of the next.
TEST(footprint_gather, is_refused_where_positions_are_coarse_or_stand_still) {
    const Sample s = sample_of(Filter::linear, Wrap::repeat);
    const auto refusal = [&](float scale, float offset, int64_t end) {
        HostValues known;
        known.scalar = [&](size_t p) { return uint64_t(std::bit_cast<uint32_t>(p == 2 ? scale : offset)); };
        known.extent = [&](size_t, int) { return 64; };
        ItemFootprint f;
        return footprint_of(s.k, s.base, s.taps, known, 0, end, 64, f);
    };
    EXPECT_EQ(refusal(0.01f, 0, 100), "");
    EXPECT_EQ(refusal(0, 0.3f, 100), "the position is the same for all items");
    EXPECT_EQ(refusal(1e-9f, 0.3f, 100), "the position is the same for all items");
    EXPECT_EQ(refusal(INFINITY, 0, 100), "the position is not finite");
    EXPECT_EQ(refusal(NAN, 0, 100), "the position is not finite");
    EXPECT_EQ(refusal(0.01f, 0, 1 << 24), "there are too many indices for f32");
    EXPECT_EQ(refusal(1e-6f, 0, 1 << 22), "positions are too coarse in f32");
}

}  // namespace
}  // namespace pumice::derive
