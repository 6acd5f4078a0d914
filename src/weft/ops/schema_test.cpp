// What holds for every op of the registry, and the golden list of their tags.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "weft/ir/op_schema.h"

namespace weft {
namespace {

// Those that tests register live in families that begin so.
std::vector<const OpSchema*> library_ops() {
  std::vector<const OpSchema*> ops;
  for (const OpSchema* schema : OpRegistry::global().all())
    if (!schema->family.starts_with("test")) ops.push_back(schema);
  return ops;
}

TEST(Schema, EveryOpIsComplete) {
  std::set<std::string> names;
  std::set<std::uint32_t> tags;
  for (const OpSchema* schema : library_ops()) {
    SCOPED_TRACE(schema->name);
    EXPECT_TRUE(names.insert(schema->name).second);
    EXPECT_TRUE(tags.insert(schema->tag).second);
    EXPECT_GT(schema->tag, 0u);
    EXPECT_TRUE(schema->infer);
    EXPECT_TRUE(schema->reference || schema->op_class == OpClass::leaf);
    EXPECT_FALSE(schema->family.empty());
    EXPECT_GE(schema->maths.size(), 20u);
    EXPECT_TRUE(schema->maths.ends_with('.')) << schema->maths;
    EXPECT_FALSE(schema->outputs.empty());
    for (const AttributeSpec& spec : schema->attributes) {
      EXPECT_FALSE(spec.doc.empty()) << spec.name;
      EXPECT_FALSE(spec.required && !std::holds_alternative<std::monostate>(spec.default_value)) << spec.name;
      const bool needs_default = spec.type == AttributeType::choice && !spec.required;
      EXPECT_TRUE(!needs_default || std::holds_alternative<std::string>(spec.default_value)) << spec.name;
    }
    for (const Rule* rule : {&schema->vjp, &schema->jvp, &schema->vmap, &schema->unfuse})
      EXPECT_EQ(rule->state == Rule::State::not_applicable, !rule->reason.empty());
  }
}

TEST(Schema, AFamilyIsAFileOfTheRoom) {
  for (const OpSchema* schema : library_ops())
    EXPECT_TRUE(std::ifstream(WEFT_SOURCE_DIR "/src/weft/ops/" + schema->family + ".cpp").good())
        << schema->name << " says " << schema->family;
}

// Goes down as gradients and vectorization are written; goes up with an op that leaves them for later.
TEST(Schema, RulesNotYetWritten) {
  std::size_t vjp = 0, jvp = 0, vmap = 0, unfuse = 0;
  for (const OpSchema* schema : library_ops()) {
    vjp += schema->vjp.state == Rule::State::not_yet ? 1 : 0;
    jvp += schema->jvp.state == Rule::State::not_yet ? 1 : 0;
    vmap += schema->vmap.state == Rule::State::not_yet ? 1 : 0;
    unfuse += schema->unfuse.state == Rule::State::not_yet ? 1 : 0;
  }
  EXPECT_EQ(vjp, 39u);
  EXPECT_EQ(jvp, 39u);
  EXPECT_EQ(vmap, 52u);
  EXPECT_EQ(unfuse, 23u);
}

// Stored graphs depend on names, tags, attribute names, types and the order of choices: new ones may be added.
TEST(Schema, TagsAreThoseOfTheGoldenList) {
  std::ostringstream text;
  for (const OpSchema* schema : library_ops()) {
    text << schema->tag << ' ' << schema->name;
    for (const AttributeSpec& spec : schema->attributes) {
      text << (&spec == schema->attributes.data() ? ": " : ", ") << spec.name << " " << to_string(spec.type);
      if (spec.type == AttributeType::choice) {
        text << '(';
        for (std::size_t i = 0; i < spec.choices.size(); ++i) text << (i == 0 ? "" : "|") << spec.choices[i];
        text << ')';
      }
    }
    text << '\n';
  }
  std::ifstream golden(WEFT_SOURCE_DIR "/tests/data/op_tags.txt");
  std::ostringstream expected;
  expected << golden.rdbuf();
  EXPECT_EQ(text.str(), expected.str());
}

}  // namespace
}  // namespace weft
