// Randomly damaged kernel text: it is parsed, or refused with an Error; parsed text compiles.
#include <random>

#include "tests/error/error_suite.h"

using namespace pumice;
using suite::device, suite::message_of;

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

/// Functions f0, f1, ... each with the body `body`, where $ is the name of the previous function.
std::string chain(int functions, const std::string& body) {
    std::string out = "kernel \"chain\" math contract rank 1 (arg1: inout f32[1]) files [] {\n";
    for (int f = 0; f < functions; ++f) {
        out += "function \"f" + std::to_string(f) + "\" (%p" + std::to_string(f) + ": f32) : f32 {\n";
        std::string one = body;
        const auto fill = [&](const std::string& what, const std::string& by) {
            for (size_t at = one.find(what); at != one.npos; at = one.find(what)) one.replace(at, what.size(), by);
        };
        if (f == 0) one = "%r# = add %p#, %p# : f32\nyield %r#\n";
        fill("$", "\"f" + std::to_string(f - 1) + "\"");
        fill("#", std::to_string(f));
        out += one + "}\n";
    }
    return out + "%i = global_index 0 : i32\n%x = load arg1[%i] : f32\n%y = call \"f" + std::to_string(functions - 1) +
           "\" %x : f32\nstore arg1[%i], %y : f32\nreturn\n}\n";
}
std::string refused(const std::string& text) {
    return message_of([&] {
        const AnyKernel kernel = parse_ir(text);
        kernel.glsl();
        kernel(ndrange(1), device().zeros<float>(1));
        device().synchronize();
    });
}

TEST(Text, FunctionsThatInlineToHugeKernelsAreRefused) {
    const std::string twice = "%a# = call $ %p# : f32\n%r# = call $ %a# : f32\nyield %r#\n";
    EXPECT_EQ(refused(chain(10, twice)), "(no error)");
    EXPECT_NE(refused(chain(22, twice)).find("has 10485762 instructions with its functions inlined; the limit is 1048576"), std::string::npos)
        << refused(chain(22, twice));
    EXPECT_NE(refused(chain(300, twice)).find("has 2^64 or more instructions with its functions inlined; the limit is 1048576"), std::string::npos);
    const std::string once = "%r# = call $ %p# : f32\nyield %r#\n";
    EXPECT_EQ(refused(chain(900, once)), "(no error)");
    EXPECT_NE(refused(chain(5000, once)).find("calls functions in functions 5000 deep; the limit is 1000"), std::string::npos) << refused(chain(5000, once));
    std::string nested = "%c# = lt %p#, %p# : bool\n";
    for (int depth = 0; depth < 100; ++depth) nested += "if %c# {\n";
    nested += "%v# = call $ %p# : f32\nyield\n";
    for (int depth = 0; depth < 100; ++depth) nested += depth < 99 ? "} else {\nyield\n}\nyield\n" : "} else {\nyield\n}\n";
    nested += "yield %p#\n";
    EXPECT_NE(refused(chain(4, nested)).find("nests constructs 301 deep with its functions inlined; the limit is 256"), std::string::npos) << refused(chain(4, nested));
}

TEST(Text, RecordedFunctionsThatInlineToHugeKernelsAreRefused) {
    using F = Function<std::tuple<float>, float>;
    std::vector<F> all{function("f", [](Val<float> x) { return x + x; })};
    for (int n = 1; n < 40; ++n) all.push_back(function("f", [f = all.back()](Val<float> x) { return f(f(x)); }));
    const auto k = kernel("grown", [f = all.back()](InOut<float> y) { y[global_index()] = f(y[global_index()]); });
    Array<float> y = device().zeros<float>(1);
    const std::string message = message_of([&] { k(ndrange(1), y); });
    EXPECT_NE(message.find("kernel \"grown\" (text_test.cpp:"), std::string::npos) << message;
    EXPECT_NE(message.find("instructions with its functions inlined; the limit is 1048576"), std::string::npos) << message;
}

TEST(Text, HugeMemoriesAreRefused) {
    for (const char* memory : {"private p: f32[1000000000]", "local p: f32[500000000]", "private p: f32[100000, 100000, 100000]",
                               "local p: f32[9223372036854775807]", "private p: {a: f32 @4294967290}:4294967294[1]", "private p: f32[200000]"}) {
        const std::string text = std::string("kernel \"huge\" math contract rank 1 (arg1: inout f32[1]) files [] {\n") + memory + R"(
            %i = global_index 0 : i32
            %x = constant 1.0 : f32
            )" + (std::string(memory).find("{a") == std::string::npos ? "store p[%i], %x : f32\n%y = load p[%i] : f32" : "store p[%i].a, %x : f32\n%y = load p[%i].a : f32") + R"(
            store arg1[%i], %y : f32
            return
        })";
        const std::string message = refused(text);
        // A device may find that the local memory is not needed.
        const bool gone = std::string(memory) == "local p: f32[500000000]" && message == "(no error)";
        EXPECT_TRUE(gone || message.find("the limit") != std::string::npos) << memory << ": " << message;
    }
}

}  // namespace
