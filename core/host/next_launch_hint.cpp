#include "core/host/next_launch_hint.h"

#include <utility>

namespace pumice::detail {
namespace {
thread_local bool followed = false;
}

Followed::Followed(bool on) : before(std::exchange(followed, on)) {}
Followed::~Followed() { followed = before; }
bool Followed::now() { return followed; }

}  // namespace pumice::detail
