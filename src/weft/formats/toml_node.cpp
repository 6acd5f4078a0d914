#include "weft/formats/toml_node.h"

#include <utility>

namespace weft {

TomlNode* TomlNode::find(std::string_view name) const {
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

TomlNode& TomlNode::add(std::string_view name, Kind of_kind, std::size_t part) {
  TomlNode& added = *members.emplace_back(std::make_unique<TomlNode>());
  added.kind = of_kind;
  added.made_in = part;
  added.key = name;
  index.emplace(added.key, &added);
  return added;
}

const std::string* TomlNode::insert(const std::vector<std::string>& path, TomlValue stored, std::size_t part) {
  TomlNode* table = this;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    TomlNode* next = table->find(path[i]);
    if (next == nullptr)
      next = &table->add(path[i], Kind::dotted, part);
    else if (next->kind != Kind::dotted || next->made_in != part)
      return &path[i];
    table = next;
  }
  if (table->find(path.back()) != nullptr) return &path.back();
  table->add(path.back(), Kind::value, part).value = std::move(stored);
  return nullptr;
}

TomlTable TomlNode::finish() {
  TomlTable result;
  result.reserve(members.size());
  for (const auto& node : members) {
    TomlMember& member = result.emplace_back();
    if (node->kind == Kind::value) {
      member.value = std::move(node->value);
    } else if (node->kind == Kind::elements) {
      TomlArray& array = member.value.data.emplace<TomlArray>();
      for (const auto& element : node->elements) array.emplace_back().data = element->finish();
    } else {
      member.value.data = node->finish();
    }
    member.key = node->key;
  }
  return result;
}

}  // namespace weft
