#include "delegates/vulkan/part.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vireo::vulkan {

Part::~Part() {
  cancel();
  device_->release(&errors_.block);
}

bool Part::holds(const Place& at, uint64_t bytes) const {
  return at.buffer != nullptr && at.buffer->device == device_ && at.offset <= at.buffer->block.bytes &&
         at.buffer->block.bytes - at.offset >= bytes && at.offset % device_->card().place_alignment == 0;
}

vireo_status Part::load(gpu::Schedule schedule, OwnPlaces own, std::unique_ptr<Source> source, std::string* why) {
  source_ = std::move(source);
  own_ = std::move(own);
  bool good = own_.weights.size() == schedule.weights.size() &&
              (schedule.inner_bytes == 0 || holds(own_.inner, schedule.inner_bytes)) &&
              (schedule.data.empty() || holds(own_.data, schedule.data.size()));
  for (size_t i = 0; i < own_.weights.size() && good; ++i)
    good = holds(own_.weights[i], words_up(schedule.weights[i].bytes));
  if (!good) {
    *why = "its weights, tables or inner values have no place on this device";
    return VIREO_INVALID_MODEL;
  }
  if (!schedule.data.empty()) {
    const vireo_status status =
        device_->write(own_.data.buffer->block, own_.data.offset, schedule.data.data(), schedule.data.size());
    if (status != VIREO_OK) {
      *why = "its tables could not be written";
      return status;
    }
    schedule.data.clear();
  }
  places_.resize(schedule.inputs.size() + schedule.outputs.size());
  if (schedule.errors != 0) {
    const uint64_t bytes = schedule.errors * sizeof(uint32_t);
    if (const vireo_status status = device_->allocate(bytes, Use::kStaging, &errors_.block); status != VIREO_OK) {
      *why = "the driver has no memory for " + std::to_string(bytes) + " bytes that the host sees";
      return status;
    }
    std::memset(errors_.block.mapped, 0, bytes);
    errors_.device = device_;
    own_.errors = {&errors_, 0};
  }
  return bounds_.make(std::move(schedule), why);
}

vireo_status Part::bind(const Place* places) {
  if (device_->lost()) return VIREO_DEVICE_LOST;
  const size_t inputs = schedule().inputs.size();
  for (size_t i = 0; i < places_.size(); ++i) {
    const uint64_t bytes = words_up(i < inputs ? schedule().inputs[i] : schedule().outputs[i - inputs]);
    if (!holds(places[i], bytes)) return VIREO_INVALID_ARGUMENT;
  }
  bound_ = VK_NULL_HANDLE;
  places_.assign(places, places + places_.size());
  return source_ != nullptr ? vireo_status{VIREO_OK} : bounds_.at(places_.data(), own_, &bound_);
}

// The recordings for the extents of a run.
vireo_status Part::prepare(const vireo_graph* graph, Recordings** out, std::string* why) {
  std::vector<int64_t> extents = source_->extents(graph);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Prepared& p) { return p.extents == extents; });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
  } else {
    gpu::Schedule run;
    *why = source_->lower(graph, &run);
    if (why->empty() && run.inner_bytes > schedule().inner_bytes)
      *why = "its inner values take more memory than at the bounds";
    if (why->empty() && run.errors > schedule().errors) *why = "it reports errors that it does not have at the bounds";
    if (why->empty() && run.weights != schedule().weights) *why = "it reads other constants than at the bounds";
    if (!why->empty()) return VIREO_UNSUPPORTED;
    auto recordings = std::make_unique<Recordings>(*device_);
    if (const vireo_status status = recordings->make(std::move(run), why); status != VIREO_OK) return status;
    if (kept_.size() == kKeptExtents) kept_.pop_back();
    kept_.push_front({std::move(extents), std::move(recordings)});
  }
  *out = kept_.front().recordings.get();
  return VIREO_OK;
}

vireo_status Part::submit(const vireo_graph* graph, std::string* why) {
  VkCommandBuffer commands = bound_;
  if (source_ != nullptr) {
    if (graph == nullptr || places_.empty() || places_[0].buffer == nullptr) return VIREO_INVALID_ARGUMENT;
    Recordings* recordings = nullptr;
    if (const vireo_status status = prepare(graph, &recordings, why); status != VIREO_OK) return status;
    if (const vireo_status status = recordings->at(places_.data(), own_, &commands); status != VIREO_OK) return status;
  }
  if (commands == VK_NULL_HANDLE) return VIREO_INVALID_ARGUMENT;
  cancelled_.store(false);
  ticket_.store(0);
  Ticket ticket = 0;
  if (const vireo_status status = device_->submit(commands, &ticket); status != VIREO_OK) return status;
  ticket_.store(ticket);
  for (const Place& at : places_) at.buffer->last.store(ticket);
  return VIREO_OK;
}

// The first error that kernels set, which is then forgotten.
bool Part::take_error(Found* out) {
  auto* const words = reinterpret_cast<uint32_t*>(errors_.block.mapped);
  const uint32_t count = schedule().errors;
  const uint32_t* const first = std::find_if(words, words + count, [](uint32_t word) { return word != 0; });
  if (first == words + count) return false;
  const auto at = static_cast<size_t>(first - words);
  *out = {static_cast<gpu::RunError>(*first), at < names_.size() ? names_[at] : nullptr};
  std::fill(words, words + count, 0u);
  return true;
}

vireo_status Part::wait(uint64_t timeout_ns, Found* found) {
  const vireo_status status = device_->wait(ticket_.load(), timeout_ns);
  if (status != VIREO_OK) return status;
  if (cancelled_.load()) return VIREO_CANCELLED;
  return take_error(found) ? VIREO_INVALID_ARGUMENT : VIREO_OK;
}

void Part::cancel() {
  const Ticket ticket = ticket_.load();
  if (device_->lost() || device_->reached(ticket)) return;
  cancelled_.store(true);
  if (device_->wait(ticket, device_->cancel_ns) == VIREO_BUSY) device_->give_up();
}

}  // namespace vireo::vulkan
