// Images from patches.
#include "weft/ops/patches.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/infer.h"
#include "weft/ir/kernel.h"

namespace weft::ops {
namespace {

// The integer whose square is `value`; nothing when there is none.
std::optional<std::int64_t> exact_root(std::int64_t value) {
  const auto root = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(value))));
  return root * root == value ? std::optional(root) : std::nullopt;
}

std::int64_t known(const InferContext& context, const Dim& dim, const char* what) {
  if (const auto size = dim.value()) return *size;
  context.fail_shape(fmt::format("{} must be known before a run, found {}", what, dim.text()));
}

// Patches are squares that tile an image of the size of `image`.
void infer_from_image(InferContext& context) {
  const Shape &x = context.shape(0), &image = context.shape(1);
  context.require_rank(1, 4, 4);
  const std::int64_t patches = known(context, x[1], "the number of patches"),
                     high = known(context, image[2], "the height of the image"),
                     wide = known(context, image[3], "the width of the image");
  const auto side = patches == 0 || high * wide % patches != 0 ? std::nullopt : exact_root(high * wide / patches);
  if (!side || *side == 0 || high % *side != 0 || wide % *side != 0)
    context.fail_shape(fmt::format("{} patches cannot tile an image of {} x {} with squares", patches, high, wide));
  context.require_equal(image[1] * Dim(*side * *side), x[2], "the values of a patch and the last axis of x");
  context.output({x[0], image[1], image[2], image[3]}, context.dtype(0));
}

void infer_unpatchify(InferContext& context) {
  context.require_rank(0, 3, 3);
  if (is_packed(context.dtype(0))) context.fail_dtype("packed values have no places of their own");
  const Shape& x = context.shape(0);
  const std::vector<std::int64_t>& patch = context.node().integers("patch");
  if (context.has(1)) {
    if (!patch.empty()) context.fail_attribute("patch", "the image tells it");
    return infer_from_image(context);
  }
  if (patch.size() != 2 || patch[0] < 1 || patch[1] < 1)
    context.fail_attribute("patch", "expected the height and the width of a patch, 1 or more");
  const std::int64_t area = patch[0] * patch[1];
  const Dim channels = floor_div(x[2], area);
  context.require_equal(channels * Dim(area), x[2], "whole channels and the last axis of x");
  const auto side = [&](const char* name) {
    const auto size = context.node().optional_integer(name);
    if (size && *size < 1) context.fail_attribute(name, fmt::format("{} is not 1 or more", *size));
    return size;
  };
  auto rows = side("grid_h"), columns = side("grid_w");
  if (!rows && !columns) {
    const auto square = exact_root(known(context, x[1], "the number of patches"));
    if (!square) context.fail_shape(fmt::format("{} patches form no square; give the grid", x[1].text()));
    rows = columns = square;
  }
  const Dim down = rows ? Dim(*rows) : floor_div(x[1], *columns),
            across = columns ? Dim(*columns) : floor_div(x[1], *rows);
  context.require_equal(down * across, x[1], "the patches of the grid and of x");
  context.output({x[0], channels, down * Dim(patch[0]), across * Dim(patch[1])}, context.dtype(0));
}

void run_unpatchify(const KernelContext& context) {
  const Tensor &x = context.input(0), &y = context.output(0);
  if (x.numel() == 0) return;
  const PatchGrid grid = patch_grid(patch_layout(context.node()), x.dims(), y.dims());
  const std::size_t element = dtype_info(x.dtype()).block_bytes;
  const std::byte* from = x.bytes().data();
  std::byte* to = context.output(0).mutable_bytes().data();
  const std::int64_t width = grid.columns * grid.wide, patch = grid.channels * grid.high * grid.wide;
  context.pool().parallel_for(
      grid.batch * grid.channels * grid.rows * grid.high, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t line = begin; line < end; ++line) {
          const std::int64_t i = line % grid.high, row = line / grid.high % grid.rows;
          const std::int64_t channel = line / (grid.high * grid.rows) % grid.channels;
          const std::int64_t n = line / (grid.high * grid.rows * grid.channels);
          const std::int64_t start =
              (n * grid.rows + row) * grid.columns * patch + channel * grid.channel_stride + i * grid.line_stride;
          for (std::int64_t j = 0; j < width; ++j) {
            const std::int64_t at = start + j / grid.wide * patch + j % grid.wide * grid.column_stride;
            std::memcpy(to + static_cast<std::size_t>(line * width + j) * element,
                        from + static_cast<std::size_t>(at) * element, element);
          }
        }
      });
}

const OpRegistration unpatchify{{
    .name = "Unpatchify",
    .tag = 184,
    .family = "patches",
    .maths =
        "x [B, N, values] of N patches in raster order becomes images [B, C, rows * high, columns * wide]; a patch "
        "holds its values as [C, high, wide], or for ppc as [high, wide, C]. The grid is grid_h by grid_w, of "
        "which one follows from the other, and a square without either. An image as second operand gives C and "
        "the size instead, of square patches; its values are not read.",
    .attributes = {{.name = "patch",
                    .type = AttributeType::integers,
                    .default_value = std::vector<std::int64_t>(),
                    .doc = "height and width of a patch; empty: the image tells"},
                   {.name = "grid_h", .type = AttributeType::integer, .doc = "patches in a column"},
                   {.name = "grid_w", .type = AttributeType::integer, .doc = "patches in a row"},
                   {.name = "order",
                    .type = AttributeType::choice,
                    .default_value = std::string("cpp"),
                    .doc = "of the values of a patch: channels first or last",
                    .choices = {"cpp", "ppc"}}},
    .inputs = {{.name = "x"}, {.name = "image", .presence = Presence::optional, .doc = "of the size of the result"}},
    .op_class = OpClass::movement,
    .infer = infer_unpatchify,
    .reference = run_unpatchify,
    .unfuse = Rule::not_applicable("a primitive"),
}};

}  // namespace

PatchLayout patch_layout(const Node& node) {
  PatchLayout layout{.channels_first = node.text("order") == "cpp"};
  if (const std::vector<std::int64_t>& patch = node.integers("patch"); !patch.empty()) {
    layout.high = patch[0];
    layout.wide = patch[1];
  }
  return layout;
}

PatchGrid patch_grid(const PatchLayout& layout, std::span<const std::int64_t> x, std::span<const std::int64_t> image) {
  PatchGrid grid{.batch = x[0], .channels = image[1], .high = layout.high, .wide = layout.wide};
  if (grid.high == 0) grid.high = grid.wide = exact_root(image[2] * image[3] / x[1]).value();
  grid.rows = image[2] / grid.high;
  grid.columns = image[3] / grid.wide;
  grid.channel_stride = layout.channels_first ? grid.high * grid.wide : 1;
  grid.column_stride = layout.channels_first ? 1 : grid.channels;
  grid.line_stride = grid.wide * grid.column_stride;
  return grid;
}

}  // namespace weft::ops
