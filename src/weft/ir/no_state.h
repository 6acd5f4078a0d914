// What a pure node sees when it is computed outside a run: nothing here is ever asked for.
#pragma once

#include "weft/base/fail.h"
#include "weft/ir/kernel.h"

namespace weft {

class NoState final : public StateAccess {
 public:
  std::vector<Tensor> append(std::string_view slot, std::span<const Tensor>) override { refuse(slot); }
  Pcg32& generator(std::int32_t, std::int64_t) override { refuse("generator"); }
  std::int64_t run_index() const override { return 0; }

 private:
  [[noreturn]] static void refuse(std::string_view what) {
    fail(ErrorKind::invalid_graph, "NoState", "", "{} is used outside a run", what);
  }
};

}  // namespace weft
