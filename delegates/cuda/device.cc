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
  if (const Result result = make(&lanes_[0], 0); result != kSuccess) return failed("stream or event", result);
  return VIREO_OK;
}

Result Device::make(Lane* l, uint32_t number) {
  int least = 0, greatest = 0;  // lower numbers go first
  if (const Result result = call().stream_priorities(&least, &greatest); result != kSuccess) return result;
  const int priority = number == VIREO_PRIORITY_LOW    ? least
                       : number == VIREO_PRIORITY_HIGH ? greatest
                                                       : (least + greatest) / 2;
  Result result = call().stream_create(&l->stream, kStreamNonBlocking, priority);
  if (result != kSuccess) l->stream = nullptr;
  for (Event& event : l->events) {
    if (result == kSuccess) result = call().event_create(&event, kEventWithoutTiming);
    if (result != kSuccess) {
      event = nullptr;
      break;
    }
  }
  l->open = result == kSuccess;
  if (!l->open) drop(l);
  return result;
}

void Device::drop(Lane* l) {
  for (Event& event : l->events) {
    if (event != nullptr) (void)call().event_destroy(event);
    event = nullptr;
  }
  if (l->stream != nullptr) (void)call().stream_destroy(l->stream);
  l->stream = nullptr;
}

vireo_status Device::open(uint32_t number) {
  if (lost()) return VIREO_DEVICE_LOST;
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  Lane& l = lanes_[number];
  if (l.open) return VIREO_OK;
  const Current current(*this);
  return take(make(&l, number));
}

Device::~Device() {
  if (context_ == nullptr || untouchable()) return;
  {
    const Current current(*this);
    release_staging();
    for (Lane& l : lanes_) drop(&l);
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
vireo_status Device::free_event(uint32_t number) {
  const uint64_t last = lanes_[number].last;
  while (last >= kEvents && !lost() && !reached(gpu::ticket_of(last + 1 - kEvents, number))) std::this_thread::yield();
  return lost() ? vireo_status{VIREO_DEVICE_LOST} : vireo_status{VIREO_OK};
}

vireo_status Device::close(uint32_t number, Ticket* out) {
  Lane& l = lanes_[number];
  const uint64_t next = l.last + 1;
  if (const Result result = call().event_record(l.events[next % kEvents], l.stream); result != kSuccess)
    return take(result);
  l.last = next;
  *out = gpu::ticket_of(next, number);
  submits_.fetch_add(1, std::memory_order_relaxed);
  return VIREO_OK;
}

vireo_status Device::submit(gpu::Commands commands, vireo_priority priority, Ticket* out) {
  if (lost()) return VIREO_DEVICE_LOST;
  const uint32_t number = lane(priority);
  const Current current(*this);
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  if (const vireo_status status = free_event(number); status != VIREO_OK) return status;
  if (const Result result = call().graph_launch(commands, lanes_[number].stream); result != kSuccess)
    return take(result);
  return close(number, out);
}

vireo_status Device::copy(uint32_t, const Block& from, uint64_t from_offset, const Block& to, uint64_t to_offset,
                          uint64_t bytes, Ticket* out) {
  constexpr uint32_t kLane = VIREO_PRIORITY_NORMAL;
  const Current current(*this);
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  if (const vireo_status status = free_event(kLane); status != VIREO_OK) return status;
  if (const Result result = call().copy(to.handle + to_offset, from.handle + from_offset, bytes, lanes_[kLane].stream);
      result != kSuccess)
    return take(result);
  return close(kLane, out);
}

bool Device::idle() {
  for (uint32_t i = 0; i < gpu::kLanes; ++i) {
    if (!reached(gpu::ticket_of(lanes_[i].last, i))) return false;
  }
  return true;
}

bool Device::reached(Ticket ticket) {
  Lane& l = lanes_[gpu::lane_of(ticket)];
  const uint64_t turn = gpu::turn_of(ticket);
  if (turn <= l.done.load()) return true;
  if (lost() && !hangs()) return true;  // a context that failed runs nothing more
  const Current current(*this);
  const Result result = call().event_query(l.events[turn % kEvents]);
  if (result == kNotReady) return false;
  if (result != kSuccess) return take(result) == VIREO_DEVICE_LOST;
  uint64_t known = l.done.load();
  while (known < turn && !l.done.compare_exchange_weak(known, turn)) {
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
