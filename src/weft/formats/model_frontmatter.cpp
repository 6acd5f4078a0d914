#include "weft/formats/model_frontmatter.h"

#include <algorithm>

#include "weft/base/fail.h"
#include "weft/formats/config_toml.h"
#include "weft/formats/model_layout.h"
#include "weft/formats/toml_document.h"

namespace weft {
namespace {

class FrontmatterReader {
 public:
  FrontmatterReader(const std::string& source, bool legacy, const ModelLimits& limits)
      : where_(source + ", frontmatter"), source_(source), legacy_(legacy), limits_(limits) {}

  ModelFrontmatter read(std::string_view text, std::vector<Warning>& warnings) {
    TomlTable document = parse_toml(text, {source_, "frontmatter", 1}, limits_.toml);
    read_entries(document);
    std::erase_if(document, [](const TomlMember& member) { return member.key == "files" || member.key == "parts"; });
    result_.fields = config_from_toml(document, where_, warnings);
    check_types(document);
    result_.name = string_field(document, "name");
    if (result_.name.empty() || result_.name.size() > 128)
      fail(ErrorKind::bad_file, "InvalidField", where_, "\"cyb.name\" must have 1 to 128 bytes, found {}",
           result_.name.size());
    read_version(document);
    return std::move(result_);
  }

 private:
  const TomlValue* find_cyb(const TomlTable& document, std::string_view key) const {
    const TomlValue* cyb = weft::find(document, "cyb");
    const auto* table = cyb != nullptr ? cyb->get<TomlTable>() : nullptr;
    if (table == nullptr)
      fail(ErrorKind::bad_file, "NotAModel", where_, "the table [cyb], which says what the file is, is missing");
    return weft::find(*table, key);
  }

  void check_types(const TomlTable& document) const {
    const TomlValue* types = find_cyb(document, "types");
    const auto* list = types != nullptr ? types->get<TomlArray>() : nullptr;
    const bool is_model = list != nullptr && std::any_of(list->begin(), list->end(), [](const TomlValue& type) {
                            const auto* name = type.get<std::string>();
                            return name != nullptr && *name == "model";
                          });
    if (!is_model)
      fail(ErrorKind::bad_file, "NotAModel", where_, "\"cyb.types\" must be a list of strings that contains \"model\"");
  }

  std::string string_field(const TomlTable& document, std::string_view key) const {
    const TomlValue* value = find_cyb(document, key);
    if (value == nullptr) fail(ErrorKind::bad_file, "MissingField", where_, "\"cyb.{}\" is missing", key);
    const auto* text = value->get<std::string>();
    if (text == nullptr)
      fail(ErrorKind::bad_file, "InvalidField", where_, "\"cyb.{}\" must be a string, found {}", key,
           type_text(*value));
    return *text;
  }

  void read_version(const TomlTable& document) {
    const TomlValue* value = find_cyb(document, "format_version");
    const auto* number = value != nullptr ? value->get<std::int64_t>() : nullptr;
    if (value != nullptr && number == nullptr)
      fail(ErrorKind::bad_file, "InvalidField", where_, "\"cyb.format_version\" must be an integer, found {}",
           type_text(*value));
    result_.version = number != nullptr ? *number : 1;
    if (result_.version == 2 || (result_.version == 1 && legacy_)) return;
    if (result_.version == 1)
      fail(
          ErrorKind::unsupported, "UnsupportedVersion", where_,
          "the file has {}, so its encodings are those of the older format; import the model again from its source, or "
          "convert this file with weft import --legacy",
          number != nullptr ? "format_version 1" : "no format_version");
    fail(ErrorKind::unsupported, "UnsupportedVersion", where_, "format_version {} is not supported; weft reads 2",
         result_.version);
  }

  void read_entries(const TomlTable& document) {
    const TomlValue *files = weft::find(document, "files"), *parts = weft::find(document, "parts");
    if (files != nullptr && parts != nullptr)
      fail(ErrorKind::bad_file, "InvalidField", where_, "[[files]] and its older name [[parts]] cannot stand together");
    const TomlValue* entries = files != nullptr ? files : parts;
    if (entries == nullptr)
      fail(ErrorKind::bad_file, "MissingField", where_, "the list of sections, [[files]], is missing");
    const auto* list = entries->get<TomlArray>();
    if (list == nullptr)
      fail(ErrorKind::bad_file, "InvalidField", where_, "\"files\" must be a list of tables, found {}",
           type_text(*entries));
    if (list->size() > limits_.sections)
      fail(ErrorKind::bad_file, "LimitExceeded", where_, "{} entries in [[files]], more than the limit of {}",
           list->size(), limits_.sections);
    for (const TomlValue& entry : *list) {
      const auto* table = entry.get<TomlTable>();
      if (table == nullptr)
        fail(ErrorKind::bad_file, "InvalidField", where_, "\"files\" must be a list of tables, found {} in it",
             type_text(entry));
      read_entry(*table);
    }
  }

  void read_entry(const TomlTable& table) {
    ModelEntry entry;
    entry.name = entry_string(table, "name", "").value_or("");
    if (!is_section_name(entry.name))
      fail(ErrorKind::bad_file, "InvalidField", where_,
           "a section's name is a small letter and up to 31 more of a-z, 0-9, _ and -, found \"{}\"", entry.name);
    if (result_.find(entry.name) != nullptr)
      fail(ErrorKind::bad_file, "DuplicateSection", where_, "section \"{}\" is declared twice", entry.name);
    entry.format = entry_string(table, "format", entry.name).value_or("");
    if (const TomlValue* size = weft::find(table, "size")) {
      const auto* bytes = size->get<std::int64_t>();
      if (bytes == nullptr || *bytes < 0)
        fail(ErrorKind::bad_file, "InvalidField", where_, "the size of section \"{}\" must be an integer from 0",
             entry.name);
      entry.size = static_cast<std::uint64_t>(*bytes);
    }
    if (auto hash = entry_string(table, "sha256", entry.name)) {
      for (char& c : *hash)
        if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
      if (hash->size() != 64 || hash->find_first_not_of("0123456789abcdef") != std::string::npos)
        fail(ErrorKind::bad_file, "InvalidField", where_, "the sha256 of section \"{}\" must be 64 hexadecimal digits",
             entry.name);
      entry.sha256 = std::move(*hash);
    }
    result_.entries.push_back(std::move(entry));
  }

  std::optional<std::string> entry_string(const TomlTable& table, std::string_view key,
                                          std::string_view section) const {
    const TomlValue* value = weft::find(table, key);
    if (value == nullptr) return std::nullopt;
    const auto* text = value->get<std::string>();
    if (text == nullptr)
      fail(ErrorKind::bad_file, "InvalidField", where_, "\"{}\" of section \"{}\" must be a string, found {}", key,
           section, type_text(*value));
    return *text;
  }

  std::string where_;
  const std::string& source_;
  bool legacy_;
  const ModelLimits& limits_;
  ModelFrontmatter result_;
};

}  // namespace

const ModelEntry* ModelFrontmatter::find(std::string_view section) const {
  for (const ModelEntry& entry : entries)
    if (entry.name == section) return &entry;
  return nullptr;
}

ModelFrontmatter read_frontmatter(std::string_view text, const std::string& source, bool legacy,
                                  const ModelLimits& limits, std::vector<Warning>& warnings) {
  return FrontmatterReader(source, legacy, limits).read(text, warnings);
}

}  // namespace weft
