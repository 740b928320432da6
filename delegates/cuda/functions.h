// The functions of CUDA's driver that are called, as pointers: libcuda.so.1 is opened at run time, so that nothing
// links against it and a process without it goes on without GPUs. Types and numbers are written here: the driver's
// interface is stable and small, and no toolkit is needed to build.
#ifndef VIREO_DELEGATES_CUDA_FUNCTIONS_H_
#define VIREO_DELEGATES_CUDA_FUNCTIONS_H_

#include <cstddef>
#include <cstdint>

namespace vireo::cuda {

using Result = int;  // CUresult
constexpr Result kSuccess = 0, kOutOfMemory = 2, kNotReady = 600, kOutOfResources = 701, kNotSupported = 801;

using DeviceNumber = int;        // CUdevice
using Context = void*;           // CUcontext
using Stream = void*;            // CUstream
using Event = void*;             // CUevent
using Module = void*;            // CUmodule
using LinkState = void*;         // CUlinkState
using Function = void*;          // CUfunction
using Graph = void*;             // CUgraph
using GraphNode = void*;         // CUgraphNode
using GraphExec = void*;         // CUgraphExec
using DevicePointer = uint64_t;  // CUdeviceptr

// CUdevice_attribute
enum Attribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockX = 2,
  kMaxBlockY = 3,
  kMaxBlockZ = 4,
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kMaxSharedPerBlock = 8,
  kWarpSize = 10,
  kMultiprocessors = 16,
  kComputeMode = 20,
  kMajor = 75,
  kMinor = 76,
  kMaxSharedPerBlockOnDemand = 97,
};
constexpr int kComputeModeProhibited = 2;

// CUjit_option
enum JitOption : int { kJitErrorLog = 5, kJitErrorLogBytes = 6 };

// CUjitInputType
constexpr int kInputPtx = 1;

// CUfunction_attribute
enum FunctionAttribute : int { kMostLaunchShared = 8 };

constexpr unsigned kStreamNonBlocking = 1, kEventWithTiming = 0, kEventWithoutTiming = 2, kHostMemoryOfAllContexts = 1;

// CUDA_KERNEL_NODE_PARAMS of the first version.
struct KernelNode {
  Function function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  void** arguments = nullptr;
  void** extra = nullptr;
};

// CUgraphEdgeData. Programmatic: the later kernel starts when each workgroup of the earlier one has ended, before what
// they wrote is seen, and waits for that by itself (griddepcontrol.wait).
struct EdgeData {
  unsigned char from_port = 0, to_port = 0, type = 0;
  unsigned char reserved[5] = {};
};
// From when all workgroups have ended or said so, and from when all have begun.
constexpr EdgeData kProgrammatic = {1, 0, 1, {}}, kLaunched = {2, 0, 1, {}};

// name, the driver's symbol, arguments.
#define VIREO_CUDA_FUNCTIONS(row)                                                                                      \
  row(init, cuInit, (unsigned flags)) row(driver_version, cuDriverGetVersion, (int* version)) row(                     \
      device_count, cuDeviceGetCount, (int* count)) row(device_get, cuDeviceGet, (DeviceNumber * device, int ordinal)) \
      row(device_name, cuDeviceGetName, (char* name, int bytes, DeviceNumber device)) row(                             \
          device_attribute, cuDeviceGetAttribute, (int* value, int attribute, DeviceNumber device))                    \
          row(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, DeviceNumber device)) row(                          \
              context_create, cuCtxCreate_v2, (Context * context, unsigned flags, DeviceNumber device))                \
              row(context_destroy, cuCtxDestroy_v2, (Context context)) row(                                            \
                  context_push, cuCtxPushCurrent_v2, (Context context)) row(context_pop, cuCtxPopCurrent_v2,           \
                                                                            (Context * context))                       \
                  row(stream_priorities, cuCtxGetStreamPriorityRange, (int* least, int* greatest)) row(                \
                      stream_create, cuStreamCreateWithPriority, (Stream * stream, unsigned flags, int priority))      \
                      row(stream_destroy, cuStreamDestroy_v2, (Stream stream)) row(event_create, cuEventCreate,        \
                                                                                   (Event * event, unsigned flags))    \
                          row(event_record, cuEventRecord, (Event event, Stream stream)) row(                          \
                              event_query, cuEventQuery,                                                               \
                              (Event event)) row(event_destroy, cuEventDestroy_v2, (Event event))                      \
                              row(memory_allocate, cuMemAlloc_v2, (DevicePointer * at, size_t bytes)) row(             \
                                  memory_free, cuMemFree_v2, (DevicePointer at))                                       \
                                  row(host_allocate, cuMemHostAlloc, (void** at, size_t bytes, unsigned flags)) row(   \
                                      host_free, cuMemFreeHost, (void* at)) row(copy, cuMemcpyAsync,                   \
                                                                                (DevicePointer to, DevicePointer from, \
                                                                                 size_t bytes, Stream stream))         \
                                      row(module_load, cuModuleLoadDataEx,                                             \
                                          (Module * module, const void* image, unsigned count, int* options,           \
                                           void** values)) row(module_unload, cuModuleUnload, (Module module))         \
                                          row(module_function, cuModuleGetFunction,                                    \
                                              (Function * function, Module module, const char* name))                  \
                                              row(function_set, cuFuncSetAttribute,                                    \
                                                  (Function function, int attribute, int value))                       \
                                                  row(graph_create, cuGraphCreate, (Graph * graph, unsigned flags))    \
                                                      row(graph_destroy, cuGraphDestroy, (Graph graph))                \
                                                          row(graph_add_kernel, cuGraphAddKernelNode,                  \
                                                              (GraphNode * node, Graph graph, const GraphNode* behind, \
                                                               size_t count, const KernelNode* what))                  \
                                                              row(graph_instantiate, cuGraphInstantiateWithFlags,      \
                                                                  (GraphExec * exec, Graph graph,                      \
                                                                   unsigned long long flags))                          \
                                                                  row(graph_launch, cuGraphLaunch,                     \
                                                                      (GraphExec exec, Stream stream))                 \
                                                                      row(graph_exec_destroy, cuGraphExecDestroy,      \
                                                                          (GraphExec exec))                            \
                                                                          row(error_name, cuGetErrorName,              \
                                                                              (Result error, const char** name))

// What older drivers lack: pointers that may be null.
#define VIREO_CUDA_OPTIONAL(row)                                                                                    \
  row(graph_add_event, cuGraphAddEventRecordNode,                                                                   \
      (GraphNode * node, Graph graph, const GraphNode* behind, size_t count, Event event))                          \
      row(event_elapsed, cuEventElapsedTime, (float* ms, Event from, Event to))                                     \
          row(link_create, cuLinkCreate_v2, (unsigned count, int* options, void** values, LinkState* state)) row(   \
              link_add, cuLinkAddData_v2,                                                                           \
              (LinkState state, int kind, void* data, size_t bytes, const char* name, unsigned count, int* options, \
               void** values)) row(link_complete, cuLinkComplete, (LinkState state, void** code, size_t* bytes))    \
              row(link_destroy, cuLinkDestroy, (LinkState state))                                                   \
                  row(graph_add_edges, cuGraphAddDependencies_v2,                                                   \
                      (Graph graph, const GraphNode* from, const GraphNode* to, const EdgeData* data, size_t count))

struct Functions {
#define VIREO_CUDA_POINTER(name, symbol, arguments) Result(*name) arguments = nullptr;
  VIREO_CUDA_FUNCTIONS(VIREO_CUDA_POINTER)
  VIREO_CUDA_OPTIONAL(VIREO_CUDA_POINTER)
#undef VIREO_CUDA_POINTER
};

}  // namespace vireo::cuda

#endif  // VIREO_DELEGATES_CUDA_FUNCTIONS_H_
