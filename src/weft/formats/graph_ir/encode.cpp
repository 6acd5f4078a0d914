#include <bit>
#include <cstring>

#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/names.h"
#include "weft/formats/graph_ir/op_table.h"
#include "weft/formats/graph_ir/param_rules.h"
#include "weft/formats/graph_ir/problems.h"
#include "weft/formats/graph_ir/structure.h"
#include "weft/formats/graph_ir/wire.h"

namespace weft::graph_ir {
namespace {

// Appends to a byte vector, and refuses what the reader would refuse.
class Writer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
  }
  void put_flag(bool value) { put<std::uint8_t>(value ? 1 : 0); }
  void put_text(std::string_view text) {
    put_count(text.size(), limits_.blob_bytes, "bytes of a string");
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), data, data + text.size());
  }
  void put_count(std::size_t count, std::uint64_t limit, std::string_view what) {
    if (count > limit) not_representable(place, "there may be at most {} {}, found {}", limit, what, count);
    put(static_cast<std::uint32_t>(count));
  }
  void put_name(std::string_view name) {
    if (const auto bad = check_name(name, limits_.name_bytes))
      not_representable(place, "the name \"{}\" cannot be stored: {}", name, bad->reason);
    put_text(name);
  }
  void put_names(const std::vector<std::string>& names, std::uint32_t limit, std::string_view what) {
    put_count(names.size(), limit, what);
    for (const std::string& name : names) put_name(name);
  }
  template <class T>
  void put_list(const std::vector<T>& values) {
    for (const T value : values) put(value);
  }

  void put_spec(const std::string& name, const TensorSpec& spec) {
    put_count(spec.shape.size(), limits_.rank, "dimensions");
    for (const std::int64_t dim : spec.shape) {
      if (dim < -1) not_representable(place, "the shape of \"{}\" holds {}", name, dim);
      put(dim);
    }
    if (!dtype_text(spec.dtype))
      not_representable(place, "\"{}\" is {}, which the Graph IR has no dtype tag for", name, to_string(spec.dtype));
    put(spec.dtype);
    if (spec.offset.has_value() != spec.size.has_value())
      not_representable(place, "\"{}\" has only one of offset and size", name);
    put_flag(spec.offset.has_value());
    if (spec.offset) {
      put(*spec.offset);
      put(*spec.size);
    }
  }

  void put_param(const Field& field, const ParamValue& value) {
    switch (field.wire) {
      case Wire::boolean: return put_flag(std::get<bool>(value));
      case Wire::u32: return put(std::get<std::uint32_t>(value));
      case Wire::i32: return put(std::get<std::int32_t>(value));
      case Wire::f32: return put(std::get<float>(value));
      case Wire::optional_f32: {
        const auto& maybe = std::get<std::optional<float>>(value);
        put_flag(maybe.has_value());
        if (maybe) put(*maybe);
        return;
      }
      case Wire::choice: return put(std::get<std::uint8_t>(value));
      case Wire::dtype: return put(std::get<DType>(value));
      case Wire::words: return put_list(std::get<std::vector<std::uint32_t>>(value));
      case Wire::u32_list: {
        const auto& list = std::get<std::vector<std::uint32_t>>(value);
        put_count(list.size(), field.max_count, field.name);
        return put_list(list);
      }
      case Wire::i64_list: {
        const auto& list = std::get<std::vector<std::int64_t>>(value);
        put_count(list.size(), field.max_count, field.name);
        return put_list(list);
      }
    }
  }

  void put_attr_value(const AttrValue& value) {
    put(static_cast<std::uint8_t>(value.index()));
    std::visit([this](const auto& content) { put_attr_content(content); }, value);
  }

  std::vector<std::byte>& bytes() { return bytes_; }
  const DecodeLimits& limits() const { return limits_; }

  std::string place;  // what is being written, for messages

 private:
  void put_attr_content(std::int64_t value) { put(value); }
  void put_attr_content(float value) { put(value); }
  void put_attr_content(bool value) { put_flag(value); }
  void put_attr_content(const std::string& text) {
    if (find_invalid_utf8(text)) not_representable(place, "an attribute holds a string that is not UTF-8");
    put_text(text);
  }
  template <class T>
  void put_attr_content(const std::vector<T>& values) {
    put_count(values.size(), limits_.blob_bytes, "entries of an attribute list");
    for (const T& value : values) put_attr_content(value);
  }

  std::vector<std::byte> bytes_;
  DecodeLimits limits_;
};

void write_node(Writer& out, const Node& node, std::size_t index) {
  out.place = node_place(node, index);
  const OpDef& def = op_def(node.op.tag);
  if (def.tag == Tag::group_norm && groups_come_first(std::bit_cast<std::uint32_t>(node.op.get<float>("eps")),
                                                      node.op.get<std::uint32_t>("num_groups")))
    not_representable(out.place, "an eps of {} would be read back as a group count; use 0 or at least 1e-38",
                      node.op.get<float>("eps"));
  out.put(node.id);
  out.put(node.op.tag);
  for (std::size_t i = 0; i < def.fields.size(); ++i) out.put_param(def.fields[i], node.op.params[i]);
  out.put_names(node.inputs, out.limits().operands, "node inputs");
  out.put_names(node.outputs, out.limits().operands, "node outputs");
  out.put_flag(node.backend_hint.has_value());
  if (node.backend_hint) out.put(*node.backend_hint);
}

bool has_effect(const Node& node, const std::string& key, const AttrValue& value) {
  const AttrDef* attr = find_attr(op_def(node.op.tag), key);
  if (attr == nullptr) return false;
  const auto fallback = default_attr(*attr, node.op);
  return !fallback || !same_value(*fallback, value);
}

void refuse_attrs_with_effect(const Graph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const auto& [key, value] : graph.nodes[i].attrs)
      if (has_effect(graph.nodes[i], key, value))
        not_representable(node_place(graph.nodes[i], i), "the attribute \"{}\" needs the trailer, which is turned off",
                          key);
}

bool names_are_recoverable(const Graph& graph) {
  std::size_t found = 0;
  const auto names = recover_input_names(graph.nodes, WeightNames(graph.weights.empty() ? nullptr : &graph.weights),
                                         graph.inputs.size(), found);
  if (!names) return false;
  for (std::size_t i = 0; i < names->size(); ++i)
    if ((*names)[i] != graph.inputs[i].name) return false;
  return true;
}

template <class Body>
void write_chunk(Writer& out, Chunk kind, Body body) {
  out.put(kind);
  const std::size_t length_at = out.bytes().size();
  out.put(std::uint32_t{0});
  body();
  const auto length = static_cast<std::uint32_t>(out.bytes().size() - length_at - 4);
  std::memcpy(out.bytes().data() + length_at, &length, sizeof(length));
}

void write_attrs(Writer& out, const Graph& graph, std::size_t nodes_with_attrs) {
  out.put_count(nodes_with_attrs, out.limits().nodes, "nodes");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.attrs.empty()) continue;
    out.place = node_place(node, i);
    out.put(static_cast<std::uint32_t>(i));
    out.put_count(node.attrs.size(), out.limits().operands, "attributes");
    for (const auto& [key, value] : node.attrs) {
      out.put_name(key);
      out.put_attr_value(value);
    }
  }
}

void write_trailer(Writer& out, const Graph& graph, const EncodeOptions& options) {
  const bool names = !names_are_recoverable(graph);
  std::size_t nodes_with_attrs = 0;
  for (const Node& node : graph.nodes) nodes_with_attrs += node.attrs.empty() ? 0 : 1;
  if (options.trailer == Trailer::never) {
    if (names)
      not_representable("graph inputs",
                        "the names of the inputs do not follow from the nodes (an input that no node "
                        "consumes, or another order) and need the trailer, which is turned off");
    if (options.weights) not_representable("graph weights", "weights need the trailer, which is turned off");
    return refuse_attrs_with_effect(graph);
  }
  if (!names && nodes_with_attrs == 0 && !options.weights) return;
  for (const char c : trailer_magic) out.put(c);
  const std::size_t length_at = out.bytes().size();
  out.put(std::uint32_t{0});
  if (names)
    write_chunk(out, Chunk::input_names, [&] {
      out.place = "graph inputs";
      out.put_count(graph.inputs.size(), out.limits().io, "graph inputs");
      for (const NamedSpec& input : graph.inputs) out.put_name(input.name);
    });
  if (nodes_with_attrs > 0) write_chunk(out, Chunk::attrs, [&] { write_attrs(out, graph, nodes_with_attrs); });
  if (options.weights)
    write_chunk(out, Chunk::weights, [&] {
      out.place = "graph weights";
      out.put_count(graph.weights.size(), out.limits().nodes, "weights");
      for (const auto& [name, spec] : graph.weights) {
        out.put_name(name);
        out.put_spec(name, spec);
      }
    });
  const auto length = static_cast<std::uint32_t>(out.bytes().size() - length_at - 4);
  std::memcpy(out.bytes().data() + length_at, &length, sizeof(length));
}

}  // namespace

std::vector<std::byte> encode(const Graph& graph, const EncodeOptions& options) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (const auto reason = malformed(graph.nodes[i].op))
      not_representable(node_place(graph.nodes[i], i), "{}", *reason);
  check_arities(graph);
  Writer out;
  out.place = "graph";
  out.put_count(graph.nodes.size(), out.limits().nodes, "nodes");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) write_node(out, graph.nodes[i], i);
  out.place = "graph inputs";
  out.put_count(graph.inputs.size(), out.limits().io, "graph inputs");
  for (const NamedSpec& input : graph.inputs) out.put_spec(input.name, input.spec);
  out.place = "graph outputs";
  out.put_names(graph.outputs, out.limits().io, "graph outputs");
  write_trailer(out, graph, options);
  if (out.bytes().size() > out.limits().blob_bytes)
    not_representable("graph", "the blob would have {} bytes, and a graph may have {}", out.bytes().size(),
                      out.limits().blob_bytes);
  return std::move(out.bytes());
}

}  // namespace weft::graph_ir
