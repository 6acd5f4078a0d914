#include "weft/runtime/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "weft/base/atomic_file.h"

namespace weft {
namespace {

// A name may come from a file and hold any bytes.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Units of a thousand million a second.
std::string rate(std::uint64_t amount, std::int64_t ns) {
  return amount == 0 || ns <= 0 ? "-" : fmt::format("{:.1f}", static_cast<double>(amount) / static_cast<double>(ns));
}

}  // namespace

Profile::Profile(std::size_t capacity) : ring_(std::max<std::size_t>(capacity, 1)) {}

std::uint32_t Profile::add_instruction(std::string name, std::string op, std::string label) {
  instructions_.push_back({.name = std::move(name), .op = std::move(op), .label = std::move(label)});
  return static_cast<std::uint32_t>(instructions_.size() - 1);
}

std::int64_t Profile::now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Profile::record(std::uint32_t instruction, std::int64_t start_ns, std::int64_t duration_ns, std::uint64_t bytes,
                     std::uint64_t flops) noexcept {
  Instruction& sum = instructions_[instruction];
  ++sum.calls;
  sum.ns += duration_ns;
  sum.bytes += bytes;
  sum.flops += flops;
  ring_[recorded_ % ring_.size()] = {start_ns, duration_ns, bytes, flops, instruction};
  ++recorded_;
}

void Profile::clear() noexcept {
  for (Instruction& each : instructions_) {
    each.calls = each.bytes = each.flops = 0;
    each.ns = 0;
  }
  recorded_ = 0;
}

std::uint64_t Profile::dropped() const { return recorded_ - std::min<std::uint64_t>(recorded_, ring_.size()); }

std::vector<Profile::Totals> Profile::by_op() const {
  std::map<std::string, Totals> sums;
  for (const Instruction& each : instructions_) {
    if (each.calls == 0) continue;
    Totals& sum = sums[each.op];
    sum.op = each.op;
    sum.calls += each.calls;
    sum.ns += each.ns;
    sum.bytes += each.bytes;
    sum.flops += each.flops;
  }
  std::vector<Totals> rows;
  for (auto& [op, sum] : sums) rows.push_back(std::move(sum));
  std::stable_sort(rows.begin(), rows.end(), [](const Totals& a, const Totals& b) { return a.ns > b.ns; });
  return rows;
}

std::string Profile::table() const {
  const std::vector<Totals> rows = by_op();
  Totals all{.op = "all"};
  std::size_t width = all.op.size();
  for (const Totals& row : rows) {
    all.calls += row.calls;
    all.ns += row.ns;
    all.bytes += row.bytes;
    all.flops += row.flops;
    width = std::max(width, row.op.size());
  }
  std::string text =
      fmt::format("{:<{}} {:>9} {:>10} {:>8} {:>9} {:>7}\n", "op", width, "calls", "ms", "GB/s", "GFLOP/s", "share");
  const auto add = [&](const Totals& row) {
    const double share = all.ns > 0 ? 100.0 * static_cast<double>(row.ns) / static_cast<double>(all.ns) : 0;
    fmt::format_to(std::back_inserter(text), "{:<{}} {:>9} {:>10.2f} {:>8} {:>9} {:>6.1f}%\n", row.op, width, row.calls,
                   static_cast<double>(row.ns) / 1e6, rate(row.bytes, row.ns), rate(row.flops, row.ns), share);
  };
  for (const Totals& row : rows) add(row);
  add(all);
  return text;
}

std::string Profile::trace_json() const {
  std::vector<std::string> heads;  // what all executions of an instruction share
  for (const Instruction& each : instructions_)
    heads.push_back(fmt::format(R"({{"name":{},"cat":{},"ph":"X","pid":1,"tid":1,"args":{{"kernel":{})",
                                quoted(each.label.empty() ? each.name : each.label), quoted(each.op),
                                quoted(each.name)));
  std::string text =
      R"({"displayTimeUnit":"ns","traceEvents":[{"name":"process_name","ph":"M","pid":1,"args":{"name":"weft"}})";
  const std::uint64_t first = dropped();
  const std::int64_t origin = recorded_ > 0 ? ring_[first % ring_.size()].start_ns : 0;
  for (std::uint64_t i = first; i < recorded_; ++i) {
    const Execution& e = ring_[i % ring_.size()];
    const double seconds = static_cast<double>(std::max<std::int64_t>(e.duration_ns, 1)) * 1e-9;
    fmt::format_to(
        std::back_inserter(text),
        ",\n{},\"bytes\":{},\"flops\":{},\"GB/s\":{:.2f},\"GFLOP/s\":{:.2f}}},\"ts\":{:.3f},\"dur\":{:.3f}}}",
        heads[e.instruction], e.bytes, e.flops, static_cast<double>(e.bytes) / seconds / 1e9,
        static_cast<double>(e.flops) / seconds / 1e9, static_cast<double>(e.start_ns - origin) / 1e3,
        static_cast<double>(e.duration_ns) / 1e3);
  }
  return text + "]}\n";
}

void Profile::write_trace(const std::filesystem::path& path) const {
  AtomicFile file(path);
  file.write(std::string_view(trace_json()));
  file.commit();
}

}  // namespace weft
