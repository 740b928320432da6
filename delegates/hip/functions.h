// The functions of AMD's HIP that are called, as pointers: libamdhip64 and hiprtc are opened at run time, so that
// nothing links against them and a process without them goes on without GPUs. Types and numbers are written here: they
// are the same from ROCm 5.2 on, and no toolkit is needed to build.
#ifndef VIREO_DELEGATES_HIP_FUNCTIONS_H_
#define VIREO_DELEGATES_HIP_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>

namespace vireo::hip {

using Result = int;  // hipError_t
constexpr Result kSuccess = 0, kOutOfMemory = 2, kNoKernelImage = 209, kNotReady = 600, kOutOfResources = 701,
                 kNoMemoryInRuntime = 1052;

using DeviceNumber = int;   // hipDevice_t
using Stream = void*;       // hipStream_t
using Event = void*;        // hipEvent_t
using Module = void*;       // hipModule_t
using Function = void*;     // hipFunction_t
using Graph = void*;        // hipGraph_t
using GraphNode = void*;    // hipGraphNode_t
using GraphExec = void*;    // hipGraphExec_t
using Program = void*;      // hiprtcProgram
using CompileResult = int;  // hiprtcResult

// hipDeviceAttribute_t
enum Attribute : int { kMaxThreadsPerBlock = 56, kMultiprocessors = 63, kMaxSharedPerBlock = 74, kWarpSize = 87 };

constexpr unsigned kStreamNonBlocking = 1, kEventWithTiming = 0, kEventWithoutTiming = 2, kHostMemoryOfAllDevices = 1;
constexpr int kCopyByAddresses = 4;  // hipMemcpyDefault

// hipKernelNodeParams. A function of a module may stand in for one of the host's.
struct KernelNode {
  unsigned block_x = 1, block_y = 1, block_z = 1;
  void** extra = nullptr;
  Function function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  void** arguments = nullptr;
  unsigned shared_bytes = 0;
};

// hipDeviceProp_t has had two layouts. The name of the chip, "gfx" and what follows, is the only such text behind the
// card's own name in both of them.
constexpr size_t kPropertiesBytes = 8192, kNameBytes = 256;

// name, the library's symbol, arguments.
#define VIREO_HIP_FUNCTIONS(row)                                                                                       \
  row(init, hipInit, (unsigned flags)) row(driver_version, hipDriverGetVersion, (int* version)) row(                   \
      device_count, hipGetDeviceCount, (int* count)) row(device_get, hipDeviceGet,                                     \
                                                         (DeviceNumber * device, int ordinal))                         \
      row(device_name, hipDeviceGetName, (char* name, int bytes, DeviceNumber device)) row(                            \
          device_attribute, hipDeviceGetAttribute, (int* value, int attribute, DeviceNumber device))                   \
          row(device_memory, hipDeviceTotalMem, (size_t * bytes, DeviceNumber device)) row(                            \
              current, hipGetDevice, (DeviceNumber * device)) row(make_current, hipSetDevice, (DeviceNumber device))   \
              row(stream_priorities, hipDeviceGetStreamPriorityRange, (int* least, int* greatest)) row(                \
                  stream_create, hipStreamCreateWithPriority, (Stream * stream, unsigned flags, int priority))         \
                  row(stream_destroy, hipStreamDestroy, (Stream stream)) row(event_create, hipEventCreateWithFlags,    \
                                                                             (Event * event, unsigned flags))          \
                      row(event_record, hipEventRecord, (Event event, Stream stream)) row(                             \
                          event_query, hipEventQuery,                                                                  \
                          (Event event)) row(event_destroy, hipEventDestroy, (Event event))                            \
                          row(allocate, hipMalloc, (void** at, size_t bytes)) row(give_back, hipFree, (void* at)) row( \
                              host_allocate, hipHostMalloc,                                                            \
                              (void** at, size_t bytes, unsigned flags)) row(host_free, hipHostFree, (void* at))       \
                              row(copy_kind, hipMemcpyAsync,                                                           \
                                  (void* to, const void* from, size_t bytes, int kind, Stream stream))                 \
                                  row(module_load, hipModuleLoadData, (Module * module, const void* image)) row(       \
                                      module_unload, hipModuleUnload,                                                  \
                                      (Module module)) row(module_function, hipModuleGetFunction,                      \
                                                           (Function * function, Module module, const char* name))     \
                                      row(event_elapsed, hipEventElapsedTime, (float* ms, Event from, Event to)) row(  \
                                          graph_add_event, hipGraphAddEventRecordNode,                                 \
                                          (GraphNode * node, Graph graph, const GraphNode* behind, size_t count,       \
                                           Event event)) row(graph_create, hipGraphCreate,                             \
                                                             (Graph * graph, unsigned flags))                          \
                                          row(graph_destroy, hipGraphDestroy, (Graph graph)) row(                      \
                                              graph_add_kernel, hipGraphAddKernelNode,                                 \
                                              (GraphNode * node, Graph graph, const GraphNode* behind, size_t count,   \
                                               const KernelNode* what))                                                \
                                              row(graph_instantiate, hipGraphInstantiateWithFlags,                     \
                                                  (GraphExec * exec, Graph graph, unsigned long long flags))           \
                                                  row(graph_launch, hipGraphLaunch, (GraphExec exec, Stream stream))   \
                                                      row(graph_exec_destroy, hipGraphExecDestroy, (GraphExec exec))

// ... of which a library has the second or the first, by its age.
#define VIREO_HIP_PROPERTIES(row)                                  \
  row(properties, hipGetDeviceProperties, (void* out, int device)) \
      row(properties6, hipGetDevicePropertiesR0600, (void* out, int device))

// The compiler: in a library of its own, or in libamdhip64.
#define VIREO_HIP_COMPILER(row)                                                                                     \
  row(version, hiprtcVersion, (int* major, int* minor)) row(                                                        \
      create, hiprtcCreateProgram,                                                                                  \
      (Program * program, const char* text, const char* name, int headers, const char** texts, const char** names)) \
      row(compile, hiprtcCompileProgram, (Program program, int count, const char** options))                        \
          row(log_bytes, hiprtcGetProgramLogSize, (Program program, size_t * bytes))                                \
              row(log, hiprtcGetProgramLog, (Program program, char* log))                                           \
                  row(code_bytes, hiprtcGetCodeSize, (Program program, size_t * bytes))                             \
                      row(code, hiprtcGetCode, (Program program, char* code))                                       \
                          row(destroy, hiprtcDestroyProgram, (Program * program))

#define VIREO_HIP_POINTER(name, symbol, arguments) Result(*name) arguments = nullptr;
struct CompilerFunctions {
  VIREO_HIP_COMPILER(VIREO_HIP_POINTER)
};
struct Functions {
  VIREO_HIP_FUNCTIONS(VIREO_HIP_POINTER)
  VIREO_HIP_PROPERTIES(VIREO_HIP_POINTER)
  const char* (*error_name)(Result error) = nullptr;  // hipGetErrorName

  // As delegates/gpu/stream calls them.
  Result memory_allocate(uint64_t* at, size_t bytes) const {
    void* found = nullptr;
    const Result result = allocate(&found, bytes);
    *at = reinterpret_cast<uintptr_t>(found);
    return result;
  }
  Result memory_free(uint64_t at) const { return give_back(reinterpret_cast<void*>(static_cast<uintptr_t>(at))); }
  Result copy(uint64_t to, uint64_t from, size_t bytes, Stream stream) const {
    return copy_kind(reinterpret_cast<void*>(static_cast<uintptr_t>(to)),
                     reinterpret_cast<const void*>(static_cast<uintptr_t>(from)), bytes, kCopyByAddresses, stream);
  }
};
#undef VIREO_HIP_POINTER

}  // namespace vireo::hip

#endif  // VIREO_DELEGATES_HIP_FUNCTIONS_H_
