// An application that defines names which the language's functions have: kernels, beside `using namespace pumice`. Some names are
// defined before the headers are included.
const int clamp = 1, clz = 2;
#include <pumice/pumice.h>

using namespace pumice;

// clang-format off
#define KERNEL(name) const auto name = kernel(#name, [](InOut<float> y) { y[global_index()] += 1.0f; });
// The names that are no functions of C.
KERNEL(transpose) KERNEL(dot) KERNEL(length) KERNEL(cross) KERNEL(inverse) KERNEL(determinant) KERNEL(distance) KERNEL(normalize)
KERNEL(lerp) KERNEL(uniform) KERNEL(min) KERNEL(max) KERNEL(sign) KERNEL(mul_high) KERNEL(popcount) KERNEL(ctz) KERNEL(reverse_bits)
KERNEL(rsqrt) KERNEL(digamma) KERNEL(trigamma) KERNEL(reflect) KERNEL(mix)
#undef KERNEL
    // clang-format on
    // Functions of the application with names of C's library.
    struct Own {
    int value;
};
Own sqrt(Own x) { return {x.value + 1}; }
Own abs(Own x) { return {-x.value}; }

namespace {

// Here the kernels hide the names; device_math has the functions.
const auto both = kernel("both", [](Out<float> y, In<float3> a, In<float3x3> m, Val<float3> b) {
    auto i = global_index();
    y[i] = device_math::dot(a[i], b) + device_math::length(a[i]) + device_math::cross(a[i], b).x +
           device_math::distance(a[i], b) + device_math::determinant(m[i]) + device_math::transpose(m[i])(0, 1) +
           device_math::inverse(m[i])(0, 0) + device_math::max(device_math::min(y[i], 0.0f), 0.0f) +
           sqrt(abs(device_math::normalize(b).x)) + device_math::clamp(b.x, 0.0f, 1.0f) +
           device_math::select(b.x > 0.0f, 1.0f, 2.0f);
});

// A function of another scope without such names finds the functions by its arguments.
namespace own {
template <class A, class B> auto angle(const A& a, const B& b) { return acos(fma(cos(a), cos(b), sin(a) * sin(b))); }
}  // namespace own
const auto angles = kernel("angles", [](InOut<float> y) { y[global_index()] = own::angle(y[global_index()], Val<float>(0.0f)); });

}  // namespace

int names_file() {
    Device device = Device::open();
    Array<float> y = device.zeros<float>(4);
    transpose(ndrange(4), y), dot(ndrange(4), y), length(ndrange(4), y), cross(ndrange(4), y), inverse(ndrange(4), y);
    determinant(ndrange(4), y), distance(ndrange(4), y), normalize(ndrange(4), y), lerp(ndrange(4), y), uniform(ndrange(4), y);
    min(ndrange(4), y), max(ndrange(4), y), sign(ndrange(4), y), mul_high(ndrange(4), y), popcount(ndrange(4), y),
        ctz(ndrange(4), y);
    reverse_bits(ndrange(4), y), rsqrt(ndrange(4), y), digamma(ndrange(4), y), trigamma(ndrange(4), y), reflect(ndrange(4), y),
        mix(ndrange(4), y);
    if (y.get(3) != 22.0f || sqrt(abs(Own{3})).value != -2) return 0;
    Array<float3> a = device.upload(std::vector<float3>(4, {3, 0, 4}));
    Array<float3x3> m = device.upload(std::vector<float3x3>(4, float3x3::identity()));
    y.fill(0.0f);
    both(ndrange(4), y, a, m, float3{1, 0, 0});
    // 3 + 5 + 0 + |(2, 0, 4)| + 1 + 0 + 1 + 0 + 1 + 1 + 1
    const float want = 13.0f + 4.472136f;
    if (!(y.get(1) > want - 1e-4f && y.get(1) < want + 1e-4f)) return 0;
    y.fill(0.5f);
    angles(ndrange(4), y);
    return clamp + clz == 3 && y.get(0) > 0.499f && y.get(0) < 0.501f;
}
