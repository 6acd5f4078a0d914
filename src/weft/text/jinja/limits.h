// What a template may cost. Beyond any of these rendering stops with TemplateLimit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::jinja {

struct TemplateLimits {
  std::size_t source_bytes = std::size_t{1} << 20;
  std::size_t output_bytes = std::size_t{16} << 20;  // also of each string on the way
  // Statements and expressions evaluated; one more for each 1 KiB of text or 64 items in a value.
  std::uint64_t steps = 1'000'000;
  std::size_t work_bytes = std::size_t{256} << 20;  // of all strings and lists made on the way
  int depth = 64;  // of blocks in blocks, brackets in brackets, values in values, calls
};

}  // namespace weft::jinja
