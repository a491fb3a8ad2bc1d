// Retargeting: a kernel, or a function as a kernel of one work-item, as an object file with one C function.
//
// Why: a program for another processor, or without the library, calls the same code as the device cpu runs here.
//
//     recorded IR -> lower() -> check_limits() -> emit_llvm() + C function -> make_foreign_object() -> bytes, header, needs
//
// The code is that of the device cpu without what only this process has: SLEEF's functions and the interpreter's loops become
// calls of the C library, lane by lane (CodeUse in cpu/plan/variant.h). The undefined symbols of the object are listed, so that a
// program knows what to link.
// Cost: one compilation, without the disk cache. Limits: extents below 2^31; one thread a call; no streaming stores and no
// private copies of reduction targets, since the arrays' sizes are unknown.
// Textbook name: cross compilation; ahead-of-time compilation.
#pragma once
#include <string>

#include "core/host/object_code.h"
#include "core/ir/ir.h"
#include "cpu/retarget/target_limits.h"

namespace pumice::cpu {

ObjectCode compile_object(const ir::Kernel& recorded, ObjectOf of, const std::string& triple, const std::string& cpu,
                          const ObjectOptions& options);

}  // namespace pumice::cpu
