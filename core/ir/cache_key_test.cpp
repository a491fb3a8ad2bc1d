#include "core/ir/cache_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace pumice {

using namespace internal;
namespace {

std::string key_of(const ir::Kernel& kernel) {
    CacheKey key;
    key.add(kernel);
    return key.hash();
}

/// A kernel that has one of everything.
ir::Kernel sample() {
    ir::Kernel k;
    k.name = "k";
    k.files = {"a.cpp"};
    k.strings = {"i={}"};
    k.rank = 2;
    k.params.resize(2);
    k.memories.resize(1);
    k.memories[0].name = "arg1";
    k.memories[0].element = {{{"x", Scalar::f32, 0}, {"y", Scalar::i32, 4}}, 8};
    k.memories[0].extents = {4, 5};
    k.insts.resize(2);
    k.pool = {ir::Value{0}};
    k.values.resize(2);
    k.blocks.resize(2);
    k.blocks[0].params = {ir::Value{1}};
    k.blocks[0].insts = {ir::InstId{0}, ir::InstId{1}};
    k.functions.resize(1);
    k.functions[0].name = "f";
    k.functions[0].results = {Scalar::f32};
    return k;
}

using Change = std::function<void(ir::Kernel&)>;

TEST(CacheKey, ChangesWithEveryFieldThatCodeMayDependOn) {
    const Change changes[] = {
        [](auto& k) { k.name = "l"; },
        [](auto& k) { k.strings[0] = "j={}"; },
        [](auto& k) { k.strings.push_back(""); },
        [](auto& k) { k.whole_groups = true; },
        [](auto& k) { k.math = ir::Math::strict; },
        [](auto& k) { k.math = ir::Math::fast; },
        [](auto& k) { k.rank = 3; },
        [](auto& k) { k.folded = 2; },
        [](auto& k) { k.group = {64, 1, 1}; },
        [](auto& k) { k.group = {1, 64, 1}; },
        [](auto& k) { k.range = {64, 1, 1}; },
        [](auto& k) { k.range = {1024, 1, 1}; },
        [](auto& k) { k.params.pop_back(); },
        [](auto& k) { k.params[1].is_array = true; },
        [](auto& k) { k.params[1].type = Scalar::i32; },
        [](auto& k) { k.params[1].memory = {0}; },
        [](auto& k) { k.params[1].origin = ir::ParameterOrigin::range_extent; },
        [](auto& k) { k.params[1].dimension = 1; },
        [](auto& k) { k.memories[0].kind = ir::MemoryKind::local; },
        [](auto& k) { k.memories[0].name = "arg2"; },
        [](auto& k) { k.memories[0].rank = 2; },
        [](auto& k) { k.memories[0].access = ir::Access::in; },
        [](auto& k) { k.memories[0].argument = 1; },
        [](auto& k) { k.memories[0].extents[0] = 5; },
        [](auto& k) { k.memories[0].extents.push_back(1); },
        [](auto& k) { k.memories[0].size = {1}; },
        [](auto& k) { k.memories[0].element.size = 12; },
        [](auto& k) { k.memories[0].element.leaves[1].path = "z"; },
        [](auto& k) { k.memories[0].element.leaves[1].type = Scalar::u32; },
        [](auto& k) { k.memories[0].element.leaves[1].offset = 0; },
        [](auto& k) { k.insts[1].op = ir::Op::add; },
        [](auto& k) { k.insts[1].type = Scalar::f64; },
        [](auto& k) { k.insts[1].result_count = 1; },
        [](auto& k) { k.insts[1].first_operand = 1; },
        [](auto& k) { k.insts[1].operand_count = 1; },
        [](auto& k) { k.insts[1].first_result = 1; },
        [](auto& k) { k.insts[1].blocks[0] = {1}; },
        [](auto& k) { k.insts[1].blocks[1] = {1}; },
        [](auto& k) { k.insts[1].memory = {0}; },
        [](auto& k) { k.insts[1].leaf = 1; },
        [](auto& k) { k.insts[1].immediate = 1; },
        [](auto& k) { k.pool[0] = {1}; },
        [](auto& k) { k.values[1].type = Scalar::u8; },
        [](auto& k) { k.values[1].inst = {1}; },
        [](auto& k) { k.values[1].block = {1}; },
        [](auto& k) { k.values[1].index = 1; },
        [](auto& k) { k.blocks[0].params.clear(); },
        [](auto& k) { k.blocks[0].insts.pop_back(); },
        [](auto& k) { std::swap(k.blocks[0], k.blocks[1]); },
        [](auto& k) { k.functions[0].name = "g"; },
        [](auto& k) { k.functions[0].body = {1}; },
        [](auto& k) { k.functions[0].results[0] = Scalar::f64; },
        [](auto& k) { k.functions[0].reverse = 0; },
        [](auto& k) { k.functions[0].forward = 0; },
        [](auto& k) { k.functions[0].inactive = true; },
    };
    std::set<std::string> keys{key_of(sample())};
    int number = 0;
    for (const Change& change : changes) {
        ir::Kernel k = sample();
        change(k);
        EXPECT_TRUE(keys.insert(key_of(k)).second) << "change " << number << " gives a key that was there";
        ++number;
    }
}

TEST(CacheKey, StaysWhereOnlySourceLinesAndLabelsDiffer) {
    const Change changes[] = {
        [](auto& k) { k.files = {"b.cpp"}; },
        [](auto& k) { k.loc = {0, 7}; },
        [](auto& k) { k.insts[0].loc = {0, 7}; },
        [](auto& k) { k.memories[0].loc = {0, 7}; },
        [](auto& k) { k.functions[0].loc = {0, 7}; },
        [](auto& k) { k.params[0].label = "argument 1 (x)"; },
        [](auto& k) { k.params[0].identity.name = "x"; },
        [](auto& k) { k.params[1].identity = {"x", 1, "position"}; },
        [](auto& k) { k.params[1].identity.shadow_of = 0; },
        [](auto& k) { k.params[1].identity.extra = true; },
    };
    for (const Change& change : changes) {
        ir::Kernel k = sample();
        change(k);
        EXPECT_EQ(key_of(k), key_of(sample()));
    }
}

}  // namespace
}  // namespace pumice
