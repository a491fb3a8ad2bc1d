// Emits prefetches for later packets, iterations and groups.
#pragma once
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cpu/access/interleaved_group.h"
#include "cpu/address/addresses.h"
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class SoftwarePrefetch : EmitterPart {
public:
    /// The instructions from what moves to an address.
    using Way = std::vector<ir::InstId>;

    explicit SoftwarePrefetch(const EmitterPart& all) : EmitterPart(all) {}

    std::string has_many_iterations(ir::InstId loop);
    void emit_prefetch(const std::string& there, int locality = 3);
    void prefetch(ir::InstId id, const Address& a);
    void prefetch_interleaved(const InterleavedGroup& s, const std::string& address);
    void prefetch_row(const ir::Inst& i, const std::string& begin, const std::function<std::string()>& begin_again);
    std::optional<Way> way_to(const ir::Inst& i, const std::function<bool(ir::Value)>& moved) const;
    Address address_after(const ir::Inst& i, const Way& way, const std::function<void()>& move);

    /// The version of the innermost loop that is being emitted.
    enum class Version { only, many_iterations, few_iterations } in_version = Version::only;

private:
    bool loads_rows_of_tile(const ir::Inst& i) const;
    void prefetch_next_tile(const ir::Inst& i, const std::string& address);
    bool strides_far(const ir::Inst& i, ir::InstId loop) const;
    bool changes_row(const ir::Inst& i, ir::InstId loop) const;
    void prefetch_group_or_iteration(const ir::Inst& i, ir::InstId loop, const std::string& address, const std::string& later);
    void move_index(const ir::Inst& loop, const std::string& step, int64_t later);
    void with_later_values(const Way& way, const std::function<void()>& move, const std::function<void()>& body);
    std::string trips_above(const ir::Inst& loop, int64_t least);
    void prefetch_ahead(const std::string& address, int64_t bytes, bool before_loop);
    bool is_before_loop(ir::Value loaded) const;
    void prefetch_iteration(const ir::Inst& i, ir::InstId loop, const Address& a);
    std::optional<std::array<int64_t, 3>> items_between(const ir::Inst& a, const ir::Inst& b) const;
    bool is_leading_reference(const ir::Inst& leading, const ir::Inst& trailing) const;
    std::string address_in_group(const ir::Inst& i, const std::function<bool(ir::Value)>& moved, int further);
    std::string iterations_ahead_in(const ir::Inst& loop);
    std::string address_in_iteration(const ir::Inst& i, const ir::Inst& loop, const std::string& step, int64_t later);
    std::string pointer_after(const ir::Inst& i, const std::function<bool(ir::Value)>& moved, const std::function<void()>& move);
};

}  // namespace pumice::cpu
