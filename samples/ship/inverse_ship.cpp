// The kernels of the inverse problem in inverse.c, and their derivatives, as a library that needs no compiler.
#include <pumice/pumice.h>
#include <pumice/ship.h>

using namespace pumice;

namespace {

// One step of heat conduction along a rod whose ends are insulated.
const auto heat = kernel("heat", [](Out<float> next, In<float> now, Val<float> c) {
                      auto i = global_index();
                      auto left = now[max(i - 1, 0)], right = now[min(i + 1, now.size() - 1)];
                      next[i] = now[i] + c * (left - 2.0f * now[i] + right);
                  }).names({"next", "now", "c"});

// Half the square of the distance to the measurement.
const auto mismatch = kernel("mismatch", [](InOut<float> loss, In<float> u, In<float> measured) {
                          auto i = global_index();
                          auto d = u[i] - measured[i];
                          atomic_add(loss[0], 0.5f * d * d);
                      }).names({"loss", "u", "measured"});

const auto descend = kernel("descend", [](InOut<float> u, In<float> slope, Val<float> rate) {
                         auto i = global_index();
                         u[i] -= rate * slope[i];
                     }).names({"u", "slope", "rate"});

PUMICE_SHIP(heat);
PUMICE_SHIP(adjoint<Duplicated, Duplicated, Const>(heat));
PUMICE_SHIP(mismatch);
PUMICE_SHIP(adjoint<Duplicated, Duplicated, Const>(mismatch));
PUMICE_SHIP(descend);

}  // namespace
