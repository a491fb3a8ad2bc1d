#include "samples/photo/picture.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include <pumice/pumice.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_FAILURE_USERMSG  // reasons in words
#include <stb/stb_image.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb/stb_image_write.h>

using pumice::fail;

namespace {

using Bytes = std::vector<unsigned char>;

Bytes read_file(const std::filesystem::path& file) {
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown)) fail("there is no picture ", file);
    if (std::filesystem::is_directory(file, unknown)) fail(file, " is a folder, not a picture");
    std::ifstream in(file, std::ios::binary);
    if (!in) fail("the picture ", file, " cannot be opened: ", std::generic_category().message(errno));
    Bytes bytes{std::istreambuf_iterator<char>(in), {}};
    if (bytes.empty()) fail("the picture ", file, " is empty");
    if (bytes.size() > size_t(INT32_MAX))
        fail("the picture ", file, " has ", bytes.size(), " bytes, and at most ", INT32_MAX, " are read");
    return bytes;
}

/// True for a JPEG whose end is missing. stb_image decodes such files without a word and leaves the rest of the picture grey.
bool is_truncated_jpeg(const Bytes& bytes) {
    if (bytes.size() < 2 || bytes[0] != 0xff || bytes[1] != 0xd8) return false;
    // Past the segments before the pixels (a thumbnail in one of them has an end marker of its own) ...
    size_t at = 2;
    while (at + 4 <= bytes.size() && bytes[at] == 0xff && bytes[at + 1] != 0xda)
        at += bytes[at + 1] == 0xff ? 1 : 2 + size_t(bytes[at + 2] * 256 + bytes[at + 3]);
    // ... the end marker ff d9 must come: among the pixels' data, every ff is followed by 00 or a restart marker.
    const unsigned char end[] = {0xff, 0xd9};
    return at >= bytes.size() || std::search(bytes.begin() + ptrdiff_t(at), bytes.end(), end, end + 2) == bytes.end();
}

/// Width and height as the file has them, below 2^31 each; zeros for no picture.
std::pair<int64_t, int64_t> claimed_size(const Bytes& bytes) {
    // A PNG's are at a fixed place; stb_image tells them only of pictures that it would load.
    const unsigned char png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    const auto number = [&](size_t at) {
        return int64_t(bytes[at]) << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
    };
    if (bytes.size() >= 24 && std::equal(png, png + 8, bytes.begin()))
        return {std::clamp<int64_t>(number(16), 1, INT32_MAX), std::clamp<int64_t>(number(20), 1, INT32_MAX)};
    int width = 0, height = 0, channels = 0;
    if (!stbi_info_from_memory(bytes.data(), int(bytes.size()), &width, &height, &channels)) return {0, 0};
    return {width, height};
}

uint32_t pack(const unsigned char* rgba) {
    return uint32_t(rgba[0]) | uint32_t(rgba[1]) << 8 | uint32_t(rgba[2]) << 16 | uint32_t(rgba[3]) << 24;
}

/// Each pixel is the mean of factor x factor pixels; what is left over at the right and the bottom is dropped.
Picture shrink(const Picture& picture, int factor) {
    if (factor == 1) return picture;
    Picture small{std::max(picture.width / factor, 1), std::max(picture.height / factor, 1), {}};
    const int columns = std::min(factor, picture.width), rows = std::min(factor, picture.height);
    for (int y = 0; y < small.height; ++y)
        for (int x = 0; x < small.width; ++x) {
            uint32_t sum[4] = {};
            for (int v = 0; v < rows; ++v)
                for (int u = 0; u < columns; ++u) {
                    const uint32_t p = picture.pixels[size_t(y * factor + v) * picture.width + (x * factor + u)];
                    for (int c = 0; c < 4; ++c) sum[c] += p >> (8 * c) & 255;
                }
            unsigned char mean[4];
            for (int c = 0; c < 4; ++c) mean[c] = static_cast<unsigned char>(sum[c] / uint32_t(rows * columns));
            small.pixels.push_back(pack(mean));
        }
    return small;
}

void paste(const Picture& from, Picture& to, int left, int top) {
    for (int y = 0; y < from.height; ++y)
        std::copy_n(&from.pixels[size_t(y) * from.width], from.width, &to.pixels[size_t(top + y) * to.width + left]);
}

}  // namespace

Picture load_picture(const std::filesystem::path& file) {
    const Bytes bytes = read_file(file);
    const auto unreadable = [&] { fail("the file ", file, " is no PNG or JPEG that can be read: ", stbi_failure_reason()); };

    // The size first: a small file may claim to be a picture that fills the memory.
    const auto [width, height] = claimed_size(bytes);
    if (width == 0 || height == 0) unreadable();
    if (width * height > largest_picture)
        fail("the picture ", file, " has ", width, " x ", height, " = ", double(width) * double(height) / 1e6,
             " megapixels, and at most ", double(largest_picture) / 1e6, " are taken: shrink it first");
    if (is_truncated_jpeg(bytes)) fail("the picture ", file, " is broken: its end is missing");

    Picture picture;
    int channels = 0;
    const std::unique_ptr<unsigned char, void (*)(void*)> rgba(
        stbi_load_from_memory(bytes.data(), int(bytes.size()), &picture.width, &picture.height, &channels, 4), stbi_image_free);
    if (!rgba) unreadable();
    picture.pixels.resize(size_t(picture.width) * size_t(picture.height));
    for (size_t i = 0; i < picture.pixels.size(); ++i) picture.pixels[i] = pack(rgba.get() + 4 * i);
    return picture;
}

void save_png(const Picture& picture, const std::filesystem::path& file) {
    Bytes rgba;
    rgba.reserve(4 * picture.pixels.size());
    for (const uint32_t p : picture.pixels)
        for (int c = 0; c < 4; ++c) rgba.push_back(static_cast<unsigned char>(p >> (8 * c)));
    // Encoded in memory and written by a stream, which tells of a full disk.
    int size = 0;
    const std::unique_ptr<unsigned char, void (*)(void*)> png(
        stbi_write_png_to_mem(rgba.data(), 4 * picture.width, picture.width, picture.height, 4, &size), std::free);
    if (!png) fail("there is not enough memory to write ", file);
    std::ofstream out(file, std::ios::binary);
    if (!out.write(reinterpret_cast<const char*>(png.get()), size).flush())
        fail("the picture ", file, " cannot be written: ", std::generic_category().message(errno));
}

Picture crop_to_centre(const Picture& picture, int width, int height) {
    Picture crop{std::min(width, picture.width), std::min(height, picture.height), {}};
    const int left = (picture.width - crop.width) / 2, top = (picture.height - crop.height) / 2;
    crop.pixels.resize(size_t(crop.width) * crop.height);
    for (int y = 0; y < crop.height; ++y)
        std::copy_n(&picture.pixels[size_t(top + y) * picture.width + left], crop.width, &crop.pixels[size_t(y) * crop.width]);
    return crop;
}

Picture grey(const std::vector<float>& values, int width, int height) {
    Picture picture{width, height, {}};
    picture.pixels.reserve(values.size());
    for (const float v : values)
        picture.pixels.push_back(0xff000000u | 0x010101u * uint32_t(std::lround(std::clamp(v, 0.0f, 255.0f))));
    return picture;
}

Picture grid(const Picture& top_left, const Picture& top_right, const Picture& bottom_left, const Picture& bottom_right) {
    constexpr int widest = 1000, gap = 8;
    const int factor = (std::max(top_left.width, top_left.height) + widest - 1) / widest;
    const Picture cells[] = {shrink(top_left, factor), shrink(top_right, factor), shrink(bottom_left, factor),
                             shrink(bottom_right, factor)};
    const int width = cells[0].width, height = cells[0].height;
    Picture all{2 * width + gap, 2 * height + gap, {}};
    all.pixels.assign(size_t(all.width) * all.height, 0xffffffffu);
    for (int i = 0; i < 4; ++i) paste(cells[i], all, i % 2 * (width + gap), i / 2 * (height + gap));
    return all;
}
