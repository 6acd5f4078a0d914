#include "weft/models/verify/findings.h"

#include <algorithm>
#include <cctype>
#include <new>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t most_findings = 1000;

// Details may begin with a code of their own, "ShapeMismatch: ...".
std::size_t code_length(const std::string& detail) {
  const std::size_t colon = detail.find(": ");
  const bool is_code = colon != std::string::npos && colon > 0 &&
                       std::all_of(detail.begin(), detail.begin() + static_cast<std::ptrdiff_t>(colon),
                                   [](unsigned char c) { return std::isalnum(c) != 0; });
  return is_code ? colon : 0;
}

}  // namespace

std::string_view to_string(Severity severity) { return severity == Severity::error ? "error" : "warning"; }

void Findings::begin(std::string check) { checks_.push_back({std::move(check), false, ""}); }

void Findings::done(std::string note) {
  checks_.back().done = true;
  checks_.back().note = std::move(note);
}

void Findings::skipped(std::string reason) { checks_.back().note = std::move(reason); }

bool Findings::attempt(const std::function<void()>& step) {
  try {
    step();
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::canceled) throw;
    add(error);
  }
  return false;
}

void Findings::error(std::string code, std::string where, std::string message) {
  add(Severity::error, std::move(code), std::move(where), std::move(message));
}

void Findings::warning(std::string code, std::string where, std::string message) {
  add(Severity::warning, std::move(code), std::move(where), std::move(message));
}

void Findings::add(const Error& error) {
  this->error(error.code(), error.where(), error.message());
  for (const std::string& detail : error.details()) {
    const std::size_t length = code_length(detail);
    if (length == 0)
      this->error(error.code(), error.where(), detail);
    else
      this->error(detail.substr(0, length), error.where(), detail.substr(length + 2));
  }
}

void Findings::add(const Warning& warning) { this->warning(warning.code, warning.where, warning.message); }

void Findings::add(Severity severity, std::string code, std::string where, std::string message) {
  ++(severity == Severity::error ? errors_ : warnings_);
  if (findings_.size() < most_findings)
    findings_.push_back({severity, checks_.back().name, std::move(code), std::move(where), std::move(message)});
}

}  // namespace weft
