// Seismic inversion: the speed of waves under the ground is recovered from what receivers at the surface heard of a few shots, by
// descending along the gradient of 500 time steps, of which a few states are kept. speeds.png: the real ones, those at the start,
// those recovered, their error.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include <pumice/pumice.h>

#include "samples/photo/picture.h"

using namespace pumice;
namespace fs = std::filesystem;

namespace {

using Field = Array<float, 2>;

/// One time step of the wave equation with speed c: next = 2 now - before + (c dt / dx)^2 laplace(now), damped near the edges.
/// `before` becomes the next state in place. The wavelet is added at the shot.
const auto step = kernel("step", [](InOut<float, 2> before, In<float, 2> now, In<float, 2> speed, In<float, 2> damping,
                                    Val<int> shot, Val<float> wavelet) {
    auto [i, j] = global_index<2>();
    auto laplace = now(i - 1, j) + now(i + 1, j) + now(i, j - 1) + now(i, j + 1) - 4.0f * now(i, j);
    auto c = speed(i, j);
    auto source = select(i == 3 && j == shot, wavelet, 0.0f);
    before(i, j) = damping(i, j) * (2.0f * now(i, j) - damping(i, j) * before(i, j) + c * c * laplace + source);
});
/// Records the values at the receivers, which are in the fourth row.
const auto listen = kernel("listen", [](InOut<float, 2> heard, In<float, 2> now, Val<int> time) {
    auto j = global_index();
    heard(time, j) = now(3, j);
});
const auto mismatch = kernel("mismatch", [](InOut<float> loss, In<float, 2> heard, In<float, 2> recorded) {
    auto [t, j] = global_index<2>();
    auto d = heard(t, j) - recorded(t, j);
    atomic_add(loss[0], 0.5f * d * d);
});

struct Survey {
    int height = 64, width = 96, steps = 500;
    std::vector<int> shots{16, 36, 60, 80};
    Field damping;
};

float wavelet(int time) {
    const float t = 0.06f * float(time) - 2.5f;  // Ricker's
    return (1 - 2 * t * t) * std::exp(-t * t);
}

/// The seismogram of one shot: a program of kernels, in place.
void shoot(const Survey& s, const Field& heard, const Field& speed, int shot) {
    const Device device = speed.device();
    Field before = device.zeros<float>({s.height, s.width}), now = device.zeros<float>({s.height, s.width});
    for (int t = 0; t < s.steps; ++t) {
        step(ndrange({1, 1}, {s.height - 1, s.width - 1}), before, now, speed, s.damping, shot, wavelet(t));
        std::swap(before, now);
        listen(ndrange(s.width), heard, now, t);
    }
}

Picture view(const Field& field, float low, float high) {
    std::vector<float> v = field.download();
    for (float& f : v) f = 255 * (f - low) / (high - low);
    Picture small = grey(v, int(field.size(1)), int(field.size(0))), large{small.width * 4, small.height * 4, {}};
    for (int i = 0; i < large.height; ++i)
        for (int j = 0; j < large.width; ++j)
            large.pixels.push_back(small.pixels[size_t(i / 4) * size_t(small.width) + size_t(j / 4)]);
    return large;
}

double rms(const Field& a, const Field& b) {
    const std::vector<float> x = a.download(), y = b.download();
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
    return std::sqrt(sum / double(x.size()));
}

int run(int count, char** words) {
    int iterations = 20, states = 20;
    fs::path out = "out/wave";
    std::string name;
    for (int i = 1; i < count; i += 2) {
        const std::string word = words[i];
        if (word == "--help") return std::puts("wave [--device NAME] [--out FOLDER] [--iterations N] [--checkpoints N]"), 0;
        if (i + 1 >= count) fail(word, " needs a value, or is no option: --device, --out, --iterations, --checkpoints, --help");
        if (word == "--out")
            out = words[i + 1];
        else if (word == "--device")
            name = words[i + 1];
        else if (word == "--iterations")
            iterations = std::max(1, std::atoi(words[i + 1]));
        else if (word == "--checkpoints")
            states = std::max(1, std::atoi(words[i + 1]));
        else
            fail("there is no option ", word, ": --device, --out, --iterations, --checkpoints, --help");
    }
    const Device device = Device::open(name);
    Survey s;
    if (device.name() == "interp") s.steps = 60, iterations = std::min(iterations, 2);  // a microsecond an operation

    std::vector<float> damping, truth, start;
    for (int i = 0; i < s.height; ++i)
        for (int j = 0; j < s.width; ++j) {
            const int edge = std::min({s.height - 1 - i, j, s.width - 1 - j, 10});
            damping.push_back(1 - 0.003f * float((10 - edge) * (10 - edge)) / 4);
            start.push_back(0.38f + 0.0016f * float(i));
            const float r = std::hypot(float(i) - 30, float(j) - 48), q = std::hypot(float(i) - 24, (float(j) - 20) / 1.6f);
            truth.push_back(start.back() + (r < 9 ? 0.05f : 0) - (q < 6 ? 0.04f : 0));
        }
    s.damping = device.upload(damping, {s.height, s.width});
    const Field real = device.upload(truth, {s.height, s.width});
    Field speed = device.upload(start, {s.height, s.width}), gradient = device.zeros<float>({s.height, s.width});
    std::vector<Field> recorded;
    for (const int shot : s.shots) {
        recorded.push_back(device.zeros<float>({s.steps, s.width}));
        shoot(s, recorded.back(), real, shot);
    }
    std::printf("%zu shots of %d steps over %d x %d points on %s, %d states kept\n", s.shots.size(), s.steps, s.width, s.height,
                device.name().c_str(), states);

    const auto objective = [&](Array<float>& loss, Field& c) {
        for (size_t n = 0; n < s.shots.size(); ++n) {
            Field heard = device.zeros<float>({s.steps, s.width});
            shoot(s, heard, c, s.shots[n]);
            mismatch(ndrange(s.steps, s.width), loss, heard, recorded[n]);
        }
    };
    const auto start_time = std::chrono::steady_clock::now();
    Array<float> loss = device.zeros<float>(1), seed = device.zeros<float>(1);
    const double wrong_before = rms(speed, real);
    double first = 0, last = 0;
    std::vector<float> c = start, m(c.size());
    float square = 0;
    for (int it = 0; it < iterations; ++it) {
        loss.fill(0.0f), seed.fill(1.0f), gradient.fill(0.0f);
        autodiff(Reverse.checkpoints(states), objective, Duplicated(loss, seed), Duplicated(speed, gradient));
        last = loss.download()[0];
        if (it == 0) first = last;
        // On the host: descent with momentum. One length of the steps for all points (Adam has one for each), as where the
        // gradient is weak it is mostly noise. The rows of the shots and receivers are known.
        const std::vector<float> g = gradient.download();
        const auto from = size_t(8 * s.width);
        const float now =
            std::inner_product(g.begin() + long(from), g.end(), g.begin() + long(from), 0.0f) / float(g.size() - from);
        square = 0.95f * square + 0.05f * now;
        const float length =
            std::sqrt(square / (1 - std::pow(0.95f, float(it + 1)))) * (1 - std::pow(0.8f, float(it + 1))) + 1e-12f;
        for (size_t k = from; k < c.size(); ++k) {
            m[k] = 0.8f * m[k] + 0.2f * g[k];
            c[k] = std::clamp(c[k] - 0.005f * m[k] / length, 0.2f, 0.68f);
        }
        speed.copy_from(c);
        if (it % 5 == 0 || it + 1 == iterations) {
            std::printf("  iteration %3d of %d: loss %10.6f, speed wrong by %.5f\n", it + 1, iterations, last, rms(speed, real));
            std::fflush(stdout);
        }
    }
    fs::create_directories(out);
    save_png(view(real, 0.3f, 0.55f), out / "real.png");
    save_png(view(speed, 0.3f, 0.55f), out / "recovered.png");
    std::vector<float> error = c;
    for (size_t k = 0; k < c.size(); ++k) error[k] -= truth[k];
    save_png(grid(view(real, 0.3f, 0.55f), view(device.upload(start, {s.height, s.width}), 0.3f, 0.55f), view(speed, 0.3f, 0.55f),
                  view(device.upload(error, {s.height, s.width}), -0.06f, 0.06f)),
             out / "speeds.png");
    std::printf("loss %.6f -> %.6f, speed wrong by %.5f -> %.5f (rms), %.1f s; the pictures are in %s\n", first, last,
                wrong_before, rms(speed, real),
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time).count(), out.c_str());
    if (last < first) return 0;
    std::fprintf(stderr, "wave: the speeds were not recovered.\n");
    return 1;
}

}  // namespace

int main(int count, char** words) {
    try {
        return run(count, words);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "wave: %s\n", e.what());
        return 1;
    }
}
