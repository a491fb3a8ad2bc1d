#include "autodiff/program.h"

#include "autodiff/program_tangents.h"
#include "autodiff/program_tape.h"
#include "core/evaluate.h"

namespace pumice {
namespace derive {

namespace {
thread_local int derivatives_off_depth = 0;
}
bool derivatives_off() { return derivatives_off_depth > 0; }

Program::Program(ReverseMode mode, int width) : record(std::make_unique<ProgramTape>(width, mode.states)), is_forward(false) {}
Program::Program(ForwardMode, int width) : record(std::make_unique<ProgramTangents>(width)), is_forward(true) {}
Program::~Program() = default;

void Program::annotate(const std::vector<Slot>& slots) { record->annotate(slots, is_forward); }

HostScalar Program::follow(const HostArgument& scalar, const std::vector<uint64_t>& tangents) {
    std::vector<double> wide;
    for (const uint64_t bits : tangents) wide.push_back(from_bits<double>(cast_bits(scalar.type, Scalar::f64, bits)));
    return {scalar.bits, record->scalars, record->scalars->input(wide)};
}

void Program::run(const std::function<void()>& function) {
    detail::Observing watching(record.get());
    function();
}

void Program::seed(const HostArgument& array) {
    if (!is_forward) static_cast<ProgramTape&>(*record).seed(array);
}

void Program::reverse() {
    if (!is_forward) static_cast<ProgramTape&>(*record).reverse();
}

std::shared_ptr<detail::ArrayState> Program::tangent(const HostArgument& array, int direction) {
    return static_cast<ProgramTangents&>(*record).tangent(*array.array, direction);
}

}  // namespace derive

void no_derivative(const std::function<void()>& act) {
    ++derive::derivatives_off_depth;
    try {
        act();
    } catch (...) {
        --derive::derivatives_off_depth;
        throw;
    }
    --derive::derivatives_off_depth;
}

}  // namespace pumice
