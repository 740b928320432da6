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
  using Values = std::vector<const ir::Value*>;

  // kChange: what makes the values of a step may get other weights before the next one, which runs it again, from what
  // it reads.
  enum class Weights { kStay, kChange };

  Forward(const ir::Graph& graph, Evaluator& evaluator, Weights weights)
      : graph_(graph), evaluator_(evaluator), weights_(weights) {}

  // What a step to `values` would keep, in bytes for a sample (an extent that is not known counts as 1).
  uint64_t would_keep(const Values& values, const Values& later) const;
  // Makes a step ready that ends with `values`. `later`: what further steps will end with; what these need is kept.
  // False with `error`.
  bool prepare(const Values& values, const Values& later, std::string* error);
  // What running it takes on the first of the samples; 0 with `error`.
  uint64_t bytes(const std::vector<HostTensor>& inputs, std::string* error);
  // Runs in less memory from now on (PreparedGraph::save_memory).
  void save_memory() { program_->save_memory(); }
  // The values, for sample `sample`, which gives `inputs` to the graph; until the next call.
  bool run(size_t sample, std::vector<HostTensor> inputs, std::vector<TensorView>* values, std::string* error);
  // What the samples of this step left until now, in bytes.
  uint64_t left() const;
  // What steps before left for it.
  uint64_t held() const;
  // Nothing is kept behind this step: the next begins with the graph's inputs.
  void forget() { forgets_ = true; }
  // All samples ran: the next step may be prepared.
  void finish();

  // The step is dropped; what was kept before it stays.
  void drop() { program_.reset(); }

  size_t kept() const { return kept_.size(); }  // values

 private:
  using OfSamples = std::vector<HostTensor>;

  // What a step leaves: values that are kept already and go on, and new ones.
  struct Left {
    std::vector<uint32_t> goes_on;
    std::map<uint32_t, OfSamples> made;
  };

  Left left_by(const Values& values, const Values& later) const;
  std::vector<HostTensor> with_kept(size_t sample, std::vector<HostTensor> inputs) const;

  const ir::Graph& graph_;
  Evaluator& evaluator_;
  const Weights weights_;
  std::map<uint32_t, OfSamples> kept_;  // by the value's id
  // Of the step:
  bool forgets_ = false;
  std::unique_ptr<PreparedGraph> program_;
  std::vector<uint32_t> read_;  // kept values that it begins with
  Left left_;
  std::vector<size_t> made_at_;  // which of the outputs are what is new
  size_t count_ = 0;             // of its values
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_CALIBRATE_FORWARD_H_
