// Recovers the textures and lights of a path-traced room from one picture of it.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "samples/relight/relight.h"

using namespace pumice;
namespace fs = std::filesystem;

namespace {

const char usage[] =
    "relight [--out FOLDER] [--device NAME] [--steps N] [--size N]\n"
    "Renders a room, and recovers its two textures and two lights from the picture, along the gradient of the path tracer.\n"
    "Writes FOLDER (out/relight): relight.png, above the room before, after and as it is; below its textures likewise.\n";

struct Arguments {
    fs::path out = "out/relight";
    std::string device;
    int steps = 240, size = 160;
};

Arguments parse(int count, char** words) {
    Arguments a;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const auto next = [&]() -> const char* {
            if (i + 1 >= count) fail(word, " needs a value");
            return words[++i];
        };
        const auto number = [&](int low, int high) {
            const char* text = next();
            int value = 0;
            const auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
            if (error != std::errc() || *end || value < low || value > high)
                fail(word, " takes a number from ", low, " to ", high, ", not \"", text, '"');
            return value;
        };
        if (word == "--help")
            std::fputs(usage, stdout), std::exit(0);
        else if (word == "--out")
            a.out = next();
        else if (word == "--device")
            a.device = next();
        else if (word == "--steps")
            a.steps = number(1, 100'000);
        else if (word == "--size")
            a.size = number(16, 2048);
        else
            fail("there is no option ", word, "; --help lists them");
    }
    return a;
}

/// Pictures in a row, from left to right, their tops in one line.
Picture beside(const std::vector<Picture>& pictures) {
    Picture all;
    for (const Picture& p : pictures) all.width += p.width, all.height = std::max(all.height, p.height);
    all.pixels.assign(size_t(all.width) * size_t(all.height), 0xff000000u);
    int left = 0;
    for (const Picture& p : pictures) {
        for (int y = 0; y < p.height; ++y)
            std::copy_n(p.pixels.begin() + ptrdiff_t(y) * p.width, p.width, all.pixels.begin() + ptrdiff_t(y) * all.width + left);
        left += p.width;
    }
    return all;
}

Picture above(const Picture& top, const Picture& bottom) {
    Picture all{top.width, top.height + bottom.height, top.pixels};
    all.pixels.insert(all.pixels.end(), bottom.pixels.begin(), bottom.pixels.end());
    return all;
}

int run(const Arguments& a) {
    const auto start = std::chrono::steady_clock::now();
    const Device device = Device::open(a.device);
    const bool interpreted = device.name() == "interp";
    const int size = interpreted ? 16 : a.size, texels = interpreted ? 8 : 48, steps = interpreted ? 20 : a.steps, samples = 4;
    std::printf("relighting a room of %d x %d pixels and two textures of %d x %d texels on %s\n", size, size, texels, texels,
                device.name().c_str());
    const Picture photo = load_picture(fs::path(PUMICE_SAMPLES_FOLDER) / "photo/chelsea.png");
    const relight::Room truth = relight::true_room(device, texels, crop_to_centre(photo, 300, 300));
    relight::Colours target = device.zeros<float4>({size, size}), before = target.clone(), after = target.clone();
    const int many = interpreted ? 16 : 256;
    relight::render(target, truth, many, 0);
    relight::render(before, relight::grey_room(device, texels), many, 0);

    const relight::Result result = relight::recover(target, truth, steps, samples, [&](const relight::Progress& p) {
        std::printf("  step %4d of %d: loss %10.3g, textures off by %.3f, lights by %4.1f %%\n", p.step, steps, p.loss,
                    p.texture_error, 100 * p.light_error);
        std::fflush(stdout);
    });
    relight::render(after, result.room, many, 0);

    using relight::picture_of;
    const relight::Room grey = relight::grey_room(device, texels);
    const int scale = std::max(size / (2 * texels), 1);
    const Picture rooms = beside({picture_of(before), picture_of(after), picture_of(target)});
    std::vector<Picture> textures;
    for (const relight::Room* room : {&grey, &result.room, &truth})
        for (const relight::Colours* texture : {&room->wall, &room->floor}) {
            Picture p = picture_of(*texture, scale);
            p = crop_to_centre(p, size / 2, size / 2);
            // As wide as half a room.
            Picture padded{size / 2, size / 2, std::vector<uint32_t>(size_t(size / 2) * size_t(size / 2), 0xff000000u)};
            for (int y = 0; y < p.height; ++y)
                std::copy_n(p.pixels.begin() + ptrdiff_t(y) * p.width, p.width,
                            padded.pixels.begin() + ptrdiff_t(y + (padded.height - p.height) / 2) * padded.width +
                                (padded.width - p.width) / 2);
            textures.push_back(padded);
        }
    fs::create_directories(a.out);
    Picture row = beside(textures);
    row.width == rooms.width ? save_png(above(rooms, row), a.out / "relight.png") : save_png(rooms, a.out / "relight.png");

    std::printf("textures off by %.3f -> %.3f, lights by %.1f %% -> %.1f %%\n", result.first.texture_error,
                result.last.texture_error, 100 * result.first.light_error, 100 * result.last.light_error);
    std::printf("one evaluation takes %.2f ms, its gradient %.2f ms: %.2f times as long\n", result.primal_ms, result.gradient_ms,
                result.gradient_ms / result.primal_ms);
    std::printf("%.1f s; the picture is %s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
                (a.out / "relight.png").c_str());
    const bool recovered = result.last.texture_error < (interpreted ? 0.95 : 0.3) * result.first.texture_error &&
                           result.last.light_error < (interpreted ? 0.95 : 0.25) * result.first.light_error;
    if (!recovered) std::fprintf(stderr, "relight: the room was not recovered.\n");
    return recovered ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    try {
        return run(parse(count, words));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "relight: %s\n", e.what());
        return 2;
    }
}
