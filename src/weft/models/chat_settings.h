// What a file says about conversations with its model. Plain data.
#pragma once

#include <string>
#include <vector>

namespace weft {

struct ChatSettings {
  std::string template_text = {};               // Jinja; wins over `format`
  std::string format = {};                      // one of weft's own formats (chat_template.h)
  std::string system_default = {};              // a system message for conversations that begin without one
  std::string bos = {};                         // put in front of the prompt
  std::vector<std::string> eos_sequences = {};  // further texts that end a turn

  bool empty() const {
    return template_text.empty() && format.empty() && system_default.empty() && bos.empty() && eos_sequences.empty();
  }
};

}  // namespace weft
