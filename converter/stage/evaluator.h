// Running a graph to see what it computes. The converter checks its passes through this interface and never meets the
// runtime: converter/cli implements it over the C API.
#ifndef VIREO_CONVERTER_STAGE_EVALUATOR_H_
#define VIREO_CONVERTER_STAGE_EVALUATOR_H_

#include <cstdint>
#include <string>
#include <vector>

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

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // Loads a .vireo file from memory (aligned to 64), runs it once on `inputs` (in the order of the model's inputs) and
  // returns all outputs. On failure: false, and `error` tells why.
  virtual bool run(Span<const uint8_t> vireo, const std::vector<HostTensor>& inputs, std::vector<HostTensor>* outputs,
                   std::string* error) = 0;
};

}  // namespace vireo

#endif  // VIREO_CONVERTER_STAGE_EVALUATOR_H_
