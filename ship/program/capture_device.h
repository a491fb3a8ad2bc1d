// A device that writes down what a program asks of it.
//
//   program on this device     allocate u; copy u0 -> u; launch heat(other, u); ...
//   CapturedProgram            the same as data: buffers, offsets, ranges, kernels, values of scalars
//
// Why: a derivative of a program is made of the same calls as the program (tapes, shadows, saved contents, adjoint kernels), so
// that writing down these calls ships gradients with every strategy that the library has.
// Method: contents that depend on the program's arguments are never computed, since nothing on the host may depend on them: a
// read of them is an Error. Work on other contents is put off until the host reads some; then the interpreter does it. Counts of
// tapes, whose sums decide sizes, become a command of the runtime (TraceHook::scanning); the program goes on with a made-up
// total.
// Cost: a record a command; no kernel runs, unless the program reads back constants.
// Limits: one stream; a program that branches on the device's contents, or calls host functions on a stream, is refused.
// Textbook name: tracing with abstract values (as of jit in JAX), on the level of device commands.
#pragma once

#include "ship/program/captured_program.h"
#include "ship/program/ship_program.h"

namespace pumice::ship {

/// The circumstances of one capture.
struct CaptureSettings {
    bool for_cpu = true;          ///< traits of the device cpu, else those of graphics cards
    bool has_sizes = false;       ///< the commands must be the same for all sizes
    std::vector<Size> sizes;      ///< the program's, with the values of this capture as `example`
    std::vector<int64_t> totals;  ///< of scans, in order; further ones get the last
    /// The strategies of derivatives, in the order of their launches: what the first capture chose, for the sizes that the
    /// program gives as examples. Null in the first capture.
    const std::vector<std::string>* strategies = nullptr;
};

/// Runs the program and gives its commands. Throws Error for what cannot be shipped.
CapturedProgram capture(const ProgramItem& program, Entry entry, const CaptureSettings& settings);

}  // namespace pumice::ship
