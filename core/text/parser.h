// The parser's state. parser.cpp parses the kernel around its body, parser_body.cpp the body.
#pragma once
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ir/ir.h"
#include "core/support/error.h"
#include "core/text/lexer.h"

namespace pumice::ir {

class Parser {
public:
    explicit Parser(std::string_view text) : in(text) {}
    Kernel whole();

private:
    using Names = std::vector<std::pair<std::string, Scalar>>;
    struct PendingSize {
        uint32_t memory;
        std::string name;
        int line;
    };
    struct RuleNames {
        size_t function;
        std::string reverse, forward;
        int line;
    };

    // ---- around the body (parser.cpp) ----
    void header();
    std::array<int64_t, 3> extents();
    void parameter();
    ParameterIdentity identity();
    ImageInfo image();
    int parameter_index();
    MemoryId define(Memory m);
    Element element();
    void local(MemoryKind kind);
    void function();
    void resolve_rules();
    std::vector<Scalar> types();

    // ---- instructions (parser_body.cpp) ----
    void block(BlockId id);
    void instruction(BlockId where);
    void append(BlockId where, Inst i, const std::vector<Value>& operands, const std::vector<std::string>& results,
                const std::vector<Scalar>& types, const Names& params);
    BlockId owned_block(const Names& params);
    Value define(const std::string& name, ValueInfo info);
    Value use();
    void uses(std::vector<Value>& operands);
    void for_head(Inst& i, std::vector<Value>& operands, Names& params);
    void carried(std::vector<Value>& operands, Names& params);
    /// The position of the next word in a table of names.
    template <class Table> uint64_t one_of(const Table& names, const char* what) {
        const std::string_view word = in.word(what);
        const auto found = std::find(std::begin(names), std::end(names), word);
        if (found == std::end(names)) in.error(pumice::text("`", word, "` is not ", what));
        return uint64_t(found - std::begin(names));
    }
    void plain(Inst& i, Layout layout, std::vector<Value>& operands);
    MemoryId memory();
    void place(Inst& i, std::vector<Value>& operands);

    Lexer in;
    Kernel k;
    int depth = 0;  ///< nesting of the current block
    std::unordered_map<std::string, Value> values;
    std::map<std::string, MemoryId> memories;
    std::map<std::string, uint64_t> scalars;  ///< numbers of the scalar parameters
    std::map<std::string, uint32_t> functions;
    std::vector<RuleNames> rule_names;  ///< of functions that may be defined later
    std::vector<PendingSize> sizes;     ///< of local memory, given by values of the body
};

}  // namespace pumice::ir
