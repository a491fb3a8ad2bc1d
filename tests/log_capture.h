// The lines that PUMICE_LOG prints, for tests to read.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "core/support/debug.h"

/// Turns PUMICE_LOG on while it lives, and captures stderr until text() is called.
class LogCapture {
public:
    LogCapture() { testing::internal::CaptureStderr(); }
    std::string text() { return testing::internal::GetCapturedStderr(); }

private:
    const pumice::debug::Override on{"PUMICE_LOG", "1"};
};

/// The log of an action.
template <class F> std::string log_of(const F& act) {
    LogCapture log;
    act();
    return log.text();
}
