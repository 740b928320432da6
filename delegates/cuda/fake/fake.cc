#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "delegates/cuda/fake/control.h"

namespace vireo::cuda::fake {
namespace {

Control control;
std::mutex mutex;
thread_local std::vector<Context> current;
// What was allocated, by address, and objects that were made. Both stay: a device that hangs leaves its own behind, and
// they are no leaks.
std::map<uint64_t, size_t>& memory = *new std::map<uint64_t, size_t>();
std::set<void*>& objects = *new std::set<void*>();

Result step() {
  const int64_t call = control.calls++;
  const int64_t at = control.fail_at;
  return at >= 0 && (call == at || (control.for_ever && call > at)) ? control.result.load() : kSuccess;
}
Result step_in_context() {
  if (current.empty()) ++control.contexts_left;
  return step();
}

// What a stream does in its order, as far as it does not hang, and as late as it may: when somebody asks for an event
// in it. So what relies on an order between streams that nobody promised goes wrong.
struct FakeStream {
  int priority = 0;
  std::deque<std::function<void()>> queue;
  void advance() {
    while (!queue.empty() && !control.hangs) {
      queue.front()();
      queue.pop_front();
    }
  }
};

struct Launch {
  const uint32_t* x = nullptr;
  uint32_t* y = nullptr;
  uint32_t count = 0, addend = 0;
};
struct FakeEvent;
struct FakeGraph {
  struct Node {
    Launch launch;
    FakeEvent* event = nullptr;  // to be recorded, in place of a launch
  };
  std::vector<Node> nodes;
};

void keep(void* object) {
  const std::lock_guard<std::mutex> lock(mutex);
  objects.insert(object);
  ++control.alive;
}
template <class T>
Result make(void** out) {
  if (const Result result = step_in_context(); result != kSuccess) return result;
  *out = new T();
  keep(*out);
  return kSuccess;
}
template <class T>
Result destroy(void* object) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    objects.erase(object);
  }
  delete static_cast<T*>(object);
  --control.alive;
  return kSuccess;
}

Result allocate(uint64_t* at, size_t bytes) {
  if (const Result result = step_in_context(); result != kSuccess) return result;
  const std::lock_guard<std::mutex> lock(mutex);
  if (control.taken + static_cast<int64_t>(bytes) > static_cast<int64_t>(control.memory_bytes)) return kOutOfMemory;
  void* const found = std::malloc(bytes);
  memory[reinterpret_cast<uintptr_t>(found)] = bytes;
  control.taken += static_cast<int64_t>(bytes);
  *at = reinterpret_cast<uintptr_t>(found);
  return kSuccess;
}
Result free_memory(uint64_t at) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = memory.find(at);
  if (found == memory.end()) return 1;
  control.taken -= static_cast<int64_t>(found->second);
  std::free(reinterpret_cast<void*>(static_cast<uintptr_t>(at)));
  memory.erase(found);
  return kSuccess;
}

struct FakeEvent {
  std::atomic<bool> reached{true};
  uint64_t at = 0;  // 10 us behind that which was recorded before
  FakeStream* stream = nullptr;
};

}  // namespace
}  // namespace vireo::cuda::fake

using namespace vireo::cuda;        // NOLINT(google-build-using-namespace): the driver's names are no namespace's
using namespace vireo::cuda::fake;  // NOLINT(google-build-using-namespace)

#define VIREO_FAKE extern "C" __attribute__((visibility("default")))

VIREO_FAKE Control* vireo_fake_cuda_control() { return &control; }

VIREO_FAKE Result cuInit(unsigned) { return step(); }
VIREO_FAKE Result cuDriverGetVersion(int* version) {
  *version = control.version;
  return kSuccess;
}
VIREO_FAKE Result cuDeviceGetCount(int* count) {
  *count = control.cards;
  return step();
}
VIREO_FAKE Result cuDeviceGet(DeviceNumber* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
VIREO_FAKE Result cuDeviceGetName(char* name, int bytes, DeviceNumber) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(bytes));
  return kSuccess;
}
VIREO_FAKE Result cuDeviceGetAttribute(int* value, int attribute, DeviceNumber) {
  const std::map<int, int> values = {{kMaxThreadsPerBlock, 1024},
                                     {kMaxBlockX, 1024},
                                     {kMaxBlockY, 1024},
                                     {kMaxBlockZ, 64},
                                     {kMaxGridX, 2147483647},
                                     {kMaxGridY, 65535},
                                     {kMaxGridZ, 65535},
                                     {kMaxSharedPerBlock, 49152},
                                     {kMaxSharedPerBlockOnDemand, 232448},
                                     {kWarpSize, 32},
                                     {kMultiprocessors, 4},
                                     {kMajor, control.major},
                                     {kMinor, control.minor},
                                     {kComputeMode, control.prohibited ? kComputeModeProhibited : 0}};
  const auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return kSuccess;
}
VIREO_FAKE Result cuDeviceTotalMem_v2(size_t* bytes, DeviceNumber) {
  *bytes = control.memory_bytes;
  return kSuccess;
}
VIREO_FAKE Result cuCtxCreate_v2(Context* context, unsigned, DeviceNumber) {
  if (const Result result = step(); result != kSuccess) return result;
  *context = new int(0);
  keep(*context);
  current.push_back(*context);
  return kSuccess;
}
VIREO_FAKE Result cuCtxDestroy_v2(Context context) { return destroy<int>(context); }
VIREO_FAKE Result cuCtxPushCurrent_v2(Context context) {
  current.push_back(context);
  return kSuccess;
}
VIREO_FAKE Result cuCtxPopCurrent_v2(Context* context) {
  if (current.empty()) return 201;
  *context = current.back();
  current.pop_back();
  return kSuccess;
}
VIREO_FAKE Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return step_in_context();
}
VIREO_FAKE Result cuStreamCreateWithPriority(Stream* stream, unsigned, int priority) {
  const Result result = make<FakeStream>(stream);
  if (result == kSuccess) static_cast<FakeStream*>(*stream)->priority = priority;
  return result;
}
VIREO_FAKE Result cuStreamDestroy_v2(Stream stream) { return destroy<FakeStream>(stream); }
VIREO_FAKE Result cuEventCreate(Event* event, unsigned) { return make<FakeEvent>(event); }
VIREO_FAKE Result cuEventDestroy_v2(Event event) { return destroy<FakeEvent>(event); }
VIREO_FAKE Result cuEventRecord(Event event, Stream stream) {
  if (const Result result = step_in_context(); result != kSuccess) return result;
  auto* const e = static_cast<FakeEvent*>(event);
  const std::lock_guard<std::mutex> lock(mutex);
  e->reached = false;
  e->stream = static_cast<FakeStream*>(stream);
  e->stream->queue.emplace_back([e] { e->reached = true; });
  return kSuccess;
}
VIREO_FAKE Result cuEventQuery(Event event) {
  if (control.for_ever && control.fail_at >= 0 && control.calls > control.fail_at) return control.result;
  const std::lock_guard<std::mutex> lock(mutex);
  auto* const e = static_cast<FakeEvent*>(event);
  if (e->stream != nullptr) e->stream->advance();
  return e->reached ? kSuccess : kNotReady;
}
VIREO_FAKE Result cuMemAlloc_v2(DevicePointer* at, size_t bytes) { return allocate(at, bytes); }
VIREO_FAKE Result cuMemFree_v2(DevicePointer at) { return free_memory(at); }
VIREO_FAKE Result cuMemHostAlloc(void** at, size_t bytes, unsigned) {
  uint64_t address = 0;
  const Result result = allocate(&address, bytes);
  *at = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  return result;
}
VIREO_FAKE Result cuMemFreeHost(void* at) { return free_memory(reinterpret_cast<uintptr_t>(at)); }
VIREO_FAKE Result cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes, Stream stream) {
  if (const Result result = step_in_context(); result != kSuccess) return result;
  const std::lock_guard<std::mutex> lock(mutex);
  static_cast<FakeStream*>(stream)->queue.emplace_back([=] {
    std::memcpy(reinterpret_cast<void*>(static_cast<uintptr_t>(to)),
                reinterpret_cast<const void*>(static_cast<uintptr_t>(from)), bytes);
  });
  return kSuccess;
}
VIREO_FAKE Result cuModuleLoadDataEx(Module* module, const void* image, unsigned, int*, void**) {
  const Result result = make<int>(module);
  if (result != kSuccess) return result;
  ++control.modules;
  return std::strncmp(static_cast<const char*>(image), ".version", 8) == 0 ? kSuccess : 218;
}
VIREO_FAKE Result cuModuleUnload(Module module) { return destroy<int>(module); }
VIREO_FAKE Result cuModuleGetFunction(Function* function, Module module, const char*) {
  *function = module;
  return step_in_context();
}
VIREO_FAKE Result cuFuncSetAttribute(Function, int, int) { return step_in_context(); }
VIREO_FAKE Result cuGraphCreate(Graph* graph, unsigned) { return make<FakeGraph>(graph); }
VIREO_FAKE Result cuGraphDestroy(Graph graph) { return destroy<FakeGraph>(graph); }
VIREO_FAKE Result cuGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode*, size_t, const KernelNode* what) {
  if (const Result result = step_in_context(); result != kSuccess) return result;
  Launch l;
  uint64_t x = 0, y = 0;
  std::memcpy(&x, what->arguments[0], sizeof(x));
  std::memcpy(&y, what->arguments[1], sizeof(y));
  std::memcpy(&l.count, what->arguments[2], sizeof(l.count));
  std::memcpy(&l.addend, what->arguments[3], sizeof(l.addend));
  l.x = reinterpret_cast<const uint32_t*>(static_cast<uintptr_t>(x));
  l.y = reinterpret_cast<uint32_t*>(static_cast<uintptr_t>(y));
  static_cast<FakeGraph*>(graph)->nodes.push_back({l, nullptr});
  *node = graph;
  return kSuccess;
}
VIREO_FAKE Result cuGraphAddDependencies_v2(Graph, const GraphNode*, const GraphNode*, const EdgeData*, size_t) {
  return step_in_context();
}
VIREO_FAKE Result cuGraphAddEventRecordNode(GraphNode* node, Graph graph, const GraphNode*, size_t, Event event) {
  if (const Result result = step_in_context(); result != kSuccess) return result;
  static_cast<FakeGraph*>(graph)->nodes.push_back({{}, static_cast<FakeEvent*>(event)});
  *node = graph;
  return kSuccess;
}
VIREO_FAKE Result cuEventElapsedTime(float* ms, Event from, Event to) {
  *ms = 0.01f * static_cast<float>(static_cast<FakeEvent*>(to)->at - static_cast<FakeEvent*>(from)->at);
  return step_in_context();
}
VIREO_FAKE Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  const Result result = make<FakeGraph>(exec);
  if (result == kSuccess) *static_cast<FakeGraph*>(*exec) = *static_cast<FakeGraph*>(graph);
  return result;
}
VIREO_FAKE Result cuGraphLaunch(GraphExec exec, Stream stream) {
  if (const Result result = step_in_context(); result != kSuccess) return result;
  const std::lock_guard<std::mutex> lock(mutex);
  auto* const on = static_cast<FakeStream*>(stream);
  ++control.launches[on->priority == 0    ? VIREO_PRIORITY_LOW
                     : on->priority == -5 ? VIREO_PRIORITY_HIGH
                                          : VIREO_PRIORITY_NORMAL];
  on->queue.emplace_back([nodes = static_cast<FakeGraph*>(exec)->nodes] {
    static uint64_t now = 0;
    for (const FakeGraph::Node& node : nodes) {
      const Launch& l = node.launch;
      if (node.event != nullptr) node.event->at = ++now;
      for (uint32_t i = 0; i < l.count; ++i) l.y[i] = l.x[i] + l.addend;
    }
  });
  return kSuccess;
}
VIREO_FAKE Result cuGraphExecDestroy(GraphExec exec) { return destroy<FakeGraph>(exec); }
VIREO_FAKE Result cuGetErrorName(Result, const char** name) {
  *name = nullptr;
  return 1;
}
