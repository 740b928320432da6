#include "converter/cli/session_evaluator.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "c_api/cli/growing.h"
#include "converter/cli/onnx_source.h"
#include "converter/emit/model_file.h"

namespace vireo::cli {
namespace {

constexpr char kCalled[] = "the graph under check";

ModelBytes unowned(Span<const uint8_t> vireo) {
  ModelBytes bytes;
  bytes.data = vireo.data();
  bytes.size = vireo.size();
  return bytes;
}

// A model in memory, with a session that is kept while extents stay as they are.
class SessionGraph final : public PreparedGraph {
 public:
  explicit SessionGraph(const ModelBytes& bytes) : model_(bytes, kCalled, 0) {}

  bool run(const std::vector<HostTensor>& inputs, std::vector<HostTensor>* outputs, std::string* error) override try {
    std::vector<Array> arrays;
    if (!take(inputs, &arrays, error)) return false;
    if (session_ == nullptr) session_ = std::make_unique<GrowingSession>(model_, SessionChoice{}, bounds_);
    outputs->clear();
    for (Array& array : session_->run(arrays)) {
      HostTensor& out = outputs->emplace_back();
      out.dtype = static_cast<DType>(array.dtype);
      out.dims = std::move(array.dims);
      out.bytes = std::move(array.bytes);
      out.strings = std::move(array.strings);
    }
    return true;
  } catch (const std::exception& failure) {
    *error = failure.what();
    return false;
  }

  uint64_t bytes(const std::vector<HostTensor>& inputs, std::string* error) override try {
    std::vector<Array> arrays;
    if (!take(inputs, &arrays, error)) return 0;
    uint64_t sum = memory_of(model_, {}, bounds_).total_bytes;
    for (const Array& array : arrays) sum += array.bytes.size();
    for (const vireo_value_info& info : model_.outputs()) {
      uint64_t count = 1;
      for (const int64_t extent : bounds_.dims_of(info)) count *= static_cast<uint64_t>(std::max<int64_t>(extent, 1));
      sum += count * static_cast<uint64_t>(dtype_bits(info.dtype)) / 8;  // the caller's copy
    }
    return sum;
  } catch (const std::exception& failure) {
    *error = failure.what();
    return 0;
  }

 private:
  // The inputs as the session takes them; bounds follow their extents.
  bool take(const std::vector<HostTensor>& inputs, std::vector<Array>* arrays, std::string* error) {
    if (inputs.size() != model_.inputs().size()) {
      *error = "the model takes " + std::to_string(model_.inputs().size()) + " inputs, " +
               std::to_string(inputs.size()) + " are given";
      return false;
    }
    std::vector<std::vector<int64_t>> dims;
    Bounds bounds;
    for (size_t i = 0; i < inputs.size(); ++i) {
      arrays->push_back(cli::to_array(inputs[i]));
      dims.push_back(inputs[i].dims);
      bounds.add(model_.inputs()[i], arrays->back().dims, "the check's input");
    }
    if (dims == dims_) return true;
    session_.reset();
    bounds_ = std::move(bounds);
    dims_ = std::move(dims);
    return true;
  }

  const Model model_;
  Bounds bounds_;
  std::vector<std::vector<int64_t>> dims_;
  std::unique_ptr<GrowingSession> session_;
};

}  // namespace

std::unique_ptr<PreparedGraph> SessionEvaluator::prepare(const ir::Graph& graph,
                                                         const std::vector<const ir::Value*>& taps,
                                                         std::string* error) try {
  FileBytes file;
  if (!emit::write_with_taps(graph, taps, &file, error)) return nullptr;
  return std::make_unique<SessionGraph>(share(std::move(file)));
} catch (const std::exception& failure) {
  *error = failure.what();
  return nullptr;
}

bool SessionEvaluator::run(Span<const uint8_t> vireo, const std::vector<HostTensor>& inputs,
                           std::vector<HostTensor>* outputs, std::string* error) try {
  return SessionGraph(unowned(vireo)).run(inputs, outputs, error);
} catch (const std::exception& failure) {
  *error = failure.what();
  return false;
}

}  // namespace vireo::cli
