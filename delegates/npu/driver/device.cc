#include "delegates/npu/driver/device.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace vireo::npu {
namespace {

#if VIREO_NPU_THREAD
using Lock = std::unique_lock<std::mutex>;
#else
struct Lock {
  template <class T>
  explicit Lock(T&) {}
};
#endif

bool starts(const char* text, const char* word, const char** rest) {
  const size_t n = std::strlen(word);
  if (std::strncmp(text, word, n) != 0) return false;
  *rest = text + n;
  return true;
}

bool number(const char** text, int64_t* out) {
  char* end = nullptr;
  *out = std::strtoll(*text, &end, 10);
  if (end == *text || *out < 0) return false;
  *text = end;
  return true;
}

}  // namespace

bool FaultPlan::read(const char* text) {
  while (text != nullptr && *text != 0) {
    const char* rest = nullptr;
    int64_t n = 0;
    if (starts(text, "hang@", &rest)) {
      if (!number(&rest, &hang_at)) return false;
    } else if (starts(text, "corrupt@", &rest)) {
      if (!number(&rest, &corrupt_at)) return false;
    } else if (starts(text, "lost@", &rest)) {
      if (!number(&rest, &lost_at)) return false;
    } else if (starts(text, "memory@", &rest)) {
      if (!number(&rest, &memory_at)) return false;
    } else if (starts(text, "wrong", &rest)) {
      wrong = true;
    } else if (starts(text, "random=", &rest)) {
      if (!number(&rest, &n) || *rest++ != ':') return false;
      random = static_cast<uint64_t>(n) * 2 + 1;
      if (!number(&rest, &n) || n > 100) return false;
      percent = static_cast<uint32_t>(n);
    } else {
      return false;
    }
    if (*rest != 0 && *rest != ',') return false;
    text = *rest == ',' ? rest + 1 : rest;
  }
  return true;
}

Device::Device(const MachineConfig& config, uint8_t* sram, const FaultPlan& plan)
    : machine_(config, sram), plan_(plan) {
  machine_.stop = {stops, this};
#if VIREO_NPU_THREAD
  thread_ = std::thread([this] { work(); });
#endif
}

Device::~Device() {
#if VIREO_NPU_THREAD
  {
    const Lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
#endif
}

bool Device::inherited() const {
#if VIREO_NPU_THREAD
  return getpid() != process_;
#else
  return false;
#endif
}

bool Device::stops(void* self) {
  const auto& d = *static_cast<const Device*>(self);
#if VIREO_NPU_THREAD
  return d.cancel_.load(std::memory_order_relaxed);
#else
  return std::chrono::steady_clock::now() > d.until_;
#endif
}

bool Device::has_memory() {
#if VIREO_NPU_THREAD
  const Lock lock(mutex_);
#endif
  return grants_++ != plan_.memory_at;
}

void Device::load(Part* part) {
#if VIREO_NPU_THREAD
  const Lock lock(mutex_);
#endif
  part->device = this;
  part->generation = generation_;
}

void Device::bind(Part* part, const vireo_place* const* inputs, const vireo_place* const* outputs) {
#if VIREO_NPU_THREAD
  const Lock lock(mutex_);
#endif
  const BlobHeader& h = *part->blob.header;
  for (uint32_t i = 0; i < h.inputs + h.outputs; ++i) {
    const vireo_place& at = i < h.inputs ? *inputs[i] : *outputs[i - h.inputs];
    part->places[i] = {static_cast<Buffer*>(at.buffer), at.offset};
  }
  part->bound = true;
}

bool Device::take(uint64_t bytes) {
#if VIREO_NPU_THREAD
  const Lock lock(mutex_);
#endif
  if (grants_++ == plan_.memory_at || bytes > kDeviceBytes - memory_used_) return false;
  memory_used_ += bytes;
  return true;
}

void Device::give_back(uint64_t bytes) {
#if VIREO_NPU_THREAD
  const Lock lock(mutex_);
#endif
  memory_used_ -= bytes;
}

vireo_status Device::may_copy(const Buffer& buffer, uint64_t offset, uint64_t bytes) {
#if VIREO_NPU_THREAD
  const Lock lock(mutex_);
#endif
  if (lost_) return VIREO_DEVICE_LOST;
  const auto touches = [&](const Part& part) {
    const BlobHeader& h = *part.blob.header;
    for (uint32_t i = 0; part.bound && i < h.inputs + h.outputs; ++i) {
      const Place& at = part.places[i];
      if (at.buffer == &buffer && at.offset < offset + bytes && offset < at.offset + part.blob.boundary[i].bytes)
        return true;
    }
    return false;
  };
  if (running_ != nullptr && touches(*running_)) return VIREO_BUSY;
  for (const Part* p = first_; p != nullptr; p = p->next) {
    if (touches(*p)) return VIREO_BUSY;
  }
  return VIREO_OK;
}

uint8_t* Device::data_of(const Part& part, uint32_t value) {
  if (part.bound) return part.places[value].buffer->bytes + part.places[value].offset;
  const uint32_t in = part.blob.header->inputs;
  return static_cast<uint8_t*>(value < in ? part.inputs[value]->data : part.outputs[value - in]->data);
}

vireo_status Device::submit(Part* part) {
  if (inherited()) return VIREO_DEVICE_LOST;
#if VIREO_NPU_THREAD
  const Lock lock(mutex_);
#endif
  const int64_t at = submits_++;
  part->faults = Faults{};
  part->lost = at == plan_.lost_at;
  part->hangs = at == plan_.hang_at;
  bool corrupt = plan_.wrong || at == plan_.corrupt_at;
  if (plan_.random != 0) {
    const auto next = [this] {
      plan_.random = plan_.random * 6364136223846793005u + 1442695040888963407u;
      return static_cast<uint32_t>(plan_.random >> 33);
    };
    if (next() % 100 < plan_.percent) (next() % 2 == 0 ? part->lost : part->hangs) = true;
  }
  // Of the part's last command that writes a tensor, the first byte.
  for (uint32_t k = part->blob.stream.count; corrupt && k-- > 0;) {
    if (part->blob.stream.commands[k].op() != Op::store) continue;
    part->faults.corrupt_at = k;
    part->faults.corrupt_mask = 0x55;
    corrupt = false;
  }
  if (part->lost) part->faults.lost_at = 0;
  if (part->hangs) part->faults.hang_at = part->blob.stream.count / 2;
  if (lost_ || part->generation != generation_) return VIREO_DEVICE_LOST;
  part->cancelled = false;
  part->state = Part::kQueued;
  Part** at_link = &first_;
  while (*at_link != nullptr && (*at_link)->rank >= part->rank) at_link = &(*at_link)->next;
  part->next = *at_link;
  *at_link = part;
  if (part->next == nullptr) last_ = part;
#if VIREO_NPU_THREAD
  changed_.notify_all();
#else
  drain();  // nobody else will: done when submit returns, unless the machine hangs
#endif
  return VIREO_OK;
}

#if !VIREO_NPU_THREAD
void Device::drain() {
  while (hung_ == nullptr && first_ != nullptr) {
    Part* const next = first_;
    first_ = next->next;
    if (first_ == nullptr) last_ = nullptr;
    if (lost_ || next->generation != generation_) {
      finish(next, VIREO_DEVICE_LOST);
      continue;
    }
    next->state = Part::kRunning;
    until_ = std::chrono::steady_clock::now() + limit;
    Counters counters;
    const Status status = run(next, &counters);
    if (!account(next, status, counters)) hung_ = next;
  }
}
#endif

Status Device::run(Part* part, Counters* counters) {
  const BlobView& b = part->blob;
  uint8_t* values[kMostRegions] = {};
  for (uint32_t i = 0; i < b.header->inputs + b.header->outputs; ++i) {
    const Boundary& at = b.boundary[i];
    const bool goes_in = i < b.header->inputs;
    uint8_t* const data = data_of(*part, i);
    if (at.region >= kValues) {
      values[at.region - kValues] = data;
    } else if (goes_in && at.bytes != 0) {
      std::memcpy(part->tensors + at.address, data, at.bytes);
    }
  }
  machine_.faults = part->faults;
  Fault fault;
  const Status status = machine_.run(b.stream, b.constants, part->tensors, counters, part->layers,
                                     part->layers == nullptr ? 0 : b.header->layers, &fault, values);
  machine_.reset();
  return status;
}

// With the lock held. True when the part is done; else the machine hangs in it.
bool Device::account(Part* part, Status status, const Counters& counters) {
  cycles_ += counters.cycles;
  energy_pj_ += counters.energy_pj;
  if (status == Status::kHung) {
    part->state = Part::kHung;
    return false;
  }
  if (status == Status::kLost) lost_ = true;
  finish(part, status == Status::kOk                                        ? vireo_status{VIREO_OK}
               : status == Status::kBadData || status == Status::kBadStream ? vireo_status{VIREO_INVALID_MODEL}
                                                                            : vireo_status{VIREO_DEVICE_LOST});
  return true;
}

// With the lock held.
void Device::finish(Part* part, vireo_status status) {
  if (status == VIREO_OK && !part->cancelled) {
    const BlobView& b = part->blob;
    for (uint32_t o = 0; o < b.header->outputs; ++o) {
      const Boundary& at = b.boundary[b.header->inputs + o];
      if (at.region == kTensors)
        std::memcpy(data_of(*part, b.header->inputs + o), part->tensors + at.address, at.bytes);
    }
  }
  if (running_ == part) running_ = nullptr;
  part->status = part->cancelled ? vireo_status{VIREO_CANCELLED} : status;
  part->state = Part::kDone;
}

void Device::work() {
#if VIREO_NPU_THREAD
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || first_ != nullptr; });
    if (stop_) return;
    Part* const part = first_;
    first_ = part->next;
    if (first_ == nullptr) last_ = nullptr;
    if (lost_ || part->generation != generation_) {
      finish(part, VIREO_DEVICE_LOST);
    } else {
      part->state = Part::kRunning;
      running_ = part;
      cancel_.store(false, std::memory_order_relaxed);
      Counters counters;
      lock.unlock();
      const Status status = run(part, &counters);
      lock.lock();
      if (!account(part, status, counters)) {
        // A machine that hangs does nothing more until it is reset: its part waits, and all behind it.
        const uint32_t hung = part->generation;
        while (!part->cancelled && !stop_ && generation_ == hung) changed_.wait(lock);
        if (generation_ == hung) lost_ = true;
        finish(part, VIREO_DEVICE_LOST);
      }
    }
    changed_.notify_all();
  }
#endif
}

vireo_status Device::wait(Part* part, uint64_t timeout_ns) {
  if (inherited()) return VIREO_DEVICE_LOST;
#if VIREO_NPU_THREAD
  Lock lock(mutex_);
  const auto done = [part] { return part->state == Part::kDone || part->state == Part::kIdle; };
  // What is added to the clock must not wrap around.
  constexpr uint64_t kDay = uint64_t{86400} * 1000000000;
  const std::chrono::nanoseconds limit(static_cast<int64_t>(timeout_ns < kDay ? timeout_ns : kDay));
  if (!changed_.wait_for(lock, limit, done)) return VIREO_BUSY;
#else
  (void)timeout_ns;
  drain();
  if (part->state == Part::kHung || part->state == Part::kQueued) return VIREO_BUSY;
#endif
  return part->state == Part::kIdle ? vireo_status{VIREO_CANCELLED} : part->status;
}

void Device::cancel(Part* part) {
  if (inherited()) return;
#if VIREO_NPU_THREAD
  Lock lock(mutex_);
#endif
  part->cancelled = true;
  if (part->state == Part::kQueued) {
    for (Part **at = &first_, *before = nullptr; *at != nullptr; before = *at, at = &(*at)->next) {
      if (*at != part) continue;
      *at = part->next;
      if (last_ == part) last_ = before;
      break;
    }
    finish(part, VIREO_CANCELLED);
    return;
  }
#if VIREO_NPU_THREAD
  // The machine ends at its next command, or hangs and is let go: both are soon, however long the stream.
  if (running_ == part) cancel_.store(true, std::memory_order_relaxed);
  changed_.notify_all();
  changed_.wait(lock, [part] { return part->state == Part::kDone || part->state == Part::kIdle; });
#else
  if (part->state == Part::kHung) {
    lost_ = true;
    hung_ = nullptr;
    finish(part, VIREO_DEVICE_LOST);
  }
#endif
}

vireo_status Device::health() {
  if (inherited()) return VIREO_DEVICE_LOST;
#if VIREO_NPU_THREAD
  const Lock lock(mutex_);
#endif
  return lost_ ? VIREO_DEVICE_LOST : VIREO_OK;
}

vireo_status Device::reset() {
  if (inherited()) return VIREO_DEVICE_LOST;
#if VIREO_NPU_THREAD
  const Lock lock(mutex_);
#endif
  lost_ = false;
  ++generation_;
  ++resets_;
#if VIREO_NPU_THREAD
  changed_.notify_all();  // a machine that hangs lets its part go
#else
  if (hung_ != nullptr) finish(hung_, VIREO_DEVICE_LOST);
  hung_ = nullptr;
#endif
  return VIREO_OK;
}

void Device::telemetry(vireo_telemetry* out) {
#if VIREO_NPU_THREAD
  const Lock lock(mutex_);
#endif
  out->resets = resets_;
  out->submits = static_cast<uint64_t>(submits_);
  out->memory_used = memory_used_;
  out->busy_ns = cycles_ * 1000 / config().clock_mhz;
  out->energy_nj = energy_pj_ / 1000;
  out->clock_mhz = config().clock_mhz;
#if VIREO_NPU_THREAD
  const bool busy = running_ != nullptr || first_ != nullptr;
#else
  const bool busy = hung_ != nullptr;
#endif
  out->power = lost_ ? VIREO_POWER_UNKNOWN : busy ? VIREO_POWER_BUSY : VIREO_POWER_IDLE;
}

}  // namespace vireo::npu
