#include "weft/runtime/profile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "allocation_count.h"
#include "temporary_directory.h"

namespace weft {
namespace {

using nlohmann::json;

TEST(Profile, SumsPerOpTheLongestFirst) {
  Profile profile;
  const auto q = profile.add_instruction("linear.q4_0", "MatMul", "layers.0.q");
  const auto k = profile.add_instruction("linear.q4_0", "MatMul", "layers.0.k");
  const auto norm = profile.add_instruction("rms_norm", "RmsNorm", "layers.0.norm");
  profile.add_instruction("never", "Silu", "");
  profile.record(q, 0, 1'000'000, 8'000'000, 2'000'000);
  profile.record(k, 1'000'000, 1'000'000, 4'000'000, 0);
  profile.record(norm, 2'000'000, 500'000, 0, 0);
  const auto rows = profile.by_op();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].op, "MatMul");
  EXPECT_EQ(rows[0].calls, 2u);
  EXPECT_EQ(rows[0].ns, 2'000'000);
  EXPECT_EQ(rows[0].bytes, 12'000'000u);
  EXPECT_EQ(rows[1].op, "RmsNorm");
  EXPECT_EQ(profile.table(),
            "op          calls         ms     GB/s   GFLOP/s   share\n"
            "MatMul          2       2.00      6.0       1.0   80.0%\n"
            "RmsNorm         1       0.50        -         -   20.0%\n"
            "all             3       2.50      4.8       0.8  100.0%\n");
}

TEST(Profile, NothingRecordedIsAnEmptyTable) {
  Profile profile;
  profile.add_instruction("a", "A", "");
  EXPECT_EQ(profile.table(),
            "op      calls         ms     GB/s   GFLOP/s   share\n"
            "all         0       0.00        -         -    0.0%\n");
  EXPECT_EQ(json::parse(profile.trace_json())["traceEvents"].size(), 1u);
}

TEST(Profile, TheRingKeepsTheLatestAndTheSumsKeepAll) {
  Profile profile(4);
  const auto a = profile.add_instruction("a", "A", "");
  for (int i = 0; i < 10; ++i) profile.record(a, 100 + 10 * i, 5, 1, 1);
  EXPECT_EQ(profile.recorded(), 10u);
  EXPECT_EQ(profile.dropped(), 6u);
  EXPECT_EQ(profile.by_op()[0].calls, 10u);
  const json events = json::parse(profile.trace_json())["traceEvents"];
  ASSERT_EQ(events.size(), 5u);  // and the process's name
  for (int i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(events[static_cast<std::size_t>(i) + 1]["ts"], i * 0.01);
  profile.clear();
  EXPECT_EQ(profile.recorded(), 0u);
  EXPECT_TRUE(profile.by_op().empty());
  profile.record(a, 0, 7, 0, 0);
  EXPECT_EQ(profile.by_op()[0].ns, 7);
}

TEST(Profile, RecordingAllocatesNothing) {
  Profile profile(16);
  const auto a = profile.add_instruction("a", "A", "");
  const test::AllocationCount before = test::allocations();
  for (int i = 0; i < 100; ++i) profile.record(a, Profile::now_ns(), 1, 1, 1);
  profile.clear();
  EXPECT_EQ(test::allocations(), before);
}

TEST(Profile, ATraceIsJsonWhateverTheNames) {
  Profile profile;
  const auto odd = profile.add_instruction("k\"ernel\\", "Op\n", "gr\xc3\xbc\xc3\x9f\x65 \xff");
  const auto plain = profile.add_instruction("add", "Add", "");
  profile.record(odd, 5'000'000, 2'500, 5'000, 10'000);
  profile.record(plain, 5'004'000, 0, 0, 0);
  const testing::TemporaryDirectory directory;
  profile.write_trace(directory / "trace.json");
  std::stringstream text;
  text << std::ifstream(directory / "trace.json").rdbuf();
  const json trace = json::parse(text.str());
  const json& event = trace["traceEvents"][1];
  EXPECT_EQ(event["cat"], "Op\n");
  EXPECT_EQ(event["ph"], "X");
  EXPECT_EQ(event["args"]["kernel"], "k\"ernel\\");
  EXPECT_EQ(event["args"]["bytes"], 5000);
  EXPECT_DOUBLE_EQ(event["args"]["GB/s"], 2);
  EXPECT_DOUBLE_EQ(event["args"]["GFLOP/s"], 4);
  EXPECT_DOUBLE_EQ(event["dur"], 2.5);
  EXPECT_EQ(trace["traceEvents"][2]["name"], "add");
  EXPECT_DOUBLE_EQ(trace["traceEvents"][2]["ts"], 4);
}

}  // namespace
}  // namespace weft
