#include "weft/text/jinja/run.h"

namespace weft::jinja {

void Run::refuse(std::string message) const {
  throw Error(ErrorKind::invalid_argument, "InvalidTemplate", where(), std::move(message));
}

void Run::limit(std::string what) const {
  throw Error(ErrorKind::out_of_memory, "TemplateLimit", where(), "the template may use at most " + what);
}

void Run::expect_defined(const Value& value) const {
  if (const Undefined* undefined = value.undefined())
    refuse(undefined->reason ? *undefined->reason : "an undefined value is used");
}

}  // namespace weft::jinja
