// What the drivers made of software share, for APIs of streams and graphs: the host's memory as a card's, streams,
// and failure on demand. An API's fake library gives it the driver's names. Results 0, 2 and 600 mean the same in CUDA
// and HIP.
//
// Its cards know one kernel: every launch does what delegates/gpu/device/testing.h's add_kernel() says, whatever code
// its module was made of.
#ifndef VIREO_DELEGATES_GPU_STREAM_FAKE_H_
#define VIREO_DELEGATES_GPU_STREAM_FAKE_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "vireo/vireo.h"

namespace vireo::gpu::fake {

constexpr int kSuccess = 0, kInvalid = 1, kOutOfMemory = 2, kNotReady = 600;

// What a test sets, and what it reads.
struct Control {
  int cards = 1;
  uint64_t memory_bytes = 64u << 20;

  // Calls that may fail are counted; call number `fail_at` gives `result`, and all later ones where `for_ever`.
  std::atomic<int64_t> calls{0}, fail_at{-1};
  std::atomic<int> result{kOutOfMemory};
  std::atomic<bool> for_ever{false};
  // Work that is given to a stream waits until this is false again.
  std::atomic<bool> hangs{false};

  std::atomic<int64_t> alive{0};          // objects that were made and not destroyed
  std::atomic<int64_t> taken{0};          // bytes of memory that were allocated and not freed
  std::atomic<int64_t> modules{0};        // made since the beginning
  std::atomic<int64_t> compiled{0};       // texts that became machine code
  bool refuses_code = false;              // ... that the fake did not make since
  std::atomic<int64_t> contexts_left{0};  // calls without a context
  std::atomic<int64_t> launches[3] = {};  // of graphs, by vireo_priority
};

// Streams' priorities, the least first.
constexpr int kLeastPriority = 0, kGreatestPriority = -5;

// What a stream does in its order, as far as it does not hang, and as late as it may: when somebody asks for an event
// in it. So what relies on an order between streams that nobody promised goes wrong.
struct Stream {
  int priority = 0;
  std::deque<std::function<void()>> queue;
};
struct Event {
  std::atomic<bool> reached{true};
  uint64_t at = 0;  // 10 us behind that which was recorded before
  Stream* stream = nullptr;
};
struct Launch {
  const uint32_t* x = nullptr;
  uint32_t* y = nullptr;
  uint32_t count = 0, addend = 0;
};
struct Graph {
  struct Node {
    Launch launch;
    Event* event = nullptr;  // to be recorded, in place of a launch
  };
  std::vector<Node> nodes;
};

class Driver {
 public:
  explicit Driver(Control& control) : control_(control) {}

  int step() {
    const int64_t call = control_.calls++;
    const int64_t at = control_.fail_at;
    return at >= 0 && (call == at || (control_.for_ever && call > at)) ? control_.result.load() : kSuccess;
  }
  int step_in(bool has_context) {
    if (!has_context) ++control_.contexts_left;
    return step();
  }

  // ---- Objects

  void keep(void* object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    objects_.insert(object);
    ++control_.alive;
  }
  template <class T>
  int make(void** out, bool has_context) {
    if (const int result = step_in(has_context); result != kSuccess) return result;
    *out = new T();
    keep(*out);
    return kSuccess;
  }
  template <class T>
  int destroy(void* object) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      objects_.erase(object);
    }
    delete static_cast<T*>(object);
    --control_.alive;
    return kSuccess;
  }

  // ---- Memory

  int allocate(uint64_t* at, size_t bytes, bool has_context) {
    if (const int result = step_in(has_context); result != kSuccess) return result;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (control_.taken + static_cast<int64_t>(bytes) > static_cast<int64_t>(control_.memory_bytes)) return kOutOfMemory;
    void* const found = std::malloc(bytes);
    memory_[reinterpret_cast<uintptr_t>(found)] = bytes;
    control_.taken += static_cast<int64_t>(bytes);
    *at = reinterpret_cast<uintptr_t>(found);
    return kSuccess;
  }
  int free_memory(uint64_t at) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = memory_.find(at);
    if (found == memory_.end()) return kInvalid;
    control_.taken -= static_cast<int64_t>(found->second);
    std::free(reinterpret_cast<void*>(static_cast<uintptr_t>(at)));
    memory_.erase(found);
    return kSuccess;
  }

  // ---- Streams

  int make_stream(void** out, int priority, bool has_context) {
    const int result = make<Stream>(out, has_context);
    if (result == kSuccess) static_cast<Stream*>(*out)->priority = priority;
    return result;
  }
  int copy(uint64_t to, uint64_t from, size_t bytes, void* stream, bool has_context) {
    if (const int result = step_in(has_context); result != kSuccess) return result;
    const std::lock_guard<std::mutex> lock(mutex_);
    static_cast<Stream*>(stream)->queue.emplace_back([=] {
      std::memcpy(reinterpret_cast<void*>(static_cast<uintptr_t>(to)),
                  reinterpret_cast<const void*>(static_cast<uintptr_t>(from)), bytes);
    });
    return kSuccess;
  }
  int record(void* event, void* stream, bool has_context) {
    if (const int result = step_in(has_context); result != kSuccess) return result;
    auto* const e = static_cast<Event*>(event);
    const std::lock_guard<std::mutex> lock(mutex_);
    e->reached = false;
    e->stream = static_cast<Stream*>(stream);
    e->stream->queue.emplace_back([e] { e->reached = true; });
    return kSuccess;
  }
  int query(void* event) {
    if (control_.for_ever && control_.fail_at >= 0 && control_.calls > control_.fail_at) return control_.result;
    const std::lock_guard<std::mutex> lock(mutex_);
    auto* const e = static_cast<Event*>(event);
    while (e->stream != nullptr && !e->stream->queue.empty() && !control_.hangs) {
      e->stream->queue.front()();
      e->stream->queue.pop_front();
    }
    return e->reached ? kSuccess : kNotReady;
  }
  int elapsed(float* ms, void* from, void* to, bool has_context) {
    *ms = 0.01f * static_cast<float>(static_cast<Event*>(to)->at - static_cast<Event*>(from)->at);
    return step_in(has_context);
  }
  int launch(void* graph, void* stream, bool has_context) {
    if (const int result = step_in(has_context); result != kSuccess) return result;
    const std::lock_guard<std::mutex> lock(mutex_);
    auto* const on = static_cast<Stream*>(stream);
    ++control_.launches[on->priority == kLeastPriority      ? VIREO_PRIORITY_LOW
                        : on->priority == kGreatestPriority ? VIREO_PRIORITY_HIGH
                                                            : VIREO_PRIORITY_NORMAL];
    on->queue.emplace_back([this, nodes = static_cast<Graph*>(graph)->nodes] {
      for (const Graph::Node& node : nodes) {
        const Launch& l = node.launch;
        if (node.event != nullptr) node.event->at = ++now_;
        for (uint32_t i = 0; i < l.count; ++i) l.y[i] = l.x[i] + l.addend;
      }
    });
    return kSuccess;
  }

  // ---- Graphs: nodes run in the order in which they are added

  // A kernel with these arguments.
  int add_kernel(void* graph, void** arguments, bool has_context) {
    if (const int result = step_in(has_context); result != kSuccess) return result;
    Launch l;
    uint64_t x = 0, y = 0;
    std::memcpy(&x, arguments[0], sizeof(x));
    std::memcpy(&y, arguments[1], sizeof(y));
    std::memcpy(&l.count, arguments[2], sizeof(l.count));
    std::memcpy(&l.addend, arguments[3], sizeof(l.addend));
    l.x = reinterpret_cast<const uint32_t*>(static_cast<uintptr_t>(x));
    l.y = reinterpret_cast<uint32_t*>(static_cast<uintptr_t>(y));
    static_cast<Graph*>(graph)->nodes.push_back({l, nullptr});
    return kSuccess;
  }
  int add_event(void* graph, void* event, bool has_context) {
    if (const int result = step_in(has_context); result != kSuccess) return result;
    static_cast<Graph*>(graph)->nodes.push_back({{}, static_cast<Event*>(event)});
    return kSuccess;
  }
  int instantiate(void** out, void* graph, bool has_context) {
    const int result = make<Graph>(out, has_context);
    if (result == kSuccess) *static_cast<Graph*>(*out) = *static_cast<Graph*>(graph);
    return result;
  }

 private:
  Control& control_;
  std::mutex mutex_;
  uint64_t now_ = 0;
  // What was allocated, by address, and objects that were made. Both stay: a device that hangs leaves its own behind,
  // and they are no leaks.
  std::map<uint64_t, size_t>& memory_ = *new std::map<uint64_t, size_t>();
  std::set<void*>& objects_ = *new std::set<void*>();
};

}  // namespace vireo::gpu::fake

#endif  // VIREO_DELEGATES_GPU_STREAM_FAKE_H_
