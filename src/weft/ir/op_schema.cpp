#include "weft/ir/op_schema.h"

#include <algorithm>
#include <map>
#include <memory>

#include "weft/base/fail.h"

namespace weft {

std::optional<std::size_t> OpSchema::attribute_index(std::string_view attribute) const {
  for (std::size_t i = 0; i < attributes.size(); ++i)
    if (attributes[i].name == attribute) return i;
  return std::nullopt;
}

std::size_t OpSchema::min_inputs() const {
  return static_cast<std::size_t>(std::count_if(
      inputs.begin(), inputs.end(), [](const InputSpec& input) { return input.presence == Presence::required; }));
}

std::size_t OpSchema::max_inputs() const {
  const bool variadic = !inputs.empty() && inputs.back().presence == Presence::variadic;
  return variadic ? SIZE_MAX : inputs.size();
}

struct OpRegistry::Impl {
  std::map<std::uint32_t, std::unique_ptr<const OpSchema>> by_tag;
  std::map<std::string, const OpSchema*, std::less<>> by_name;
};

// Schemas are used by graphs in static storage too, so the registry is never destroyed.
OpRegistry::OpRegistry() : impl_(new Impl) {}

OpRegistry& OpRegistry::global() {
  static OpRegistry registry;
  return registry;
}

const OpSchema& OpRegistry::add(OpSchema schema) {
  const auto refuse = [&](const char* reason) {
    fail(ErrorKind::invalid_argument, "BadSchema", fmt::format("op {} (tag {})", schema.name, schema.tag), "{}",
         reason);
  };
  if (schema.name.empty()) refuse("an op needs a name");
  if (impl_->by_name.contains(schema.name)) refuse("the name is taken");
  if (impl_->by_tag.contains(schema.tag)) refuse("the tag is taken");
  if (!schema.infer) refuse("an op needs an inference function");
  if (!schema.reference && schema.op_class != OpClass::leaf) refuse("an op needs a reference kernel");
  if (schema.maths.empty()) refuse("an op needs its maths in words");
  bool optional_seen = false;
  for (std::size_t i = 0; i < schema.inputs.size(); ++i) {
    if (schema.inputs[i].presence == Presence::required && optional_seen)
      refuse("a required input follows an optional one");
    if (schema.inputs[i].presence == Presence::variadic && i + 1 != schema.inputs.size())
      refuse("only the last input may repeat");
    optional_seen |= schema.inputs[i].presence != Presence::required;
  }
  for (const AttributeSpec& spec : schema.attributes) {
    if (!std::holds_alternative<std::monostate>(spec.default_value) && !holds(spec.default_value, spec.type))
      refuse("an attribute's default has another type");
    if (spec.type == AttributeType::choice && spec.choices.empty()) refuse("a choice without choices");
  }
  auto owned = std::make_unique<const OpSchema>(std::move(schema));
  const OpSchema& stored = *owned;
  impl_->by_name.emplace(stored.name, &stored);
  impl_->by_tag.emplace(stored.tag, std::move(owned));
  return stored;
}

const OpSchema* OpRegistry::find(std::string_view name) const {
  const auto it = impl_->by_name.find(name);
  return it == impl_->by_name.end() ? nullptr : it->second;
}

const OpSchema* OpRegistry::find(std::uint32_t tag) const {
  const auto it = impl_->by_tag.find(tag);
  return it == impl_->by_tag.end() ? nullptr : it->second.get();
}

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t same = diagonal + (std::tolower(a[i - 1]) == std::tolower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({same, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

const OpSchema& OpRegistry::at(std::string_view name) const {
  if (const OpSchema* schema = find(name)) return *schema;
  const std::string shown(name.substr(0, 64));
  std::string nearest;
  std::size_t best = 4;
  for (const auto& [known, schema] : impl_->by_name)
    if (const std::size_t d = edit_distance(shown, known); d < best) {
      best = d;
      nearest = known;
    }
  fail(ErrorKind::unsupported_op, "UnknownOp", "", "no op is called \"{}\"{}; `weft ops` lists them", shown,
       nearest.empty() ? "" : ", did you mean " + nearest + "?");
}

std::vector<const OpSchema*> OpRegistry::all() const {
  std::vector<const OpSchema*> schemas;
  for (const auto& [tag, schema] : impl_->by_tag) schemas.push_back(schema.get());
  return schemas;
}

}  // namespace weft
