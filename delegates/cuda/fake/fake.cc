#include "delegates/cuda/fake/control.h"
#include "delegates/cuda/functions.h"

namespace vireo::cuda::fake {
namespace {

constexpr char kCode[] = "code of ";

Control control;
gpu::fake::Driver driver(control);
thread_local std::vector<Context> current;

bool has_context() { return !current.empty(); }
Result step_in_context() { return driver.step_in(has_context()); }
template <class T>
Result make(void** out) {
  return driver.make<T>(out, has_context());
}

}  // namespace
}  // namespace vireo::cuda::fake

using namespace vireo::cuda;        // NOLINT(google-build-using-namespace): the driver's names are no namespace's
using namespace vireo::cuda::fake;  // NOLINT(google-build-using-namespace)
using FakeGraph = vireo::gpu::fake::Graph;
using FakeEvent = vireo::gpu::fake::Event;

#define VIREO_FAKE extern "C" __attribute__((visibility("default")))

VIREO_FAKE Control* vireo_fake_cuda_control() { return &control; }

VIREO_FAKE Result cuInit(unsigned) { return driver.step(); }
VIREO_FAKE Result cuDriverGetVersion(int* version) {
  *version = control.version;
  return kSuccess;
}
VIREO_FAKE Result cuDeviceGetCount(int* count) {
  *count = control.cards;
  return driver.step();
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
  if (const Result result = driver.step(); result != kSuccess) return result;
  *context = new int(0);
  driver.keep(*context);
  current.push_back(*context);
  return kSuccess;
}
VIREO_FAKE Result cuCtxDestroy_v2(Context context) { return driver.destroy<int>(context); }
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
  *least = vireo::gpu::fake::kLeastPriority;
  *greatest = vireo::gpu::fake::kGreatestPriority;
  return step_in_context();
}
VIREO_FAKE Result cuStreamCreateWithPriority(Stream* stream, unsigned, int priority) {
  return driver.make_stream(stream, priority, has_context());
}
VIREO_FAKE Result cuStreamDestroy_v2(Stream stream) { return driver.destroy<vireo::gpu::fake::Stream>(stream); }
VIREO_FAKE Result cuEventCreate(Event* event, unsigned) { return make<FakeEvent>(event); }
VIREO_FAKE Result cuEventDestroy_v2(Event event) { return driver.destroy<FakeEvent>(event); }
VIREO_FAKE Result cuEventRecord(Event event, Stream stream) { return driver.record(event, stream, has_context()); }
VIREO_FAKE Result cuEventElapsedTime(float* ms, Event from, Event to) {
  return driver.elapsed(ms, from, to, has_context());
}
VIREO_FAKE Result cuEventQuery(Event event) { return driver.query(event); }
VIREO_FAKE Result cuMemAlloc_v2(DevicePointer* at, size_t bytes) { return driver.allocate(at, bytes, has_context()); }
VIREO_FAKE Result cuMemFree_v2(DevicePointer at) { return driver.free_memory(at); }
VIREO_FAKE Result cuMemHostAlloc(void** at, size_t bytes, unsigned) {
  uint64_t address = 0;
  const Result result = driver.allocate(&address, bytes, has_context());
  *at = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  return result;
}
VIREO_FAKE Result cuMemFreeHost(void* at) { return driver.free_memory(reinterpret_cast<uintptr_t>(at)); }
VIREO_FAKE Result cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes, Stream stream) {
  return driver.copy(to, from, bytes, stream, has_context());
}
VIREO_FAKE Result cuModuleLoadDataEx(Module* module, const void* image, unsigned, int*, void**) {
  const Result result = make<int>(module);
  if (result != kSuccess) return result;
  ++control.modules;
  const auto* const text = static_cast<const char*>(image);
  const bool compiles = std::strncmp(text, ".version", 8) == 0;
  if (compiles) ++control.compiled;
  if (compiles || (std::strncmp(text, kCode, std::strlen(kCode)) == 0 && !control.refuses_code)) return kSuccess;
  control.refuses_code = false;  // the next one is new
  (void)driver.destroy<int>(*module);
  return 218;
}
VIREO_FAKE Result cuLinkCreate_v2(unsigned, int*, void**, LinkState* state) { return make<std::string>(state); }
VIREO_FAKE Result cuLinkAddData_v2(LinkState state, int kind, void* data, size_t bytes, const char*, unsigned, int*,
                                   void**) {
  const auto* const text = static_cast<const char*>(data);
  if (kind != kInputPtx || text[bytes - 1] != 0) return vireo::gpu::fake::kInvalid;
  *static_cast<std::string*>(state) = kCode + std::string(text);
  return step_in_context();
}
VIREO_FAKE Result cuLinkComplete(LinkState state, void** code, size_t* bytes) {
  auto& made = *static_cast<std::string*>(state);
  *code = made.data();
  *bytes = made.size() + 1;
  if (control.link_result != kSuccess) return control.link_result;
  ++control.compiled;
  ++control.linked;
  return step_in_context();
}
VIREO_FAKE Result cuLinkDestroy(LinkState state) { return driver.destroy<std::string>(state); }
VIREO_FAKE Result cuModuleUnload(Module module) { return driver.destroy<int>(module); }
VIREO_FAKE Result cuModuleGetFunction(Function* function, Module module, const char*) {
  *function = module;
  return step_in_context();
}
VIREO_FAKE Result cuFuncSetAttribute(Function, int, int) { return step_in_context(); }
VIREO_FAKE Result cuGraphCreate(Graph* graph, unsigned) { return make<FakeGraph>(graph); }
VIREO_FAKE Result cuGraphDestroy(Graph graph) { return driver.destroy<FakeGraph>(graph); }
VIREO_FAKE Result cuGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode*, size_t, const KernelNode* what) {
  *node = graph;
  return driver.add_kernel(graph, what->arguments, has_context());
}
VIREO_FAKE Result cuGraphAddDependencies_v2(Graph, const GraphNode*, const GraphNode*, const EdgeData*, size_t) {
  return step_in_context();
}
VIREO_FAKE Result cuGraphAddEventRecordNode(GraphNode* node, Graph graph, const GraphNode*, size_t, Event event) {
  *node = graph;
  return driver.add_event(graph, event, has_context());
}
VIREO_FAKE Result cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  return driver.instantiate(exec, graph, has_context());
}
VIREO_FAKE Result cuGraphLaunch(GraphExec exec, Stream stream) { return driver.launch(exec, stream, has_context()); }
VIREO_FAKE Result cuGraphExecDestroy(GraphExec exec) { return driver.destroy<FakeGraph>(exec); }
VIREO_FAKE Result cuGetErrorName(Result, const char** name) {
  *name = nullptr;
  return 1;
}
