// compile_object on any machine: what a header declares, errors, and an object for every target that this LLVM has.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "cpu/native/foreign_object.h"
#include "cpu/native/llvm_library.h"
#include "tests/source_folder.h"

using namespace pumice;

namespace {

const auto smooth = function("smooth", [](Val<float> x, Val<float> y) { return x * x + y; });
const auto hash = function("hash", [](Val<uint32_t> x) { return (x ^ (x >> 16u)) * 0x45d9f3bu; });
const auto twice = kernel("twice.all", [](InOut<int> a) { a[global_index()] *= 2; });

std::string refusal(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& e) { return e.what(); }
    return "no error";
}

TEST(Objects, HeaderDeclaresTheFunction) {
    const ObjectCode code = compile_object(twice, "aarch64-linux-gnu");
    EXPECT_EQ(code.triple, "aarch64-unknown-linux-gnu");
    EXPECT_EQ(code.symbol, "twice_all");
    EXPECT_EQ(code.header, R"(/* twice.all for aarch64-unknown-linux-gnu. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
void twice_all(int32_t* arg1, int64_t arg1_n0, int64_t n0);
#ifdef __cplusplus
}
#endif
)");
    EXPECT_EQ(code.needs, std::vector<std::string>());
    EXPECT_EQ(code.bytes.substr(0, 4), "\177ELF");
    ObjectOptions options;
    options.symbol = "double_them";
    options.assembly = true;
    const ObjectCode other = compile_object(twice, "riscv64-linux-gnu", "", options);
    EXPECT_EQ(other.prototype, "void double_them(int32_t* arg1, int64_t arg1_n0, int64_t n0)");
    EXPECT_NE(other.assembly.find("double_them:"), std::string::npos);
    EXPECT_EQ(code.assembly, "");
}

/// Names of functions as C has them, for every format of objects, and nothing that linkers and startup code define.
TEST(Objects, NeedFunctionsOnly) {
    const auto k = kernel("calls", [](InOut<float> x, InOut<double> y, InOut<int64_t> z) {
        const auto i = global_index();
        x[i] = sin(x[i]);
        y[i] = exp(y[i]) / 3.0;
        z[i] = z[i] / (z[i] + 1);
    });
    int made = 0;
    for (const char* const triple : {"x86_64-linux-gnu",
                                     "i686-linux-gnu",
                                     "aarch64-linux-gnu",
                                     "armv7-linux-gnueabihf",
                                     "thumbv7m-none-eabi",
                                     "riscv64-linux-gnu",
                                     "riscv32-unknown-elf",
                                     "powerpc64le-linux-gnu",
                                     "powerpc64-linux-gnu",
                                     "s390x-linux-gnu",
                                     "mips64el-linux-gnuabi64",
                                     "mipsel-linux-gnu",
                                     "loongarch64-linux-gnu",
                                     "sparc64-linux-gnu",
                                     "wasm32-unknown-unknown",
                                     "hexagon",
                                     "avr",
                                     "x86_64-apple-macosx",
                                     "arm64-apple-macosx",
                                     "x86_64-pc-windows-msvc",
                                     "i686-pc-windows-msvc",
                                     "aarch64-pc-windows-msvc",
                                     "x86_64-w64-windows-gnu"}) {
        SCOPED_TRACE(triple);
        ObjectCode code;
        try {
            code = compile_object(k, triple);
        } catch (const Error& e) {
            EXPECT_NE(std::string(e.what()).find("LLVM"), std::string::npos) << e.what();  // it lacks the target
            continue;
        }
        ++made;
        std::vector<std::string> of_c;
        for (const std::string& name : code.needs) {
            if (name == "sinf" || name == "exp") {
                of_c.push_back(name);
                continue;
            }
            const std::string_view parts[] = {"div", "mod", "add", "mul", "rem"};  // of the compiler's library
            EXPECT_TRUE(name.starts_with("_") &&
                        std::ranges::any_of(parts, [&](std::string_view part) { return name.find(part) != name.npos; }))
                << name;
        }
        EXPECT_EQ(of_c, (std::vector<std::string>{"exp", "sinf"}));
    }
    EXPECT_GT(made, 10);
}

TEST(Objects, AFunctionIsOneFunctionOfTheObject) {
    ObjectOptions options;
    options.assembly = true;
    const ObjectCode code = compile_object(smooth, "riscv64-linux-gnu", "", options);
    // The frame and the loop over groups are gone, and the parameters come in floating-point registers (lp64d).
    EXPECT_NE(code.assembly.find("smooth:\n\tfmadd.s\tfa0, fa0, fa0, fa1\n\tret\n"), std::string::npos) << code.assembly;
    options.features = "-d,-f";
    const ObjectCode soft = compile_object(smooth, "riscv64-linux-gnu", "", options);
    EXPECT_EQ(soft.needs, (std::vector<std::string>{"__addsf3", "__mulsf3"}));
    options.abi = "lp64";
    EXPECT_EQ(compile_object(smooth, "riscv64-linux-gnu", "", options).bytes, soft.bytes);
}

TEST(Objects, VectorsAreUsedWhereThereAreSome) {
    const auto assembly = [](const char* triple, const char* features, int width = 0) {
        ObjectOptions options;
        options.assembly = true;
        options.features = features;
        options.width = width;
        return compile_object(twice, triple, "", options).assembly;
    };
    // Before version 17 LLVM has vectors of fixed length on RISC-V only by an option of its own.
    const bool vectors = assembly("riscv64-linux-gnu", "+v").find("vle32.v") != std::string::npos;
    EXPECT_TRUE(vectors || cpu::llvm_major() < 17);
    EXPECT_EQ(assembly("riscv64-linux-gnu", "").find("vle32.v"), std::string::npos);
    EXPECT_NE(assembly("aarch64-linux-gnu", "").find(".4s"), std::string::npos);
    EXPECT_EQ(assembly("aarch64-linux-gnu", "", 1).find(".4s"), std::string::npos);
    EXPECT_NE(assembly("x86_64-linux-gnu", "+avx2,+fma").find("ymm"), std::string::npos);
}

TEST(Objects, ForEveryTargetOfTheInstalledLlvm) {
    const std::vector<std::string> all = cpu::llvm_targets();
    const std::set<std::string> there(all.begin(), all.end());
    int made = 0;
    for (const auto& [target, triple] : {std::pair("x86-64", "x86_64-linux-gnu"),
                                         {"x86-64", "x86_64-apple-darwin"},
                                         {"x86-64", "x86_64-pc-windows-msvc"},
                                         {"x86", "i686-linux-gnu"},
                                         {"aarch64", "aarch64-linux-gnu"},
                                         {"aarch64", "arm64-apple-macosx"},
                                         {"arm", "armv7-linux-gnueabihf"},
                                         {"thumb", "thumbv7em-none-eabihf"},
                                         {"riscv64", "riscv64-linux-gnu"},
                                         {"riscv32", "riscv32-unknown-elf"},
                                         {"ppc64le", "powerpc64le-linux-gnu"},
                                         {"ppc64", "powerpc64-linux-gnu"},
                                         {"systemz", "s390x-linux-gnu"},
                                         {"mips64el", "mips64el-linux-gnuabi64"},
                                         {"loongarch64", "loongarch64-linux-gnu"},
                                         {"sparcv9", "sparc64-linux-gnu"},
                                         {"wasm32", "wasm32-unknown-unknown"},
                                         {"hexagon", "hexagon-unknown-elf"},
                                         {"bpf", "bpf"},
                                         {"bpfeb", "bpfeb"}}) {
        if (!there.contains(target)) continue;
        EXPECT_GT(compile_object(hash, triple).bytes.size(), 100u) << triple;
        if (std::string(target) != "bpf" && std::string(target) != "bpfeb") {
            EXPECT_GT(compile_object(twice, triple).bytes.size(), 100u) << triple;
            EXPECT_GT(compile_object(smooth, triple).bytes.size(), 100u) << triple;
        }
        ++made;
    }
    EXPECT_GE(made, 4);  // Debian's has all of these
    for (const char* const level : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "znver3"})
        EXPECT_GT(compile_object(twice, "x86_64-linux-gnu", level).bytes.size(), 100u) << level;
}

// The kernels of the goldens have every kind of access, control flow and operation.
TEST(Objects, KernelsOfTheGoldens) {
    namespace fs = std::filesystem;
    int made = 0, refused = 0;
    for (const auto& entry : fs::directory_iterator(source_folder() / "tests/golden")) {
        std::ifstream file(entry.path());
        std::stringstream all;
        all << file.rdbuf();
        const std::string contents = all.str();
        const size_t begin = contents.find("kernel \""), end = contents.find("\n----\n");
        if (begin > end || end == contents.npos) continue;
        std::optional<AnyKernel> kernel;
        try {
            kernel = parse_ir(contents.substr(begin, end - begin));
        } catch (const Error&) { continue; }  // of the verifier's tests
        for (const auto& [triple, features] : {std::pair("aarch64-linux-gnu", ""),
                                               {"riscv64-linux-gnu", ""},
                                               {"riscv64-linux-gnu", "+v"},
                                               {"armv7-linux-gnueabihf", "+neon"},
                                               {"powerpc64le-linux-gnu", ""},
                                               {"s390x-linux-gnu", ""},
                                               {"wasm32-unknown-unknown", "+simd128"},
                                               {"x86_64-linux-gnu", ""}}) {
            ObjectOptions options;
            options.features = features;
            try {
                const ObjectCode code = compile_object(*kernel, triple, "", options);
                for (const std::string& name : code.needs)
                    EXPECT_TRUE(name.find("pumice") == name.npos && name.find("Sleef") == name.npos) << name;
                ++made;
            } catch (const Error& e) {
                const std::string what = e.what();
                EXPECT_TRUE(what.find(" an object has no library ") != what.npos ||
                            what.find("the C library has no such") != what.npos)
                    << entry.path() << " for " << triple << features << ": " << what;
                ++refused;
            }
        }
    }
    EXPECT_GT(made, 100);
    EXPECT_LT(refused, made / 4);
}

TEST(Objects, FromSeveralThreads) {
    const char* const triples[] = {"aarch64-linux-gnu", "riscv64-linux-gnu", "bpf", "x86_64-linux-gnu"};
    std::vector<std::string> alone, together(std::size(triples) * 4);
    for (const char* const triple : triples) alone.push_back(compile_object(hash, triple).bytes);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < together.size(); ++t)
        threads.emplace_back([&, t] { together[t] = compile_object(hash, triples[t % std::size(triples)]).bytes; });
    for (std::thread& thread : threads) thread.join();
    for (size_t t = 0; t < together.size(); ++t) EXPECT_EQ(together[t], alone[t % std::size(triples)]) << t;
}

TEST(Objects, ErrorsAreSentences) {
    const std::string unknown = refusal([] { compile_object(smooth, "vax-dec-vms"); });
    EXPECT_NE(unknown.find("has no target for the triple \"vax-dec-vms\"; its targets are aarch64, "), std::string::npos)
        << unknown;
    EXPECT_NE(unknown.find("while compiling function \"smooth\" (objects_test.cpp:"), std::string::npos) << unknown;
    for (const char* const triple : {"riscv64-linux-gnu", "aarch64-linux-gnu", "x86_64-linux-gnu", "bpf"}) {
        const std::string processor = refusal([&] { compile_object(hash, triple, "pdp11"); });
        EXPECT_NE(processor.find("'pdp11' is not a recognized processor"), std::string::npos) << processor;
        ObjectOptions options;
        options.features = "+warp";
        const std::string feature = refusal([&] { compile_object(hash, triple, "", options); });
        EXPECT_NE(feature.find("'+warp' is not a recognized feature"), std::string::npos) << feature;
    }

    // LLVM's fatal errors do not end the process, and the next object is as good as any.
    ObjectOptions narrow;
    narrow.features = "-64bit";
    const std::string fatal = refusal([&] { compile_object(hash, "riscv64-linux-gnu", "", narrow); });
    EXPECT_NE(fatal.find("LLVM has no code for this target: RV64 target requires an RV64 CPU"), std::string::npos) << fatal;
    EXPECT_EQ(compile_object(hash, "riscv64-linux-gnu").needs, std::vector<std::string>());
    ObjectOptions four;
    four.width = 4;
    const std::string wide = refusal([&] { compile_object(twice, "s390x-linux-gnu", "", four); });
    EXPECT_NE(wide.find("objects for s390x compute one item at a time; a width of 4 is asked for"), std::string::npos) << wide;

    const auto refused = [](const auto& of, const ObjectOptions& options = {}) {
        return refusal([&] { compile_object(of, "aarch64-linux-gnu", "", options); });
    };
    const int here = __LINE__;
    const auto prints = kernel("prints", [](In<int> a) { print("{}", a[0]); });
    const auto gamma = function("gamma", [](Val<float> x) { return digamma(x); });
    const auto asks = function("asks", [](Val<int> x) { return x + global_index(); });
    EXPECT_NE(refused(prints).find(text("prints at objects_test.cpp:", here + 1)), std::string::npos) << refused(prints);
    EXPECT_NE(refused(gamma).find(text("computes digamma at objects_test.cpp:", here + 2)), std::string::npos) << refused(gamma);
    EXPECT_NE(refused(asks).find(text("asks for an index or a range at objects_test.cpp:", here + 3)), std::string::npos)
        << refused(asks);
    ObjectOptions options;
    options.symbol = "9lives";
    EXPECT_NE(refused(twice, options).find("a symbol is a name of C"), std::string::npos);
    for (const char* const name :
         {"main", "double", "sinf", "exp10", "floorf", "memset", "nextafter", "NULL", "_Bool", "int64_t", "printf", "read"}) {
        options.symbol = name;
        EXPECT_NE(refused(twice, options).find("which is a word or a function of C"), std::string::npos) << name;
    }
    for (const char* const name : {"add", "clamped", "smoothf", "maximum", "_add", "weight", "integrate_t"}) {
        options.symbol = name;
        EXPECT_EQ(refused(twice, options), "no error") << name;
    }
    options = {};
    options.group = {8, 8};
    EXPECT_NE(refused(twice, options).find("groups of 2 dimensions; its range has 1"), std::string::npos)
        << refused(twice, options);
    options = {};
    options.width = 5;
    EXPECT_NE(refused(twice, options).find("5 items at once"), std::string::npos);
    options = {};
    options.abi = "lp64";
    EXPECT_NE(refused(twice, options).find("only RISC-V has several ABIs"), std::string::npos);
}

}  // namespace
