// Running a graph to see what it computes. The converter checks its passes through this interface and never meets the
// runtime: converter/cli implements it over the C API.
#ifndef VIREO_CONVERTER_STAGE_EVALUATOR_H_
#define VIREO_CONVERTER_STAGE_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "converter/ir/graph.h"
#include "sdk/base/dtype.h"
#include "sdk/base/span.h"

namespace vireo {

// A dense tensor in memory of its own.
struct HostTensor {
  DType dtype = DType::kNone;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;        // little-endian, row-major; empty for strings
  std::vector<std::string> strings;  // kString only
};

// A dense tensor in memory of someone else's; not of strings.
struct TensorView {
  DType dtype = DType::kNone;
  std::vector<int64_t> dims;
  Span<const uint8_t> bytes;  // little-endian, row-major
};

// A graph that was made ready once, to run any number of times.
class PreparedGraph {
 public:
  virtual ~PreparedGraph() = default;
  // Runs on `inputs`, in the order of the graph's, and shows its outputs and then the taps, where they lie until the
  // next call. Where extents differ from the last run's, room is made for them. On failure: false, and `error` tells
  // why.
  virtual bool run(std::vector<HostTensor> inputs, std::vector<TensorView>* outputs, std::string* error) = 0;
  // What a run on such inputs takes: weights, which the first run copies, tensors, scratch, packed weights, inputs.
  // On failure 0, and `error` tells why.
  virtual uint64_t bytes(const std::vector<HostTensor>& inputs, std::string* error) = 0;
  // Runs from now on without weights in packed form: slower, and in less memory. Before the first run.
  virtual void save_memory() {}
};

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Makes `graph` ready, with `taps`, values of it, as further outputs. Null on failure, and `error` tells why.
  virtual std::unique_ptr<PreparedGraph> prepare(const ir::Graph& graph, const std::vector<const ir::Value*>& taps,
                                                 std::string* error) = 0;
  // Loads a .vireo file from memory (aligned to 64), runs it once on `inputs` (in the order of the model's inputs) and
  // returns all outputs. On failure: false, and `error` tells why.
  virtual bool run(Span<const uint8_t> vireo, const std::vector<HostTensor>& inputs, std::vector<HostTensor>* outputs,
                   std::string* error) = 0;
};

}  // namespace vireo

#endif  // VIREO_CONVERTER_STAGE_EVALUATOR_H_
