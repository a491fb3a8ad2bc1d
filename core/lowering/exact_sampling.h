// The filters of textures as arithmetic.
#pragma once
#include <span>

#include "core/ir/builder.h"

namespace pumice::ir {

/// Emits a `sample` of a resolved texture as loads of texels and the arithmetic of its filter. The operands are those of the
/// instruction.
Value exact_sample(Builder& b, const ImageInfo& texture, MemoryId memory, uint32_t leaf, std::span<const Value> operands);

}  // namespace pumice::ir
