#include "weft/runtime/program_runner.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/system_memory.h"
#include "weft/runtime/memory_plan.h"
#include "weft/runtime/state_store.h"

namespace weft {
namespace {

void move_blocks(const lir::SlotPlane& plane, const lir::PlaneStorage& to, const lir::PlaneStorage& from,
                 std::int64_t blocks) {
  for (std::int64_t block = 0; block < blocks; ++block)
    std::memcpy(to.data + block * to.stride, from.data + block * from.stride, plane.block_bytes);
}

}  // namespace

// --- memory -----------------------------------------------------------------------------------------------------

ReservedMemory::ReservedMemory(std::size_t bytes, const char* what) : size_(bytes) {
  if (size_ == 0) return;
  void* data = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    const auto available = available_memory();
    fail(ErrorKind::out_of_memory, "OutOfMemory", what, "it takes {} bytes, {} are available", size_,
         available ? std::to_string(*available) : "fewer");
  }
  data_ = static_cast<std::byte*>(data);
}

// A wish: a system that has none gives small ones.
void ReservedMemory::prefer_huge_pages() {
  if (data_ != nullptr) (void)::madvise(data_, size_, MADV_HUGEPAGE);
}

ReservedMemory::~ReservedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

ReservedMemory::ReservedMemory(ReservedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

ReservedMemory& ReservedMemory::operator=(ReservedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

// --- construction -----------------------------------------------------------------------------------------------

ProgramRunner::ProgramRunner(std::shared_ptr<const CompiledProgram> compiled,
                             std::shared_ptr<const BoundWeights> weights)
    : compiled_(std::move(compiled)),
      weights_(std::move(weights)),
      row_count_(row_count_of(compiled_->graph, compiled_->config.position_mode)) {
  const lir::Program& program = compiled_->program;
  symbols_.assign(program.sizes.symbols().size(), 0);
  planned_.assign(symbols_.size(), 0);
  bound_.assign(symbols_.size(), 0);
  sizes_.assign(program.sizes.size(), 0);
  buffers_.assign(program.buffers.size(), nullptr);
  positions_.resize(program.inputs.size());
  if (compiled_->config.profile) {
    timings_.resize(program.instructions.size());
    profile_.emplace();
    for (const lir::Instruction& instruction : program.instructions)
      profile_->add_instruction(instruction.kernel, instruction.op,
                                compiled_->graph.node(instruction.node).origin.label);
  }
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    if (compiled_->graph.node(program.inputs[i].node).text("source") == "caller")
      caller_inputs_.push_back(static_cast<std::int32_t>(i));
  for (const lir::ProgramOutput& output : program.outputs) {
    output_dims_.emplace_back(output.operand.dims.size());
    outputs_.push_back({nullptr, output.operand.dtype, {}});
  }
  set_weights(weights_);
  reserve_slots(0);
}

void ProgramRunner::set_weights(std::shared_ptr<const BoundWeights> weights) {
  weights_ = std::move(weights);
  const lir::Program& program = compiled_->program;
  if (weights_ == nullptr) return;
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].storage == lir::Storage::weight)
      buffers_[i] = const_cast<std::byte*>(weights_->stored(program.buffers[i].index));
}

std::unique_ptr<Runner> ProgramRunner::another() const { return std::make_unique<ProgramRunner>(compiled_, weights_); }

// Makes room for `rows` rows in each slot, and for as many as its graph declares. Planes whose blocks may lie apart
// take turns in one piece of memory: block 0 of each, then block 1 of each. So what is used is the beginning of it,
// which huge pages serve well. Rows that are there move along.
void ProgramRunner::reserve_slots(std::int64_t rows) {
  const lir::Program& program = compiled_->program;
  std::vector<lir::SlotStorage> fresh(program.slots.size());
  std::vector<ReservedMemory> memory;
  std::uint64_t turn = 0, turns = 0;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    const std::int64_t capacity = compiled_->capacity(program.slots[i]);
    fresh[i].capacity = std::max(rows, capacity > 0 ? capacity : default_reservation);
    fresh[i].length = i < slots_.size() ? slots_[i].length : 0;
    for (const lir::SlotPlane& plane : program.slots[i].layout->planes()) {
      const auto blocks = static_cast<std::uint64_t>(plane.blocks_for(fresh[i].capacity));
      fresh[i].planes.push_back({});
      if (plane.adjacent) {
        memory.emplace_back(blocks * plane.block_bytes, "state storage");
        fresh[i].planes.back() = {memory.back().data(), static_cast<std::int64_t>(plane.block_bytes)};
        continue;
      }
      turn += plane.block_bytes;
      turns = std::max(turns, blocks);
    }
  }
  memory.emplace_back(turn * turns, "state storage");
  memory.back().prefer_huge_pages();
  std::byte* shared = memory.back().data();
  for (std::size_t i = 0; i < fresh.size(); ++i)
    for (std::size_t p = 0; p < fresh[i].planes.size(); ++p) {
      const lir::SlotPlane& plane = program.slots[i].layout->planes()[p];
      lir::PlaneStorage& to = fresh[i].planes[p];
      if (!plane.adjacent) {
        to = {shared, static_cast<std::int64_t>(turn)};
        shared += plane.block_bytes;
      }
      if (i >= slots_.size()) continue;
      move_blocks(plane, to, slots_[i].planes[p], plane.blocks_for(fresh[i].length));
      counters_.state_moved_bytes += plane.block_bytes / static_cast<std::uint64_t>(plane.block_rows) *
                                     static_cast<std::uint64_t>(fresh[i].length);
    }
  slot_memory_ = std::move(memory);
  slots_ = std::move(fresh);
}

// --- binding a run ----------------------------------------------------------------------------------------------

std::string ProgramRunner::input_name(std::size_t input) const {
  return compiled_->graph.node(compiled_->program.inputs[input].node).text("name");
}

void ProgramRunner::bind_symbols(std::span<const TensorView> inputs) {
  const lir::Program& program = compiled_->program;
  if (inputs.size() != caller_inputs_.size())
    fail(ErrorKind::invalid_argument, "MissingInput", compiled_->graph.name(),
         "the graph takes {} inputs, {} are given", caller_inputs_.size(), inputs.size());
  std::fill(bound_.begin(), bound_.end(), char{0});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto at = static_cast<std::size_t>(caller_inputs_[i]);
    const lir::ProgramInput& declared = program.inputs[at];
    const TensorView& given = inputs[i];
    if (given.dtype != declared.dtype)
      refuse_input(ErrorKind::dtype_mismatch, "InputDtypeMismatch", input_name(at),
                   fmt::format("expected {}, found {}", to_string(declared.dtype), to_string(given.dtype)));
    const auto refuse = [&] {
      const TensorType& type = compiled_->graph.node(declared.node).outputs[0].type;
      refuse_input(ErrorKind::shape_mismatch, "InputShapeMismatch", input_name(at),
                   fmt::format("the graph declares {}, found {}", type.shape.text(), dims_text(given.dims)));
    };
    if (given.dims.size() != declared.dims.size()) refuse();
    for (std::size_t axis = 0; axis < given.dims.size(); ++axis) {
      const std::int32_t symbol = program.inputs[at].symbols[axis];
      if (symbol == lir::none) continue;
      const auto s = static_cast<std::size_t>(symbol);
      if (bound_[s] != 0 && symbols_[s] != given.dims[axis]) refuse();
      const std::int64_t low = compiled_->symbol_lows[s];
      const auto& high = compiled_->symbol_bounds[s];
      if (given.dims[axis] < low || (high && given.dims[axis] > *high))
        refuse_input(ErrorKind::shape_mismatch, "InputShapeMismatch", input_name(at),
                     fmt::format("{} = {} is outside its bounds [{}, {}]", program.sizes.symbols()[s], given.dims[axis],
                                 low, high.value_or(unbounded)));
      symbols_[s] = given.dims[axis];
      bound_[s] = 1;
    }
    buffers_[static_cast<std::size_t>(declared.buffer)] = const_cast<std::byte*>(given.data);
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto s = static_cast<std::size_t>(program.slots[i].length_symbol);
    if (bound_[s] != 0 && symbols_[s] != slots_[i].length)
      fail(ErrorKind::shape_mismatch, "ShapeMismatch", "@" + program.slots[i].name, "{} is {} here and {} elsewhere",
           program.sizes.symbols()[s], slots_[i].length, symbols_[s]);
    symbols_[s] = slots_[i].length;
    bound_[s] = 1;
  }
  for (std::size_t s = 0; s < bound_.size(); ++s)
    if (bound_[s] == 0)
      fail(ErrorKind::invalid_argument, "UnboundSymbol", compiled_->graph.name(),
           "dimension {} has no value in this run", program.sizes.symbols()[s]);
  try {
    program.sizes.eval(symbols_, sizes_);
  } catch (const Error&) {
    DimBinding sizes;
    for (std::size_t s = 0; s < symbols_.size(); ++s) sizes[program.sizes.symbols()[s]] = symbols_[s];
    run_shapes(compiled_->graph, sizes);  // says at which node
    throw;
  }
}

void ProgramRunner::check_sizes(std::span<const TensorView> inputs) const {
  const lir::Program& program = compiled_->program;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const lir::ProgramInput& declared = program.inputs[static_cast<std::size_t>(caller_inputs_[i])];
    for (std::size_t axis = 0; axis < declared.dims.size(); ++axis)
      if (sizes_[static_cast<std::size_t>(declared.dims[axis])] != inputs[i].dims[axis]) {
        const TensorType& type = compiled_->graph.node(declared.node).outputs[0].type;
        refuse_input(ErrorKind::shape_mismatch, "InputShapeMismatch",
                     input_name(static_cast<std::size_t>(caller_inputs_[i])),
                     fmt::format("the graph declares {}, found {}", type.shape.text(), dims_text(inputs[i].dims)));
      }
  }
  for (const lir::SizeConstraint& constraint : program.constraints) {
    const std::int64_t a = sizes_[static_cast<std::size_t>(constraint.a)],
                       b = sizes_[static_cast<std::size_t>(constraint.b)];
    if (a != b)
      fail(ErrorKind::shape_mismatch, "ShapeMismatch", compiled_->graph.where(constraint.node),
           "{}: {} = {} and {} = {} must be equal", constraint.what, program.sizes.dim(constraint.a).text(), a,
           program.sizes.dim(constraint.b).text(), b);
  }
  for (const lir::Slot& slot : program.slots) {
    const std::int64_t rows = sizes_[static_cast<std::size_t>(slot.rows_after)];
    const std::int64_t capacity = compiled_->capacity(slot);
    if (capacity > 0 && rows > capacity)
      fail(ErrorKind::out_of_range, "ContextOverflow", compiled_->graph.where(slot.node),
           "the run would hold {} rows in a context of {}; shorten the input or raise the context", rows, capacity);
  }
}

void ProgramRunner::check_memory_limit() const {
  const std::uint64_t limit = compiled_->config.memory_limit;
  if (limit == 0) return;
  std::uint64_t inputs = 0, states = 0;
  for (const lir::ProgramInput& input : compiled_->program.inputs) {
    std::vector<std::int64_t> dims;
    for (const lir::SizeId id : input.dims) dims.push_back(sizes_[static_cast<std::size_t>(id)]);
    inputs += byte_size(input.dtype, dims);
  }
  for (const lir::Slot& slot : compiled_->program.slots)
    states += slot.layout->row_bytes() * static_cast<std::uint64_t>(sizes_[static_cast<std::size_t>(slot.rows_after)]);
  const lir::ArenaPlan plan = lir::plan_arena(compiled_->program, sizes_.data(), compiled_->pool->size());
  const std::uint64_t threads = plan.thread_scratch_bytes * static_cast<std::uint64_t>(compiled_->pool->size());
  const std::uint64_t arena =
      (compiled_->config.memory_rule == MemoryRule::peak ? plan.arena_bytes : plan.unshared_bytes) + threads;
  const std::uint64_t total = inputs + weights_->bytes() + states + arena;
  if (total > limit)
    fail(ErrorKind::out_of_memory, "MemoryLimitExceeded", "cpu",
         "the run needs {} bytes ({} inputs, {} weights, {} states, {} intermediates at the peak, {} in sum), the "
         "limit is {}",
         total, inputs, weights_->bytes(), states, plan.arena_bytes + threads, plan.unshared_bytes + threads, limit);
}

// --- the plan ---------------------------------------------------------------------------------------------------

void ProgramRunner::plan_for_run() {
  bool fits = is_planned_;
  for (std::size_t s = 0; s < symbols_.size(); ++s) fits = fits && symbols_[s] <= planned_[s];
  if (!fits) replan();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::int64_t rows = sizes_[static_cast<std::size_t>(compiled_->program.slots[i].rows_after)];
    if (rows > slots_[i].capacity) reserve_slots(std::max(rows, 2 * slots_[i].capacity));
  }
  for (std::size_t i = 0; i < compiled_->program.buffers.size(); ++i) {
    const lir::Buffer& buffer = compiled_->program.buffers[i];
    if (buffer.storage == lir::Storage::state)
      buffers_[i] = slots_[static_cast<std::size_t>(buffer.index)].planes[static_cast<std::size_t>(buffer.plane)].data;
  }
}

// Nothing of the old plan is given up before the new one stands.
void ProgramRunner::replan() {
  const lir::Program& program = compiled_->program;
  std::vector<std::int64_t> planned = planned_, sizes(sizes_.size());
  for (std::size_t s = 0; s < symbols_.size(); ++s) {
    const auto& bound = compiled_->symbol_bounds[s];
    const auto least = static_cast<std::uint64_t>(std::max<std::int64_t>(symbols_[s], 1));
    planned[s] =
        std::max(planned[s], bound ? std::max(*bound, symbols_[s]) : static_cast<std::int64_t>(std::bit_ceil(least)));
  }
  program.sizes.eval_upper(planned, sizes);
  lir::ArenaPlan plan = lir::plan_arena(program, sizes.data(), compiled_->pool->size());
  const auto threads = static_cast<std::uint64_t>(compiled_->pool->size());
  if (const auto available = available_memory();
      available && plan.arena_bytes + threads * plan.thread_scratch_bytes > *available)
    fail(ErrorKind::out_of_memory, "OutOfMemory", compiled_->graph.name(),
         "the arena of the program takes {} bytes, {} are available; lower the bounds of its sizes",
         plan.arena_bytes + threads * plan.thread_scratch_bytes, *available);
  ReservedMemory arena(plan.arena_bytes, "arena"), scratch(plan.thread_scratch_bytes * threads, "scratch");
  arena.prefer_huge_pages();
  scratch.prefer_huge_pages();
  std::vector<std::vector<std::byte>> positions(program.inputs.size());
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const lir::ProgramInput& input = program.inputs[i];
    if (compiled_->graph.node(input.node).text("source") != "position") continue;
    std::int64_t count = 1;
    for (const lir::SizeId id : input.dims) count *= sizes[static_cast<std::size_t>(id)];
    positions[i].resize(static_cast<std::size_t>(count) * 8);
  }

  planned_ = std::move(planned);
  plan_ = std::move(plan);
  arena_ = std::move(arena);
  thread_scratch_ = std::move(scratch);
  positions_ = std::move(positions);
  for (std::size_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i].storage == lir::Storage::arena) buffers_[i] = arena_.data() + plan_.offsets[i];
  for (std::size_t i = 0; i < program.inputs.size(); ++i)
    if (!positions_[i].empty()) buffers_[static_cast<std::size_t>(program.inputs[i].buffer)] = positions_[i].data();
  counters_.allocated_bytes += plan_.arena_bytes;
  ++counters_.allocations;
  counters_.peak_live_bytes = std::max(counters_.peak_live_bytes, plan_.arena_bytes);
  is_planned_ = true;
}

void ProgramRunner::fill_positions() {
  const lir::Program& program = compiled_->program;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const lir::ProgramInput& input = program.inputs[i];
    if (positions_[i].empty()) continue;
    std::int64_t count = 1;
    for (const lir::SizeId id : input.dims) count *= sizes_[static_cast<std::size_t>(id)];
    if (input.dtype == DType::f32) {
      auto* values = reinterpret_cast<float*>(positions_[i].data());
      for (std::int64_t k = 0; k < count; ++k) values[k] = static_cast<float>(past_ + k);
    } else if (input.dtype == DType::i32) {
      auto* values = reinterpret_cast<std::int32_t*>(positions_[i].data());
      for (std::int64_t k = 0; k < count; ++k) values[k] = static_cast<std::int32_t>(past_ + k);
    } else {
      refuse_input(ErrorKind::dtype_mismatch, "InputDtypeMismatch", input_name(i), "positions are f32 or i32");
    }
  }
}

// --- running ----------------------------------------------------------------------------------------------------

std::vector<Tensor> ProgramRunner::append(std::string_view slot, std::span<const Tensor>) {
  fail(ErrorKind::invalid_graph, "NoState", "@" + std::string(slot), "only the program itself appends to a state");
}

Pcg32& ProgramRunner::generator(std::int32_t node, std::int64_t seed) {
  const auto it = generators_.find(node);
  if (it != generators_.end()) return it->second;
  const std::uint64_t start = seed != 0 ? static_cast<std::uint64_t>(seed) : std::random_device()();
  return generators_.try_emplace(node, start).first->second;
}

void ProgramRunner::check_finite(const lir::Instruction& instruction, const lir::Frame& frame) const {
  for (const lir::Operand& output : instruction.outputs) {
    if (!output.defined() || output.dtype != DType::f32) continue;
    if (compiled_->program.buffers[static_cast<std::size_t>(output.buffer)].storage != lir::Storage::arena) continue;
    const float* values = frame.data(output);
    const std::int64_t count = frame.numel(output);
    for (std::int64_t i = 0; i < count; ++i)
      if (!std::isfinite(values[i]))
        fail(ErrorKind::out_of_range, "NonFiniteOutput", compiled_->graph.where(instruction.node),
             "element {} of its {} outputs is {} ({})", i, count, values[i], instruction.kernel);
  }
}

void ProgramRunner::execute() {
  const lir::Program& program = compiled_->program;
  lir::Frame frame;
  frame.sizes = sizes_.data();
  frame.buffers = buffers_.data();
  frame.weights = weights_->prepared();
  frame.slots = slots_.data();
  frame.pool = compiled_->pool.get();
  frame.thread_scratch = thread_scratch_.data();
  frame.thread_scratch_stride = plan_.thread_scratch_bytes;
  frame.state = this;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const lir::Instruction& instruction = program.instructions[i];
    if (compiled_->config.canceled && compiled_->config.canceled())
      fail(ErrorKind::canceled, "Canceled", compiled_->graph.where(instruction.node), "the run was canceled");
    frame.scratch = arena_.data() + plan_.scratch_offsets[i];
    const std::int64_t start = profile_ ? Profile::now_ns() : 0;
    try {
      instruction.step->run(frame);
    } catch (const Error& error) {
      throw node_error(error, instruction.backend, compiled_->graph.where(instruction.node));
    } catch (const std::bad_alloc&) {
      fail(ErrorKind::out_of_memory, "OutOfMemory", compiled_->graph.where(instruction.node),
           "the machine has no memory left");
    }
    if (compiled_->config.check_finite) check_finite(instruction, frame);
    if (profile_) {
      const std::int64_t duration = Profile::now_ns() - start;
      const lir::Cost cost = instruction.step->cost(sizes_.data());
      profile_->record(static_cast<std::uint32_t>(i), start, duration, static_cast<std::uint64_t>(cost.bytes()),
                       static_cast<std::uint64_t>(cost.flops));
      timings_[i].seconds += static_cast<double>(duration) * 1e-9;
      ++timings_[i].runs;
    }
  }
}

std::span<const TensorView> ProgramRunner::run_views(std::span<const TensorView> inputs) {
  const lir::Program& program = compiled_->program;
  if (weights_ == nullptr)
    fail(ErrorKind::missing_tensor, "MissingTensor", compiled_->graph.name(), "the graph's parameters are not set yet");
  bind_symbols(inputs);
  check_sizes(inputs);
  check_memory_limit();
  plan_for_run();
  fill_positions();
  std::int64_t rows = 1;
  if (row_count_.input >= 0)
    for (const lir::ProgramInput& input : program.inputs) {
      if (input.node != row_count_.input || input.dims.empty()) continue;
      if (row_count_.all_elements)
        for (const lir::SizeId id : input.dims) rows *= sizes_[static_cast<std::size_t>(id)];
      else
        rows = sizes_[static_cast<std::size_t>(input.dims.back())];
    }
  const auto generators = generators_;
  try {
    execute();
  } catch (...) {
    generators_ = generators;  // the slots' lengths have not moved yet
    throw;
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::int64_t after = sizes_[static_cast<std::size_t>(program.slots[i].rows_after)];
    counters_.state_appended_bytes +=
        program.slots[i].layout->row_bytes() * static_cast<std::uint64_t>(after - slots_[i].length);
    slots_[i].length = after;
  }
  past_ += rows;
  ++runs_;
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const lir::Operand& operand = program.outputs[i].operand;
    for (std::size_t axis = 0; axis < operand.dims.size(); ++axis)
      output_dims_[i][axis] = sizes_[static_cast<std::size_t>(operand.dims[axis])];
    outputs_[i].data = buffers_[static_cast<std::size_t>(operand.buffer)] + operand.offset;
    outputs_[i].dims = output_dims_[i];
  }
  return outputs_;
}

NamedTensors ProgramRunner::run(const NamedTensors& inputs) {
  const Graph& graph = compiled_->graph;
  std::vector<TensorView> views;
  for (const std::int32_t at : caller_inputs_) {
    const std::string name = input_name(static_cast<std::size_t>(at));
    const auto it = inputs.find(name);
    if (it == inputs.end())
      refuse_input(
          ErrorKind::invalid_argument, "MissingInput", name,
          fmt::format("the run lacks it; expected {}",
                      graph.node(compiled_->program.inputs[static_cast<std::size_t>(at)].node).outputs[0].type.text()));
    views.push_back({it->second.bytes().data(), it->second.dtype(), it->second.dims()});
  }
  if (inputs.size() != views.size())
    for (const auto& [name, tensor] : inputs) {
      const auto index = graph.find_input(name);
      if (!index || graph.node(*index).text("source") != "caller")
        refuse_input(ErrorKind::invalid_argument, "UnexpectedInput", name,
                     index ? "the executor supplies it itself" : "the graph has no input of this name");
    }
  run_views(views);
  NamedTensors results;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const std::vector<std::int64_t> dims(outputs_[i].dims.begin(), outputs_[i].dims.end());
    results[compiled_->program.outputs[i].name] =
        Tensor::copy_bytes({outputs_[i].data, byte_size(outputs_[i].dtype, dims)}, outputs_[i].dtype, dims);
  }
  return results;
}

void ProgramRunner::reset() {
  for (lir::SlotStorage& slot : slots_) slot.length = 0;
  generators_.clear();
  past_ = runs_ = 0;
}

void ProgramRunner::truncate(std::int64_t rows) {
  if (rows < 0) fail(ErrorKind::invalid_argument, "InvalidArgument", "truncate", "{} rows cannot be kept", rows);
  for (lir::SlotStorage& slot : slots_) slot.length = std::min(slot.length, rows);
  past_ = std::min(past_, rows);
}

SequenceState ProgramRunner::state() const {
  SequenceState state{
      .past = past_, .runs = runs_, .generators = {generators_.begin(), generators_.end()}, .slots = {}};
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const lir::Slot& slot = compiled_->program.slots[i];
    const lir::SlotStorage& storage = slots_[i];
    SequenceState::Slot& saved = state.slots.emplace_back();
    saved = {.name = slot.name, .layout = slot.layout->name(), .rows = storage.length, .planes = {}};
    for (std::size_t p = 0; p < storage.planes.size(); ++p) {
      const lir::SlotPlane& plane = slot.layout->planes()[p];
      const std::int64_t blocks = plane.blocks_for(storage.length), rest = storage.length % plane.block_rows;
      std::vector<std::byte>& bytes = saved.planes.emplace_back(static_cast<std::size_t>(blocks) * plane.block_bytes);
      move_blocks(plane, {bytes.data(), static_cast<std::int64_t>(plane.block_bytes)}, storage.planes[p], blocks);
      if (rest != 0) slot.layout->clear(bytes.data() + bytes.size() - plane.block_bytes, rest);
    }
  }
  return state;
}

void ProgramRunner::set_state(const SequenceState& state) {
  const lir::Program& program = compiled_->program;
  std::vector<ExpectedSlot> expected;
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const lir::Slot& slot = program.slots[i];
    const std::int64_t rows = i < state.slots.size() ? state.slots[i].rows : 0, capacity = compiled_->capacity(slot);
    if (capacity > 0 && rows > capacity)
      fail(ErrorKind::out_of_range, "ContextOverflow", "@" + slot.name, "the state has {} rows, the context {}", rows,
           capacity);
    ExpectedSlot& wanted = expected.emplace_back(ExpectedSlot{slot.name, slot.layout->name(), {}});
    for (const lir::SlotPlane& plane : slot.layout->planes())
      wanted.plane_bytes.push_back(static_cast<std::uint64_t>(plane.blocks_for(rows)) * plane.block_bytes);
  }
  require_slots(state, expected);
  for (lir::SlotStorage& storage : slots_) storage.length = 0;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (state.slots[i].rows > slots_[i].capacity) reserve_slots(state.slots[i].rows);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const SequenceState::Slot& saved = state.slots[i];
    lir::SlotStorage& storage = slots_[i];
    for (std::size_t p = 0; p < storage.planes.size(); ++p) {
      const lir::SlotPlane& plane = program.slots[i].layout->planes()[p];
      auto* bytes = const_cast<std::byte*>(saved.planes[p].data());
      move_blocks(plane, storage.planes[p], {bytes, static_cast<std::int64_t>(plane.block_bytes)},
                  plane.blocks_for(saved.rows));
    }
    storage.length = saved.rows;
  }
  generators_ = {state.generators.begin(), state.generators.end()};
  past_ = state.past;
  runs_ = state.runs;
}

std::vector<OpTiming> ProgramRunner::timings() const {
  std::vector<OpTiming> ran;
  for (std::size_t i = 0; i < timings_.size(); ++i) {
    if (timings_[i].runs == 0) continue;
    OpTiming timing = timings_[i];
    timing.node = compiled_->program.instructions[i].node;
    timing.op = compiled_->program.instructions[i].op;
    ran.push_back(std::move(timing));
  }
  return ran;
}

RunCounters ProgramRunner::counters() const { return counters_; }

std::unique_ptr<Runner> make_program_runner(Graph graph, const WeightSource& weights, ExecConfig config) {
  auto compiled = std::make_shared<const CompiledProgram>(std::move(graph), std::move(config));
  auto bound = std::make_shared<const BoundWeights>(*compiled, weights);
  return std::make_unique<ProgramRunner>(std::move(compiled), std::move(bound));
}

}  // namespace weft
