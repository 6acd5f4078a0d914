#include "weft/base/sha256.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

// The examples of FIPS 180-4.
constexpr const char* of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* of_million_a = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(sha256_hex(""), of_nothing);
  EXPECT_EQ(sha256_hex("abc"), of_abc);
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), of_million_a);
}

TEST(Sha256, PiecesMakeTheWhole) {
  Sha256 hash;
  hash.update("a");
  hash.update("");
  hash.update("bc");
  EXPECT_EQ(hash.hex_digest(), of_abc);
}

}  // namespace
}  // namespace weft
