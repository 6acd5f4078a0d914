// What is wrong or odd in a model file, as data: each finding has a stable code.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/export.h"
#include "weft/base/warning.h"

namespace weft {

enum class Severity { warning, error };
WEFT_API std::string_view to_string(Severity severity);

struct Finding {
  Severity severity = Severity::error;
  std::string check, code, where, message;
};

// One part of the work, "structure" or "graph".
struct CheckResult {
  std::string name;
  bool done = false;
  std::string note;  // what was looked at, or why the check was skipped
};

class WEFT_API Findings {
 public:
  // What follows belongs to this check, until the next one.
  void begin(std::string check);
  void done(std::string note);
  void skipped(std::string reason);
  // Runs the step; what it throws becomes a finding. Whether it threw nothing.
  bool attempt(const std::function<void()>& step);

  void error(std::string code, std::string where, std::string message);
  void warning(std::string code, std::string where, std::string message);
  void add(const Error& error);  // and what is in its details
  void add(const Warning& warning);

  const std::vector<CheckResult>& checks() const { return checks_; }
  const std::vector<Finding>& all() const { return findings_; }
  std::uint64_t errors() const { return errors_; }  // those beyond the first thousand are counted alone
  std::uint64_t warnings() const { return warnings_; }

 private:
  void add(Severity severity, std::string code, std::string where, std::string message);

  std::vector<CheckResult> checks_;
  std::vector<Finding> findings_;
  std::uint64_t errors_ = 0, warnings_ = 0;
};

}  // namespace weft
