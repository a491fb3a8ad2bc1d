// Interval sets: a set of bytes of a buffer as disjoint, ascending, half-open intervals.
//
// Activity analysis of programs marks bytes that vary, are constant, or are needed by an adjoint (program_buffers.h).
//
//     add [0, 8), add [8, 12), remove [2, 4)    =>    [0, 2) [4, 12)
//
// Cost: linear in the number of intervals, of which there are few.
// Textbook name: interval set (segment set) with coalescing of neighbours.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace pumice::derive {

/// A set of integers as disjoint, ascending intervals; the end of an interval does not belong to it.
class ByteIntervals {
public:
    struct Interval {
        int64_t from, to;
    };

    void add(int64_t from, int64_t to) {
        if (from >= to) return;
        remove(from, to);
        list.insert(std::ranges::find_if(list, [&](const Interval& i) { return i.from >= to; }), {from, to});
        for (size_t i = 1; i < list.size();)  // adjacent intervals are merged
            if (list[i - 1].to == list[i].from)
                list[i - 1].to = list[i].to, list.erase(list.begin() + int64_t(i));
            else
                ++i;
    }
    void remove(int64_t from, int64_t to) {
        std::vector<Interval> rest;
        for (const Interval& i : list) {
            if (i.from < std::min(i.to, from)) rest.push_back({i.from, std::min(i.to, from)});
            if (std::max(i.from, to) < i.to) rest.push_back({std::max(i.from, to), i.to});
        }
        list = std::move(rest);
    }
    bool meets(int64_t from, int64_t to) const {
        return std::ranges::any_of(list, [&](const Interval& i) { return i.from < to && from < i.to; });
    }
    void clear() { list.clear(); }
    const std::vector<Interval>& all() const { return list; }

private:
    std::vector<Interval> list;
};

}  // namespace pumice::derive
