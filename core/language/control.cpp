#include "core/language/control.h"

#include "core/support/error.h"

namespace pumice::detail {

void left_by_host(SourceLocation location) {
    // A destructor cannot throw. The recording is out of step now and ends with this message.
    if (Recorder* r = Recorder::current_or_null())
        r->misuse(text("a host break, return or goto leaves the device construct at ", where(location), " in kernel \"",
                       r->kernel.name, "\": write $break, $continue or $return for device control flow"));
}

ConstructScope::~ConstructScope() {
    if (is_live && std::uncaught_exceptions() == exceptions) left_by_host(location);
}

void ConstructScope::leave() {
    is_live = false;
    Recorder::current("device control flow", location).end();
}

void leave_loop(ir::Op how, const char* what, SourceLocation location) {
    Recorder::current(what, location).leave(how, what, location);
}

}  // namespace pumice::detail
