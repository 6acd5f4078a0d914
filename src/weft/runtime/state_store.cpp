#include "weft/runtime/state_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "weft/base/fail.h"

namespace weft {

struct RowStorage::Mapping {
  explicit Mapping(std::size_t bytes) : size(bytes) {
    if (size == 0) return;
    data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
      data = nullptr;
      fail(ErrorKind::out_of_memory, "OutOfMemory", "state storage", "cannot reserve {} bytes", size);
    }
  }
  ~Mapping() {
    if (data != nullptr) ::munmap(data, size);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* bytes() const { return static_cast<std::byte*>(data); }
  void* data = nullptr;
  std::size_t size = 0;
};

RowStorage::RowStorage(DType dtype, std::int64_t width, std::int64_t reserved_rows)
    : dtype_(dtype), width_(width), row_bytes_(byte_size(dtype, std::array{width})) {
  reserve(std::max<std::int64_t>(reserved_rows, 1), 0);
}

void RowStorage::reserve(std::int64_t rows, std::int64_t used) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(rows), row_bytes_, &bytes))
    fail(ErrorKind::out_of_memory, "OutOfMemory", "state storage", "{} rows of {} bytes exceed 64 bits", rows,
         row_bytes_);
  auto fresh = std::make_shared<Mapping>(bytes);
  const std::size_t keep = static_cast<std::size_t>(used) * row_bytes_;
  if (keep > 0) std::memcpy(fresh->bytes(), mapping_->bytes(), keep);
  moved_bytes_ += keep;
  mapping_ = std::move(fresh);
  reserved_rows_ = rows;
}

void RowStorage::write(std::int64_t row, std::span<const std::byte> bytes) {
  const auto count = row_bytes_ == 0 ? 0 : static_cast<std::int64_t>(bytes.size() / row_bytes_);
  if (row + count > reserved_rows_) reserve(std::max(row + count, 2 * reserved_rows_), row);
  if (!bytes.empty())
    std::memcpy(mapping_->bytes() + static_cast<std::size_t>(row) * row_bytes_, bytes.data(), bytes.size());
}

Tensor RowStorage::view(std::int64_t rows) const {
  return Tensor::wrap(mapping_, {mapping_->bytes(), static_cast<std::size_t>(rows) * row_bytes_}, dtype_,
                      {rows, width_});
}

bool RowStorage::holds(const std::byte* address) const {
  return mapping_->size > 0 && address >= mapping_->bytes() && address < mapping_->bytes() + mapping_->size;
}

StateStore::StateStore(const Graph& graph, std::int64_t capacity) {
  for (const StateDecl& declared : graph.states()) {
    if (declared.kind != StateKind::rows)
      fail(ErrorKind::unsupported, "UnsupportedState", "@" + declared.name,
           "this runtime keeps states of kind rows only");
    Slot slot{.name = declared.name, .planes = {}, .capacity = declared.capacity.value_or(capacity)};
    for (const std::int64_t width : declared.planes)
      slot.planes.emplace_back(declared.dtype, width, slot.capacity > 0 ? slot.capacity : default_reservation);
    slots_.push_back(std::move(slot));
  }
}

std::size_t StateStore::slot_index(std::string_view name) const {
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].name == name) return i;
  fail(ErrorKind::invalid_graph, "UnknownState", "", "the graph declares no state @{}", name);
}

std::vector<Tensor> StateStore::append(std::string_view name, std::span<const Tensor> rows, const std::string& where) {
  Slot& slot = slots_[slot_index(name)];
  if (rows.size() != slot.planes.size())
    fail(ErrorKind::invalid_graph, "BadArity", where, "state @{} has {} planes, {} tensors are appended", name,
         slot.planes.size(), rows.size());
  const std::int64_t count = rows.empty() ? 0 : rows[0].dim(0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].rank() != 2 || rows[i].dim(1) != slot.planes[i].width())
      fail(ErrorKind::shape_mismatch, "KvRowWidthChanged", where, "state @{} holds rows of {}, found {}", name,
           slot.planes[i].width(), dims_text(rows[i].dims()));
    if (rows[i].dim(0) != count)
      fail(ErrorKind::shape_mismatch, "ShapeMismatch", where, "planes of state @{} get {} and {} rows", name, count,
           rows[i].dim(0));
  }
  if (slot.capacity > 0 && slot.pending + count > slot.capacity)
    fail(ErrorKind::out_of_range, "ContextOverflow", where, "{} rows are in state @{}, {} more exceed its {}",
         slot.pending, name, count, slot.capacity);
  std::vector<Tensor> views;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    slot.planes[i].write(slot.pending, rows[i].bytes());
    appended_bytes_ += rows[i].byte_size();
    views.push_back(slot.planes[i].view(slot.pending + count));
  }
  slot.pending += count;
  return views;
}

void StateStore::commit() {
  for (Slot& slot : slots_) slot.committed = slot.pending;
}

void StateStore::rollback() {
  for (Slot& slot : slots_) slot.pending = slot.committed;
}

void StateStore::reset() {
  for (Slot& slot : slots_) slot.committed = slot.pending = 0;
}

namespace {

std::string rows_layout(const RowStorage& plane) { return fmt::format("plain {} rows", to_string(plane.dtype())); }

}  // namespace

std::vector<SequenceState::Slot> StateStore::save() const {
  std::vector<SequenceState::Slot> saved;
  for (const Slot& slot : slots_) {
    SequenceState::Slot& copy = saved.emplace_back();
    copy = {.name = slot.name, .layout = rows_layout(slot.planes.front()), .rows = slot.committed, .planes = {}};
    for (const RowStorage& plane : slot.planes) {
      const Tensor rows = plane.view(slot.committed);
      copy.planes.emplace_back(rows.bytes().begin(), rows.bytes().end());
    }
  }
  return saved;
}

void StateStore::restore(const SequenceState& state) {
  std::vector<ExpectedSlot> expected;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    const std::int64_t rows = i < state.slots.size() ? state.slots[i].rows : 0;
    if (slot.capacity > 0 && rows > slot.capacity)
      fail(ErrorKind::out_of_range, "ContextOverflow", "@" + slot.name, "the state has {} rows, the context {}", rows,
           slot.capacity);
    ExpectedSlot& wanted = expected.emplace_back(ExpectedSlot{slot.name, rows_layout(slot.planes.front()), {}});
    for (const RowStorage& plane : slot.planes)
      wanted.plane_bytes.push_back(plane.row_bytes() * static_cast<std::uint64_t>(rows));
  }
  require_slots(state, expected);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    for (std::size_t plane = 0; plane < slots_[i].planes.size(); ++plane)
      slots_[i].planes[plane].write(0, state.slots[i].planes[plane]);
    slots_[i].committed = slots_[i].pending = state.slots[i].rows;
  }
}

void StateStore::truncate(std::int64_t rows) {
  for (Slot& slot : slots_) slot.committed = slot.pending = std::min(slot.committed, rows);
}

std::uint64_t StateStore::bytes_per_row() const {
  std::uint64_t bytes = 0;
  for (const Slot& slot : slots_)
    for (const RowStorage& plane : slot.planes) bytes += plane.row_bytes();
  return bytes;
}

bool StateStore::holds(const std::byte* address) const {
  for (const Slot& slot : slots_)
    for (const RowStorage& plane : slot.planes)
      if (plane.holds(address)) return true;
  return false;
}

StateCounters StateStore::counters() const {
  StateCounters counters{.appended_bytes = appended_bytes_};
  for (const Slot& slot : slots_)
    for (const RowStorage& plane : slot.planes) counters.moved_bytes += plane.moved_bytes();
  return counters;
}

}  // namespace weft
