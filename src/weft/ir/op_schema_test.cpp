#include "weft/ir/op_schema.h"

#include <gtest/gtest.h>

#include <set>

#include "local_ops.h"

namespace weft {
namespace {

using test::code_of;

// Only refusals: what is registered stays for all tests of the process.
std::string refusal(const std::function<void(OpSchema&)>& change) {
  OpSchema schema = test::join_schema();
  schema.name = "RefusedByTheRegistry";
  schema.tag = 0xFFFFFFFF;
  schema.reference = [](const KernelContext&) {};
  change(schema);
  return code_of([&] { OpRegistry::global().add(std::move(schema)); });
}

TEST(OpRegistry, RefusesSchemasThatContradictThemselves) {
  EXPECT_EQ(refusal([](OpSchema& s) { s.name = "Input"; }), "BadSchema");
  EXPECT_EQ(refusal([](OpSchema& s) { s.name.clear(); }), "BadSchema");
  EXPECT_EQ(refusal([](OpSchema& s) { s.tag = 1; }), "BadSchema");
  EXPECT_EQ(refusal([](OpSchema& s) { s.infer = {}; }), "BadSchema");
  EXPECT_EQ(refusal([](OpSchema& s) { s.reference = {}; }), "BadSchema");
  EXPECT_EQ(refusal([](OpSchema& s) { s.maths.clear(); }), "BadSchema");
  EXPECT_EQ(refusal([](OpSchema& s) { s.inputs = {{"a", Presence::optional}, {"b"}}; }), "BadSchema");
  EXPECT_EQ(refusal([](OpSchema& s) {
              s.inputs = {{"a", Presence::variadic}, {"b", Presence::optional}};
            }),
            "BadSchema");
  EXPECT_EQ(refusal([](OpSchema& s) { s.attributes[0].default_value = std::int64_t{1}; }), "BadSchema");
  EXPECT_EQ(refusal([](OpSchema& s) { s.attributes[2].choices.clear(); }), "BadSchema");
  EXPECT_EQ(OpRegistry::global().find("RefusedByTheRegistry"), nullptr);
}

TEST(OpRegistry, FindsByNameAndTag) {
  const OpSchema* input = OpRegistry::global().find("Input");
  ASSERT_NE(input, nullptr);
  EXPECT_EQ(OpRegistry::global().find(1u), input);
  EXPECT_EQ(&OpRegistry::global().at("Input"), input);
  EXPECT_EQ(OpRegistry::global().find("input"), nullptr);
  EXPECT_EQ(OpRegistry::global().find(0xFFFFFFFFu), nullptr);
}

TEST(OpRegistry, AnUnknownNameGetsTheNearestKnown) {
  try {
    OpRegistry::global().at("Inptu");
    FAIL() << "Inptu is an op";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "UnknownOp");
    EXPECT_NE(error.message().find("did you mean Input?"), std::string::npos) << error.message();
  }
  EXPECT_EQ(code_of([] { OpRegistry::global().at(std::string(1000000, 'x')); }), "UnknownOp");
}

TEST(OpRegistry, AllAscendsByTag) {
  const auto all = OpRegistry::global().all();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1]->tag, all[i]->tag);
  for (const OpSchema* schema : all) {
    std::set<std::string> names;
    for (const AttributeSpec& spec : schema->attributes)
      EXPECT_TRUE(names.insert(spec.name).second) << schema->name << " has " << spec.name << " twice";
    for (const std::string& slot : schema->effects.slots)
      EXPECT_TRUE(schema->attribute_index(slot).has_value()) << schema->name;
  }
}

TEST(OpSchema, ArityFollowsFromTheInputs) {
  EXPECT_EQ(test::join_schema().min_inputs(), 2u);
  EXPECT_EQ(test::join_schema().max_inputs(), 3u);
  EXPECT_EQ(test::stack_schema().min_inputs(), 1u);
  EXPECT_EQ(test::stack_schema().max_inputs(), SIZE_MAX);
  EXPECT_EQ(test::join_schema().attribute_index("mode"), 2u);
  EXPECT_EQ(test::join_schema().attribute_index("none"), std::nullopt);
}

}  // namespace
}  // namespace weft
