// compiles
#define _GLIBCXX_ASSERTIONS 1
#include <pumice/pumice.h>

int main() { return int(pumice::Device::all().size()); }
