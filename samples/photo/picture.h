// Pictures on the host: loading, saving, cropping, and laying out side by side.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

/// 8-bit pixels, row by row from the top; a pixel is red | green << 8 | blue << 16 | alpha << 24.
struct Picture {
    int width = 0, height = 0;
    std::vector<uint32_t> pixels;

    double megapixels() const { return double(width) * height / 1e6; }
};

/// The largest picture that load_picture takes, in pixels: the pipeline has 28 bytes a pixel on each device.
inline constexpr int64_t largest_picture = 64'000'000;

/// Reads a PNG or JPEG. Throws pumice::Error, which says what is wrong with the file.
Picture load_picture(const std::filesystem::path& file);
/// Writes a PNG. Throws pumice::Error.
void save_png(const Picture& picture, const std::filesystem::path& file);

/// The middle of a picture, at most `width` by `height`.
Picture crop_to_centre(const Picture& picture, int width, int height);
/// A grey picture of values from 0 (black) to 255 (white); what lies outside is clamped.
Picture grey(const std::vector<float>& values, int width, int height);
/// Four pictures of one size as a grid of two by two. Large ones are shrunk by a whole factor, so that each is at most 1000
/// pixels wide and high.
Picture grid(const Picture& top_left, const Picture& top_right, const Picture& bottom_left, const Picture& bottom_right);
