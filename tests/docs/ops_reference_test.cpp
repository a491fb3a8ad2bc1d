// docs/ops.md is made from the rows of core/ir/ops.def. PUMICE_BLESS=1 writes the page.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

#include "core/ir/ops.h"
#include "core/support/error.h"
#include "tests/docs/page.h"

using namespace pumice;
using namespace pumice::internal;

namespace {

constexpr const char* head = R"(# The scalar operations

Made from the rows of `core/ir/ops.def`, which say how each field is meant; [adding an op](adding-an-op.md) is one row more.
Do not edit this page: `PUMICE_BLESS=1 ./test -R docs` writes it, and a test fails when it is not up to date.

- **op** is the name in kernel text. In C++ it is the function of that name, or the infix operator that the meaning begins with.
- **operands** all have one type, of these: F floats, W f32 and f64, I integers, S signed integers, U unsigned ones, B bool,
  N = F + I, L = I + B, SF = S + F, A all. F, i32: a float and an i32.
- **result** is *same* (as the operands), bool or i32.
- **derivatives**, one an operand: `a`, `b`, `c` are the operands, `r` the result, `X(2)` the constant 2; `zero` means almost
  everywhere, `none` that there is none. They are tested against central differences.
- **error** is how far a device may be from the interpreter in f32: units in the last place, then an absolute part.

Integer overflow wraps. A device may take subnormal numbers as zeros. NaN has no certain sign or payload.
)";

/// The headings of the table, by the number of the op that follows each. They are comments of ops.def: `// ---- name ----`.
std::map<int, std::string> headings() {
    std::istringstream lines(docs::Page("core/ir/ops.def").text());
    std::map<int, std::string> found;
    int op = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("// ---- ")) found[op] = line.substr(8, line.find(" ----", 8) - 8);
        op += line.starts_with("OP1(") || line.starts_with("OP2(") || line.starts_with("OP3(") || line.starts_with("INFIX");
    }
    EXPECT_EQ(op, ir::scalar_op_count);
    return found;
}

std::string_view name_of(TypeClass types) {
    switch (types) {
        case TypeClass::F: return "F";
        case TypeClass::W: return "W";
        case TypeClass::I: return "I";
        case TypeClass::S: return "S";
        case TypeClass::U: return "U";
        case TypeClass::B: return "B";
        case TypeClass::N: return "N";
        case TypeClass::L: return "L";
        case TypeClass::SF: return "SF";
        case TypeClass::A: return "A";
        case TypeClass::F_I: return "F, i32";
    }
    library_bug("a class of types without a name");
}

std::string_view name_of(Result result) {
    switch (result) {
        case Result::same: return "same";
        case Result::boolean: return "bool";
        case Result::i32: return "i32";
    }
    library_bug("a kind of result without a name");
}

std::string derivatives(const OpRow& row) {
    std::string out;
    bool any = false;
    for (int i = 0; i < row.arity; ++i) {
        any |= row.derivatives[i] != "none" && row.derivatives[i] != "zero";
        out += text(i ? ", " : "", "`", row.derivatives[i], "`");
    }
    if (any) return out;
    const bool alike = std::all_of(row.derivatives, row.derivatives + row.arity, [&](auto d) { return d == row.derivatives[0]; });
    return alike ? std::string(row.derivatives[0]) : out;
}

std::string error(const OpRow& row) {
    char out[64];
    if (row.ulps == 0 && row.absolute == 0) return "exact";
    if (row.absolute == 0)
        std::snprintf(out, sizeof out, "%g", row.ulps);
    else
        std::snprintf(out, sizeof out, "%g + %g", row.ulps, row.absolute);
    return out;
}

/// A bar would end the cell of the table.
std::string escaped(std::string_view cell) {
    std::string out;
    for (const char c : cell) out += c == '|' ? "\\|" : c == '*' ? "\\*" : std::string(1, c);
    return out;
}

/// The meaning of an op; infix syntax at its beginning is formatted as code.
std::string meaning(const OpRow& row) {
    if (row.infix().empty()) return escaped(row.doc);
    const size_t colon = row.doc.find(':');
    std::string syntax(row.doc.substr(0, colon));
    if (const size_t bar = syntax.find('|'); bar != syntax.npos) syntax.insert(bar, "\\");
    return text("`", syntax, "`", escaped(row.doc.substr(colon)));
}

TEST(OpsReference, IsMadeFromTheTableOfOps) {
    const std::map<int, std::string> heading = headings();
    std::string page = head;
    for (int op = 0; op < ir::scalar_op_count; ++op) {
        const OpRow& row = pumice::internal::row(ir::Op(op));
        if (const auto h = heading.find(op); h != heading.end()) {
            std::string title = h->second;
            title[0] = char(std::toupper(title[0]));
            page += text("\n## ", title,
                         "\n\n| op | operands | result | meaning | derivatives | error |\n|---|---|---|---|---|---|\n");
        }
        page += text("| `", row.name, "` | ", name_of(row.types), " | ", name_of(row.result), " | ", meaning(row), " | ",
                     derivatives(row), " | ", error(row), " |\n");
    }
    docs::Page("docs/ops.md").expect_text(page);
}

}  // namespace
