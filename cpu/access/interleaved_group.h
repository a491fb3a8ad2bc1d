// Emits groups of accesses at one constant stride, by whole vectors.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

/// An access, and its distance in bytes from another one.
struct AccessAt {
    const ir::Inst* inst;
    int64_t at;
};

/// An interleaved group: accesses at one constant stride, moved together by whole vectors (interleaved_group.cpp). Or, `apart`,
/// accesses to adjacent words of the lanes' rows, which lie anywhere (lane_rows.cpp).
struct InterleavedGroup {
    std::vector<std::pair<const ir::Inst*, int>> accesses;  ///< in order; with the word of each lane's element that they access
    int64_t first = 0;                                      ///< offset in bytes from the first access to the first word
    int stride = 0;                                         ///< words from lane to lane; `apart`: words of a row
    int bytes = 0;                                          ///< size of a word
    int lanes = 0;                                          ///< of the whole vectors
    bool apart = false;
};

/// Stores of an interleaved group, delayed until the last of them.
struct PendingGroupStore {
    InterleavedGroup all;
    std::string address;
    std::vector<std::string> rows;  ///< addresses of the lanes' rows
    std::vector<std::string> given;
};

class InterleavedGroups : EmitterPart {
public:
    explicit InterleavedGroups(const EmitterPart& all) : EmitterPart(all) {}

    /// The group that a load or store begins in a packet, if it does.
    std::optional<InterleavedGroup> interleaved_group(ir::InstId id) const;
    int64_t stride_of(const ir::Inst& i) const;
    std::vector<AccessAt> accesses_with(ir::InstId id, int64_t stride) const;
    std::vector<std::string> interleaved(const InterleavedGroup& s, const std::vector<std::string>& words);
    std::string words_after(const InterleavedGroup& s, const std::string& address, int words);
    std::vector<std::string> stored_words(const InterleavedGroup& s, const std::vector<std::string>& given);
    std::vector<std::string> words_of_part(const InterleavedGroup& s, std::vector<std::string> words, int part);
    void keep_loaded(const InterleavedGroup& s, const std::vector<std::vector<std::string>>& parts);
    bool loads_interleaved(ir::InstId id);
    bool stores_interleaved(ir::InstId id);

    std::map<const ir::Inst*, std::string> loaded_before;  ///< loads emitted early in this packet, with their vectors
    std::vector<PendingGroupStore> pending_stores;

private:
    std::optional<int64_t> bytes_between(const ir::Inst& from, const ir::Inst& to) const;
    bool masks_words(int bytes) const;
    bool is_pending(const ir::Inst* store) const;
    bool in_one_vector(const InterleavedGroup& s) const;
    std::string word_mask(const InterleavedGroup& s, int first, int last, const std::vector<bool>& words);
    std::string shuffled_words(const InterleavedGroup& s, const std::string& a, const std::string& b,
                               const std::function<int(int)>& of);
    std::vector<std::string> deinterleaved(const InterleavedGroup& s, const std::vector<std::string>& v,
                                           const std::vector<bool>& wanted);
    std::string first_word(const InterleavedGroup& s);
    void load_interleaved(const InterleavedGroup& s);
    void store_interleaved(const InterleavedGroup& s, const std::string& address, const std::vector<std::string>& given);
};

}  // namespace pumice::cpu
