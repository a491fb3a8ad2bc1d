// The inverse problem of inverse.c as a library that needs no compiler: a simulation, its distance to a measurement, and the
// gradient of both. The rod's length is chosen when the program is used.
#include <pumice/pumice.h>
#include <pumice/ship.h>

using namespace pumice;
using ship::size;

namespace {

constexpr int steps = 100;

// One step of heat conduction along a rod whose ends are insulated.
const auto heat = kernel("heat", [](Out<float> next, In<float> now, Val<float> c) {
    auto i = global_index();
    auto left = now[max(i - 1, 0)], right = now[min(i + 1, now.size() - 1)];
    next[i] = now[i] + c * (left - 2.0f * now[i] + right);
});

// Half the square of the distance to the measurement.
const auto mismatch = kernel("mismatch", [](InOut<float> loss, In<float> u, In<float> measured) {
    auto i = global_index();
    auto d = u[i] - measured[i];
    atomic_add(loss[0], 0.5f * d * d);
});

const auto descend = kernel("descend", [](InOut<float> u, In<float> slope, Val<float> rate) {
                         auto i = global_index();
                         u[i] -= rate * slope[i];
                     }).names({"u", "slope", "rate"});

const auto simulate = [](Array<float>& end, Array<float>& start, const auto& c) {
    Array<float> other = start.device().empty<float>(start.size());
    end.copy_from(start);
    for (int step = 0; step < steps; step += 2) {
        heat(ndrange(start.size()), other, end, c);
        heat(ndrange(start.size()), end, other, c);
    }
};

const auto distance = [](Array<float>& loss, Array<float>& start, const Array<float>& measured, const auto& c) {
    Array<float> end = start.device().empty<float>(start.size());
    simulate(end, start, c);
    loss.fill(0.0f);
    mismatch(ndrange(start.size()), loss, end, measured);
};

PUMICE_SHIP(ship::program("simulate", simulate, ship::out<float>("end", {size("n", 64)}),
                          ship::in<float>("start", {size("n", 64)}), ship::scalar("c", 0.2f)));
PUMICE_SHIP(ship::program("distance", distance, ship::out<float>("loss", {1}), ship::in<float>("start", {size("n", 64)}),
                          ship::constant<float>("measured", {size("n", 64)}), ship::scalar("c", 0.2f))
                .gradient(10));
PUMICE_SHIP(descend);

}  // namespace
