// Relighting: the textures and lights of a small path-traced room are recovered from one picture, along the gradient of the
// renderer.
#pragma once
#include <pumice/pumice.h>

#include <functional>

#include "samples/photo/picture.h"

namespace relight {

using Colours = pumice::Array<pumice::float4, 2>;  ///< red, green, blue, unused; rows from the top

/// All that is unknown of the room. Reflectances are 0 to 1; lights are radiances, the panel's and the ball's.
struct Room {
    Colours floor, wall;
    pumice::Array<pumice::float4> lights;
};

/// A room of grey surfaces with `texels` x `texels` textures and dim white lights: what is known at the beginning.
Room grey_room(const pumice::Device& device, int texels);
/// The true room: the picture hangs on the wall, tiles are on the floor, and the lights have colours.
Room true_room(const pumice::Device& device, int texels, const Picture& picture);

/// Renders the radiance that a camera in front of the open side sees, `samples` paths a pixel. `seed` chooses the paths.
void render(const Colours& seen, const Room& room, int samples, int seed);

struct Progress {
    int step;
    double loss;  ///< unbiased: the mean over pixels and colours of half the squared difference, but for the paths' noise
    double texture_error;  ///< median over both textures, absolute; some texels are hidden behind the balls
    double light_error;    ///< of the lights, relative
};
struct Result {
    Room room;
    Progress first, last;
    double primal_ms, gradient_ms;  ///< of one evaluation, the median
};
/// Adam's descent (Kingma and Ba, 2015) from a grey room. `target` is the picture of `truth`, which itself is only compared with.
Result recover(const Colours& target, const Room& truth, int steps, int samples,
               const std::function<void(const Progress&)>& report);

/// Radiance as a picture: gamma 2.2, what is brighter than 1 is white; each pixel `scale` times as large.
Picture picture_of(const Colours& radiance, int scale = 1);

}  // namespace relight

PUMICE_STRUCT(relight::Room, floor, wall, lights);
