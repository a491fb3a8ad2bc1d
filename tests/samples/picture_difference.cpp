// picture_difference A.png B.png LIMIT: the mean absolute difference of the colours, 0 to 255; exit status 1 above LIMIT. The
// larger picture is sampled at the pixels of the smaller one.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "samples/photo/picture.h"

int main(int argc, char** argv) try {
    if (argc != 4) return std::fprintf(stderr, "picture_difference takes two pictures and a limit\n"), 2;
    const Picture a = load_picture(argv[1]), b = load_picture(argv[2]);
    const double limit = std::atof(argv[3]);
    const int width = std::min(a.width, b.width), height = std::min(a.height, b.height);
    const auto channel = [&](const Picture& picture, int x, int y, int c) {
        const int column = x * picture.width / width, row = y * picture.height / height;
        return int(picture.pixels[size_t(row) * size_t(picture.width) + size_t(column)] >> (8 * c) & 0xff);
    };
    double sum = 0;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < 3; ++c) sum += std::abs(channel(a, x, y, c) - channel(b, x, y, c));
    const double mean = sum / (3.0 * width * height);
    std::printf("mean difference %.3f of 255, limit %g\n", mean, limit);
    return mean <= limit ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
