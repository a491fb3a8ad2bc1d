// The parts of the family `irregular`.
#pragma once
#include "bench/corpus/corpus.h"

namespace bench::corpus {

/// Rows of a sparse matrix, or a graph's nodes with their edges: the entries of row i are starts[i] to starts[i + 1].
struct Rows {
    std::vector<int> starts{0}, columns;
    int count() const { return int(starts.size()) - 1; }
    /// Row i has length(i) entries in random columns.
    template <class Length> static Rows random(int n, uint32_t seed, const Length& length) {
        Rows rows;
        for (int i = 0; i < n; ++i) rows.starts.push_back(rows.starts.back() + length(i));
        rows.columns = uniform<int>(size_t(rows.starts.back()), seed, 0, n);
        return rows;
    }
};

std::vector<Kernel> graphs();    ///< graphs and sparse matrices
std::vector<Kernel> gathers();   ///< meshes, cell lists, look-ups
std::vector<Kernel> searches();  ///< clusters, counts by key, searches, distances of strings

}  // namespace bench::corpus
