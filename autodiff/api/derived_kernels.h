// Derivative kernels, made once for a kernel and signature; launching them.
#pragma once
#include <mutex>

#include "autodiff/api/derivative_call.h"

namespace pumice::derive {

enum class Mode { forward, adjoint, augmented, reverse };

/// A kernel's derivative, ready to launch.
struct Derived {
    struct After { AnyKernel kernel; int64_t items; std::optional<AnyKernel> row_by_row; };  // as Step
    struct WideKernel { AnyKernel kernel; std::optional<AnyKernel> by_rows; std::array<int64_t, 3> before, behind; };
    struct AllPairsKernel { AnyKernel kernel, zero; std::function<bool(const HostValues&, int64_t, int64_t)> fits; };
    struct LoopCellsKernels {
        AnyKernel kernel;
        std::optional<AnyKernel> exchanged;
        AnyKernel total;
        Scalar type;
        int64_t count, handed_on;
        std::function<int64_t(const HostValues&)> iterations;
        bool adds_beside;  ///< the kernel adds to other elements, too
    };
    AnyKernel kernel;
    Mode mode;
    Signature signature;
    std::vector<After> after;      // launched after it with the same arguments
    std::vector<Tape> tapes;
    std::optional<AnyKernel> count;
    bool count_writes = false;
    std::shared_ptr<const ir::Kernel> primal;
    bool by_group = false;         // what the primal does depends on how items are grouped
    // By parameter of the primal: whether the derivative loads from it, and whether it writes to it. A program's tape keeps only
    // what is read, and the adjoint of a program must not destroy what an earlier step needs.
    std::vector<bool> reads, writes;
    std::optional<WideKernel> wide;  // instead of `kernel`
    std::optional<AllPairsKernel> all_pairs;  // likewise
    std::optional<LoopCellsKernels> loop_cells, exchanged;  // likewise
    // Where the range may run in pieces: the shadows, by parameter of the derivative, to which items add atomically floats that
    // belong to arrays of inputs.
    std::vector<size_t> summed;
    /// The one for launches that do not fit: made by the first of them.
    struct Any { std::once_flag once; std::unique_ptr<Derived> derived; };
    Fits fits;
    std::shared_ptr<Any> any;
};

/// From the kernel's own cache.
const Derived& derived(const KernelBase& kernel, Mode mode, const Signature& signature);

/// `derived`, or what does the same in such a launch.
const Derived& derived_for(const Derived& derived, const HostValues& known, const std::array<int64_t, 3>& items);

/// What each parameter is once integers inside structs are known to be constant.
Signature signature_of(const ir::Kernel& kernel, const std::vector<Slot>& slots, int width, Mode mode);

/// Launches a derivative over the range. `slots` are those of its signature. `adjoints`, where it is not null, receives the bits of
/// the active scalars' adjoints, `width` a scalar, in order. The tapes are made where `tape` is null or empty (mode augmented
/// leaves them there), else they are those. `sums`, where it is not null, receives the arrays of those adjoints instead.
void launch(const Derived& derived, const Range& range, const std::vector<Slot>& slots, std::vector<uint64_t>* adjoints, TapeArrays* tape = nullptr,
            TapeArrays* sums = nullptr);

/// Launches the derivative of a call, as above; a part of the directions after another where one kernel for all would be long.
void launch(const Call& call, Mode mode, std::vector<uint64_t>* adjoints, TapeArrays* sums = nullptr);

/// Launches a derivative's kernel; in pieces, one after another, where an element of `summed` arguments might get too many floats.
void launch_in_pieces(const AnyKernel& kernel, const ir::Kernel& primal, const std::vector<size_t>& summed, const Range& range,
                      const std::vector<HostArgument>& arguments, const detail::DeviceState& device);

/// Launches the adjoint by sums of a loop's iterations, where there are such kernels and they pay; whether it has.
bool launch_loop_sums(const Derived& derived, const Range& range, const HostValues& known, const std::vector<HostArgument>& arguments,
                      const std::shared_ptr<detail::DeviceState>& device);

/// The device of a launch: that of its stream, of its arrays, else the default one.
std::shared_ptr<detail::DeviceState> device_of(const Range& range, const std::vector<Slot>& slots);
/// Allocates the tapes of a derivative, whose sizes the arguments of the launch decide. Throws Error naming the bytes.
TapeArrays make_tapes(const Derived& derived, const Range& range, const std::vector<Slot>& slots);
/// Throws Error where they are not what make_tapes would give, as far as that is known without counting.
void check_tapes(const Derived& derived, const Range& range, const std::vector<Slot>& slots, const TapeArrays& tapes);
/// A scalar type's element: one object a type.
const Element& element_of(Scalar type);

/// to += from, leaf by leaf of floating type; both of `element`s, the same count.
void accumulate(const std::shared_ptr<detail::ArrayState>& to, const std::shared_ptr<detail::ArrayState>& from);

/// An array of `bytes`, zero or unset. Element and device are those of `like`.
std::shared_ptr<detail::ArrayState> allocate_like(const detail::ArrayState& like, int64_t bytes, bool zero);
void fill_zero(const detail::ArrayState& array);
/// All of the array, as an argument of one dimension.
HostArgument argument_of(const detail::ArrayState& array);
/// The same argument over other memory.
HostArgument rebound(const HostArgument& argument, const detail::ArrayState& array);

bool has_floats(const Element& element);
bool overlap(const detail::ArrayState& a, const detail::ArrayState& b);

/// A sentence on what is wrong with a scalar that is differentiated in a mode, or "".
std::string wrong_scalar(const Slot& slot, const std::string& who, int width, bool forward);
/// The same of a program's argument.
std::string wrong_in_program(const Slot& slot, int width, bool forward);
/// A sentence on what is wrong with a Duplicated array and its shadows, or "". `who` is what the argument is called.
std::string wrong_array(const Slot& slot, const std::string& who, int width);

/// Throws Error for the first misuse of a call.
void check(const Call& call, bool forward);

}  // namespace pumice::derive
