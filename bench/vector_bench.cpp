// The kernels on rows of f32: GB/s of what they read and write, at sizes that stay in cache.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/backend/cpu/vector_kernels.h"
#include "weft/base/cpu_features.h"
#include "weft/base/random.h"

namespace weft::cpu {
namespace {

constexpr std::int64_t width = 1024, rows = 16, count = rows * width, vocabulary = 151936;

std::vector<float> random_floats(std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(size));
  Pcg32 generator(1);
  for (float& value : values) value = static_cast<float>(generator.uniform() * 8 - 4);
  return values;
}

struct Operands {
  std::vector<float> x = random_floats(vocabulary), y = random_floats(count), out = random_floats(vocabulary);
  std::vector<std::uint16_t> halves = std::vector<std::uint16_t>(count);
  std::vector<std::byte> blocks = std::vector<std::byte>(count / 32 * 34);
};

struct Kernel {
  std::string name;
  double bytes;  // read and written in one call
  std::function<void(const VectorKernels&, Operands&)> call;
};

std::vector<Kernel> all_kernels() {
  constexpr double four = 4.0 * count;
  std::vector<Kernel> list = {
      {"rms_norm", 2 * four,
       [](const VectorKernels& k, Operands& o) {
         k.rms_norm(o.x.data(), width, rows, width, o.y.data(), nullptr, 1e-6f, o.out.data(), width);
       }},
      {"add_rms_norm", 4 * four,
       [](const VectorKernels& k, Operands& o) {
         k.add_rms_norm(o.x.data(), o.y.data(), o.y.data(), width, rows, width, o.x.data(), nullptr, 1e-6f,
                        o.out.data(), width);
       }},
      {"layer_norm", 2 * four,
       [](const VectorKernels& k, Operands& o) {
         k.layer_norm(o.x.data(), width, rows, width, o.y.data(), nullptr, 1e-5f, o.out.data(), width);
       }},
      {"softmax", 2 * four,
       [](const VectorKernels& k, Operands& o) { k.softmax(o.x.data(), width, rows, width, 0, o.out.data(), width); }},
      {"rope", 2 * four,
       [](const VectorKernels& k, Operands& o) {
         k.rope({.x = o.x.data(),
                 .out = o.out.data(),
                 .rows = rows,
                 .heads = width / 128,
                 .head_dim = 128,
                 .x_stride = width,
                 .out_stride = width,
                 .cos = o.y.data(),
                 .sin = o.y.data() + 1024,
                 .table_stride = 64,
                 .pairs = 64,
                 .half = 64,
                 .style = RopeStyle::neox});
       }},
      {"swiglu", 3 * four,
       [](const VectorKernels& k, Operands& o) {
         k.gated(UnaryKind::silu, o.x.data(), o.y.data(), o.out.data(), count);
       }},
      {"add", 3 * four,
       [](const VectorKernels& k, Operands& o) {
         k.binary(BinaryKind::add, {o.x.data(), 0}, {o.y.data(), 0}, o.out.data(), count);
       }},
      {"argmax of a vocabulary", 4.0 * vocabulary,
       [](const VectorKernels& k, Operands& o) { benchmark::DoNotOptimize(k.argmax(o.x.data(), vocabulary, false)); }},
      {"top_k 40 of a vocabulary", 4.0 * vocabulary,
       [](const VectorKernels& k, Operands& o) {
         std::int32_t indices[40];
         k.top_k(o.x.data(), vocabulary, 40, indices, o.out.data());
         benchmark::DoNotOptimize(indices);
       }},
      {"f32_to_f16", 1.5 * four,
       [](const VectorKernels& k, Operands& o) { k.f32_to_f16(o.x.data(), o.halves.data(), count); }},
      {"f16_to_f32", 1.5 * four,
       [](const VectorKernels& k, Operands& o) { k.f16_to_f32(o.halves.data(), o.out.data(), count); }},
      {"f32_to_q8_0", four * (1 + 34.0 / 128),
       [](const VectorKernels& k, Operands& o) { k.f32_to_q8_0(o.x.data(), o.blocks.data(), count / 32); }},
  };
  const std::pair<const char*, UnaryKind> functions[] = {
      {"silu", UnaryKind::silu},         {"gelu", UnaryKind::gelu}, {"gelu_approx", UnaryKind::gelu_approx},
      {"sigmoid", UnaryKind::sigmoid},   {"tanh", UnaryKind::tanh}, {"exp", UnaryKind::exp},
      {"softplus", UnaryKind::softplus}, {"log", UnaryKind::log},   {"relu", UnaryKind::relu}};
  for (const auto& [name, kind] : functions)
    list.push_back({name, 2 * four, [kind = kind](const VectorKernels& k, Operands& o) {
                      k.unary(kind, o.x.data(), o.out.data(), count, 1);
                    }});
  return list;
}

void register_all() {
  for (const Kernel& kernel : all_kernels())
    for (const CpuLevel level : {CpuLevel::portable, CpuLevel::avx2, CpuLevel::avx512}) {
      if (!cpu_supports(level)) continue;
      const std::string name = "vector/" + kernel.name + "/" + std::string(to_string(level));
      benchmark::RegisterBenchmark(name.c_str(), [kernel, level](benchmark::State& state) {
        Operands operands;
        const VectorKernels& kernels = vector_kernels(level);
        for (auto _ : state) {
          kernel.call(kernels, operands);
          benchmark::ClobberMemory();
        }
        state.counters["GB/s"] = benchmark::Counter(kernel.bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
      })->Unit(benchmark::kMicrosecond);
    }
}

}  // namespace
}  // namespace weft::cpu

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  weft::cpu::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
