// What no comparison with Jinja2 shows: places of errors, limits, and what a template must not reach. That templates
// print what Jinja2 prints is tests/jinja_conformance_test.cpp's matter.
#include "weft/text/jinja/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "weft/base/error.h"
#include "weft/text/jinja/json_value.h"

namespace weft::jinja {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code() + " " + error.what();
  }
  return "";
}

std::string error_of(std::string_view source, const TemplateLimits& limits = {}) {
  return error_of([&] { Template::compile(source, "t", limits).render(Value::mapping({{"x", 1}})); });
}

std::string rendered(std::string_view source, const Value& context = {}) {
  return Template::compile(source).render(context);
}

TEST(Template, ErrorsNameTheirPlace) {
  EXPECT_EQ(error_of("a\n  {{ x.y.z }}"), "InvalidTemplate t:2:10: a int has no \"y\"");
  EXPECT_EQ(error_of("{{ missing.y }}"), "InvalidTemplate t:1:12: \"missing\" is undefined");
  EXPECT_EQ(error_of("é {{ 'a' + 1 }}"), "InvalidTemplate t:1:10: + cannot be applied to str and int");
  EXPECT_EQ(error_of("{% if x %}\n"),
            "InvalidTemplate t:1:11: expected \"{% endif %}\", found the end of the template");
  EXPECT_EQ(error_of("\n{{ (1 }}"), "InvalidTemplate t:2:7: \"}\" closes nothing");
  EXPECT_EQ(error_of("{{ x | nope }}"), "InvalidTemplate t:1:8: there is no filter \"nope\"");
  EXPECT_EQ(error_of("{% import 'a' as b %}"),
            "InvalidTemplate t:1:4: \"import\": a template cannot load or extend another");
  EXPECT_EQ(error_of("{{ raise_exception('roles\\nmust alternate') }}"),
            "RefusedByTemplate t:1:19: roles\nmust alternate");
  EXPECT_THAT(error_of("\xff"), StartsWith("InvalidTemplate t@0"));
}

TEST(Template, StepsAreLimited) {
  EXPECT_THAT(error_of("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"),
              StartsWith("TemplateLimit t:1:"));
  EXPECT_THAT(error_of("{% for i in range(9) %}{{ i }}{% endfor %}", {.steps = 20}), HasSubstr("at most 20 steps"));
  EXPECT_EQ(error_of("{% for i in range(9) %}{{ i }}{% endfor %}", {.steps = 60}), "");
}

TEST(Template, SizesAreLimited) {
  EXPECT_THAT(error_of("{{ 'a' * 100000000 }}"), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ [0] * 100000000 }}"), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ 'a'|center(1000000000) }}"), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ 'a'.ljust(1000000000) }}"), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ '%1000000000d' % 1 }}"), HasSubstr("too large"));
  EXPECT_THAT(error_of("{{ ('a' * 5000)|replace('a', 'b' * 5000) }}"), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ range(100001) }}"), StartsWith("TemplateLimit"));
  EXPECT_THAT(
      error_of("{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"),
      StartsWith("TemplateLimit"));
  EXPECT_THAT(
      error_of("{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"),
      StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ 'abc' * 30 }}{{ 'abc' * 30 }}", {.output_bytes = 100}),
              HasSubstr("at most 100 bytes of text"));
  EXPECT_THAT(error_of(std::string(200, 'a'), {.source_bytes = 100}), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{% for i in range(2000) %}{% set y = 'a' * 1000000 %}{% endfor %}"),
              HasSubstr("bytes of values"));
}

TEST(Template, WorkOnLongTextsAndListsIsLimited) {
  // Each turn of these loops looks through a megabyte.
  const std::string loop = "{% for i in range(100000) %}";
  for (const char* body : {"{% if a == b %}{% endif %}", "{% if b in a %}{% endif %}", "{% set y = d[a] %}",
                           "{% set y = a.find('b') %}", "{% set y = a|length %}", "{% if l == k %}{% endif %}"})
    EXPECT_THAT(
        error_of("{% set a = 'a' * 800000 %}{% set b = 'a' * 800000 %}{% set d = {} %}{% set l = [[1] * 10000] * 100 %}"
                 "{% set k = [[1] * 10000] * 100 %}" +
                     loop + body + "{% endfor %}",
                 {.steps = 100'000}),
        StartsWith("TemplateLimit"))
        << body;
  // A search that goes wrong late, everywhere.
  EXPECT_EQ(error_of("{{ 'a' * 400000 ~ 'b' in 'a' * 900000 }}{{ ('a' * 900000).rfind('b' ~ 'a' * 400000) }}"), "");
}

std::string repeated(std::string_view part, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += part;
  return all;
}

TEST(Template, DepthIsLimited) {
  EXPECT_THAT(error_of("{{ " + repeated("(", 100000) + "1" + repeated(")", 100000) + " }}"),
              StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ " + repeated("[", 100000) + repeated("]", 100000) + " }}"), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ " + repeated("{1:", 100000) + "1" + repeated("}", 100000) + " }}"),
              StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ " + repeated("not ", 100000) + "1 }}"), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ " + repeated("-", 100000) + "1 }}"), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ 1 " + repeated("if 1 else 1 ", 100000) + " }}"), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{{ 1" + repeated(" + 1", 100000) + " }}"), StartsWith("InvalidTemplate"));
  EXPECT_THAT(error_of("{{ x" + repeated("|abs", 100000) + " }}"), StartsWith("InvalidTemplate"));
  EXPECT_THAT(error_of("{{ x" + repeated(".a", 100000) + " }}"), StartsWith("InvalidTemplate"));
  EXPECT_THAT(error_of(repeated("{% if 1 %}", 100000)), StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{% for " + repeated("(", 100000) + "x" + repeated(")", 100000) + " in y %}"),
              StartsWith("TemplateLimit"));
  EXPECT_THAT(error_of("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), HasSubstr("calls in calls"));
  EXPECT_THAT(error_of("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}"), HasSubstr("calls in calls"));
  EXPECT_THAT(error_of("{% set ns = namespace(s=[]) %}{% for i in range(9999) %}{% set ns.s = [ns.s] %}{% endfor %}"),
              HasSubstr("nested 64 deep"));
  EXPECT_EQ(rendered("{{ 1" + repeated(" + 1", 99) + " }}"), "100");
  EXPECT_EQ(rendered("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% else %}end{% endif %}{% endmacro %}{{ f(50) }}"),
            "end");
}

// Values that hold each other must neither leak nor be freed by deep recursion; the sanitizer builds see both.
TEST(Template, WhatHoldsItselfIsLetGo) {
  EXPECT_EQ(rendered("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns.me.me is defined }}"), "True");
  EXPECT_EQ(rendered("{% macro f() %}x{% endmacro %}{% set g = f %}{{ g() }}"), "x");
  EXPECT_EQ(
      rendered("{% set ns = namespace(c=none) %}{% for i in range(9999) %}{% set ns.c = cycler(ns.c) %}{% endfor %}ok"),
      "ok");
  EXPECT_EQ(
      rendered(
          "{% set ns = namespace(c=none) %}{% for i in range(9999) %}{% set n = namespace(c=ns.c) %}{% set ns.c = n "
          "%}{% endfor %}ok"),
      "ok");
  EXPECT_EQ(
      rendered(
          "{% set ns = namespace() %}{% for i in [1, 2] %}{{ loop.changed(loop.cycle) }}{% set ns.f = loop.changed "
          "%}{% endfor %}{{ ns.f(ns.f) }}"),
      "TrueTrueTrue");
}

TEST(Template, ATemplateReachesNothingOutside) {
  for (const char* source : {"{{ ''.__class__ }}", "{{ ().__class__.__bases__ }}", "{{ x.__init__ }}", "{{ lipsum }}",
                             "{{ self }}", "{{ cycler.__globals__ }}"})
    EXPECT_TRUE(error_of(source) != "" || rendered(source, Value::mapping({{"x", 1}})).empty()) << source;
  EXPECT_THAT(error_of("{{ [].append(1) }}"), HasSubstr("would change a list"));
  EXPECT_THAT(error_of("{{ {}.update({}) }}"), HasSubstr("would change a dict"));
  EXPECT_THAT(error_of("{% include '/etc/passwd' %}"), StartsWith("InvalidTemplate"));
  EXPECT_THAT(error_of("{{ open('/etc/passwd') }}"), HasSubstr("undefined"));
}

TEST(Template, OneTemplateServesManyThreads) {
  const Template shared =
      Template::compile("{% for m in messages %}{{ m.role|upper }}:{{ m.content|trim }};{% endfor %}");
  const Value context =
      value_from_json(R"({"messages": [{"role": "user", "content": " é "}, {"role": "tool", "content": "x"}]})");
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  for (std::string& text : texts) threads.emplace_back([&] { text = shared.render(context); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, "USER:é;TOOL:x;");
}

TEST(Template, TheClockIsHandedIn) {
  std::tm now{};
  now.tm_year = 100;
  now.tm_mday = 1;
  EXPECT_EQ(Template::compile("{{ strftime_now('%Y-%m-%d') }}").render({}, [&] { return now; }), "2000-01-01");
  EXPECT_THAT(error_of("{{ strftime_now('%Q') }}"), HasSubstr("\"%Q\""));
  EXPECT_THAT(error_of("{{ strftime_now('%') }}"), StartsWith("InvalidTemplate"));
}

TEST(JsonValue, ReadsWhatJsonHas) {
  const Value value = value_from_json(R"({"a": [1, -2.5, true, null, "é\n"], "b": {}})");
  EXPECT_EQ(rendered("{{ v }}", Value::mapping({{"v", value}})), "{'a': [1, -2.5, True, None, 'é\\n'], 'b': {}}");
  EXPECT_THAT(error_of([] { value_from_json("[1,"); }), StartsWith("BadJson JSON@"));
  EXPECT_THAT(error_of([] { value_from_json("18446744073709551615"); }), StartsWith("BadJson"));
  EXPECT_THAT(error_of([] { value_from_json(repeated("[", 100000)); }), StartsWith("BadJson"));
}

}  // namespace
}  // namespace weft::jinja
