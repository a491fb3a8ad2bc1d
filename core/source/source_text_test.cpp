#include "core/source/source_text.h"

#include <gtest/gtest.h>

namespace pumice::ir {
namespace {

using Names = std::vector<std::string>;

TEST(SourceText, lines_declare_names) {
    EXPECT_EQ(declared_names("    auto i = global_index();"), Names{"i"});
    EXPECT_EQ(declared_names("const auto& d = x[i] - y[i];  // auto z = 1;"), Names{"d"});
    EXPECT_EQ(declared_names("Var<float> sum = 0.0f, most{1.0f}, least(2.0f);"), (Names{"sum", "most", "least"}));
    EXPECT_EQ(declared_names("pumice::Val<Vec<float, 3>> p = f(a, b); Var<int> n;"), (Names{"p", "n"}));
    EXPECT_EQ(declared_names("auto [row, column] = global_index<2>();"), (Names{"row", "column"}));
    EXPECT_EQ(declared_names("$if (a < b) { auto c = a * \"auto d = 1;\"_x; }"), Names{"c"});
    EXPECT_EQ(declared_names("auto f = [&](Val<int> a) { auto b = a; return b; };"), (Names{"f"}));
}

TEST(SourceText, other_lines_declare_nothing) {
    for (const char* line : {"", "sum += d;", "result[i] = sum;", "return sum;", "f(x);", "else x = 1;", "y = a < b;",
                             "/* auto i = 1; */", "}", "a * b;", "$for (k, range(3)) {", "using T = float;"})
        EXPECT_EQ(declared_names(line), Names{}) << line;
}

TEST(SourceText, loops_name_their_index) {
    EXPECT_EQ(loop_name("    $for (k, range(0, n)) {"), "k");
    EXPECT_EQ(loop_name("    $for(row , range(n)) sum += row;"), "row");
    EXPECT_EQ(loop_name("    for (int k = 0; k < 3; ++k) {"), "");
}

SourceText source_of(const char* text) {
    SourceText source;
    source.text = text;
    const std::string_view all = source.text;
    for (size_t at = 0; at < all.size();) {
        const size_t end = std::min(all.find('\n', at), all.size());
        source.lines.emplace_back(text + at, end - at);
        at = end + 1;
    }
    return source;
}

TEST(SourceText, heads_of_lambdas_name_their_parameters) {
    EXPECT_EQ(parameter_names(source_of("const auto k = kernel(\"k\", [](Out<float> y, const In<Vec<float, 2>>& x,\n"
                                        "                              Val<float>, Val<int> n = 3) {\n"),
                              1),
              (Names{"y", "x", "", "n"}));
    EXPECT_EQ(parameter_names(source_of("\n  v[1] = 2;\n  kernel(\"k\", [a = b[2], &](InOut<int> values) {"), 2),
              Names{"values"});
    EXPECT_EQ(parameter_names(source_of("kernel(\"k\", f);"), 1), Names{});
}

TEST(SourceText, files_are_read_by_line) {
    const SourceText* const source = source_text(__FILE__);
    ASSERT_TRUE(source);
    EXPECT_EQ(source->line(1), "#include \"core/source/source_text.h\"");
    EXPECT_EQ(source->line(2), "");
    EXPECT_EQ(source->line(0), "");
    EXPECT_EQ(source->line(100000), "");
    EXPECT_FALSE(source_text("no/such/file.cpp"));
    EXPECT_FALSE(source_text("/"));
}

}  // namespace
}  // namespace pumice::ir
