// The class that prints one kernel as LLVM text.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/linear_index.h"
#include "core/analysis/uniformity.h"
#include "core/analysis/uses.h"
#include "core/ir/ir.h"
#include "cpu/dwarf/dwarf_metadata.h"
#include "cpu/emit/emit_module.h"
#include "cpu/packet/value_rep.h"

namespace pumice::cpu {

/// Writes the function that runs groups. Values that are uniform in a packet are scalars, others vectors of `width`; with width 1
/// all are scalars. Uniform conditions become branches, others masks.
///
/// Values leave a construct through slots, never as SSA names, so that blocks of the text may be in any order.
class LlvmEmitter {
public:
    LlvmEmitter(const ir::Kernel& kernel, const Target& target, const Variant& variant);
    Emitted module();
    bool for_debuggers = false;  ///< with debug metadata

private:
    using Body = std::function<void()>;

    // ---- text (llvm_spelling.cpp) ----
    void line(const std::string& statement) { *out += "  " + statement + line_mark + "\n", ++block_lines; }
    std::string name(const char* stem = "v") { return "%" + std::string(stem) + std::to_string(++names); }
    std::string label(const char* stem) { return stem + std::to_string(++names); }
    std::string let(const std::string& instruction, const char* stem = "v");  ///< emits `%vN = instruction`, returns %vN
    void start(const std::string& label);  ///< begins a block; an open block before it falls through
    void jump(const std::string& label);   ///< ends the block with a branch
    void branch(const std::string& condition, const std::string& yes, const std::string& no);
    std::string alloca_of(const std::string& type, const char* stem);
    void declare(const std::string& declaration) { declarations.insert(declaration); }
    /// Returns the name, as `!3`, of the metadata node with this text. A node with `$` in it, for its own number, is always new.
    std::string metadata(std::string node);

    std::string scalar_type(Scalar t) const;
    std::string vector_type(const std::string& scalar) const;
    std::string type_of(Scalar t, ValueKind kind) const {
        return kind == ValueKind::vector ? vector_type(scalar_type(t)) : scalar_type(t);
    }
    std::string intrinsic_suffix(const std::string& scalar, bool vector) const;
    std::string constant(Scalar t, uint64_t bits) const;
    std::string splat_constant(Scalar t, uint64_t bits, bool vector) const;
    std::string splat(const std::string& type, const std::string& scalar);
    std::string lanes(const std::string& type, int64_t step) const;  ///< <0, step, 2 step, ...>
    std::string extract(const std::string& type, const std::string& vector, const std::string& lane);

    // ---- values ----
    std::optional<int64_t> lane_step(ir::Value v) const;
    ValueKind kind_of(ir::Value v) const;
    bool varying(ir::Value v) const { return width > 1 && uniformity.of(v) == ir::Scope::item; }
    bool diverges(ir::InstId i) const { return width > 1 && uniformity.parting(i) == ir::Scope::item; }
    const ValueRep& rep_of(ir::Value v);
    std::string scalar(ir::Value v);  ///< of a value that is not a vector: its scalar, or lane 0's
    std::string vector(ir::Value v);
    std::string vector_of(const ValueRep& h, Scalar type);
    std::string text_of(ir::Value v, ValueKind kind) { return kind == ValueKind::vector ? vector(v) : scalar(v); }
    void define(ir::Value v, const std::string& text);
    void define_lanes(ir::Value v, const std::string& vector);

    // ---- masks ----
    std::string mask_text(const Mask& m) const;
    Mask first_items(int64_t count) const;
    std::string resized(const std::string& scalar, const std::string& vector, int from, int to);
    Mask narrowed(const Mask& m, const std::string& condition);  ///< m and the condition
    Mask united(const Mask& a, const Mask& b);
    std::string any(const Mask& m);
    std::string first_lane(const Mask& m);           ///< an i32: the first active lane
    std::string first_bit(const std::string& bits);  ///< an i32: the lowest set bit of an integer
    Alloca mask_alloca(const char* stem);
    void write_mask(const Alloca& s, const Mask& m);
    Mask read_mask(const Alloca& s);

    // ---- slots ----
    Alloca alloca_for(ir::Value v, const char* stem);
    void write(const Alloca& s, ir::Value v, const Mask& only) { write_rep(s, rep_of(v), only); }
    void write_rep(const Alloca& s, const ValueRep& now, const Mask& only);
    void read(ir::Value v, const Alloca& s);
    void clear(const Alloca& s);

    // ---- scalar ops (emit_scalar_ops.cpp) ----
    void pure(const ir::Inst& i);
    void plan_products();
    std::string summed(ir::Op op, Scalar type, const std::string& x, ir::Value y);
    bool taken_in(ir::Value v) const;
    std::string operation(ir::Op op, Scalar type, std::vector<std::string> operands, bool vector, bool constant_divisor);
    std::string expanded(std::string_view text, Scalar type, const std::vector<std::string>& operands, bool vector);
    std::string instruction_text(std::string_view text, Scalar type, const std::vector<std::string>& operands, bool vector,
                                 const std::map<std::string, std::string>& locals);
    std::string named_constant(std::string_view what, Scalar type, bool vector) const;
    std::string divide(const std::string& op, Scalar type, const std::vector<std::string>& operands, bool vector,
                       bool constant_divisor);
    std::string counted_zeros(ir::Op op, Scalar type, const std::string& x, bool vector);
    std::string maths(ir::Op op, Scalar type, const std::vector<std::string>& operands, bool vector);
    std::string called(ir::Op op, Scalar type, const std::vector<std::string>& operands, bool vector);
    std::string vector_part(const std::string& scalar, const std::string& vector, int first, int count);
    std::string in_parts(int lanes, const std::string& scalar, const std::vector<std::string>& operands,
                         const std::string& result, const std::function<std::string(const std::vector<std::string>&)>& function);
    std::string host_call(ir::Op op, Scalar type, const std::vector<std::string>& operands, bool vector);
    std::string library_call(ir::Op op, Scalar type, const std::vector<std::string>& operands, bool vector);
    std::string saturated(Scalar from, Scalar to, const std::string& value);
    std::string cast(Scalar from, Scalar to, const std::string& value, bool vector);
    std::string from_bf16(const std::string& bits, bool vector);
    std::string to_bf16(const std::string& value, bool vector);
    std::string convert(const char* instruction, const std::string& from, const std::string& value, const std::string& to);
    void pure_value(const ir::Inst& i);  ///< any pure instruction
    void in_range(ir::Value v);

    // ---- inline vector mathematics (emit_math_functions.cpp) ----
    class Floats;
    bool writes_out(ir::Op op) const;
    std::vector<std::string> written_out(const std::vector<ir::Op>& ops, const std::string& x);
    std::vector<std::string> mathematics(const std::vector<ir::Op>& ops, const std::string& x);
    std::string outlined_mathematics(const std::string& function, const std::string& result, const std::vector<ir::Op>& ops);
    std::string exponential(ir::Op op, const std::string& x);
    std::string logarithm(ir::Op op, const std::string& x);
    std::string near_sine(ir::Op op, const std::string& x);
    ir::Value partner(const ir::Inst& i) const;
    std::vector<std::string> sines(const std::vector<ir::Op>& ops, const std::string& x);
    std::string estimated_rsqrt(const std::string& x);
    std::string estimated_sqrt(const std::string& x);
    std::string estimated_quotient(const std::string& x, const std::string& y);

    // ---- memory (emit_loads_and_stores.cpp) ----
    Address access(const ir::Inst& i);
    Address lane_access(const ir::Inst& i);  ///< private memory
    int index_bits(const ir::Inst& i, ir::Value index) const;
    std::optional<int64_t> index_step(const ir::Inst& i, ir::Value index, size_t axis = 0) const;
    bool lies_in_row(const ir::Inst& i) const;
    ir::Value without_constant(ir::Value v, int64_t& more) const;
    ValueRep offset(const ir::Inst& i, bool wide, bool& contiguous, int64_t& more);
    std::string extent_along(ir::MemoryId m, size_t dimension, bool wide);
    ValueRep integer(ir::Value v, bool wide);
    std::string memory_text(ir::MemoryId m);
    std::string private_text(ir::MemoryId m, uint32_t leaf);
    int alignment_of(const ir::Inst& i) const;
    std::string pointer_to(const ir::Inst& i, const std::string& index_type, const std::string& index, int64_t more = 0);
    bool short_packet() const;
    std::string at_row_begin(ir::Value v, int depth = 0);
    std::string pointer_along(const ir::Inst& i, const std::string& index_type, const std::string& index, int64_t more);
    // Addresses in loops (loop_addresses.cpp).
    struct LoopIndex {
        std::string at_begin;  ///< an i32
        std::string step;      ///< an i64
    };
    std::optional<LoopIndex> index_in_loop(ir::Value v, ir::InstId loop, int64_t* displacement, int depth = 0);
    std::string pointer_in_loop(const ir::Inst& i);
    std::string sum_of(const std::string& a, const std::string& b);
    std::string product_of(const std::string& a, const std::string& b);
    void load(ir::InstId id);
    std::string masked_load(const ir::Inst& i, const Address& a);
    std::string masked_function(const std::string& element, const Address& a, bool stores) const;
    std::string masked_call(const std::string& element, const Address& a, const std::string& mask, const std::string& value = "");
    std::string masked_read(const std::string& element, const Address& a, const std::string& mask);
    void masked_write(const std::string& element, const std::string& value, const Address& a, const std::string& mask);
    void store(ir::InstId id);
    // Accesses that LLVM takes apart (outlined_accesses.cpp).
    bool is_scalarised(const ir::Inst& i, const Address& a) const;
    bool is_outlined(const ir::Inst& i, const Address& a);
    std::string masked_access(const ir::Inst& i, const Address& a, const std::string& element, const std::string& value = "");
    std::string from_memory(Scalar type, const std::string& value, bool vector);
    std::string to_memory(Scalar type, const std::string& value, bool vector);
    std::string memory_type(Scalar type) const { return type == Scalar::boolean ? "i8" : scalar_type(type); }

    // ---- accesses whose lanes lie side by side in most packets (contiguity_check.cpp) ----
    std::optional<int64_t> probable_step(ir::Value v, bool narrow, int depth = 0) const;
    bool checks_contiguity(const ir::Inst& i) const;
    bool permutes_window(const ir::Inst& i) const;
    std::string permuted_by(const std::string& type, const std::string& vector, const std::string& of);
    std::optional<std::pair<std::string, std::string>> ends_of(ir::Value v, int depth = 0);
    struct RowTest {
        std::string holds;  ///< an i1
        std::string first;  ///< the first lane's index
    };
    RowTest test_of_row(ir::Value index);
    std::string apart(const std::string& index, const std::string& first);
    std::string pointer_at(const ir::Inst& i, const std::string& last);
    void checked_store(const ir::Inst& i, const std::string& whole, const std::string& value);
    std::string checked_load(const ir::Inst& i, const std::string& whole);

    // ---- interleaved groups: accesses at constant strides (interleaved_group.cpp) ----
    int64_t stride_of(const ir::Inst& i) const;
    std::optional<int64_t> bytes_between(const ir::Inst& from, const ir::Inst& to) const;
    std::vector<AccessAt> accesses_with(ir::InstId id, int64_t stride) const;
    std::optional<InterleavedGroup> interleaved_group(ir::InstId id) const;
    bool masks_words(int bytes) const;
    std::string concatenated(const std::string& type, int lanes, std::vector<std::string> parts);
    bool in_one_vector(const InterleavedGroup& s) const;
    std::string word_mask(const InterleavedGroup& s, int first, int last, const std::vector<bool>& words);
    std::string shuffled_words(const InterleavedGroup& s, const std::string& a, const std::string& b,
                               const std::function<int(int)>& of);
    std::vector<std::string> deinterleaved(const InterleavedGroup& s, const std::vector<std::string>& v,
                                           const std::vector<bool>& wanted);
    std::vector<std::string> interleaved(const InterleavedGroup& s, const std::vector<std::string>& words);
    std::string words_after(const InterleavedGroup& s, const std::string& address, int words);
    std::string first_word(const InterleavedGroup& s);
    std::vector<std::string> stored_words(const InterleavedGroup& s, const std::vector<std::string>& given);
    std::vector<std::string> words_of_part(const InterleavedGroup& s, std::vector<std::string> words, int part);
    void keep_loaded(const InterleavedGroup& s, const std::vector<std::vector<std::string>>& parts);
    void load_interleaved(const InterleavedGroup& s);
    void store_interleaved(const InterleavedGroup& s, const std::string& address, const std::vector<std::string>& given);
    bool loads_interleaved(ir::InstId id);
    bool stores_interleaved(ir::InstId id);

    // ---- lane rows: adjacent words of rows that lie anywhere (lane_rows.cpp) ----
    bool may_lie_in_lane_rows(const ir::Inst& i) const;
    std::optional<InterleavedGroup> lane_rows(ir::InstId id) const;
    std::vector<std::string> addresses_of_rows(const InterleavedGroup& s, const Address& a);
    void load_lane_rows(ir::InstId id, const InterleavedGroup& s);
    void store_lane_rows(const PendingGroupStore& pending);

    // ---- strided lanes: an access a lane where all lie at one distance (strided_lanes.cpp) ----
    bool may_take_strided_lanes(const ir::Inst& i) const;
    std::string elements_between_lanes(const ir::Inst& i);
    std::string address_of_first_lane(const ir::Inst& i);
    std::vector<std::string> strided_lanes(const ir::Inst& i);
    std::string load_lanes(const ir::Inst& i, const std::vector<std::string>& lanes);
    void store_lanes(const ir::Inst& i, const std::string& value, const std::vector<std::string>& lanes);

    // ---- software prefetch (software_prefetch.cpp) ----
    void emit_prefetch(const std::string& there, int locality = 3);
    void prefetch(ir::InstId id, const Address& a);
    void prefetch_interleaved(const InterleavedGroup& s, const std::string& address);
    bool loads_rows_of_tile(const ir::Inst& i) const;
    void prefetch_next_tile(const ir::Inst& i, const std::string& address);
    void prefetch_ahead(const std::string& address, int64_t bytes);
    void prefetch_iteration(const ir::Inst& i, ir::InstId loop, const Address& a);
    bool is_index(ir::Value v, ir::Op op) const;
    std::optional<std::array<int64_t, 3>> items_between(const ir::Inst& a, const ir::Inst& b) const;
    bool is_leading_reference(const ir::Inst& leading, const ir::Inst& trailing) const;
    std::string address_in_group(const ir::Inst& i, const std::function<bool(ir::Value)>& moved, int further);
    std::string iterations_ahead_in(const ir::Inst& loop);
    std::string address_in_iteration(const ir::Inst& i, const ir::Inst& loop, const std::string& step, int64_t later);
    using Way = std::vector<ir::InstId>;
    std::optional<Way> way_to(const ir::Inst& i, const std::function<bool(ir::Value)>& moved) const;
    Address address_after(const ir::Inst& i, const Way& way, const std::function<void()>& move);
    std::string pointer_after(const ir::Inst& i, const std::function<bool(ir::Value)>& moved, const std::function<void()>& move);

    // ---- streaming stores (streaming_stores.cpp) ----
    bool only_written(ir::MemoryId m) const;
    bool streams(const ir::Inst& i) const;
    std::string integer_address(const std::string& pointer);
    std::string aligned_for_streaming(const ir::Inst& i, const Address& a);
    std::string nontemporal();
    void streaming_store(const ir::Inst& i, const std::string& value, const Address& a);
    void partial_streaming_store(const ir::Inst& i, const std::string& value, const Address& a);
    void stream_lanes(const ir::Inst& i, const std::string& slot, const Address& a, const std::string& lane, int lanes);
    void masked_store(const ir::Inst& i, const std::string& value, const Address& a);

    // ---- row tiles: each item iterates over a row of its own (row_tile.cpp) ----
    bool only_adds(const RowTile& t) const;
    std::string added(const RowTile& t, const std::string& type, const std::string& a, const std::string& b);
    bool is_row_access(ir::InstId i, ir::InstId loop) const;
    std::vector<RowTile> tiles_of(ir::InstId loop) const;
    RowTiling open_tiles(ir::InstId loop);
    void fill_tiles(const ir::Inst& loop, RowTiling& t);
    void enter_tiles(const RowTiling& t);
    std::string address_at(const ir::Inst& i, ir::Value index, const std::string& now);
    void flush_tiles(const RowTiling& t);
    void move_tile(const RowTile& t, const RowTiling& all, bool back);
    std::string row_address(const RowTile& t, const std::string& column, int lane, int bytes);
    void transpose(const RowTile& t, const RowTiling& all, int first);
    void transpose_back(const RowTile& t, const RowTiling& all, int first);

    // ---- transposed loads: several rows' packets load together (transposed_loads.cpp) ----
    bool is_rematerialisable(ir::Value v, int& steps, bool anywhere = false, ir::Value given = {}) const;
    void rematerialise(ir::Value v);
    bool is_transposed_load(const ir::Inst& i) const;
    std::vector<ir::InstId> find_transposed_loads(std::span<const ir::InstId> insts) const;
    bool stays_short() const;
    bool only_transposed_loads(ir::MemoryId m) const;
    void keep_staging_on_stack();
    bool staged(ir::MemoryId m) const { return k[m].kind == ir::MemoryKind::local && memory_offsets[m.id] < 0; }
    void transposed_rows(const Body& body);
    void peeled_transposed_rows(const Body& body);
    std::string clamped(const std::string& x, const std::string& least, const std::string& most);
    bool steps_evenly(const ir::Inst& load) const;
    std::string step_of(ir::Value index, bool wide);
    std::vector<std::string> lane_addresses(const ir::Inst& load, const std::function<std::string(int lane)>& steps);
    void fill_transposed(const ir::Inst& load, const std::string& tile, int64_t row_stride,
                         const std::function<std::string(int lane)>& steps = {});

    // ---- transposes in registers (register_transpose.cpp) ----
    static constexpr int quad = 4;  ///< lanes that a shuffle keeps together: 128 bits
    std::string shuffled(const std::string& type, int lanes, const std::string& a, const std::string& b, int result,
                         const std::function<int(int)>& of);
    void transpose_blocks(std::array<std::string, quad>& v, const std::string& type, int lanes);
    std::vector<std::string> transposed(const std::string& type, std::vector<std::string> rows);
    std::vector<std::string> transposed(const std::string& type, int rows, int columns,
                                        const std::function<std::string(int row, int column)>& four);

    // ---- atomics (emit_atomics.cpp) ----
    void atomic(const ir::Inst& i);
    void side_by_side(const ir::Inst& i, const Address& a);
    void reduced_atomic(const ir::Inst& i, const std::string& pointer);
    std::string exchanged_until_same(const ir::Inst& i, const std::string& pointer, const std::string& operand);
    std::string scalar_atomic(const ir::Inst& i, const std::string& pointer, const std::vector<std::string>& operands);
    struct Lanes {
        std::string type, vector;
    };
    using LaneBody = std::function<void(const std::string& lane, const std::vector<std::string>& own)>;
    void each_lane(const std::vector<Lanes>& vectors, bool branch_free, const LaneBody& emit);

    // ---- adds to all scalars of an element (vector_adds.cpp) ----
    std::vector<const ir::Inst*> vector_add(const ir::Inst& i) const;
    bool adds_vector(const ir::Inst& i);
    std::string byte_offsets(const ir::Inst& i);
    void add_vectors(const ir::Inst& i, std::vector<std::string> addends);

    // ---- sums in the thread's private copies (emit_private_sums.cpp) ----
    void plan_private_sums();
    void plan_deferred_reductions(ir::InstId loop);
    bool of_thread(ir::MemoryId m) const { return k[m].kind != ir::MemoryKind::array || sum_lanes[m.id] > 0; }
    bool adds_together(const ir::Inst& i) const;
    std::optional<int64_t> growth(ir::Value v, ir::InstId loop, int bits) const;
    void lane_private_add(const ir::Inst& i);
    void lane_private_add_vector(const ir::Inst& i, ir::Op op, std::vector<std::string> operands, const std::string& address,
                                 const std::string& at, const std::string& mask);
    void open_deferred_reductions(ir::InstId loop);
    void defer_addend(const ir::Inst& i);
    void next_deferred_iteration(ir::InstId loop);
    int64_t constant_trips(ir::InstId loop) const;
    bool unrolls(ir::InstId loop) const;
    void add_deferred(const ir::Inst& i, const DeferredReduction& deferred);
    std::string transpose_add(const ir::Inst& i, const DeferredReduction& deferred);

    // ---- subgroups and reports (emit_packet_subgroup.cpp) ----
    void subgroup(const ir::Inst& i);
    void combine(const ir::Inst& i, ir::Op op, ir::Subgroup what);
    std::string permuted(const std::string& type, const std::string& value, const std::function<int(int)>& source);
    void report(const ir::Inst& i);

    // ---- group reductions and scans (emit_group_operations.cpp) ----
    std::string operand_or_neutral(ir::Value given, ir::Op op);
    std::string reduced(ir::Op op, Scalar type, std::string value);
    std::string moved_up(ir::Op op, Scalar type, const std::string& x, int by);
    std::string scanned(ir::Op op, Scalar type, std::string value);
    void open_group_operations(std::span<const ir::InstId> insts);
    void group_operation(const ir::Inst& i);
    void close_group_operation(const ir::Inst& i);

    // ---- control flow (emit_masked_control.cpp) ----
    void sequence(std::span<const ir::InstId> insts);
    void cut_long_block(std::span<const ir::InstId> before);
    void instruction(ir::InstId id);
    void instruction_without_line(ir::InstId id);
    void loop(ir::InstId id);
    bool has_full_iterations(ir::InstId id, const LoopState& l) const;
    void full_iterations(ir::InstId id, const LoopState& masked, const Alloca& index);
    void for_header(ir::InstId id, LoopState& l, const Alloca& index);
    void for_latch(const ir::Inst& i, const LoopState& l, const Alloca& index);
    void terminator(ir::InstId id);
    void test(const ir::Inst& i);
    void capture(const LoopState& l, std::span<const ir::Value> values, const Mask& who);
    void next_iteration(const LoopState& l, std::span<const ir::Value> values);
    void capture_carried(const LoopState& l, const Mask& who);
    void note_left(const LoopState& l, const Mask& who);
    bool loses(const ir::Inst& i) const;
    bool loop_masks(ir::InstId loop) const;
    bool masked_jump(ir::InstId i) const;
    bool is_costly(const ir::Inst& i) const;
    std::string runs_on(const ir::Inst& i, Scalar type, const std::string& index, const std::string& to, const std::string& step,
                        bool vector);

    // ---- packet width (choose_width.cpp) ----
    void choose_width();
    bool adds_lane_by_lane() const;
    bool has_long_lanes() const;
    bool waits(std::span<const ir::InstId> insts, int least, int of_an_access, bool floats) const;
    bool loop_waits(int vectors, int spilled) const;
    bool gathers(const ir::Inst& i) const;
    bool lane_by_lane(const ir::Inst& i) const;
    int vectors_alive(int factor = 1) const;

    int register_bytes() const { return 4 * target.width; }  ///< of a vector register
    int vector_registers() const { return target.isa == Isa::avx512 || target.isa == Isa::neon ? 32 : 16; }

    // ---- items or packets (packet_cost.cpp) ----
    ItemTime time_of_arithmetic(const ir::Inst& i) const;
    ItemTime time_of_access(const ir::Inst& i, bool in_row) const;
    double iterations_of(ir::InstId loop) const;
    double time_of_lane_rows(const InterleavedGroup& rows) const;
    ItemTime time_of(ir::BlockId b, const std::set<uint32_t>& in_rows, bool masked) const;
    bool gains_by_scalar_items() const;

    // ---- packets of more items for narrow elements (emit_wide_packets.cpp) ----
    int lane_bytes(const ir::Inst& i) const;
    bool whole_in_wide_packets(const ir::Inst& i) const;
    double vector_instructions(const std::vector<bool>& needed, int factor) const;
    std::vector<bool> needed_by_effects() const;
    int choose_wide() const;
    void wide_packet(const std::string& slot, const std::string& end, const std::string& loop, const std::string& narrow);

    // ---- ifs (emit_branches.cpp) ----
    void if_(ir::InstId id);
    void divergent_if(ir::InstId id);
    void chosen(const ir::Inst& i, const std::string& condition);
    bool cheap(ir::BlockId b) const;
    bool worth_together(const ir::Inst& i) const;
    ir::Value replaced_by(const ir::Inst& store, ir::InstId around) const;
    bool blends_stores(ir::InstId id) const;
    void blended_if(ir::InstId id, const std::string& condition);
    std::string holds_for_all(ir::Value condition);

    // ---- packets of a group's rows (emit_packets.cpp) ----
    std::string rows_left(int axis);
    int64_t packets_a_row() const;
    std::string packet_number();
    void full_packets(const std::string& slot, const std::string& end, const Body& body);
    void packets_of_row(const std::string& end, bool trimmed, const Body& body, const std::string& first = "0");
    const ir::Inst* main_access() const;
    std::string peel_of_row();
    void peeled_row(const Body& body);
    void rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& packet);
    void compute_row_values();
    void plain_rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& packet);
    void counted(const char* stem, const std::string& end, const std::function<void(const std::string&)>& body);
    void repeat(const std::string& loop);
    void packet(const Mask& items, const Body& body);
    void partial_packet(const std::string& end, const Body& body);

    // ---- rows whose items do nothing outside of guards (emit_guarded_rows.cpp) ----
    bool has_effect(const ir::Inst& i) const;
    bool known_in_row(ir::Value v) const;
    bool add_guards(ir::Value condition, bool holds, std::vector<RowGuard>& all) const;
    void add_guards_of(std::span<const ir::InstId> insts, std::vector<RowGuard>& all) const;
    std::vector<RowGuard> find_row_guards() const;
    PassingItems passing_items(const std::string& begin, const std::string& end);
    void guarded_row(const std::string& end, const Body& body);
    bool passed(ir::Value v);

    // ---- rows that run together (emit_jammed_rows.cpp) ----
    void plan_jammed_rows();
    std::string jammed_function(LlvmEmitter& plain);
    void jammed_rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& body);

    // ---- groups, the module (emit_entry_points.cpp) ----
    void lay_out_memories();
    std::string frame_load(const std::string& key, const std::string& type, const std::string& base, int64_t offset);
    std::string argument_text(int parameter, Scalar type);
    std::string extent_text(ir::MemoryId m, int axis);
    std::string axis_text(const char* field, int axis);
    std::string column_text(int which);
    void function();
    void declare_variables();
    void keep_area();
    void first_group();
    void next_group();
    void place_group();
    void group();
    void group_without_barriers();
    std::string parameters(bool call);
    std::string attributes() const;

    // ---- wrapped and clamped indices (boundary_index.cpp) ----
    std::optional<BoundaryIndex> boundary_index_of(const ir::Inst& i, std::span<const BoundaryIndex> before) const;
    std::vector<BoundaryIndex> find_boundary_indices() const;
    const ir::Inst* counted_loop_of(ir::Value v) const;
    ir::Value counter_of(ir::Value v) const;
    std::string is_interior(const BoundaryIndex& b);
    std::string is_interior_now(const BoundaryIndex& b);
    std::string are_interior();
    void interior_version(const Body& body);
    void interior_and_boundary_versions(const Body& body);
    bool interior_value(const ir::Inst& i);

    // ---- the plan of regions between barriers (plan_barrier_regions.cpp) ----
    void plan_regions();
    void plan_block(ir::BlockId b, int& region);
    void plan_uses(std::span<const ir::Value> v, int region);
    void plan_columns(ir::InstId construct);
    void share_columns();
    int64_t spill_offset(ir::Value v);
    bool recomputable(ir::Value v) const;

    // ---- barrier regions (emit_barrier_regions.cpp) ----
    void group_with_barriers();
    void store_alive();
    void packets_of_group(const Body& body, const std::string& row = "");
    void region_block(ir::BlockId b);
    void region(std::span<const ir::InstId> insts, ir::InstId end);
    std::vector<ir::InstId> executed(std::span<const ir::InstId> insts) const;
    std::string group_inside();
    void full_and_partial_groups(const Body& whole);
    void restore(ir::Value v);
    void restore_operand(ir::Value v, std::span<const ir::InstId> insts);
    void save_if_live_out(ir::Value v);
    void save_value(ir::Value v, const ValueRep& h, int64_t offset);
    void save_live_outs(ir::InstId end, std::span<const ir::Value> given, bool in_packet);

    // ---- ifs and loops that contain barriers (emit_region_constructs.cpp) ----
    std::string outer_scalar(ir::Value v);
    void region_if(ir::InstId id);
    void region_loop(ir::InstId id);
    void region_latch(const ir::Inst& i, const BarrierRegionLoop& l, const Alloca& index, const std::string& step);
    void outer_terminator(ir::InstId id);

    // ---- regions in which only the first items are active (emit_iteration_space_narrowing.cpp) ----
    ir::Value bound_of(std::span<const ir::InstId> insts) const;
    ir::Value bound_in(ir::Value condition) const;
    std::string bounded_row(ir::Value bound);

    const ir::Kernel& k;
    const Target& target;
    const Variant& variant;
    int width;     ///< items of the packet that is being emitted
    int wide = 1;  ///< wide packets have `wide` times as many
    ir::Uniformity uniformity;
    ir::LinearIndex affine;
    const ir::Uses uses;
    /// Rows that run together: their kernel (cpu/plan/unroll_and_jam.h), its emitter and its number of rows; null if each runs
    /// alone.
    std::unique_ptr<const ir::Kernel> jammed_kernel;
    std::unique_ptr<LlvmEmitter> jam;
    int64_t rows_together = 1;
    std::vector<bool> products;  ///< products whose only uses are several sums, which recompute them
    std::map<const ir::Inst*, DeferredReduction> deferred_reductions;
    /// Accesses that go to a tile: a ptr to the iteration's vector, with its alignment if that is lower; "" for loads of memory
    /// that is only added to.
    std::map<const ir::Inst*, std::string> in_tiles;
    const ir::Inst* main = nullptr;  ///< determines the alignment of a row's packets; null if packets begin with the range
    std::vector<int> sum_lanes;      ///< for each memory: 0, or the places of an element in the thread's private copy

    std::string* out = nullptr;
    std::string module_text;
    std::string allocas, entry;  ///< the start of the function: both dominate everything
    std::set<std::string> declarations, functions;
    std::vector<std::string> nodes;        ///< of metadata
    std::unique_ptr<DwarfMetadata> dwarf;  ///< null unless for_debuggers
    std::string line_mark;                 ///< the debug location of the instruction that is being emitted, as `, !dbg !3`
    std::string area_slot;                 ///< with barriers, for debuggers: a slot that holds packet_area
    int names = 0;
    int block_lines = 0;                        ///< lines of the current block
    int scalarised_lanes = 0;                   ///< of the accesses so far that LLVM takes apart
    int inlined_functions = 0;                  ///< mathematical functions so far
    std::set<std::string> outlined_functions;   ///< names of mathematical functions that the module defines
    std::map<std::string, std::string> unread;  ///< by type: stack slots for the never-taken branches of cut_long_block()
    bool open = true;                           ///< the current LLVM block has no terminator yet
    bool lost = false;                          ///< items may have become inactive since the block began
    Mask running;
    std::vector<ir::InstId> transposed_loads;              ///< transposed loads of the current rows
    std::map<const ir::Inst*, std::string> loaded_before;  ///< loads emitted early in this packet, with their vectors
    std::vector<PendingGroupStore> pending_stores;
    std::vector<PendingVectorAdd> pending_adds;
    std::vector<BoundaryIndex> boundaries;  ///< of a kernel without barriers
    /// Of boundary indices by rem: an i32, the first lane's remainder in this packet.
    std::map<uint32_t, std::string> remainders;
    std::map<uint32_t, ValueRep> row_values;        ///< what all packets of the row share, computed before them
    std::vector<RowGuard> row_guards;               ///< of the row that is being emitted
    bool all_pass = false;                          ///< all items of the packet pass them
    std::map<uint32_t, ir::Value> interior_values;  ///< in an interior packet: boundary indices with their values in the interior
    std::vector<ValueRep> values;
    std::vector<bool> has_value;
    std::vector<LoopState> loops;
    std::vector<Arm> arms;
    std::string return_label;  ///< of the packet, or of the group outside of packets
    std::array<std::string, 3> group_at, origin,
        local_at;  ///< i32: the group's index; its first global index; the packet's first item
    std::map<std::string, std::string> frame_texts;
    std::array<std::string, 3> group_slots;  ///< slots that count group_at
    bool all_in_range = false;
    int64_t scratch_bytes = 0, read_past_end = 0;
    std::vector<int64_t> memory_offsets;  ///< local memory: offset in the scratch memory
    std::vector<std::vector<std::string>> private_names;

    // barriers
    bool has_barriers = false, packet_returns = false, in_packet = false, restoring = false;
    bool unrolled = false;  ///< the current loops over packets are unrolled
    std::vector<bool> around_barrier;
    std::vector<int> region_of;  ///< of values; -1: outside of packets
    std::vector<int> inst_region;
    std::map<const ir::Inst*, std::string> accumulators;  ///< of group operations: slots
    std::vector<ContextSave> context_saves;
    std::vector<std::vector<int64_t>> private_offsets;
    int64_t packet_bytes = 0, alive_offset = -1;
    std::string packet_area;  ///< ptr: the packet's part of the scratch memory
    std::vector<BarrierRegionLoop> region_loops;
};

}  // namespace pumice::cpu
