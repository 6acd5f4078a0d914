// How the next token is drawn: what the command line says, else the model's file, else the defaults.
#pragma once

#include "weft/cli/arguments.h"
#include "weft/models/checkpoint.h"
#include "weft/models/sampling_options.h"

namespace weft::cli {

inline SamplingOptions sampling_options(const Checkpoint& checkpoint, const SamplingArguments& arguments) {
  SamplingOptions sampling = checkpoint.sampling();
  sampling.temperature = arguments.temperature.value_or(sampling.temperature);
  sampling.top_k = arguments.top_k.value_or(sampling.top_k);
  sampling.top_p = arguments.top_p.value_or(sampling.top_p);
  sampling.min_p = arguments.min_p.value_or(sampling.min_p);
  sampling.seed = arguments.seed.value_or(sampling.seed);
  return sampling;
}

}  // namespace weft::cli
