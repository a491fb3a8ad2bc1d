// Helpers for tests about another user of the machine.
#pragma once
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "core/support/error.h"

namespace pumice {

constexpr uid_t another_user = 65534;  // user "nobody"

/// Runs `act` in a child process, for a minute at most. Returns its result, or false if it throws or crashes.
template <class F> bool in_child(F&& act) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        try {
            _exit(act() ? 0 : 1);
        } catch (const std::exception& e) { std::fprintf(stderr, "%s\n", e.what()); }
        _exit(2);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The same as another user, without any group of this one's. The process must be root's.
template <class F> bool as_another_user(F&& act) {
    return in_child([&] { return setgid(another_user) == 0 && setuid(another_user) == 0 && act(); });
}

/// True if the process is root's, and another user can reach the folder for temporary files.
inline bool is_root() {
    return geteuid() == 0 && as_another_user([] { return access(std::filesystem::temp_directory_path().c_str(), X_OK) == 0; });
}

/// A folder of the test, writable by this user alone, and accessible to others.
class OwnFolder {
public:
    OwnFolder() {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        // One folder for each process and test: the same test may run for several drivers at once.
        path =
            std::filesystem::temp_directory_path() / text("pumice-", test->test_suite_name(), "-", test->name(), "-", getpid());
        std::filesystem::remove_all(path);
        std::filesystem::create_directories(path);
        chmod(path.c_str(), 0755);
    }
    ~OwnFolder() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
};

}  // namespace pumice

#define PUMICE_NEEDS_ROOT() \
    if (!is_root()) GTEST_SKIP() << "SKIPPED: only root can make what belongs to another user, in a folder that they reach"
