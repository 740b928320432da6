// A HIP without a card: libamdhip64 whose compiler makes functions of the host out of kernels, by delegates/gpu/hip's
// lanes. Whole models run through the plug-in with the texts that a card gets. VIREO_SOFT_HIP names the chip that it
// plays (gfx1100), VIREO_SOFT_HIP_FOLDER the folder that compiled kernels are kept in (the working directory), CXX the
// compiler (c++). It is slow: seconds to compile a kernel, microseconds for a lane.
//
// A launch stops the process with a message if a kernel leaves its memory, or meets itself in shared memory without a
// barrier: that is what it is for.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "delegates/gpu/hip/lanes.h"
#include "delegates/hip/functions.h"
#include "sdk/base/fnv.h"

namespace vireo::hip::soft {
namespace {

using gpu::HipLanes;

const char* chip() {
  const char* const named = getenv("VIREO_SOFT_HIP");
  return named != nullptr ? named : "gfx1100";
}
gpu::Target target() { return gpu::hip_target(*gpu::hip_family(chip())); }

// ---- Memory, by its begin

std::mutex mutex;
std::map<uintptr_t, size_t> memory;

Result allocate(void** at, size_t bytes) {
  *at = std::malloc(bytes);
  if (*at == nullptr) return kOutOfMemory;
  const std::lock_guard<std::mutex> lock(mutex);
  memory[reinterpret_cast<uintptr_t>(*at)] = bytes;
  return kSuccess;
}
Result give_back(void* at) {
  const std::lock_guard<std::mutex> lock(mutex);
  memory.erase(reinterpret_cast<uintptr_t>(at));
  std::free(at);
  return kSuccess;
}
// What lies behind an address in its block.
uint64_t bytes_behind(const void* at) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto address = reinterpret_cast<uintptr_t>(at);
  auto block = memory.upper_bound(address);
  if (block == memory.begin()) return 0;
  --block;
  return address - block->first < block->second ? block->second - (address - block->first) : 0;
}

// ---- Kernels

using Run = int (*)(void* const*, const uint64_t*, const uint32_t*, const uint32_t*, int);

struct Text {
  std::string entry, library;
  HipLanes what;
};
struct Kernel {
  void* library = nullptr;
  Run run = nullptr;
  HipLanes what;
};
struct Stamp {
  std::chrono::steady_clock::time_point at;
};
struct Launch {
  const Kernel* kernel = nullptr;
  Stamp* stamp = nullptr;  // to be set, in place of a kernel
  std::vector<void*> bindings;
  std::vector<uint32_t> push;
  std::array<uint32_t, 3> groups{};
};
struct Launches {
  std::vector<Launch> all;
};
// What a code object is here.
struct Image {
  char library[480] = "";
  HipLanes what;
};

size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// The kernel's function out of a text, and what it says of itself.
bool read(const std::string& text, Text* out) {
  const std::string begin = "VIREO_ENTRY(kernel, ";
  const size_t at = text.find(begin), end = text.rfind('}');
  if (at == std::string::npos || end <= at) return false;
  out->entry = text.substr(at, end - at);
  const std::string first = out->entry.substr(0, out->entry.find('\n'));
  out->what.lanes = static_cast<uint32_t>(strtoul(first.c_str() + begin.size(), nullptr, 10));
  out->what.bindings = static_cast<uint32_t>(count_of(first, "VIREO_MEMORY b"));
  out->what.push = static_cast<uint32_t>(count_of(first, ", vu32 w"));
  for (size_t s = out->entry.find("VIREO_SHARED("); s != std::string::npos;
       s = out->entry.find("VIREO_SHARED(", s + 1)) {
    char type[16] = "";
    unsigned number = 0, count = 0, from = 0;
    if (std::sscanf(out->entry.c_str() + s, "VIREO_SHARED(%15[^,], s%u, %u, %u)", type, &number, &count, &from) != 4)
      return false;
    const unsigned each = std::strcmp(type, "quad") == 0 ? 4 : std::strstr(type, "64") != nullptr ? 2 : 1;
    out->what.words = std::max(out->what.words, from + count * each);
  }
  return true;
}

bool compile(Text* text) {
  const char* const folder = getenv("VIREO_SOFT_HIP_FOLDER");
  const std::string all =
      gpu::hip_lanes_head(target()) + text->entry + gpu::hip_lanes_runner(text->what, "kernel", "run_kernel");
  const std::string path = std::string(folder != nullptr ? folder : ".") + "/soft_hip_" +
                           std::to_string(hash_bytes(kEmptyHash, all.data(), all.size()));
  text->library = path + ".so";
  if (access(text->library.c_str(), R_OK) == 0) return true;
  static std::atomic<int> count{0};
  const std::string mine = path + "_" + std::to_string(getpid()) + "_" + std::to_string(count++);
  const std::string source = mine + ".cc", made = mine + ".so";
  FILE* const f = std::fopen(source.c_str(), "w");
  if (f == nullptr) return false;
  const bool written = std::fwrite(all.data(), 1, all.size(), f) == all.size();
  const char* const cxx = getenv("CXX");
  const std::string command = std::string(cxx != nullptr ? cxx : "c++") +
                              " -std=c++20 -O0 -fno-strict-aliasing -fwrapv -ffp-contract=off -shared -fPIC -w -o " +
                              made + " " + source;
  const bool good = std::fclose(f) == 0 && written &&
                    std::system(command.c_str()) == 0;  // NOLINT(cert-env33-c): a compiler, in tests
  (void)unlink(source.c_str());
  return good && std::rename(made.c_str(), text->library.c_str()) == 0;
}

void launch(const Launch& l) {
  if (l.stamp != nullptr) {
    l.stamp->at = std::chrono::steady_clock::now();
    return;
  }
  std::vector<uint64_t> bytes;
  for (const void* at : l.bindings) bytes.push_back(bytes_behind(at));
  const int wrong = l.kernel->run(l.bindings.data(), bytes.data(), l.push.data(), l.groups.data(), 0);
  if (wrong == 0) return;
  std::fprintf(stderr, "soft HIP: a kernel is wrong (%d): see print_host()\n", wrong);
  std::abort();
}

}  // namespace
}  // namespace vireo::hip::soft

using namespace vireo::hip;        // NOLINT(google-build-using-namespace): the driver's names are no namespace's
using namespace vireo::hip::soft;  // NOLINT(google-build-using-namespace)

#define VIREO_SOFT extern "C" __attribute__((visibility("default")))

VIREO_SOFT Result hipInit(unsigned) { return vireo::gpu::hip_family(chip()) != nullptr ? kSuccess : 101; }
VIREO_SOFT Result hipDriverGetVersion(int* version) {
  *version = 60200000;
  return kSuccess;
}
VIREO_SOFT Result hipGetDeviceCount(int* count) {
  *count = 1;
  return kSuccess;
}
VIREO_SOFT Result hipDeviceGet(DeviceNumber* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
VIREO_SOFT Result hipDeviceGetName(char* name, int bytes, DeviceNumber) {
  std::snprintf(name, static_cast<size_t>(bytes), "A card made of software");
  return kSuccess;
}
VIREO_SOFT Result hipDeviceGetAttribute(int* value, int attribute, DeviceNumber) {
  *value = attribute == kWarpSize             ? static_cast<int>(target().subgroup)
           : attribute == kMaxThreadsPerBlock ? 1024
           : attribute == kMaxSharedPerBlock  ? 65536
                                              : 1;
  return kSuccess;
}
VIREO_SOFT Result hipDeviceTotalMem(size_t* bytes, DeviceNumber) {
  *bytes = size_t{1} << 30;
  return kSuccess;
}
VIREO_SOFT Result hipGetDevicePropertiesR0600(void* out, int) {
  std::strcpy(static_cast<char*>(out) + 1160, chip());
  return kSuccess;
}
VIREO_SOFT Result hipGetDevice(DeviceNumber* device) {
  *device = 0;
  return kSuccess;
}
VIREO_SOFT Result hipSetDevice(DeviceNumber) { return kSuccess; }
VIREO_SOFT Result hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return kSuccess;
}
VIREO_SOFT Result hipStreamCreateWithPriority(Stream* stream, unsigned, int) {
  *stream = new int(0);
  return kSuccess;
}
VIREO_SOFT Result hipStreamDestroy(Stream stream) {
  delete static_cast<int*>(stream);
  return kSuccess;
}
// Work is done when a call returns, so every event has been reached.
VIREO_SOFT Result hipEventCreateWithFlags(Event* event, unsigned) {
  *event = new Stamp;
  return kSuccess;
}
VIREO_SOFT Result hipEventDestroy(Event event) {
  delete static_cast<Stamp*>(event);
  return kSuccess;
}
VIREO_SOFT Result hipEventElapsedTime(float* ms, Event from, Event to) {
  *ms = std::chrono::duration<float, std::milli>(static_cast<Stamp*>(to)->at - static_cast<Stamp*>(from)->at).count();
  return kSuccess;
}
VIREO_SOFT Result hipEventRecord(Event, Stream) { return kSuccess; }
VIREO_SOFT Result hipEventQuery(Event) { return kSuccess; }
VIREO_SOFT Result hipMalloc(void** at, size_t bytes) { return allocate(at, bytes); }
VIREO_SOFT Result hipFree(void* at) { return give_back(at); }
VIREO_SOFT Result hipHostMalloc(void** at, size_t bytes, unsigned) { return allocate(at, bytes); }
VIREO_SOFT Result hipHostFree(void* at) { return give_back(at); }
VIREO_SOFT Result hipMemcpyAsync(void* to, const void* from, size_t bytes, int, Stream) {
  std::memcpy(to, from, bytes);
  return kSuccess;
}
VIREO_SOFT Result hipModuleLoadData(Module* module, const void* image) {
  Image i;
  std::memcpy(&i, image, sizeof(i));
  auto* const k = new Kernel;
  k->library = dlopen(i.library, RTLD_NOW | RTLD_LOCAL);
  k->what = i.what;
  if (k->library != nullptr) k->run = reinterpret_cast<Run>(dlsym(k->library, "run_kernel"));
  if (k->run == nullptr) {
    delete k;
    return 200;
  }
  *module = k;
  return kSuccess;
}
VIREO_SOFT Result hipModuleUnload(Module module) {
  auto* const k = static_cast<Kernel*>(module);
  (void)dlclose(k->library);
  delete k;
  return kSuccess;
}
VIREO_SOFT Result hipModuleGetFunction(Function* function, Module module, const char*) {
  *function = module;
  return kSuccess;
}
VIREO_SOFT Result hipGraphCreate(Graph* graph, unsigned) {
  *graph = new Launches;
  return kSuccess;
}
VIREO_SOFT Result hipGraphDestroy(Graph graph) {
  delete static_cast<Launches*>(graph);
  return kSuccess;
}
VIREO_SOFT Result hipGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode*, size_t,
                                        const KernelNode* what) {
  Launch l;
  l.kernel = static_cast<const Kernel*>(what->function);
  if (what->block_x * what->block_y * what->block_z != l.kernel->what.lanes) return 1;
  l.groups = {what->grid_x, what->grid_y, what->grid_z};
  void** argument = what->arguments;
  for (uint32_t i = 0; i < l.kernel->what.bindings; ++i) {
    void* at = nullptr;
    std::memcpy(&at, *argument++, sizeof(at));
    l.bindings.push_back(at);
  }
  for (uint32_t i = 0; i < l.kernel->what.push; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, *argument++, sizeof(word));
    l.push.push_back(word);
  }
  static_cast<Launches*>(graph)->all.push_back(std::move(l));
  *node = graph;
  return kSuccess;
}
VIREO_SOFT Result hipGraphAddEventRecordNode(GraphNode* node, Graph graph, const GraphNode*, size_t, Event event) {
  Launch l;
  l.stamp = static_cast<Stamp*>(event);
  static_cast<Launches*>(graph)->all.push_back(std::move(l));
  *node = graph;
  return kSuccess;
}
VIREO_SOFT Result hipGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  *exec = new Launches(*static_cast<Launches*>(graph));
  return kSuccess;
}
// One at a time: kernels keep a workgroup's memory for themselves.
VIREO_SOFT Result hipGraphLaunch(GraphExec exec, Stream) {
  static std::mutex one;
  const std::lock_guard<std::mutex> lock(one);
  for (const Launch& l : static_cast<Launches*>(exec)->all) launch(l);
  return kSuccess;
}
VIREO_SOFT Result hipGraphExecDestroy(GraphExec exec) { return hipGraphDestroy(exec); }

VIREO_SOFT CompileResult hiprtcVersion(int* major, int* minor) {
  *major = *minor = 0;
  return 0;
}
VIREO_SOFT CompileResult hiprtcCreateProgram(Program* program, const char* text, const char*, int, const char**,
                                             const char**) {
  auto* const made = new Text;
  *program = made;
  return read(text, made) ? 0 : 3;
}
VIREO_SOFT CompileResult hiprtcCompileProgram(Program program, int, const char**) {
  return compile(static_cast<Text*>(program)) ? 0 : 6;
}
VIREO_SOFT CompileResult hiprtcGetProgramLogSize(Program, size_t* bytes) {
  *bytes = 0;
  return 0;
}
VIREO_SOFT CompileResult hiprtcGetProgramLog(Program, char*) { return 0; }
VIREO_SOFT CompileResult hiprtcGetCodeSize(Program, size_t* bytes) {
  *bytes = sizeof(Image);
  return 0;
}
VIREO_SOFT CompileResult hiprtcGetCode(Program program, char* code) {
  const Text& text = *static_cast<Text*>(program);
  Image image;
  std::snprintf(static_cast<char*>(image.library), sizeof(image.library), "%s", text.library.c_str());
  image.what = text.what;
  std::memcpy(code, &image, sizeof(image));
  return 0;
}
VIREO_SOFT CompileResult hiprtcDestroyProgram(Program* program) {
  delete static_cast<Text*>(*program);
  return 0;
}
