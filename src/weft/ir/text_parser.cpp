#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "weft/base/fail.h"
#include "weft/base/sha256.h"
#include "weft/ir/stored.h"
#include "weft/ir/text.h"
#include "weft/ir/text_names.h"
#include "weft/ir/text_scanner.h"
#include "weft/ir/text_values.h"
#include "weft/ir/verify.h"

namespace weft {
namespace {

// A constant whose bytes stand after the graph.
struct BlobUse {
  std::size_t node, attribute, at;  // at: where the text names it
  DType dtype;
  std::vector<std::int64_t> dims;
};

class GraphParser {
 public:
  GraphParser(std::string_view text, std::string_view source) : in_(text, source) {}

  Graph parse() {
    in_.expect_word("graph");
    in_.expect("@");
    graph_.set_name(in_.name());
    in_.expect("{");
    while (!in_.accept("}")) item();
    while (!in_.at_end()) blob();
    if (!uses_.empty()) {
      const auto& [digest, uses] = *uses_.begin();
      in_.refuse_at(uses.front().at, "blob({}) does not follow the graph", digest);
    }
    for (const auto& [name, bounds] : symbols_) graph_.set_symbol(name, bounds);
    for (Node& node : nodes_) append_stored(graph_, std::move(node));
    graph_.set_outputs(std::move(outputs_));
    verify(graph_);
    return std::move(graph_);
  }

 private:
  void item() {
    if (!outputs_.empty()) in_.refuse("nothing but \"}}\" follows the return line");
    if (in_.peek() == '%') return node();
    const std::size_t start = in_.mark();
    const std::string_view word = in_.word();
    if (word == "symbol")
      symbol();
    else if (word == "state")
      state();
    else if (word == "return")
      outputs();
    else
      in_.refuse_at(start, "expected symbol, state, a node such as %0 = Op(...), return or \"}}\"");
  }

  void symbol() {
    const std::size_t start = in_.mark();
    std::string name(in_.word());
    in_.placed(start, [&] { Dim::symbol(name); });
    in_.expect_word("in");
    in_.expect("[");
    Interval bounds;
    bounds.low = in_.integer();
    in_.expect(",");
    bounds.high = in_.accept_word("unbounded") ? unbounded : in_.integer();
    in_.expect("]");
    if (!symbols_.try_emplace(std::move(name), bounds).second) in_.refuse_at(start, "the symbol has bounds already");
  }

  void state() {
    const std::size_t start = in_.mark();
    in_.expect("@");
    StateDecl state;
    state.name = in_.name();
    bool has_planes = false, has_length = false;
    in_.fields("{", "}", [&](std::string_view key) {
      if (key == "kind") {
        const std::size_t at = in_.mark();
        const auto kind = std::find(state_kind_names.begin(), state_kind_names.end(), in_.word());
        if (kind == state_kind_names.end()) in_.refuse_at(at, "a state is rows, paged_rows or fixed");
        state.kind = static_cast<StateKind>(kind - state_kind_names.begin());
      } else if (key == "dtype") {
        state.dtype = dtype();
      } else if (key == "planes") {
        state.planes = integers();
        has_planes = true;
      } else if (key == "length") {
        const std::size_t at = in_.mark();
        const std::string_view text = in_.until_separator();
        in_.placed(at, [&] { state.length = Dim::parse(text); });
        has_length = true;
      } else if (key == "capacity") {
        state.capacity = in_.integer();
      } else {
        return false;
      }
      return true;
    });
    if (!has_planes || !has_length) in_.refuse_at(start, "a state needs planes and length");
    in_.placed(start, [&] { graph_.add_state(std::move(state)); });
  }

  void node() {
    const std::size_t start = in_.mark();
    in_.expect("%");
    if (in_.integer() != static_cast<std::int64_t>(nodes_.size()))
      in_.refuse_at(start, "nodes are numbered from 0 without gaps: expected %{}", nodes_.size());
    const std::int64_t output_count = in_.accept(":") ? in_.integer() : 1;
    in_.expect("=");
    Node node;
    const std::size_t op_at = in_.mark();
    const std::string op = in_.name();
    in_.placed(op_at, [&] { node.schema = &OpRegistry::global().at(op); });
    for (const AttributeSpec& spec : node.schema->attributes) node.attributes.push_back(spec.default_value);
    if (in_.peek() == '{') attributes(node);
    in_.list("(", ")", [&] { node.inputs.push_back(in_.accept_word("_") ? Value{} : value()); });
    if (in_.accept(":")) {
      do {
        node.outputs.push_back(output());
      } while (in_.accept(","));
    }
    if (static_cast<std::int64_t>(node.outputs.size()) != output_count)
      in_.refuse_at(start, "{} outputs are announced and {} types given", output_count, node.outputs.size());
    if (in_.accept_word("origin")) {
      in_.expect("=");
      node.origin = origin();
    }
    if (in_.accept_word("hint")) {
      in_.expect("=");
      node.backend_hint = in_.text();
    }
    nodes_.push_back(std::move(node));
  }

  void attributes(Node& node) {
    in_.fields("{", "}", [&](std::string_view key) {
      const auto index = node.schema->attribute_index(key);
      if (!index) return false;
      node.attributes[*index] = attribute(node.schema->attributes[*index], *index);
      return true;
    });
  }

  AttributeValue attribute(const AttributeSpec& spec, std::size_t index) {
    switch (spec.type) {
      case AttributeType::boolean:
        if (in_.accept_word("true")) return true;
        in_.expect_word("false");
        return false;
      case AttributeType::integer: return in_.integer();
      case AttributeType::real: return real();
      case AttributeType::text: return in_.text();
      case AttributeType::choice: return in_.name();
      case AttributeType::integers: return integers();
      case AttributeType::reals: {
        std::vector<double> values;
        in_.list("[", "]", [&] { values.push_back(real()); });
        return values;
      }
      case AttributeType::dtype: return dtype();
      case AttributeType::shape: return shape();
      case AttributeType::tensor: return tensor(index);
    }
    return {};
  }

  double real() {
    const std::size_t at = in_.mark();
    const auto value = read_real(in_.number());
    if (!value) in_.refuse_at(at, "expected a real such as 0.5, 1e-6, inf or nan");
    return *value;
  }

  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> values;
    in_.list("[", "]", [&] { values.push_back(in_.integer()); });
    return values;
  }

  DType dtype() {
    const std::size_t at = in_.mark();
    const std::string_view word = in_.word();
    const auto found = dtype_from_name(word);
    if (!found) in_.refuse_at(at, "\"{}\" is no dtype", word);
    return *found;
  }

  Shape shape() {
    const std::size_t at = in_.mark();
    const std::string_view text = in_.bracketed();
    Shape read;
    in_.placed(at, [&] { read = Shape::parse(text); });
    return read;
  }

  AttributeValue tensor(std::size_t attribute_index) {
    const std::size_t at = in_.mark();
    const DType type = dtype();
    std::vector<std::int64_t> dims = integers();
    if (in_.accept_word("blob")) {
      in_.expect("(");
      const std::string digest(in_.word());
      in_.expect(")");
      uses_[digest].push_back({nodes_.size(), attribute_index, at, type, std::move(dims)});
      return {};
    }
    std::vector<std::byte> bytes;
    if (in_.accept_word("hex")) {
      in_.expect("{");
      bytes = hex();
    } else {
      in_.list("{", "}", [&] {
        const std::size_t token_at = in_.mark();
        if (const std::string_view token = in_.number(); !append_value(type, token, bytes))
          in_.refuse_at(token_at, "\"{}\" is no {} value", token, to_string(type));
      });
    }
    Tensor read;
    in_.placed(at, [&] { read = Tensor::copy_bytes(bytes_of(type, dims, bytes), type, dims); });
    return read;
  }

  // The bytes again, once it is sure that dtype and dims need just as many: nothing is allocated before.
  static std::span<const std::byte> bytes_of(DType type, const std::vector<std::int64_t>& dims,
                                             std::span<const std::byte> bytes) {
    if (const std::uint64_t expected = byte_size(type, dims); expected != bytes.size())
      fail(ErrorKind::bad_file, "TensorSizeMismatch", "", "a {} constant of {} has {} bytes, found {}", to_string(type),
           dims_text(dims), expected, bytes.size());
    return bytes;
  }

  // Digits, with white space between, up to and with the closing brace.
  std::vector<std::byte> hex() {
    std::vector<std::byte> bytes;
    while (!in_.accept("}")) {
      const std::size_t at = in_.mark();
      const std::string_view digits = in_.word();
      if (digits.size() % 2 != 0) in_.refuse_at(at, "an odd number of hexadecimal digits");
      for (std::size_t i = 0; i < digits.size(); i += 2) {
        std::uint8_t byte = 0;
        const auto [end, error] = std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
        if (error != std::errc() || end != digits.data() + i + 2)
          in_.refuse_at(at + i, "expected two hexadecimal digits");
        bytes.push_back(std::byte{byte});
      }
    }
    return bytes;
  }

  OutputInfo output() {
    OutputInfo output;
    output.type.shape = shape();
    output.type.dtype = dtype();
    if (in_.accept_word("name")) {
      in_.expect("=");
      output.name = in_.text();
    }
    return output;
  }

  Value value() {
    const std::size_t at = in_.mark();
    in_.expect("%");
    const std::int64_t index = in_.integer(), port = in_.accept("#") ? in_.integer() : 0;
    if (index < 0 || index > INT32_MAX || port < 0 || port > INT32_MAX) in_.refuse_at(at, "no value has such a number");
    return {static_cast<std::int32_t>(index), static_cast<std::int32_t>(port)};
  }

  Origin origin() {
    Origin origin;
    in_.fields("{", "}", [&](std::string_view key) {
      if (key == "format")
        origin.format = in_.text();
      else if (key == "id")
        origin.id = in_.integer();
      else if (key == "op")
        origin.op = in_.text();
      else if (key == "label")
        origin.label = in_.text();
      else if (key == "also")
        in_.list("[", "]", [&] { origin.also.push_back(in_.text()); });
      else
        return false;
      return true;
    });
    return origin;
  }

  void outputs() {
    do {
      GraphOutput output;
      output.name = in_.name();
      in_.expect("=");
      output.value = value();
      outputs_.push_back(std::move(output));
    } while (in_.accept(","));
  }

  void blob() {
    in_.expect_word("blob");
    in_.expect("(");
    const std::size_t at = in_.mark();
    const std::string digest(in_.word());
    in_.expect(")");
    const std::int64_t size = in_.integer();
    in_.expect_word("bytes");
    in_.expect("{");
    const std::vector<std::byte> bytes = hex();
    if (size != static_cast<std::int64_t>(bytes.size()))
      in_.refuse_at(at, "{} bytes are announced and {} given", size, bytes.size());
    if (const std::string found = sha256_hex(bytes); found != digest)
      in_.refuse_at(at, "the bytes have the SHA-256 {}", found);
    const auto uses = uses_.find(digest);
    if (uses == uses_.end()) in_.refuse_at(at, "no constant refers to this blob, or it stands here twice");
    // One aligned copy for all constants that share it.
    const Tensor shared = Tensor::copy_bytes(bytes, DType::u8, {size});
    for (BlobUse& use : uses->second)
      in_.placed(use.at, [&] {
        bytes_of(use.dtype, use.dims, bytes);
        nodes_[use.node].attributes[use.attribute] =
            Tensor::wrap(std::make_shared<Tensor>(shared), shared.bytes(), use.dtype, use.dims);
      });
    uses_.erase(uses);
  }

  TextScanner in_;
  Graph graph_;
  DimBounds symbols_;
  std::vector<Node> nodes_;
  std::vector<GraphOutput> outputs_;
  std::map<std::string, std::vector<BlobUse>> uses_;  // by digest, those not served yet
};

}  // namespace

Graph graph_from_text(std::string_view text, std::string_view source) { return GraphParser(text, source).parse(); }

}  // namespace weft
