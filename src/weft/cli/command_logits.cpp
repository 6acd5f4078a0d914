// weft logits: the logits of given tokens, as a NumPy file.
#include "weft/base/error.h"
#include "weft/cli/interrupt.h"
#include "weft/cli/program.h"
#include "weft/formats/npy.h"
#include "weft/models/language_model.h"

namespace weft::cli {

int logits(const LogitsArguments& arguments) {
  const InterruptGuard guard;
  // The context holds exactly what is asked for: a longer one than the model was trained for is the caller's choice.
  LanguageModel model =
      LanguageModel::open(arguments.model, {.context = static_cast<std::int64_t>(arguments.ids.size()),
                                            .threads = arguments.threads,
                                            .backend = arguments.backend,
                                            .kv_type = *dtype_from_name(arguments.kv_type),
                                            .canceled = InterruptGuard::interrupted});
  try {
    write_npy(arguments.output, model.logits(arguments.ids));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::canceled) throw;
    return interrupted_status;
  }
  return 0;
}

}  // namespace weft::cli
