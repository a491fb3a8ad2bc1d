// The records that print and require write to the host's ring.
#pragma once
#include "codegen/glsl/emit_values.h"

namespace pumice::codegen {

void emit_report(const BodyContext& context, ValueEmitter& values, const ir::Inst& i);

}  // namespace pumice::codegen
