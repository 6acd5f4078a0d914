#include "weft/runtime/session.h"

#include <utility>

#include "weft/base/fail.h"
#include "weft/base/thread_pool.h"
#include "weft/ir/verify.h"
#include "weft/runtime/compiled_program.h"
#include "weft/runtime/program_runner.h"

namespace weft {

struct CompiledGraph::Impl {
  explicit Impl(std::shared_ptr<const CompiledProgram> program) : runner(std::move(program), nullptr) {}
  Impl(const Impl& other)
      : runner(other.runner.shared_program(), other.runner.shared_weights()),
        params(other.params),
        stale(other.stale) {}

  const Graph& graph() const { return runner.graph(); }
  void prepare_weights() {
    if (!stale) return;
    runner.set_weights(std::make_shared<const BoundWeights>(runner.compiled(), params));
    stale = false;
  }

  // Packs the params, where all are set, so that a clone has the same ones and not a copy.
  void share_weights() {
    for (const std::int32_t param : graph().params())
      if (!params.find(graph().node(param).text("name")).defined()) return;
    prepare_weights();
  }

  ProgramRunner runner;
  WeightMap params;
  bool stale = true;  // the runner does not have the params yet
};

CompiledGraph::CompiledGraph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CompiledGraph::~CompiledGraph() = default;
CompiledGraph::CompiledGraph(CompiledGraph&&) noexcept = default;
CompiledGraph& CompiledGraph::operator=(CompiledGraph&&) noexcept = default;
CompiledGraph CompiledGraph::clone() const {
  impl_->share_weights();
  return CompiledGraph(std::make_unique<Impl>(*impl_));
}

void CompiledGraph::set_param(const std::string& name, Tensor value) {
  const auto index = graph().find_param(name);
  if (!index)
    fail(ErrorKind::missing_tensor, "UnknownParam", name, "the graph {} has no parameter of this name", graph().name());
  const TensorType& declared = graph().node(*index).outputs[0].type;
  if (!value.defined() || value.dtype() != declared.dtype || Shape(value.dims()) != declared.shape)
    fail(ErrorKind::shape_mismatch, "WeightFormatMismatch", name, "the graph declares {}, the tensor is {} {}",
         declared.text(), dims_text(value.dims()), to_string(value.dtype()));
  impl_->params.set(name, std::move(value));
  impl_->stale = true;
}

void CompiledGraph::set_params(const WeightSource& source) {
  for (const std::int32_t param : graph().params())
    impl_->params.set(graph().node(param).text("name"), find_weight(graph(), param, source));
  impl_->stale = true;
}

NamedTensors CompiledGraph::run(const NamedTensors& inputs) {
  impl_->prepare_weights();
  return impl_->runner.run(inputs);
}

std::vector<Tensor> CompiledGraph::run(std::span<const Tensor> inputs) {
  std::vector<TensorView> views;
  for (const Tensor& input : inputs) views.push_back({input.bytes().data(), input.dtype(), input.dims()});
  std::vector<Tensor> outputs;
  for (const TensorView& view : run_views(views)) {
    std::vector<std::int64_t> dims(view.dims.begin(), view.dims.end());
    const std::size_t bytes = byte_size(view.dtype, dims);
    outputs.push_back(Tensor::copy_bytes({view.data, bytes}, view.dtype, std::move(dims)));
  }
  return outputs;
}

std::span<const TensorView> CompiledGraph::run_views(std::span<const TensorView> inputs) {
  impl_->prepare_weights();
  return impl_->runner.run_views(inputs);
}

void CompiledGraph::reset() { impl_->runner.reset(); }
void CompiledGraph::truncate(std::int64_t rows) { impl_->runner.truncate(rows); }
std::vector<std::byte> CompiledGraph::save() const { return to_bytes(impl_->runner.state()); }
void CompiledGraph::restore(std::span<const std::byte> state) { impl_->runner.set_state(state_from_bytes(state)); }
std::int64_t CompiledGraph::past_length() const { return impl_->runner.past(); }
const Graph& CompiledGraph::graph() const { return impl_->graph(); }

Session::Session(ExecConfig config) : config_(std::move(config)) {
  if (!config_.backend.empty() && config_.backend != "cpu")
    fail(ErrorKind::unsupported_backend, "UnsupportedBackend", config_.backend,
         "it runs nodes one by one and compiles nothing; use GraphExecutor, or the backend cpu");
  if (config_.pool == nullptr) config_.pool = std::make_shared<ThreadPool>();
}

CompiledGraph Session::compile(Graph graph) const {
  verify(graph);
  return CompiledGraph(
      std::make_unique<CompiledGraph::Impl>(std::make_shared<const CompiledProgram>(std::move(graph), config_)));
}

}  // namespace weft
