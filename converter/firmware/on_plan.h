// A flat plan on this machine, by the code that devices have.
#ifndef VIREO_CONVERTER_FIRMWARE_ON_PLAN_H_
#define VIREO_CONVERTER_FIRMWARE_ON_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "converter/firmware/flat_plan.h"
#include "delegates/mcu/plan/vireo_mcu.h"

namespace vireo::firmware {

// This machine as a core.
const Core& host_core();

class OnPlan {
 public:
  // `plan` outlives this object. False with the reason.
  bool open(const FlatPlan& plan, std::string* error);
  // The bytes of all outputs, one behind the other.
  // The hash of each step's output in a run (vireo_mcu_trace.h), of a plan without segments.
  std::vector<uint32_t> trace(const std::vector<std::vector<uint8_t>>& inputs);
  std::vector<uint8_t> run(const std::vector<std::vector<uint8_t>>& inputs);

 private:
  const FlatPlan* plan_ = nullptr;
  std::vector<uint64_t> arena_;
  vireo_mcu_session session_ = {};
};

// How large made-up numbers for each input of float32 should be: a quarter beyond the codes of what quantizes it.
std::vector<float> input_amplitudes(const FlatPlan& plan);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_ON_PLAN_H_
