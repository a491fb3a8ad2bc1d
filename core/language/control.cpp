#include "core/language/control.h"

#include "core/support/error.h"

namespace pumice::detail {

void left_by_host(Place place) {
    // A destructor cannot throw. The recording is out of step now and ends with this message.
    if (Recorder* r = Recorder::current_or_null())
        r->misuse(text("a host break, return or goto leaves the device construct at ", where(place), " in kernel \"",
                       r->kernel.name, "\": write $break, $continue or $return for device control flow"));
}

Scope::~Scope() {
    if (is_live && std::uncaught_exceptions() == exceptions) left_by_host(place);
}

void Scope::leave() {
    is_live = false;
    Recorder::current("device control flow", place).end();
}

void leave_loop(ir::Op how, const char* what, Place place) { Recorder::current(what, place).leave(how, what, place); }

}  // namespace pumice::detail
