// Specialisation of image parameters: a recorded kernel becomes one for the formats, samplers and levels of a launch.
// Why: a kernel is recorded before there is an image. Code that knows the format and the filter has no branches on them.
//
//   (arg1: in f32[3] texture 2)                           |  (arg1: in f32[2] texture 2 format r8_unorm levels 1 ...)
//   %0 = load arg1[%level, %y, %x] : f32                  |  %0 = load arg1[%y, %x] : f32        # one level has no index
//   %1 = sample arg1[%lod, %u, %v] : f32                  |  ...                                 # exact_sampling.cpp
//   %2 = extent arg1, 2 : i32                             |  %2 = constant 1 : i32               # number of levels
//
// Cost: linear. Limits: every combination of formats and samplers is compiled anew, as different kernels are.
// Textbook name: function specialisation.
#include "core/lowering/specialise_images.h"

#include <algorithm>

#include "core/ir/rewriter.h"
#include "core/lowering/exact_sampling.h"

namespace pumice::ir {
namespace {

class SpecialiseImages : public Rewriter {
public:
    SpecialiseImages(const Kernel& kernel, bool keep_fast) : Rewriter(kernel), keep_fast(keep_fast) {}

private:
    void inst(InstId id) override {
        const Inst& i = from[id];
        if (i.memory.id == none || from[i.memory].image.kind != ImageInfo::Kind::texture) return copy(id);
        const ImageInfo& texture = from[i.memory].image;
        b.loc = i.loc;
        if (i.op == Op::extent && int(i.immediate) == texture.dimensions + texture.has_layer_index())
            return map(from.result(i), b.constant_int(Scalar::i32, texture.levels));
        if (i.op == Op::load && !texture.has_level_index()) {
            std::vector<Value> indices = of(from.operands(i));
            // Another level is past the edge, too, which the interpreter reports.
            const Value level = indices[0], zero = b.constant_int(Scalar::i32, 0);
            if (level != zero) {
                const Value outside = b.constant_int(Scalar::i32, -1);
                indices[1] = b.select(b.op(Op::eq, {level, zero}), indices[1], outside);
            }
            return map(from.result(i), b.load(of(i.memory), i.leaf, std::span(indices).subspan(1)));
        }
        if (i.op != Op::sample || (keep_fast && texture.native && texture.sampling == Sampling::fast)) return copy(id);
        map(from.result(i), exact_sample(b, texture, of(i.memory), i.leaf, of(from.operands(i))));
    }

    const bool keep_fast;
};

}  // namespace

bool has_images(const Kernel& kernel) {
    return std::ranges::any_of(kernel.memories, [](const Memory& m) { return bool(m.image); });
}

bool has_unresolved_images(const Kernel& kernel) {
    return std::ranges::any_of(kernel.memories, [](const Memory& m) { return m.image && !m.image.resolved; });
}

Kernel specialise_images(const Kernel& kernel, std::span<const ImageInfo> images, bool keep_fast) {
    Kernel resolved = kernel;
    for (Memory& m : resolved.memories) {
        if (!m.image) continue;
        m.image = images[size_t(m.argument)];
        m.rank = m.image.rank();
    }
    return SpecialiseImages(resolved, keep_fast).run();
}

}  // namespace pumice::ir
