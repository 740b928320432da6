// How far each layer's quantized result is from its float one: by what the layer itself rounds, and with all that was
// rounded before it.
#ifndef VIREO_QUANT_INT8_ACCOUNT_H_
#define VIREO_QUANT_INT8_ACCOUNT_H_

#include <memory>
#include <string>
#include <vector>

#include "quant/calibrate/statistics.h"
#include "quant/int8/annotate.h"

namespace vireo::quant {

struct LayerAccount {
  std::string name, op;
  double own_db = 0;  // signal to noise where the layer reads float values; infinite: no difference, NaN: not measured
  double accumulated_db = 0;  // where all layers are quantized
  uint64_t bytes = 0;         // of its weights in codes
  std::string why;            // what its bits are lost to; "": nothing stands out
  bool compared = true;       // false: it does not fit under the ceiling of memory
};

// `graph`: in float, as it was before `annotated` was made of it; values of both have the ids of the plan's. `decoded`:
// as annotate() returned it. False with `error` where a graph does not run.
bool account(const ir::Graph& graph, const Plan& plan, const Choice& choice, const ir::Graph& annotated,
             const std::vector<ir::Value*>& decoded, const std::map<uint32_t, Statistics>& statistics, Samples& samples,
             Evaluator& evaluator, const PassOptions& options, std::vector<LayerAccount>* out, std::string* error);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_ACCOUNT_H_
