#include "converter/cli/sample_data.h"

#include <algorithm>
#include <utility>

#include "c_api/cli/failure.h"
#include "c_api/cli/npy.h"
#include "converter/cli/onnx_source.h"

namespace vireo::cli {
namespace {

// Bytes are pictures, and are scaled; float16 is widened. What else does not fit is a mistake, which NpzSamples names.
bool needs_fitting(const NpzFile& file, const ir::Value& input) {
  if (std::find(file.names().begin(), file.names().end(), input.name) == file.names().end()) return false;
  const vireo_dtype dtype = file.rows(input.name).dtype();
  return (dtype == VIREO_UINT8 || dtype == VIREO_FLOAT16) && static_cast<DType>(dtype) != input.type.dtype;
}

// Whether the data are arrays that bear the names and types of the inputs.
bool is_typed(const DataOptions& options, const ir::Graph& graph) {
  const size_t size = options.data.size();
  if (size < 4 || options.data.compare(size - 4, 4, ".npz") != 0 || !options.inputs.empty() || options.window != 0)
    return false;
  const NpzFile file(options.data);
  return std::none_of(graph.inputs().begin(), graph.inputs().end(),
                      [&](const ir::Value* input) { return needs_fitting(file, *input); });
}

}  // namespace

SampleData::SampleData(DataOptions options, LoadModel load) : options_(std::move(options)), load_(std::move(load)) {}

void SampleData::fit(const ir::Graph& graph) {
  if (is_typed(options_, graph)) {
    typed_ = std::make_unique<NpzSamples>(options_.data);
    return typed_->fit(graph);
  }
  model_.emplace(load_());
  data_ = open_dataset(options_, *model_);
  next_ = 0;
  inputs_.clear();
  for (const ir::Value* input : graph.inputs()) {
    const auto is_it = [&](const vireo_value_info& info) { return input->name == info.name; };
    const auto it = std::find_if(model_->inputs().begin(), model_->inputs().end(), is_it);
    if (it == model_->inputs().end())
      throw Failure(model_->name() + " has no input \"" + input->name + "\" once it is converted", "report this model");
    inputs_.push_back(static_cast<size_t>(it - model_->inputs().begin()));
  }
  if (data_->size() == 0)
    throw Failure(options_.data + " holds no samples", "put at least one sample into it, better 100 to 500");
}

std::vector<HostTensor> SampleData::read(size_t i) {
  if (typed_ != nullptr) return typed_->read(i);
  if (i < next_) {
    data_ = open_dataset(options_, *model_);
    next_ = 0;
  }
  for (; next_ < i; ++next_) (void)data_->next();
  Item item = data_->next();
  ++next_;
  std::vector<HostTensor> inputs;
  for (const size_t at : inputs_) {
    if (item.inputs[at].dtype == VIREO_NONE)
      throw Failure(options_.data + " has no values for the input \"" + std::string(model_->inputs()[at].name) +
                        "\", which carries a state",
                    "write an .npz file with an array for each input");
    inputs.push_back(to_host(std::move(item.inputs[at])));
  }
  return inputs;
}

std::vector<std::string> SampleData::assumed() const {
  return data_ == nullptr ? std::vector<std::string>{} : data_->assumed();
}

}  // namespace vireo::cli
