#include "weft/formats/toml_document.h"

#include <utility>

#include "weft/base/fail.h"
#include "weft/formats/toml_node.h"

namespace weft {
namespace {

class Document {
 public:
  Document(std::string_view text, TomlSource source, TomlLimits limits)
      : reader_(text, std::move(source), limits), limits_(limits) {}

  TomlTable parse() {
    for (;;) {
      switch (reader_.next()) {
        case TomlReader::Item::end: return root_.finish();
        case TomlReader::Item::table: open_table(); break;
        case TomlReader::Item::table_array: open_element(); break;
        case TomlReader::Item::key: add_value(); break;
      }
      if (++items_ > limits_.values)
        fail(ErrorKind::bad_file, "LimitExceeded", reader_.where(), "more than {} keys and tables", limits_.values);
    }
  }

 private:
  // The table that the header's path leads to, short of its last part.
  TomlNode& parent_of_header() {
    TomlNode* table = &root_;
    const auto& path = reader_.path();
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      TomlNode* next = table->find(path[i]);
      if (next == nullptr) next = &table->add(path[i], TomlNode::Kind::implied, headers_);
      if (next->kind == TomlNode::Kind::value) refuse(path[i]);
      table = next->kind == TomlNode::Kind::elements ? next->elements.back().get() : next;
    }
    return *table;
  }

  [[noreturn]] void refuse(const std::string& key) const {
    reader_.refuse(fmt::format("\"{}\" is defined already", key));
  }

  void open_table() {
    ++headers_;
    const std::string& key = reader_.path().back();
    TomlNode& parent = parent_of_header();
    TomlNode* table = parent.find(key);
    if (table == nullptr)
      table = &parent.add(key, TomlNode::Kind::header, headers_);
    else if (table->kind != TomlNode::Kind::implied)
      refuse(key);
    table->kind = TomlNode::Kind::header;
    current_ = table;
  }

  void open_element() {
    ++headers_;
    const std::string& key = reader_.path().back();
    TomlNode& parent = parent_of_header();
    TomlNode* array = parent.find(key);
    if (array == nullptr)
      array = &parent.add(key, TomlNode::Kind::elements, headers_);
    else if (array->kind != TomlNode::Kind::elements)
      refuse(key);
    current_ = array->elements.emplace_back(std::make_unique<TomlNode>()).get();
    current_->kind = TomlNode::Kind::header;
  }

  void add_value() {
    const std::vector<std::string> path = reader_.path();
    if (const std::string* taken = current_->insert(path, reader_.read_value(), headers_)) refuse(*taken);
  }

  TomlReader reader_;
  TomlLimits limits_;
  TomlNode root_;
  TomlNode* current_ = &root_;
  std::size_t headers_ = 0, items_ = 0;
};

}  // namespace

TomlTable parse_toml(std::string_view text, TomlSource source, TomlLimits limits) {
  return Document(text, std::move(source), limits).parse();
}

}  // namespace weft
