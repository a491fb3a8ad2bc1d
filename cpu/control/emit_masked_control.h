// Emits the instructions of blocks, loops and jumps, divergent ones under masks.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpu/dwarf/dwarf_metadata.h"
#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// A loop within a packet (emit_masked_control.cpp).
struct LoopState {
    const ir::Inst* inst = nullptr;
    bool masked = false;   ///< its jumps are masked
    bool tracked = false;  ///< items leave it at different times
    Mask entered;
    std::vector<Alloca> carried, results;
    std::vector<bool> captured;  ///< the results that are used
    Alloca alive, continued, left;
    std::string latch, exit;
    std::string body;  ///< of a while: the block after the test
};

class MaskedControl : EmitterPart {
public:
    explicit MaskedControl(const EmitterPart& all) : EmitterPart(all) {}

    void sequence(std::span<const ir::InstId> insts);
    void instruction(ir::InstId id);
    void terminator(ir::InstId id);
    std::string runs_on(const ir::Inst& i, Scalar type, const std::string& index, const std::string& to, const std::string& step,
                        bool vector);

    std::unique_ptr<DwarfMetadata> dwarf;  ///< null unless for_debuggers

private:
    void cut_long_block(std::span<const ir::InstId> before);
    void instruction_without_line(ir::InstId id);
    void loop(ir::InstId id);
    void one_loop(ir::InstId id);
    void repeat_plain(const ir::Inst& loop, const std::string& header);
    bool has_full_iterations(ir::InstId id, const LoopState& l) const;
    void full_iterations(ir::InstId id, const LoopState& masked, const Alloca& index);
    void for_header(ir::InstId id, LoopState& l, const Alloca& index);
    void for_latch(const ir::Inst& i, const LoopState& l, const Alloca& index);
    void test(const ir::Inst& i);
    void capture(const LoopState& l, std::span<const ir::Value> values, const Mask& who);
    void next_iteration(const LoopState& l, std::span<const ir::Value> values);
    void capture_carried(const LoopState& l, const Mask& who);
    void note_left(const LoopState& l, const Mask& who);

    std::map<std::string, std::string> unread;  ///< by type: stack slots for the never-taken branches of cut_long_block()
    std::vector<LoopState> loops;
};

}  // namespace pumice::cpu
