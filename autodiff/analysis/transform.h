// Derivatives of kernels, IR to IR: forward mode, reverse mode, and reverse mode in halves. (The namespace is not called
// autodiff: pumice::autodiff is the function that users call, and one scope cannot hold both.)
//
// A derivative kernel takes the parameters of the primal in order. Each is followed by what the signature asks for,
// `width` times:
//   a duplicated array      its shadow: an array of the same element and rank
//   a duplicated scalar     its tangent: a scalar (forward)
//   an active scalar        an array of one element of its type, to which its adjoint is added (reverse)
// Tapes come last. The results are ordinary kernels: they verify, print, run on every device, and can be differentiated again.
#pragma once
#include <array>
#include <functional>
#include <optional>

#include "core/ir/ir.h"
#include "core/support/lazy.h"

namespace pumice::derive {

/// The activity that a caller gives to one parameter of the kernel.
enum class Activity { constant, active, duplicated, duplicated_no_need };

/// The activity of each parameter of the IR, in order, and the number of directions of a batch.
struct Signature {
    std::vector<Activity> params;
    int width = 1;
    bool as_reverse = false;          ///< forward mode: functions use their rules for reverse mode, so that both modes agree
    bool any_range = false;           ///< reverse mode: correct for launches of any size, so that Adjoint::fits is empty
    int64_t private_elements = 1024;  ///< tape elements in private memory: Limits::private_memory / 4 bytes
    bool operator==(const Signature&) const = default;
};

/// Values that the host knows before a launch: the bits of scalar arguments, and the extents of arrays along the axes of the
/// IR.
struct HostValues {
    std::function<uint64_t(size_t parameter)> scalar;
    std::function<int64_t(size_t parameter, int axis)> extent;
    std::array<int64_t, 3> item{};  ///< the indices of an item, by axis, for values that depend on them
};

/// A predicate of launches with so many items along each axis of the IR: true where no two items add to one element by plain
/// additions. Indices wrap: with x[64 * i] in 32 bits, items 0 and 2^26 meet. Empty: true for every launch.
using Fits = std::function<bool(const HostValues&, const std::array<int64_t, 3>& items)>;

/// An array that derivative kernels take after all other parameters, in the order of the list. An "item" is a work-item of the
/// range, or of all groups where the primal has whole_groups.
struct TapeParameter {
    enum class Sizing {
        fixed,    ///< `count` elements
        item,     ///< `count` elements an item
        offsets,  ///< one i32 an item: the exclusive prefix sum of the counts that the CountKernel writes for this tape
        counted,  ///< as many elements as the sum of those counts; follows its offsets
    };
    Scalar type = Scalar::f32;
    Sizing size = Sizing::item;
    int64_t count = 0;
    std::function<int64_t(const HostValues&)> more = {};  ///< if set: more elements an item, computed from the arguments
    bool zeroed = false;                                  ///< must hold zeros before the first kernel runs
};

/// A kernel that is launched after another one to complete it; both take the same arguments.
struct FollowUpKernel {
    ir::Kernel kernel;
    int64_t items = 0;  ///< the number of items along axis 0; 0: the range of the primal
    /// The same kernel strip-mined over rows, for a range of n rows, an eighth of the primal's (in one dimension: of items).
    /// The item of row i does the rows i, i + n, ..., i + 7 n that lie below one more argument, an i32.
    std::optional<ir::Kernel> row_by_row = {};
    static constexpr int rows = 8;
};

/// A gathering adjoint over a halo-extended range. It begins `before` items earlier along each axis and ends `after` later, so
/// that every element has an item that adds to it.
struct HaloGather {
    ir::Kernel kernel;                  ///< boundary items use selects: for devices whose items branch together
    std::optional<ir::Kernel> by_rows;  ///< boundary items branch: for devices that split rows where conditions change
    std::array<int64_t, 3> before{}, after{};
};

/// The adjoint of a pairwise loop, in which item i would add to x[j] for every j: instead item i takes the contributions of all
/// items j to x[i]. No item adds to an element of another one.
struct PairwiseAdjoint {
    ir::Kernel kernel;
    ir::Kernel zero;  ///< launched after it: clears the shadows of stored arrays, which items read of each other
    std::function<bool(const HostValues&, int64_t from, int64_t to)> fits;  ///< the loops run from `from` to `to`
};

/// The kind of addition of an adjoint of a load to the shadow: the cheapest one that is proven safe.
enum class Accumulation {
    plain,   ///< load, add, store: no other item touches the element in the same phase
    group,   ///< all items add to one element: each adds to one of several cells, which another kernel sums up
    gather,  ///< scatter-to-gather: an item adds to its own element what its neighbours contribute
    atomic,  ///< an atomic add an item
};

/// The accumulation of the adjoint of the load on this line; for tests and reports.
struct Accumulated {
    ir::Loc loc;
    std::string memory;  ///< in the primal's text: "arg2", "local1"
    Accumulation how = Accumulation::atomic;
    bool operator==(const Accumulated&) const = default;
};

/// The adjoint of a kernel with loads in a loop whose shadow elements have owners: items of other ranges, which sum up what all
/// items of the primal give to their element. The owners are launched in front of the rest, because the rest consumes the shadows
/// of stores.
struct OwnerComputesAdjoint {
    struct OwnerRange {
        std::vector<int> axes;        ///< by axis: the axis of the primal's range, or -1 for the iterations of the loop
        std::vector<int64_t> shifts;  ///< likewise: the range along the axis is that one plus the shift
        size_t parameter = 0;         ///< the array
        std::vector<int> array_axes;  ///< by axis: the array's axis; owners exist for its elements only
        std::vector<int> looped;      ///< the axes of the primal's range over which an owner loops
        std::function<std::pair<int64_t, int64_t>(const HostValues&)> iterations;  ///< the first one, and the one after the last
        std::function<int64_t(const HostValues&)> trips;                           ///< the iterations of one item
    };
    /// An owner takes the arguments of the adjoint, and after them i32 scalars: the start and the end of the primal's range along
    /// each axis of `looped`, from the last one to the first.
    struct Owner {
        ir::Kernel kernel;
        OwnerRange range;
        int instructions;  ///< floating-point instructions of a contribution
    };
    std::vector<Owner> owners;
    ir::Kernel rest;
    std::vector<Accumulated> accumulated;  ///< of the rest
};

/// The items along an axis that may have element t as an index of one of the taps: those from slope * t + low to
/// slope * t + high. With a period they are also those of these intervals shifted by its multiples; if reflected, also those from
/// -slope * t + turned_low to -slope * t + turned_high, likewise. With k multiples, the intervals of t for k, for k turned and
/// for k + 1 begin in this order.
struct ItemFootprint {
    double slope = 0, low = 0, high = 0;
    double period = 0;
    double turned_low = 0, turned_high = 0;
    int64_t open_before = -1, open_after = -1;  ///< elements whose interval begins, or ends, with the range
    int64_t first = 0, last = -1;               ///< other elements are touched by no item
    double visits = 0;                          ///< of all elements together, about
    double most_visits = 0;                     ///< of one element
};

/// The adjoint of a kernel with loads around affine positions, such as samples of textures: items of other ranges, one for each
/// shadow element, gather what the items of the primal give to their element. They are launched in front of the rest.
struct FootprintGatherAdjoint {
    /// The intervals of items along one axis of the primal's range.
    struct Dimension {
        int axis;
        bool periodic, reflected, cut;
        std::function<std::string(const HostValues&, int64_t start, int64_t end, int64_t elements, ItemFootprint&)> footprint;
    };
    /// The kernel takes the arguments of the adjoint, and after them scalars: i32 start and end of the primal's range along each
    /// of its axes; for each group and dimension f32 slope, low and high; if cut and not periodic i32 open_before and open_after;
    /// if reflected f32 turned_low and turned_high; if periodic f32 period and 1 / period.
    struct Gatherer {
        ir::Kernel kernel;
        std::vector<int> axes;  ///< by axis of its range: the axis of the memory
        size_t parameter;       ///< of the primal: the memory
        struct Group {
            std::vector<Dimension> dimensions;
            int64_t additions;  ///< of one item of the primal
        };
        std::vector<Group> groups;
    };
    std::vector<Gatherer> gatherers;
    ir::Kernel rest;
    std::vector<Accumulated> accumulated;  ///< of the rest
};

/// The adjoint of a kernel with a loop in which all items add to the same elements: the partial sums of an iteration go to
/// `count` cells of a tape, which follows the tapes of the adjoint. `interchanged` is the loop after interchange: it runs over
/// the iterations (axis 0) and chunks of items (axis 1). The items hand values to it in another tape, after the cells.
struct LoopPartialSumsAdjoint {
    ir::Kernel kernel;
    std::optional<ir::Kernel> interchanged;
    ir::Kernel total;                      ///< launched last: an item adds the cells of one iteration to the shadows
    Scalar type = Scalar::f32;             ///< type of the tapes
    int64_t count = 0, passed_values = 0;  ///< cells per iteration; values per item
    std::function<int64_t(const HostValues&)> iterations;
};

/// Counts the elements of counted tapes before any other kernel runs: over the range of the primal, with the arguments of the
/// primal and after them one i32 array (an element an item) for each tape of size `offsets`.
struct CountKernel {
    ir::Kernel kernel;
    bool writes = false;  ///< it writes arrays of the primal, so arrays that are not `in` have to be copied
};

/// Reverse mode: "NAME.adjoint" runs the primal, then the reverse sweep.
struct Adjoint {
    ir::Kernel kernel;
    // These replace the kernel where they apply and are faster.
    Lazy<HaloGather> halo_gather;
    Lazy<PairwiseAdjoint> pairwise;
    Lazy<OwnerComputesAdjoint> owner_computes;
    Lazy<FootprintGatherAdjoint> footprint_gather;
    Lazy<LoopPartialSumsAdjoint> loop_partial_sums, interchanged;  ///< without and with loop interchange
    std::vector<FollowUpKernel> after;                             ///< to be launched after the kernel
    std::vector<TapeParameter> tapes;
    std::optional<CountKernel> count;  ///< where a tape is counted
    std::vector<Accumulated> accumulated;
    Fits fits;  ///< launches that do not fit need the adjoint of Signature::any_range
};

/// Reverse mode in halves: "NAME.augmented" runs the primal and writes the tapes, "NAME.reverse" reads them; between them the
/// arguments may change. Both take the same parameters.
struct SplitDerivative {
    ir::Kernel augmented, reverse;
    Lazy<HaloGather> halo_gather;       ///< replaces `reverse` on devices where it is faster
    std::vector<FollowUpKernel> after;  ///< to be launched after `reverse`
    std::vector<TapeParameter> tapes;
    std::optional<CountKernel> count;
    std::vector<Accumulated> accumulated;
    Fits fits;  ///< of `reverse`
};

/// Forward mode: "NAME.forward" runs the primal and propagates tangents. Throws Error naming the line of an instruction that
/// has no derivative.
ir::Kernel forward(const ir::Kernel& primal, const Signature& signature);
/// Reverse mode, in one kernel or in halves. Throws Error naming the line of an instruction that has no derivative.
Adjoint adjoint(const ir::Kernel& primal, const Signature& signature);
SplitDerivative split(const ir::Kernel& primal, const Signature& signature);

}  // namespace pumice::derive
