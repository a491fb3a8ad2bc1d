#version 450
#extension GL_EXT_spirv_intrinsics : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
spirv_execution_mode(capabilities = [4466], 4461, 32);
spirv_execution_mode(capabilities = [4467], 4462, 32);
layout(push_constant, std430) uniform Push {
    int start_x;
    int end_x;
} push;
layout(constant_id = 4) const bool at_origin = false;
layout(set = 0, binding = 0, std430) restrict buffer Arg1 { float arg1[]; };
layout(set = 0, binding = 1, std430) restrict readonly buffer Arg2 { float arg2[]; };

float pm_times_zero(float x, float zero) {
    uint bits = floatBitsToUint(x), sign = (bits ^ floatBitsToUint(zero)) & 0x80000000u;
    return uintBitsToFloat((bits & 0x7fffffffu) >= 0x7f800000u ? 0x7fc00000u : sign);
}

float pm_over_zero(float x, float zero) {
    uint bits = floatBitsToUint(x), sign = (bits ^ floatBitsToUint(zero)) & 0x80000000u, size = bits & 0x7fffffffu;
    return uintBitsToFloat(size == 0u || size > 0x7f800000u ? 0x7fc00000u : 0x7f800000u | sign);
}

void main() {
    if (gl_LocalInvocationID.x >= gl_WorkGroupSize.x || gl_SubgroupInvocationID >= gl_WorkGroupSize.x) return;
    const int start_x = push.start_x;
    const int end_x = push.end_x;
    const int i = (at_origin ? 0 : start_x) + int(gl_GlobalInvocationID.x);
    if (gl_GlobalInvocationID.x < uint(end_x - (at_origin ? 0 : start_x))) {
        const float v0 = arg2[i];
        precise const float v1 = pm_over_zero(v0, 0.0);
        const int v2 = 6 * i;
        arg1[v2] = v1;
        precise const float v3 = pm_times_zero(v0, 0.0);
        arg1[v2 + 1] = v3;
        arg1[v2 + 2] = v1;
        arg1[v2 + 3] = v3;
        float v4 = 0.0;
        for (int v5 = 0; v5 < 3; v5 += 1) {
            precise const float v6 = v4 * 2.0;
            v4 = v6;
        }
        precise const float v7 = v0 / v4;
        arg1[v2 + 4] = v7;
        precise const float v8 = v0 * v4;
        arg1[v2 + 5] = v8;
    }
}
