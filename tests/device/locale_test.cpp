// The locale of the program, which may group digits and write a comma: kernels, messages and printed lines do not depend on it.
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <locale>
#include <sstream>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

class Digits : public std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    char do_decimal_point() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
    std::string do_truename() const override { return "wahr"; }
};

/// C++'s global locale with German digits, and C's locale with a comma if there is one.
class OtherLocale {
public:
    OtherLocale()
        : before(std::locale::global(std::locale(std::locale::classic(), new Digits))),
          c_before(std::setlocale(LC_ALL, nullptr)) {
        for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "PUMICE_TEST"})
            if (std::setlocale(LC_ALL, name)) break;
    }
    ~OtherLocale() {
        std::setlocale(LC_ALL, c_before.c_str());
        std::locale::global(before);
    }

private:
    std::locale before;
    std::string c_before;
};

/// A locale of C with a comma, made by localedef in a folder of its own, if localedef exists.
bool make_locale() {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "pumice_locale";
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    const std::string made = (folder / "PUMICE_TEST").string();
    // localedef makes the folder even if it fails: on Debian 13 without the package locales.
    const bool there = std::filesystem::exists(made + "/LC_NUMERIC") ||
                       std::system(("localedef -i de_DE -f UTF-8 " + made + " 2>/dev/null").c_str()) == 0;
    if (!there) return false;
    setenv("LOCPATH", folder.c_str(), 1);
    return true;
}

const char* const kernel_text = R"(kernel "thousands" math contract rank 1 (arg1: out f32[1], arg2: out i32[1]) files ["k.cpp"] {
    %0 = global_index 0 : i32
    %1 = constant 1234567 : i32
    %2 = constant 2500.5 : f32
    %3 = constant 0.125 : f32
    %4 = cast %0 : f32
    %5 = mul %3, %4 : f32
    %6 = add %2, %5 : f32
    store arg1[%0], %6 : f32 @1000
    %7 = add %1, %0 : i32
    store arg2[%0], %7 : i32
    return
})";

std::string all_texts(const Device& device) {
    const auto k = kernel("in_other_locales", [](Out<float> y, InOut<int, 2> z, Val<float> a) {
        auto i = global_index();
        Local<float, 1024> tile;
        tile[local_index()] = 1000.5f * a;
        synchronize();
        y[i] = tile[local_index()] + 12345.678f;
        z(i % 2, i) = 1000000 + i;
        $for(n, range(2000)) {
            $if(n == 1500) { y[i] += 0.25f; }
        }
        $if(i == 1) { print("{} {:.3f} {:e} {:G} {:08.2f} {}", a, y[i], y[i], y[i], y[i], 100000 + i); }
    });
    std::string lines;
    device.on_print([&](std::string_view line) { lines += std::string(line) + "\n"; });
    Array<float> y = device.zeros<float>(1500);
    Array<int, 2> z = device.zeros<int>({2, 1500});
    k(ndrange(1500).group(std::min<int64_t>(64, device.limits().max_group_size)), y, z, 1.5f);
    device.synchronize();
    device.on_print({});
    std::ostringstream out;
    out.imbue(std::locale::classic());
    out << lines << y << "\n" << z << "\n" << k.ir() << k.glsl();
    const AnyKernel read = parse_ir(kernel_text);
    Array<float> f = device.zeros<float>(3);
    Array<int> n = device.zeros<int>(3);
    read(ndrange(3), f, n);
    out << read.ir() << f << n;
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "pumice_locale_dump";
    dump(k, folder);
    for (const char* extension : {"ir", "comp", "spvasm", "json"}) {
        std::ifstream file(folder / (std::string("in_other_locales.") + extension), std::ios::binary);
        out << file.rdbuf();
    }
    std::filesystem::remove_all(folder);
    out << suite::message_of([&] { k(ndrange(1500).group(123456), y, z, 1.0f); })
        << suite::message_of([&] { y.slice(1000, 5000); });
    return out.str();
}

TEST(Locale, TextsDoNotDependOnTheLocale) {
    const std::string classic = all_texts(device());
    EXPECT_NE(classic.find("1.5 13846.678"), std::string::npos) << classic.substr(0, 200);
    const bool of_c = make_locale();
    std::string other;
    {
        const OtherLocale german;
        std::ostringstream sample;
        sample << 1234567 << ' ' << 0.5;
        ASSERT_EQ(sample.str(), "1.234.567 0,5") << "the locale does what it is for";
        if (of_c) {
            char text[16];
            std::snprintf(text, sizeof text, "%g", 0.5);
            ASSERT_STREQ(text, "0,5");
        } else {
            std::puts("C has no locale with a comma here, and no localedef: C++'s alone is tested");
        }
        other = all_texts(device());
    }
    EXPECT_EQ(other.size(), classic.size());
    for (size_t at = 0; at < std::min(other.size(), classic.size()); ++at)
        if (other[at] != classic[at]) {
            FAIL() << "they differ at \"" << other.substr(at < 60 ? 0 : at - 60, 120) << "\", which is \""
                   << classic.substr(at < 60 ? 0 : at - 60, 120) << "\"";
        }
}

}  // namespace
