#include "weft/ir/binary.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "weft/base/byte_reader.h"
#include "weft/base/fail.h"
#include "weft/ir/stored.h"
#include "weft/ir/verify.h"

namespace weft {
namespace {

constexpr char magic[4] = {'W', 'M', 'I', 'R'};
constexpr std::uint8_t static_dim = 0, symbolic_dim = 1;

class Encoder {
 public:
  explicit Encoder(const Graph& graph) : graph_(graph) {}

  std::vector<std::byte> encode() {
    append(magic, sizeof magic);
    put(mir_version);
    text(graph_.name());
    count(graph_.symbols().size());
    for (const auto& [name, bounds] : graph_.symbols()) {
      text(name);
      put(bounds.low);
      put(bounds.high);
    }
    count(graph_.states().size());
    for (const StateDecl& declared : graph_.states()) state(declared);
    blobs();
    count(graph_.nodes().size());
    for (const Node& each : graph_.nodes()) node(each);
    count(graph_.outputs().size());
    for (const GraphOutput& output : graph_.outputs()) {
      text(output.name);
      value(output.value);
    }
    return std::move(out_);
  }

 private:
  void append(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), bytes, bytes + size);
  }
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T number) { append(&number, sizeof number); }
  void flag(bool set) { put(static_cast<std::uint8_t>(set)); }
  void count(std::size_t items) {
    if (items > UINT32_MAX)
      fail(ErrorKind::not_representable, "NotRepresentable", graph_.name(),
           "{} items exceed the format's 32-bit counts", items);
    put(static_cast<std::uint32_t>(items));
  }
  void text(const std::string& string) {
    count(string.size());
    append(string.data(), string.size());
  }
  void value(Value v) {
    put(v.node);
    put(v.port);
  }

  void dim(const Dim& size) {
    if (const auto number = size.value()) {
      put(static_dim);
      put(*number);
    } else {
      put(symbolic_dim);
      text(size.text());
    }
  }
  void shape(const Shape& dims) {
    count(dims.rank());
    for (const Dim& size : dims) dim(size);
  }

  void state(const StateDecl& declared) {
    text(declared.name);
    put(declared.kind);
    put(declared.dtype);
    count(declared.planes.size());
    for (const std::int64_t width : declared.planes) put(width);
    dim(declared.length);
    flag(declared.capacity.has_value());
    if (declared.capacity) put(*declared.capacity);
  }

  // The bytes of all constants, equal ones once, in order of first use.
  void blobs() {
    std::vector<const Tensor*> ordered;
    for (const Node& each : graph_.nodes())
      for (const AttributeValue& attribute : each.attributes)
        if (const auto* tensor = std::get_if<Tensor>(&attribute))
          if (blob_index_.try_emplace(key(*tensor), static_cast<std::uint32_t>(ordered.size())).second)
            ordered.push_back(tensor);
    count(ordered.size());
    for (const Tensor* tensor : ordered) {
      put(static_cast<std::uint64_t>(tensor->byte_size()));
      append(tensor->bytes().data(), tensor->byte_size());
    }
  }
  static std::string_view key(const Tensor& tensor) {
    return {reinterpret_cast<const char*>(tensor.bytes().data()), tensor.byte_size()};
  }

  void node(const Node& node) {
    put(node.schema->tag);
    const auto& specs = node.schema->attributes;
    const auto is_default = [&](std::size_t i) { return same_value(node.attributes[i], specs[i].default_value); };
    std::size_t stored = 0;
    for (std::size_t i = 0; i < specs.size(); ++i) stored += is_default(i) ? 0 : 1;
    count(stored);
    for (std::size_t i = 0; i < specs.size(); ++i) {
      if (is_default(i)) continue;
      text(specs[i].name);
      put(specs[i].type);
      attribute(node.attributes[i]);
    }
    count(node.inputs.size());
    for (const Value input : node.inputs) value(input);
    count(node.outputs.size());
    for (const OutputInfo& output : node.outputs) {
      put(output.type.dtype);
      shape(output.type.shape);
      text(output.name);
    }
    origin(node.origin);
    text(node.backend_hint);
  }

  void attribute(const AttributeValue& stored) {
    std::visit(
        [&]<class T>(const T& x) {
          if constexpr (std::is_same_v<T, bool>) {
            flag(x);
          } else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double> ||
                               std::is_same_v<T, DType>) {
            put(x);
          } else if constexpr (std::is_same_v<T, std::string>) {
            text(x);
          } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<double>>) {
            count(x.size());
            for (const auto item : x) put(item);
          } else if constexpr (std::is_same_v<T, Shape>) {
            shape(x);
          } else if constexpr (std::is_same_v<T, Tensor>) {
            put(x.dtype());
            count(x.rank());
            for (const std::int64_t size : x.dims()) put(size);
            put(blob_index_.at(key(x)));
          }
        },
        stored);
  }

  void origin(const Origin& from) {
    flag(!from.empty());
    if (from.empty()) return;
    text(from.format);
    flag(from.id.has_value());
    if (from.id) put(*from.id);
    text(from.op);
    text(from.label);
    count(from.also.size());
    for (const std::string& label : from.also) text(label);
  }

  const Graph& graph_;
  std::vector<std::byte> out_;
  std::map<std::string_view, std::uint32_t> blob_index_;  // by content
};

class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, std::string_view source) : in_(bytes, std::string(source)) {}

  Graph decode() {
    const auto head = in_.take(sizeof magic, "the magic");
    if (std::memcmp(head.data(), magic, sizeof magic) != 0)
      fail(ErrorKind::bad_file, "NotMir", in_.where(0), "a graph begins with the bytes WMIR");
    if (const auto version = in_.read<std::uint32_t>("the version"); version != mir_version)
      fail(ErrorKind::unsupported, "UnsupportedVersion", in_.where(sizeof magic),
           "the graph has version {}, this weft reads version {}", version, mir_version);
    Graph graph(text("the graph's name"));
    DimBounds bounds;
    each("symbols", 4 + 16, [&] {
      const std::uint64_t at = in_.offset();
      const std::string name = text("a symbol's name");
      placed(at, [&] { Dim::symbol(name); });
      Interval range;
      range.low = in_.read<std::int64_t>("a symbol's lower bound");
      range.high = in_.read<std::int64_t>("a symbol's upper bound");
      if (!bounds.try_emplace(name, range).second)
        fail(ErrorKind::bad_file, "BadSymbol", in_.where(at), "the symbol {} stands twice", name);
    });
    each("states", 4 + 2 + 4 + 5 + 1, [&] { graph.add_state(state()); });
    for (const auto& [name, range] : bounds) graph.set_symbol(name, range);
    each("constants", 8, [&] {
      const auto size = in_.read<std::uint64_t>("a constant's size");
      const auto bytes = in_.take(size, "a constant");
      // Aligned, and shared by all attributes that name it.
      blobs_.push_back(
          std::make_shared<Tensor>(Tensor::copy_bytes(bytes, DType::u8, {static_cast<std::int64_t>(bytes.size())})));
    });
    each("nodes", min_node_bytes, [&] { append_stored(graph, node(graph.size())); });
    std::vector<GraphOutput> outputs;
    each("graph outputs", 4 + 8, [&] {
      std::string name = text("an output's name");
      outputs.push_back({std::move(name), value()});
    });
    graph.set_outputs(std::move(outputs));
    if (!in_.done())
      fail(ErrorKind::bad_file, "TrailingBytes", in_.where(), "{} bytes follow the end of the graph", in_.remaining());
    verify(graph);
    return graph;
  }

 private:
  // Tag, four counts, the origin's flag.
  static constexpr std::uint64_t min_node_bytes = 4 + 4 * 4 + 1;

  // Reads a count, checks it against the bytes left, then the items.
  template <class F>
  void each(std::string_view what, std::uint64_t min_item_bytes, F&& item) {
    const auto items = in_.read<std::uint32_t>(what);
    in_.expect_items(items, min_item_bytes, what);
    for (std::uint32_t i = 0; i < items; ++i) item();
  }

  template <class F>
  void placed(std::uint64_t at, F&& f) {
    try {
      f();
    } catch (const Error& error) {
      throw Error(ErrorKind::bad_file, error.code(), in_.where(at), error.message());
    }
  }

  std::string text(std::string_view what) {
    const auto length = in_.read<std::uint32_t>(what);
    return std::string(in_.text(length, what));
  }

  bool flag(std::string_view what) {
    const std::uint64_t at = in_.offset();
    const auto byte = in_.read<std::uint8_t>(what);
    if (byte > 1) fail(ErrorKind::bad_file, "BadBool", in_.where(at), "{} is {}, expected 0 or 1", what, byte);
    return byte == 1;
  }

  DType dtype() {
    const std::uint64_t at = in_.offset();
    const auto tag = in_.read<std::uint8_t>("a dtype");
    const auto found = dtype_from_tag(tag);
    if (!found) fail(ErrorKind::bad_file, "BadDtypeTag", in_.where(at), "no dtype has the tag {}", tag);
    return *found;
  }

  Value value() {
    const auto node = in_.read<std::int32_t>("a value's node");
    const auto port = in_.read<std::int32_t>("a value's port");
    return {node, port};
  }

  Dim dim() {
    const std::uint64_t at = in_.offset();
    const auto form = in_.read<std::uint8_t>("a dimension's form");
    if (form == static_dim) return Dim(in_.read<std::int64_t>("a dimension"));
    if (form != symbolic_dim)
      fail(ErrorKind::bad_file, "BadEnum", in_.where(at), "a dimension's form is {}, expected 0 or 1", form);
    const auto length = in_.read<std::uint32_t>("a dimension");
    const std::string_view expression = in_.text(length, "a dimension");
    Dim read;
    placed(at, [&] { read = Dim::parse(expression); });
    return read;
  }

  Shape shape() {
    Shape dims;
    each("dimensions", 5, [&] { dims.push_back(dim()); });
    return dims;
  }

  template <class T>
  std::vector<T> numbers(std::string_view what) {
    std::vector<T> items;
    each(what, sizeof(T), [&] { items.push_back(in_.read<T>(what)); });
    return items;
  }

  StateDecl state() {
    StateDecl declared;
    declared.name = text("a state's name");
    const std::uint64_t at = in_.offset();
    const auto kind = in_.read<std::uint8_t>("a state's kind");
    if (kind > static_cast<std::uint8_t>(StateKind::fixed))
      fail(ErrorKind::bad_file, "BadEnum", in_.where(at), "a state's kind is {}, expected 0 to 2", kind);
    declared.kind = static_cast<StateKind>(kind);
    declared.dtype = dtype();
    declared.planes = numbers<std::int64_t>("planes");
    declared.length = dim();
    if (flag("a state's capacity flag")) declared.capacity = in_.read<std::int64_t>("a state's capacity");
    return declared;
  }

  Node node(std::int32_t index) {
    Node node;
    const std::uint64_t at = in_.offset();
    const auto tag = in_.read<std::uint32_t>("an op tag");
    node.schema = OpRegistry::global().find(tag);
    if (node.schema == nullptr)
      fail(ErrorKind::unsupported_op, "UnknownOpTag", in_.where(at), "node %{} has the op tag {}, which no op has",
           index, tag);
    for (const AttributeSpec& spec : node.schema->attributes) node.attributes.push_back(spec.default_value);
    std::set<std::size_t> given;
    each("attributes", 4 + 1, [&] {
      const std::uint64_t attribute_at = in_.offset();
      const std::string name = text("an attribute's name");
      const auto position = node.schema->attribute_index(name);
      const auto refuse = [&](std::string_view reason) {
        fail(ErrorKind::bad_file, "BadAttribute", in_.where(attribute_at), "node %{} [{}]: attribute {} {}", index,
             node.schema->name, quoted(name), reason);
      };
      if (!position) refuse("is unknown: a newer weft may have written it");
      if (!given.insert(*position).second) refuse("stands twice");
      const auto code = in_.read<std::uint8_t>("an attribute's type");
      const AttributeType type = node.schema->attributes[*position].type;
      if (code != static_cast<std::uint8_t>(type))
        refuse(fmt::format("has type code {}, expected {}", code, static_cast<int>(type)));
      node.attributes[*position] = attribute(type);
    });
    each("inputs", 8, [&] { node.inputs.push_back(value()); });
    each("outputs", 1 + 4 + 4, [&] {
      OutputInfo output;
      output.type.dtype = dtype();
      output.type.shape = shape();
      output.name = text("an output's name");
      node.outputs.push_back(std::move(output));
    });
    if (flag("an origin's flag")) node.origin = origin();
    node.backend_hint = text("a backend hint");
    return node;
  }

  AttributeValue attribute(AttributeType type) {
    switch (type) {
      case AttributeType::boolean: return flag("an attribute");
      case AttributeType::integer: return in_.read<std::int64_t>("an attribute");
      case AttributeType::real: return in_.read<double>("an attribute");
      case AttributeType::text:
      case AttributeType::choice: return text("an attribute");
      case AttributeType::integers: return numbers<std::int64_t>("integers");
      case AttributeType::reals: return numbers<double>("reals");
      case AttributeType::dtype: return dtype();
      case AttributeType::shape: return shape();
      case AttributeType::tensor: return tensor();
    }
    return {};
  }

  Tensor tensor() {
    const std::uint64_t at = in_.offset();
    const DType type = dtype();
    std::vector<std::int64_t> dims = numbers<std::int64_t>("a constant's dims");
    const auto index = in_.read<std::uint32_t>("a constant's index");
    if (index >= blobs_.size())
      fail(ErrorKind::bad_file, "BadIndex", in_.where(at), "constant {} does not exist among {}", index, blobs_.size());
    Tensor wrapped;
    placed(at, [&] { wrapped = Tensor::wrap(blobs_[index], blobs_[index]->bytes(), type, std::move(dims)); });
    return wrapped;
  }

  Origin origin() {
    Origin from;
    from.format = text("an origin's format");
    if (flag("an origin's id flag")) from.id = in_.read<std::int64_t>("an origin's id");
    from.op = text("an origin's op");
    from.label = text("an origin's label");
    each("origin labels", 4, [&] { from.also.push_back(text("an origin's label")); });
    return from;
  }

  ByteReader in_;
  std::vector<std::shared_ptr<const Tensor>> blobs_;
};

}  // namespace

std::vector<std::byte> to_binary(const Graph& graph) { return Encoder(graph).encode(); }

Graph graph_from_binary(std::span<const std::byte> bytes, std::string_view source) {
  return Decoder(bytes, source).decode();
}

}  // namespace weft
