// Where nodes run. A backend says which nodes it takes; it runs them one by one, or lowers them to instructions of a
// program. `reference` takes every op and is the arbiter of correctness. Backends are created once per executor and are
// used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/export.h"
#include "weft/ir/graph.h"
#include "weft/ir/kernel.h"

namespace weft {

namespace lir {
class ProgramBuilder;
}

struct Support {
  bool supported = true;
  std::string reason;  // why not
};

struct LowerOptions {
  std::optional<DType> kv_dtype = {};  // how KV rows are kept; absent: as the graph declares
};

class WEFT_API Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  // A yes obliges execute() to be right; refusing later is a BackendFailure.
  virtual Support supports(const Graph& graph, std::int32_t node) const = 0;
  // Most bytes it may hold for inputs, weights, states and intermediates; 0: no limit.
  virtual std::uint64_t memory_limit() const { return 0; }
  virtual void execute(const KernelContext& context) const = 0;
  // Emits the instructions of a node that it supports. False: it has none, and execute() runs the node as it is.
  virtual bool lower(lir::ProgramBuilder& /*builder*/, std::int32_t /*node*/, const LowerOptions& /*options*/) const {
    return false;
  }
};

using BackendFactory = std::function<std::unique_ptr<Backend>()>;

class WEFT_API BackendRegistry {
 public:
  static BackendRegistry& global();  // holds `reference` and `cpu`

  void add(std::string name, BackendFactory factory);
  bool has(std::string_view name) const;
  std::unique_ptr<Backend> create(std::string_view name) const;  // UnknownBackend, with the known ones
  std::vector<std::string> names() const;

 private:
  std::vector<std::pair<std::string, BackendFactory>> factories_;
};

// The library that takes what the preferred backends refuse.
inline constexpr std::string_view fallback_backend = "reference";

}  // namespace weft
