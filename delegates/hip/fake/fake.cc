#include <string>

#include "delegates/hip/fake/control.h"
#include "delegates/hip/functions.h"

namespace vireo::hip::fake {
namespace {

Control control;
gpu::fake::Driver driver(control);
// The card that a thread works with when it comes is another library's.
constexpr DeviceNumber kElsewhere = 15;
thread_local DeviceNumber current = kElsewhere;

bool has_context() { return current != kElsewhere; }
Result step_in_context() { return driver.step_in(has_context()); }
template <class T>
Result make(void** out) {
  return driver.make<T>(out, has_context());
}

struct FakeProgram {
  std::string text;
};

}  // namespace
}  // namespace vireo::hip::fake

using namespace vireo::hip;        // NOLINT(google-build-using-namespace): the driver's names are no namespace's
using namespace vireo::hip::fake;  // NOLINT(google-build-using-namespace)
using FakeGraph = vireo::gpu::fake::Graph;
using FakeEvent = vireo::gpu::fake::Event;

#define VIREO_FAKE extern "C" __attribute__((visibility("default")))

VIREO_FAKE Control* vireo_fake_hip_control() { return &control; }

VIREO_FAKE Result hipInit(unsigned) { return driver.step(); }
VIREO_FAKE Result hipDriverGetVersion(int* version) {
  *version = control.version;
  return kSuccess;
}
VIREO_FAKE Result hipGetDeviceCount(int* count) {
  *count = control.cards;
  return driver.step();
}
VIREO_FAKE Result hipDeviceGet(DeviceNumber* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
VIREO_FAKE Result hipDeviceGetName(char* name, int bytes, DeviceNumber) {
  std::strncpy(name, "Fake gfx card", static_cast<size_t>(bytes));
  return kSuccess;
}
VIREO_FAKE Result hipDeviceGetAttribute(int* value, int attribute, DeviceNumber) {
  const std::map<int, int> values = {
      {kMaxThreadsPerBlock, 1024}, {kMaxSharedPerBlock, 65536}, {kWarpSize, control.lanes}, {kMultiprocessors, 4}};
  const auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return kSuccess;
}
VIREO_FAKE Result hipDeviceTotalMem(size_t* bytes, DeviceNumber) {
  *bytes = control.memory_bytes;
  return kSuccess;
}
// The offsets of the chip's name in the two layouts of hipDeviceProp_t.
VIREO_FAKE Result hipGetDeviceProperties(void* out, int) {
  std::strcpy(static_cast<char*>(out), "Fake gfx card");
  std::strcpy(static_cast<char*>(out) + 396, control.chip);
  return control.old_properties ? kSuccess : vireo::gpu::fake::kInvalid;
}
VIREO_FAKE Result hipGetDevicePropertiesR0600(void* out, int) {
  if (control.old_properties) return hipGetDeviceProperties(out, 0);
  std::strcpy(static_cast<char*>(out), "Fake gfx card");
  std::strcpy(static_cast<char*>(out) + 1160, control.chip);
  return kSuccess;
}
VIREO_FAKE Result hipGetDevice(DeviceNumber* device) {
  *device = current;
  return kSuccess;
}
VIREO_FAKE Result hipSetDevice(DeviceNumber device) {
  current = device;
  return kSuccess;
}
VIREO_FAKE Result hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = vireo::gpu::fake::kLeastPriority;
  *greatest = vireo::gpu::fake::kGreatestPriority;
  return step_in_context();
}
VIREO_FAKE Result hipStreamCreateWithPriority(Stream* stream, unsigned, int priority) {
  return driver.make_stream(stream, priority, has_context());
}
VIREO_FAKE Result hipStreamDestroy(Stream stream) { return driver.destroy<vireo::gpu::fake::Stream>(stream); }
VIREO_FAKE Result hipEventCreateWithFlags(Event* event, unsigned) { return make<FakeEvent>(event); }
VIREO_FAKE Result hipEventDestroy(Event event) { return driver.destroy<FakeEvent>(event); }
VIREO_FAKE Result hipEventRecord(Event event, Stream stream) { return driver.record(event, stream, has_context()); }
VIREO_FAKE Result hipEventElapsedTime(float* ms, Event from, Event to) {
  return driver.elapsed(ms, from, to, has_context());
}
VIREO_FAKE Result hipEventQuery(Event event) { return driver.query(event); }
VIREO_FAKE Result hipMalloc(void** at, size_t bytes) {
  uint64_t address = 0;
  const Result result = driver.allocate(&address, bytes, has_context());
  *at = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  return result;
}
VIREO_FAKE Result hipFree(void* at) { return driver.free_memory(reinterpret_cast<uintptr_t>(at)); }
VIREO_FAKE Result hipHostMalloc(void** at, size_t bytes, unsigned) { return hipMalloc(at, bytes); }
VIREO_FAKE Result hipHostFree(void* at) { return hipFree(at); }
VIREO_FAKE Result hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, Stream stream) {
  if (kind != kCopyByAddresses) return vireo::gpu::fake::kInvalid;
  return driver.copy(reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from), bytes, stream, has_context());
}
VIREO_FAKE Result hipModuleLoadData(Module* module, const void* image) {
  const Result result = make<int>(module);
  if (result != kSuccess) return result;
  ++control.modules;
  const bool good = std::strncmp(static_cast<const char*>(image), "code of ", 8) == 0 && !control.refuses_code;
  if (good) return kSuccess;
  control.refuses_code = false;  // the next one is new
  (void)driver.destroy<int>(*module);
  return 200;
}
VIREO_FAKE Result hipModuleUnload(Module module) { return driver.destroy<int>(module); }
VIREO_FAKE Result hipModuleGetFunction(Function* function, Module module, const char*) {
  *function = module;
  return step_in_context();
}
VIREO_FAKE Result hipGraphCreate(Graph* graph, unsigned) { return make<FakeGraph>(graph); }
VIREO_FAKE Result hipGraphDestroy(Graph graph) { return driver.destroy<FakeGraph>(graph); }
VIREO_FAKE Result hipGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode*, size_t,
                                        const KernelNode* what) {
  *node = graph;
  if (what->block_x != 8 || what->grid_x == 0 || what->function == nullptr) return vireo::gpu::fake::kInvalid;
  return driver.add_kernel(graph, what->arguments, has_context());
}
VIREO_FAKE Result hipGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  return driver.instantiate(exec, graph, has_context());
}
VIREO_FAKE Result hipGraphLaunch(GraphExec exec, Stream stream) { return driver.launch(exec, stream, has_context()); }
VIREO_FAKE Result hipGraphAddEventRecordNode(GraphNode* node, Graph graph, const GraphNode*, size_t, Event event) {
  *node = graph;
  return driver.add_event(graph, event, has_context());
}
VIREO_FAKE Result hipGraphExecDestroy(GraphExec exec) { return driver.destroy<FakeGraph>(exec); }
VIREO_FAKE const char* hipGetErrorName(Result) { return nullptr; }

VIREO_FAKE CompileResult hiprtcVersion(int* major, int* minor) {
  *major = 6;
  *minor = 2;
  return 0;
}
VIREO_FAKE CompileResult hiprtcCreateProgram(Program* program, const char* text, const char*, int, const char**,
                                             const char**) {
  auto* const made = new FakeProgram{text};
  *program = made;
  driver.keep(made);
  return 0;
}
VIREO_FAKE CompileResult hiprtcCompileProgram(Program program, int count, const char** options) {
  const auto& made = *static_cast<FakeProgram*>(program);
  if (made.text.find("VIREO_ENTRY(kernel, ") == std::string::npos || count == 0) return 6;
  if (std::string(options[0]) != std::string("--offload-arch=") + control.chip) return 5;
  ++control.compiled;
  return control.compile_result;
}
VIREO_FAKE CompileResult hiprtcGetProgramLogSize(Program, size_t* bytes) {
  *bytes = sizeof("error: no such thing");
  return 0;
}
VIREO_FAKE CompileResult hiprtcGetProgramLog(Program, char* log) {
  std::strcpy(log, "error: no such thing");
  return 0;
}
VIREO_FAKE CompileResult hiprtcGetCodeSize(Program program, size_t* bytes) {
  *bytes = static_cast<FakeProgram*>(program)->text.size() + 9;
  return 0;
}
VIREO_FAKE CompileResult hiprtcGetCode(Program program, char* code) {
  std::strcpy(code, ("code of " + static_cast<FakeProgram*>(program)->text).c_str());
  return 0;
}
VIREO_FAKE CompileResult hiprtcDestroyProgram(Program* program) { return driver.destroy<FakeProgram>(*program); }
