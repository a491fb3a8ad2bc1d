// Thread-local hint to devices: another launch follows this one at once.
#pragma once

namespace pumice::detail {

/// While an object made with `on` lives, each launch of this thread is followed at once by another on the same stream. A device
/// may hold the first back and run both piece by piece, so that the second finds its input in the caches. If no launch follows,
/// the first may begin only when somebody waits for it.
class NextLaunchHint {
public:
    explicit NextLaunchHint(bool on);
    ~NextLaunchHint();
    NextLaunchHint(const NextLaunchHint&) = delete;
    static bool now();

private:
    const bool before;
};

}  // namespace pumice::detail
