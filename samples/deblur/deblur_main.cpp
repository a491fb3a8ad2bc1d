// The second sample of ./run: blurs a photograph, adds noise, and recovers it by the gradient of a program.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "samples/deblur/deblur.h"

using namespace pumice;
namespace fs = std::filesystem;

namespace {

const char* const usage =
    "deblur [PICTURE] [--out FOLDER] [--device NAME] [--steps N]\n"
    "Blurs and noises a photograph and recovers it by gradient descent. Writes FOLDER (out/deblur):\n"
    "  before_after.png: the photograph, what was seen, what was recovered, twice its error\n";

struct Arguments {
    fs::path picture = fs::path(PUMICE_SAMPLES_FOLDER) / "photo/chelsea.png", out = "out/deblur";
    std::string device;
    int steps = 150;
};

Arguments parse(int count, char** words) {
    Arguments a;
    bool given = false;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const auto next = [&]() -> std::string {
            if (i + 1 >= count) fail(word, " needs a value");
            return words[++i];
        };
        if (word == "--help")
            std::fputs(usage, stdout), std::exit(0);
        else if (word == "--out")
            a.out = next();
        else if (word == "--device")
            a.device = next();
        else if (word == "--steps") {
            const std::string steps = next();
            a.steps = std::atoi(steps.c_str());
            if (a.steps < 1 || a.steps > 100000) fail("--steps ", steps, " is asked for; the steps are 1 to 100000");
        } else if (word.starts_with("-"))
            fail("there is no option ", word, "; --help lists them");
        else if (given)
            fail("one picture is taken; ", word, " is a second one");
        else
            a.picture = word, given = true;
    }
    return a;
}

std::vector<float> shades(const deblur::Plane& plane) {
    std::vector<float> v = plane.download();
    for (float& f : v) f *= 255;
    return v;
}

int run(const Arguments& a) {
    const auto start = std::chrono::steady_clock::now();
    const Device device = Device::open(a.device);
    Picture picture = load_picture(a.picture);
    // The interpreter takes a second or so for a megapixel and kernel: it works on a piece.
    const bool interpreted = device.name() == "interp";
    if (interpreted)
        picture = crop_to_centre(picture, 96, 96);
    else
        picture = crop_to_centre(picture, 512, 512);
    const int steps = interpreted ? std::min(a.steps, 40) : a.steps;
    std::printf("deblurring %d x %d pixels on %s\n", picture.width, picture.height, device.name().c_str());

    const deblur::Plane truth = deblur::plane_of(device, picture);
    deblur::Plane seen = truth.clone(), between = truth.clone();
    deblur::blur(seen, truth, between);
    deblur::add_noise(seen, 0.01f, 7);

    const deblur::Result result = deblur::recover(seen, truth, steps, [&](const deblur::Progress& p) {
        std::printf("  step %4d of %d: loss %9.4f, %5.2f dB\n", p.step, steps, p.loss, p.psnr);
        std::fflush(stdout);
    });
    std::vector<float> error = shades(result.recovered);
    const std::vector<float> right = shades(truth);
    for (size_t i = 0; i < error.size(); ++i) error[i] = 128 + 2 * (error[i] - right[i]);
    const auto view = [&](const std::vector<float>& v) { return grey(v, picture.width, picture.height); };
    fs::create_directories(a.out);
    save_png(view(right), a.out / "photograph.png");
    save_png(view(shades(seen)), a.out / "seen.png");
    save_png(view(shades(result.recovered)), a.out / "recovered.png");
    save_png(grid(view(right), view(shades(seen)), view(shades(result.recovered)), view(error)), a.out / "before_after.png");

    std::printf("loss %.3f -> %.3f, %.2f dB seen -> %.2f dB recovered\n", result.loss_before, result.loss_after,
                result.psnr_before, result.psnr_after);
    std::printf("one evaluation takes %.2f ms, its gradient %.2f ms: %.2f times as long\n", result.primal_ms, result.gradient_ms,
                result.gradient_ms / result.primal_ms);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("%.1f s; the pictures are in %s\n", seconds, a.out.c_str());
    if (!(result.loss_after < result.loss_before) || result.psnr_after < result.psnr_before + 0.5) {
        std::fprintf(stderr, "deblur: the picture was not recovered.\n");
        return 1;
    }
    return 0;
}

}  // namespace

int main(int count, char** words) {
    try {
        return run(parse(count, words));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "deblur: %s\n", e.what());
        return 1;
    }
}
