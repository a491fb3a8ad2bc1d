// How to read this file: a kernel is a lambda that is recorded once, when it is first used. Recorded are every statement with a
// `$`, every operation on device values (parameters, `Var`, `Local` memory, indices such as `global_index()`), and calls such as
// `synchronize()`. They run on the device, once for each work-item of the range that the kernel is launched over. Plain C++ runs
// while the kernel is recorded: a plain `for` is unrolled, a plain constant is baked in.
#include "samples/photo/photo_kernels.h"

#include <algorithm>
#include <cmath>

using namespace pumice;

namespace {

// One work-item a pixel. The weights are Rec. 709's in 256ths: in whole numbers, every device gets the very same luminance, hence
// the same histogram and the same equalised picture.
const auto luminance = kernel("luminance", [](Out<uint32_t, 2> luma, In<uint32_t, 2> pixels) {
    const auto [y, x] = global_index<2>();
    const auto p = pixels(y, x);
    luma(y, x) = (54 * (p & 255) + 183 * (p >> 8 & 255) + 19 * (p >> 16 & 255) + 128) >> 8;
});

constexpr int levels = 256;  // of luminance; the next two kernels have that many work-items in a group, one for each

// Counting in the group's local memory first makes of many slow additions to `bins` one a group and level. An item takes many
// pixels, with as many other items between them, so that few groups do for any picture.
const auto histogram = kernel("histogram", [](InOut<uint32_t> bins, In<uint32_t, 2> luma) {
    Local<uint32_t, levels> counts;
    const auto level = local_index();
    counts[level] = 0;
    synchronize();
    $for(i, range(global_index(), luma.size(0) * luma.size(1), global_size())) { atomic_add(counts[luma[i]], 1); }
    synchronize();
    atomic_add(bins[level], counts[level]);
});

// The new luminance of each old one, by a running sum over the bins: in eight rounds each level adds the sum that ends 1, 2, 4
// ... 128 levels below it. The darkest level that occurs becomes 0 and the brightest 255. Counts lose their last `drop` bits, so
// that 255 times one of them fits into 32.
const auto tone_curve = kernel("tone_curve", [](Out<uint32_t> curve, In<uint32_t> bins, Val<uint32_t> drop) {
    Local<uint32_t, levels> sums;
    Local<uint32_t, 1> lowest;  // the sum at the darkest level that occurs
    const auto level = local_index();
    Var sum = bins[level];
    sums[level] = sum;
    $if(level == 0) { lowest[0] = UINT32_MAX; }
    synchronize();
    for (int below = 1; below < levels; below *= 2) {
        $if(level >= below) { sum += sums[level - below]; }
        synchronize();
        sums[level] = sum;
        synchronize();
    }
    $if(bins[level] > 0) { atomic_min(lowest[0], sum); }
    synchronize();
    const auto from = lowest[0] >> drop;
    const auto span = (sums[levels - 1] >> drop) - from;
    curve[level] = (max(sum >> drop, from) - from) * 255 / max(span, 1);
});

// Red, green and blue change by the same factor as the luminance does, which keeps the hue.
const auto equalise = kernel("equalise", [](Out<uint32_t, 2> equalised, Out<float, 2> brightness, In<uint32_t, 2> pixels,
                                            In<uint32_t, 2> luma, In<uint32_t> curve) {
    const auto [y, x] = global_index<2>();
    const auto p = pixels(y, x), before = luma(y, x), after = curve[before];
    Var result = p & 0xff000000u;  // alpha stays
    for (int shift : {0, 8, 16}) result |= min((p >> shift & 255) * after / max(before, 1), 255) << shift;
    equalised(y, x) = result;
    brightness(y, x) = cast<float>(after);
});

constexpr int radius = 6;  // of the blur, in pixels
constexpr int edge = 16;   // of a group, which is square

/// The weight of a pixel at a distance: Gauss' bell with a standard deviation of a third of the radius, of sum 1.
float weight(int distance) {
    const auto bell = [](int d) { return std::exp(-4.5 * d * d / (radius * radius)); };
    double sum = 0;
    for (int d = -radius; d <= radius; ++d) sum += bell(d);
    return float(bell(distance) / sum);
}

// A two-dimensional Gaussian blur is one along the columns after one along the rows: two kernels from one definition. A group
// loads its square and `radius` pixels more at both ends into local memory, so that each pixel is fetched once a group and not
// once for each of the 13 pixels that it takes part in. Items past the picture's border help to load, hence whole_groups.
auto blur_along(int axis, const char* name) {  // axis 0: along a column, 1: along a row
    return kernel(name, whole_groups, [axis](Out<float, 2> to, In<float, 2> from) {
        constexpr int reach = edge + 2 * radius;
        Local<float, edge * reach> tile;
        const auto global = global_index<2>(), local = local_index<2>();
        const auto here = local[axis], across = local[1 - axis];
        // Neighbours along a row of the picture stay neighbours in the tile.
        const auto cell = [&](const Val<int>& t) { return axis == 1 ? across * reach + t : t * edge + across; };

        // Pixels past the border are those at the border.
        const auto first = global[axis] - here - radius;
        const auto line = min(global[1 - axis], from.size(1 - axis) - 1);
        $for(t, range(here, reach, edge)) {
            const auto pixel = clamp(first + t, 0, from.size(axis) - 1);
            tile[cell(t)] = axis == 1 ? from(line, pixel) : from(pixel, line);
        }
        synchronize();

        $if(in_range()) {
            Var sum = 0.0f;
            for (int d = -radius; d <= radius; ++d) sum += weight(d) * tile[cell(here + (radius + d))];
            to(global[0], global[1]) = sum;
        }
    });
}
const auto blur_rows = blur_along(1, "blur_rows"), blur_columns = blur_along(0, "blur_columns");

// The length of the gradient, its two parts by Sobel's 3 x 3 weights over 8.
const auto sobel = kernel("sobel", [](Out<float, 2> edges, In<float, 2> in) {
    const auto [y, x] = global_index<2>();
    const auto up = max(y - 1, 0), down = min(y + 1, in.size(0) - 1);
    const auto left = max(x - 1, 0), right = min(x + 1, in.size(1) - 1);
    const auto dx = in(up, right) - in(up, left) + 2 * (in(y, right) - in(y, left)) + in(down, right) - in(down, left);
    const auto dy = in(down, left) - in(up, left) + 2 * (in(down, x) - in(up, x)) + in(down, right) - in(up, right);
    edges(y, x) = 0.125f * sqrt(dx * dx + dy * dy);
});

}  // namespace

std::vector<KernelBase> Pipeline::kernels() {
    return {luminance, histogram, tone_curve, equalise, blur_rows, blur_columns, sobel};
}

Pipeline::Pipeline(const Device& device, const Picture& picture) : device(device), height(picture.height), width(picture.width) {
    pixels = device.upload(picture.pixels, {height, width});
    luma = device.empty<uint32_t>({height, width});
    equalised = device.empty<uint32_t>({height, width});
    brightness = device.empty<float>({height, width});
    blurred = device.empty<float>({height, width});
    half_blurred = device.empty<float>({height, width});
    edges = device.empty<float>({height, width});
    bins = device.empty<uint32_t>(levels);
    curve = device.empty<uint32_t>(levels);
}

void Pipeline::run(const Progress& progress) {
    int step = 0;
    const auto next = [&](const KernelBase& kernel) {
        if (!progress) return;
        device.synchronize();
        progress(step++, kernel.name());
    };
    // A launch is a range of work-items and the kernel's arguments. It returns at once; the device keeps the order.
    const Range each_pixel = ndrange(height, width), squares = each_pixel.group(edge, edge);
    const int64_t count = int64_t(height) * width;
    const int64_t groups = std::min<int64_t>((count + levels - 1) / levels, 64);
    uint32_t drop = 0;
    while (count >> drop > 0xffffff) ++drop;

    next(luminance);
    luminance(each_pixel, luma, pixels);
    next(histogram);
    bins.fill(0);
    histogram(ndrange(groups * levels).group(levels), bins, luma);
    next(tone_curve);
    tone_curve(ndrange(levels).group(levels), curve, bins, drop);
    next(equalise);
    equalise(each_pixel, equalised, brightness, pixels, luma, curve);
    next(blur_rows);
    blur_rows(squares, half_blurred, brightness);
    next(blur_columns);
    blur_columns(squares, blurred, half_blurred);
    next(sobel);
    sobel(each_pixel, edges, blurred);
    if (progress) device.synchronize();
}

Results Pipeline::results() const { return {bins.download(), equalised.download(), blurred.download(), edges.download()}; }
