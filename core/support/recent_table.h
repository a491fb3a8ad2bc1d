// A cache of the values that were used last: the results of computations that come again with the same operands.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace pumice {

/// Adds a word to a hash. Not for keys of files (hash.h).
inline uint64_t hash_with(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/// A set-associative cache of at most 1,024 values: a value is in the set that its hash selects. The number of sets doubles while
/// a set is full, so that a few values take little memory. A user that asks takes_more() before it adds, adds one in 16 of the
/// values that have no room; each takes the place of another one of its set. With more values than the cache holds, most of those
/// that it has stay.
template <class T> class RecentTable {
public:
    /// The value of this hash for which `is_it(value)` is true; null if there is none. Valid until the next add().
    template <class F> T* find(uint64_t hash, F&& is_it) {
        if (sets.empty()) return nullptr;
        for (Entry& entry : set_of(hash))
            if (entry.hash == hash && is_it(entry.value)) return &entry.value;
        return nullptr;
    }
    /// Removes and returns a value of this hash for which `is_it(value)` is true, if there is one.
    template <class F> std::optional<T> take(uint64_t hash, F&& is_it) {
        if (sets.empty()) return std::nullopt;
        std::vector<Entry>& set = set_of(hash);
        for (Entry& entry : set) {
            if (entry.hash != hash || !is_it(entry.value)) continue;
            std::optional<T> taken(std::move(entry.value));
            if (&entry != &set.back()) entry = std::move(set.back());
            set.pop_back();
            return taken;
        }
        return std::nullopt;
    }
    /// To be called for a value that was not found: true if it is worth an add().
    bool takes_more(uint64_t hash) { return has_room(hash) || ++misses % misses_a_replacement == 0; }
    /// Adds a value; returns the one whose place it takes, if any.
    std::optional<T> add(uint64_t hash, T value) {
        if (sets.empty()) sets.resize(1);
        while (set_of(hash).size() == ways && sets.size() < most_sets) grow();
        std::vector<Entry>& set = set_of(hash);
        if (set.size() < ways) {
            set.push_back({hash, std::move(value)});
            return std::nullopt;
        }
        Entry& entry = set[++replacements % ways];
        entry.hash = hash;
        return std::exchange(entry.value, std::move(value));
    }

private:
    static constexpr size_t ways = 8, most_sets = 128, misses_a_replacement = 16;
    struct Entry {
        uint64_t hash;
        T value;
    };

    std::vector<Entry>& set_of(uint64_t hash) { return sets[hash & (sets.size() - 1)]; }
    bool has_room(uint64_t hash) { return sets.size() < most_sets || set_of(hash).size() < ways; }
    void grow() {
        std::vector<std::vector<Entry>> before(2 * sets.size());
        before.swap(sets);
        for (std::vector<Entry>& set : before)
            for (Entry& entry : set) set_of(entry.hash).push_back(std::move(entry));
    }

    std::vector<std::vector<Entry>> sets;  // as many as a power of two
    size_t misses = 0, replacements = 0;   // of values without room
};

}  // namespace pumice
