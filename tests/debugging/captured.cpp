// A program that RenderDoc captures: one launch between the beginning and the end of a capture, by RenderDoc's interface for
// applications. The positions in its table of functions are fixed (its version 1.0.0); Debian has no package with the header.
#include <dlfcn.h>
#include <pumice/pumice.h>

#include <cstdio>

using namespace pumice;

const auto doubled = kernel("doubled", [](InOut<float> x) {
    auto i = global_index();
    auto twice = x[i] + x[i];
    x[i] = twice;  // mark: stored
});

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const Device device = Device::open("vulkan");
    Array<float> x = device.upload<float>({1, 2, 3, 4});
    void* const library = dlopen("librenderdoc.so", RTLD_NOW | RTLD_NOLOAD);
    auto* const get = library ? reinterpret_cast<int (*)(int, void**)>(dlsym(library, "RENDERDOC_GetAPI")) : nullptr;
    void** table = nullptr;
    if (!get || get(10000, reinterpret_cast<void**>(&table)) != 1) {
        std::puts("RenderDoc's layer is not in this process");
        return 3;
    }
    reinterpret_cast<void (*)(const char*)>(table[11])(arguments[1]);
    device.synchronize();
    reinterpret_cast<void (*)(void*, void*)>(table[19])(nullptr, nullptr);
    doubled(ndrange(4), x);
    device.synchronize();
    const unsigned taken = reinterpret_cast<unsigned (*)(void*, void*)>(table[21])(nullptr, nullptr);
    for (const float v : x.download()) std::printf("%g ", v);
    std::printf("capture %u\n", taken);
    return taken == 1 ? 0 : 4;
}
