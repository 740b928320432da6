// vireo bench --pipeline and --split: runs that overlap, or one batch over several devices, beside a single session.
#ifndef VIREO_C_API_CLI_BENCH_FLEET_H_
#define VIREO_C_API_CLI_BENCH_FLEET_H_

#include "c_api/cli/array.h"
#include "c_api/cli/handles.h"

namespace vireo::cli {

struct FleetRequest {
  uint32_t depth = 0;  // of the pipeline; 0: none
  std::string split;   // devices with commas between them; "": none
  int64_t batch = 0;   // of the split
  double seconds = 2;
  bool json = false;
};

// Prints what was measured. Throws Failure.
void bench_pipeline(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                    const std::vector<vireo_tensor>& inputs, const FleetRequest& request);
// The inputs have request.batch rows, `bounds` a bound for them.
void bench_split(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                 const std::vector<vireo_tensor>& inputs, const FleetRequest& request);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_BENCH_FLEET_H_
