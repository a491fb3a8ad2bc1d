#include <cstdio>
#include <simulation.hpp>
#include <vector>

struct Particle {
    float position[3], mass;
};

int main() {
    const pumice::rt::Device d("cpu");
    if (!d) return std::puts(pumice_error()), 1;
    const auto y = d.array<float>({1000}), x = d.array<float>({1000});
    const auto particles = d.array<Particle>({10});
    if (!y || !x || !particles) return std::puts(pumice_error()), 1;
    std::vector<float> values(1000, 2.0f);
    if (!x.write(values.data(), 1000) || !y.fill(1)) return std::puts(pumice_error()), 1;
    const pumice::rt::Status status = simulation::saxpy(d, 1000, y, x, 3.0f);
    if (!status) return std::puts(status.message()), 1;
    if (!y.read(values.data(), 1000)) return std::puts(pumice_error()), 1;
    for (const float value : values)
        if (value < 6.5f || value > 7.5f) return std::puts("saxpy is wrong"), 1;
    if (!simulation::fall(d, 10, particles, 0.5f, 2, pumice::rt::half{0x3c00}, true)) return std::puts(pumice_error()), 1;
    std::vector<Particle> all(10);
    if (!particles.read(all.data(), 10) || all[9].position[2] > -9.8f) return std::puts("fall is wrong"), 1;
    if (!simulation::say(d, 3, 0.5) || !d.synchronize()) return 1;
    // An array that is no array, and one on no device.
    const pumice::rt::Array<float> none;
    if (simulation::saxpy(d, 10, none, x, 1.0f)) return std::puts("an array that was never created was taken"), 1;
    if (none.write(values.data(), 10) || none.count() != 0 || none.size() != 0) return 1;
    const pumice::rt::Device missing("toaster");
    return missing ? 1 : 0;
}
