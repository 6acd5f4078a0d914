#include "weft/backend/backend.h"

#include <algorithm>

#include "weft/backend/cpu/cpu_backend.h"
#include "weft/backend/reference/reference_backend.h"
#include "weft/base/fail.h"

namespace weft {

BackendRegistry& BackendRegistry::global() {
  static BackendRegistry registry = [] {
    BackendRegistry created;
    created.add(std::string(fallback_backend), [] { return std::make_unique<ReferenceBackend>(); });
    created.add("cpu", [] { return std::make_unique<cpu::CpuBackend>(selected_cpu_level()); });
    return created;
  }();
  return registry;
}

void BackendRegistry::add(std::string name, BackendFactory factory) {
  if (has(name)) fail(ErrorKind::invalid_argument, "BackendInit", name, "a backend of this name is registered already");
  factories_.emplace_back(std::move(name), std::move(factory));
}

bool BackendRegistry::has(std::string_view name) const {
  return std::any_of(factories_.begin(), factories_.end(), [&](const auto& entry) { return entry.first == name; });
}

std::unique_ptr<Backend> BackendRegistry::create(std::string_view name) const {
  for (const auto& [known, factory] : factories_)
    if (known == name) return factory();
  fail(ErrorKind::unsupported_backend, "UnknownBackend", "", "no backend is called \"{}\"; this build has {}", name,
       fmt::join(names(), ", "));
}

std::vector<std::string> BackendRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, factory] : factories_) names.push_back(name);
  return names;
}

}  // namespace weft
