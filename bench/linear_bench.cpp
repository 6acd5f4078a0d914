// The linear kernels on one thread: every type and level, one row (GB/s of packed weights, beside a plain read of as
// many bytes) and many (GFLOP/s, two for a product and its sum), and packing (GB/s of the file's bytes).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "weft/backend/cpu/linear.h"
#include "weft/base/half.h"

namespace weft::cpu {
namespace {

constexpr DType types[] = {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1, DType::q8_0, DType::q2_k, DType::q3_k,
                           DType::q4_k, DType::q5_k, DType::q6_k, DType::f16,  DType::bf16, DType::f32};

// Random codes under scales that are all the same small number.
Tensor random_weight(DType dtype, std::int64_t rows, std::int64_t columns) {
  std::mt19937_64 generator(1);
  Tensor weight = Tensor::allocate(dtype, {rows, columns});
  auto words = weight.mutable_values<std::uint16_t>();
  for (std::uint16_t& word : words) word = static_cast<std::uint16_t>(generator() & 0x3BFF);  // below one, as f16
  if (dtype == DType::f32)
    for (float& value : weight.mutable_values<float>()) value = 0.01f;
  return weight;
}

// Shared by all levels: packing takes longer than measuring.
const PackedMatrix& packed_weight(DType dtype, std::int64_t rows, std::int64_t columns) {
  static PackedMatrix matrix;
  if (matrix.dtype() != dtype || matrix.rows() != rows || matrix.columns() != columns || !matrix.defined()) {
    matrix = PackedMatrix();
    ThreadPool pool(1);
    matrix = PackedMatrix::pack(random_weight(dtype, rows, columns), pool);
  }
  return matrix;
}

struct FreeBytes {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
std::unique_ptr<std::byte, FreeBytes> aligned(std::size_t size) {
  auto* bytes = static_cast<std::byte*>(std::aligned_alloc(64, (size + 63) / 64 * 64));
  std::memset(bytes, 0, size);
  return std::unique_ptr<std::byte, FreeBytes>(bytes);
}

void linear(benchmark::State& state, DType dtype, CpuLevel level, std::int64_t rows) {
  // One row streams more than the caches hold; many rows use a matrix of a small model.
  const std::int64_t columns = 1024;
  const std::size_t row_bytes = PackedMatrix::packed_bytes(dtype, 16, columns) / 16;
  const std::int64_t n = rows < 16 ? static_cast<std::int64_t>((std::size_t{192} << 20) / row_bytes) / 16 * 16 : 1024;
  const PackedMatrix& weight = packed_weight(dtype, n, columns);
  const LinearKernels& kernels = linear_kernels(level);
  std::vector<float> x(static_cast<std::size_t>(rows * columns)), y(static_cast<std::size_t>(rows * n));
  std::mt19937 generator(2);
  std::normal_distribution<float> normal(0, 1);
  std::generate(x.begin(), x.end(), [&] { return normal(generator); });
  const auto buffer = aligned(static_cast<std::size_t>(rows) * quantized_row_bytes(columns));
  const auto scratch = aligned(kernels.scratch_bytes(rows));
  const MutableQuantizedRows quantized =
      quantized_rows({buffer.get(), static_cast<std::size_t>(rows) * quantized_row_bytes(columns)}, rows, columns);
  kernels.quantize(x.data(), columns, 0, rows, quantized);
  for (auto _ : state) {
    if (weight.integer())
      kernels.integer(weight, quantized, 0, weight.panels(), y.data(), n, scratch.get());
    else
      kernels.floating(weight, x.data(), columns, rows, 0, weight.panels(), y.data(), n, scratch.get());
    benchmark::ClobberMemory();
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["GB/s"] =
      benchmark::Counter(runs * 1e-9 * static_cast<double>(weight.byte_size()), benchmark::Counter::kIsRate);
  state.counters["GFLOP/s"] =
      benchmark::Counter(runs * 2e-9 * static_cast<double>(rows * n * columns), benchmark::Counter::kIsRate);
}

void quantize(benchmark::State& state, CpuLevel level) {
  const std::int64_t columns = 1024;
  std::vector<float> x(columns, 0.5f);
  const auto buffer = aligned(quantized_row_bytes(columns));
  const MutableQuantizedRows rows = quantized_rows({buffer.get(), quantized_row_bytes(columns)}, 1, columns);
  for (auto _ : state) {
    linear_kernels(level).quantize(x.data(), columns, 0, 1, rows);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * columns);
}

void pack(benchmark::State& state, DType dtype) {
  const Tensor weight = random_weight(dtype, 16384, 1024);
  ThreadPool pool(1);
  for (auto _ : state) benchmark::DoNotOptimize(PackedMatrix::pack(weight, pool));
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * 1e-9 * static_cast<double>(weight.byte_size()),
                         benchmark::Counter::kIsRate);
}

// What one core reads: eight sums, so that none waits for another.
void read(benchmark::State& state) {
  std::vector<std::uint64_t> words((std::size_t{192} << 20) / 8, 1);
  std::uint64_t total = 0;
  for (auto _ : state) {
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i < words.size(); i += 8)
      for (std::size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
    for (const std::uint64_t sum : sums) total += sum;
    benchmark::DoNotOptimize(total);
  }
  state.counters["GB/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * 8e-9 * static_cast<double>(words.size()), benchmark::Counter::kIsRate);
}

const bool registered = [] {
  benchmark::RegisterBenchmark("read", read)->Unit(benchmark::kMillisecond);
  for (const std::int64_t rows : {1, 4, 512})
    for (const DType dtype : types)
      for (const CpuLevel level : supported_cpu_levels()) {
        const std::string name = "linear/" + std::string(to_string(dtype)) + "/" + std::string(to_string(level)) +
                                 "/rows:" + std::to_string(rows);
        benchmark::RegisterBenchmark(name.c_str(), linear, dtype, level, rows)->Unit(benchmark::kMillisecond);
      }
  for (const CpuLevel level : supported_cpu_levels())
    benchmark::RegisterBenchmark(("quantize/" + std::string(to_string(level))).c_str(), quantize, level);
  for (const DType dtype : types)
    benchmark::RegisterBenchmark(("pack/" + std::string(to_string(dtype))).c_str(), pack, dtype)
        ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace weft::cpu
