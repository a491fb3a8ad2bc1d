// Another process of the same test program, which takes turns with this one by pipes.
#pragma once
#include <string>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace tests {

inline bool give_turn(int fd) { return write(fd, "x", 1) == 1; }
inline bool take_turn(int fd) {
    char turn;
    return read(fd, &turn, 1) == 1;
}

/// This program once more, for one test; 0 if it does not start.
inline pid_t start_again(const std::string& test) {
    std::string filter = "--gtest_filter=" + test;
    char self[4096] = {};
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return 0;
    char* const arguments[] = {self, filter.data(), nullptr};
    pid_t child = 0;
    return posix_spawn(&child, self, nullptr, nullptr, arguments, environ) == 0 ? child : 0;
}

/// Waits for the end of a process; true if its tests have passed.
inline bool has_passed(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace tests
