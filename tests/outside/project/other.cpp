// A second file with the headers: two of them link into one program. It needs no Vulkan header. It uses templates, because
// compilers warn about templates only where they are used.
#include <cmath>

#include <pumice/pumice.h>
#include <pumice/vulkan.h>

using namespace pumice;

namespace {

const auto soften = kernel("soften", [](Out<float, 2> to, In<float, 2> from, Val<float3> weights) {
    auto [i, j] = global_index<2>();
    Local<float2, 4, 4> tile;
    Private<int, 2> steps;
    tile(i % 4, j % 4) = Val<float2>(from(i, j), 1.0f);
    synchronize();
    Var sum = weights.x * from(i, j);
    $for(k, range(from.size(0))) {
        $if(k == i) {
            $if(j > 2) { $continue; }
            $else { $continue; }
        }
        steps[0] = k;
        sum += weights.y * clamp(from(k, j), 0.0f, 1.0f);
    }
    to(i, j) = sum + group::reduce_add(weights.z) + tile(i % 4, j % 4).x;
});

const auto product = function("product", [](Val<float> a, Val<float> b) { return a * sin(b); });

}  // namespace

int other_file() {
    Device device = Device::open();
    Array<float, 2> x = device.full<float>({4, 4}, 1.0f), y = device.zeros<float>({4, 4}), dx = y.clone(), dy = x.clone();
    autodiff(Reverse, soften, ndrange(4, 4), Duplicated(y, dy), Duplicated(x, dx), Const(float3{1, 2, 3}));
    x.view({1, 1}, {3, 3}).copy_from(y.view({0, 0}, {4, 4}, {2, 2}));
    std::vector<float> row(4);
    y.row(0).copy_to(row);
    try {
        vulkan::wrap({});
    } catch (const Error&) {  // an empty handle
    }
    const auto rows = jacobian(product, 1.0f, 2.0f);
    const auto [da, db] = gradient(product, 1.0f, 2.0f);
    const auto [ha, hb] = hessian_vector(product, 1.0f, 2.0f, 1.0f, 0.0f);
    const bool right = rows[0][0] == da && rows[0][1] == db && ha == 0 && std::abs(hb - std::cos(2.0f)) < 1e-6f;
    x.fill(0.5f);
    if (!right || !check_gradient(soften, ndrange(4, 4), y, x, float3{1, 2, 3}).good) return 0;
    return int(device.full<float>(2, 1.0f).download().size());
}
