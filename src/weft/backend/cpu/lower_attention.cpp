// KV rows and attention over them.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "weft/backend/cpu/attention.h"
#include "weft/backend/cpu/heads_operand.h"
#include "weft/backend/cpu/kv_cache.h"
#include "weft/backend/cpu/lowering.h"
#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ops/attention_layout.h"

namespace weft::cpu {
namespace {

using lir::Frame;
using lir::Operand;
using lir::SizeId;
using lir::SlotId;

// --- KV rows ------------------------------------------------------------------------------------------------------

// Keys and values as attention reads them.
class HeadsLayout final : public lir::SlotLayout {
 public:
  explicit HeadsLayout(const KvLayout& layout)
      : SlotLayout(fmt::format("{} heads", to_string(layout.dtype)),
                   {{block_keys, static_cast<std::uint64_t>(block_bytes(layout)), false}}),
        heads(layout) {}
  void clear(std::byte* block, std::int64_t first) const override { clear_rows(heads, block, first); }
  const KvLayout heads;
};

MutableKvBlocks blocks_of(const lir::SlotStorage& storage) {
  return {storage.planes[0].data, storage.planes[0].stride};
}

// Rows one after the other, as the graph sees them.
class RowsLayout final : public lir::SlotLayout {
 public:
  RowsLayout(DType dtype, std::span<const std::int64_t> widths)
      : SlotLayout(fmt::format("{} rows", to_string(dtype)), planes_of(dtype, widths)) {}

 private:
  static std::vector<lir::SlotPlane> planes_of(DType dtype, std::span<const std::int64_t> widths) {
    std::vector<lir::SlotPlane> planes;
    for (const std::int64_t width : widths) planes.push_back({1, byte_size(dtype, std::array{width}), true});
    return planes;
  }
};

// Asks the system for the pages of a block in one call, where rows alone would fault them in one by one.
void populate(std::byte* bytes, std::int64_t size) {
#ifdef MADV_POPULATE_WRITE
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(bytes) + static_cast<std::uintptr_t>(size)) / page * page;
  // Older systems refuse; then pages come one by one.
  if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#endif
}

class AppendHeadsStep final : public lir::Step {
 public:
  AppendHeadsStep(Operand k, Operand v, SlotId slot, std::shared_ptr<const HeadsLayout> layout, CpuLevel level)
      : k_(std::move(k)), v_(std::move(v)), slot_(slot), layout_(std::move(layout)), level_(level) {}

  void run(const Frame& frame) const override {
    const lir::SlotStorage& storage = frame.slots[slot_];
    const KvLayout& layout = layout_->heads;
    const MutableKvBlocks kv = blocks_of(storage);
    const std::int64_t rows = frame.dim(k_, 0);
    const auto blocks_of_rows = [](std::int64_t count) { return (count + block_keys - 1) / block_keys; };
    const std::int64_t fresh = blocks_of_rows(storage.length);
    frame.pool->parallel_for(blocks_of_rows(storage.length + rows) - fresh, 1,
                             [&](std::int64_t first, std::int64_t last) {
                               for (std::int64_t block = fresh + first; block < fresh + last; ++block)
                                 populate(kv.data + block * kv.stride, block_bytes(layout));
                             });
    const HeadRows k{frame.data(k_), layout.kv_heads * layout.head_dim, layout.head_dim};
    const HeadRows v{frame.data(v_), layout.kv_heads * layout.v_head_dim, layout.v_head_dim};
    // A thread takes whole heads: two rows of a head may share a panel.
    frame.pool->parallel_for(layout.kv_heads, 1, [&](std::int64_t first, std::int64_t last) {
      append_heads(layout, kv, storage.length, rows, k, v, first, last, level_);
    });
  }
  lir::Cost cost(const std::int64_t* sizes) const override {
    const double rows = static_cast<double>(sizes[k_.dims[0]]);
    return {.state_bytes = rows * static_cast<double>(layout_->row_bytes()),
            .activation_bytes = 4 * (count_of(k_, sizes) + count_of(v_, sizes))};
  }

 private:
  Operand k_, v_;
  SlotId slot_;
  std::shared_ptr<const HeadsLayout> layout_;
  CpuLevel level_;
};

class AppendRowsStep final : public lir::Step {
 public:
  AppendRowsStep(std::vector<Operand> rows, SlotId slot) : rows_(std::move(rows)), slot_(slot) {}

  void run(const Frame& frame) const override {
    const lir::SlotStorage& storage = frame.slots[slot_];
    for (std::size_t plane = 0; plane < rows_.size(); ++plane) {
      const lir::PlaneStorage& to = storage.planes[plane];
      const std::int64_t bytes = frame.dim(rows_[plane], 0) * to.stride;
      if (bytes > 0)
        std::memcpy(to.data + storage.length * to.stride, frame.data<std::byte>(rows_[plane]),
                    static_cast<std::size_t>(bytes));
    }
  }

 private:
  std::vector<Operand> rows_;
  SlotId slot_;
};

// --- attention ----------------------------------------------------------------------------------------------------

class AttentionStep final : public lir::Step {
 public:
  struct Plan {
    HeadsOperand q, y, k, v;  // k and v: of plain tensors
    SlotId slot = lir::none;  // else of a slot
    std::shared_ptr<const HeadsLayout> slot_layout;
    SizeId keys = lir::none, rows = lir::none, batch = lir::none;
    Operand mask, bias, sink;
    std::int64_t heads = 0, kv_heads = 0, head_dim = 0, v_head_dim = 0;
    float scale = 1, softcap = 0;
    bool causal = false, strict = false;
    std::int64_t window = 0;
    CpuLevel level = CpuLevel::portable;
  };
  explicit AttentionStep(Plan plan) : plan_(std::move(plan)) {}

  void run(const Frame& frame) const override {
    const std::int64_t rows = frame.size(plan_.rows), keys = frame.size(plan_.keys), batches = frame.size(plan_.batch);
    if (plan_.strict && plan_.causal && keys < rows)
      fail(ErrorKind::shape_mismatch, "ShapeMismatch", "",
           "causal attention of {} queries over {} keys: the first queries see nothing", rows, keys);
    AttentionArgs args;
    args.heads = plan_.heads;
    args.rows = rows;
    args.keys = keys;
    args.scale = plan_.scale;
    args.causal = plan_.causal;
    args.window_keys = plan_.window;
    args.softcap = plan_.softcap;
    args.level = plan_.level;
    if (plan_.sink.defined()) args.sink = frame.data(plan_.sink);
    const int threads = frame.pool->size();
    std::byte* scratch = frame.scratch;
    MutableKvBlocks packed;  // keys and values that are plain tensors
    if (plan_.slot != lir::none) {
      args.layout = plan_.slot_layout->heads;
      args.kv = blocks_of(frame.slots[plan_.slot]);
    } else {
      args.layout = plain_layout();
      packed = {scratch, block_bytes(args.layout)};
      args.kv = packed;
      scratch += storage_bytes(args.layout, keys);
    }
    args.scratch = {scratch,
                    static_cast<std::size_t>(attention_scratch_bytes(args.layout, plan_.heads, rows, keys, threads))};
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      args.q = rows_at<const float>(frame, plan_.q, batch);
      args.output = rows_at<float>(frame, plan_.y, batch);
      if (plan_.slot == lir::none)
        pack_keys_and_values(args.layout, packed, keys, rows_at<const float>(frame, plan_.k, batch),
                             rows_at<const float>(frame, plan_.v, batch), plan_.level, *frame.pool);
      if (plan_.bias.defined()) args.bias = scores_at<float>(frame, plan_.bias, batch);
      if (plan_.mask.defined()) args.mask = scores_at<std::uint8_t>(frame, plan_.mask, batch);
      attention(args, *frame.pool);
    }
  }

  std::size_t scratch_bytes(const std::int64_t* sizes, int threads) const override {
    const std::int64_t rows = sizes[plan_.rows], keys = sizes[plan_.keys];
    const KvLayout layout = plan_.slot != lir::none ? plan_.slot_layout->heads : plain_layout();
    std::int64_t bytes = attention_scratch_bytes(layout, plan_.heads, rows, keys, threads);
    if (plan_.slot == lir::none) bytes += storage_bytes(layout, keys);
    return static_cast<std::size_t>(bytes);
  }

  lir::Cost cost(const std::int64_t* sizes) const override {
    const auto rows = static_cast<double>(sizes[plan_.rows]), keys = static_cast<double>(sizes[plan_.keys]);
    const auto batches = static_cast<double>(sizes[plan_.batch]);
    const double visible = plan_.causal ? keys - (rows - 1) / 2 : keys;
    const auto width = static_cast<double>(plan_.head_dim + plan_.v_head_dim), heads = static_cast<double>(plan_.heads);
    lir::Cost cost{.flops = 2 * batches * rows * visible * heads * width,
                   .activation_bytes = 4 * batches * rows * heads * width};
    const double row_bytes = plan_.slot != lir::none ? static_cast<double>(plan_.slot_layout->row_bytes())
                                                     : 4 * static_cast<double>(plan_.kv_heads) * width;
    (plan_.slot != lir::none ? cost.state_bytes : cost.activation_bytes) += batches * keys * row_bytes;
    return cost;
  }

 private:
  KvLayout plain_layout() const { return {plan_.kv_heads, plan_.head_dim, plan_.v_head_dim, DType::f32}; }

  // Broadcast from the right against [batch, heads, rows, keys].
  template <class T>
  static ScoreOperand<T> scores_at(const Frame& frame, const Operand& operand, std::int64_t batch) {
    std::int64_t stride = 1, strides[4] = {0, 0, 0, 0};
    for (std::size_t i = 0; i < operand.dims.size(); ++i) {
      const std::int64_t size = frame.dim(operand, operand.dims.size() - 1 - i);
      strides[3 - i] = size == 1 ? 0 : stride;
      stride *= size;
    }
    return {frame.data<T>(operand) + batch * strides[0], strides[1], strides[2], strides[3]};
  }

  Plan plan_;
};

std::int64_t kv_heads_of(const Node& node) {
  return node.optional_integer("num_kv_heads").value_or(node.integer("num_heads"));
}

// Everything about an attention that is not its keys and values.
std::string refuse_queries(const Graph& graph, const Node& node) {
  if (!is_f32(graph, node.inputs[0])) return "q is not f32";
  const auto q = ops::head_dims(graph.type(node.inputs[0]).shape, node.text("layout"), node.integer("num_heads"));
  if (!q || !q->heads.is_static() || !q->width.is_static()) return "the heads of q are not known";
  const auto operand = [&](std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : Value{}; };
  if (operand(3).defined() && graph.type(operand(3)).dtype != DType::boolean) return "the mask is not bool";
  if (operand(3).defined() && node.text("mask_axes") == "batch") return "the mask is by batch";
  for (const std::size_t i : {4, 5})
    if (operand(i).defined() && !is_f32(graph, operand(i))) return "an operand is not f32";
  for (const std::size_t i : {3, 4})
    if (operand(i).defined() && graph.type(operand(i)).shape.rank() > 4) return "the mask has more than four axes";
  return {};
}

// Whether attention reads the slot's own layout: K and V straight from the append, packed.
bool reads_slot(const Graph& graph, const Node& node, const Node& append_node, std::int32_t append) {
  if (node.schema->name != "Attention" || !refuse_queries(graph, node).empty()) return false;
  if (!node.backend_hint.empty() && node.backend_hint != "cpu") return false;  // it may run elsewhere
  if (node.inputs[1] != Value{append, 0} || node.inputs[2] != Value{append, 1}) return false;
  if (node.text("k_layout") != "packed" || node.text("v_layout") != "packed") return false;
  const std::int64_t heads = kv_heads_of(node);
  const auto k = graph.type(append_node.inputs[0]).shape[1].value(),
             v = graph.type(append_node.inputs[1]).shape[1].value();
  const auto q = ops::head_dims(graph.type(node.inputs[0]).shape, node.text("layout"), node.integer("num_heads"));
  return k && v && *k == heads * node.integer("head_dim") && *v % heads == 0 && q && q->batch == Dim(1);
}

std::string refuse_append(const Graph& graph, const Node& node) {
  const StateDecl* state = graph.state(node.text("slot"));
  return state != nullptr && state->kind == StateKind::rows ? "" : "the state keeps no rows";
}

lir::Slot slot_of(Lowering& lowering, std::int32_t index, const StateDecl& state) {
  if (lowering.builder.slot(state.name) != lir::none)
    fail(ErrorKind::unsupported, "UnsupportedState", lowering.graph().where(index), "state @{} is appended to twice",
         state.name);
  lir::Slot slot{.name = state.name};
  slot.length_symbol = lowering.builder.sizes().symbol(state.length.text());
  slot.rows_after = lowering.builder.sizes().add(lowering.node(index).outputs[0].type.shape[0]);
  slot.capacity = state.capacity.value_or(0);
  slot.node = index;
  return slot;
}

// Rows as the graph sees them; the outputs of the append are the slot's own storage.
void keep_rows(Lowering& lowering, lir::Slot slot, const StateDecl& state, std::vector<Operand> rows,
               lir::Instruction& instruction) {
  lir::ProgramBuilder& builder = lowering.builder;
  const auto layout = std::make_shared<const RowsLayout>(state.dtype, state.planes);
  slot.layout = layout;
  const SlotId id = builder.add_slot(std::move(slot));
  const Node& node = lowering.node(instruction.node);
  for (std::int32_t port = 0; port < static_cast<std::int32_t>(rows.size()); ++port) {
    const TensorType& type = node.outputs[static_cast<std::size_t>(port)].type;
    builder.bind({instruction.node, port}, builder.state_operand(id, port, type));
    instruction.outputs.push_back(builder.operand({instruction.node, port}));
  }
  instruction.kernel = "append " + layout->name();
  instruction.slots = {id};
  instruction.step = std::make_unique<AppendRowsStep>(std::move(rows), id);
}

void emit_rows_append(Lowering& lowering, std::int32_t index) {
  const Node& node = lowering.node(index);
  const StateDecl& state = *lowering.graph().state(node.text("slot"));
  lir::Instruction instruction{.op = "RowsAppend", .kernel = {}, .backend = "cpu", .node = index};
  instruction.inputs = {lowering.builder.operand(node.inputs[0])};
  keep_rows(lowering, slot_of(lowering, index, state), state, instruction.inputs, instruction);
  lowering.builder.emit(std::move(instruction));
}

void emit_append(Lowering& lowering, std::int32_t index) {
  lir::ProgramBuilder& builder = lowering.builder;
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(index);
  const StateDecl& state = *graph.state(node.text("slot"));
  const Node* reader = nullptr;
  bool heads = state.dtype == DType::f32;
  for (const std::int32_t port : {0, 1}) {
    heads = heads && !builder.is_output({index, port});
    for (const Value user : builder.users({index, port})) {
      const Node& candidate = graph.node(user.node);
      const auto same_heads = [&] {
        return kv_heads_of(candidate) == kv_heads_of(*reader) &&
               candidate.integer("head_dim") == reader->integer("head_dim");
      };
      heads = heads && reads_slot(graph, candidate, node, index) && (reader == nullptr || same_heads());
      reader = &candidate;
    }
  }
  heads = heads && reader != nullptr;

  lir::Slot slot = slot_of(lowering, index, state);
  const Operand k = builder.operand(node.inputs[0]), v = builder.operand(node.inputs[1]);
  lir::Instruction instruction{.op = "KvAppend", .kernel = {}, .backend = "cpu", .node = index};
  instruction.inputs = {k, v};
  if (heads) {
    const std::int64_t kv_heads = kv_heads_of(*reader);
    const DType dtype = lowering.options.kv_dtype.value_or(state.dtype);
    if (!is_kv_dtype(dtype))
      fail(ErrorKind::invalid_argument, "UnsupportedDType", graph.where(index),
           "KV rows cannot be kept as {}; expected f32, f16, bf16 or q8_0", to_string(dtype));
    const auto layout = std::make_shared<const HeadsLayout>(
        KvLayout{kv_heads, reader->integer("head_dim"), state.planes[1] / kv_heads, dtype});
    slot.layout = layout;
    const SlotId id = builder.add_slot(std::move(slot));
    instruction.kernel = kernel_name("append " + layout->name(), lowering.level);
    instruction.slots = {id};
    instruction.step = std::make_unique<AppendHeadsStep>(k, v, id, layout, lowering.level);
  } else {
    keep_rows(lowering, std::move(slot), state, {k, v}, instruction);
  }
  builder.emit(std::move(instruction));
}

std::string refuse_attention(const Graph& graph, const Node& node) {
  if (std::string refusal = refuse_queries(graph, node); !refusal.empty()) return refusal;
  const Value k = node.inputs[1], v = node.inputs[2];
  if (!is_f32(graph, k) || !is_f32(graph, v)) return "k or v is not f32";
  const std::int64_t heads = kv_heads_of(node);
  const auto k_dims = ops::head_dims(graph.type(k).shape, node.text("k_layout"), heads),
             v_dims = ops::head_dims(graph.type(v).shape, node.text("v_layout"), heads);
  if (!k_dims || !v_dims || !v_dims->width.is_static()) return "the heads of k or v are not known";
  return {};
}

void emit_attention(Lowering& lowering, std::int32_t index) {
  lir::ProgramBuilder& builder = lowering.builder;
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(index);
  const auto operand = [&](std::size_t i) {
    return i < node.inputs.size() && node.inputs[i].defined() ? builder.operand(node.inputs[i]) : Operand{};
  };
  AttentionStep::Plan plan;
  plan.heads = node.integer("num_heads");
  plan.kv_heads = kv_heads_of(node);
  plan.head_dim = node.integer("head_dim");
  plan.level = lowering.level;
  plan.causal = node.boolean("causal");
  plan.strict = node.boolean("strict");
  plan.window = node.optional_integer("window_keys").value_or(0);
  plan.softcap = static_cast<float>(node.optional_real("softcap").value_or(0));
  plan.scale =
      static_cast<float>(node.optional_real("scale").value_or(1 / std::sqrt(static_cast<double>(plan.head_dim))));
  plan.mask = operand(3);
  plan.bias = operand(4);
  plan.sink = operand(5);
  const Value k = node.inputs[1], v = node.inputs[2];
  plan.q = heads_operand(lowering, node.inputs[0], node.text("layout"), plan.heads);
  plan.k = heads_operand(lowering, k, node.text("k_layout"), plan.kv_heads);
  plan.v = heads_operand(lowering, v, node.text("v_layout"), plan.kv_heads);
  plan.v_head_dim = plan.v.width;
  plan.batch = plan.q.batch;
  plan.rows = plan.q.tokens;
  plan.keys = plan.k.tokens;
  lir::Instruction instruction{.op = "Attention", .kernel = {}, .backend = "cpu", .node = index};
  instruction.inputs = {plan.q.operand};
  const Node& producer = graph.node(k.node);
  if (!plan.k.operand.defined() && producer.schema->name == "KvAppend") {
    plan.slot = builder.slot(producer.text("slot"));
    plan.slot_layout = std::static_pointer_cast<const HeadsLayout>(builder.slot_layout(plan.slot));
    instruction.slots = {plan.slot};
    instruction.kernel = kernel_name("flash attention " + plan.slot_layout->name(), lowering.level);
  } else {
    instruction.inputs.push_back(plan.k.operand);
    instruction.inputs.push_back(plan.v.operand);
    instruction.kernel = kernel_name("flash attention f32", lowering.level);
  }
  for (const Operand& optional : {plan.mask, plan.bias, plan.sink})
    if (optional.defined()) instruction.inputs.push_back(optional);
  plan.y.operand = builder.allocate({index, 0});
  plan.y.heads = plan.heads;
  plan.y.width = plan.v_head_dim;
  plan.y.head_major = plan.q.head_major;
  plan.y.batch = plan.q.batch;
  plan.y.tokens = plan.q.tokens;
  instruction.outputs = {plan.y.operand};
  instruction.step = std::make_unique<AttentionStep>(std::move(plan));
  builder.emit(std::move(instruction));
}

}  // namespace

std::span<const LoweringRule> attention_rules() {
  static constexpr LoweringRule rules[] = {
      {"KvAppend", refuse_append, emit_append},
      {"RowsAppend", refuse_append, emit_rows_append},
      {"Attention", refuse_attention, emit_attention},
  };
  return rules;
}

}  // namespace weft::cpu
