// The texts that a kernel compiles to, without a device: declared with the kernel in core, made by code generation.
#include "autodiff/api/derivative_call.h"
#include "codegen/glsl/codegen.h"
#include "core/kernel/kernel.h"

namespace pumice {

std::string KernelBase::glsl() const { return codegen::compile(*recorded_without_images()).glsl; }
std::vector<uint32_t> KernelBase::spirv() const { return codegen::compile(*recorded_without_images()).spirv; }
void dump(const KernelBase& kernel, const std::filesystem::path& folder) {
    derive::check_tapeless(kernel);
    codegen::dump(*kernel.recorded_without_images(), folder);
}

}  // namespace pumice
