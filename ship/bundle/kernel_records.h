// A kernel's records of a bundle, apart from its code: parameters, local memory, formats, and the CPU's analyses.
#pragma once
#include "codegen/glsl/codegen.h"
#include "core/ir/ir.h"
#include "cpu/runtime/ahead_of_time.h"
#include "ship/bundle/bundle_writer.h"

namespace pumice::ship {

/// The record of a kernel without modules and natives; `name` is that in the bundle.
KernelRecord kernel_record(const ir::Kernel& kernel, const std::string& name, BundleWriter& to);
/// The computation of a local array's size. Throws Error for an operation that bundles do not have.
RecordRange size_steps(const ir::Kernel& kernel, std::span<const codegen::SizeStep> steps, BundleWriter& to);
/// The formats of all prints and requirements, for KernelRecord::formats.
std::vector<FormatRecord> format_records(const ir::Kernel& kernel, BundleWriter& to);
/// Sets the members by which the runtime chooses among native functions.
void set_native_traits(const cpu::CpuProgram& program, KernelRecord& record, BundleWriter& to);

}  // namespace pumice::ship
