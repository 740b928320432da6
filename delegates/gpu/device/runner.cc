#include "delegates/gpu/device/runner.h"

#include <chrono>
#include <utility>

#include "delegates/gpu/device/part.h"

namespace vireo::gpu {

Runner::Runner(const Finder& find) : system_(find(&why_)) {
  if (system_ != nullptr) (void)system_->open(0, &device_, &why_);
}

std::string Runner::run_some(const Schedule& schedule, const std::vector<const void*>& constants,
                             std::vector<Bytes>* values, int runs, double* seconds) {
  if (!why_.empty()) return why_;
  DeviceBuffer arena;
  arena.device = device_;
  arena.id = device_->next_id();
  uint64_t bytes = 0;
  const auto place = [&](uint64_t size) {
    const Place at = {&arena, bytes};
    bytes += place_up(size + 1);
    return at;
  };
  std::vector<Place> places;
  OwnPlaces own;
  for (const Bytes& value : *values) places.push_back(value.empty() ? Place() : place(value.size()));
  for (const Weight& w : schedule.weights) own.weights.push_back(place(w.bytes));
  own.inner = place(schedule.inner_bytes);
  own.data = place(schedule.data.size());
  std::string why;
  vireo_status status = device_->allocate(bytes, Use::kDevice, &arena.block);
  const auto write = [&](const Place& at, const void* from, uint64_t size) {
    if (status == VIREO_OK && size != 0) status = device_->write(arena.block, at.offset, from, size);
  };
  if (status == VIREO_OK) {
    Part part(device_);
    part.serve(VIREO_PRIORITY_NORMAL, slice_ns, false);
    Part::Found found;
    status = part.load(schedule, own, nullptr, &why);
    for (size_t i = 0; i < constants.size(); ++i) write(own.weights[i], constants[i], schedule.weights[i].bytes);
    for (size_t i = 0; i < values->size(); ++i) write(places[i], (*values)[i].data(), (*values)[i].size());
    if (status == VIREO_OK) status = part.bind(places.data());
    for (int r = 0; r < runs && status == VIREO_OK; ++r) {
      const auto begin = std::chrono::steady_clock::now();
      status = part.submit({}, &why);
      // A driver on the processor compiles at the first launch, which takes long beside other tests.
      if (status == VIREO_OK) status = part.wait(12 * VIREO_DEVICE_TIMEOUT_NS, &found);
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (r == 0 || took < *seconds) *seconds = took;
    }
    for (size_t i = 0; i < values->size() && status == VIREO_OK; ++i) {
      if ((*values)[i].empty()) continue;
      status = device_->read(arena.block, places[i].offset, (*values)[i].data(), (*values)[i].size());
    }
  }
  device_->release(&arena.block);
  if (status != VIREO_OK && why.empty()) why = "status " + std::to_string(status);
  return why;
}

std::string Runner::run(const Schedule& schedule, const std::vector<Bytes>& inputs, const std::vector<Bytes>& constants,
                        std::vector<Bytes>* outputs) {
  std::vector<Bytes> values = inputs;
  for (const uint64_t bytes : schedule.outputs) values.emplace_back(bytes, uint8_t{0xA5});
  std::vector<const void*> sources;
  for (const Bytes& bytes : constants) sources.push_back(bytes.data());
  std::string why = run_once(schedule, sources, &values);
  outputs->assign(values.begin() + static_cast<ptrdiff_t>(inputs.size()), values.end());
  return why;
}

std::string Runner::time(const Schedule& schedule, const std::vector<Bytes>& inputs, int runs, double* seconds) {
  std::vector<Bytes> values = inputs;
  for (const uint64_t bytes : schedule.outputs) values.emplace_back(bytes, uint8_t{0xA5});
  return run_some(schedule, {}, &values, runs, seconds);
}

std::string Runner::compile(const Kernel& kernel, double* seconds) {
  if (!why_.empty()) return why_;
  Schedule schedule;
  schedule.kernels = {kernel};
  const std::unique_ptr<Recordings> recordings = device_->recordings();
  std::string why;
  const auto begin = std::chrono::steady_clock::now();
  (void)recordings->make(std::move(schedule), &why);
  *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return why;
}

std::string Runner::run(const Kernel& kernel, const std::array<uint32_t, 3>& groups, const std::vector<uint32_t>& push,
                        std::vector<Bytes>* bindings) {
  Schedule schedule;
  Launch step;
  schedule.kernels = {kernel};
  step.groups = groups;
  step.push = push;
  std::vector<Bytes> values;
  std::vector<size_t> order;  // of the bindings: those that are read, then those that are written
  for (const bool written : {false, true}) {
    for (size_t i = 0; i < bindings->size(); ++i) {
      if ((kernel.writes >> i & 1) != (written ? 1u : 0u)) continue;
      order.push_back(i);
      values.push_back((*bindings)[i]);
      (written ? schedule.outputs : schedule.inputs).push_back(values.back().size());
    }
  }
  step.bindings.resize(bindings->size());
  for (size_t v = 0; v < order.size(); ++v) {
    const bool input = v < schedule.inputs.size();
    const auto index = static_cast<uint32_t>(input ? v : v - schedule.inputs.size());
    step.bindings[order[v]] = {input ? Where::kInput : Where::kOutput, index, 0, values[v].size()};
  }
  schedule.steps = {step};
  std::string why = run_once(schedule, {}, &values);
  for (size_t v = 0; v < order.size(); ++v) (*bindings)[order[v]] = values[v];
  return why;
}

}  // namespace vireo::gpu
