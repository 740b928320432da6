#include "converter/cli/session_evaluator.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "c_api/cli/growing.h"
#include "converter/cli/onnx_source.h"
#include "converter/emit/model_file.h"

namespace vireo::cli {
namespace {

constexpr char kCalled[] = "the graph under check";
// A run on one thread that takes longer than this is worth others: shorter ones lose up to a sixth of the processor's
// time by waiting for each other. The bits are the same.
constexpr std::chrono::microseconds kWorthThreads{3000};

ModelBytes unowned(Span<const uint8_t> vireo) {
  ModelBytes bytes;
  bytes.data = vireo.data();
  bytes.size = vireo.size();
  return bytes;
}

ModelBytes owned(const std::shared_ptr<FileBytes>& file) {
  ModelBytes bytes = unowned({file->data(), file->size()});
  bytes.owner = file;
  return bytes;
}

// A model in memory, with a session that is kept while extents stay as they are.
class SessionGraph final : public PreparedGraph {
 public:
  explicit SessionGraph(const ModelBytes& bytes) : model_(bytes, kCalled, 0) {}
  // `sketch` is of `file`, whose large constants are written when they are needed.
  SessionGraph(std::unique_ptr<emit::ModelFile> file, const std::shared_ptr<FileBytes>& sketch)
      : unwritten_(std::move(file)), sketch_(sketch), model_(owned(sketch), kCalled, 0) {}

  bool run(std::vector<HostTensor> inputs, std::vector<TensorView>* outputs, std::string* error) override try {
    if (!fit(inputs, error)) return false;
    outputs->clear();
    GrowingSession& now = session();
    const auto start = std::chrono::steady_clock::now();
    const std::vector<vireo_tensor> results = now.run_in_place(to_arrays(std::move(inputs)));
    took_ = std::min(took_, std::chrono::steady_clock::now() - start);
    ++runs_;
    for (const vireo_tensor& t : results) {
      TensorView& out = outputs->emplace_back();
      out.dtype = static_cast<DType>(t.dtype);
      out.dims.assign(t.dims, t.dims + t.rank);
      if (t.dtype != VIREO_STRING) out.bytes = {static_cast<const uint8_t*>(t.data), bytes_of(t)};
    }
    return true;
  } catch (const std::exception& failure) {
    *error = failure.what();
    return false;
  }

  // The same once, with outputs of their own, which may be strings.
  bool run_once(const std::vector<HostTensor>& inputs, std::vector<HostTensor>* outputs, std::string* error) {
    if (!fit(inputs, error)) return false;
    outputs->clear();
    for (Array& array : session().run(to_arrays(inputs))) {
      HostTensor& out = outputs->emplace_back();
      out.dtype = static_cast<DType>(array.dtype);
      out.dims = std::move(array.dims);
      out.bytes = std::move(array.bytes);
      out.strings = std::move(array.strings);
    }
    return true;
  }

  void save_memory() override { packing_ = VIREO_PACKING_NEVER; }

  uint64_t bytes(const std::vector<HostTensor>& inputs, std::string* error) override try {
    if (!fit(inputs, error)) return 0;
    const vireo_memory memory = memory_of(model_, choice(), bounds_);
    uint64_t sum = memory.total_bytes + memory.packed_bytes;
    if (unwritten_ != nullptr) sum += unwritten_->file_bytes();
    for (const HostTensor& input : inputs) sum += input.bytes.size();
    return sum;
  } catch (const std::exception& failure) {
    *error = failure.what();
    return 0;
  }

 private:
  static size_t bytes_of(const vireo_tensor& t) {
    int64_t count = 1;
    for (int32_t d = 0; d < t.rank; ++d) count *= t.dims[d];
    return static_cast<size_t>(vireo_dtype_bytes(t.dtype, count));
  }

  GrowingSession& session() {
    if (unwritten_ != nullptr) {
      unwritten_->write(sketch_.get());
      unwritten_.reset();
    }
    constexpr int kTried = 2;  // the first run meets memory that nobody touched yet
    if (!threads_ && runs_ >= kTried && took_ > kWorthThreads) {
      threads_ = true;
      session_.reset();
    }
    if (session_ == nullptr) session_ = std::make_unique<GrowingSession>(model_, choice(), bounds_);
    return *session_;
  }

  SessionChoice choice() const {
    SessionChoice choice;
    if (!threads_) choice.threads = 1;
    choice.packing = packing_;
    return choice;
  }

  static std::vector<Array> to_arrays(std::vector<HostTensor> inputs) {
    std::vector<Array> arrays;
    for (HostTensor& input : inputs) arrays.push_back(cli::to_array(std::move(input)));
    return arrays;
  }

  // Bounds follow the extents of the inputs.
  bool fit(const std::vector<HostTensor>& inputs, std::string* error) {
    if (inputs.size() != model_.inputs().size()) {
      *error = "the model takes " + std::to_string(model_.inputs().size()) + " inputs, " +
               std::to_string(inputs.size()) + " are given";
      return false;
    }
    std::vector<std::vector<int64_t>> dims;
    Bounds bounds;
    for (size_t i = 0; i < inputs.size(); ++i) {
      dims.push_back(inputs[i].dims);
      bounds.add(model_.inputs()[i], inputs[i].dims, "the check's input");
    }
    if (dims == dims_) return true;
    session_.reset();
    runs_ = 0;
    took_ = kNever;
    threads_ = false;
    bounds_ = std::move(bounds);
    dims_ = std::move(dims);
    return true;
  }

  std::unique_ptr<emit::ModelFile> unwritten_;  // null: the constants are there
  std::shared_ptr<FileBytes> sketch_;
  const Model model_;
  static constexpr std::chrono::steady_clock::duration kNever = std::chrono::steady_clock::duration::max();
  std::chrono::steady_clock::duration took_ = kNever;  // the shortest run on one thread
  int runs_ = 0;
  bool threads_ = false;
  vireo_packing packing_ = VIREO_PACKING_DEFAULT;
  Bounds bounds_;
  std::vector<std::vector<int64_t>> dims_;
  std::unique_ptr<GrowingSession> session_;
};

}  // namespace

std::unique_ptr<PreparedGraph> SessionEvaluator::prepare(const ir::Graph& graph,
                                                         const std::vector<const ir::Value*>& taps,
                                                         std::string* error) try {
  std::unique_ptr<emit::ModelFile> file = emit::build_with_taps(graph, taps, error);
  if (file == nullptr) return nullptr;
  const auto bytes = std::make_shared<FileBytes>();
  file->write_sketch(bytes.get());
  return std::make_unique<SessionGraph>(std::move(file), bytes);
} catch (const std::exception& failure) {
  *error = failure.what();
  return nullptr;
}

bool SessionEvaluator::run(Span<const uint8_t> vireo, const std::vector<HostTensor>& inputs,
                           std::vector<HostTensor>* outputs, std::string* error) try {
  return SessionGraph(unowned(vireo)).run_once(inputs, outputs, error);
} catch (const std::exception& failure) {
  *error = failure.what();
  return false;
}

}  // namespace vireo::cli
