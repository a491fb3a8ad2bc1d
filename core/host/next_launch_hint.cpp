#include "core/host/next_launch_hint.h"

#include <utility>

namespace pumice::detail {
namespace {
thread_local bool hinted = false;
}

NextLaunchHint::NextLaunchHint(bool on) : before(std::exchange(hinted, on)) {}
NextLaunchHint::~NextLaunchHint() { hinted = before; }
bool NextLaunchHint::now() { return hinted; }

}  // namespace pumice::detail
