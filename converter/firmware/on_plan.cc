#include "converter/firmware/on_plan.h"

#include <cmath>
#include <cstring>

#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/plan/plan.h"

namespace vireo::firmware {

const Core& host_core() {
  static const Core core{"this machine", VIREO_MCU_TILE, VIREO_MCU_LANES != 0, false, true};
  return core;
}

bool OnPlan::open(const FlatPlan& plan, std::string* error) {
  plan_ = &plan;
  arena_.assign(plan.arena_bytes / 8 + 1, 0);
  const vireo_mcu_status status =
      vireo_mcu_open(&session_, plan.words.data(), plan.bytes(), arena_.data(), plan.arena_bytes);
  if (status != VIREO_MCU_OK) *error = "it does not open: status " + std::to_string(status);
  return status == VIREO_MCU_OK;
}

std::vector<uint8_t> OnPlan::run(const std::vector<std::vector<uint8_t>>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    std::memcpy(vireo_mcu_input(&session_, static_cast<uint32_t>(i), nullptr), inputs[i].data(), inputs[i].size());
  (void)vireo_mcu_run(&session_);
  std::vector<uint8_t> all;
  for (size_t o = 0; o < plan_->outputs.size(); ++o) {
    uint32_t bytes = 0;
    const auto* const y = static_cast<const uint8_t*>(vireo_mcu_output(&session_, static_cast<uint32_t>(o), &bytes));
    all.insert(all.end(), y, y + bytes);
  }
  return all;
}

std::vector<uint32_t> OnPlan::trace(const std::vector<std::vector<uint8_t>>& inputs) {
  std::vector<uint32_t> hashes;
  for (size_t i = 0; i < inputs.size(); ++i)
    std::memcpy(vireo_mcu_input(&session_, static_cast<uint32_t>(i), nullptr), inputs[i].data(), inputs[i].size());
  // A plan that ends behind each record, one after the other.
  std::vector<uint32_t> words = plan_->words;
  auto* const header = reinterpret_cast<vireo_plan_header*>(words.data());
  vireo_mcu_session session = session_;
  session.plan = reinterpret_cast<const uint8_t*>(words.data());
  for (const PlanStep& step : plan_->steps) {
    session.next = static_cast<uint16_t>(step.record);
    session.unit = 0;
    header->records = static_cast<uint16_t>(step.record + 1);
    (void)vireo_mcu_run(&session);
    uint32_t hash = 0, index = 0;
    const uint8_t* const y = session.arena + step.output_offset;
    for (; index < step.output_bytes; ++index) hash += (y[index] + 1u) * (index * 2654435761u | 1u);
    hashes.push_back(hash);
  }
  return hashes;
}

std::vector<float> input_amplitudes(const FlatPlan& plan) {
  std::vector<float> list;
  for (const PlanValue& input : plan.inputs)
    list.push_back(input.read_scale > 0 ? std::exp2(std::ceil(std::log2(input.read_scale * 128))) : 1);
  return list;
}

}  // namespace vireo::firmware
