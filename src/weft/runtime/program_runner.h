// One sequence of a compiled program: its arena, its state slots, its position. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/base/random.h"
#include "weft/ir/kernel.h"
#include "weft/lir/memory_plan.h"
#include "weft/runtime/compiled_program.h"
#include "weft/runtime/position_inputs.h"
#include "weft/runtime/profile.h"
#include "weft/runtime/runner.h"

namespace weft {

// Address space whose pages the system provides when they are first written.
class ReservedMemory {
 public:
  ReservedMemory() = default;
  ReservedMemory(std::size_t bytes, const char* what);  // OutOfMemory
  void prefer_huge_pages();
  ~ReservedMemory();
  ReservedMemory(ReservedMemory&& other) noexcept;
  ReservedMemory& operator=(ReservedMemory&& other) noexcept;
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

class ProgramRunner final : public Runner, private StateAccess {
 public:
  ProgramRunner(std::shared_ptr<const CompiledProgram> compiled, std::shared_ptr<const BoundWeights> weights);

  std::unique_ptr<Runner> another() const override;
  NamedTensors run(const NamedTensors& inputs) override;
  std::span<const TensorView> run_views(std::span<const TensorView> inputs) override;
  void reset() override;
  void truncate(std::int64_t rows) override;
  SequenceState state() const override;
  void set_state(const SequenceState& state) override;
  std::int64_t past() const override { return past_; }
  const Graph& graph() const override { return compiled_->graph; }
  const std::vector<Placement>& placements() const override { return compiled_->placements; }
  std::vector<OpTiming> timings() const override;
  RunCounters counters() const override;
  const Profile* profile() const override { return profile_ ? &*profile_ : nullptr; }

  const CompiledProgram& compiled() const { return *compiled_; }
  std::shared_ptr<const CompiledProgram> shared_program() const { return compiled_; }
  std::shared_ptr<const BoundWeights> shared_weights() const { return weights_; }
  void set_weights(std::shared_ptr<const BoundWeights> weights);

 private:
  // What steps that run an op's own kernel may ask for.
  std::vector<Tensor> append(std::string_view slot, std::span<const Tensor> rows) override;
  Pcg32& generator(std::int32_t node, std::int64_t seed) override;
  std::int64_t run_index() const override { return runs_; }

  void bind_symbols(std::span<const TensorView> inputs);
  void check_sizes(std::span<const TensorView> inputs) const;
  void check_memory_limit() const;
  void plan_for_run();
  void replan();
  void reserve_slots(std::int64_t rows);
  void fill_positions();
  void execute();
  void check_finite(const lir::Instruction& instruction, const lir::Frame& frame) const;
  std::string input_name(std::size_t input) const;

  std::shared_ptr<const CompiledProgram> compiled_;
  std::shared_ptr<const BoundWeights> weights_;
  RowCount row_count_;

  // By symbol: the values of this run, whether it has one, and what the arena is planned for.
  std::vector<std::int64_t> symbols_, planned_;
  std::vector<char> bound_;
  std::vector<std::int64_t> sizes_;  // by SizeId
  bool is_planned_ = false;
  lir::ArenaPlan plan_;
  ReservedMemory arena_, thread_scratch_;
  std::vector<std::byte*> buffers_;                // by BufferId
  std::vector<std::vector<std::byte>> positions_;  // by input
  std::vector<std::int32_t> caller_inputs_;        // of the program's inputs, those that the caller gives
  std::vector<ReservedMemory> slot_memory_;
  std::vector<lir::SlotStorage> slots_;
  std::vector<std::vector<std::int64_t>> output_dims_;
  std::vector<TensorView> outputs_;

  std::unordered_map<std::int32_t, Pcg32> generators_;
  std::int64_t past_ = 0, runs_ = 0;
  RunCounters counters_;
  std::optional<Profile> profile_;
  std::vector<OpTiming> timings_;  // by instruction, where there is a profile
};

}  // namespace weft
