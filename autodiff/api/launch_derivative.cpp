// Launch of derivative kernels: arguments, tapes, choice of the strategy, results.
//
// Why at the launch: the range, the extents of arrays and the device decide which strategy is right and which is fast.
//
//     autodiff(Reverse, f, ndrange(n), Duplicated(y, dy), Duplicated(x, dx), Active(a))
//       1. fix the group, if the results depend on it; take the version for any launch, if the usual one does not fit this range
//       2. arguments y, dy, x, dx, a, da (an array of one element); tapes, counted first by a launch of their own if need be
//       3. the first strategy that applies (adjoint_strategy.h)
//       4. steps after it: sum up cells, clear shadows
//       5. read da back; add the shadows of arrays that are passed twice
//
// Strategies have conditions on the range and on the traits of the device (BackendTraits); no device is named.
// Cost: one to four launches; reading scalars back waits for the device. Limits: a tape has at most 2^31 - 1 elements.
// Textbook name: multi-versioning with run-time dispatch.
#include "autodiff/api/launch_derivative.h"

#include "autodiff/api/adjoint_strategy.h"
#include "autodiff/api/check_annotations.h"
#include "autodiff/api/shadow_arrays.h"
#include "core/host/next_launch_hint.h"
#include "core/host/trace_hook.h"
#include "core/ir/evaluate.h"
#include "core/support/debug.h"
#include "core/support/trace.h"

namespace pumice::derive {
void add_to(void* target, Scalar type, uint64_t bits) {
    with_scalar(type, [&](auto zero) {
        using T = decltype(zero);
        T& sum = *static_cast<T*>(target);
        sum = T(Computed<T>(sum) + Computed<T>(from_bits<T>(bits)));
    });
}

namespace {

/// The arguments of a derivative kernel, in the order of its parameters.
class Arguments {
public:
    Arguments(const Derived& derived, const Range& range, const std::vector<ArgumentSlot>& slots)
        : derived(derived), slots(slots), device(device_of(range, slots)) {
        for (size_t i = 0; i < slots.size(); ++i) {
            list.push_back(slots[i].value);
            if (derived.signature.params[i] == Activity::constant) continue;
            for (int w = 0; w < derived.signature.width; ++w) put(slots[i], size_t(w));
        }
    }

    std::vector<HostArgument> list;
    TapeArrays sums;  ///< the adjoints of active scalars, in order

    /// After the launch: adds temporary shadows to the caller's, and reads the adjoints of the active scalars back.
    void finish(std::vector<uint64_t>* adjoints) const {
        for (const auto& [own, to] : apart) accumulate(to, own);
        size_t next = 0;
        for (size_t i = 0; i < slots.size(); ++i) {
            const ArgumentSlot& slot = slots[i];
            if (slot.value.is_array || derived.mode == DerivativeMode::forward || slot.activity == Activity::constant) continue;
            for (int w = 0; w < derived.signature.width; ++w) {
                uint64_t bits = 0;
                if (derived.signature.params[i] != Activity::constant && (adjoints || slot.target))
                    detail::read(*sums[next++], &bits);
                if (slot.target && is_float(slot.value.type))
                    add_to(slot.target, slot.value.type, bits);
                else if (slot.activity == Activity::active && adjoints)
                    adjoints->push_back(bits);
            }
        }
    }

private:
    void put(const ArgumentSlot& slot, size_t w) {
        if (!slot.value.is_array && derived.mode == DerivativeMode::forward) return list.push_back(slot.shadows[w]);
        if (!slot.value.is_array) {
            const int64_t one = 1;
            sums.push_back(detail::allocate(device, &one, 1, element_of(slot.value.type), true));
            return list.push_back(argument_of(*sums.back()));
        }
        // One array may be read through two parameters. The kernel updates two shadows then, which must not be the same memory.
        const HostArgument& shadow = slot.shadows[w];
        bool twice = false;
        if (derived.mode == DerivativeMode::forward) return list.push_back(shadow);
        for (const HostArgument& before : list)
            twice = twice || (before.is_array && before.array && overlap(*before.array, *shadow.array));
        if (!twice) return list.push_back(shadow);
        apart.push_back({allocate_like(*shadow.array, shadow.array->bytes, true),
                         const_cast<detail::ArrayState*>(shadow.array)->shared_from_this()});
        list.push_back(rebound(shadow, *apart.back().first));
    }

    const Derived& derived;
    const std::vector<ArgumentSlot>& slots;
    std::shared_ptr<detail::DeviceState> device;
    std::vector<std::pair<std::shared_ptr<detail::ArrayState>, std::shared_ptr<detail::ArrayState>>> apart;
};

int64_t items_along(const Range& range, size_t d, bool whole_groups) {
    const int64_t n = range.to[d] - range.from[d];
    return whole_groups && range.group_rank ? (n + range.group_extents[d] - 1) / range.group_extents[d] * range.group_extents[d]
                                            : n;
}
int64_t items_of(const Range& range, bool whole_groups) {
    int64_t items = 1;
    for (int d = 0; d < range.rank; ++d) items *= items_along(range, size_t(d), whole_groups);
    return items;
}
/// The number of items along each axis of the IR.
std::array<int64_t, 3> items_along(const Range& range, bool whole_groups) {
    std::array<int64_t, 3> items{1, 1, 1};
    for (int axis = 0; axis < std::min(range.rank, 3); ++axis)
        items[size_t(axis)] = items_along(range, size_t(range.rank - 1 - axis), whole_groups);
    return items;
}

/// The given range, or the static range of the kernel if none is given.
Range own_or_given(const Range& range, const ir::Kernel& kernel) {
    if (range.rank != 0 || !kernel.range[0]) return range;  // the launch itself refuses an empty range
    Range own = range;
    own.rank = kernel.rank;
    for (int d = 0; d < own.rank; ++d) own.to[size_t(d)] = kernel.range[size_t(own.rank - 1 - d)];
    return own;
}

/// Fixes the group where the meaning of the kernel may depend on it, so that the primal and its derivatives agree.
Range with_group(const Range& given, const Derived& derived, detail::DeviceState& device) {
    const ir::Kernel& kernel = *derived.primal;
    const Range range = own_or_given(given, kernel);
    if (range.group_rank || !derived.by_group || items_of(range, false) <= 0) return range;
    std::array<int64_t, 3> group = kernel.group;
    if (!group[0]) {
        Launch launch;
        launch.rank = std::min(range.rank, 3);
        for (int d = 0; d < range.rank; ++d)
            launch.extent[size_t(std::min(range.rank - 1 - d, 2))] *= range.to[size_t(d)] - range.from[size_t(d)];
        launch.arguments.resize(kernel.params.size());
        group = device.backend->choose_group(kernel, launch);
    }
    Range fixed = range;
    fixed.group_rank = range.rank;
    fixed.group_extents.fill(1);  // in more than 3 dimensions, groups have extent 1 along all but the last two
    for (int d = range.rank > 3 ? range.rank - 2 : 0; d < range.rank; ++d)
        fixed.group_extents[size_t(d)] = group[size_t(range.rank - 1 - d)];
    return fixed;
}

HostValues values_of(const std::vector<ArgumentSlot>& slots) {
    HostValues values;
    values.scalar = [&slots](size_t p) { return slots[p].value.bits; };
    values.extent = [&slots](size_t p, int axis) { return slots[p].value.extents[size_t(slots[p].value.rank - 1 - axis)]; };
    return values;
}

/// Launches the kernels of the strategy that a recorder of the program has decided on, or else of the first one that applies.
void launch_strategy(DerivedLaunch l) {
    detail::TraceHook* const hook = detail::trace_hook();
    if (const std::string* const decided = hook ? hook->strategy() : nullptr) {
        l.decided = true;
        for (const AdjointStrategy& strategy : adjoint_strategies())
            if (strategy.name == *decided && strategy.launch(l).empty()) return hook->chose(strategy.name);
        l.decided = false;
    }
    std::string others;
    for (const AdjointStrategy& strategy : adjoint_strategies()) {
        const std::string refusal = strategy.launch(l);
        if (refusal.empty()) {
            if (hook) hook->chose(strategy.name);
            if (debug::log() && l.derived.mode != DerivativeMode::forward)
                debug::log_line(
                    text("the reverse sweep of kernel \"", l.derived.primal->name, "\" runs by ", strategy.name, others));
            return;
        }
        if (refusal != AdjointStrategy::not_made)
            others += text(others.empty() ? "; not by " : ", not by ", strategy.name, ": ", refusal);
    }
}

void launch_after(const Derived::After& after, Range range, std::vector<HostArgument> arguments,
                  const detail::DeviceState& device) {
    if (after.items > 0) {
        range.from = {}, range.to.fill(1), range.group_rank = 0;
        range.to[size_t(range.rank - 1)] = after.items;
    } else if (after.row_by_row && !device.backend->traits().cheap_items && range.to[0] <= INT32_MAX - FollowUpKernel::rows) {
        // The launch of an item costs at least as much as one store: on lavapipe, clearing 8 rows an item takes half of the time.
        HostArgument end;
        end.type = Scalar::i32, end.bits = uint32_t(range.to[0]);
        arguments.push_back(end);
        range.to[0] = range.from[0] + (range.to[0] - range.from[0] + FollowUpKernel::rows - 1) / FollowUpKernel::rows;
        after.row_by_row->launch(range, arguments);
        return;
    }
    after.kernel.launch(range, arguments);
}

void check_size(const ir::Kernel& primal, Scalar type, double elements) {
    if (elements > INT32_MAX)
        fail("the reverse sweep of kernel \"", primal.name, "\" needs a tape of ", int64_t(elements), " elements, ",
             int64_t(elements) * size_of(type), " bytes, and a tape has 2147483647 elements at most");
}

/// Elements of a tape that is not counted.
int64_t elements_of(const TapeParameter& tape, const Derived& derived, const std::vector<ArgumentSlot>& slots, int64_t items) {
    if (tape.size == TapeParameter::Sizing::offsets) return items;
    const int64_t each = tape.count + (tape.more ? tape.more(values_of(slots)) : 0);
    if (tape.size == TapeParameter::Sizing::item) check_size(*derived.primal, tape.type, double(each) * double(items));
    return tape.size == TapeParameter::Sizing::item ? each * items : each;
}

/// The result of the count kernel for one counted tape: the array of offsets, and the total number of elements.
struct CountedTape {
    std::shared_ptr<detail::ArrayState> offsets;
    Scalar type;
    int64_t total = 0;
};
/// `in_kernel` is true from the launch of the count kernel until its results are read: errors in that time are the kernel's.
std::vector<CountedTape> count_tapes(const Derived& derived, const Range& range, const std::vector<ArgumentSlot>& slots,
                                     const std::shared_ptr<detail::DeviceState>& device, int64_t items, bool& in_kernel) {
    std::vector<CountedTape> counted;
    std::vector<HostArgument> arguments;
    OtherMemory copies;
    for (size_t i = 0; i < slots.size(); ++i) {
        const HostArgument& value = slots[i].value;
        const bool written = has_memory(value) && (*derived.primal)[derived.primal->params[i].memory].access != ir::Access::in;
        arguments.push_back(derived.count_writes && written ? copies.copy_of(value, true) : value);
    }
    for (size_t t = 0; t < derived.tapes.size(); ++t)
        if (derived.tapes[t].size == TapeParameter::Sizing::offsets) {
            counted.push_back({detail::allocate(device, &items, 1, element_of(Scalar::i32), true), derived.tapes[t + 1].type});
            arguments.push_back(argument_of(*counted.back().offsets));
        }
    in_kernel = true;
    derived.count->launch(range, arguments);
    for (CountedTape& c : counted) {
        detail::TraceHook* const hook = detail::trace_hook();
        if (hook && hook->scanning(*c.offsets, INT32_MAX, c.total)) continue;
        std::vector<int32_t> counts(static_cast<size_t>(items));
        detail::read(*c.offsets, counts.data());
        in_kernel = false;
        for (int32_t& n : counts) {
            const int64_t before = c.total;
            c.total += n == INT32_MAX ? int64_t(n) + 1 : int64_t(n);  // a saturated count: too large in any case
            n = int32_t(before);
        }
        check_size(*derived.primal, c.type, double(c.total));
        detail::write(*c.offsets, counts.data(), items, items);
    }
    in_kernel = false;
    return counted;
}

}  // namespace

const Element& element_of(Scalar type) {
    static const auto& elements = *[] {  // never destroyed, as detail::element_of
        auto* const all = new std::array<Element, scalar_count>;
        for (size_t i = 0; i < all->size(); ++i) (*all)[i] = Element::of(Scalar(i));
        return all;
    }();
    return elements[size_t(type)];
}

std::shared_ptr<detail::DeviceState> device_of(const Range& range, const std::vector<ArgumentSlot>& slots) {
    if (range.stream.state) return range.stream.state->device;
    for (const ArgumentSlot& slot : slots)
        if (slot.value.array || slot.value.image) return slot.value.device();
    return Device::open().state;
}

TapeArrays make_tapes(const Derived& derived, const Range& range, const std::vector<ArgumentSlot>& slots) {
    if (derived.tapes.empty()) return {};
    trace::Span span("derivative", "tape");
    span.add("kernel", derived.primal->name);
    const auto device = device_of(range, slots);
    const Range grouped = with_group(range, derived, *device);
    const int64_t items = items_of(grouped, derived.primal->whole_groups);
    TapeArrays tapes;
    int64_t bytes = 0;
    bool in_kernel = false;
    try {
        std::vector<CountedTape> counted;
        if (derived.count) counted = count_tapes(derived, grouped, slots, device, items, in_kernel);
        size_t next = 0;
        for (const TapeParameter& tape : derived.tapes) {
            if (tape.size == TapeParameter::Sizing::offsets) {
                tapes.push_back(counted[next].offsets);
                bytes += tapes.back()->bytes;
            } else {
                const int64_t n = tape.size == TapeParameter::Sizing::counted ? counted[next++].total
                                                                              : elements_of(tape, derived, slots, items);
                bytes += n * int64_t(size_of(tape.type));
                tapes.push_back(detail::allocate(device, &n, 1, element_of(tape.type), tape.zeroed));
            }
        }
    } catch (const Error& e) {
        throw e.within(
            text("while making the tape of the reverse sweep of kernel \"", derived.primal->name, "\"",
                 bytes ? text(", ", bytes, " bytes") : std::string(), " over ", items, " work-items",
                 in_kernel ? "" : ": launches over smaller ranges, or programs with Reverse.checkpoints(n), need less at once"));
    }
    span.add("bytes", bytes);
    span.add("items", items);
    if (debug::log())
        debug::log_line(text("the reverse sweep of kernel \"", derived.primal->name, "\" has a tape of ", bytes, " bytes for ",
                             items, " work-items"));
    return tapes;
}

void check_tapes(const Derived& derived, const Range& range, const std::vector<ArgumentSlot>& slots, const TapeArrays& tapes) {
    const int64_t items = items_of(with_group(range, derived, *device_of(range, slots)), derived.primal->whole_groups);
    if (items <= 0) return;
    const auto refuse = [&](const auto&... what) {
        fail("the reverse half of kernel \"", derived.primal->name, "\" is given a tape ", what...,
             ": both halves take the same range and annotations");
    };
    if (tapes.size() != derived.tapes.size()) refuse("of ", tapes.size(), " arrays, and its own has ", derived.tapes.size());
    for (size_t t = 0; t < tapes.size(); ++t) {
        const TapeParameter& tape = derived.tapes[t];
        const Scalar type = tapes[t]->element->leaves[0].type;
        if (type != tape.type)
            refuse("whose array ", t + 1, " is of ", name_of(type), ", and its own is of ", name_of(tape.type));
        const int64_t has = tapes[t]->bytes / int64_t(size_of(type));
        const int64_t wants = tape.size == TapeParameter::Sizing::counted ? has : elements_of(tape, derived, slots, items);
        if (has != wants) refuse("whose array ", t + 1, " has ", has, " elements, and needs ", wants);
    }
}

void launch(const Derived& given, const Range& range, const std::vector<ArgumentSlot>& slots, std::vector<uint64_t>* adjoints,
            TapeArrays* tape, TapeArrays* sums) {
    const auto device = device_of(range, slots);
    const Range grouped = with_group(range, given, *device);
    const HostValues known = values_of(slots);
    const std::array<int64_t, 3> items = items_along(grouped, given.primal->whole_groups);
    const Derived& derived = derived_for(given, known, items);
    Arguments arguments(derived, grouped, slots);
    TapeArrays own;
    TapeArrays& tapes = tape ? *tape : own;
    const bool any = items_of(grouped, false) > 0;
    if (any && tapes.empty())
        tapes = make_tapes(derived, grouped, slots);
    else
        for (size_t t = 0; t < tapes.size(); ++t)  // a second sweep over a tape starts with zeroed cells, too
            if (derived.tapes[t].zeroed) fill_zero(*tapes[t]);
    for (const auto& t : tapes) arguments.list.push_back(argument_of(*t));
    if (any) {
        launch_strategy({derived, grouped, known, arguments.list, device});
        for (const Derived::After& after : derived.after) {
            const detail::NextLaunchHint hint(&after != &derived.after.back());
            launch_after(after, grouped, arguments.list, *device);
        }
    }
    arguments.finish(adjoints);
    if (sums) *sums = arguments.sums;
}

}  // namespace pumice::derive
