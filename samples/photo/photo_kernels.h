// The pipeline of kernels: a picture is equalised, blurred, and searched for edges.
#pragma once
#include <functional>
#include <vector>

#include <pumice/pumice.h>

#include "samples/photo/picture.h"

/// The results of the pipeline for a picture.
struct Results {
    std::vector<uint32_t> histogram;  ///< pixels of each luminance, 0 to 255
    std::vector<uint32_t> equalised;  ///< packed pixels, as in Picture
    std::vector<float> blurred;       ///< luminance of the equalised picture, 0 to 255
    std::vector<float> edges;         ///< length of its gradient, in luminance a pixel
};

/// A picture on a device, and the arrays between the kernels.
class Pipeline {
public:
    Pipeline(const pumice::Device& device, const Picture& picture);

    /// Told before each kernel: its number from 0, and its name.
    using Progress = std::function<void(int step, const std::string& kernel)>;
    /// Starts all kernels, and returns while the device works; with `progress`, each kernel is waited for.
    void run(const Progress& progress = {});
    /// Waits, and copies the results to the host.
    Results results() const;

    /// The kernels in the order in which they run.
    static std::vector<pumice::KernelBase> kernels();

private:
    pumice::Device device;
    int height, width;
    pumice::Array<uint32_t, 2> pixels, luma, equalised;
    pumice::Array<float, 2> brightness, half_blurred, blurred, edges;
    pumice::Array<uint32_t> bins, curve;
};
