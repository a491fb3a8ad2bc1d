// Kernel text damaged at random: it is read, or refused with an Error, and what is read compiles.
#include <random>

#include "tests/error/error_suite.h"

using namespace pumice;

namespace {

const auto everything = kernel("everything", [](InOut<int> a, In<float, 2> b, Out<float> c, Val<float> s, Val<bool> u) {
    Local<float> tile(group_size() * 2);
    Private<int, 3, 2> mine;
    auto i = global_index();
    Var x = a[i];
    Var f = b(i, 0) * s;
    tile[local_index()] = f;
    mine(1, 1) = x;
    synchronize();
    $for (k, range(0, a.size(), 2)) {
        $if (x > k) { x += k; $break; }
        $elif (x == 3) { $continue; }
        $else { f = sin(f) + tile[0]; }
    }
    $while (x > 3) { x -= 1 + mine(1, 1); }
    atomic_add(a[0], x);
    $if (i == 5) { $return; }
    c[i] = select(u, f, cast<float>(x));
});

std::string damaged(std::string text, std::mt19937& random) {
    for (uint32_t edits = 1 + random() % 3; edits > 0; --edits) {
        const size_t at = random() % text.size(), digit = text.find_first_of("0123456789", at);
        switch (random() % 5) {
            case 0: text[at] = char(random() % 256); break;
            case 1: text.erase(at, 1 + random() % 20); break;
            case 2: text.insert(at, text.substr(random() % text.size(), random() % 30)); break;
            case 3: text[at] = "0123456789%@(){}[],:="[random() % 21]; break;
            case 4:
                if (digit != text.npos) text.replace(digit, 1, random() % 2 ? "99999999999" : std::to_string(random() % 40));
        }
    }
    return text;
}

TEST(Text, DamagedTextIsReadOrRefused) {
    const std::string text = everything.ir();
    std::mt19937 random(7);
    int read = 0, refused = 0;
    for (int k = 0; k < 4000; ++k) {
        try {
            const AnyKernel kernel = parse_ir(damaged(text, random));
            if (read++ % 4 == 0) kernel.glsl();
        } catch (const Error& e) {
            ++refused;
            EXPECT_GT(std::string(e.what()).size(), 15u);
        }
    }
    EXPECT_GT(read, 20);
    EXPECT_GT(refused, 3000);
}

}  // namespace
