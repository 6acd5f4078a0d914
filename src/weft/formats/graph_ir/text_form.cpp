#include "weft/formats/graph_ir/text_form.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/names.h"
#include "weft/formats/graph_ir/op_table.h"
#include "weft/formats/graph_ir/param_rules.h"
#include "weft/formats/graph_ir/problems.h"

namespace weft::graph_ir {
namespace {

constexpr std::string_view format_name = "weft-graph";
constexpr std::int64_t format_version = 1;

// ---- writing ----------------------------------------------------------------------------------------------------

TextValue text(std::string_view value) { return {std::string(value)}; }
TextValue integer(std::int64_t value) { return {value}; }
TextValue real(float value) { return {static_cast<double>(value)}; }

template <class T, class Make>
TextValue list(const std::vector<T>& values, Make make) {
  TextArray array;
  for (const T& value : values) array.push_back(make(value));
  return {std::move(array)};
}

TextValue byte_count(std::uint64_t value, std::string_view name) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    not_representable("graph", "the byte range of \"{}\" exceeds 2^63", name);
  return integer(static_cast<std::int64_t>(value));
}

TextTable spec_to_tree(const std::string& name, const TensorSpec& spec) {
  const auto dtype = dtype_text(spec.dtype);
  if (!dtype)
    not_representable("graph", "\"{}\" is {}, which the Graph IR has no name for", name, to_string(spec.dtype));
  TextTable table{{"name", text(name)}, {"shape", list(spec.shape, integer)}, {"dtype", text(*dtype)}};
  if (spec.offset) table.emplace_back("offset", byte_count(*spec.offset, name));
  if (spec.size) table.emplace_back("size", byte_count(*spec.size, name));
  return table;
}

TextValue param_to_tree(const Field& field, const ParamValue& value) {
  switch (field.wire) {
    case Wire::boolean: return {std::get<bool>(value)};
    case Wire::u32: return integer(std::get<std::uint32_t>(value));
    case Wire::i32: return integer(std::get<std::int32_t>(value));
    case Wire::f32: return real(std::get<float>(value));
    case Wire::optional_f32: return real(std::get<std::optional<float>>(value).value_or(0));
    case Wire::choice: return text(field.choices[std::get<std::uint8_t>(value)]);
    case Wire::dtype: return text(*dtype_text(std::get<DType>(value)));
    case Wire::words:
    case Wire::u32_list: return list(std::get<std::vector<std::uint32_t>>(value), integer);
    case Wire::i64_list: return list(std::get<std::vector<std::int64_t>>(value), integer);
  }
  return {};
}

TextTable params_to_tree(const Op& op, const OpDef& def) {
  TextTable table;
  for (std::size_t i = 0; i < def.fields.size(); ++i) {
    const Field& field = def.fields[i];
    if (field.wire == Wire::optional_f32 && !std::get<std::optional<float>>(op.params[i])) continue;
    table.emplace_back(std::string(field.name), param_to_tree(field, op.params[i]));
  }
  return table;
}

struct AttrToTree {
  TextValue operator()(std::int64_t value) const { return integer(value); }
  TextValue operator()(float value) const { return real(value); }
  TextValue operator()(bool value) const { return {value}; }
  TextValue operator()(const std::string& value) const { return text(value); }
  template <class T>
  TextValue operator()(const std::vector<T>& values) const {
    return list(values, *this);
  }
};

TextTable node_to_tree(const Node& node, std::size_t index) {
  if (const auto reason = malformed(node.op)) not_representable(node_place(node, index), "{}", *reason);
  const OpDef& def = op_def(node.op.tag);
  TextTable table{{"id", integer(node.id)},
                  {"op", text(def.name)},
                  {"inputs", list(node.inputs, text)},
                  {"outputs", list(node.outputs, text)}};
  if (node.backend_hint) table.emplace_back("backend_hint", text(to_string(*node.backend_hint)));
  if (!def.fields.empty()) table.emplace_back("params", TextValue{params_to_tree(node.op, def)});
  if (!node.attrs.empty()) {
    TextTable attrs;
    for (const auto& [key, value] : node.attrs) attrs.emplace_back(key, std::visit(AttrToTree{}, value));
    table.emplace_back("attrs", TextValue{std::move(attrs)});
  }
  return table;
}

// ---- reading ----------------------------------------------------------------------------------------------------

class FormReader {
 public:
  FormReader(std::string_view language, const std::string& source) : language_(language), source_(source) {}

  Graph read(const TextValue& root) {
    const TextTable& top = table(root, "the document");
    only_keys(root, {"graph", "input", "weight", "node"}, "the document");
    const TextValue& head = required(root, "graph", "the document");
    only_keys(head, {"format", "version", "outputs"}, "graph");
    if (string(required(head, "format", "graph"), "format") != format_name)
      bad_type(head, "graph.format must be \"{}\"", format_name);
    if (whole(required(head, "version", "graph"), "version", 0, limit_i64) != format_version)
      bad_type(head, "graph.version must be {}", format_version);
    Graph graph;
    graph.outputs = names(required(head, "outputs", "graph"), "graph outputs", limits_.io);
    for (const auto& [key, value] : top) {
      if (key == "input")
        for (const TextValue& entry : entries(value, "input", limits_.io))
          graph.inputs.push_back(named_spec(entry, "input"));
      if (key == "weight")
        for (const TextValue& entry : entries(value, "weight", limits_.nodes)) add_weight(graph, entry);
      if (key == "node")
        for (const TextValue& entry : entries(value, "node", limits_.nodes))
          graph.nodes.push_back(node(entry, graph.nodes.size()));
    }
    return graph;
  }

 private:
  static constexpr std::int64_t limit_u32 = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::int64_t limit_i64 = std::numeric_limits<std::int64_t>::max();

  std::string where(const TextValue& at) const {
    return at.line == 0 ? source_ : fmt::format("{}:{}:{}", source_, at.line, at.column);
  }
  [[noreturn]] void refuse(const TextValue& at, std::string code, std::string message) const {
    throw Error(ErrorKind::bad_file, std::move(code), where(at), std::move(message));
  }
  template <class... Args>
  [[noreturn]] void bad_type(const TextValue& at, fmt::format_string<Args...> message, Args&&... args) const {
    refuse(at, fmt::format("{}Type", language_), fmt::format(message, std::forward<Args>(args)...));
  }

  const TextTable& table(const TextValue& value, std::string_view what) const {
    if (const auto* found = value.get_if<TextTable>()) return *found;
    bad_type(value, "{} must be a table", what);
  }
  const TextArray& array(const TextValue& value, std::string_view what) const {
    if (const auto* found = value.get_if<TextArray>()) return *found;
    bad_type(value, "{} must be an array", what);
  }
  const TextArray& entries(const TextValue& value, std::string_view what, std::size_t limit) const {
    const TextArray& found = array(value, what);
    if (found.size() > limit)
      refuse(value, "CountTooLarge", fmt::format("there may be at most {} of {}, found {}", limit, what, found.size()));
    return found;
  }
  const std::string& string(const TextValue& value, std::string_view what) const {
    if (const auto* found = value.get_if<std::string>()) return *found;
    bad_type(value, "{} must be a string", what);
  }
  std::int64_t whole(const TextValue& value, std::string_view what, std::int64_t lowest, std::int64_t highest) const {
    const auto* found = value.get_if<std::int64_t>();
    if (found == nullptr) bad_type(value, "{} must be an integer", what);
    if (*found < lowest || *found > highest)
      bad_type(value, "{} must be from {} to {}, found {}", what, lowest, highest, *found);
    return *found;
  }

  // A float, also written as an integer; JSON spells those that are no number by name.
  std::optional<float> maybe_real(const TextValue& value, std::string_view what) const {
    if (const auto* whole_number = value.get_if<std::int64_t>()) return static_cast<float>(*whole_number);
    if (const auto* number = value.get_if<double>()) {
      if (std::isnan(*number)) return std::numeric_limits<float>::quiet_NaN();
      const auto narrowed = static_cast<float>(*number);
      if (std::isinf(narrowed) && std::isfinite(*number))
        bad_type(value, "{} is too large for an f32: {}", what, *number);
      return narrowed;
    }
    const auto* object = value.get_if<TextTable>();
    if (object == nullptr || language_ != "Json" || object->size() != 1 || object->front().key != float_key)
      return std::nullopt;
    const std::string& spelled = string(object->front().value, what);
    if (spelled == "nan") return std::numeric_limits<float>::quiet_NaN();
    if (spelled == "inf") return std::numeric_limits<float>::infinity();
    if (spelled == "-inf") return -std::numeric_limits<float>::infinity();
    bad_type(value, "{}: \"{}\" must be \"nan\", \"inf\" or \"-inf\"", what, float_key);
  }
  float real(const TextValue& value, std::string_view what) const {
    if (const auto number = maybe_real(value, what)) return *number;
    bad_type(value, "{} must be a number", what);
  }

  const TextValue& required(const TextValue& owner, std::string_view key, std::string_view what) const {
    table(owner, what);
    if (const TextValue* found = owner.find(key)) return *found;
    refuse(owner, fmt::format("{}MissingKey", language_), fmt::format("{} needs the key \"{}\"", what, key));
  }
  template <class Keys>
  void only_keys(const TextValue& owner, const Keys& keys, std::string_view what) const {
    for (const auto& [key, value] : table(owner, what))
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        refuse(value, fmt::format("{}UnknownKey", language_),
               fmt::format("{} has no key \"{}\"{}", what, key,
                           keys.size() == 0 ? std::string() : fmt::format("; its keys are {}", fmt::join(keys, ", "))));
  }
  void only_keys(const TextValue& owner, std::initializer_list<std::string_view> keys, std::string_view what) const {
    only_keys<std::initializer_list<std::string_view>>(owner, keys, what);
  }

  std::string name(const TextValue& value, std::string_view what) const {
    const std::string& found = string(value, what);
    if (auto bad = check_name(found, limits_.name_bytes))
      refuse(value, bad->code, fmt::format("{}: {}", what, bad->reason));
    return found;
  }
  std::vector<std::string> names(const TextValue& value, std::string_view what, std::size_t limit) const {
    std::vector<std::string> result;
    for (const TextValue& entry : entries(value, what, limit)) result.push_back(name(entry, what));
    return result;
  }

  DType dtype(const TextValue& value) const {
    const std::string& spelled = string(value, "dtype");
    if (const auto found = dtype_from_text(spelled)) return *found;
    refuse(value, "BadDtypeTag", fmt::format("\"{}\" is no dtype of the Graph IR", spelled));
  }

  std::size_t rank(const TextArray& dims, const TextValue& at) const {
    if (dims.size() > limits_.rank)
      refuse(at, "RankTooLarge",
             fmt::format("a tensor has at most {} dimensions, found {}", limits_.rank, dims.size()));
    return dims.size();
  }

  NamedSpec named_spec(const TextValue& entry, std::string_view what) const {
    only_keys(entry, {"name", "shape", "dtype", "offset", "size"}, what);
    NamedSpec result;
    result.name = name(required(entry, "name", what), "name");
    const TextValue& shape = required(entry, "shape", what);
    rank(array(shape, "shape"), shape);
    for (const TextValue& dim : array(shape, "shape")) {
      result.spec.shape.push_back(whole(dim, "a dimension", -limit_i64, limit_i64));
      if (result.spec.shape.back() < -1)
        refuse(dim, "BadShape",
               fmt::format("a dimension is at least 0, or -1 where it is not known before a run; found {}",
                           result.spec.shape.back()));
    }
    result.spec.dtype = dtype(required(entry, "dtype", what));
    if (entry.find("offset") != nullptr || entry.find("size") != nullptr) {
      result.spec.offset = static_cast<std::uint64_t>(whole(required(entry, "offset", what), "offset", 0, limit_i64));
      result.spec.size = static_cast<std::uint64_t>(whole(required(entry, "size", what), "size", 0, limit_i64));
    }
    return result;
  }

  void add_weight(Graph& graph, const TextValue& entry) const {
    NamedSpec weight = named_spec(entry, "weight");
    if (!std::all_of(weight.spec.shape.begin(), weight.spec.shape.end(), [](std::int64_t dim) { return dim >= 0; }))
      refuse(entry, "BadShape", fmt::format("every dimension of the weight \"{}\" must be known", weight.name));
    if (!graph.weights.emplace(weight.name, weight.spec).second)
      bad_type(entry, "the weight \"{}\" is listed twice", weight.name);
  }

  std::vector<std::uint32_t> words(const TextValue& value, std::string_view what) const {
    std::vector<std::uint32_t> result;
    for (const TextValue& entry : array(value, what))
      result.push_back(static_cast<std::uint32_t>(whole(entry, what, 0, limit_u32)));
    return result;
  }

  ParamValue param(const Field& field, const TextValue& value) const {
    switch (field.wire) {
      case Wire::boolean:
        if (const auto* found = value.get_if<bool>()) return *found;
        bad_type(value, "{} must be true or false", field.name);
      case Wire::u32: return static_cast<std::uint32_t>(whole(value, field.name, 0, limit_u32));
      case Wire::i32:
        return static_cast<std::int32_t>(whole(value, field.name, std::numeric_limits<std::int32_t>::min(),
                                               std::numeric_limits<std::int32_t>::max()));
      case Wire::f32: return real(value, field.name);
      case Wire::optional_f32: return std::optional<float>(real(value, field.name));
      case Wire::choice: {
        const std::string& spelled = string(value, field.name);
        const auto found = std::find(field.choices.begin(), field.choices.end(), spelled);
        if (found == field.choices.end())
          refuse(
              value, "BadEnum",
              fmt::format("{} must be one of {}, found \"{}\"", field.name, fmt::join(field.choices, ", "), spelled));
        return static_cast<std::uint8_t>(found - field.choices.begin());
      }
      case Wire::dtype: return dtype(value);
      case Wire::words: {
        std::vector<std::uint32_t> found = words(value, field.name);
        if (found.size() != field.words)
          bad_type(value, "{} must list {} integers, found {}", field.name, field.words, found.size());
        return found;
      }
      case Wire::u32_list: list_size(field, value); return words(value, field.name);
      case Wire::i64_list: {
        list_size(field, value);
        std::vector<std::int64_t> found;
        for (const TextValue& entry : array(value, field.name))
          found.push_back(whole(entry, field.name, -limit_i64, limit_i64));
        return found;
      }
    }
    return false;
  }

  void list_size(const Field& field, const TextValue& value) const {
    if (field.max_count == limits_.rank)
      rank(array(value, field.name), value);
    else
      entries(value, field.name, field.max_count);
  }

  Op op(const OpDef& def, const TextValue& entry, std::string_view what) const {
    static const TextValue nothing{TextTable{}};
    const TextValue* given = entry.find("params");
    const TextValue& params = given == nullptr ? nothing : *given;
    const TextValue& at = given == nullptr ? entry : params;
    std::vector<std::string_view> keys;
    for (const Field& field : def.fields) keys.push_back(field.name);
    const std::string params_of = fmt::format("params of {} ({})", what, def.name);
    only_keys(params, keys, params_of);
    Op result{def.tag, {}};
    for (const Field& field : def.fields) {
      if (const TextValue* value = params.find(field.name)) {
        result.params.push_back(param(field, *value));
      } else if (!field.fallback_field.empty()) {
        result.params.push_back(result.param(field.fallback_field));
      } else if (field.fallback || field.wire == Wire::optional_f32) {
        result.params.push_back(fallback_value(field));
      } else {
        refuse(at, fmt::format("{}MissingKey", language_),
               fmt::format("{} needs the key \"{}\"", params_of, field.name));
      }
    }
    return result;
  }

  AttrValue attr(const TextValue& value, const AttrDef* known, std::string_view key) const {
    if (const auto* flag = value.get_if<bool>()) return *flag;
    if (const auto* spelled = value.get_if<std::string>()) return *spelled;
    if (const auto* number = value.get_if<std::int64_t>();
        number != nullptr && (known == nullptr || known->type != AttrType::floating))
      return *number;
    if (const auto* values = value.get_if<TextArray>()) return attr_list(*values, value, known, key);
    if (const auto number = maybe_real(value, key)) return *number;
    refuse(value, "BadAttr",
           fmt::format("the attribute \"{}\" is a table; attributes are plain values and lists of them", key));
  }

  AttrValue attr_list(const TextArray& values, const TextValue& at, const AttrDef* known, std::string_view key) const {
    std::vector<std::int64_t> ints;
    std::vector<float> floats;
    std::vector<std::string> strings;
    for (const TextValue& value : values) {
      if (const auto* spelled = value.get_if<std::string>())
        strings.push_back(*spelled);
      else if (const auto* number = value.get_if<std::int64_t>())
        ints.push_back(*number);
      else if (const auto real_number = value.get_if<bool>() ? std::nullopt : maybe_real(value, key))
        floats.push_back(*real_number);
      else
        bad_type(value, "the attribute \"{}\" may list integers, floats or strings", key);
    }
    if (ints.size() == values.size() && (!values.empty() || known == nullptr || known->type == AttrType::ints))
      return ints;
    if (floats.size() == values.size()) return floats;
    if (strings.size() == values.size()) return strings;
    bad_type(at, "the attribute \"{}\" must list values of one kind", key);
  }

  Node node(const TextValue& entry, std::size_t index) const {
    const std::string what = fmt::format("node {}", index);
    only_keys(entry, {"id", "op", "inputs", "outputs", "backend_hint", "params", "attrs"}, what);
    Node result;
    result.id = static_cast<std::uint32_t>(whole(required(entry, "id", what), "id", 0, limit_u32));
    const TextValue& op_name = required(entry, "op", what);
    const OpDef* def = find_op(string(op_name, "op"));
    if (def == nullptr)
      refuse(op_name, "UnknownOpTag", fmt::format("{}: there is no op \"{}\"", what, string(op_name, "op")));
    result.op = op(*def, entry, what);
    result.inputs = names(required(entry, "inputs", what), "node inputs", limits_.operands);
    result.outputs = names(required(entry, "outputs", what), "node outputs", limits_.operands);
    if (const TextValue* hint = entry.find("backend_hint")) {
      result.backend_hint = backend_hint_from_name(string(*hint, "backend_hint"));
      if (!result.backend_hint)
        refuse(*hint, "BadBackendHint", fmt::format("\"{}\" is no backend hint", string(*hint, "backend_hint")));
    }
    if (const TextValue* attrs = entry.find("attrs"))
      for (const auto& [key, value] : table(*attrs, "attrs")) {
        if (auto bad = check_name(key, limits_.name_bytes))
          refuse(value, bad->code, fmt::format("attribute key: {}", bad->reason));
        result.attrs.emplace(key, attr(value, find_attr(*def, key), key));
      }
    return result;
  }

  std::string_view language_;
  const std::string& source_;
  DecodeLimits limits_;
};

}  // namespace

TextTable graph_to_tree(const Graph& graph, const TextOptions& options) {
  TextTable head{
      {"format", text(format_name)}, {"version", integer(format_version)}, {"outputs", list(graph.outputs, text)}};
  TextTable root{{"graph", TextValue{std::move(head)}}};
  TextArray inputs, weights, nodes;
  for (const NamedSpec& input : graph.inputs) inputs.push_back({spec_to_tree(input.name, input.spec)});
  if (options.weights)
    for (const auto& [name, spec] : graph.weights) weights.push_back({spec_to_tree(name, spec)});
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) nodes.push_back({node_to_tree(graph.nodes[i], i)});
  if (!inputs.empty()) root.emplace_back("input", TextValue{std::move(inputs)});
  if (!weights.empty()) root.emplace_back("weight", TextValue{std::move(weights)});
  if (!nodes.empty()) root.emplace_back("node", TextValue{std::move(nodes)});
  return root;
}

Graph graph_from_tree(const TextValue& root, std::string_view language, const std::string& source) {
  return FormReader(language, source).read(root);
}

}  // namespace weft::graph_ir
