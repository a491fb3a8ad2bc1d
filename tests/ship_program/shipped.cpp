#include <pumice/ship.h>

#include "tests/ship_program/program_functions.h"

using namespace pumice;

PUMICE_SHIP(ship::program("inverse", shipped::loss_of, ship::out<float>("loss", {1}),
                          ship::in<float>("u0", {ship::size("n", 64)}), ship::constant<float>("target", {ship::size("n", 64)}),
                          ship::scalar("rate", 0.5f))
                .gradient());
PUMICE_SHIP(ship::program("kept", shipped::loss_of, ship::out<float>("loss", {1}), ship::in<float>("u0", {64}),
                          ship::constant<float>("target", {64}), ship::active("rate", 0.5f))
                .gradient(3));
PUMICE_SHIP(ship::program("grow", shipped::grow_all, ship::out<float>("y", {ship::size("n", 40)}),
                          ship::in<float>("x", {ship::size("n", 40)}))
                .gradient());
PUMICE_SHIP(ship::program("scaled", shipped::scaled, ship::inout<float>("y", {ship::size("n", 16).at_least(3)}),
                          ship::in<float>("x", {ship::size("n", 16)}), ship::size("n", 16), ship::active("a", 1.5f),
                          ship::scalar("b", 2.0f))
                .gradient());
PUMICE_SHIP(ship::program("particles", shipped::particles, ship::out<float>("sums", {2}),
                          ship::inout<shipped::Particle>("p", {ship::size("n", 100)}),
                          ship::constant<int32_t>("steps", {ship::size("n", 100)}),
                          ship::in<float>("force", {ship::size("n", 100), ship::size("m", 4)}))
                .gradient());
PUMICE_SHIP(ship::program("smoothed", shipped::smoothed,
                          ship::out<float>("to", {ship::size("rows", 20), 2 * ship::size("half", 12)}),
                          ship::in<float>("from", {ship::size("rows", 20), 2 * ship::size("half", 12)}), ship::size("rows", 20),
                          2 * ship::size("half", 12))
                .gradient());
PUMICE_SHIP(ship::program("layers", shipped::layers, ship::out<float>("y", {ship::size("n", 20), ship::size("k", 8)}),
                          ship::in<float>("x", {ship::size("n", 20), ship::size("m", 12)}),
                          ship::in<float>("first", {ship::size("m", 12), ship::size("k", 8)}),
                          ship::in<float>("second", {ship::size("k", 8), ship::size("k", 8)}))
                .gradient());
PUMICE_SHIP(ship::program("few_forces", shipped::dense_forces, ship::out<float>("y", {ship::size("n", 30)}),
                          ship::in<float>("x", {ship::size("n", 30), ship::size("k", 20)}),
                          ship::in<float>("z", {ship::size("k", 20)}))
                .gradient());
PUMICE_SHIP(ship::program("many_forces", shipped::dense_forces, ship::out<float>("y", {ship::size("n", 700)}),
                          ship::in<float>("x", {ship::size("n", 700), ship::size("k", 20)}),
                          ship::in<float>("z", {ship::size("k", 20)}))
                .gradient());
PUMICE_SHIP(ship::program("counted", shipped::counted, ship::inout<float>("y", {ship::size("n", 100)}),
                          ship::in<float>("x", {ship::size("n", 100)}))
                .gradient());
PUMICE_SHIP(ship::program("marked", shipped::marked, ship::inout<int32_t>("hits", {ship::size("n", 100).at_least(20)}),
                          ship::in<int32_t>("counts", {1})));
PUMICE_SHIP(ship::program("functions", shipped::functions, ship::inout<float>("y", {3}), ship::active("a", 1.5f),
                          ship::active("b", 0.75))
                .gradient());
PUMICE_SHIP(shipped::axpy);

// Names that the generated functions use, that collide with those of shadows, or that are macros.
PUMICE_SHIP(ship::program("forward", shipped::scaled, ship::inout<float>("x", {ship::size("sizes", 16).at_least(3)}),
                          ship::in<float>("d_x", {ship::size("sizes", 16)}), ship::size("sizes", 16),
                          ship::active("stream", 1.5f), ship::scalar("stream_", 2.0f))
                .gradient());
PUMICE_SHIP(ship::program("pumice_stream", shipped::smoothed,
                          ship::out<float>("memset", {ship::size("program", 20), 2 * ship::size("program_", 12)}),
                          ship::in<float>("errno", {ship::size("program", 20), 2 * ship::size("program_", 12)}),
                          ship::size("program", 20), 2 * ship::size("program_", 12))
                .gradient());
PUMICE_SHIP(shipped::hard_names);
