// expect: a jacobian is that of a function of scalars of one floating type
#include <pumice/pumice.h>

using namespace pumice;

int main() {
    const auto scaled = function("scaled", [](Val<float3> v, Val<float> s) { return v * s; });
    return int(jacobian(scaled, float3{1, 2, 3}, 2.0f)[0][0]);
}
