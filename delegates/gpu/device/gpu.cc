#include "delegates/gpu/device/gpu.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vireo::gpu {
namespace {

constexpr size_t kMostWeights = 256;  // parts; beyond that some are lowered again

// A host with an older header has a shorter table.
vireo_host copy_of(const vireo_host& host) {
  vireo_host copy = {};
  std::memcpy(&copy, &host, std::min<size_t>(host.struct_size, sizeof(copy)));
  return copy;
}

Target exact(const Facts& facts) {
  Target target = facts.target;
  if (facts.units_flush) target.units.clear();
  return target;
}
Target with_halves(Target target) {
  target.half_products = !target.units.empty();
  return target;
}

}  // namespace

Gpu::Gpu(std::string name, const Facts& facts, Opener open, const vireo_host& host)
    : name_(std::move(name)),
      facts_(facts),
      open_(std::move(open)),
      host_(copy_of(host)),
      exact_(exact(facts)),
      halves_(with_halves(facts.target)) {}

vireo_status Gpu::device(std::shared_ptr<Device>* out, std::string* why) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (device_ == nullptr) {
    if (const vireo_status status = open_(&device_, why); status != VIREO_OK) return status;
  }
  if (device_->lost()) {
    *why = "the device is lost";
    return VIREO_DEVICE_LOST;
  }
  *out = device_;
  return VIREO_OK;
}

vireo_status Gpu::health() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return device_ != nullptr && device_->lost() ? VIREO_DEVICE_LOST : VIREO_OK;
}

vireo_status Gpu::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (device_ == nullptr) return VIREO_OK;
  submits_ += device_->submits();
  ++resets_;
  device_.reset();
  return VIREO_OK;
}

void Gpu::telemetry(vireo_telemetry* out) {
  const std::lock_guard<std::mutex> lock(mutex_);
  out->resets = resets_;
  out->submits = submits_;
  out->power = VIREO_POWER_IDLE;
  if (device_ == nullptr) return;
  out->submits += device_->submits();
  out->memory_used = device_->memory_used();
  out->power = device_->lost() ? VIREO_POWER_UNKNOWN : device_->idle() ? VIREO_POWER_IDLE : VIREO_POWER_BUSY;
}

std::shared_ptr<const Gpu::Weights> Gpu::weights(const vireo_graph* graph, const vireo_part& part) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& known : weights_) {
    if (known->graph == graph && known->math == math_of(&part) &&
        std::equal(known->nodes.begin(), known->nodes.end(), part.nodes, part.nodes + part.node_count))
      return known;
  }
  return nullptr;
}

void Gpu::keep(std::shared_ptr<const Weights> weights) {
  const std::lock_guard<std::mutex> lock(mutex_);
  weights_.remove_if([&weights](const std::shared_ptr<const Weights>& known) {
    return known->graph == weights->graph && known->math == weights->math && known->nodes == weights->nodes;
  });
  weights_.push_front(std::move(weights));
  if (weights_.size() > kMostWeights) weights_.pop_back();
}

}  // namespace vireo::gpu
