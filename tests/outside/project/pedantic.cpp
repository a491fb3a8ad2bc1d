// Input for -Wpedantic of clang and g++: every word of the language, in a file of an application.
#include <pumice/pumice.h>
#include <pumice/vulkan.h>

using namespace pumice;

struct Sample {
    float values[3];
    int count;
};
PUMICE_STRUCT(Sample, values, count);

namespace {

const auto words = kernel("words", [](Out<float> y, In<Sample> s, Val<int> n) {
    auto i = global_index();
    Var t = 0.0f;
    $for(j, range(n)) {
        $if(j == 3) { $continue; }
        $elif(j > 100) { $break; }
        $else { t += s[i].values[j]; }
    }
    Var m = n;
    $while(m > 0) {
        --m;
        t += select(m == 3, 1.0f, 2.0f);
        require(m >= 0, "m is {}", m);
    }
    // clang-format off: constructs in one line
    $if(t < 0.0f) { $if(t < -1.0f) { $while(m > 0) { $if(m == 1) { --m; } $else { --m; } } } $elif(m > 0) { --m; } $return; }
    // clang-format on
    y[i] = t;
});
const auto wave = function("wave", [](Val<float> x) { return exp(x) * sin(x); });

}  // namespace

int pedantic_file() {
    Device device = Device::open();
    Array<float> y = device.zeros<float>(2);
    words(ndrange(2), y, device.upload(std::vector<Sample>(2, {{1, 2, 3}, 0})), 5);
    (void)adjoint<Duplicated, Duplicated, Const>(words);
    try {
        vulkan::wrap({});
        return 0;
    } catch (const Error&) {  // an empty handle
    }
    return y.get(1) == 1 + 2 + 3 + 3 + 9 && gradient(wave, 0.0f) == 1.0f;
}
