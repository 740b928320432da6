// Going through a graph in steps, over all samples each: values are made one after the other, and every step begins
// with what earlier ones left. Only the weights between two values are loaded at a time, and nothing runs twice.
#ifndef VIREO_QUANT_CALIBRATE_FORWARD_H_
#define VIREO_QUANT_CALIBRATE_FORWARD_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "converter/stage/evaluator.h"

namespace vireo::quant {

class Forward {
 public:
  // Values may change their makers' weights until a step has passed them: what makes the last value of a step is run
  // again by the next, from what it reads.
  Forward(ir::Graph& graph, Evaluator& evaluator) : graph_(graph), evaluator_(evaluator) {}

  // Makes a step ready that ends with `value`. `later`: what further steps will end with; what these need is kept.
  // False with `error`.
  bool prepare(const ir::Value& value, const std::vector<const ir::Value*>& later, std::string* error);
  // What running it takes on the first of the samples; 0 with `error`.
  uint64_t bytes(const std::vector<HostTensor>& inputs, std::string* error);
  // The value, for sample `sample`, which gives `inputs` to the graph; until the next call.
  bool run(size_t sample, std::vector<HostTensor> inputs, TensorView* value, std::string* error);
  // What the samples of this step left until now, in bytes.
  uint64_t left() const;
  // Nothing is kept behind this step: the next begins with the graph's inputs.
  void forget() { forgets_ = true; }
  // All samples ran: the next step may be prepared.
  void finish();

  size_t kept() const { return kept_.size(); }  // values

 private:
  using OfSamples = std::vector<HostTensor>;

  void find_kept(const ir::Value& value, const std::vector<const ir::Value*>& later);
  std::vector<HostTensor> with_kept(size_t sample, std::vector<HostTensor> inputs) const;

  ir::Graph& graph_;
  Evaluator& evaluator_;
  std::map<uint32_t, OfSamples> kept_;  // by the value's id
  // Of the step:
  bool forgets_ = false;
  std::unique_ptr<PreparedGraph> program_;
  std::vector<uint32_t> read_;         // kept values that it begins with
  std::vector<uint32_t> goes_on_;      // values that are kept behind it: those of kept_ that are needed further on, and
  std::map<uint32_t, OfSamples> new_;  // these, in the order of ids, which are outputs behind the value
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_CALIBRATE_FORWARD_H_
