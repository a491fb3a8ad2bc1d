// Texture filters as arithmetic: a `sample` becomes loads of texels, weights in f32 and sums.
// Why: samplers of hardware compute weights in fixed point, each in its own way. This arithmetic is the same on every device,
// to the bit under Math::strict, and has derivatives by the rules of its operations.
//
//   %c = sample arg2[%lod, %u].x : f32     |  %x = fma %u, size, -0.5      # filter linear, wrap clamp, one level, 1 dimension
//                                          |  %i = floor %x;  %f = %x - %i
//                                          |  %a = load arg2[clamp %i].x : f32
//                                          |  %b = load arg2[clamp (%i + 1)].x : f32
//                                          |  %c = %a + %f * (%b - %a)
//
// Method, for each axis: the wrap folds the coordinate, the filter gives the taps (1, 2 or 4 texels) and the fraction, the wrap
// again keeps the indices inside. The width is filtered first, then the height, the depth and the levels. A direction selects
// the face of a cube and the position on it as Vulkan does; positions on a face are clamped to it. NaN coordinates read a texel
// of the edge.
// Cost: nearest 1 load a channel, linear 2^N, cubic 4^N; the arithmetic of the weights is shared by all channels.
// Limits: no anisotropy, no level of detail of its own (there are no derivatives between work-items), no filter across edges of
// a cube.
// Textbook name: bilinear and trilinear filtering; the cubic filter is Catmull-Rom's.
#include "core/lowering/exact_sampling.h"

#include <array>
#include <vector>

namespace pumice::ir {
namespace {

class ExactSampler {
public:
    ExactSampler(Builder& b, const ImageInfo& texture, MemoryId memory, uint32_t leaf)
        : b(b), texture(texture), memory(memory), leaf(leaf) {}

    Value sample(std::span<const Value> operands) {
        const Value lod = operands[0];
        coordinates.assign(operands.begin() + 1, operands.end());
        if (texture.layout == ImageLayout::layered) {
            const Value last = sub({b.extent(memory, texture.dimensions), whole(1)});
            layer = max({min({coordinates[0], last}), whole(0)});
            coordinates.erase(coordinates.begin());
        } else if (texture.layout == ImageLayout::cube) {
            choose_face();
        }
        if (!texture.has_level_index()) return filtered();
        const Value top = real(texture.levels - 1), inside = max({min({lod, top}), real(0)}), last = whole(texture.levels - 1);
        if (texture.mip_filter == Filter::nearest) {
            level = clamped({b.cast(Scalar::i32, b.op(Op::floor, {add({inside, real(0.5)})})), last});
            return filtered();
        }
        const Value below = b.op(Op::floor, {inside}), part = sub({inside, below}),
                    first = clamped({b.cast(Scalar::i32, below), last});
        level = first;
        const Value fine = filtered();
        if (is_zero(part)) return fine;
        level = min({add({first, whole(1)}), last});
        return mix({fine, filtered(), part});
    }

private:
    /// The texels along an axis that a filter reads, with what it weights them by.
    struct Taps {
        std::vector<Value> index, outside;  ///< outside: of Wrap::border
        Value part;                         ///< position between the two middle taps
    };

    Value real(double x) { return b.constant_float(Scalar::f32, x); }
    Value whole(int64_t x) { return b.constant_int(Scalar::i32, x); }
    // Operands in braces are computed in their order; the order of arguments would be the compiler's choice.
    using Two = std::array<Value, 2>;
    using Three = std::array<Value, 3>;
    Value add(const Two& v) { return b.op(Op::add, {v[0], v[1]}); }
    Value sub(const Two& v) { return b.op(Op::sub, {v[0], v[1]}); }
    Value mul(const Two& v) { return b.op(Op::mul, {v[0], v[1]}); }
    Value min(const Two& v) { return b.op(Op::min, {v[0], v[1]}); }
    Value max(const Two& v) { return b.op(Op::max, {v[0], v[1]}); }
    Value select(const Three& v) { return b.select(v[0], v[1], v[2]); }
    /// (index, last)
    Value clamped(const Two& v) { return max({min(v), whole(0)}); }
    /// (x, y, part)
    Value mix(const Three& v) { return add({v[0], mul({v[2], sub({v[1], v[0]})})}); }
    bool is_zero(Value v) { return v == real(0); }

    /// The extent of the level along an axis.
    Value extent(int axis) {
        const Value size = b.extent(memory, axis);
        return level ? max({b.op(Op::shr, {size, level}), whole(1)}) : size;
    }

    Wrap wrap() const { return texture.layout == ImageLayout::cube ? Wrap::clamp : texture.wrap; }

    Taps taps(int axis) {
        const Value size = extent(axis), size_f = b.cast(Scalar::f32, size), last = sub({size, whole(1)});
        Value u = coordinates[size_t(axis)];
        if (wrap() == Wrap::repeat) u = sub({u, b.op(Op::floor, {u})});
        if (wrap() == Wrap::mirror) {
            const Value t = sub({u, mul({real(2), b.op(Op::floor, {mul({u, real(0.5)})})})});
            u = min({t, sub({real(2), t})});
        }
        Value x = mul({u, size_f});
        if (texture.filter != Filter::nearest) x = sub({x, real(0.5)});
        // Positions far outside would not fit an i32. Extents are at most 32768; beyond some texels nothing changes. A comparison
        // with NaN is false, which makes the cast a plain conversion (core/ranges/float_range.h).
        x = select({b.op(Op::lt, {x, real(65536)}), x, real(65536)});
        x = select({b.op(Op::gt, {x, real(-8)}), x, real(-8)});
        const Value floor = b.op(Op::floor, {x}), index = b.cast(Scalar::i32, floor);
        Taps t;
        t.part = sub({x, floor});
        const int first = texture.filter == Filter::cubic ? -1 : 0;
        const int past = texture.filter == Filter::nearest ? 1 : texture.filter == Filter::linear ? 2 : 3;
        for (int n = first; n < past; ++n) tap(t, n == 0 ? index : add({index, whole(n)}), size, last);
        return t;
    }

    void tap(Taps& t, Value index, Value size, Value last) {
        const Value below = b.op(Op::lt, {index, whole(0)}), above = b.op(Op::ge, {index, size});
        if (wrap() == Wrap::repeat) {
            index = select({below, add({index, size}), select({above, sub({index, size}), index})});
        } else if (wrap() == Wrap::mirror && texture.filter == Filter::cubic) {
            const Value reflected = sub({add({last, last}), sub({index, whole(1)})});
            index = select({below, sub({whole(-1), index}), select({above, reflected, index})});
        }
        if (wrap() == Wrap::border) t.outside.push_back(b.op(Op::or_, {below, above}));
        // Under Wrap::repeat, too: NaN and infinite positions become 65536, and a texture of one texel has its cubic taps farther
        // outside.
        t.index.push_back(clamped({index, last}));
    }

    Value filtered() {
        axes.clear();
        for (int axis = 0; axis < texture.dimensions; ++axis) axes.push_back(taps(axis));
        chosen.assign(size_t(texture.dimensions), 0);
        return along(texture.dimensions - 1);
    }

    /// The filtered value of the taps chosen along the slower axes.
    Value along(int axis) {
        if (axis < 0) return texel();
        std::vector<Value> values;
        for (size_t n = 0; n < axes[size_t(axis)].index.size(); ++n) {
            chosen[size_t(axis)] = n;
            values.push_back(along(axis - 1));
        }
        const Value t = axes[size_t(axis)].part;
        if (values.size() == 1) return values[0];
        if (values.size() == 2) return mix({values[0], values[1], t});
        const Value square = mul({t, t});
        const Value weights[] = {mul({sub({mul({add({mul({real(-0.5), t}), real(1)}), t}), real(0.5)}), t}),
                                 add({mul({sub({mul({real(1.5), t}), real(2.5)}), square}), real(1)}),
                                 mul({add({mul({add({mul({real(-1.5), t}), real(2)}), t}), real(0.5)}), t}),
                                 mul({sub({mul({real(0.5), t}), real(0.5)}), square})};
        Value sum = mul({weights[0], values[0]});
        for (size_t n = 1; n < 4; ++n) sum = add({sum, mul({weights[n], values[n]})});
        return sum;
    }

    Value texel() {
        std::vector<Value> indices;
        if (level) indices.push_back(level);
        if (layer) indices.push_back(layer);
        Value outside;
        for (int axis = texture.dimensions - 1; axis >= 0; --axis) {
            const Taps& t = axes[size_t(axis)];
            indices.push_back(t.index[chosen[size_t(axis)]]);
            if (t.outside.empty()) continue;
            const Value out = t.outside[chosen[size_t(axis)]];
            outside = outside ? b.op(Op::or_, {outside, out}) : out;
        }
        const Value loaded = b.load(memory, leaf, indices);
        return outside ? select({outside, b.constant(Scalar::f32, texture.border[leaf]), loaded}) : loaded;
    }

    /// Replaces the direction by the face and the position on it.
    void choose_face() {
        const Value x = coordinates[0], y = coordinates[1], z = coordinates[2];
        const auto neg = [&](Value v) { return b.op(Op::neg, {v}); };
        const auto negative = [&](Value v) { return b.op(Op::lt, {v, real(0)}); };
        const Value size_x = b.op(Op::abs, {x}), size_y = b.op(Op::abs, {y}), size_z = b.op(Op::abs, {z});
        const Value on_z = b.op(Op::and_, {b.op(Op::ge, {size_z, size_x}), b.op(Op::ge, {size_z, size_y})});
        const Value on_y = b.op(Op::ge, {size_y, size_x});
        const auto by_axis = [&](const Three& of) { return select({on_z, of[2], select({on_y, of[1], of[0]})}); };
        const auto sign = [&](const Three& v) { return select({negative(v[0]), v[2], v[1]}); };
        layer = by_axis({sign({x, whole(0), whole(1)}), sign({y, whole(2), whole(3)}), sign({z, whole(4), whole(5)})});
        const Value s = by_axis({sign({x, neg(z), z}), x, sign({z, x, neg(x)})}),
                    t = by_axis({neg(y), sign({y, z, neg(z)}), neg(y)});
        const Value size = by_axis({size_x, size_y, size_z});
        const auto position = [&](Value v) { return mul({add({b.op(Op::div, {v, size}), real(1)}), real(0.5)}); };
        const Value u = position(s), v = position(t);
        coordinates = {u, v};
    }

    Builder& b;
    const ImageInfo& texture;
    const MemoryId memory;
    const uint32_t leaf;
    std::vector<Value> coordinates;  // axis 0 first
    Value layer, level;              // none: the texture has no such index
    std::vector<Taps> axes;
    std::vector<size_t> chosen;  // by axis: the tap
};

}  // namespace

Value exact_sample(Builder& b, const ImageInfo& texture, MemoryId memory, uint32_t leaf, std::span<const Value> operands) {
    return ExactSampler(b, texture, memory, leaf).sample(operands);
}

}  // namespace pumice::ir
