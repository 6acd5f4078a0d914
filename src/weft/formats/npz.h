// NumPy's .npz: a zip or zip64 archive of .npy files, stored (np.savez) or deflated (np.savez_compressed).
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "weft/base/export.h"
#include "weft/base/tensor.h"

namespace weft {

// Arrays under their names without ".npy". Errors: NotNpz, Truncated, BadArchive, DuplicateTensor, ChecksumMismatch,
// UnsupportedArchive (encrypted, another compression), and those of read_npy().
WEFT_API std::map<std::string, Tensor> read_npz(const std::filesystem::path& path);
std::map<std::string, Tensor> read_npz(std::span<const std::byte> bytes, const std::string& source);

}  // namespace weft
