#include "weft/formats/graph_ir/op_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "weft/formats/graph_ir/test_graphs.h"

namespace weft::graph_ir {
namespace {

// Tags never change once released; the file beside the tests is the record of them.
TEST(GraphIrOpTable, TagsAreThoseOfTheGoldenFile) {
  std::ifstream file(WEFT_SOURCE_DIR "/tests/data/graph_ir/op_tags.txt");
  ASSERT_TRUE(file.is_open());
  std::stringstream golden, found;
  golden << file.rdbuf();
  for (const OpDef& def : all_ops()) found << static_cast<int>(def.tag) << ' ' << def.name << '\n';
  EXPECT_EQ(found.str(), golden.str());
  EXPECT_EQ(all_ops().size(), 66u);
}

TEST(GraphIrOpTable, RowsAreFoundByTagAndByName) {
  for (const OpDef& def : all_ops()) {
    EXPECT_EQ(find_op(static_cast<std::uint16_t>(def.tag)), &def);
    EXPECT_EQ(find_op(def.name), &def);
    EXPECT_NE(def.infer, nullptr) << def.name;
    EXPECT_FALSE(input_forms(def).empty());
  }
  EXPECT_EQ(find_op(13), nullptr);
  EXPECT_EQ(find_op(65535), nullptr);
  EXPECT_EQ(find_op("matmul"), nullptr);
  EXPECT_EQ(error_of([] { op_def(static_cast<Tag>(13)); }).code(), "UnknownOpTag");
}

TEST(GraphIrOpTable, InputCountsChooseForms) {
  const auto counts = [](Tag tag) {
    std::set<std::size_t> allowed;
    for (std::size_t n = 0; n < 8; ++n)
      if (form_for(op_def(tag), n) != nullptr) allowed.insert(n);
    return allowed;
  };
  EXPECT_THAT(counts(Tag::matmul), testing::ElementsAre(2));
  EXPECT_THAT(counts(Tag::concat), testing::ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(counts(Tag::sdpa), testing::ElementsAre(3, 4));
  EXPECT_THAT(counts(Tag::rms_norm), testing::ElementsAre(1, 2));
  EXPECT_THAT(counts(Tag::layer_norm), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(counts(Tag::batch_norm), testing::ElementsAre(1, 3, 5));
  EXPECT_THAT(counts(Tag::swi_glu), testing::ElementsAre(1, 2, 4));
  EXPECT_THAT(counts(Tag::flow_step), testing::ElementsAre(3, 4));
  EXPECT_THAT(counts(Tag::lora_apply), testing::ElementsAre(3, 4));
  EXPECT_THAT(counts(Tag::fused_swi_glu), testing::ElementsAre(2, 3));
  const Form& form = *form_for(op_def(Tag::swi_glu), 4);
  EXPECT_EQ(form[3].name, "Wd");
  EXPECT_EQ(form[3].role, Role::packed);
  EXPECT_EQ(form_for(op_def(Tag::token_embed), 2)->front().role, Role::ids);
}

TEST(GraphIrOpTable, EveryRoleAnnotationIsKnown) {
  const std::set<std::string> roles{"packed", "ids", "mask", "plain", "bytes", "stored"};
  for (const OpDef& def : all_ops()) {
    const std::string inputs(def.inputs);
    for (std::size_t at = inputs.find(':'); at != std::string::npos; at = inputs.find(':', at + 1)) {
      const std::size_t end = std::min(inputs.find_first_of(" ,?.|", at), inputs.size());
      EXPECT_EQ(roles.count(inputs.substr(at + 1, end - at - 1)), 1u) << inputs;
    }
  }
}

TEST(GraphIrOpTable, OpsAreBuiltByFieldName) {
  const Op rope = make_op(Tag::rope, {{"base", 1e4f}, {"head_dim", 64u}});
  EXPECT_EQ(rope.get<std::uint32_t>("rope_dim"), 64u);
  EXPECT_EQ(rope.get<float>("base"), 1e4f);
  EXPECT_EQ(error_of([&] { rope.get<float>("head_dim"); }).code(), "BadParam");
  EXPECT_EQ(error_of([&] { rope.get<float>("theta"); }).code(), "BadParam");
  const Op sample = make_op(Tag::sample, {{"method", std::uint8_t{0}}});
  EXPECT_EQ(sample.get<float>("temperature"), 1.0f);
  EXPECT_EQ(sample.get<float>("p"), 0.0f);
  EXPECT_EQ(sample.get<std::uint32_t>("k"), 0u);
  EXPECT_EQ(error_of([] { make_op(Tag::rope, {{"base", 1e4f}}); }).code(), "BadParam");
  EXPECT_EQ(error_of([] { make_op(Tag::rope, {{"head_dim", 2u}, {"base", 1.0f}, {"x", 1u}}); }).code(), "BadParam");
  EXPECT_EQ(error_of([] { make_op(Tag::rope, {{"head_dim", 2.0f}, {"base", 1.0f}}); }).code(), "BadParam");
  EXPECT_EQ(error_of([] { make_op(Tag::sample, {{"method", std::uint8_t{5}}}); }).code(), "BadParam");
}

TEST(GraphIrOpTable, AttributesHaveDefaults) {
  const Op sdpa = make_op(Tag::sdpa, {{"num_heads", 2u}, {"kv_heads", 1u}, {"head_dim", 16u}, {"causal", true}});
  const OpDef& def = op_def(Tag::sdpa);
  EXPECT_TRUE(same_value(*default_attr(*find_attr(def, "scale"), sdpa), 0.25f));
  EXPECT_TRUE(same_value(*default_attr(*find_attr(def, "window"), sdpa), std::int64_t{0}));
  EXPECT_EQ(find_attr(def, "causal"), nullptr);
  const OpDef& rope = op_def(Tag::rope);
  EXPECT_TRUE(same_value(*default_attr(*find_attr(rope, "rope_layout"), {}), std::string("prefix")));
  const OpDef& conv = op_def(Tag::conv_transpose2d);
  EXPECT_TRUE(same_value(*default_attr(*find_attr(conv, "dilation"), {}), Ints{1, 1}));
  EXPECT_TRUE(same_value(*default_attr(*find_attr(conv, "output_padding"), {}), Ints{0, 0}));
  EXPECT_EQ(default_attr(*find_attr(op_def(Tag::unpatchify), "patch_size"), {}), std::nullopt);
}

}  // namespace
}  // namespace weft::graph_ir
