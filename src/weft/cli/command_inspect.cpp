// weft inspect: what a file holds, without loading it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "weft/base/tensor.h"
#include "weft/cli/file_report.h"
#include "weft/cli/json_output.h"
#include "weft/cli/program.h"

namespace weft::cli {
namespace {

// As sha256sum prints them.
void print_hashes(const FileReport& report) {
  for (const HashReport& hash : report.hashes) {
    fmt::print("{}  {}", hash.sha256, hash.name);
    if (hash.differs()) fmt::print("  DIFFERS: the file declares {}", *hash.declared);
    if (hash.declared && !hash.differs()) fmt::print("  as declared");
    fmt::print("\n");
  }
}

}  // namespace

int inspect(const InspectArguments& arguments) {
  const FileReport report = inspect_file(arguments);
  // A declared sum that is another is a failure, told with all the rest.
  const bool differs =
      std::any_of(report.hashes.begin(), report.hashes.end(), [](const HashReport& hash) { return hash.differs(); });
  const int status = differs ? 1 : 0;
  if (arguments.json) {
    fmt::print("{}\n", inspect_json(report, arguments.tensors));
    return status;
  }
  if (arguments.hash) {
    print_hashes(report);
    return status;
  }
  fmt::print("{}: {}, {} bytes\n", report.file, report.format, report.bytes);
  std::size_t width = 0;
  for (const auto& [key, value] : report.facts) width = std::max(width, key.size());
  for (const auto& [key, value] : report.facts) fmt::print("  {:<{}}  {}\n", key, width, value);
  std::string types;
  for (const auto& [dtype, count] : report.dtypes)
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, dtype);
  fmt::print("{} tensors ({}), {} parameters, {} bytes of weights\n", report.tensors.size(), types, report.parameters,
             report.weight_bytes);
  if (!arguments.tensors) return 0;
  width = 0;
  for (const TensorReport& tensor : report.tensors) width = std::max(width, tensor.name.size());
  for (const TensorReport& tensor : report.tensors)
    fmt::print("  {:<{}}  {:<8} {:<20} {:>12} bytes at {:#x}\n", tensor.name, width, tensor.dtype,
               dims_text(tensor.dims), tensor.bytes, tensor.offset);
  return 0;
}

}  // namespace weft::cli
