// Computes the addresses of accesses.
#pragma once
#include <optional>
#include <string>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// The address of an access, as LLVM text (addresses.cpp).
struct Address {
    enum class How { scalar, contiguous, scattered } how = How::scalar;
    std::string pointer;  ///< a ptr, or a vector of ptrs
    int align = 1;
};

class Addresses : EmitterPart {
public:
    explicit Addresses(const EmitterPart& all) : EmitterPart(all) {}

    Address access(const ir::Inst& i);
    int index_bits(const ir::Inst& i, ir::Value index) const;
    std::optional<int64_t> index_step(const ir::Inst& i, ir::Value index, size_t axis = 0) const;
    bool lies_in_row(const ir::Inst& i) const;
    ir::Value without_constant(ir::Value v, int64_t& more) const;
    ValueRep offset(const ir::Inst& i, bool wide, bool& contiguous, int64_t& more);
    ValueRep integer(ir::Value v, bool wide);
    int alignment_of(const ir::Inst& i) const;
    std::string pointer_to(const ir::Inst& i, const std::string& index_type, const std::string& index, int64_t more = 0);
    std::string pointer_at(const ir::Inst& i, const std::string& last);
    std::string pointer_in_loop(const ir::Inst& i);
    std::string sum_of(const std::string& a, const std::string& b);
    std::string product_of(const std::string& a, const std::string& b);

private:
    struct LoopIndex {
        std::string at_begin;  ///< an i32
        std::string step;      ///< an i64
    };
    Address lane_access(const ir::Inst& i);  ///< private memory
    std::string at_row_begin(ir::Value v, int depth = 0);
    std::string pointer_along(const ir::Inst& i, const std::string& index_type, const std::string& index, int64_t more);
    std::optional<LoopIndex> index_in_loop(ir::Value v, ir::InstId loop, int64_t* displacement, int depth = 0);
};

}  // namespace pumice::cpu
