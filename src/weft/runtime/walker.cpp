
#include <chrono>
#include <cmath>
#include <new>
#include <random>
#include <unordered_map>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/random.h"
#include "weft/ir/verify.h"
#include "weft/runtime/position_inputs.h"
#include "weft/runtime/prepared_graph.h"
#include "weft/runtime/runner.h"
#include "weft/runtime/state_store.h"

namespace weft {
namespace {

// Walks the nodes of a graph: one sequence, its rows, its position, its generators and what was measured.
class Walker final : public Runner, private StateAccess {
 public:
  explicit Walker(std::shared_ptr<const PreparedGraph> prepared)
      : shared_(std::move(prepared)),
        prepared_(*shared_),
        store_(prepared_.graph, prepared_.config.max_rows),
        row_count_(row_count_of(prepared_.graph, prepared_.config.position_mode)),
        timings_(prepared_.graph.nodes().size()) {}

  std::unique_ptr<Runner> another() const override { return std::make_unique<Walker>(shared_); }
  NamedTensors run(const NamedTensors& inputs) override;
  std::span<const TensorView> run_views(std::span<const TensorView> inputs) override;
  void reset() override;
  void truncate(std::int64_t rows) override;
  SequenceState state() const override {
    return {
        .past = past_, .runs = runs_, .generators = {generators_.begin(), generators_.end()}, .slots = store_.save()};
  }
  void set_state(const SequenceState& state) override {
    store_.restore(state);
    generators_ = {state.generators.begin(), state.generators.end()};
    past_ = state.past;
    runs_ = state.runs;
  }
  std::int64_t past() const override { return past_; }
  const Graph& graph() const override { return prepared_.graph; }
  const std::vector<Placement>& placements() const override { return prepared_.placements; }
  std::vector<OpTiming> timings() const override;
  RunCounters counters() const override;

 private:
  std::vector<Tensor> append(std::string_view slot, std::span<const Tensor> rows) override {
    return store_.append(slot, rows, prepared_.graph.where(running_));
  }
  Pcg32& generator(std::int32_t node, std::int64_t seed) override {
    const auto it = generators_.find(node);
    if (it != generators_.end()) return it->second;
    const std::uint64_t start = seed != 0 ? static_cast<std::uint64_t>(seed) : std::random_device()();
    return generators_.try_emplace(node, start).first->second;
  }
  std::int64_t run_index() const override { return runs_; }

  using Values = std::vector<std::vector<Tensor>>;
  DimBinding bind(const NamedTensors& inputs, Values& values);
  void bind_shape(const Shape& declared, const Tensor& tensor, const std::string& where, DimBinding& binding) const;
  void check_before_run(const DimBinding& binding, const RunShapes& shapes) const;
  void supply_positions(const DimBinding& binding, Values& values);
  std::int64_t rows_of_run(const Values& values) const;
  void walk(const RunShapes& shapes, Values& values);
  void execute(std::int32_t node, const RunShapes& shapes, Values& values);
  void check_finite(std::int32_t node, const std::vector<Tensor>& outputs) const;
  NamedTensors collect(const Values& values) const;

  std::shared_ptr<const PreparedGraph> shared_;
  const PreparedGraph& prepared_;
  StateStore store_;
  RowCount row_count_;
  std::unordered_map<std::int32_t, Pcg32> generators_;
  std::int64_t past_ = 0, runs_ = 0;
  std::int32_t running_ = 0;
  std::uint64_t live_bytes_ = 0;
  RunCounters counters_;
  std::vector<OpTiming> timings_;
  NamedTensors results_;  // of the last run_views()
  std::vector<TensorView> views_;
};

void Walker::bind_shape(const Shape& declared, const Tensor& tensor, const std::string& name,
                        DimBinding& binding) const {
  const auto refuse = [&] {
    refuse_input(ErrorKind::shape_mismatch, "InputShapeMismatch", name,
                 fmt::format("the graph declares {}, found {}", declared.text(), dims_text(tensor.dims())));
  };
  if (declared.rank() != tensor.rank()) refuse();
  for (std::size_t axis = 0; axis < declared.rank(); ++axis) {
    const Dim& dim = declared[axis];
    if (dim.is_static()) {
      if (*dim.value() != tensor.dim(axis)) refuse();
      continue;
    }
    // A dim that is one symbol gives that symbol its value; an expression is checked once all symbols have theirs.
    const auto [it, fresh] = binding.try_emplace(dim.text(), tensor.dim(axis));
    if (!fresh && it->second != tensor.dim(axis)) refuse();
    const auto bounds = prepared_.graph.symbols().find(dim.text());
    if (bounds != prepared_.graph.symbols().end() &&
        (tensor.dim(axis) < bounds->second.low || tensor.dim(axis) > bounds->second.high))
      refuse_input(ErrorKind::shape_mismatch, "InputShapeMismatch", name,
                   fmt::format("{} = {} is outside its bounds [{}, {}]", dim.text(), tensor.dim(axis),
                               bounds->second.low, bounds->second.high));
  }
}

DimBinding Walker::bind(const NamedTensors& inputs, Values& values) {
  const Graph& graph = prepared_.graph;
  DimBinding binding;
  std::size_t used = 0;
  for (const std::int32_t index : graph.inputs()) {
    const Node& node = graph.node(index);
    if (node.text("source") != "caller") continue;
    const std::string& name = node.text("name");
    const auto it = inputs.find(name);
    if (it == inputs.end())
      refuse_input(ErrorKind::invalid_argument, "MissingInput", name,
                   fmt::format("the run lacks it; expected {}", node.outputs[0].type.text()));
    ++used;
    if (it->second.dtype() != node.outputs[0].type.dtype)
      refuse_input(
          ErrorKind::dtype_mismatch, "InputDtypeMismatch", name,
          fmt::format("expected {}, found {}", to_string(node.outputs[0].type.dtype), to_string(it->second.dtype())));
    bind_shape(node.outputs[0].type.shape, it->second, name, binding);
    values[static_cast<std::size_t>(index)] = {it->second};
  }
  if (used != inputs.size())
    for (const auto& [name, tensor] : inputs) {
      const auto index = graph.find_input(name);
      if (!index || graph.node(*index).text("source") != "caller")
        refuse_input(ErrorKind::invalid_argument, "UnexpectedInput", name,
                     index ? "the executor supplies it itself" : "the graph has no input of this name");
    }
  for (const StateDecl& declared : graph.states()) {
    const std::int64_t length = store_.length(store_.slot_index(declared.name));
    const auto [it, fresh] = binding.try_emplace(declared.length.text(), length);
    if (!fresh && it->second != length)
      fail(ErrorKind::shape_mismatch, "ShapeMismatch", "@" + declared.name, "{} is {} here and {} elsewhere",
           declared.length.text(), length, it->second);
  }
  // Expressions stood in as if they were symbols; now they must hold.
  for (const std::int32_t index : graph.inputs()) {
    const Node& node = graph.node(index);
    if (node.text("source") != "caller") continue;
    const auto& tensor = values[static_cast<std::size_t>(index)][0];
    if (node.outputs[0].type.shape.eval(binding) != tensor.dims())
      refuse_input(
          ErrorKind::shape_mismatch, "InputShapeMismatch", node.text("name"),
          fmt::format("the graph declares {}, found {}", node.outputs[0].type.shape.text(), dims_text(tensor.dims())));
  }
  return binding;
}

void Walker::supply_positions(const DimBinding& binding, Values& values) {
  for (const std::int32_t index : prepared_.graph.inputs()) {
    const Node& node = prepared_.graph.node(index);
    if (node.text("source") != "position") continue;
    const TensorType& type = node.outputs[0].type;
    Tensor positions = Tensor::allocate(type.dtype, type.shape.eval(binding));
    const auto fill = [&]<class T>(std::span<T> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(past_ + static_cast<std::int64_t>(i));
    };
    if (type.dtype == DType::f32)
      fill(positions.mutable_values<float>());
    else if (type.dtype == DType::i32)
      fill(positions.mutable_values<std::int32_t>());
    else
      refuse_input(ErrorKind::dtype_mismatch, "InputDtypeMismatch", node.text("name"), "positions are f32 or i32");
    values[static_cast<std::size_t>(index)] = {std::move(positions)};
  }
}

std::int64_t Walker::rows_of_run(const Values& values) const {
  if (row_count_.input < 0) return 1;
  const Tensor& rows = values[static_cast<std::size_t>(row_count_.input)][0];
  return row_count_.all_elements ? rows.numel() : rows.rank() == 0 ? 1 : rows.dims().back();
}

void Walker::check_before_run(const DimBinding& binding, const RunShapes& shapes) const {
  const Graph& graph = prepared_.graph;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    for (const Constraint& constraint : node.constraints) {
      const std::int64_t a = constraint.a.eval(binding), b = constraint.b.eval(binding);
      if (a != b)
        fail(ErrorKind::shape_mismatch, "ShapeMismatch", graph.where(i), "{}: {} = {} and {} = {} must be equal",
             constraint.what, constraint.a.text(), a, constraint.b.text(), b);
    }
    for (const std::string& attribute : node.schema->effects.slots) {
      const std::size_t slot = store_.slot_index(node.text(attribute));
      const std::int64_t rows = shapes[static_cast<std::size_t>(i)][0][0], capacity = store_.capacity(slot);
      if (capacity > 0 && rows > capacity)
        fail(ErrorKind::out_of_range, "ContextOverflow", graph.where(i),
             "the run would hold {} rows in a context of {}; shorten the input or raise the context", rows, capacity);
    }
  }
  const std::uint64_t limit = prepared_.config.memory_limit;
  if (limit == 0) return;
  const MemoryNeed need = memory_need(graph, prepared_.liveness, shapes, prepared_.folded);
  const std::uint64_t total =
      need.inputs + prepared_.weight_bytes + need.states +
      (prepared_.config.memory_rule == MemoryRule::peak ? need.intermediates : need.intermediates_sum);
  if (total > limit)
    fail(ErrorKind::out_of_memory, "MemoryLimitExceeded", prepared_.backends.front()->name().data(),
         "the run needs {} bytes ({} inputs, {} weights, {} states, {} intermediates at the peak, {} in sum), the "
         "limit is {}",
         total, need.inputs, prepared_.weight_bytes, need.states, need.intermediates, need.intermediates_sum, limit);
}

void Walker::execute(std::int32_t index, const RunShapes& shapes, Values& values) {
  const Graph& graph = prepared_.graph;
  const Node& node = graph.node(index);
  const auto at = static_cast<std::size_t>(index);
  std::vector<Tensor> inputs;
  for (const Value& input : node.inputs)
    inputs.push_back(input.defined()
                         ? values[static_cast<std::size_t>(input.node)][static_cast<std::size_t>(input.port)]
                         : Tensor());
  std::vector<Tensor>& outputs = values[at];
  outputs.resize(node.outputs.size());
  bool all_views = !node.outputs.empty();
  for (std::size_t port = 0; port < node.outputs.size(); ++port) {
    const DType dtype = node.outputs[port].type.dtype;
    if (const auto view = planned_view(graph, index, port, shapes)) {
      const Tensor& base = inputs[view->input];
      const DTypeInfo& info = dtype_info(base.dtype());
      const std::size_t offset = static_cast<std::size_t>(view->first_element) / info.block * info.block_bytes;
      outputs[port] =
          Tensor::wrap(std::make_shared<Tensor>(base), base.bytes().subspan(offset, byte_size(dtype, shapes[at][port])),
                       dtype, shapes[at][port]);
      continue;
    }
    all_views = false;
    if (!node.schema->effects.slots.empty()) continue;  // the state hands out views of its own storage
    outputs[port] = Tensor::allocate(dtype, shapes[at][port]);
    counters_.allocated_bytes += outputs[port].byte_size();
    ++counters_.allocations;
    live_bytes_ += outputs[port].byte_size();
  }
  counters_.peak_live_bytes = std::max(counters_.peak_live_bytes, live_bytes_);
  if (!all_views)
    prepared_.backend_of[at]->execute(KernelContext(graph, index, inputs, outputs, *this, *prepared_.pool));
  if (prepared_.config.check_finite) check_finite(index, outputs);
}

void Walker::check_finite(std::int32_t node, const std::vector<Tensor>& outputs) const {
  for (const Tensor& output : outputs) {
    if (output.dtype() != DType::f32) continue;
    const auto values = output.values<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        fail(ErrorKind::out_of_range, "NonFiniteOutput", prepared_.graph.where(node),
             "element {} of its output {} is {}", i, dims_text(output.dims()), values[i]);
  }
}

void Walker::walk(const RunShapes& shapes, Values& values) {
  using Clock = std::chrono::steady_clock;
  const Graph& graph = prepared_.graph;
  live_bytes_ = 0;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    if (prepared_.config.canceled && prepared_.config.canceled())
      fail(ErrorKind::canceled, "Canceled", graph.where(i), "the run was canceled");
    running_ = i;
    if (prepared_.backend_of[static_cast<std::size_t>(i)] != nullptr) {
      const auto start = prepared_.config.profile ? Clock::now() : Clock::time_point();
      try {
        execute(i, shapes, values);
      } catch (const Error& error) {
        throw node_error(error, prepared_.backend_of[static_cast<std::size_t>(i)]->name(), graph.where(i));
      } catch (const std::bad_alloc&) {
        fail(ErrorKind::out_of_memory, "OutOfMemory", graph.where(i), "the machine has no memory left");
      }
      if (prepared_.config.profile) {
        OpTiming& timing = timings_[static_cast<std::size_t>(i)];
        timing.seconds += std::chrono::duration<double>(Clock::now() - start).count();
        ++timing.runs;
      }
    }
    for (const Value& dead : prepared_.liveness.freed_after(i)) {
      Tensor& tensor = values[static_cast<std::size_t>(dead.node)][static_cast<std::size_t>(dead.port)];
      const Node& producer = graph.node(dead.node);
      const bool owned = producer.schema->op_class != OpClass::leaf && producer.schema->effects.slots.empty() &&
                         !planned_view(graph, dead.node, static_cast<std::size_t>(dead.port), shapes);
      if (owned) live_bytes_ -= std::min<std::uint64_t>(live_bytes_, tensor.byte_size());
      tensor = Tensor();
    }
  }
}

NamedTensors Walker::collect(const Values& values) const {
  NamedTensors results;
  for (const GraphOutput& output : prepared_.graph.outputs()) {
    const Tensor& tensor =
        values[static_cast<std::size_t>(output.value.node)][static_cast<std::size_t>(output.value.port)];
    // A caller keeps its results; rows of the state change with the next reset or truncation.
    const bool in_state = store_.holds(tensor.bytes().data());
    results[output.name] = in_state ? Tensor::copy_bytes(tensor.bytes(), tensor.dtype(), tensor.dims()) : tensor;
  }
  return results;
}

NamedTensors Walker::run(const NamedTensors& inputs) {
  Values values = prepared_.ready;
  const DimBinding binding = bind(inputs, values);
  supply_positions(binding, values);
  const RunShapes shapes = run_shapes(prepared_.graph, binding);
  check_before_run(binding, shapes);
  const std::int64_t rows = rows_of_run(values);
  const auto generators = generators_;
  try {
    walk(shapes, values);
    NamedTensors results = collect(values);
    store_.commit();
    past_ += rows;
    ++runs_;
    return results;
  } catch (...) {
    store_.rollback();
    generators_ = generators;
    throw;
  }
}

void Walker::reset() {
  store_.reset();
  generators_.clear();
  past_ = runs_ = 0;
}

void Walker::truncate(std::int64_t rows) {
  if (rows < 0) fail(ErrorKind::invalid_argument, "InvalidArgument", "truncate", "{} rows cannot be kept", rows);
  store_.truncate(rows);
  past_ = std::min(past_, rows);
}

std::vector<OpTiming> Walker::timings() const {
  std::vector<OpTiming> ran;
  for (std::size_t i = 0; i < timings_.size(); ++i) {
    if (timings_[i].runs == 0) continue;
    OpTiming timing = timings_[i];
    timing.node = static_cast<std::int32_t>(i);
    timing.op = prepared_.graph.nodes()[i].schema->name;
    ran.push_back(std::move(timing));
  }
  return ran;
}

RunCounters Walker::counters() const {
  RunCounters counters = counters_;
  counters.state_appended_bytes = store_.counters().appended_bytes;
  counters.state_moved_bytes = store_.counters().moved_bytes;
  return counters;
}

std::span<const TensorView> Walker::run_views(std::span<const TensorView> inputs) {
  NamedTensors named;
  std::size_t at = 0;
  for (const std::int32_t index : prepared_.graph.inputs()) {
    const Node& node = prepared_.graph.node(index);
    if (node.text("source") != "caller" || at == inputs.size()) continue;
    const TensorView& view = inputs[at++];
    const std::vector<std::int64_t> dims(view.dims.begin(), view.dims.end());
    named[node.text("name")] = Tensor::wrap(nullptr, {view.data, byte_size(view.dtype, dims)}, view.dtype, dims);
  }
  results_ = run(named);
  views_.clear();
  for (const GraphOutput& output : prepared_.graph.outputs()) {
    const Tensor& tensor = results_.at(output.name);
    views_.push_back({tensor.bytes().data(), tensor.dtype(), tensor.dims()});
  }
  return views_;
}

}  // namespace

std::unique_ptr<Runner> make_walker(Graph graph, const WeightSource& weights, ExecConfig config) {
  return std::make_unique<Walker>(std::make_shared<const PreparedGraph>(std::move(graph), weights, std::move(config)));
}

}  // namespace weft
