// The photo pipeline without Pumice: equalises a picture and finds its edges, with kernels that were compiled when this was
// built.
#include <cstdio>
#include <string>
#include <vector>

#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>

#include "photo_pipeline.hpp"

using pumice::rt::Range;
using pumice::rt::Status;

int main(int argc, char** argv) {
    if (argc < 4) return std::puts("usage: photo_host DEVICE PICTURE FOLDER"), 2;
    pumice::rt::Device gpu(argv[1]);
    int width = 0, height = 0, channels = 0;
    stbi_uc* const loaded = stbi_load(argv[2], &width, &height, &channels, 4);
    if (!gpu || !loaded) return std::printf("photo_host: %s\n", loaded ? pumice_error() : "the picture cannot be read"), 1;
    const int64_t h = height, w = width;
    const auto pixels = gpu.array<uint32_t>({h, w}), luma = gpu.array<uint32_t>({h, w}), equalised = gpu.array<uint32_t>({h, w});
    const auto brightness = gpu.array<float>({h, w}), half = gpu.array<float>({h, w}), blurred = gpu.array<float>({h, w});
    const auto edges = gpu.array<float>({h, w});
    const auto bins = gpu.array<uint32_t>({256}), curve = gpu.array<uint32_t>({256});

    const Range each(h, w), squares = each.group({16, 16});
    const int64_t groups = h * w / 256 < 64 ? h * w / 256 + 1 : 64;
    const Status steps[] = {
        pixels.write(reinterpret_cast<uint32_t*>(loaded), h * w),
        photo_pipeline::luminance(gpu, each, luma, pixels),
        photo_pipeline::histogram(gpu, Range(groups * 256).group({256}), bins, luma),
        photo_pipeline::tone_curve(gpu, Range(256).group({256}), curve, bins, 0),
        photo_pipeline::equalise(gpu, each, equalised, brightness, pixels, luma, curve),
        photo_pipeline::blur_rows(gpu, squares, half, brightness),
        photo_pipeline::blur_columns(gpu, squares, blurred, half),
        photo_pipeline::sobel(gpu, each, edges, blurred),
    };
    std::vector<uint32_t> picture(size_t(h * w));
    std::vector<float> lengths(size_t(h * w));
    for (const Status& step : steps)
        if (!step) return std::printf("photo_host: %s\n", pumice_error()), 1;
    if (!equalised.read(picture.data(), h * w) || !edges.read(lengths.data(), h * w))
        return std::printf("photo_host: %s\n", pumice_error()), 1;
    std::vector<unsigned char> grey(lengths.size());
    for (size_t i = 0; i < grey.size(); ++i) grey[i] = lengths[i] > 255 ? 255 : static_cast<unsigned char>(lengths[i]);
    const std::string folder = argv[3];
    stbi_write_png((folder + "/equalised.png").c_str(), width, height, 4, picture.data(), 4 * width);
    stbi_write_png((folder + "/edges.png").c_str(), width, height, 1, grey.data(), width);
    std::printf("%s: %d x %d pixels\n", gpu.name(), width, height);
    stbi_image_free(loaded);
}
