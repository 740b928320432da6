// Where a quantizer's data come from: samples of a model's inputs, read one by one and as often as asked.
#ifndef VIREO_QUANT_CALIBRATE_SAMPLES_H_
#define VIREO_QUANT_CALIBRATE_SAMPLES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/stage/evaluator.h"

namespace vireo::quant {

// Data that do not fit the model, or cannot be read, are a std::exception, which names them and passes through the
// converter to who made this object.
class Samples {
 public:
  virtual ~Samples() = default;
  // Called once, before anything is read: `graph` has the inputs that samples are for.
  virtual void fit(const ir::Graph& graph) = 0;
  virtual size_t count() const = 0;
  // Sample `i` in the order of the graph's inputs.
  virtual std::vector<HostTensor> read(size_t i) = 0;
  // Lines for people on how files became inputs.
  virtual std::vector<std::string> assumed() const { return {}; }
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_CALIBRATE_SAMPLES_H_
