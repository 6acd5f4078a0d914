#include "weft/formats/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "gguf_builder.h"
#include "temporary_directory.h"
#include "weft/base/error.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

class NpyTest : public ::testing::Test {
 protected:
  std::string code_of(std::string_view bytes) {
    testing::GgufBuilder::write_file(file_, bytes);
    try {
      read_npy(file_);
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  }
  std::string content() const {
    std::ifstream file(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  testing::TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_ / "x.npy";
};

// What numpy.save writes for numpy.arange(6, dtype=numpy.float32).reshape(2, 3).
std::string numpy_file() {
  std::string text("\x93NUMPY\x01\x00\x76\x00", 10);
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  dict.resize(117, ' ');
  text += dict + "\n";
  for (int i = 0; i < 6; ++i) text += testing::GgufBuilder::bytes_of(static_cast<float>(i));
  return text;
}

TEST_F(NpyTest, ReadsWhatNumpyWrites) {
  testing::GgufBuilder::write_file(file_, numpy_file());
  const Tensor tensor = read_npy(file_);
  EXPECT_EQ(tensor.dtype(), DType::f32);
  EXPECT_THAT(tensor.dims(), ElementsAre(2, 3));
  EXPECT_THAT(tensor.values<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(NpyTest, FortranOrderIsTurned) {
  std::string file = numpy_file();
  file.replace(file.find("False"), 5, "True ");
  testing::GgufBuilder::write_file(file_, file);
  const Tensor tensor = read_npy(file_);
  EXPECT_THAT(tensor.dims(), ElementsAre(2, 3));
  EXPECT_THAT(tensor.values<float>(), ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST_F(NpyTest, PlainTypesAndShapesRoundTrip) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i8, DType::u8, DType::boolean, DType::i16,
                            DType::u16, DType::i32, DType::u32, DType::i64, DType::u64})
    for (const std::vector<std::int64_t>& dims : {std::vector<std::int64_t>{}, {5}, {2, 3}, {2, 0, 4}, {1, 1, 1, 7}}) {
      Tensor tensor = Tensor::allocate(dtype, dims);
      for (std::size_t i = 0; i < tensor.byte_size(); ++i) tensor.mutable_bytes()[i] = static_cast<std::byte>(i & 1);
      write_npy(file_, tensor);
      const Tensor back = read_npy(file_);
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_EQ(back.dims(), dims);
      EXPECT_TRUE(std::equal(back.bytes().begin(), back.bytes().end(), tensor.bytes().begin(), tensor.bytes().end()));
      EXPECT_EQ((content().size() - tensor.byte_size()) % 64, 0u);
    }
}

TEST_F(NpyTest, PiecesMakeTheWhole) {
  const Tensor tensor = Tensor::from(std::vector<std::int32_t>{1, 2, 3, 4}, {4});
  write_npy(file_, tensor);
  const std::string whole = content();
  NpyWriter writer(file_, DType::i32, {4});
  writer.append(tensor.bytes().subspan(0, 4));
  EXPECT_THROW(writer.commit(), Error);
  EXPECT_THROW(writer.append(tensor.bytes()), Error);
  writer.append(tensor.bytes().subspan(4));
  writer.commit();
  EXPECT_EQ(content(), whole);
}

TEST_F(NpyTest, NothingIsLeftWithoutCommit) {
  { NpyWriter writer(file_, DType::i32, {4}); }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_THROW(NpyWriter(file_, DType::q8_0, {32}), Error);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_THROW(NpyWriter(directory_ / "no/such/x.npy", DType::f32, {1}), Error);
}

TEST_F(NpyTest, WrongFilesAreRefused) {
  const std::string good = numpy_file();
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(code_of(std::string_view(good).substr(0, size)), "") << size;
  EXPECT_EQ(code_of(good), "");
  EXPECT_EQ(code_of(good + "x"), "TensorSizeMismatch");
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = good;
    return code_of(changed.replace(changed.find(from), from.size(), to));
  };
  EXPECT_EQ(with("<f4", ">f4"), "UnsupportedSourceType");
  EXPECT_EQ(with("<f4", "<O8"), "UnsupportedSourceType");
  EXPECT_EQ(with("False", "Maybe"), "InvalidField");
  EXPECT_EQ(with("(2, 3)", "(2,-3"), "InvalidField");
  EXPECT_EQ(with("(2, 3)", "(2, 4)"), "TensorSizeMismatch");
  EXPECT_EQ(with("shape", "shane"), "InvalidField");
  EXPECT_EQ(with("'fortran_order': False, ", "                        "), "InvalidField");
  EXPECT_EQ(with("\x01", "\x04"), "UnsupportedVersion");
  EXPECT_EQ(code_of("PK"), "NotNpy");
}

}  // namespace
}  // namespace weft
