// Derivatives of programs, driver: runs a host function under a trace hook, then reverses the recorded commands.
//
// Why: a program is made of launches, copies and fills. Each has an adjoint or a tangent, and their order is known only when the
// function has run.
//
//     program(x, y)                 recorded (reverse mode)        reversed
//       f(ndrange(n), u, x)         launch f(u, x)                 adjoint of g: dy -> du
//       u.fill / copy ...           ...                            ...
//       g(ndrange(n), y, u)         launch g(y, u)                 adjoint of f: du -> dx
//
// The hook sees launches, copies, fills, uploads and allocations of this thread (core/host/trace_hook.h). ProgramTape records
// them for reverse mode (program_tape.cpp), and program_reverse.cpp reverses them; ProgramTangents executes their tangents for
// forward mode. Scalars of the host are followed as traced numbers (traced.cpp).
// Cost: one record a command, and what is saved of arrays that are overwritten (program_tape.cpp, program_checkpoints.cpp).
// Limits: commands of other threads are not seen; conditions of the host are not recorded, so the derivative is that of the path
// taken. no_derivative() leaves commands out.
// Textbook name: trace-based automatic differentiation, define-by-run (Griewank and Walther, chapter 6, on operator overloading).
#include "autodiff/program/program.h"

#include "autodiff/program/program_tangents.h"
#include "autodiff/program/program_tape.h"
#include "core/ir/evaluate.h"

namespace pumice {

using namespace internal;
namespace derive {

namespace {
thread_local int off_depth = 0;
}
int derivatives_off_depth() { return off_depth; }

ProgramDerivative::ProgramDerivative(ReverseMode mode, int width)
    : record(std::make_unique<ProgramTape>(width, mode.states)), is_forward(false) {}
ProgramDerivative::ProgramDerivative(ForwardMode, int width)
    : record(std::make_unique<ProgramTangents>(width)), is_forward(true) {}
ProgramDerivative::~ProgramDerivative() = default;

void ProgramDerivative::annotate(const std::vector<ArgumentSlot>& slots) { record->annotate(slots, is_forward); }

TracedSource::operator HostScalar() { return program.follow(*next++); }

HostScalar ProgramDerivative::follow(const ArgumentSlot& slot) {
    std::vector<double> tangents;
    for (const HostArgument& t : slot.shadows)
        if (is_forward) tangents.push_back(from_bits<double>(cast_bits(t.type, Scalar::f64, t.bits)));
    const bool active = slot.activity != Activity::constant;
    const HostScalar followed{slot.value.bits, record->scalars, record->scalars->input(slot.value.type, tangents, active)};
    if (slot.target && !is_forward) {
        HostArgument number = slot.value;
        number.number = followed.number;
        scalar_shadows.push_back({slot.target, number});
    }
    return followed;
}

uint64_t ProgramDerivative::derivative(const HostArgument& number, int direction) const {
    return cast_bits(Scalar::f64, number.type, to_bits(record->scalars->derivative(number.number, direction)));
}

void ProgramDerivative::run(const std::function<void()>& function) {
    detail::ScopedTraceHook watching(record.get());
    function();
}

void ProgramDerivative::seed(const HostArgument& array) {
    if (!is_forward) static_cast<ProgramTape&>(*record).seed(array);
}

void ProgramDerivative::reverse() {
    if (is_forward) return static_cast<ProgramTangents&>(*record).check_results();
    static_cast<ProgramTape&>(*record).reverse();
    for (const ScalarShadow& s : scalar_shadows) add_to(s.to, s.number.type, derivative(s.number, 0));
}

std::shared_ptr<detail::ArrayState> ProgramDerivative::tangent(const HostArgument& array, int direction) {
    return static_cast<ProgramTangents&>(*record).tangent(array, direction);
}

}  // namespace derive

void no_derivative(const std::function<void()>& act) {
    ++derive::off_depth;
    try {
        act();
    } catch (...) {
        --derive::off_depth;
        throw;
    }
    --derive::off_depth;
}

}  // namespace pumice
