// explain: the costs of a kernel or a program, and the reasons for the tape and the additions of its derivative, as text.
// Why: performance advice that names the user's lines, without a profiler and without a device.
//
//   explain(saxpy)
//   kernel "saxpy" (sim.cpp:12): an item reads 8 bytes, writes 4 bytes, does 2 operations on floats and 0 on integers; ...
//   ...
//   reverse mode, by all floats: no tape: the reverse sweep computes what it needs again
//
// Method: core/tools/explain_kernel.h for the kernel; for the derivative the plan of the tape and the accumulations that the
// adjoint itself is made by. A program is run under a hook that notes its launches.
// Cost: one run of the analyses and of the reverse-mode transform. Limits: the adjoint of one kernel by all floats, for the
// scatter strategy; a call with other annotations may keep less. docs/tools.md shows an example.
// Field's name: optimisation report (as by compilers' -fopt-info).
#pragma once
#include <functional>
#include <string>

#include "core/kernel/kernel.h"

namespace pumice {

/// A table of the kernel's lines: bytes, operations, accesses that are not contiguous, divergence, barriers, atomics. If it can
/// be differentiated in reverse (by all floats), also what the reverse sweep tapes and why, and which additions are atomic and
/// why they are not gathered. No device is used. Throws Error if recording fails.
std::string explain(const KernelBase& kernel);
/// Runs the function, which launches kernels, and explains each kernel once, with its number of launches and their bytes and
/// operations, the costliest in bytes first.
std::string explain(const std::function<void()>& program);

}  // namespace pumice
