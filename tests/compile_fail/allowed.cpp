// compiles
#include <pumice/pumice.h>

using namespace pumice;

const auto allowed = kernel("allowed", [](InOut<float> y, Val<float> a) {
    auto i = global_index();
    Var<float> sum = a;
    $if(y[i] > a) { sum = sum + y[i]; }
    y[i] = sum;
});

int main() {}
