// Models run over labelled data, with their metrics.
#ifndef VIREO_CONVERTER_CLI_EVALUATION_H_
#define VIREO_CONVERTER_CLI_EVALUATION_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "c_api/cli/growing.h"
#include "converter/cli/dataset.h"
#include "quant/metrics/metric.h"
#include "quant/metrics/significance.h"

namespace vireo::cli {

// A model on a device, with its own view of the data: types and shapes of inputs may differ between models.
class Candidate {
 public:
  // Throws Failure.
  Candidate(const std::string& path, const SessionChoice& choice, const DataOptions& data, const Bounds& bounds,
            const std::string& output, const ConvertOnnx& convert);
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  const Model& model() const { return model_; }
  const Dataset& data() const { return *data_; }
  const SessionChoice& choice() const { return choice_; }
  const Bounds& bounds() const { return bounds_; }  // of the samples so far
  std::string device() const;                       // of the nodes; the one that was asked for before the first run
  double milliseconds() const;                      // of a run, the mean
  const std::string& output_name() const { return output_name_; }

  // Runs the model on the next sample. `outputs` gets all outputs in the model's order.
  Item run(std::vector<Array>* outputs);
  size_t output() const { return output_; }

  std::vector<std::unique_ptr<quant::Metric>> metrics;

 private:
  Model model_;
  SessionChoice choice_;
  Bounds bounds_;
  std::unique_ptr<Dataset> data_;
  std::unique_ptr<GrowingSession> session_;
  std::string bounds_text_, output_name_;
  size_t output_ = 0, runs_ = 0;
  double spent_ms_ = 0;
};

// An output as metrics read it. Throws Failure for complex numbers.
quant::Output as_output(const Array& array, const std::string& name);

}  // namespace vireo::cli

#endif  // VIREO_CONVERTER_CLI_EVALUATION_H_
