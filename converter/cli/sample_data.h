// Sample data of a quantizer in any form that `vireo eval` reads: arrays, folders of pictures and sounds, texts.
#ifndef VIREO_CONVERTER_CLI_SAMPLE_DATA_H_
#define VIREO_CONVERTER_CLI_SAMPLE_DATA_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converter/cli/dataset.h"
#include "converter/cli/npz_samples.h"
#include "quant/calibrate/samples.h"

namespace vireo::cli {

using LoadModel = std::function<Model()>;  // the model in float, with its signature

// Samples as the model takes them: bytes of pictures are scaled by its signature, dimensions of 1 are added. An .npz
// file whose arrays have the types of the model's inputs is read as it is (NpzSamples), also where the model's batch is
// fixed to several samples.
class SampleData final : public quant::Samples {
 public:
  // `load` is called in fit(), where the data have to be fitted.
  SampleData(DataOptions options, LoadModel load);

  // Throws Failure where the data are none for the model.
  void fit(const ir::Graph& graph) override;
  size_t count() const override { return typed_ != nullptr ? typed_->count() : static_cast<size_t>(data_->size()); }
  std::vector<HostTensor> read(size_t i) override;
  std::vector<std::string> assumed() const override;

 private:
  const DataOptions options_;
  const LoadModel load_;
  std::unique_ptr<NpzSamples> typed_;  // null: what follows is used
  std::optional<Model> model_;
  std::unique_ptr<Dataset> data_;
  std::vector<size_t> inputs_;  // of the model, in the order of the graph's
  size_t next_ = 0;             // the sample that data_ stands before
};

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_SAMPLE_DATA_H_
