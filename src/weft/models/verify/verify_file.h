// All checks on a model file: a GGUF file (any part of a split set) or a `.model`. No check stops at the first thing
// that it finds, and none is left out because another one found something, unless it cannot be made without.
//
//   structure   the file's own rules: sections, versions, counts, the tensors' entries
//   hashes      declared SHA-256 sums
//   ranges      bounds, overlap, alignment, padding
//   config      sizes and constants
//   names       tensors against what a model of this config has
//   values      NaN and infinities, codes without a meaning
//   graph       the stored graph by itself, against the weights, and against that of the model's family
//   tokenizer   ids, merges, a text there and back, the chat template's tokens
//   eval        the prompts of section eval; run on request
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "weft/base/export.h"
#include "weft/models/verify/findings.h"

namespace weft {

struct VerifyOptions {
  bool legacy = false;  // read a `.model` of format version 1
  bool eval = false;    // run the prompts of section eval and look for the expected answers
  int threads = 0;      // 0: one per available CPU
  // Called as weights are read, with bytes done and in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
  std::function<bool()> canceled = {};
};

struct VerifyReport {
  std::string file, format;  // the format is empty when the file is none that weft knows
  Findings findings;
  bool ok() const { return findings.errors() == 0; }
};

// Throws what says that there is no file to check (NotFound, IsDirectory, Io) and Canceled.
WEFT_API VerifyReport verify_file(const std::filesystem::path& path, const VerifyOptions& options = {});

}  // namespace weft
