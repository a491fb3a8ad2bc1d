// A captured run of a program: every command that the device got, with the values of this run.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/ir/ir.h"
#include "runtime/bundle/program_format.h"

namespace pumice::ship {

/// An expression of scalars: as in a bundle, with operands counted in the run's own list.
using ScalarExpression = pumice_rt::ExpressionRecord;

struct CapturedBuffer {
    int argument = -1;  ///< of the caller; -1: the program's own
    int64_t bytes = 0;
};

struct CapturedArgument {
    int buffer = -1;
    int64_t offset = 0, bytes = 0;
    std::array<int64_t, ir::max_rank> extents{};  ///< axis 0 first
    uint64_t bits = 0;                            ///< of a scalar
    int expression = -1;                          ///< of a scalar that depends on the program's scalars
};

struct CapturedCommand {
    pumice_rt::CommandKind kind{};
    bool zeroed = false;
    int to = -1, from = -1;
    int64_t to_offset = 0, from_offset = 0, bytes = 0;
    std::vector<std::byte> data;  ///< written elements, or the pattern of a fill
    int index = 0;                ///< of a scan or a sum
    Scalar type = Scalar::f32;
    int64_t most = 0;  ///< of a scan
    std::shared_ptr<const ir::Kernel> kernel;
    int rank = 1;
    std::array<int64_t, 3> start{}, extent{}, group{};
    bool counted = false;  ///< an indirect range, whose counts are the last argument
    std::vector<CapturedArgument> arguments;
};

/// The derivative by a scalar parameter.
struct CapturedResult {
    int parameter = 0;
    Scalar type = Scalar::f32;
    int expression = 0;
};

struct CapturedProgram {
    std::vector<CapturedBuffer> buffers;
    std::vector<CapturedCommand> commands;
    std::vector<ScalarExpression> expressions;
    std::vector<CapturedResult> results;
    std::vector<bool> written;            ///< by argument of the entry
    std::vector<int64_t> totals;          ///< the totals that scans were given
    std::vector<std::string> strategies;  ///< of the launches of derivatives, in order
    size_t primal = 0;
    int sums = 0;
};

/// "the launch of kernel "heat" (heat.cpp:12)", "a fill", ...
std::string text_of(const CapturedCommand& command);

}  // namespace pumice::ship
