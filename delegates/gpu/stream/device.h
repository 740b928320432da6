// A card whose driver has streams, events, modules and graphs. CUDA's and HIP's have the same ones under other names,
// so what a device does with them stands here once, and an API says how it is called.
//
// Weighed: a copy for each API (what a lost device or a full ring of events asks for is then mended twice), and a table
// of function pointers with one signature (HIP's calls differ in an argument here and there, and each would get a
// function that forwards it). The compiler makes both from one text.
//
// An Api has
//   Driver, Card               with call() and name_of(result); Facts with the card's number
//   Result, Context, Stream, Event, Module, Function, Graph, GraphNode, GraphExec
//   kHandle, kStreamFlags, kEventFlags, kTimingFlags, kHostFlags
//   status_of(result)          VIREO_OK, _BUSY, _DEVICE_LOST, _OUT_OF_ARENA or _UNSUPPORTED
//   open(driver, card, out)    a context, which is not the thread's afterwards
//   close(driver, context)
//   Current(driver, context)   makes it the thread's for as long as it lives; the one before comes back
//   make_code(driver, card, kernel, code, log)  machine code of a kernel, from several threads at once
//   kTakesText                 load() takes a kernel's text where there is no machine code
//   kNoImage                   the Result for a kernel that has no machine code and needs it
//   load(driver, kernel, image, module, function, log)  the image is machine code or text
//   follow(driver, graph, step, before, start, node)   adds a kernel behind others (Start)
//   can_time(driver)           whether a graph can have events in it
//   starts_early(driver, card) whether it can begin before one other kernel has ended
// and Driver::call() has stream_priorities, stream_create, stream_destroy, event_create, event_destroy, event_record,
// event_query, memory_allocate, memory_free, host_allocate, host_free, copy, module_unload, graph_create,
// graph_destroy, graph_instantiate, graph_launch, graph_exec_destroy, and where it can time graph_add_event and
// event_elapsed.
#ifndef VIREO_DELEGATES_GPU_STREAM_DEVICE_H_
#define VIREO_DELEGATES_GPU_STREAM_DEVICE_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "delegates/gpu/device/device.h"
#include "delegates/gpu/device/kernels.h"

namespace vireo::gpu {

// A stream for each priority that sessions have; an event behind each submit tells when it is done.
template <class Api>
class StreamDevice final : public Device {
 public:
  using Driver = typename Api::Driver;
  using Card = typename Api::Card;
  using Result = typename Api::Result;

  static vireo_status open(const Driver& driver, const Card& card, std::shared_ptr<Device>* out, std::string* why) {
    std::shared_ptr<StreamDevice> made(new StreamDevice(driver, card));
    if (const vireo_status status = made->start(why); status != VIREO_OK) return status;
    *out = std::move(made);
    return VIREO_OK;
  }
  ~StreamDevice() override;

  const Facts& facts() const override { return card_; }
  std::unique_ptr<Recordings> recordings() override;  // recordings.h
  vireo_handle_kind handle_kind() const override { return Api::kHandle; }
  bool shares_code() const override { return true; }

  const Driver& driver() const { return driver_; }
  const Card& card() const { return card_; }
  KernelCache& kernels() { return kernels_; }
  // Hands `result` back as the host's status, and remembers a loss.
  vireo_status take(Result result) {
    const vireo_status status = Api::status_of(result);
    if (status == VIREO_DEVICE_LOST) lose();
    return status;
  }

  vireo_status allocate(uint64_t bytes, Use use, Block* out) override;
  vireo_status import(void*, uint64_t, Block*) override { return VIREO_UNSUPPORTED; }
  void release(Block* block) override;

  vireo_status submit(Commands commands, vireo_priority priority, Ticket* out) override;
  bool idle() override;
  bool reached(Ticket ticket) override;
  vireo_status wait(Ticket ticket, uint64_t timeout_ns) override;

  class Current : public Api::Current {
   public:
    explicit Current(const StreamDevice& device) : Api::Current(device.driver_, device.context_) {}
  };

 private:
  static constexpr size_t kEvents = 256;

  StreamDevice(const Driver& driver, const Card& card) : driver_(driver), card_(card) {}
  // What one priority has. An event stands behind each submit.
  struct Lane {
    typename Api::Stream stream = nullptr;
    std::array<typename Api::Event, kEvents> events{};
    std::atomic<uint64_t> last{0}, done{0};  // turns
    bool open = false;
  };

  static bool good(Result result) { return Api::status_of(result) == VIREO_OK; }
  vireo_status start(std::string* why);
  uint32_t lane(vireo_priority priority) const override { return priority < kLanes ? priority : 0; }
  vireo_status open(uint32_t lane) override;
  Result make(Lane* lane, uint32_t number);
  void drop(Lane* lane);
  vireo_status prepare_copies() override { return VIREO_OK; }
  vireo_status copy(uint32_t half, const Block& from, uint64_t from_offset, const Block& to, uint64_t to_offset,
                    uint64_t bytes, Ticket* out) override;
  // Both under queue_mutex_. close() puts an event behind what was given to the stream.
  vireo_status free_event(uint32_t lane);
  vireo_status close(uint32_t lane, Ticket* out);

  const Driver& driver_;
  const Card& card_;
  typename Api::Context context_{};
  bool open_ = false;  // the context
  Lane lanes_[kLanes];
  KernelCache kernels_;
  std::mutex queue_mutex_;  // guards the order of the streams, their making, and changes of Lane::last
};

template <class Api>
vireo_status StreamDevice<Api>::start(std::string* why) {
  const auto failed = [&](const char* what, Result result) {
    *why = card_.detail + ": no " + what + ": " + driver_.name_of(result);
    return take(result);
  };
  if (const Result result = Api::open(driver_, card_, &context_); Api::status_of(result) != VIREO_OK)
    return failed("context", result);
  open_ = true;
  const Current current(*this);
  const Result result = make(&lanes_[0], 0);
  return good(result) ? vireo_status{VIREO_OK} : failed("stream or event", result);
}

template <class Api>
typename Api::Result StreamDevice<Api>::make(Lane* l, uint32_t number) {
  int least = 0, greatest = 0;  // lower numbers go first
  if (const Result result = driver_.call().stream_priorities(&least, &greatest); !good(result)) return result;
  const int priority = number == VIREO_PRIORITY_LOW    ? least
                       : number == VIREO_PRIORITY_HIGH ? greatest
                                                       : (least + greatest) / 2;
  Result result = driver_.call().stream_create(&l->stream, Api::kStreamFlags, priority);
  if (!good(result)) l->stream = nullptr;
  for (typename Api::Event& event : l->events) {
    if (good(result)) result = driver_.call().event_create(&event, Api::kEventFlags);
    if (!good(result)) {
      event = nullptr;
      break;
    }
  }
  l->open = good(result);
  if (!l->open) drop(l);
  return result;
}

template <class Api>
void StreamDevice<Api>::drop(Lane* l) {
  for (typename Api::Event& event : l->events) {
    if (event != nullptr) (void)driver_.call().event_destroy(event);
    event = nullptr;
  }
  if (l->stream != nullptr) (void)driver_.call().stream_destroy(l->stream);
  l->stream = nullptr;
}

template <class Api>
vireo_status StreamDevice<Api>::open(uint32_t number) {
  if (lost()) return VIREO_DEVICE_LOST;
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  Lane& l = lanes_[number];
  if (l.open) return VIREO_OK;
  const Current current(*this);
  return take(make(&l, number));
}

template <class Api>
StreamDevice<Api>::~StreamDevice() {
  if (!open_ || untouchable()) return;
  {
    const Current current(*this);
    release_staging();
    for (Lane& l : lanes_) drop(&l);
  }
  Api::close(driver_, context_);
}

// ---- Memory

template <class Api>
vireo_status StreamDevice<Api>::allocate(uint64_t bytes, Use use, Block* out) {
  if (lost()) return VIREO_DEVICE_LOST;
  if (bytes > SIZE_MAX - 4) return VIREO_OUT_OF_ARENA;
  const Current current(*this);
  Block block;
  block.bytes = words_up(bytes);
  Result result{};
  if (use == Use::kStaging) {
    void* at = nullptr;
    result = driver_.call().host_allocate(&at, block.bytes, Api::kHostFlags);
    block.mapped = static_cast<uint8_t*>(at);
    block.handle = reinterpret_cast<uintptr_t>(at);  // one space of addresses for the host and its cards
  } else {
    result = driver_.call().memory_allocate(&block.handle, block.bytes);
  }
  if (const vireo_status status = take(result); status != VIREO_OK) return status;
  memory_used_ += block.bytes;
  *out = block;
  return VIREO_OK;
}

template <class Api>
void StreamDevice<Api>::release(Block* block) {
  memory_used_ -= block->bytes;
  if (block->handle != 0 && !untouchable()) {
    const Current current(*this);
    (void)(block->mapped != nullptr ? driver_.call().host_free(block->mapped)
                                    : driver_.call().memory_free(block->handle));
  }
  *block = Block{};
}

// ---- Work

// The event that comes next must not stand behind work that still runs.
template <class Api>
vireo_status StreamDevice<Api>::free_event(uint32_t number) {
  const uint64_t last = lanes_[number].last;
  while (last >= kEvents && !lost() && !reached(ticket_of(last + 1 - kEvents, number))) std::this_thread::yield();
  return lost() ? vireo_status{VIREO_DEVICE_LOST} : vireo_status{VIREO_OK};
}

template <class Api>
vireo_status StreamDevice<Api>::close(uint32_t number, Ticket* out) {
  Lane& l = lanes_[number];
  const uint64_t next = l.last + 1;
  const vireo_status status = take(driver_.call().event_record(l.events[next % kEvents], l.stream));
  if (status != VIREO_OK) return status;
  l.last = next;
  *out = ticket_of(next, number);
  submits_.fetch_add(1, std::memory_order_relaxed);
  return VIREO_OK;
}

template <class Api>
vireo_status StreamDevice<Api>::submit(Commands commands, vireo_priority priority, Ticket* out) {
  if (lost()) return VIREO_DEVICE_LOST;
  const uint32_t number = lane(priority);
  const Current current(*this);
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  vireo_status status = free_event(number);
  if (status == VIREO_OK)
    status = take(driver_.call().graph_launch(static_cast<typename Api::GraphExec>(commands), lanes_[number].stream));
  return status == VIREO_OK ? close(number, out) : status;
}

template <class Api>
vireo_status StreamDevice<Api>::copy(uint32_t, const Block& from, uint64_t from_offset, const Block& to,
                                     uint64_t to_offset, uint64_t bytes, Ticket* out) {
  constexpr uint32_t kLane = VIREO_PRIORITY_NORMAL;
  const Current current(*this);
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  vireo_status status = free_event(kLane);
  if (status == VIREO_OK)
    status = take(driver_.call().copy(to.handle + to_offset, from.handle + from_offset, bytes, lanes_[kLane].stream));
  return status == VIREO_OK ? close(kLane, out) : status;
}

template <class Api>
bool StreamDevice<Api>::idle() {
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!reached(ticket_of(lanes_[i].last, i))) return false;
  }
  return true;
}

template <class Api>
bool StreamDevice<Api>::reached(Ticket ticket) {
  Lane& l = lanes_[lane_of(ticket)];
  const uint64_t turn = turn_of(ticket);
  if (turn <= l.done.load()) return true;
  if (lost() && !hangs()) return true;  // a context that failed runs nothing more
  const Current current(*this);
  const vireo_status status = Api::status_of(driver_.call().event_query(l.events[turn % kEvents]));
  if (status == VIREO_BUSY) return false;
  if (status != VIREO_OK) {
    if (status == VIREO_DEVICE_LOST) lose();
    return status == VIREO_DEVICE_LOST;
  }
  uint64_t known = l.done.load();
  while (known < turn && !l.done.compare_exchange_weak(known, turn)) {
  }
  return true;
}

template <class Api>
vireo_status StreamDevice<Api>::wait(Ticket ticket, uint64_t timeout_ns) {
  // For how long a wait asks again and again, and how long it sleeps between questions then. Sleeping from the
  // beginning would add the time that a thread needs to wake up to every short run.
  constexpr std::chrono::microseconds kSpins{2000}, kSleeps{50};
  if (lost()) return VIREO_DEVICE_LOST;
  const auto begin = std::chrono::steady_clock::now();
  while (!reached(ticket)) {
    const auto now = std::chrono::steady_clock::now() - begin;
    if (static_cast<uint64_t>(std::chrono::nanoseconds(now).count()) >= timeout_ns) return VIREO_BUSY;
    if (now > kSpins) std::this_thread::sleep_for(kSleeps);
  }
  return lost() ? vireo_status{VIREO_DEVICE_LOST} : vireo_status{VIREO_OK};
}

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_STREAM_DEVICE_H_
