// An empty library in place of LLVM's (CMakeLists.txt).
extern "C" int pumice_absent() { return 0; }
