#include "core/error.h"

#include <cstdio>
#include <cstdlib>

namespace pumice {

void library_bug(const std::string& what) {
    std::fprintf(stderr, "pumice: this is a bug in the library: %s\n", what.c_str());
    std::fflush(stderr);
    std::abort();
}

}  // namespace pumice
