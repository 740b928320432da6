#include "delegates/cuda/device.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace vireo::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// For how long a wait asks again and again, and how long it sleeps between questions then. Sleeping from the beginning
// would add the time that a thread needs to wake up to every short run.
constexpr std::chrono::microseconds kSpins{2000}, kSleeps{50};

// Errors behind which a context computes nothing more, CUresult.
bool is_loss(Result result) {
  constexpr Result kLosses[] = {4, 46, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999};
  return std::find(std::begin(kLosses), std::end(kLosses), result) != std::end(kLosses);
}

}  // namespace

vireo_status Device::take(Result result) {
  if (result == kSuccess) return VIREO_OK;
  if (result == kNotReady) return VIREO_BUSY;
  if (is_loss(result)) {
    lose();
    return VIREO_DEVICE_LOST;
  }
  return result == kOutOfMemory || result == kOutOfResources ? VIREO_OUT_OF_ARENA : VIREO_UNSUPPORTED;
}

vireo_status Device::open(const Driver& driver, const Card& card, std::shared_ptr<gpu::Device>* out, std::string* why) {
  std::shared_ptr<Device> made(new Device(driver, card));
  if (const vireo_status status = made->start(why); status != VIREO_OK) return status;
  *out = std::move(made);
  return VIREO_OK;
}

vireo_status Device::start(std::string* why) {
  const auto failed = [&](const char* what, Result result) {
    *why = card_.detail + ": no " + what + ": " + driver_.name_of(result);
    return take(result);
  };
  Context before = nullptr;
  if (const Result result = call().context_create(&context_, 0, card_.number); result != kSuccess) {
    context_ = nullptr;
    return failed("context", result);
  }
  (void)call().context_pop(&before);  // it was made the thread's
  const Current current(*this);
  if (const Result result = call().stream_create(&stream_, kStreamNonBlocking); result != kSuccess) {
    stream_ = nullptr;
    return failed("stream", result);
  }
  for (Event& event : events_) {
    if (const Result result = call().event_create(&event, kEventWithoutTiming); result != kSuccess) {
      event = nullptr;
      return failed("event", result);
    }
  }
  return VIREO_OK;
}

Device::~Device() {
  if (context_ == nullptr || untouchable()) return;
  {
    const Current current(*this);
    release_staging();
    for (const Event event : events_) {
      if (event != nullptr) (void)call().event_destroy(event);
    }
    if (stream_ != nullptr) (void)call().stream_destroy(stream_);
  }
  (void)call().context_destroy(context_);
}

// ---- Memory

vireo_status Device::allocate(uint64_t bytes, Use use, Block* out) {
  if (lost()) return VIREO_DEVICE_LOST;
  if (bytes > SIZE_MAX - 4) return VIREO_OUT_OF_ARENA;
  const Current current(*this);
  Block block;
  block.bytes = gpu::words_up(bytes);
  if (use == Use::kStaging) {
    void* at = nullptr;
    if (const Result result = call().host_allocate(&at, block.bytes, kHostMemoryOfAllContexts); result != kSuccess)
      return take(result);
    block.mapped = static_cast<uint8_t*>(at);
    block.handle = reinterpret_cast<uintptr_t>(at);  // one space of addresses for the host and its cards
  } else if (const Result result = call().memory_allocate(&block.handle, block.bytes); result != kSuccess) {
    return take(result);
  }
  memory_used_ += block.bytes;
  *out = block;
  return VIREO_OK;
}

void Device::release(Block* block) {
  memory_used_ -= block->bytes;
  if (block->handle != 0 && !untouchable()) {
    const Current current(*this);
    (void)(block->mapped != nullptr ? call().host_free(block->mapped) : call().memory_free(block->handle));
  }
  *block = Block{};
}

// ---- Work

// The event that comes next must not stand behind work that still runs.
vireo_status Device::free_event() {
  while (last_ >= kEvents && !lost() && !reached(last_ + 1 - kEvents)) std::this_thread::yield();
  return lost() ? vireo_status{VIREO_DEVICE_LOST} : vireo_status{VIREO_OK};
}

vireo_status Device::close(Ticket* out) {
  const Ticket next = last_ + 1;
  if (const Result result = call().event_record(events_[next % kEvents], stream_); result != kSuccess)
    return take(result);
  *out = last_ = next;
  submits_.fetch_add(1, std::memory_order_relaxed);
  return VIREO_OK;
}

vireo_status Device::submit(gpu::Commands commands, Ticket* out) {
  if (lost()) return VIREO_DEVICE_LOST;
  const Current current(*this);
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  if (const vireo_status status = free_event(); status != VIREO_OK) return status;
  if (const Result result = call().graph_launch(commands, stream_); result != kSuccess) return take(result);
  return close(out);
}

vireo_status Device::copy(uint32_t, const Block& from, uint64_t from_offset, const Block& to, uint64_t to_offset,
                          uint64_t bytes, Ticket* out) {
  const Current current(*this);
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  if (const vireo_status status = free_event(); status != VIREO_OK) return status;
  if (const Result result = call().copy(to.handle + to_offset, from.handle + from_offset, bytes, stream_);
      result != kSuccess)
    return take(result);
  return close(out);
}

bool Device::reached(Ticket ticket) {
  if (ticket <= done_.load()) return true;
  if (lost() && !hangs()) return true;  // a context that failed runs nothing more
  const Current current(*this);
  const Result result = call().event_query(events_[ticket % kEvents]);
  if (result == kNotReady) return false;
  if (result != kSuccess) return take(result) == VIREO_DEVICE_LOST;
  Ticket known = done_.load();
  while (known < ticket && !done_.compare_exchange_weak(known, ticket)) {
  }
  return true;
}

vireo_status Device::wait(Ticket ticket, uint64_t timeout_ns) {
  if (lost()) return VIREO_DEVICE_LOST;
  const auto begin = Clock::now();
  while (!reached(ticket)) {
    const auto now = Clock::now() - begin;
    if (static_cast<uint64_t>(std::chrono::nanoseconds(now).count()) >= timeout_ns) return VIREO_BUSY;
    if (now > kSpins) std::this_thread::sleep_for(kSleeps);
  }
  return lost() ? vireo_status{VIREO_DEVICE_LOST} : vireo_status{VIREO_OK};
}

}  // namespace vireo::cuda
