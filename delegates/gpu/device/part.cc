#include "delegates/gpu/device/part.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vireo::gpu {
namespace {

constexpr uint64_t kLeastNs = 1000;  // of a piece: no card does less in a launch

}  // namespace

Part::~Part() {
  cancel();
  device_->release(&errors_.block);
}

void Part::serve(vireo_priority priority, uint64_t slice_ns, bool profile) {
  priority_ = priority;
  slice_ns_ = slice_ns;
  profile_ = profile;
  bounds_->cut(slice_ns);
  if (profile) bounds_->time();
}

bool Part::holds(const Place& at, uint64_t bytes) const {
  return at.buffer != nullptr && at.buffer->device == device_ && at.offset <= at.buffer->block.bytes &&
         at.buffer->block.bytes - at.offset >= bytes && at.offset % device_->facts().place_alignment == 0;
}

vireo_status Part::load(Schedule schedule, OwnPlaces own, std::unique_ptr<Source> source, std::string* why) {
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
  vireo_status lane = device_->open_lane(priority_);
  if (lane == VIREO_OK) lane = device_->follow(device_->newest_copy(), priority_);  // the weights
  if (lane != VIREO_OK) {
    *why = "the driver has no means for work of another priority";
    return lane;
  }
  if (source_ == nullptr) {  // else each run has its own
    if (const vireo_status status = write_tables(schedule.data, why); status != VIREO_OK) return status;
  }
  table_bytes_ = schedule.data.size();
  schedule.data.clear();
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
  return bounds_->make(std::move(schedule), why);
}

vireo_status Part::bind(const Place* places) {
  if (device_->lost()) return VIREO_DEVICE_LOST;
  const size_t inputs = schedule().inputs.size();
  for (size_t i = 0; i < places_.size(); ++i) {
    const uint64_t bytes = i < inputs ? schedule().inputs[i] : schedule().outputs[i - inputs];
    if (bytes != 0 && !holds(places[i], words_up(bytes))) return VIREO_INVALID_ARGUMENT;  // an empty value has no place
  }
  bound_ = nullptr;
  has_places_ = true;
  places_.assign(places, places + places_.size());
  buffers_.clear();
  const auto add = [this](DeviceBuffer* buffer) {
    if (buffer != nullptr && std::find(buffers_.begin(), buffers_.end(), buffer) == buffers_.end())
      buffers_.push_back(buffer);
  };
  for (const Place& at : places_) add(at.buffer);
  add(own_.inner.buffer);
  return source_ != nullptr ? vireo_status{VIREO_OK} : bounds_->at(places_.data(), own_, &bound_);
}

vireo_status Part::write_tables(const std::vector<uint8_t>& tables, std::string* why) {
  if (tables.empty()) return VIREO_OK;
  vireo_status status = device_->write(own_.data.buffer->block, own_.data.offset, tables.data(), tables.size());
  if (status == VIREO_OK) status = device_->follow(device_->newest_copy(), priority_);
  if (status != VIREO_OK) *why = "its tables could not be written";
  return status;
}

// The recordings for the extents of a run.
vireo_status Part::prepare(const Run& run, Recordings** out, std::string* why) {
  std::vector<int64_t> key = source_->key(run);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Prepared& p) { return p.key == key; });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
  } else {
    Schedule made;
    *why = source_->lower(run, &made);
    if (why->empty() && (made.inner_bytes > schedule().inner_bytes || made.data.size() > table_bytes_))
      *why = "it takes more memory than was expected at the bounds";
    if (why->empty() && made.errors > schedule().errors) *why = "it reports errors that it does not have at the bounds";
    if (why->empty() && made.weights != schedule().weights) *why = "it reads other constants than at the bounds";
    if (!why->empty()) return VIREO_UNSUPPORTED;
    std::vector<uint8_t> tables = std::move(made.data);
    std::unique_ptr<Recordings> recordings = device_->recordings();
    recordings->cut(slice_ns_);
    if (profile_) recordings->time();
    if (const vireo_status status = recordings->make(std::move(made), why); status != VIREO_OK) return status;
    if (kept_.size() == kKeptExtents) {
      if (tables_of_ == &kept_.back()) tables_of_ = nullptr;
      kept_.pop_back();
    }
    kept_.push_front({std::move(key), std::move(recordings), std::move(tables)});
  }
  const Prepared& prepared = kept_.front();
  if (!prepared.tables.empty() && tables_of_ != &prepared) {
    tables_of_ = nullptr;
    if (const vireo_status status = write_tables(prepared.tables, why); status != VIREO_OK) return status;
    tables_of_ = &prepared;
  }
  *out = prepared.recordings.get();
  return VIREO_OK;
}

vireo_status Part::submit(const Run& run, std::string* why) {
  Recordings* recordings = bounds_.get();
  if (!has_places_ || (source_ != nullptr && run.graph == nullptr)) return VIREO_INVALID_ARGUMENT;
  const std::vector<Commands>* pieces = bound_;
  if (source_ != nullptr) {
    if (const vireo_status status = prepare(run, &recordings, why); status != VIREO_OK) return status;
  }
  if (pieces == nullptr) {
    if (const vireo_status status = recordings->at(places_.data(), own_, &pieces); status != VIREO_OK) return status;
    if (source_ == nullptr) bound_ = pieces;
  }
  newest_ = recordings;
  std::unique_lock<std::mutex> lock(device_->lines_mutex, std::defer_lock);
  if (slice_ns_ != 0) lock.lock();
  cancelled_.store(false);
  ticket_.store(0);
  pieces_ = pieces;
  next_ = 0;
  running_ = recordings;
  if (slice_ns_ == 0) return hand_over();
  if (part_before() == nullptr) {
    if (const vireo_status status = hand_over(); status != VIREO_OK || next_ == pieces_->size()) return status;
  } else if (device_->lost()) {
    return VIREO_DEVICE_LOST;
  }
  for (DeviceBuffer* b : buffers_) b->line.push_back(this);
  return VIREO_OK;
}

Part* Part::part_before() const {
  for (const DeviceBuffer* b : buffers_) {
    if (!b->line.empty() && b->line.front() != this) return b->line.front();
  }
  return nullptr;
}

void Part::leave_lines() {
  for (DeviceBuffer* b : buffers_) b->line.erase(std::remove(b->line.begin(), b->line.end(), this), b->line.end());
}

vireo_status Part::hand_over() {
  for (const DeviceBuffer* b : buffers_) {
    if (const vireo_status status = device_->follow(b->last.load(), priority_); status != VIREO_OK) return status;
  }
  Ticket ticket = 0;
  if (const vireo_status status = device_->submit((*pieces_)[next_], priority_, &ticket); status != VIREO_OK)
    return status;
  began_ = std::chrono::steady_clock::now();
  ++next_;
  ticket_.store(ticket);
  for (DeviceBuffer* b : buffers_) b->last.store(ticket);
  return VIREO_OK;
}

vireo_status Part::advance(uint64_t timeout_ns) {
  const auto begin = std::chrono::steady_clock::now();
  const auto since = [](std::chrono::steady_clock::time_point then) {
    return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - then).count());
  };
  for (;;) {
    const uint64_t spent = since(begin), left = timeout_ns > spent ? timeout_ns - spent : 0;
    Part* before = nullptr;
    bool handed = false, last = false;
    {
      const std::lock_guard<std::mutex> lock(device_->lines_mutex);
      before = next_ == 0 && !cancelled_.load() ? part_before() : nullptr;
      handed = next_ != 0 || cancelled_.load();
    }
    vireo_status status = VIREO_OK;
    if (before != nullptr) {
      if (status = before->advance(left); status != VIREO_OK) return status;
      continue;
    }
    if (handed) {
      if (status = device_->wait(ticket_.load(), left); status == VIREO_BUSY) return status;
    }
    const std::lock_guard<std::mutex> lock(device_->lines_mutex);
    if (status != VIREO_OK) {
      leave_lines();
      running_ = nullptr;
      return status;
    }
    if (cancelled_.load() || running_ == nullptr) return VIREO_OK;
    if (handed) {
      const uint64_t took = since(began_);
      const auto launch = static_cast<uint64_t>(device_->facts().launch_ns);
      running_->took(next_ - 1, took > launch + kLeastNs ? took - launch : kLeastNs);
    }
    last = next_ == pieces_->size();
    if (last && running_->ran()) bound_ = nullptr;
    if (last) running_ = nullptr;
    if (!last) status = hand_over();
    if (last || status != VIREO_OK) leave_lines();
    if (last || status != VIREO_OK) return status;
  }
}

// The first error that kernels set, which is then forgotten.
bool Part::take_error(Found* out) {
  auto* const words = reinterpret_cast<uint32_t*>(errors_.block.mapped);
  const uint32_t count = schedule().errors;
  const uint32_t* const first = std::find_if(words, words + count, [](uint32_t word) { return word != 0; });
  if (first == words + count) return false;
  const auto at = static_cast<size_t>(first - words);
  *out = {static_cast<RunError>(*first), at < names_.size() ? names_[at] : nullptr};
  std::fill(words, words + count, 0u);
  return true;
}

vireo_status Part::wait(uint64_t timeout_ns, Found* found) {
  const vireo_status status = slice_ns_ == 0 ? device_->wait(ticket_.load(), timeout_ns) : advance(timeout_ns);
  if (status != VIREO_OK) return status;
  if (cancelled_.load()) return VIREO_CANCELLED;
  return take_error(found) ? VIREO_INVALID_ARGUMENT : VIREO_OK;
}

bool Part::timeline(const std::function<void(const Launch&, const Kernel&, const StepTime&)>& take) const {
  std::vector<StepTime> times;
  if (newest_ == nullptr || device_->lost() || !newest_->times(&times)) return false;
  const Schedule& ran = newest_->schedule();
  for (size_t s = 0; s < ran.steps.size(); ++s) take(ran.steps[s], ran.kernels[ran.steps[s].kernel], times[s]);
  return true;
}

void Part::cancel() {
  if (slice_ns_ != 0) {
    const std::lock_guard<std::mutex> lock(device_->lines_mutex);
    leave_lines();
    if (pieces_ != nullptr && running_ != nullptr && next_ < pieces_->size()) cancelled_.store(true);
  }
  const Ticket ticket = ticket_.load();
  if (device_->lost() || device_->reached(ticket)) return;
  cancelled_.store(true);
  device_->settle(ticket);
}

}  // namespace vireo::gpu
