// The scheduled program that a graph becomes: instructions with chosen kernels, the buffers they read and write, the
// weights and state slots they need. One program serves every size up to its bounds; sizes are bound at run.
//
// A Program is immutable once built and shared between threads. What changes from run to run (arena, state, position)
// belongs to whoever runs it, which hands it to the steps as a Frame. Running an instruction looks nothing up by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/tensor.h"
#include "weft/ir/graph.h"
#include "weft/ir/kernel.h"
#include "weft/lir/size_table.h"

namespace weft {
class ThreadPool;
}

namespace weft::lir {

using BufferId = std::int32_t;
using WeightId = std::int32_t;
using SlotId = std::int32_t;
inline constexpr std::int32_t none = -1;

// Where the bytes of a value or of a helper are, in terms of the program.
struct Operand {
  BufferId buffer = none;
  std::int64_t offset = 0;  // bytes from the buffer's start
  DType dtype = DType::f32;
  std::vector<SizeId> dims = {};
  bool defined() const { return buffer != none; }
};

enum class Storage : std::uint8_t {
  arena,   // intermediates; placed by the memory plan
  input,   // the caller's bytes
  weight,  // a weight in the form that a kernel asked for
  state,   // a plane of a state slot
};

struct Buffer {
  std::string name;
  Storage storage = Storage::arena;
  SizeId bytes = none;        // of an arena buffer
  std::int32_t index = none;  // of the input, the weight or the slot
  std::int32_t plane = 0;     // of the slot
  // Instructions that write it first and read it last; an output lives to the end.
  std::int32_t first = 0, last = 0;
  BufferId root = none;  // the buffer whose bytes it shares (in place), none: its own
};

// How a kernel wants a weight. prepare() runs once for each set of weights and gives what the kernel reads.
class WeightForm {
 public:
  virtual ~WeightForm() = default;
  virtual std::string name() const = 0;  // "f32", "panels q4_0"
  virtual std::size_t byte_size(const TensorType& type) const = 0;
  virtual std::shared_ptr<const void> prepare(const Tensor& weight, ThreadPool& pool) const = 0;
};

struct Weight {
  Value value;  // a Param, a Constant, or what depends on those alone
  std::shared_ptr<const WeightForm> form;
};

// Rows that are stored together. Blocks of a plane lie at a stride that whoever owns the memory chooses, so that planes
// can take turns in it; those of a plane that is read as a tensor are adjacent.
struct SlotPlane {
  std::int64_t block_rows = 1;
  std::uint64_t block_bytes = 0;
  bool adjacent = true;

  std::int64_t blocks_for(std::int64_t rows) const { return (rows + block_rows - 1) / block_rows; }
};

// How a backend keeps the rows of a state slot.
class SlotLayout {
 public:
  SlotLayout(std::string name, std::vector<SlotPlane> planes) : name_(std::move(name)), planes_(std::move(planes)) {}
  virtual ~SlotLayout() = default;
  const std::string& name() const { return name_; }  // "f16 heads"
  const std::vector<SlotPlane>& planes() const { return planes_; }
  // Zeros for rows [first, ...) of a block, for those whose bytes are compared.
  virtual void clear(std::byte* /*block*/, std::int64_t /*first*/) const {}
  std::uint64_t row_bytes() const {  // of all planes
    std::uint64_t bytes = 0;
    for (const SlotPlane& plane : planes_) bytes += plane.block_bytes / static_cast<std::uint64_t>(plane.block_rows);
    return bytes;
  }

 private:
  std::string name_;
  std::vector<SlotPlane> planes_;
};

struct Slot {
  std::string name;
  std::shared_ptr<const SlotLayout> layout = nullptr;
  std::int32_t length_symbol = 0;  // holds the rows before the run
  SizeId rows_after = none;        // rows that the slot holds after the run
  std::int64_t capacity = 0;       // declared by the graph; 0: none
  std::int32_t node = none;        // that appends, for messages
};

struct PlaneStorage {
  std::byte* data = nullptr;  // of the first block
  std::int64_t stride = 0;    // bytes from block to block
};

struct SlotStorage {
  std::vector<PlaneStorage> planes;
  std::int64_t capacity = 0, length = 0;  // rows of room, rows held before the run
};

// What one run hands to the steps.
class Frame {
 public:
  const std::int64_t* sizes = nullptr;  // by SizeId
  std::byte* const* buffers = nullptr;  // by BufferId
  const std::shared_ptr<const void>* weights = nullptr;
  const SlotStorage* slots = nullptr;
  ThreadPool* pool = nullptr;
  std::byte* thread_scratch = nullptr;  // for thread i at i * thread_scratch_stride
  std::size_t thread_scratch_stride = 0;
  std::byte* scratch = nullptr;  // of the instruction that runs
  StateAccess* state = nullptr;  // for steps that run an op's own kernel

  std::int64_t size(SizeId id) const { return sizes[id]; }
  std::int64_t dim(const Operand& operand, std::size_t axis) const { return sizes[operand.dims[axis]]; }
  std::int64_t numel(const Operand& operand) const {
    std::int64_t count = 1;
    for (const SizeId id : operand.dims) count *= sizes[id];
    return count;
  }
  template <class T = float>
  T* data(const Operand& operand) const {
    return reinterpret_cast<T*>(buffers[operand.buffer] + operand.offset);
  }
  template <class T>
  const T& weight(WeightId id) const {
    return *static_cast<const T*>(weights[id].get());
  }
  template <class T = std::byte>
  T* scratch_of(int thread) const {
    return reinterpret_cast<T*>(thread_scratch + static_cast<std::size_t>(thread) * thread_scratch_stride);
  }
};

// What an instruction costs at given sizes.
struct Cost {
  double flops = 0;
  double weight_bytes = 0, state_bytes = 0, activation_bytes = 0;
  double bytes() const { return weight_bytes + state_bytes + activation_bytes; }
};

// The code of an instruction. Steps of the CPU backend allocate nothing in run().
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const Frame& frame) const = 0;
  // Bytes of scratch that run() needs, at sizes that no run exceeds; they grow with the sizes.
  virtual std::size_t scratch_bytes(const std::int64_t* /*sizes*/, int /*threads*/) const { return 0; }
  virtual std::size_t thread_scratch_bytes(const std::int64_t* /*sizes*/) const { return 0; }
  virtual Cost cost(const std::int64_t* /*sizes*/) const { return {}; }
};

struct Instruction {
  std::string op;            // "MatMul"
  std::string kernel;        // "linear q4_0 avx512-vnni"
  std::string backend;       // "cpu"
  std::int32_t node = none;  // of the graph; the last one that it covers
  std::vector<Operand> inputs = {}, outputs = {};
  std::vector<WeightId> weights = {};
  std::vector<SlotId> slots = {};
  // Output 0 may take the place of this input where that dies here; none: never.
  std::int32_t in_place_input = none;
  std::unique_ptr<const Step> step = nullptr;
};

struct ProgramInput {
  std::int32_t node = 0;  // the Input node
  BufferId buffer = none;
  DType dtype = DType::f32;
  std::vector<SizeId> dims;
  std::vector<std::int32_t> symbols;  // by axis: the symbol that the axis is; none: another dim
};

struct ProgramOutput {
  std::string name;
  Operand operand;
};

struct SizeConstraint {
  SizeId a = none, b = none;
  std::int32_t node = 0;
  std::string what;
};

struct Program {
  SizeTable sizes;
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;
  std::vector<Weight> weights;
  std::vector<Slot> slots;
  std::vector<ProgramInput> inputs;
  std::vector<ProgramOutput> outputs;
  std::vector<SizeConstraint> constraints;
};

}  // namespace weft::lir
