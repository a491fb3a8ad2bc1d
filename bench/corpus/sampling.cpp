// Draws of random numbers, particles, prices.
#include "bench/corpus/sampling.h"

#include <cmath>

#include "bench/corpus/sampling_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- option_pricing: the mean payoff of a call by draws of Philox, a stream an item ----
const auto option_pricing_kernel = kernel("option_pricing", [](Out<float> means, Val<uint32_t> seed, Val<float> drift,
                                                               Val<float> volatility, Val<float> strike, Val<int> draws) {
    auto stream = global_index();
    rng::Counter random(seed, cast<uint32_t>(stream));
    Var sum = 0.0f;
    $for(draw, range(draws)) { sum += max(exp(drift + volatility * random.normal<float>()) - strike, 0.0f); }
    means[stream] = sum / cast<float>(draws);
});

Kernel option_pricing() {
    return compared("option_pricing", 1e-5, [](auto on, Size size) {
        const int streams = size == Size::test ? 99 : 8001, draws = size == Size::test ? 13 : 64;
        const uint32_t seed = 7;
        const float drift = -0.02f, volatility = 0.3f, strike = 1.05f;
        const auto means = zeros<float>(on, streams);
        if constexpr (on.ours)
            return side(on.device, results_in(means),
                        [=] { option_pricing_kernel(ndrange(streams), means, seed, drift, volatility, strike, draws); });
        else
            return side(results_in(means),
                        [=] { openmp::option_pricing(means, seed, drift, volatility, strike, streams, draws); });
    });
}

// ---- ising: sweeps of Metropolis over the black and the white squares of a board, by integers ----
Val<uint32_t> pcg(Val<uint32_t> x) {
    auto state = x * 747796405u + 2891336453u;
    auto word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
    return word >> 22 ^ word;
}

const auto ising_half = kernel("ising", [](InOut<int, 2> own, In<int, 2> other, Val<uint32_t> time, Val<int> colour,
                                           Val<uint32_t> at_2, Val<uint32_t> at_4) {
    auto [i, k] = global_index<2>();
    auto rows = own.size(0), half = own.size(1);
    auto beside = (k + select((i + colour) % 2 == 0, half - 1, 1)) % half;
    auto spin = own(i, k);
    auto aligned = spin * (other((i + rows - 1) % rows, k) + other((i + 1) % rows, k) + other(i, k) + other(i, beside));
    auto draw = pcg(cast<uint32_t>(i * half + k) * 2654435761u + time);
    auto flips = aligned <= 0 || draw < select(aligned == 2, at_2, at_4);
    own(i, k) = select(flips, -spin, spin);
});

Kernel ising() {
    return compared("ising", 0, [](auto on, Size size) {
        const int rows = size == Size::test ? 26 : 600, half = size == Size::test ? 37 : 301,
                  sweeps = size == Size::test ? 3 : 20;
        const uint32_t at_2 = uint32_t(0x1p32 * std::exp(-4 / 2.3)), at_4 = uint32_t(0x1p32 * std::exp(-8 / 2.3));
        const auto spins = [&](uint32_t seed) {
            std::vector<int32_t> out;
            for (const float v : uniform<float>(size_t(rows) * size_t(half), seed)) out.push_back(v < 0.5f ? -1 : 1);
            return out;
        };
        const auto board = [&](uint32_t seed) { return on.of(spins(seed), {rows, half}); };
        const auto black_start = board(1), white_start = board(2), black = board(1), white = board(2);
        if constexpr (on.ours)
            return side(on.device, results_in(black, white), [=] {
                black.copy_from(black_start), white.copy_from(white_start);
                for (int sweep = 0; sweep < sweeps; ++sweep) {
                    ising_half(ndrange(rows, half), black, white, uint32_t(2 * sweep), 0, at_2, at_4);
                    ising_half(ndrange(rows, half), white, black, uint32_t(2 * sweep + 1), 1, at_2, at_4);
                }
            });
        else
            return side(results_in(black, white),
                        [=] { openmp::ising(black, white, black_start, white_start, at_2, at_4, rows, half, sweeps); });
    });
}

// ---- binomial_put: American puts by binomial trees of 64 steps in private memory, an option an item ----
const auto binomial_put_kernel =
    kernel("binomial_put", [](Out<float> prices, In<float> spots, In<float> strikes, In<float> volatilities, Val<float> rate) {
        constexpr int steps = 64;
        const float time = 1.0f / steps;
        auto option = global_index();
        auto strike = strikes[option];
        auto change = volatilities[option] * std::sqrt(time);
        auto up = exp(change), square = up * up;
        auto p = (exp(rate * time) - 1.0f / up) / (up - 1.0f / up), discount = exp(-rate * time);
        auto rise = discount * p, fall = discount * (1.0f - p);
        Var low = spots[option] * exp(-change * float(steps)), price = Val<float>(low);
        Private<float, steps + 1> value;
        $for(k, range(steps + 1)) {
            value[k] = max(strike - price, 0.0f);
            price *= square;
        }
        $for(step, range(steps)) {
            low *= up;
            price = low;
            $for(k, range(steps - step)) {
                value[k] = max(rise * value[k + 1] + fall * value[k], strike - price);
                price *= square;
            }
        }
        prices[option] = value[0];
    });

Kernel binomial_put() {
    return compared("binomial_put", 6e-5, [](auto on, Size size) {
        const int count = size == Size::test ? 77 : 40001;
        const float rate = 0.03f;
        const auto spots = on.of(uniform<float>(size_t(count), 3, 0.8f, 1.2f)),
                   strikes = on.of(uniform<float>(size_t(count), 4, 0.9f, 1.1f)),
                   volatilities = on.of(uniform<float>(size_t(count), 5, 0.2f, 0.4f));
        const auto prices = zeros<float>(on, count);
        if constexpr (on.ours)
            return side(on.device, results_in(prices),
                        [=] { binomial_put_kernel(ndrange(count), prices, spots, strikes, volatilities, rate); });
        else
            return side(results_in(prices), [=] { openmp::binomial_put(prices, spots, strikes, volatilities, rate, count); });
    });
}

// ---- particle_weights: weights of particles by their distances to beacons, normalised, and the weighted mean ----
const auto weigh = kernel("weigh", static_group<256>, whole_groups,
                          [](Out<float> weights, Out<float3> sums, In<float> x, In<float> y, In<float3> beacons) {
                              auto i = global_index();
                              Var<float3> mine = float3{0, 0, 0};
                              $if(in_range()) {
                                  Val<float2> place(x[i], y[i]);
                                  Var misfit = 0.0f;
                                  $for(b, range(beacons.size(0))) {
                                      auto away = distance(place, Val<float2>(beacons[b].x, beacons[b].y)) - beacons[b].z;
                                      misfit += away * away;
                                  }
                                  auto weight = exp(-0.5f * misfit);
                                  weights[i] = weight;
                                  mine = Val<float3>(weight, weight * place);
                              }
                              auto sum = group::reduce_add(mine);
                              $if(local_index() == 0) { sums[group_index()] = sum; }
                          });
const auto sum_of_groups = kernel("sum_of_groups", static_group<256>, [](Out<float3> total, In<float3> sums) {
    Var<float3> mine = float3{0, 0, 0};
    $for(k, range(local_index(), sums.size(0), 256)) { mine += sums[k]; }
    auto sum = group::reduce_add(mine);
    $if(local_index() == 0) { total[0] = sum; }
});
const auto normalise = kernel("normalise", [](InOut<float> weights, Out<float> mean, In<float3> total) {
    auto i = global_index();
    weights[i] *= cast<float>(weights.size(0)) / total[0].x;
    $if(i == 0) {
        mean[0] = total[0].y / total[0].x;
        mean[1] = total[0].z / total[0].x;
    }
});

Kernel particle_weights() {
    return compared("particle_weights", 5e-5, [](auto on, Size size) {
        const int count = size == Size::test ? 1501 : 2000003;
        const auto host_beacons = [&] {
            std::vector<float> out;
            for (const auto& [bx, by] :
                 {std::pair(0.0f, 0.0f), {8.0f, 1.0f}, {2.0f, 7.0f}, {9.0f, 8.0f}, {5.0f, -3.0f}, {-4.0f, 3.0f}})
                out.insert(out.end(), {bx, by, std::hypot(bx - 4.1f, by - 1.9f)});
            return out;
        };
        const int groups = (count + 255) / 256;
        std::vector<float3> list;
        for (size_t k = 0; k < host_beacons().size(); k += 3)
            list.push_back({host_beacons()[k], host_beacons()[k + 1], host_beacons()[k + 2]});
        const auto x = on.of(uniform<float>(size_t(count), 6, 3.0f, 5.0f)),
                   y = on.of(uniform<float>(size_t(count), 7, 1.0f, 3.0f)), weights = zeros<float>(on, count),
                   mean = zeros<float>(on, 2);
        const auto beacons = on.of(list), sums = zeros<float3>(on, groups), total = zeros<float3>(on, 1);
        if constexpr (on.ours)
            return side(on.device, results_in(weights, mean), [=] {
                weigh(ndrange(count), weights, sums, x, y, beacons);
                sum_of_groups(ndrange(256), total, sums);
                normalise(ndrange(count), weights, mean, total);
            });
        else
            return side(results_in(weights, mean),
                        [=] { openmp::particle_weights(weights, mean, x, y, beacons.scalars(), int(beacons.size()), count); });
    });
}

}  // namespace

std::vector<Kernel> random_samplers() { return {option_pricing(), ising(), binomial_put(), particle_weights()}; }

std::vector<Kernel> sampling() {
    std::vector<Kernel> all = random_samplers();
    for (Kernel& k : scores()) all.push_back(std::move(k));
    return all;
}

}  // namespace bench::corpus
