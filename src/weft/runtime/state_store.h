// The storage behind a graph's rows slots, one store per sequence. Rows are appended in place; what readers get are
// views. A run's appends become part of the state with commit() and vanish with rollback(). One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/tensor.h"
#include "weft/ir/graph.h"
#include "weft/runtime/sequence_state.h"

namespace weft {

// Rows of room in a slot without a bound.
inline constexpr std::int64_t default_reservation = 1 << 16;

// One plane of a slot: rows of equal size in pages that the system provides when they are first written. Room for
// `reserved_rows` costs address space alone; beyond it the storage moves to twice the room.
class RowStorage {
 public:
  RowStorage(DType dtype, std::int64_t width, std::int64_t reserved_rows);

  std::int64_t width() const { return width_; }
  DType dtype() const { return dtype_; }
  std::size_t row_bytes() const { return row_bytes_; }
  void write(std::int64_t row, std::span<const std::byte> bytes);
  Tensor view(std::int64_t rows) const;  // [rows, width]; stays valid when the storage moves
  bool holds(const std::byte* address) const;
  std::uint64_t moved_bytes() const { return moved_bytes_; }

 private:
  struct Mapping;
  void reserve(std::int64_t rows, std::int64_t used);
  DType dtype_;
  std::int64_t width_;
  std::size_t row_bytes_;
  std::int64_t reserved_rows_ = 0;
  std::shared_ptr<Mapping> mapping_;
  std::uint64_t moved_bytes_ = 0;
};

struct StateCounters {
  std::uint64_t appended_bytes = 0;  // new rows written
  std::uint64_t moved_bytes = 0;     // old rows copied because a storage outgrew its reservation
};

class StateStore {
 public:
  // `capacity` bounds the rows of slots that declare none; 0: no bound.
  StateStore(const Graph& graph, std::int64_t capacity);

  std::size_t slot_count() const { return slots_.size(); }
  std::size_t slot_index(std::string_view name) const;
  std::int64_t length(std::size_t slot) const { return slots_[slot].committed; }
  // Appends to all planes of a slot. KvRowWidthChanged, KvBatch and ContextOverflow are refused, nothing appended.
  std::vector<Tensor> append(std::string_view slot, std::span<const Tensor> rows, const std::string& where);
  void commit();
  void rollback();
  void reset();
  // The committed rows of all slots, and a store as it was then; StateMismatch and ContextOverflow change nothing.
  std::vector<SequenceState::Slot> save() const;
  void restore(const SequenceState& state);
  // Forgets all rows from `rows` on, in every slot that has more.
  void truncate(std::int64_t rows);
  std::uint64_t bytes_per_row() const;  // of all slots together
  bool holds(const std::byte* address) const;
  StateCounters counters() const;
  std::int64_t capacity(std::size_t slot) const { return slots_[slot].capacity; }  // 0: none

 private:
  struct Slot {
    std::string name;
    std::vector<RowStorage> planes;
    std::int64_t committed = 0, pending = 0;  // rows before this run, and with it
    std::int64_t capacity = 0;
  };
  std::vector<Slot> slots_;
  std::uint64_t appended_bytes_ = 0;
};

}  // namespace weft
