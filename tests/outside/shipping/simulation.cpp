#include <pumice/pumice.h>
#include <pumice/ship.h>

struct Particle {
    pumice::float3 position;
    float mass;
};
PUMICE_STRUCT(Particle, position, mass);

namespace {

using namespace pumice;

const auto saxpy = kernel("saxpy", [](InOut<float> y, In<float> x, Val<float> a) {
                       auto i = global_index();
                       y[i] += a * x[i];
                   }).names({"y", "x", "a"});
// Names that are words of C and C++, and of the generated functions.
const auto fall =
    kernel("fall", [](InOut<Particle> particles, Val<float> dt, Val<int> kernel_number, Val<half> small, Val<bool> yes) {
        auto i = global_index();
        Var p = particles[i];
        $if(yes) { p.position.z -= 9.81f * dt * cast<float>(small) * cast<float>(kernel_number); }
        particles[i] = p;
    }).names({"class", "device", "range", "template", "arguments"});
// The functions sim_library and pumice would hide the table and a namespace.
const auto table = kernel("library", [](Out<int> x, Out<int> y) { x[global_index()] = y.size(0); }).names({"pumice", "unix"});
const auto pumice_ = kernel("pumice", [](Out<int> argument2) { argument2[global_index()] = 5; });
const auto say = kernel("say", [](Val<double> x) { print("{} {:.2f}", global_index(), erf(x)); }).names({"nullptr"});
// Names of functions and macros that the headers use.
const auto hard = kernel("errno", [](InOut<float> y, Val<float> a, Val<int> b, Val<int> c, Val<int> d, Val<int> e) {
                      y[global_index()] += a + cast<float>(b + c + d + e);
                  }).names({"memset", "sim_library", "PUMICE_F32", "pumice_launch", "errno", "NULL"});
const auto slots = [](Array<float>& y, Array<float>& x, const auto& a) { saxpy(ndrange(y.size()), y, x, a); };

}  // namespace

PUMICE_SHIP(hard);
PUMICE_SHIP(ship::program("slots", slots, ship::inout<float>("x", {ship::size("sizes", 8)}),
                          ship::in<float>("d_x", {ship::size("sizes", 8)}), ship::active("stream", 1.0f))
                .gradient());
PUMICE_SHIP(saxpy);
PUMICE_SHIP(adjoint<Duplicated, Duplicated, Active>(saxpy));
PUMICE_SHIP(fall);
PUMICE_SHIP(table);
PUMICE_SHIP(pumice_);
PUMICE_SHIP(say);
