// Filters that give texts.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "weft/text/characters.h"
#include "weft/text/code_points.h"
#include "weft/text/jinja/filters.h"
#include "weft/text/jinja/operators.h"
#include "weft/text/jinja/parameters.h"
#include "weft/text/jinja/python_format.h"
#include "weft/text/jinja/text_methods.h"
#include "weft/text/jinja/value_text.h"

namespace weft::jinja {
namespace {

template <std::u32string (*map)(std::u32string_view)>
Value map_characters(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "the filter", arguments, {});
  return like(subject, text::to_utf8(map(text::to_code_points(str(run, subject)))));
}

// Unlike str.title(): a word begins after white space and brackets, not after an apostrophe.
std::u32string title(std::u32string_view text) {
  std::u32string out;
  bool begins = true;
  for (const char32_t c : text) {
    const bool separates = text::is_white_space(c) || std::u32string_view(U"-({[<").find(c) != std::u32string::npos;
    if (separates)
      out += c;
    else if (begins)
      text::append_upper(out, c);
    else
      out += text::lower(c);
    begins = separates;
  }
  return out;
}

Value capitalize_filter(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "capitalize", arguments, {});
  return like(subject, capitalize(str(run, subject)));
}

Value string(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "string", arguments, {});
  return subject.text() != nullptr ? subject : run.text(str(run, subject));
}

Value trim(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "trim", arguments, {"chars"});
  if (p.given(0)) p.exact_text(0);
  return like(subject, strip(str(run, subject), p.get(0), true, true));
}

Value replace_filter(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "replace", arguments, {"old", "new", "count"}, 2);
  return run.text(
      replace(run, str(run, subject), p.text(0, ""), p.text(1, ""), p.given(2) ? p.integer(2, -1) : std::int64_t{-1}));
}

Value join(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "join", arguments, {"d", "attribute"});
  const std::string separator = p.text(0, "");
  std::string out;
  bool first = true;
  for (const Value& part : items_of(run, subject)) {
    run.step();
    if (!std::exchange(first, false)) out += separator;
    out += str(run, p.given(1) ? path(run, part, p.get(1)) : part);
    if (out.size() > run.limits().output_bytes) run.charge(out.size());
  }
  return run.text(std::move(out));
}

Value indent(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "indent", arguments, {"width", "first", "blank"});
  const std::string by = p.get(0).text() != nullptr ? p.exact_text(0) : pad(run, "", p.integer(0, 4), " ", '<');
  const bool blank = p.flag(2, false);
  const std::string text = str(run, subject);
  std::string out = p.flag(1, false) ? by : "";
  const std::vector<std::string> lines = split_lines(text + "\n");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 && (blank || !lines[i].empty())) out += by;
    out += lines[i];
    if (out.size() > run.limits().output_bytes) run.charge(out.size());
  }
  run.charge(out.size());
  return like(subject, std::move(out));
}

Value tojson(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style{.ensure_ascii = p.flag(0, false), .sort_keys = p.flag(3, false)};
  if (p.given(1)) {
    style.indent = p.get(1).text() != nullptr ? p.exact_text(1) : pad(run, "", p.integer(1, 0), " ", '<');
    style.item_separator = ",";
  }
  if (p.given(2)) {
    const std::vector<Value> separators = items_of(run, p.get(2));
    if (separators.size() != 2 || separators[0].text() == nullptr || separators[1].text() == nullptr)
      run.fail("tojson needs two strings as separators");
    style.item_separator = *separators[0].text();
    style.key_separator = *separators[1].text();
  }
  return Value(json_text(run, subject, style));
}

Value safe(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "safe", arguments, {});
  return Value::markup(str(run, subject));
}

Value escape(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "escape", arguments, {});
  return Value::markup(escaped(run, subject));
}

Value force_escape(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "forceescape", arguments, {});
  return Value::markup(escape_html(str(run, subject)));
}

Value center(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "center", arguments, {"width"});
  return like(subject, pad(run, str(run, subject), p.integer(0, 80), " ", '^'));
}

Value format(Run& run, const Value& subject, const Arguments& arguments) {
  if (arguments.named.empty()) return run.text(format_percent(run, str(run, subject), run.tuple(arguments.positional)));
  if (!arguments.positional.empty()) run.fail("format takes values with names or without, not both");
  auto names = std::make_shared<Mapping>();
  for (const auto& [name, value] : arguments.named) names->set(Value(name), value);
  return run.text(format_percent(run, str(run, subject), run.mapping(std::move(names))));
}

Value truncate(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters p(run, "truncate", arguments, {"length", "killwords", "end", "leeway"});
  const std::u32string text = text::to_code_points(str(run, subject)), end = text::to_code_points(p.text(2, "..."));
  const std::int64_t length = p.integer(0, 255), leeway = p.given(3) ? p.integer(3, 5) : 5;
  const auto kept = length - static_cast<std::int64_t>(end.size());
  if (kept < 0 || leeway < 0) run.fail("truncate cannot cut a text to {} characters", length);
  if (static_cast<std::int64_t>(text.size()) <= length + leeway) return run.text(text::to_utf8(text));
  std::u32string cut = text.substr(0, static_cast<std::size_t>(kept));
  if (!p.flag(1, false))
    if (const std::size_t space = cut.rfind(U' '); space != std::u32string::npos) cut.resize(space);
  return run.text(text::to_utf8(cut + end));
}

Value wordcount(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "wordcount", arguments, {});
  std::int64_t words = 0;
  bool inside = false;
  for (const char32_t c : text::to_code_points(str(run, subject))) {
    const bool part = text::is_letter(c) || text::is_number(c) || c == '_';
    words += part && !inside;
    inside = part;
  }
  return words;
}

Value urlencode(Run& run, const Value& subject, const Arguments& arguments) {
  const Parameters none(run, "urlencode", arguments, {});
  const auto quoted = [](std::string_view text, bool query) {
    const std::string_view safe = query ? "_.-~" : "_.-~/";
    std::string out;
    for (const char c : text) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                         safe.find(c) != std::string_view::npos;
      if (plain || (query && c == ' '))
        out += plain ? c : '+';
      else
        out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
  };
  if (subject.text() != nullptr || (subject.mapping() == nullptr && subject.sequence() == nullptr))
    return run.text(quoted(str(run, subject), false));
  std::string out;
  const auto add = [&](const Value& key, const Value& value) {
    out += (out.empty() ? "" : "&") + quoted(str(run, key), true) + "=" + quoted(str(run, value), true);
  };
  if (const Mapping* mapping = subject.mapping())
    for (const auto& [key, value] : mapping->members()) add(key, value);
  else
    for (const Value& pair : subject.sequence()->items) add(item(run, pair, 0), item(run, pair, 1));
  return run.text(std::move(out));
}

}  // namespace

std::span<const FilterEntry> text_filters() {
  static constexpr std::array<FilterEntry, 19> table{{
      {"upper", map_characters<text::upper>},
      {"lower", map_characters<text::lower>},
      {"title", map_characters<title>},
      {"capitalize", capitalize_filter},
      {"string", string},
      {"safe", safe},
      {"trim", trim},
      {"replace", replace_filter},
      {"join", join},
      {"indent", indent},
      {"tojson", tojson},
      {"e", escape},
      {"escape", escape},
      {"forceescape", force_escape},
      {"center", center},
      {"format", format},
      {"truncate", truncate},
      {"wordcount", wordcount},
      {"urlencode", urlencode},
  }};
  return table;
}

}  // namespace weft::jinja
