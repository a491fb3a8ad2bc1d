// Contributions as sums of products with factors that are uniform over the items.
#pragma once
#include <map>
#include <set>
#include <span>
#include <vector>

#include "autodiff/sweep/shadow_updates.h"

namespace pumice::derive {

class ContributionProducts : SweepContext {
public:
    explicit ContributionProducts(const SweepContext& context) : SweepContext(context) {}
    /// Emits the distinct varying products of an iteration. None where the strategy does not pay. `known`: values of the primal,
    /// which are not expanded. `iteration`: the index of the loop.
    std::vector<ir::Value> emit(std::span<const ShadowUpdates::Contribution> contributions, const std::vector<ir::Value>& known,
                                ir::Value iteration);

    /// A product with its uniform factors, and the number of its varying one.
    struct WeightedSum {
        std::vector<ir::Value> factors, divisors;
        bool minus = false;
        size_t sum = 0;
    };
    std::vector<std::vector<WeightedSum>> totals;  ///< each contribution, in terms of the products

private:
    struct Product {
        std::vector<ir::Value> factors, divisors, varying;  ///< uniform over the items, and varying
        bool minus = false;
    };
    bool same_for_items(ir::Value v);
    std::vector<Product> products_of(ir::Value v);
    int cost_of(std::span<const ShadowUpdates::Contribution> contributions) const;
    ir::Value product_of(const std::vector<ir::Value>& values);

    ir::Value index;
    std::set<uint32_t> of_primal;                         ///< values that are not expanded into products
    std::map<uint32_t, bool> same;                        ///< same_for_items
    std::map<std::vector<uint32_t>, ir::Value> products;  ///< product_of
};

}  // namespace pumice::derive
