// The layout of an operand of attention: what a node says, or what its shape tells.
#include <algorithm>

#include "weft/base/fail.h"
#include "weft/ops/attention.h"

namespace weft::ops {
namespace {

std::string listed(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

}  // namespace

AttributeSpec layout_attribute(const char* name, const char* doc) {
  return {.name = name,
          .type = AttributeType::choice,
          .default_value = std::string("auto"),
          .doc = doc,
          .choices = head_layouts()};
}

HeadDims resolve_layout(InferContext& context, std::size_t input, const char* attribute, std::int64_t heads,
                        std::optional<std::int64_t> width, const std::string& preferred) {
  const Shape& shape = context.shape(input);
  const std::string name(context.node().schema->inputs[input].name);
  const std::vector<std::string> possible = layouts_of_rank(shape.rank());
  if (possible.empty()) context.fail_shape(fmt::format("{} is {}, expected rank 1 to 4", name, shape.text()));
  const std::string given = context.node().text(attribute);
  const std::string expected = width ? fmt::format("{} heads of {}", heads, *width) : fmt::format("{} heads", heads);
  if (given == "auto") {
    const auto chosen = choose_layout(shape, heads, width, preferred);
    if (!chosen) {
      const bool none = fitting_layouts(shape, heads, width).empty();
      if (none && shape.is_static())
        context.fail_shape(
            fmt::format("{} is {}: as {} it has not {}", name, shape.text(), listed(possible), expected));
      context.fail_attribute(attribute, fmt::format("{} is {} with {}: that does not say which of {} it is; name one",
                                                    name, shape.text(), expected, listed(possible)));
    }
    context.set_attribute(attribute, *chosen);
    return *head_dims(shape, *chosen, heads);
  }
  if (std::find(possible.begin(), possible.end(), given) == possible.end())
    context.fail_attribute(attribute, fmt::format("{} does not fit {} of shape {}: expected one of {}", given, name,
                                                  shape.text(), listed(possible)));
  const auto dims = head_dims(shape, given, heads);
  if (!dims) context.fail_shape(fmt::format("{} is {}: as {} it has not {}", name, shape.text(), given, expected));
  context.require_equal(dims->heads, Dim(heads), fmt::format("the heads of {} {} as {}", name, shape.text(), given));
  if (width)
    context.require_equal(dims->width, Dim(*width),
                          fmt::format("the head width of {} {} as {}", name, shape.text(), given));
  return *dims;
}

HeadSteps::HeadSteps(const std::vector<std::int64_t>& dims, const std::string& layout, std::int64_t head_count)
    : heads(head_count) {
  const auto sizes = head_dims(Shape(dims), layout, head_count);
  batch = *sizes->batch.value();
  tokens = *sizes->tokens.value();
  width = *sizes->width.value();
  const bool head_major = is_head_major(layout);
  head_step = head_major ? tokens * width : width;
  token_step = head_major ? width : heads * width;
  batch_step = batch == 1 ? 0 : heads * tokens * width;
}

}  // namespace weft::ops
