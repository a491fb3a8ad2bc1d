// Additions to shadow memory, and zeros of consumed shadows.
#pragma once
#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

class Accumulators;
class AdjointReductions;
struct KeptValues;

class ShadowUpdates : SweepContext {
public:
    ShadowUpdates(const SweepContext& context, const KeptValues& kept, Accumulators& accumulators, AdjointReductions& reductions)
        : SweepContext(context), kept(kept), accumulators(accumulators), reductions(reductions) {}
    void reverse_load(ir::InstId id);
    void reverse_store(const ir::Inst& i);
    void reverse_atomic(const ir::Inst& i);
    /// Emits all pending zeros.
    void flush();

    /// An addition to the shadow of an element.
    struct Contribution {
        ir::MemoryId memory;
        uint32_t leaf;
        std::vector<ir::Value> indices;
        ir::Value term;
        ir::Loc loc;
    };
    /// If not null, takes the additions of the loads of primal.loop_partial_sums, instead of the shadow.
    std::vector<Contribution>* diverted = nullptr;

private:
    /// The zero of a reversed store, while an addition to the same element may follow.
    struct PendingZero {
        ir::MemoryId memory;
        uint32_t leaf;
        std::vector<ir::Value> indices;
        ir::Value loaded;
    };
    bool taken_by_others(ir::InstId load) const;
    void accumulate(ir::InstId load, int w, ir::Value term);
    void flush(ir::MemoryId memory, uint32_t leaf, std::span<const ir::Value> indices, bool also_same);

    const KeptValues& kept;
    Accumulators& accumulators;
    AdjointReductions& reductions;
    std::vector<PendingZero> pending;
};

}  // namespace pumice::derive
