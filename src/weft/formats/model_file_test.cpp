#include "weft/formats/model_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "temporary_directory.h"
#include "weft/base/block_codec.h"
#include "weft/base/error.h"
#include "weft/base/sha256.h"
#include "weft/formats/model_encoding.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

auto Says(const char* code, const char* text) {
  return AllOf(Field(&Warning::code, code), Field(&Warning::message, HasSubstr(text)));
}

// A model as text, whose parts a test changes one at a time.
struct ModelText {
  std::string cyb = "[cyb]\ntypes = [\"model\"]\nname = \"tiny\"\nformat_version = 2\n";
  std::string lineage = "[cyb.lineage]\nsource = \"org/tiny\"\n";
  std::string files =
      "[[files]]\nname = \"config\"\nformat = \"toml\"\n[[files]]\nname = \"tensors\"\nformat = \"toml\"\n";
  std::string weights_entry = "[[files]]\nname = \"weights\"\nformat = \"tensors\"\nsize = 32\n";
  std::string before;  // sections ahead of config
  std::string config = "model_type = \"llama\"\n[architecture]\nhidden_size = 4\n";
  std::string tensors =
      "[\"a\"]\nshape = [2, 2]\nencoding = \"f32\"\noffset = 0\nsize = 16\n"
      "\"ignored\" = { }\n[\"b\"]\nencoding = \"u32\"\nshape = [4]\nsize = 16\noffset = 16\n";
  std::string after;  // sections behind tensors
  std::string weights = [] {
    std::string bytes;
    for (const float x : {1.f, 2.f, 3.f, 4.f}) bytes.append(reinterpret_cast<const char*>(&x), 4);
    for (const std::int32_t x : {65536, -32768, 0, 1}) bytes.append(reinterpret_cast<const char*>(&x), 4);
    return bytes;
  }();

  std::string build() const {
    return cyb + lineage + files + weights_entry + before + "~~~config\n" + config + "~~~tensors\n" + tensors + after +
           "~~~weights\n" + weights;
  }
};

class ModelFileTest : public ::testing::Test {
 protected:
  ModelFile open(const std::string& bytes, const ModelLoadOptions& options = {}) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ModelFile::open(path_, options);
  }
  std::pair<std::string, std::string> error_of(const std::string& bytes, const ModelLoadOptions& options = {}) {
    try {
      open(bytes, options);
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {};
  }
  std::string code_of(const std::string& bytes, const ModelLoadOptions& options = {}) {
    return error_of(bytes, options).first;
  }
  // The code when `change` is made to the model that is in order.
  std::string code_with(const std::function<void(ModelText&)>& change, const ModelLoadOptions& options = {}) {
    ModelText model;
    change(model);
    return code_of(model.build(), options);
  }
  static std::string tensor(std::string_view name, std::string_view shape, std::string_view encoding,
                            std::int64_t offset, std::int64_t size) {
    return fmt::format("\"{}\" = {{ shape = {}, encoding = \"{}\", offset = {}, size = {} }}\n", name, shape, encoding,
                       offset, size);
  }

  testing::TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "tiny.model";
};

TEST_F(ModelFileTest, ReadsAModel) {
  const ModelFile model = open(ModelText().build());
  EXPECT_EQ(model.name(), "tiny");
  EXPECT_EQ(model.format_version(), 2);
  EXPECT_EQ(model.frontmatter().get_string("cyb.lineage.source"), "org/tiny");
  EXPECT_EQ(model.config().get_int("architecture.hidden_size"), 4);
  ASSERT_EQ(model.tensors().size(), 2u);
  EXPECT_THAT(model.tensor("a").values<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(model.tensor("a").dims(), ElementsAre(2, 2));
  EXPECT_EQ(model.tensor("b").dtype(), DType::fx16_16);
  EXPECT_THAT(model.tensor("b").to_f32().values<float>(), ElementsAre(1, -0.5f, 0, 1 / 65536.f));
  EXPECT_FALSE(model.graph() || model.mir() || model.chat() || model.section("card"));
  EXPECT_EQ(model.vocabulary().type, TokenizerType::none);
  EXPECT_EQ(model.sections().back().name, "weights");
  EXPECT_EQ(model.sections().back().bytes, 32u);
  EXPECT_THAT(model.warnings(), ElementsAre(Says("IgnoredKey", "\"ignored\"")));
  EXPECT_EQ(model.identity(), sha256_hex(ModelText().build()));
  EXPECT_FALSE(model.finish_verification());
  EXPECT_THROW(model.tensor("c"), Error);
}

TEST_F(ModelFileTest, ATensorIsAViewOfTheFileOrOfItsCopy) {
  // Blank lines behind the tensors move the weights: the view is taken where the address suits, copied where not.
  for (int shift = 0; shift < 8; ++shift)
    for (const bool copy : {false, true}) {
      ModelText text;
      text.tensors += std::string(static_cast<std::size_t>(shift), '\n');
      const ModelFile model = open(text.build(), {.copy = copy});
      EXPECT_THAT(model.tensor("a").values<float>(), ElementsAre(1, 2, 3, 4));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(model.tensor("a").bytes().data()) % 4, 0u);
      const bool aligned = (model.sections().back().offset % 4) == 0;
      EXPECT_EQ(model.tensor("a").shares_bytes_with(model.tensor("a")), aligned);
    }
}

TEST_F(ModelFileTest, OtherFilesAreRefused) {
  EXPECT_EQ(code_of(""), "TooSmall");
  EXPECT_EQ(code_of("[cyb]\n~~~weights\n"), "TooSmall");
  EXPECT_EQ(code_of(std::string(100, 'x')), "NoWeightsMarker");
  EXPECT_EQ(code_of(std::string(100, '\0')), "NotAModel");
  EXPECT_THAT(error_of("GGUF" + std::string(100, 'x')).second, HasSubstr("it is a GGUF file"));
  EXPECT_EQ(code_of("a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n~~~weights\n"), "MissingField");  // no [[files]]
  EXPECT_EQ(code_with([](ModelText& m) { m.cyb = ""; }), "NotAModel");
  EXPECT_EQ(code_with([](ModelText& m) { m.cyb = "[cyb]\ntypes = [\"dataset\"]\nname = \"x\"\n"; }), "NotAModel");
  EXPECT_EQ(code_with([](ModelText& m) { m.cyb = "[cyb]\ntypes = [\"model\"]\nformat_version = 2\n"; }),
            "MissingField");
  EXPECT_EQ(code_with([](ModelText& m) { m.cyb = "[cyb]\ntypes = [\"model\"]\nname = \"\"\nformat_version = 2\n"; }),
            "InvalidField");
  EXPECT_EQ(code_with([](ModelText& m) { m.config = "x = \"\xff\"\n"; }), "NotUtf8");
  EXPECT_EQ(code_with([](ModelText& m) { m.config = "x = \n"; }), "Toml");
  EXPECT_THAT(error_of([] {
                ModelText m;
                m.config = "ok = 1\nx = ?\n";
                return m.build();
              }())
                  .second,
              HasSubstr("tiny.model:19:5 (section config)"));
}

TEST_F(ModelFileTest, VersionsAreTold) {
  const auto with_version = [](std::string_view line) {
    ModelText m;
    m.cyb = "[cyb]\ntypes = [\"model\"]\nname = \"x\"\n" + std::string(line);
    return m;
  };
  EXPECT_EQ(code_of(with_version("").build()), "UnsupportedVersion");
  EXPECT_EQ(code_of(with_version("format_version = 1\n").build()), "UnsupportedVersion");
  EXPECT_EQ(code_of(with_version("format_version = 3\n").build(), {.legacy = true}), "UnsupportedVersion");
  EXPECT_EQ(code_of(with_version("format_version = \"2\"\n").build()), "InvalidField");
  // In older files u32 is an IEEE float.
  const ModelFile legacy = open(with_version("").build(), {.legacy = true});
  EXPECT_EQ(legacy.format_version(), 1);
  EXPECT_EQ(legacy.tensor("b").dtype(), DType::f32);
}

TEST_F(ModelFileTest, OlderTernaryCodesAreTranslated) {
  ModelText m;
  m.cyb = "[cyb]\ntypes = [\"model\"]\nname = \"x\"\n";
  m.tensors = tensor("t", "[4]", "ternary", 0, 1) + tensor("t.scale", "[1]", "u32", 4, 4);
  m.weights = std::string(1, '\xE4') + std::string(31, '\0');  // codes 0, 1, 2, 3
  EXPECT_THAT(open(m.build(), {.legacy = true}).tensor("t").to_f32().values<float>(), ElementsAre(-1, 0, 1, 0));
  m.tensors = tensor("t", "[4]", "ternary", 0, 1);
  EXPECT_EQ(code_of(m.build(), {.legacy = true}), "MissingScale");
  m.cyb += "format_version = 2\n";
  EXPECT_THAT(open(m.build()).tensor("t").to_f32().values<float>(), ElementsAre(0, 1, -1, 0));
}

TEST_F(ModelFileTest, SectionsAreFoundByTheirDelimiters) {
  EXPECT_EQ(code_with([](ModelText& m) { m.after = "~~~unheard\n"; }), "UnknownSection");
  EXPECT_EQ(code_with([](ModelText& m) { m.after = "~~~config\n"; }), "DuplicateSection");
  EXPECT_EQ(code_with([](ModelText& m) { m.after = "~~~chat\r\n"; }), "CrlfDelimiter");
  EXPECT_EQ(code_with([](ModelText& m) { m.after = "~~~Chat\n"; }), "UnknownSection");
  EXPECT_EQ(code_with([](ModelText& m) { m.after = "~~~chat \n"; }), "UnknownSection");
  EXPECT_EQ(code_with([](ModelText& m) { m.files += "[[files]]\nname = \"config\"\n"; }), "DuplicateSection");
  EXPECT_EQ(code_with([](ModelText& m) { m.files += "[[files]]\nname = \"../x\"\n"; }), "InvalidField");
  EXPECT_EQ(code_with([](ModelText& m) { m.files += "[[files]]\nformat = \"toml\"\n"; }), "InvalidField");
  EXPECT_EQ(code_with([](ModelText& m) { m.files += "[[parts]]\nname = \"x\"\n"; }), "InvalidField");
  ModelText crlf;
  std::string text = crlf.build();
  text.replace(text.find("~~~weights\n"), 11, "~~~weights\r\n");
  EXPECT_EQ(code_of(text), "CrlfDelimiter");

  ModelText m;
  m.files += "[[files]]\nname = \"mine\"\nformat = \"txt\"\n[[files]]\nname = \"eval\"\nformat = \"toml\"\n";
  m.before = "~~~mine\none\n ~~~not a delimiter\n";
  m.after = "~~~program\n";
  const ModelFile model = open(m.build());
  EXPECT_EQ(model.section("mine"), "one\n ~~~not a delimiter\n");
  EXPECT_EQ(model.section("program"), "");
  EXPECT_THAT(model.warnings(), Contains(Says("MissingSection", "\"eval\" is declared but missing")));
  EXPECT_THAT(model.warnings(), Contains(Says("UndeclaredSection", "\"program\" is not declared")));
  EXPECT_THAT(model.warnings(), Contains(Says("SectionOrder", "another order")));
  std::string older = ModelText().build();
  for (std::size_t at; (at = older.find("[[files]]")) != std::string::npos;) older.replace(at, 9, "[[parts]]");
  EXPECT_EQ(code_of(older), "");
}

TEST_F(ModelFileTest, ACardMayUseFences) {
  ModelText m;
  m.files += "[[files]]\nname = \"card\"\nformat = \"md\"\n";
  m.before = "~~~card\n# Tiny\n~~~python\nprint()\n~~~\n~~~graph\n~~~card\n";
  EXPECT_EQ(open(m.build()).section("card"), "# Tiny\n~~~python\nprint()\n~~~\n~~~graph\n~~~card\n");
}

TEST_F(ModelFileTest, RequiredSectionsAndTheExactSize) {
  const auto without = [&](std::string_view section, std::string_view next) {
    std::string text = ModelText().build();
    const std::size_t from = text.find("~~~" + std::string(section));
    return code_of(text.erase(from, text.find("~~~" + std::string(next)) - from));
  };
  EXPECT_EQ(without("config", "tensors"), "MissingSection");
  EXPECT_EQ(without("tensors", "weights"), "MissingSection");
  EXPECT_EQ(code_with([](ModelText& m) { m.weights_entry = ""; }), "MissingSection");
  EXPECT_EQ(code_with([](ModelText& m) { m.weights_entry = "[[files]]\nname = \"weights\"\n"; }), "MissingField");
  EXPECT_EQ(code_with([](ModelText& m) { m.weights_entry = "[[files]]\nname = \"weights\"\nsize = -1\n"; }),
            "InvalidField");
  EXPECT_EQ(code_with([](ModelText& m) { m.weights += 'x'; }), "WeightsSizeMismatch");
  EXPECT_EQ(code_with([](ModelText& m) { m.weights.pop_back(); }), "WeightsSizeMismatch");
}

TEST_F(ModelFileTest, TensorsAreChecked) {
  const auto code = [&](const std::string& tensors, ModelLoadOptions options = {}) {
    return code_with([&](ModelText& m) { m.tensors = tensors; }, options);
  };
  EXPECT_EQ(code(tensor("a", "[8]", "f32", 0, 32)), "");
  EXPECT_EQ(code(tensor("a", "[]", "f32", 0, 4)), "");
  EXPECT_EQ(code("[\"a\"]\nshape = [1]\nencoding = \"f32\"\noffset = 0\n"), "MissingField");
  EXPECT_EQ(code("[\"a\"]\nshape = [1]\nencoding = \"f32\"\nsize = 4\n"), "MissingField");
  EXPECT_EQ(code("[\"a\"]\nshape = [1]\nsize = 4\noffset = 0\n"), "MissingField");
  EXPECT_EQ(code("[\"a\"]\nencoding = \"f32\"\nsize = 4\noffset = 0\n"), "MissingField");
  EXPECT_EQ(code(tensor("a", "[1]", "f33", 0, 4)), "UnknownEncoding");
  EXPECT_EQ(code(tensor("a", "[1]", "f32", 0, 4), {.canonical_only = true}), "NonCanonicalEncoding");
  EXPECT_EQ(code(tensor("a", "[1]", "u32", 0, 4), {.canonical_only = true}), "");
  EXPECT_EQ(code(tensor("a", "[1]", "f32", 0, 8)), "TensorSizeMismatch");
  EXPECT_EQ(code(tensor("a", "[0]", "f32", 0, 0)), "BadTensorShape");
  EXPECT_EQ(code(tensor("a", "[1,1,1,1,1,1,1,1,1]", "f32", 0, 4)), "BadTensorShape");
  EXPECT_EQ(code(tensor("a", "[1099511627776, 1099511627776]", "f32", 0, 4)), "SizeOverflow");
  EXPECT_EQ(code(tensor("a", "[1.5]", "f32", 0, 4)), "InvalidField");
  EXPECT_EQ(code(tensor("a", "4", "f32", 0, 16)), "InvalidField");
  EXPECT_EQ(code(tensor("a", "[1]", "f32", -4, 4)), "InvalidField");
  EXPECT_EQ(code(tensor("a", "[1]", "f32", 29, 4)), "TensorOutOfRange");
  EXPECT_EQ(code(tensor("a", "[1]", "f32", 9223372036854775807, 4)), "TensorOutOfRange");
  EXPECT_EQ(code(tensor("a", "[4]", "f32", 0, 16) + tensor("b", "[2]", "f32", 12, 8)), "TensorOverlap");
  EXPECT_EQ(code(tensor("a", "[4]", "f32", 0, 16) + tensor("b", "[2]", "f32", 0, 8)), "TensorOverlap");
  EXPECT_EQ(code(tensor("a", "[4]", "f32", 0, 16) + tensor("b", "[2,2]", "f32", 0, 16)), "");
  EXPECT_EQ(code(tensor("a", "[1]", "f32", 0, 4) + tensor("a", "[1]", "f32", 4, 4)), "DuplicateTensor");
  EXPECT_EQ(code(tensor("lm_head.weight", "[1]", "f32", 0, 4) + tensor("model.lm_head.weight", "[1]", "f32", 4, 4)),
            "DuplicateTensor");
  EXPECT_EQ(code(tensor("model.language_model.x", "[1]", "f32", 0, 4) + tensor("model.x", "[1]", "f32", 4, 4)),
            "DuplicateTensor");
  EXPECT_EQ(code("a = 1\n"), "Toml");
  EXPECT_EQ(code("[[a]]\n"), "InvalidField");
  EXPECT_EQ(code("[a]\nshape = [1]\nshape = [1]\n"), "Toml");
  EXPECT_EQ(code(tensor(std::string(1025, 'n'), "[1]", "f32", 0, 4)), "LimitExceeded");
  EXPECT_EQ(code(tensor("", "[1]", "f32", 0, 4)), "LimitExceeded");
}

TEST_F(ModelFileTest, EveryWayToWriteATensorIsRead) {
  ModelText m;
  m.tensors = "x.y.shape = [1]\nx.y.encoding = 'f32'\nx.y.offset = 0\nx.y.size = 4\n" +
              tensor("p.q", "[1]", "f32", 4, 4) +
              "[model.norm]\nshape = [2]\nencoding = 'f32'\noffset = 8\nsize = 8\n[\"model.language_model.n\"]\n"
              "shape = [ # rows\n 1, ]\nencoding = \"\"\"f32\"\"\"\noffset = 0x10\nsize = 4\n";
  const ModelFile model = open(m.build());
  std::vector<std::string> names;
  for (const ModelTensor& tensor : model.tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("x.y", "p.q", "model.norm", "model.n"));
  EXPECT_EQ(model.find_tensor("model.n")->offset, 16u);
}

TEST_F(ModelFileTest, BlocksAcrossRowsAreDecodedWhole) {
  std::vector<float> values(64);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  ModelText m;
  m.tensors = tensor("t", "[4, 16]", "q8_0", 0, 68);
  m.weights.assign(68, '\0');
  m.weights_entry = "[[files]]\nname = \"weights\"\nsize = 68\n";
  encode_from_f32(DType::q8_0, values, std::as_writable_bytes(std::span(m.weights)));
  const ModelFile model = open(m.build());
  EXPECT_TRUE(model.tensors()[0].flat);
  const Tensor tensor = model.tensor("t");
  EXPECT_EQ(tensor.dtype(), DType::f32);
  EXPECT_THAT(tensor.dims(), ElementsAre(4, 16));
  EXPECT_NEAR(tensor.values<float>()[63], 63, 0.3);
  m.tensors = ModelFileTest::tensor("t", "[4, 15]", "q8_0", 0, 68);
  EXPECT_EQ(code_of(m.build()), "BlockMisaligned");
}

TEST_F(ModelFileTest, UnusedBytesAreAWarning) {
  ModelText m;
  m.weights.assign(1 << 16, '\0');
  m.weights_entry = "[[files]]\nname = \"weights\"\nsize = 65536\n";
  m.tensors = tensor("a", "[1000]", "f32", 0, 4000);
  EXPECT_THAT(open(m.build()).warnings(), ElementsAre(Says("UnusedBytes", "61536 of 65536 bytes")));
}

TEST_F(ModelFileTest, TheGraphIsHexadecimalOrToml) {
  ModelText m;
  m.after = "~~~graph\n00 0A\nfF\n";
  EXPECT_EQ(open(m.build()).graph()->bytes, (std::vector{std::byte{0}, std::byte{10}, std::byte{255}}));
  m.files += "[[files]]\nname = \"graph\"\nformat = \"bin\"\n";
  EXPECT_EQ(open(m.build()).graph()->bytes.size(), 3u);
  m.after = "~~~graph\n[graph]\nx = 1\n";
  EXPECT_EQ(open(m.build()).graph()->format, ModelGraphSection::Format::toml);
  EXPECT_EQ(open(m.build()).graph()->text, "[graph]\nx = 1\n");
  m.after = "~~~graph\nwhat\n";
  EXPECT_EQ(code_of(m.build()), "BadGraphSection");
  m.files.replace(m.files.find("bin"), 3, "hex");
  m.after = "~~~graph\n0\n";
  EXPECT_EQ(code_of(m.build()), "HexOddLength");
  for (const char* bad : {"~~~graph\n0g\n", "~~~graph\n[graph]\n"}) {
    m.after = bad;
    EXPECT_EQ(code_of(m.build()), "HexBadDigit") << bad;
  }
  m.after = "~~~graph\n\n~~~mir\nc0de\n";
  EXPECT_TRUE(open(m.build()).graph()->bytes.empty());
  EXPECT_EQ(open(m.build()).mir()->size(), 2u);
  m.files.replace(m.files.find("hex"), 3, "png");
  EXPECT_EQ(code_of(m.build()), "BadGraphSection");
}

TEST_F(ModelFileTest, DeclaredSumsAreCompared) {
  ModelText m;
  m.files = fmt::format("[[files]]\nname = \"config\"\nsha256 = \"{}\"\n[[files]]\nname = \"tensors\"\n",
                        sha256_hex(m.config));
  const std::string good =
      fmt::format("[[files]]\nname = \"weights\"\nsize = 32\nsha256 = \"{}\"\n", sha256_hex(m.weights));
  m.weights_entry = good;
  EXPECT_TRUE(open(m.build()).finish_verification());
  EXPECT_FALSE(open(m.build(), {.verify = VerifyHashes::none}).finish_verification());
  EXPECT_FALSE(open(m.build(), {.verify = VerifyHashes::text_only}).finish_verification());

  m.weights[7] ^= 1;
  const ModelFile damaged = open(m.build());
  for (int i = 0; i < 2; ++i) {
    try {
      damaged.finish_verification();
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "HashMismatch");
      EXPECT_THAT(error.what(), AllOf(HasSubstr("tiny.model"), HasSubstr("section weights")));
    }
  }
  m.config += "# edited\n";
  EXPECT_EQ(code_of(m.build()), "HashMismatch");
  EXPECT_EQ(code_of(m.build(), {.verify = VerifyHashes::none}), "");
  m.weights_entry = "[[files]]\nname = \"weights\"\nsize = 32\nsha256 = \"12\"\n";
  EXPECT_EQ(code_of(m.build()), "InvalidField");
}

TEST_F(ModelFileTest, LimitsHold) {
  ModelLoadOptions options;
  options.limits.text_bytes = 200;
  EXPECT_EQ(code_of(ModelText().build(), options), "HeaderTooLarge");
  options = {};
  options.limits.frontmatter_bytes = 100;
  EXPECT_EQ(code_of(ModelText().build(), options), "LimitExceeded");
  options = {};
  options.limits.tensors = 1;
  EXPECT_EQ(code_of(ModelText().build(), options), "LimitExceeded");
  options = {};
  options.limits.sections = 2;
  EXPECT_EQ(code_of(ModelText().build(), options), "LimitExceeded");
  options = {};
  options.limits.tensor_name_bytes = 0;
  EXPECT_EQ(code_of(ModelText().build(), options), "LimitExceeded");
  options = {};
  options.limits.toml.nesting = 2;
  EXPECT_EQ(code_with([](ModelText& m) { m.config += "x = [[[1]]]\n"; }, options), "LimitExceeded");
  EXPECT_EQ(code_with([](ModelText& m) { m.config += "x = [[[1]]]\n"; }), "");
  options = {};
  options.limits.toml.values = 3;
  EXPECT_EQ(code_with([](ModelText& m) { m.config += "x = [1, 2, 3, 4]\n"; }, options), "LimitExceeded");
  const auto vocabulary_code = [&](VocabularyLimits limits) -> std::string {
    options = {};
    options.limits.vocabulary = limits;
    ModelText m;
    m.config += "[tokenizer]\ntype = \"byte_level_bpe\"\n";
    m.after = "~~~vocab\n[tokens]\n0 = \"a\"\n1 = \"b\"\n2 = \"ab\"\n[merges]\n0 = [\"a\", \"b\"]\n";
    const ModelFile model = open(m.build(), options);
    try {
      model.vocabulary();
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  };
  EXPECT_EQ(vocabulary_code({}), "");
  EXPECT_EQ(vocabulary_code({.tokens = 2}), "LimitExceeded");
  EXPECT_EQ(vocabulary_code({.token_bytes = 1}), "LimitExceeded");
  EXPECT_EQ(vocabulary_code({.merges = 0}), "LimitExceeded");
  options = {};
  options.limits.graph_text_bytes = 3;
  EXPECT_EQ(code_with([](ModelText& m) { m.after = "~~~graph\n0000\n"; }, options), "LimitExceeded");
}

TEST(ModelEncoding, NamesMeanWhatTheirVersionSays) {
  EXPECT_EQ(model_encoding("u32")->dtype, DType::fx16_16);
  EXPECT_EQ(model_encoding("u32", 1)->dtype, DType::f32);
  EXPECT_EQ(model_encoding("q8", 1)->dtype, DType::q8_0);
  EXPECT_EQ(model_encoding("q4k")->dtype, DType::q4_k);
  EXPECT_FALSE(model_encoding("fx16_16"));
  for (const DTypeInfo& info : all_dtypes()) {
    const bool stored = info.dtype != DType::c64 && info.dtype != DType::u64 && info.dtype != DType::i16 &&
                        info.dtype != DType::u16 && info.dtype != DType::u32;
    if (stored) {
      EXPECT_EQ(model_encoding(model_encoding_name(info.dtype))->dtype, info.dtype) << info.name;
    } else {
      EXPECT_THROW(model_encoding_name(info.dtype), Error) << info.name;
    }
  }
}

}  // namespace
}  // namespace weft
