// Object files of kernels and functions: declared with these in core, made by the CPU back end.
#include "autodiff/api/derivative_call.h"
#include "core/kernel/function.h"
#include "core/kernel/kernel.h"
#include "cpu/retarget/compile_object.h"

namespace pumice {

ObjectCode compile_object(const KernelBase& kernel, const std::string& triple, const std::string& cpu,
                          const ObjectOptions& options) {
    derive::check_tapeless(kernel);
    return cpu::compile_object(*kernel.recorded_without_images(), cpu::ObjectOf::kernel, triple, cpu, options);
}

ObjectCode compile_object(const FunctionBase& function, const std::string& triple, const std::string& cpu,
                          const ObjectOptions& options) {
    return cpu::compile_object(*function.recorded(), cpu::ObjectOf::function, triple, cpu, options);
}

}  // namespace pumice
