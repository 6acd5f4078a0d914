#include "weft/backend/cpu/window_tile.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace weft::cpu {
namespace {

std::vector<AxisPhase> axis_phases(const ops::WindowAxis& axis, bool transposed) {
  std::vector<AxisPhase> phases;
  if (!transposed) {
    AxisPhase& only = phases.emplace_back();
    only.in_step = axis.stride;
    for (std::int64_t k = 0; k < axis.kernel; ++k) only.taps.push_back({k, k * axis.dilation - axis.low});
    return phases;
  }
  for (std::int64_t first = 0; first < axis.stride; ++first) {
    AxisPhase& phase = phases.emplace_back();
    phase.first = first;
    phase.step = axis.stride;
    for (std::int64_t k = 0; k < axis.kernel; ++k)
      if (const std::int64_t reach = first + axis.low - k * axis.dilation; reach % axis.stride == 0)
        phase.taps.push_back({k, reach / axis.stride});
  }
  return phases;
}

}  // namespace

void copy_row(const VectorKernels& kernels, const float* row, std::int64_t size, std::int64_t start, std::int64_t step,
              std::int64_t length, float before, float behind, float* out) {
  const std::int64_t first = start >= 0 ? 0 : std::min(length, (-start + step - 1) / step);
  const std::int64_t last = start + (length - 1) * step < size ? length
                            : start >= size                    ? first
                                            : std::clamp((size - start + step - 1) / step, first, length);
  std::fill(out, out + first, before);
  if (step == 1)
    std::memcpy(out + first, row + start + first, static_cast<std::size_t>(last - first) * sizeof(float));
  else
    kernels.every(row + start + first * step, step, out + first, last - first);
  std::fill(out + last, out + length, behind);
}

std::vector<Phase> phases_of(const ops::Windows& windows, bool transposed) {
  std::vector<Phase> phases;
  for (const AxisPhase& a : axis_phases(windows.axes[0], transposed))
    for (const AxisPhase& b : axis_phases(windows.axes[1], transposed))
      for (const AxisPhase& c : axis_phases(windows.axes[2], transposed)) phases.push_back({{a, b, c}});
  return phases;
}

Tile::Tile(const Phase& phase, const std::int64_t (&counts)[3], std::int64_t first, std::int64_t count)
    : phase_(phase), count_(count) {
  std::int64_t at[3] = {first / (counts[1] * counts[2]), first / counts[2] % counts[1], first % counts[2]};
  while (count > 0) {
    Run& run = run_[runs_++];
    std::copy(at, at + 3, run.at);
    run.length = std::min(count, counts[2] - at[2]);
    count -= run.length;
    at[2] = 0;
    if (++at[1] == counts[1]) {
      at[1] = 0;
      ++at[0];
    }
  }
}

void Tile::fill(const VectorKernels& kernels, const float* x, const ops::ImageDims& in, std::int64_t k,
                std::int64_t depth, Outside outside, float* rows) const {
  if (depth == 0) return;  // a phase may have no taps
  const auto& axes = phase_.axes;
  const std::size_t down = axes[1].taps.size(), across = axes[2].taps.size();
  const std::int64_t taps = phase_.taps(), first_tap = k % taps;
  const bool nearest = outside == Outside::nearest;
  const float filler = outside == Outside::lowest ? -std::numeric_limits<float>::infinity() : 0.0f;
  // The tap of each axis that row k reads, moved on as one counts.
  std::size_t tap[3] = {static_cast<std::size_t>(first_tap) / (down * across),
                        static_cast<std::size_t>(first_tap) / across % down,
                        static_cast<std::size_t>(first_tap) % across};
  const float* plane = x + k / taps * in.pixels();
  for (const float* end = rows + depth * tile_columns; rows < end; rows += tile_columns) {
    float* out = rows;
    for (int r = 0; r < runs_; out += run_[r++].length) {
      const Run& run = run_[r];
      std::int64_t i = run.at[0] * axes[0].in_step + axes[0].taps[tap[0]].offset,
                   j = run.at[1] * axes[1].in_step + axes[1].taps[tap[1]].offset;
      if (nearest) {
        i = std::clamp<std::int64_t>(i, 0, in.spatial[0] - 1);
        j = std::clamp<std::int64_t>(j, 0, in.spatial[1] - 1);
      }
      if (i < 0 || i >= in.spatial[0] || j < 0 || j >= in.spatial[1] || in.spatial[2] == 0) {
        std::fill(out, out + run.length, filler);
        continue;
      }
      const float* row = plane + (i * in.spatial[1] + j) * in.spatial[2];
      copy_row(kernels, row, in.spatial[2], run.at[2] * axes[2].in_step + axes[2].taps[tap[2]].offset, axes[2].in_step,
               run.length, nearest ? row[0] : filler, nearest ? row[in.spatial[2] - 1] : filler, out);
    }
    std::fill(out, rows + tile_columns, 0.0f);
    if (++tap[2] < across) continue;
    tap[2] = 0;
    if (++tap[1] < down) continue;
    tap[1] = 0;
    if (++tap[0] < axes[0].taps.size()) continue;
    tap[0] = 0;
    plane += in.pixels();
  }
}

void Tile::store(const float* values, const ops::ImageDims& out, float* y) const {
  const auto& axes = phase_.axes;
  for (int r = 0; r < runs_; values += run_[r++].length) {
    const Run& run = run_[r];
    std::int64_t at[3];
    for (int axis = 0; axis < 3; ++axis) at[axis] = axes[axis].first + run.at[axis] * axes[axis].step;
    float* to = y + (at[0] * out.spatial[1] + at[1]) * out.spatial[2] + at[2];
    if (axes[2].step == 1)
      std::memcpy(to, values, static_cast<std::size_t>(run.length) * sizeof(float));
    else
      for (std::int64_t i = 0; i < run.length; ++i) to[i * axes[2].step] = values[i];
  }
}

}  // namespace weft::cpu
