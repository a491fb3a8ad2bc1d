// Shuffles of vectors: parts, concatenations, permutations; and the register transpose, of matrices of elements of 4 or 8 bytes.
//
// Why: row tiles and transposed loads read rows as contiguous vectors and need columns.
//
//     r0 = a0 a1 a2 a3     unpack pairs:  a0 b0 a1 b1  a2 b2 a3 b3     combine:   col 0 = a0 b0 c0 d0
//     r1 = b0 b1 b2 b3                    c0 d0 c1 d1  c2 d2 c3 d3                col 1 = a1 b1 c1 d1
//     r2 = c0 c1 c2 c3                                                            col 2 = a2 b2 c2 d2
//     r3 = d0 d1 d2 d3
//
// Each 4 x 4 block is transposed by 8 shuffles. With 4-byte elements they stay within lanes of 128 bits and are cheap; quads are
// moved across these lanes before that. Cost for n x n: n log2(n) shuffles. Limits: dimensions are multiples of 4;
// transposed(rows) takes 4, 8 or 16. Textbook: recursive block transpose (Eklundh 1972); _MM_TRANSPOSE4_PS.
#include <algorithm>

#include "core/support/error.h"
#include "cpu/packet/shuffles.h"

namespace pumice::cpu {

/// A shuffle with `result` lanes: lane l is lane of(l) of the concatenation of `a` and `b`, which have `lanes` lanes each.
std::string Shuffles::shuffled(const std::string& type, int lanes, const std::string& a, const std::string& b, int result,
                               const std::function<int(int)>& of) {
    std::string indices;
    for (int lane = 0; lane < result; ++lane) indices += text(lane ? ", " : "", "i32 ", of(lane));
    const std::string v = text("<", lanes, " x ", type, ">");
    return out.let(text("shufflevector ", v, " ", a, ", ", v, " ", b, ", <", result, " x i32> <", indices, ">"));
}

/// Transposes the 4 x 4 matrices that four vectors hold in their 128-bit blocks.
void Shuffles::transpose_blocks(std::array<std::string, quad>& v, const std::string& type, int lanes) {
    // Interleave two vectors within each quad, element by element (singles) or pair by pair (pairs).
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

/// The columns of a square matrix of 4, 8 or 16 rows, in order. First, rows r, r + 4, r + 8 and r + 12 exchange quads so that
/// each 4 x 4 block stands where it is in the transposed matrix (8 rows: one step; 16 rows: two). Then each block is transposed.
std::vector<std::string> Shuffles::transposed(const std::string& type, std::vector<std::string> rows) {
    const int lanes = int(rows.size()), quads = lanes / quad;
    // A vector whose first half is every `step`-th quad of `a` from `first` on, and whose second half is the same of `b`.
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

/// The columns of a matrix of `rows` x `columns`, both multiples of 4: one vector for each column, with a lane for each row.
/// `four` loads four elements of a row. Loads of rows that are 4 apart are concatenated, so that only 4 x 4 blocks remain to be
/// transposed.
std::vector<std::string> Shuffles::transposed(const std::string& type, int rows, int columns,
                                              const std::function<std::string(int row, int column)>& four) {
    std::vector<std::string> all;
    for (int column = 0; column < columns; column += quad) {
        std::array<std::string, quad> v;
        for (int r = 0; r < quad; ++r) {
            std::vector<std::string> parts;
            for (int row = r; row < rows; row += quad) parts.push_back(four(row, column));
            v[size_t(r)] = concatenated(type, quad, std::move(parts));
        }
        transpose_blocks(v, type, rows);
        all.insert(all.end(), v.begin(), v.end());
    }
    return all;
}

/// Concatenates vectors; pads with poison to a power of two.
std::string Shuffles::concatenated(const std::string& type, int lanes, std::vector<std::string> parts) {
    while (parts.size() > 1) {
        if (parts.size() % 2) parts.push_back("poison");
        for (size_t n = 0; 2 * n < parts.size(); ++n)
            parts[n] = shuffled(type, lanes, parts[2 * n], parts[2 * n + 1], 2 * lanes, [](int lane) { return lane; });
        parts.resize(parts.size() / 2), lanes *= 2;
    }
    return parts[0];
}

/// Lanes `first` to `first + count - 1` of a packet's vector.
std::string Shuffles::vector_part(const std::string& scalar, const std::string& vector, int first, int count) {
    const std::string type = out.vector_type(scalar);
    std::string indices;
    for (int l = first; l < first + count; ++l) indices += text(l > first ? ", " : "", "i32 ", l);
    return out.let(text("shufflevector ", type, " ", vector, ", ", type, " poison, <", count, " x i32> <", indices, ">"));
}

/// A vector resized from `from` to `to` lanes: truncated, or padded with zeros.
std::string Shuffles::resized(const std::string& scalar, const std::string& vector, int from, int to) {
    std::string indices;
    for (int lane = 0; lane < to; ++lane) indices += text(lane ? ", " : "", "i32 ", std::min(lane, from));
    const std::string type = text("<", from, " x ", scalar, ">");
    return out.let(text("shufflevector ", type, " ", vector, ", ", type, " zeroinitializer, <", to, " x i32> <", indices, ">"));
}

/// A constant permutation: lane l of the result is lane source(l).
std::string Shuffles::permuted(const std::string& type, const std::string& value, const std::function<int(int)>& source) {
    if (width == 1) return value;
    std::string indices;
    for (int l = 0; l < width; ++l) indices += text(l ? ", " : "", "i32 ", source(l));
    return out.let(text("shufflevector ", out.vector_type(type), " ", value, ", ", out.vector_type(type), " poison, <", width,
                        " x i32> <", indices, ">"));
}

}  // namespace pumice::cpu
