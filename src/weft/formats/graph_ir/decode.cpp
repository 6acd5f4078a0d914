#include <algorithm>
#include <bit>
#include <unordered_set>
#include <utility>

#include "weft/base/byte_reader.h"
#include "weft/base/fail.h"
#include "weft/base/utf8.h"
#include "weft/formats/graph_ir/binary.h"
#include "weft/formats/graph_ir/names.h"
#include "weft/formats/graph_ir/op_table.h"
#include "weft/formats/graph_ir/structure.h"
#include "weft/formats/graph_ir/wire.h"

namespace weft::graph_ir {
namespace {

constexpr std::uint64_t min_node_bytes = 15, min_spec_bytes = 6, min_string_bytes = 4;

// Reads one blob under one dialect.
class Decoder {
 public:
  Decoder(std::span<const std::byte> blob, Dialect dialect, const DecodeOptions& options)
      : in_(blob, options.source), options_(options), limits_(options.limits) {
    result_.dialect = dialect;
  }

  Decoded run() {
    read_nodes();
    check_arities(result_.graph);
    if (result_.dialect == Dialect::seed) {
      read_io();
    } else {
      if (!in_.done()) trailing();
      derive_io();
    }
    add_index();
    return std::move(result_);
  }

 private:
  Graph& graph() { return result_.graph; }

  [[noreturn]] void trailing() {
    fail(ErrorKind::bad_file, "TrailingBytes", in_.where(), "the graph ends here, but {} bytes follow",
         in_.remaining());
  }

  std::uint32_t read_count(std::string_view what, std::uint64_t min_item_bytes, std::uint32_t limit) {
    const std::string where = in_.where();
    const auto count = in_.read<std::uint32_t>(what);
    in_.expect_items(count, min_item_bytes, what);
    if (count > limit)
      fail(ErrorKind::bad_file, "CountTooLarge", where, "there may be at most {} {}, found {}", limit, what, count);
    return count;
  }

  std::uint32_t read_rank(std::string_view what, std::uint64_t item_bytes) {
    const std::string where = in_.where();
    const auto rank = in_.read<std::uint32_t>(what);
    in_.expect_items(rank, item_bytes, what);
    if (rank > limits_.rank)
      fail(ErrorKind::bad_file, "RankTooLarge", where, "{}: a tensor has at most {} dimensions, found {}", what,
           limits_.rank, rank);
    return rank;
  }

  bool read_bool(std::string_view field) {
    const std::string where = in_.where();
    const auto value = in_.read<std::uint8_t>(field);
    if (value > 1)
      fail(ErrorKind::bad_file, "BadBool", where, "{} is a flag and must be 0 or 1, found {}", field, value);
    return value == 1;
  }

  DType read_dtype() {
    const std::string where = in_.where();
    const auto tag = in_.read<std::uint8_t>("a dtype tag");
    const auto dtype = dtype_from_tag(tag);
    if (!dtype || !dtype_text(*dtype))
      fail(ErrorKind::bad_file, "BadDtypeTag", where, "dtype tags are 0 to 22, found {}", tag);
    return *dtype;
  }

  std::string read_text(std::string_view what) {
    const auto length = in_.read<std::uint32_t>(what);
    const std::uint64_t at = in_.offset();
    const std::string_view text = in_.text(length, what);
    if (const auto bad = find_invalid_utf8(text))
      fail(ErrorKind::bad_file, "InvalidUtf8", in_.where(at + *bad), "{} must be UTF-8", what);
    return std::string(text);
  }

  std::string read_name(std::string_view what) {
    const auto length = in_.read<std::uint32_t>(what);
    const std::string where = in_.where();
    const std::string_view text = in_.text(length, what);
    if (auto bad = check_name(text, limits_.name_bytes))
      throw Error(ErrorKind::bad_file, bad->code, where, fmt::format("{}: {}", what, bad->reason));
    return std::string(text);
  }

  std::vector<std::string> read_names(std::string_view what, std::uint32_t limit) {
    std::vector<std::string> names(read_count(what, min_string_bytes, limit));
    for (std::string& name : names) name = read_name(what);
    return names;
  }

  template <class T>
  std::vector<T> read_list(std::uint32_t count, std::string_view what) {
    std::vector<T> values(count);
    for (T& value : values) value = in_.read<T>(what);
    return values;
  }

  ParamValue read_param(const Field& field) {
    switch (field.wire) {
      case Wire::boolean: return read_bool(field.name);
      case Wire::u32: return in_.read<std::uint32_t>(field.name);
      case Wire::i32: return in_.read<std::int32_t>(field.name);
      case Wire::f32: return in_.read<float>(field.name);
      case Wire::optional_f32: {
        std::optional<float> value;
        if (read_bool(field.name)) value = in_.read<float>(field.name);
        return value;
      }
      case Wire::choice: {
        const std::string where = in_.where();
        const auto value = in_.read<std::uint8_t>(field.name);
        if (value >= field.choices.size())
          fail(ErrorKind::bad_file, "BadEnum", where, "{} must be 0 to {} ({}), found {}", field.name,
               field.choices.size() - 1, fmt::join(field.choices, ", "), value);
        return value;
      }
      case Wire::dtype: return read_dtype();
      case Wire::words: return read_list<std::uint32_t>(field.words, field.name);
      case Wire::u32_list: {
        const bool is_rank = field.max_count == DecodeLimits{}.rank;
        const auto count = is_rank ? read_rank(field.name, 4) : read_count(field.name, 4, limits_.operands);
        return read_list<std::uint32_t>(count, field.name);
      }
      case Wire::i64_list: return read_list<std::int64_t>(read_rank(field.name, 8), field.name);
    }
    return false;
  }

  // The two dialects order these two words differently, and files exist whose order is not that of their framing;
  // a group count and an epsilon can be told apart by their bits.
  void read_group_norm(Op& op) {
    const std::string where = in_.where();
    const auto first = in_.read<std::uint32_t>("eps"), second = in_.read<std::uint32_t>("num_groups");
    const bool groups_first = groups_come_first(first, second);
    if (groups_first != (result_.dialect == Dialect::glia))
      result_.warnings.push_back({"DialectMix", where,
                                  fmt::format("the fields of this GroupNorm stand in the order of the {} dialect",
                                              groups_first ? "glia" : "seed")});
    op.params = {std::bit_cast<float>(groups_first ? second : first), groups_first ? first : second};
  }

  void read_payload(Node& node, const OpDef& def) {
    if (def.tag == Tag::group_norm) return read_group_norm(node.op);
    for (const Field& field : def.fields) node.op.params.push_back(read_param(field));
    if (def.tag == Tag::argmax && result_.dialect == Dialect::glia)
      if (const auto dim = in_.read<std::int32_t>("dim"); dim != -1) node.attrs["dim"] = std::int64_t{dim};
  }

  void read_hint(Node& node) {
    if (result_.dialect == Dialect::seed && !read_bool("the backend hint flag")) return;
    const std::string where = in_.where();
    const auto value = in_.read<std::uint8_t>("a backend hint");
    if (value == 0 && result_.dialect == Dialect::glia) return;
    node.backend_hint = backend_hint_from_value(value);
    if (!node.backend_hint)
      fail(ErrorKind::bad_file, "BadBackendHint", where, "a backend hint is 1 to 5, found {}", value);
  }

  void read_nodes() {
    graph().nodes.resize(read_count("nodes", min_node_bytes, limits_.nodes));
    for (std::size_t i = 0; i < graph().nodes.size(); ++i) {
      Node& node = graph().nodes[i];
      node.id = in_.read<std::uint32_t>("a node id");
      const std::string where = in_.where();
      const auto tag = in_.read<std::uint16_t>("an op tag");
      const OpDef* def = find_op(tag);
      if (def == nullptr)
        fail(ErrorKind::bad_file, "UnknownOpTag", where, "node {} has op tag {}, which no op of the table carries", i,
             tag);
      node.op.tag = def->tag;
      node.op.params.reserve(def->fields.size());
      read_payload(node, *def);
      node.inputs = read_names("node inputs", limits_.operands);
      node.outputs = read_names("node outputs", limits_.operands);
      read_hint(node);
    }
  }

  TensorSpec read_spec() {
    TensorSpec spec;
    const auto rank = read_rank("a tensor spec", 8);
    for (std::uint32_t i = 0; i < rank; ++i) {
      const std::string where = in_.where();
      spec.shape.push_back(in_.read<std::int64_t>("a dimension"));
      if (spec.shape.back() < -1)
        fail(ErrorKind::bad_file, "BadShape", where,
             "a dimension is at least 0, or -1 where it is not known before a run; found {}", spec.shape.back());
    }
    spec.dtype = read_dtype();
    if (read_bool("the offset flag")) {
      spec.offset = in_.read<std::uint64_t>("an offset");
      spec.size = in_.read<std::uint64_t>("a size");
    }
    return spec;
  }

  void read_io() {
    const std::string where = in_.where();
    graph().inputs.resize(read_count("graph inputs", min_spec_bytes, limits_.io));
    for (NamedSpec& input : graph().inputs) input.spec = read_spec();
    graph().outputs = read_names("graph outputs", limits_.io);
    if (!in_.done()) read_trailer();
    if (has_input_names_) return;
    const bool own_index = options_.weights == nullptr && result_.weights_in_blob;
    const WeightNames weights(own_index ? &graph().weights : options_.weights);
    std::size_t found = 0;
    const auto names = recover_input_names(graph().nodes, weights, graph().inputs.size(), found);
    if (!names)
      fail(ErrorKind::bad_file, "InputCountMismatch", where,
           "the graph declares {} inputs, but its nodes consume {} names that nothing produces and that are no "
           "weights{}",
           graph().inputs.size(), found,
           weights.indexed() ? "" : " (without a tensors index, names under \"model.\" and \"lm_head.\" are weights)");
    for (std::size_t i = 0; i < names->size(); ++i) graph().inputs[i].name = (*names)[i];
  }

  [[noreturn]] void bad_trailer(std::string reason) {
    fail(ErrorKind::bad_file, "BadTrailer", in_.where(), "{}", std::move(reason));
  }

  void read_trailer() {
    if (in_.remaining() < trailer_magic.size()) trailing();
    ByteReader peek = in_;
    if (peek.text(trailer_magic.size(), "a trailer") != trailer_magic) trailing();
    in_.skip(trailer_magic.size(), "a trailer");
    const auto length = in_.read<std::uint32_t>("the trailer's length");
    in_.expect_items(length, 1, "bytes of the trailer");
    if (length < in_.remaining()) {
      in_.skip(length, "the trailer");
      trailing();
    }
    int last_kind = -1;
    while (!in_.done()) {
      const auto kind = in_.read<std::uint8_t>("a chunk kind");
      const auto bytes = in_.read<std::uint32_t>("a chunk length");
      in_.expect_items(bytes, 1, "bytes of a chunk");
      if (kind <= last_kind) bad_trailer(fmt::format("chunk kind {} after {}: kinds ascend", kind, last_kind));
      last_kind = kind;
      const std::uint64_t end = in_.offset() + bytes;
      switch (static_cast<Chunk>(kind)) {
        case Chunk::input_names: read_input_names(); break;
        case Chunk::attrs: read_attrs(); break;
        case Chunk::weights: read_weights(); break;
        default:
          if (kind < 128) bad_trailer(fmt::format("chunk kind {} is not known", kind));
          in_.skip(bytes, "a chunk");
      }
      if (in_.offset() != end) bad_trailer(fmt::format("chunk kind {} is not as long as it says", kind));
    }
  }

  void read_input_names() {
    std::vector<std::string> names = read_names("graph input names", limits_.io);
    if (names.size() != graph().inputs.size())
      bad_trailer(fmt::format("{} input names for {} inputs", names.size(), graph().inputs.size()));
    for (std::size_t i = 0; i < names.size(); ++i) graph().inputs[i].name = std::move(names[i]);
    has_input_names_ = true;
  }

  void read_attrs() {
    constexpr std::uint64_t min_entry_bytes = 8, min_attr_bytes = 7;
    const auto count = read_count("nodes with attributes", min_entry_bytes, limits_.nodes);
    std::int64_t last = -1;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto index = in_.read<std::uint32_t>("a node index");
      if (index >= graph().nodes.size())
        bad_trailer(fmt::format("attributes of node {} in a graph of {} nodes", index, graph().nodes.size()));
      if (index <= last) bad_trailer(fmt::format("attributes of node {} after node {}: indices ascend", index, last));
      last = index;
      const auto entries = read_count("attributes", min_attr_bytes, limits_.operands);
      for (std::uint32_t k = 0; k < entries; ++k) {
        std::string key = read_name("an attribute key");
        if (graph().nodes[index].attrs.count(key) != 0)
          bad_trailer(fmt::format("node {} has the attribute \"{}\" twice", index, key));
        graph().nodes[index].attrs.emplace(std::move(key), read_attr_value());
      }
    }
  }

  AttrValue read_attr_value() {
    const auto type = in_.read<std::uint8_t>("an attribute type");
    switch (static_cast<AttrType>(type)) {
      case AttrType::integer: return in_.read<std::int64_t>("an attribute");
      case AttrType::floating: return in_.read<float>("an attribute");
      case AttrType::string: return read_text("an attribute");
      case AttrType::ints: return read_list<std::int64_t>(read_attr_count(8), "an attribute");
      case AttrType::floats: return read_list<float>(read_attr_count(4), "an attribute");
      case AttrType::boolean: return read_bool("an attribute");
      case AttrType::strings: {
        std::vector<std::string> texts(read_attr_count(min_string_bytes));
        for (std::string& text : texts) text = read_text("an attribute");
        return texts;
      }
    }
    bad_trailer(fmt::format("attribute type {} is not known", type));
  }

  std::uint32_t read_attr_count(std::uint64_t item_bytes) {
    const auto count = in_.read<std::uint32_t>("an attribute list");
    in_.expect_items(count, item_bytes, "entries of an attribute list");
    return count;
  }

  void read_weights() {
    const auto count = read_count("weights", min_string_bytes + min_spec_bytes, limits_.nodes);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::string name = read_name("a weight name");
      if (graph().weights.count(name) != 0) bad_trailer(fmt::format("the weight \"{}\" is listed twice", name));
      graph().weights.emplace(std::move(name), read_spec());
    }
    result_.weights_in_blob = true;
  }

  // A glia blob stores neither inputs nor outputs. Token ids are the only inputs whose spec follows from their use.
  void derive_io() {
    std::unordered_set<std::string_view> consumed, token_ids;
    bool has_logits = false;
    for (const Node& node : graph().nodes) {
      consumed.insert(node.inputs.begin(), node.inputs.end());
      if (node.op.tag == Tag::token_embed) token_ids.insert(node.inputs.front());
      has_logits |= std::find(node.outputs.begin(), node.outputs.end(), "logits") != node.outputs.end();
    }
    for (const std::string& name : free_names(graph().nodes, WeightNames(options_.weights)))
      if (name != pos_name && token_ids.count(name) != 0)
        graph().inputs.push_back({name, {{unknown_dim}, DType::f32, {}, {}}});
    if (has_logits) {
      graph().outputs = {"logits"};
      return;
    }
    for (const Node& node : graph().nodes)
      if (node.op.tag != Tag::kv_cache)
        for (const std::string& name : node.outputs)
          if (consumed.count(name) == 0) graph().outputs.push_back(name);
  }

  void add_index() {
    if (options_.weights == nullptr) return;
    for (const auto& [name, spec] : *options_.weights) {
      const auto [own, added] = graph().weights.emplace(name, spec);
      if (!added && (own->second.shape != spec.shape || own->second.dtype != spec.dtype))
        fail(ErrorKind::bad_file, "BadTrailer", options_.source,
             "the weight \"{}\" is {}{} in the trailer and {}{} in the tensors index", name,
             to_string(own->second.dtype), dims_of(own->second), to_string(spec.dtype), dims_of(spec));
      own->second = spec;
    }
  }

  static std::string dims_of(const TensorSpec& spec) { return fmt::format("[{}]", fmt::join(spec.shape, ", ")); }

  ByteReader in_;
  const DecodeOptions& options_;
  const DecodeLimits& limits_;
  Decoded result_;
  bool has_input_names_ = false;
};

}  // namespace

Decoded decode(std::span<const std::byte> blob, const DecodeOptions& options) {
  if (blob.size() > options.limits.blob_bytes)
    fail(ErrorKind::bad_file, "TooLarge", options.source, "a graph may have {} bytes, found {}",
         options.limits.blob_bytes, blob.size());
  if (options.dialect != Dialect::automatic) return Decoder(blob, options.dialect, options).run();
  try {
    return Decoder(blob, Dialect::seed, options).run();
  } catch (const Error& seed_error) {
    try {
      return Decoder(blob, Dialect::glia, options).run();
    } catch (const Error&) {
      throw seed_error;
    }
  }
}

}  // namespace weft::graph_ir
