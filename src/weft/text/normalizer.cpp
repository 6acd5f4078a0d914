#include "weft/text/normalizer.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "weft/base/fail.h"

namespace weft::text {
namespace {

constexpr int longest_combining_run = 1024;

void check_combining_runs(std::string_view text) {
  int run = 0;
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                                     static_cast<utf8proc_ssize_t>(text.size() - at), &code_point);
    if (length <= 0) return;  // utf8proc_map reports it
    run = utf8proc_get_property(code_point)->combining_class != 0 ? run + 1 : 0;
    if (run > longest_combining_run)
      fail(ErrorKind::out_of_memory, "LimitExceeded", fmt::format("text@{}", at),
           "a run of more than {} combining marks cannot be normalized", longest_combining_run);
    at += static_cast<std::size_t>(length);
  }
}

}  // namespace

std::string normalize(std::string_view text, TextNormalizer form) {
  if (form == TextNormalizer::none || text.empty()) return std::string(text);
  check_combining_runs(text);
  const int compatibility = form == TextNormalizer::nfkc ? UTF8PROC_COMPAT : 0;
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &out, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | compatibility));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(out, &std::free);
  if (length < 0) fail(ErrorKind::invalid_argument, "NormalizationFailed", "text", "{}", utf8proc_errmsg(length));
  return std::string(reinterpret_cast<const char*>(out), static_cast<std::size_t>(length));
}

}  // namespace weft::text
