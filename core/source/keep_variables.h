// Keeps the user's variables for a debugger: every named value is also stored into private memory that has its name.
//
//     auto d = a - b;                    %2 = sub %0, %1 : f32
//                                        store debug_1_1_d[0], %2 : f32
//     Var<float> sum = 0.0f;             %3 = var 0 : f32
//                                        store debug_2_3_sum[0], 0 : f32
//     sum += d;                          set %3, ...
//                                        store debug_2_3_sum[0], ... : f32
//
// Why private memory: it is one for each item, survives barriers, and every emitter, printer and pass knows it already. The
// CPU's emitter describes it by DWARF (cpu/dwarf), the pass over SPIR-V by DebugLocalVariable
// (codegen/artifact/source_debug_info.h).
// Only with PUMICE_DEBUG=source, as the first pass of a pipeline without those that remove stores nobody reads
// (`forward_stores`, `dead`).
//
// Method: instructions of one line that follow each other are a run. Variables of a run take the names that the line declares; in
// a run without variables the last results do. Loops name their index, heads of lambdas the parameters.
// Cost: a store for each named value. Limits: a line that computes nothing new (`auto b = a`, or an expression that an earlier
// line has computed already) names nothing; a vector gets `p.x`, `p.y` only as a Var.
#pragma once
#include <string>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

Kernel keep_variables(const Kernel& kernel);

/// The user's name of memory that keep_variables made; "" for any other memory.
std::string kept_name(const Memory& memory);
/// The user's names of the kernel's parameters: given ones, else those in the head of its lambda; "" where neither is known.
/// Members of a struct are scene_mesh_position.
std::vector<std::string> argument_names(const Kernel& kernel);

}  // namespace pumice::ir
