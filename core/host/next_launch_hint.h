// A word from what launches several kernels to the devices.
#pragma once

namespace pumice::detail {

/// While one lives, and was made with `on`, each launch of this thread is followed at once by another on the same stream: a device may
/// wait for that, and do both piece by piece, so that the second finds in the caches what the first has left there. Where none follows,
/// the launch begins as late as when somebody waits.
class Followed {
public:
    explicit Followed(bool on);
    ~Followed();
    Followed(const Followed&) = delete;
    static bool now();

private:
    const bool before;
};

}  // namespace pumice::detail
