// NonSemantic.Shader.DebugInfo.100: the user's file, lines and variables in SPIR-V, for RenderDoc and other debuggers of shaders.
//
//     OpLine %file 12 0                %1 = OpExtInst %void %set DebugLine %source %uint_12 %uint_12 %uint_0 %uint_0
//     %5 = OpVariable %ptr Function    %2 = OpExtInst %void %set DebugDeclare %sum %5 %expression
//     OpName %5 "debug_1_3_sum"        %sum = OpExtInst %void %set DebugLocalVariable %name %float %source %uint_8 ...
//
// Method: one walk over a module that glslang made with line information. The GLSL of kernels for debuggers has `#line`
// directives with the user's files, and variables for the memories of `keep_variables` (core/source/keep_variables.h). What
// glslang itself can write in this form (its option -gV) describes the generated GLSL instead.
// Cost: linear; the file's text is in the module. Limits: the variables have the scope of the kernel, not of their block; device
// functions are inlined.
#pragma once
#include <cstdint>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// The module with the debug information in place of OpLine and OpSource.
std::vector<uint32_t> with_source_debug_info(const std::vector<uint32_t>& spirv, const ir::Kernel& lowered);
/// The module without it, for devices without VK_KHR_shader_non_semantic_info.
std::vector<uint32_t> without_source_debug_info(const std::vector<uint32_t>& spirv);

}  // namespace pumice::codegen
