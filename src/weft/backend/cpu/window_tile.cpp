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

// Elements start, start + step, ... of a row of `size`, `length` of them.
void copy_row(const float* row, std::int64_t size, std::int64_t start, std::int64_t step, std::int64_t length,
              float before, float behind, float* out) {
  const std::int64_t first = start >= 0 ? 0 : std::min(length, (-start + step - 1) / step);
  const std::int64_t last = start >= size ? first : std::clamp((size - start + step - 1) / step, first, length);
  std::fill(out, out + first, before);
  if (step == 1)
    std::memcpy(out + first, row + start + first, static_cast<std::size_t>(last - first) * sizeof(float));
  else
    for (std::int64_t i = first; i < last; ++i) out[i] = row[start + i * step];
  std::fill(out + last, out + length, behind);
}

}  // namespace

std::int64_t phase_count(const ops::Windows& windows, bool transposed) {
  return transposed ? windows.axes[0].stride * windows.axes[1].stride * windows.axes[2].stride : 1;
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

void Tile::fill(const float* x, const ops::ImageDims& in, std::int64_t k, std::int64_t depth, Outside outside,
                float* rows) const {
  const auto& axes = phase_.axes;
  const auto across = static_cast<std::int64_t>(axes[2].taps.size()),
             down = static_cast<std::int64_t>(axes[1].taps.size());
  const std::int64_t taps = phase_.taps();
  const float filler = outside == Outside::lowest ? -std::numeric_limits<float>::infinity() : 0.0f;
  for (std::int64_t end = k + depth; k < end; ++k, rows += tile_columns) {
    const std::int64_t tap = k % taps;
    const std::int64_t offsets[3] = {axes[0].taps[static_cast<std::size_t>(tap / (down * across))].offset,
                                     axes[1].taps[static_cast<std::size_t>(tap / across % down)].offset,
                                     axes[2].taps[static_cast<std::size_t>(tap % across)].offset};
    const float* plane = x + k / taps * in.pixels();
    float* out = rows;
    for (int r = 0; r < runs_; out += run_[r++].length) {
      const Run& run = run_[r];
      std::int64_t i = run.at[0] * axes[0].in_step + offsets[0], j = run.at[1] * axes[1].in_step + offsets[1];
      if (outside == Outside::nearest) {
        i = std::clamp<std::int64_t>(i, 0, in.spatial[0] - 1);
        j = std::clamp<std::int64_t>(j, 0, in.spatial[1] - 1);
      }
      if (i < 0 || i >= in.spatial[0] || j < 0 || j >= in.spatial[1] || in.spatial[2] == 0) {
        std::fill(out, out + run.length, filler);
        continue;
      }
      const float* row = plane + (i * in.spatial[1] + j) * in.spatial[2];
      const bool nearest = outside == Outside::nearest;
      copy_row(row, in.spatial[2], run.at[2] * axes[2].in_step + offsets[2], axes[2].in_step, run.length,
               nearest ? row[0] : filler, nearest ? row[in.spatial[2] - 1] : filler, out);
    }
    std::fill(out, rows + tile_columns, 0.0f);
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
