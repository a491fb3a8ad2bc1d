// An empty library, which stands where LLVM's would be (CMakeLists.txt).
extern "C" int pumice_absent() { return 0; }
