#include "core/host/strided_region.h"

#include <algorithm>
#include <mutex>

#include "core/host/device.h"

namespace pumice::detail {

void check_dimension(const char* what, int d, int rank) {
    if (d < 0 || d >= rank)
        fail("the extent of ", what, " along dimension ", d, " is asked for; it has ", rank,
             rank == 1 ? " dimension" : " dimensions");
}

void no_host_memory(int64_t bytes) { fail("cannot allocate ", bytes, " bytes of host memory for a copy of an array"); }

const ArrayState& held(const std::shared_ptr<ArrayState>& state) {
    if (!state) throw Error("an array that was never allocated is used: make it with Device::zeros, full, empty or upload");
    if (state->released) throw Error("an array is used after its release()");
    return *state;
}

/// Guards ArrayState::sharing of all arrays.
std::mutex& slicing() {
    static std::mutex& one = *new std::mutex;  // static arrays may be sliced at exit
    return one;
}

std::shared_ptr<ArrayState> slice(const ArrayState& array, int64_t first, int64_t count) {
    auto part = std::make_shared<ArrayState>();
    part->device = array.device;
    part->element = array.element;
    part->element_size = array.element_size;
    part->offset = array.offset + first * array.element_size;
    part->bytes = count * array.element_size;
    if (count <= 0) return part;
    part->memory = array.memory;
    const std::lock_guard lock(slicing());
    if (!array.sharing) {
        array.sharing = std::make_shared<std::vector<std::weak_ptr<ArrayState>>>();
        array.sharing->push_back(std::const_pointer_cast<ArrayState>(array.weak_from_this().lock()));
    }
    auto& all = *array.sharing;
    if (all.size() == all.capacity()) std::erase_if(all, [](const auto& state) { return state.expired(); });
    all.push_back(part);
    part->sharing = array.sharing;
    return part;
}

void release(ArrayState& array) {
    std::vector<std::shared_ptr<ArrayState>> ended;  // whose last handle may go meanwhile
    {
        const std::lock_guard lock(slicing());
        if (array.sharing)
            for (const auto& state : *array.sharing) ended.push_back(state.lock());
    }
    const auto end = [](ArrayState& state) {
        state.memory = nullptr;
        state.released = true;
    };
    end(array);
    for (const auto& state : ended)
        if (state) end(*state);
}

void check_region(std::span<const int64_t> extents, std::span<const int64_t> from, std::span<const int64_t> to,
                  std::span<const int64_t> step) {
    for (size_t d = 0; d < extents.size(); ++d) {
        if (from[d] < 0 || from[d] > to[d] || to[d] > extents[d])
            fail(from[d] < to[d] && from[d] == to[d] - 1 ? text("element ", from[d])
                                                         : text("a view of the elements ", from[d], " to ", to[d]),
                 " along dimension ", d, " is asked for, of an array whose extent there is ", extents[d]);
        if (step[d] < 1) fail("a view of every ", step[d], "th element along dimension ", d, " is asked for: steps are positive");
    }
}

void check_same_extents(std::span<const int64_t> from, std::span<const int64_t> to) {
    const auto shape = [](std::span<const int64_t> extents) {
        std::string out;
        for (const int64_t e : extents) out += text(out.empty() ? "" : " x ", e);
        return out;
    };
    if (!std::ranges::equal(from, to))
        fail("elements of extents ", shape(from), " are copied into a view of extents ", shape(to), ": they must agree");
}

void check_count(int64_t given, int64_t wanted) {
    if (given != wanted)
        fail("host memory of ", given, " elements is copied to or from an array or view of ", wanted,
             " elements: the sizes must agree");
}

}  // namespace pumice::detail
