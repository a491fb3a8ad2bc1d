// The analyses that all kernels of one derivative share.
#pragma once
#include "autodiff/analysis/tape.h"
#include "autodiff/strategy/footprint_gather.h"
#include "autodiff/strategy/loop_partial_sums.h"
#include "autodiff/strategy/owner_computes.h"
#include "autodiff/strategy/pairwise_loops.h"
#include "autodiff/strategy/scatter_to_gather.h"
#include "autodiff/sweep/double_where.h"

namespace pumice::derive {

struct Primal {
    const ir::Kernel& kernel;  ///< canonical
    const Signature& signature;
    bool single_kernel = false;  ///< no kernel follows: sums go to shadows directly, and nothing is gathered
    ir::Structure where;
    Analysis analysis;
    TapePlan plan;
    Gather gather;
    Contributions contributions;
    PairwiseLoops pairwise;
    OwnerComputes owners;
    LoopPartialSums loop_partial_sums;
    FootprintGather footprints;
    std::vector<bool> discardable;
    /// `split_mode`: the augmented primal and the reverse sweep are kernels of their own.
    Primal(const ir::Kernel& k, const Signature& s, bool split_mode)
        : kernel(k),
          signature(s),
          where(k),
          analysis(k, s, where),
          plan(k, where, analysis, split_mode),
          gather(k, where, analysis, split_mode),
          contributions(k, where, analysis, plan, gather),
          pairwise(k, where, analysis, plan, contributions),
          owners(k, where, analysis, plan, contributions),
          loop_partial_sums(k, where, analysis, plan),
          footprints(k, where, analysis, plan, gather),
          discardable(discardable_values(k, where, plan)) {}
};

}  // namespace pumice::derive
