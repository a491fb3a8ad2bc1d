// Matrices of 4-byte elements transposed in registers: what lies along rows in memory becomes vectors across them, and back.
#include <algorithm>

#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

/// A vector of `result` lanes, of which each is lane of(lane) of `a` and `b`, counted through. These have `lanes` each.
std::string Emitter::shuffled(const std::string& type, int lanes, const std::string& a, const std::string& b, int result,
                              const std::function<int(int)>& of) {
    std::string indices;
    for (int lane = 0; lane < result; ++lane) indices += text(lane ? ", " : "", "i32 ", of(lane));
    const std::string v = text("<", lanes, " x ", type, ">");
    return let(text("shufflevector ", v, " ", a, ", ", v, " ", b, ", <", result, " x i32> <", indices, ">"));
}

/// Four vectors with 4 x 4 matrices in their blocks, transposed.
void Emitter::transpose_blocks(std::array<std::string, quad>& v, const std::string& type, int lanes) {
    // Of two vectors, elements of each quad by turns: one by one, or two by two.
    const auto singles = [&](const std::string& a, const std::string& b, int high) {
        return shuffled(type, lanes, a, b, lanes,
                        [&](int lane) { return lane / quad * quad + 2 * high + lane % quad / 2 + lane % 2 * lanes; });
    };
    const auto pairs = [&](const std::string& a, const std::string& b, int high) {
        return shuffled(type, lanes, a, b, lanes,
                        [&](int lane) { return lane / quad * quad + 2 * high + lane % 2 + lane % quad / 2 * lanes; });
    };
    const std::string low01 = singles(v[0], v[1], 0), high01 = singles(v[0], v[1], 1);
    const std::string low23 = singles(v[2], v[3], 0), high23 = singles(v[2], v[3], 1);
    v[0] = pairs(low01, low23, 0), v[1] = pairs(low01, low23, 1);
    v[2] = pairs(high01, high23, 0), v[3] = pairs(high01, high23, 1);
}

/// As many rows as each has elements, 4, 8 or 16, transposed: first the quads in rows that are four apart, then what is in them.
std::vector<std::string> Emitter::transposed(const std::string& type, std::vector<std::string> rows) {
    const int lanes = int(rows.size()), quads = lanes / quad;
    // Half of what comes out is quads of `a`, half of `b`: each `step`th from `first` on.
    const auto picked = [&](const std::string& a, const std::string& b, int first, int step) {
        return shuffled(type, lanes, a, b, lanes, [&](int lane) {
            const int q = lane / quad, half = quads / 2;
            return (q / half * quads + first + q % half * step) * quad + lane % quad;
        });
    };
    for (int r = 0; r < quad && quads > 1; ++r) {
        const auto row = [&](int block) -> std::string& { return rows[size_t(block * quad + r)]; };
        if (quads == 4)
            for (const int b : {0, 2}) {
                const std::string low = picked(row(b), row(b + 1), 0, 1), high = picked(row(b), row(b + 1), 2, 1);
                row(b) = low, row(b + 1) = high;
            }
        std::vector<std::string> columns;
        for (int b = 0; b < quads / 2; ++b)
            for (const int first : {0, 1}) columns.push_back(picked(row(b), row(b + quads / 2), first, 2));
        for (int b = 0; b < quads; ++b) row(b) = columns[size_t(b)];
    }
    for (int block = 0; block < lanes; block += quad) {
        std::array<std::string, quad> v;
        std::copy_n(rows.begin() + block, quad, v.begin());
        transpose_blocks(v, type, lanes);
        std::copy_n(v.begin(), quad, rows.begin() + block);
    }
    return rows;
}

/// The columns of so many rows, both multiples of 4: a vector of a lane each row. `four` gives the four elements of a row from a
/// column on; those of rows that are four apart are laid side by side, so that blocks are all there is to transpose.
std::vector<std::string> Emitter::transposed(const std::string& type, int rows, int columns,
                                             const std::function<std::string(int row, int column)>& four) {
    std::vector<std::string> all;
    for (int column = 0; column < columns; column += quad) {
        std::array<std::string, quad> v;
        for (int r = 0; r < quad; ++r) {
            std::vector<std::string> parts;
            for (int row = r; row < rows; row += quad) parts.push_back(four(row, column));
            for (int size = quad; parts.size() > 1; size *= 2) {
                for (size_t n = 0; 2 * n < parts.size(); ++n)
                    parts[n] = shuffled(type, size, parts[2 * n], parts[2 * n + 1], 2 * size, [](int lane) { return lane; });
                parts.resize(parts.size() / 2);
            }
            v[size_t(r)] = parts[0];
        }
        transpose_blocks(v, type, rows);
        all.insert(all.end(), v.begin(), v.end());
    }
    return all;
}

}  // namespace pumice::cpu
