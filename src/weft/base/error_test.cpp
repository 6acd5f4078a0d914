#include "weft/base/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "weft/base/fail.h"

namespace weft {
namespace {

TEST(Error, WhatPutsThePlaceFirst) {
  const Error error(ErrorKind::bad_file, "Truncated", "a.gguf@0x10", "8 bytes are missing", {"b", "c"});
  EXPECT_STREQ(error.what(), "a.gguf@0x10: 8 bytes are missing");
  EXPECT_EQ(error.kind(), ErrorKind::bad_file);
  EXPECT_EQ(error.code(), "Truncated");
  EXPECT_EQ(error.where(), "a.gguf@0x10");
  EXPECT_EQ(error.message(), "8 bytes are missing");
  EXPECT_EQ(error.details().size(), 2u);
  EXPECT_STREQ(Error(ErrorKind::io, "NotFound", "", "no file").what(), "no file");
}

TEST(Error, FailFormatsItsMessage) {
  try {
    fail(ErrorKind::out_of_range, "IndexOutOfRange", "[Gather] node %1", "index {} is outside {}", 7, 5);
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[Gather] node %1: index 7 is outside 5");
    return;
  }
  FAIL() << "nothing was thrown";
}

TEST(Error, EveryKindHasItsOwnName) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::not_representable); ++kind)
    names.insert(to_string(static_cast<ErrorKind>(kind)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(ErrorKind::not_representable) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Error, CopiesCarryEverything) {
  const Error error(ErrorKind::invalid_graph, "BadArity", "[MatMul] node %3", "1 input", {"more"});
  const Error copy = error;
  EXPECT_STREQ(copy.what(), error.what());
  EXPECT_EQ(copy.details(), error.details());
}

}  // namespace
}  // namespace weft
