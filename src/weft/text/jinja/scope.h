// The variables of a block, inside those of the blocks around it.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "weft/text/hash.h"
#include "weft/text/jinja/value.h"

namespace weft::jinja {

struct Scope {
  struct Hash {
    std::size_t operator()(std::string_view key) const { return text::hash_bytes(key); }
  };

  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}
  const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get())
      if (const auto found = scope->names.find(name); found != scope->names.end()) return &found->second;
    return nullptr;
  }

  std::shared_ptr<Scope> parent;
  std::unordered_map<std::string_view, Value, Hash> names;  // the keys view the template's tree
  bool captured = false;                                    // a macro that was defined in it may live on
};

}  // namespace weft::jinja
