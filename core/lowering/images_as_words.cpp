// Images as arrays of words: loads of texels become loads of words and unpacking, stores become packing.
// Why: the interpreter and the processor have no memory for images, and drivers lack formats. After this pass a kernel has
// arrays only.
//
//   (arg1: inout {x, y, z, w: f32}[2] storage 2 format rgba8_unorm)      |  (arg1: inout u32[2])
//   %0 = load arg1[%y, %x].y : f32                                       |  %0 = load arg1[%y, %x] : u32
//                                                                        |  %1 = f32((%0 >> 8) & 255) * (1 / 255)
//   store arg1[%y, %x].x, %2 ... store arg1[%y, %x].w, %5                |  store arg1[%y, %x], %6    # 4 channels
//
// Method: image_format.h says where the texels of levels and layers lie; core/analysis/element_accesses.h finds the stores of one
// texel. A store of some channels only keeps the others: it loads the word before. Words of images that are only read are
// loaded once a block. The arithmetic is that of core/format/texel_conversion.cpp, to the bit.
// Cost: 3 to 4 operations a channel, for f16 about 10. Limits: a texel is no atom: only its own work-item may store to it.
// Textbook name: format lowering, as drivers without typed loads do it.
#include "core/lowering/images_as_words.h"

#include <algorithm>
#include <map>

#include "core/analysis/element_accesses.h"
#include "core/ir/rewriter.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

using Kind = FormatRow::Kind;

bool is_lowered(const Memory& m) { return m.image && m.image.resolved && !m.image.native; }
/// A slice comes before the other indices where the image has levels or layers.
bool has_slices(const ImageInfo& image) { return image.levels > 1 || image.has_layer_index(); }

Element words_of(const FormatRow& row) {
    const bool real = row.kind == Kind::real && row.bits == 32;
    const Scalar word = real ? Scalar::f32 : Scalar::u32;
    Element e = Element::of(word);
    const char* const names[] = {"x", "y", "z", "w"};
    for (int w = 1; w < row.bytes() / 4; ++w) e.leaves.push_back({names[w], word, uint32_t(4 * w)});
    if (e.leaves.size() > 1) e.leaves[0].path = names[0];
    e.size = uint32_t(std::max(4, row.bytes()));
    return e;
}

/// The arithmetic of a format.
class Packing {
public:
    Packing(Builder& b, Format format) : b(b), format(format), row(row_of(format)) {}

    /// The channel of a texel, of its words as they are loaded.
    Value channel(int c, std::span<const Value> words) {
        const Value word = words[size_t(word_of(c))];
        if (row.bits == 32) return row.kind == Kind::sint ? b.bitcast(Scalar::i32, word) : word;
        const int shift = shift_of(c);
        if (row.kind == Kind::snorm || row.kind == Kind::sint) {
            Value value = b.bitcast(Scalar::i32, word);
            value = shifted(Op::shl, value, Scalar::i32, 32 - row.bits - shift);
            value = shifted(Op::shr, value, Scalar::i32, 32 - row.bits);
            if (row.kind == Kind::sint) return value;
            return b.op(Op::max, {b.op(Op::mul, {b.cast(Scalar::f32, value), real(unit())}), real(-1)});
        }
        Value value = shifted(Op::shr, word, Scalar::u32, shift);
        if (shift + row.bits < 32 && row.bytes() * 8 > shift + row.bits) value = b.op(Op::and_, {value, bits(mask())});
        if (row.kind == Kind::uint) return value;
        if (row.kind == Kind::real) return half(value);
        const Value linear = b.op(Op::mul, {b.cast(Scalar::f32, b.bitcast(Scalar::i32, value)), real(unit())});
        return row.kind == Kind::srgb && c < 3 ? from_srgb(linear) : linear;
    }

    /// The words of a texel of these channels; none: the bits of the word before.
    std::vector<Value> words(std::span<const Value> channels, std::span<const Value> before) {
        std::vector<Value> made(size_t(std::max(1, row.bytes() / 4)));
        if (row.bits == 32) {
            for (size_t c = 0; c < channels.size(); ++c)
                made[c] = !channels[c] ? before[c] : row.kind == Kind::sint ? b.bitcast(Scalar::u32, channels[c]) : channels[c];
            return made;
        }
        std::vector<uint32_t> kept(made.size());
        for (int c = 0; c < row.channels; ++c) {
            const size_t w = size_t(word_of(c));
            if (!channels[size_t(c)]) {
                kept[w] |= mask() << shift_of(c);
                continue;
            }
            const Value part = shifted(Op::shl, encoded(channels[size_t(c)]), Scalar::u32, shift_of(c));
            made[w] = made[w] ? b.op(Op::or_, {made[w], part}) : part;
        }
        for (size_t w = 0; w < made.size(); ++w) {
            if (kept[w]) {
                const Value old = b.op(Op::and_, {before[w], bits(kept[w])});
                made[w] = made[w] ? b.op(Op::or_, {made[w], old}) : old;
            }
        }
        return made;
    }

private:
    Value real(double x) { return b.constant_float(Scalar::f32, x); }
    Value bits(uint32_t x) { return b.constant(Scalar::u32, x); }
    Value shifted(Op op, Value v, Scalar type, int by) { return by ? b.op(op, {v, b.constant(type, uint64_t(by))}) : v; }
    int position(int c) const { return format == Format::bgra8_unorm && c < 3 ? 2 - c : c; }
    int word_of(int c) const { return position(c) * row.bits / 32; }
    int shift_of(int c) const { return position(c) * row.bits % 32; }
    uint32_t mask() const { return (1u << row.bits) - 1; }
    uint32_t largest() const { return (1u << (row.bits - (row.kind == Kind::snorm))) - 1; }
    double unit() const { return double(float(1.0 / double(largest()))); }

    Value half(Value h) {
        const Value exponent = b.op(Op::and_, {h, bits(0x7c00)}), fraction = b.op(Op::and_, {h, bits(0x3ff)});
        const Value sign = shifted(Op::shl, b.op(Op::and_, {h, bits(0x8000)}), Scalar::u32, 16);
        const Value rest = shifted(Op::shl, b.op(Op::and_, {h, bits(0x7fff)}), Scalar::u32, 13);
        const Value infinite = b.op(Op::eq, {exponent, bits(0x7c00)}), small = b.op(Op::eq, {exponent, bits(0)});
        const Value tiny = b.op(Op::mul, {b.cast(Scalar::f32, b.bitcast(Scalar::i32, fraction)), real(0x1p-24)});
        const Value of_infinite = bits(224u << 23), of_finite = bits(112u << 23);
        const Value widened = b.op(Op::add, {rest, b.select(infinite, of_infinite, of_finite)});
        return b.bitcast(Scalar::f32, b.op(Op::or_, {sign, b.select(small, b.bitcast(Scalar::u32, tiny), widened)}));
    }

    Value half_bits(Value value) {
        const Value all = b.bitcast(Scalar::u32, value), size = b.op(Op::and_, {all, bits(0x7fffffff)});
        const Value sign = b.op(Op::and_, {shifted(Op::shr, all, Scalar::u32, 16), bits(0x8000)});
        const Value scaled =
            b.op(Op::rint, {b.op(Op::mul, {b.bitcast(Scalar::f32, b.op(Op::min, {size, bits(0x38800000)})), real(0x1p24)})});
        const Value tiny = b.bitcast(Scalar::u32, b.cast(Scalar::i32, scaled));
        const Value odd = b.op(Op::and_, {shifted(Op::shr, size, Scalar::u32, 13), bits(1)});
        const Value rounded =
            shifted(Op::shr, b.op(Op::add, {b.op(Op::sub, {size, bits(0x38000000u - 0xfffu)}), odd}), Scalar::u32, 13);
        const Value finite = b.select(b.op(Op::lt, {size, bits(0x38800000)}), tiny, rounded);
        const Value nan = bits(0x7e00), infinity = bits(0x7c00);
        const Value huge = b.select(b.op(Op::gt, {size, bits(0x7f800000)}), nan, infinity);
        return b.op(Op::or_, {sign, b.select(b.op(Op::ge, {size, bits(0x47800000)}), huge, finite)});
    }

    /// The transfer function of sRGB; x^2.4 by the fifth root, for which Newton's method needs 3 steps from a straight line.
    Value from_srgb(Value s) {
        const Value x = b.op(Op::mul, {b.op(Op::add, {s, real(0.055)}), real(1 / 1.055)});
        Value root = b.op(Op::add, {b.op(Op::mul, {x, real(0.4)}), real(0.6)});
        for (int step = 0; step < 3; ++step) {
            const Value square = b.op(Op::mul, {root, root});
            const Value quotient = b.op(Op::div, {x, b.op(Op::mul, {square, square})});
            root = b.op(Op::mul, {b.op(Op::add, {b.op(Op::mul, {root, real(4)}), quotient}), real(0.2)});
        }
        const Value power = b.op(Op::mul, {b.op(Op::mul, {x, x}), b.op(Op::mul, {root, root})});
        const Value is_small = b.op(Op::le, {s, real(0.04045)}), line = b.op(Op::mul, {s, real(1 / 12.92)});
        return b.select(is_small, line, power);
    }

    Value encoded(Value value) {
        switch (row.kind) {
            case Kind::uint: return b.op(Op::and_, {value, bits(mask())});
            case Kind::sint: return b.op(Op::and_, {b.bitcast(Scalar::u32, value), bits(mask())});
            case Kind::real: return half_bits(value);
            default: break;
        }
        const bool is_signed = row.kind == Kind::snorm;
        const Value zero = real(0), lowest = is_signed ? real(-1) : zero, one = real(1);
        const Value least = is_signed ? b.select(b.op(Op::le, {value, lowest}), lowest, zero) : zero;  // NaN becomes 0
        const Value below_one = b.select(b.op(Op::lt, {value, one}), value, one);
        const Value inside = b.select(b.op(Op::gt, {value, lowest}), below_one, least);
        const Value rounded = b.op(Op::rint, {b.op(Op::mul, {inside, real(double(largest()))})});
        const Value whole = b.bitcast(Scalar::u32, b.cast(Scalar::i32, rounded));
        return is_signed ? b.op(Op::and_, {whole, bits(mask())}) : whole;
    }

    Builder& b;
    const Format format;
    const FormatRow& row;
};

class ImagesAsWords : public Rewriter {
public:
    /// `lowered` is the original kernel with other memories.
    ImagesAsWords(const Kernel& original, const Kernel& lowered)
        : Rewriter(lowered), original(original), accesses(element_accesses(original)), loaded(1) {}

private:
    void function(const Function& f) override {
        scoped([&] { Rewriter::function(f); });
    }
    void block(const Inst& construct, int which) override {
        scoped([&] { Rewriter::block(construct, which); });
    }
    template <class Act> void scoped(const Act& act) {
        loaded.emplace_back();
        act();
        loaded.pop_back();
    }

    void inst(InstId id) override {
        const Inst& i = from[id];
        if (i.memory.id == none || !is_lowered(original[i.memory])) return copy(id);
        b.loc = i.loc;
        if (i.op == Op::extent) return map(from.result(i), extent_of(i.memory, int(i.immediate)));
        const ImageInfo& image = original[i.memory].image;
        if (i.op == Op::load) {
            const std::vector<Value> words = load(i.memory, place(i.memory, of(from.operands(i))));
            return map(from.result(i), Packing(b, image.format).channel(int(i.leaf), words));
        }
        if (i.op != Op::store) library_bug("an image is accessed by " + print(original, original[id]));
        if (accesses.merged[id.id]) return;
        std::vector<Value> operands = of(from.operands(i));
        operands.pop_back();
        const std::vector<Value> at = place(i.memory, operands);
        std::vector<Value> channels, before;
        for (const Value channel : accesses.stores.at(id.id)) channels.push_back(channel ? of(channel) : channel);
        if (std::ranges::count(channels, Value()) > 0) before = load(i.memory, at);
        const std::vector<Value> words = Packing(b, image.format).words(channels, before);
        for (uint32_t w = 0; w < words.size(); ++w) b.store(of(i.memory), w, at, words[w]);
    }

    /// The words of a texel.
    std::vector<Value> load(MemoryId memory, const std::vector<Value>& at) {
        std::vector<uint32_t> key{memory.id};
        for (const Value v : at) key.push_back(v.id);
        const bool constant = from[memory].access == Access::in;
        if (constant)
            for (const auto& scope : loaded)
                if (const auto there = scope.find(key); there != scope.end()) return there->second;
        std::vector<Value> words;
        for (uint32_t w = 0; w < from[memory].element.leaves.size(); ++w) words.push_back(b.load(of(memory), w, at));
        if (constant) loaded.back()[key] = words;
        return words;
    }

    Value extent(MemoryId memory, int axis) { return b.extent(of(memory), axis); }
    Value whole(int64_t n) { return b.constant_int(Scalar::i32, n); }

    /// The extent of an image along one of its axes: the width first, then layers and levels.
    Value extent_of(MemoryId memory, int axis) {
        const ImageInfo& image = original[memory].image;
        if (axis < image.dimensions) return extent(memory, axis);
        if (axis == image.dimensions && image.has_layer_index()) return layers(memory);
        return whole(image.levels);
    }
    Value layers(MemoryId memory) {
        const ImageInfo& image = original[memory].image;
        const Value slices = extent(memory, image.dimensions);
        return image.levels > 1 ? b.op(Op::shr, {slices, whole(1)}) : slices;
    }

    /// The indices of a texel's words.
    std::vector<Value> place(MemoryId memory, std::vector<Value> indices) {
        const ImageInfo& image = original[memory].image;
        if (indices.size() == 1 && original[memory].rank > 1) indices = separate(memory, indices[0]);
        if (!has_slices(image)) return indices;
        size_t next = 0;
        const Value level = image.has_level_index() ? indices[next++] : Value();
        const Value layer = image.has_layer_index() ? indices[next++] : whole(0);
        std::vector<Value> at(indices.begin() + ptrdiff_t(next), indices.end());
        uint64_t fixed = 1;
        if (!level || (to.constant(level, fixed) && fixed == 0)) {
            at.insert(at.begin(), layer);
            return at;
        }
        const Value one = b.constant(to.type_of(level), 1), zero = b.constant(to.type_of(level), 0);
        const Value lower = b.op(Op::gt, {level, zero}), halvings = b.cast(Scalar::i32, b.op(Op::sub, {level, one}));
        const int axes = image.dimensions;
        for (int axis = 0; axis < axes; ++axis) {
            Value moves = lower;
            for (int other = 0; other < axes; ++other) {
                if (other == axis) continue;
                const Value longer = b.op(other < axis ? Op::lt : Op::le, {extent(memory, other), extent(memory, axis)});
                moves = b.op(Op::and_, {moves, longer});
            }
            const Value size = extent(memory, axis), begin = b.op(Op::sub, {size, b.op(Op::shr, {size, halvings})});
            Value& index = at[size_t(axes - 1 - axis)];
            const Scalar type = to.type_of(index);
            const Value shift = b.cast(type, begin), none = b.constant(type, 0);
            index = b.op(Op::add, {index, b.select(moves, shift, none)});
        }
        const Value past = b.cast(to.type_of(layer), layers(memory));
        at.insert(at.begin(), b.select(lower, b.op(Op::add, {layer, past}), layer));
        return at;
    }

    /// The indices of a linear index.
    std::vector<Value> separate(MemoryId memory, Value linear) {
        std::vector<Value> indices;
        const int rank = original[memory].rank;
        for (int axis = 0; axis < rank; ++axis) {
            const Value size = b.cast(to.type_of(linear), extent_of(memory, axis));
            indices.insert(indices.begin(), axis + 1 < rank ? b.op(Op::rem, {linear, size}) : linear);
            linear = b.op(Op::div, {linear, size});
        }
        return indices;
    }

    const Kernel& original;
    const ElementAccesses accesses;
    std::vector<std::map<std::vector<uint32_t>, std::vector<Value>>> loaded;  // by open block: words by memory and indices
};

}  // namespace

bool has_images_as_words(const Kernel& kernel) { return std::ranges::any_of(kernel.memories, is_lowered); }

Kernel images_as_words(const Kernel& kernel) {
    Kernel lowered = kernel;
    // The shadow of an image has the type of its texels, which the words do not have: it keeps the shadow's label only.
    for (size_t p = 0; p < kernel.params.size(); ++p) {
        const int primal = kernel.params[p].identity.shadow_of;
        if (primal < 0 || !kernel.params[size_t(primal)].is_array || !is_lowered(kernel[kernel.params[size_t(primal)].memory]))
            continue;
        Parameter& shadow = lowered.params[p];
        shadow.label = kernel.label(p);
        shadow.identity = {shadow.identity.name};
        shadow.identity.extra = true;
    }
    for (Memory& m : lowered.memories) {
        if (!is_lowered(m)) continue;
        m.element = words_of(row_of(m.image.format));
        m.rank = m.image.dimensions + has_slices(m.image);
        m.image = {};
    }
    return ImagesAsWords(kernel, lowered).run();
}

}  // namespace pumice::ir
