// expect: with _GLIBCXX_DEBUG std::vector and its like have another layout
#define _GLIBCXX_DEBUG 1
#include <pumice/pumice.h>

int main() { return int(pumice::Device::all().size()); }
