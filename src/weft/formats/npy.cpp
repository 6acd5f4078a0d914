#include "weft/formats/npy.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/base/byte_reader.h"
#include "weft/base/fail.h"
#include "weft/base/mapped_file.h"

namespace weft {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view magic = "\x93NUMPY"sv;

constexpr std::array<std::pair<DType, std::string_view>, 12> descriptions{{{DType::f32, "<f4"},
                                                                           {DType::f64, "<f8"},
                                                                           {DType::f16, "<f2"},
                                                                           {DType::i8, "|i1"},
                                                                           {DType::u8, "|u1"},
                                                                           {DType::boolean, "|b1"},
                                                                           {DType::i16, "<i2"},
                                                                           {DType::u16, "<u2"},
                                                                           {DType::i32, "<i4"},
                                                                           {DType::u32, "<u4"},
                                                                           {DType::i64, "<i8"},
                                                                           {DType::u64, "<u8"}}};

std::string header_of(const std::filesystem::path& path, DType dtype, std::span<const std::int64_t> dims) {
  for (const auto& [known, description] : descriptions) {
    if (known != dtype) continue;
    std::string shape;
    for (const std::int64_t dim : dims) shape += fmt::format("{},", dim);
    std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", description, shape);
    // The data begins at a multiple of 64 bytes: magic, version and length take ten, the dictionary ends in LF.
    dict.append(63 - (10 + dict.size()) % 64, ' ');
    dict += '\n';
    std::string header(magic);
    header += "\x01\x00"sv;
    header += static_cast<char>(dict.size() & 0xFF);
    header += static_cast<char>(dict.size() >> 8);
    return header + dict;
  }
  fail(ErrorKind::not_representable, "NotRepresentable", path.string(),
       "a .npy file cannot hold {} values; decode them to f32 first", to_string(dtype));
}

struct Header {
  DType dtype = DType::f32;
  bool fortran = false;  // the first axis runs fastest
  std::vector<std::int64_t> dims;
};

// The header's dictionary, a Python literal with three known keys.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  Header parse() {
    std::optional<DType> dtype;
    std::optional<bool> fortran;
    std::optional<std::vector<std::int64_t>> dims;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !dtype)
        dtype = element_type(quoted());
      else if (key == "fortran_order" && !fortran)
        fortran = boolean();
      else if (key == "shape" && !dims)
        dims = shape();
      else
        refuse(fmt::format("unexpected key '{}'", key));
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (!text_.empty()) refuse("text follows the dictionary");
    if (!dtype || !fortran || !dims) refuse("'descr', 'fortran_order' and 'shape' are required");
    return {*dtype, *fortran, std::move(*dims)};
  }

 private:
  [[noreturn]] void refuse(std::string_view reason) const {
    fail(ErrorKind::bad_file, "InvalidField", where_, "the .npy header is malformed: {}", reason);
  }
  void skip_spaces() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n"), text_.size())); }
  bool accept(char c) {
    skip_spaces();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse(fmt::format("'{}' is missing", c));
  }
  std::string_view quoted() {
    skip_spaces();
    const char quote = text_.empty() ? '\0' : text_[0];
    if (quote != '\'' && quote != '"') refuse("a quoted string is missing");
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) refuse("a string has no end");
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }
  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair("True"sv, true), std::pair("False"sv, false)})
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    refuse("'fortran_order' must be True or False");
  }
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      std::int64_t dim = -1;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0 || dims.size() == 32) refuse("'shape' must be a tuple of up to 32 sizes");
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      dims.push_back(dim);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }
  DType element_type(std::string_view name) const {
    for (const auto& [dtype, description] : descriptions)
      if (name == description || (description[0] == '|' && name.size() == 3 && name.substr(1) == description.substr(1)))
        return dtype;
    fail(ErrorKind::unsupported, "UnsupportedSourceType", where_, "weft does not read .npy element type '{}'", name);
  }

  std::string_view text_;
  std::string where_;
};

// The elements of an array whose first axis runs fastest, in row-major order; there is at least one.
template <class T>
void to_row_major(const T* from, std::span<const std::int64_t> dims, T* to) {
  // An odometer over all axes but the last, which is one run of a constant step.
  const std::size_t outer = dims.size() - 1;
  std::vector<std::int64_t> steps{1}, index(outer, 0);
  for (std::size_t axis = 0; axis < outer; ++axis) steps.push_back(steps.back() * dims[axis]);
  for (std::int64_t start = 0;;) {
    for (std::int64_t i = 0; i < dims[outer]; ++i) *to++ = from[start + i * steps[outer]];
    std::size_t axis = outer;
    for (; axis-- > 0;) {
      start += steps[axis];
      if (++index[axis] < dims[axis]) break;
      start -= dims[axis] * steps[axis];
      index[axis] = 0;
    }
    if (axis > outer) return;  // every axis has come around
  }
}

Tensor from_fortran(std::span<const std::byte> bytes, Header header) {
  // In a tensor of its own first, which is aligned.
  const Tensor turned = Tensor::copy_bytes(bytes, header.dtype, header.dims);
  Tensor tensor = Tensor::allocate(header.dtype, header.dims);
  const auto as = [&]<class T>(T) {
    to_row_major(reinterpret_cast<const T*>(turned.bytes().data()), header.dims,
                 reinterpret_cast<T*>(tensor.mutable_bytes().data()));
  };
  switch (dtype_info(header.dtype).block_bytes) {
    case 1: as(std::uint8_t{}); break;
    case 2: as(std::uint16_t{}); break;
    case 4: as(std::uint32_t{}); break;
    default: as(std::uint64_t{});
  }
  return tensor;
}

}  // namespace

NpyWriter::NpyWriter(std::filesystem::path path, DType dtype, std::vector<std::int64_t> dims)
    : file_(path), path_(std::move(path)), remaining_(byte_size(dtype, dims)) {
  file_.write(header_of(path_, dtype, dims));
}

void NpyWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > remaining_)
    fail(ErrorKind::shape_mismatch, "ShapeMismatch", path_.string(), "{} bytes are appended but only {} are missing",
         bytes.size(), remaining_);
  file_.write(bytes);
  remaining_ -= bytes.size();
}

void NpyWriter::commit() {
  if (remaining_ != 0)
    fail(ErrorKind::shape_mismatch, "ShapeMismatch", path_.string(), "{} bytes of the array are missing", remaining_);
  file_.commit();
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  NpyWriter writer(path, tensor.dtype(), tensor.dims());
  writer.append(tensor.bytes());
  writer.commit();
}

Tensor read_npy(const std::filesystem::path& path) { return read_npy(MappedFile::open(path)->bytes(), path.string()); }

Tensor read_npy(std::span<const std::byte> bytes, const std::string& source) {
  ByteReader reader(bytes, source);
  if (reader.remaining() < magic.size() || reader.text(magic.size(), "the magic") != magic)
    fail(ErrorKind::bad_file, "NotNpy", source, "not a .npy file");
  const auto major = reader.read<std::uint8_t>("the version");
  reader.skip(1, "the version");
  if (major < 1 || major > 3)
    fail(ErrorKind::unsupported, "UnsupportedVersion", reader.where(magic.size()),
         ".npy version {} is not supported; weft reads 1 to 3", major);
  const std::uint64_t length = major == 1 ? reader.read<std::uint16_t>("the header's length")
                                          : reader.read<std::uint32_t>("the header's length");
  const std::string where = reader.where();
  Header header = HeaderParser(reader.text(length, "the header"), where).parse();
  const std::uint64_t size = byte_size(header.dtype, header.dims);
  if (size != reader.remaining())
    fail(ErrorKind::bad_file, "TensorSizeMismatch", reader.where(),
         "the array {} of {} takes {} bytes, the file holds {}", dims_text(header.dims), to_string(header.dtype), size,
         reader.remaining());
  const std::span<const std::byte> elements = reader.take(size, "the array");
  if (header.fortran && header.dims.size() > 1 && size > 0) return from_fortran(elements, std::move(header));
  return Tensor::copy_bytes(elements, header.dtype, std::move(header.dims));
}

}  // namespace weft
