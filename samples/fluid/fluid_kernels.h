// A fluid in a box, as a window shows it: kernels, and the state of the flow on a device.
//
// The scheme is Stam's "Stable Fluids" (1999) on cell centres: semi-Lagrangian advection, vorticity confinement (Fedkiw, Stam,
// Jensen, 2001), and a projection by Jacobi iterations that start from the last frame's pressure.
#pragma once
#include <pumice/pumice.h>

namespace fluid {

/// A round jet that pushes the fluid, in cells and cells per second, with the dye that it brings. By value to kernels.
struct Jet {
    pumice::float2 at{}, velocity{};
    pumice::float4 dye{};  ///< red, green, blue, unused
    float radius = 1;      ///< in cells
};

/// The constants of a frame.
struct Step {
    float seconds = 1.0f / 60;
    float confinement = 12;     ///< of vorticity, dimensionless
    float dissipation = 0.25f;  ///< of the dye, per second
    Jet jets[3];                ///< two that run by themselves, and the mouse's; one without dye and velocity does nothing
};

/// Order of the bytes of a pixel, from the lowest.
enum class Order : int { rgba, bgra };

/// The flow on one device. Cells are square, cell (0, 0) is at the top left; arrays have the rows first.
class Fluid {
public:
    Fluid(const pumice::Device& device, int width, int height);
    /// Starts the frame's launches, and does not wait: 9 + `iterations` of them.
    void advance(const Step& step);
    /// Starts the launch that paints the dye: one pixel an item, as 32 bits, with gamma 2.2.
    void paint(const pumice::Array<uint32_t, 2>& pixels, Order order) const;

    const int width, height;
    static constexpr int iterations = 16;

    pumice::Array<pumice::float2, 2> velocity, moved_velocity;
    pumice::Array<pumice::float4, 2> dye, moved_dye;
    pumice::Array<float, 2> pressure, next_pressure, divergence, vorticity;
};

/// The jets that run by themselves, at this time in seconds.
Step step_at(double seconds, int width, int height);

}  // namespace fluid

PUMICE_STRUCT(fluid::Jet, at, velocity, dye, radius);
