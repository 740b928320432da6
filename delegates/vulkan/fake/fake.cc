#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "delegates/vulkan/cooperative.h"
#include "delegates/vulkan/fake/control.h"

namespace vireo::vulkan::fake {
namespace {

Control g_control;

// Objects are counted, so that a test sees what was not destroyed. Handles are their addresses. They are listed as
// well: what a hanging card keeps is no leak to a sanitizer that finds it here.
std::mutex g_mutex;
std::set<const void*>& g_alive = *new std::set<const void*>;  // never destroyed: the sanitizer looks at the very end

template <class T>
class Counted {
 public:
  Counted() {
    ++g_control.alive;
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_alive.insert(this);
  }
  ~Counted() {
    --g_control.alive;
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_alive.erase(this);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
};

struct Instance : Counted<Instance> {
  Instance() { ++g_control.instances; }
  ~Instance() { --g_control.instances; }
};
struct Semaphore : Counted<Semaphore> {
  uint64_t value = 0;
};
struct Memory : Counted<Memory> {
  uint8_t* bytes = nullptr;
  uint64_t size = 0;
  bool own = true;
};
struct Buffer : Counted<Buffer> {
  Memory* memory = nullptr;
  uint64_t size = 0;
};
struct Thing : Counted<Thing> {};  // what has no state here
struct Set {
  VkDescriptorBufferInfo bindings[32] = {};
};
struct Commands {
  std::vector<std::function<void()>> list;
  const Set* set = nullptr;
  uint32_t push[32] = {};
  std::vector<VkBuffer> uses;
};
struct Queries : Counted<Queries> {
  std::vector<uint64_t> times;
  std::vector<bool> there;
};
struct Pool : Counted<Pool> {
  std::vector<Commands*> commands;
  std::vector<Set*> sets;
  ~Pool() {
    for (Commands* c : commands) delete c;
    for (Set* s : sets) delete s;
  }
};
struct Device;
struct Queue {
  Device* device = nullptr;
  float priority = 0;
};
std::set<Device*>& g_devices = *new std::set<Device*>;  // with g_mutex
struct Device : Counted<Device> {
  Device() {
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_devices.insert(this);
  }
  ~Device() {
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_devices.erase(this);
  }
  std::mutex mutex;
  std::vector<std::pair<std::vector<Commands*>, std::pair<Semaphore*, uint64_t>>> waiting;
  Queue queues[4];
};

// The dispatchable handles that are not made: there is one of each, or a few.
uint8_t g_cards[4];

template <class Handle, class T>
Handle handle(T* object) {
  return reinterpret_cast<Handle>(object);
}
template <class T, class Handle>
T& object(Handle h) {
  return *reinterpret_cast<T*>(h);
}
template <class T, class Handle>
void destroy(Handle h) {
  delete reinterpret_cast<T*>(h);
}

void progress(Device& d, const Semaphore* of);

// Counts a misuse if a card works with what is now destroyed.
template <class Test>
void check_unused(const Test& works_with) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  for (Device* d : g_devices) {
    const std::lock_guard<std::mutex> device_lock(d->mutex);
    progress(*d, nullptr);
    for (const auto& [commands, signal] : d->waiting) {
      for (const Commands* c : commands) g_control.misuse += works_with(*c) ? 1 : 0;
    }
  }
}
bool uses(const Commands& c, VkBuffer buffer) {
  return std::find(c.uses.begin(), c.uses.end(), buffer) != c.uses.end();
}

// VK_SUCCESS, or what this call is to give.
VkResult fate() {
  const int64_t at = g_control.fail_at.load(), now = g_control.calls.fetch_add(1);
  const bool fails = at >= 0 && (now == at || (now > at && g_control.for_ever.load()));
  return fails ? static_cast<VkResult>(g_control.result.load()) : VK_SUCCESS;
}

template <class T, class Handle>
VkResult make(Handle* out) {
  if (const VkResult result = fate(); result != VK_SUCCESS) return result;
  *out = handle<Handle>(new T());
  return VK_SUCCESS;
}

const void* chained(const void* next, VkStructureType type) {
  for (; next != nullptr; next = static_cast<const VkBaseInStructure*>(next)->pNext) {
    if (static_cast<const VkBaseInStructure*>(next)->sType == type) return next;
  }
  return nullptr;
}
template <class T>
T* chained(void* next, VkStructureType type) {
  return static_cast<T*>(const_cast<void*>(chained(static_cast<const void*>(next), type)));
}

// ---- Instance and cards

VKAPI_ATTR VkResult VKAPI_CALL EnumerateInstanceVersion(uint32_t* version) {
  *version = g_control.loader_version;
  return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo*, const VkAllocationCallbacks*,
                                              VkInstance* out) {
  return make<Instance>(out);
}
VKAPI_ATTR void VKAPI_CALL DestroyInstance(VkInstance i, const VkAllocationCallbacks*) {
  check_unused([](const Commands&) { return true; });
  destroy<Instance>(i);
}
VKAPI_ATTR VkResult VKAPI_CALL EnumeratePhysicalDevices(VkInstance, uint32_t* count, VkPhysicalDevice* out) {
  if (out == nullptr) {
    *count = g_control.cards;
    return VK_SUCCESS;
  }
  for (uint32_t i = 0; i < *count; ++i) out[i] = handle<VkPhysicalDevice>(&g_cards[i]);
  return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL EnumerateDeviceExtensionProperties(VkPhysicalDevice, const char*, uint32_t* count,
                                                                  VkExtensionProperties* out) {
  std::vector<const char*> names;
  if (g_control.imports) names.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  if (g_control.matrices) {
    names.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    names.push_back(kCooperativeMatrix);
  }
  for (uint32_t i = 0; out != nullptr && i < *count; ++i) std::strcpy(out[i].extensionName, names[i]);
  *count = static_cast<uint32_t>(names.size());
  return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceCooperativeMatrixPropertiesKHR(VkPhysicalDevice, uint32_t* count,
                                                                               CooperativeMatrixRow* out) {
  *count = g_control.matrices ? 1 : 0;
  if (out == nullptr || *count == 0) return VK_SUCCESS;
  out->m = out->n = out->k = 16;
  out->a = out->b = kCooperativeFloat16;
  out->c = out->result = kCooperativeFloat32;
  out->scope = kCooperativeSubgroup;
  return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties(VkPhysicalDevice, VkPhysicalDeviceProperties* out) {
  *out = {};
  out->apiVersion = g_control.version;
  out->vendorID = 0x10de;
  out->deviceID = 0x1234;
  out->pipelineCacheUUID[0] = g_control.cache_uuid;
  out->deviceType = g_control.cpu             ? VK_PHYSICAL_DEVICE_TYPE_CPU
                    : g_control.shares_memory ? VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU
                                              : VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  std::strcpy(out->deviceName, "Fake GPU");
  VkPhysicalDeviceLimits& l = out->limits;
  l.maxComputeWorkGroupInvocations = l.maxComputeWorkGroupSize[0] = 128;
  l.maxComputeWorkGroupSize[1] = l.maxComputeWorkGroupSize[2] = 64;
  l.maxComputeWorkGroupCount[0] = l.maxComputeWorkGroupCount[1] = l.maxComputeWorkGroupCount[2] = 65535;
  l.maxComputeSharedMemorySize = 16384;
  l.maxPerStageDescriptorStorageBuffers = l.maxDescriptorSetStorageBuffers = l.maxPerStageResources = 8;
  l.maxPushConstantsSize = 128;
  l.maxStorageBufferRange = 1u << 27;
  l.minStorageBufferOffsetAlignment = 16;
  l.timestampPeriod = 10;
}
VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice d, VkPhysicalDeviceProperties2* out) {
  GetPhysicalDeviceProperties(d, &out->properties);
  if (auto* p = chained<VkPhysicalDeviceIDProperties>(out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES))
    p->deviceUUID[0] = static_cast<uint8_t>(1 + (g_control.same_uuid ? 0 : reinterpret_cast<uint8_t*>(d) - g_cards));
  if (auto* p = chained<VkPhysicalDeviceMaintenance3Properties>(
          out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES))
    p->maxMemoryAllocationSize = 1u << 30;
  if (auto* p = chained<VkPhysicalDeviceSubgroupProperties>(out->pNext,
                                                            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES))
    p->subgroupSize = 32;
  if (auto* p = chained<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
          out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT))
    p->minImportedHostPointerAlignment = 4096;
}
VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice, VkPhysicalDeviceFeatures2* out) {
  if (auto* p = chained<VkPhysicalDeviceTimelineSemaphoreFeatures>(
          out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES))
    p->timelineSemaphore = g_control.timeline ? VK_TRUE : VK_FALSE;
  if (!g_control.matrices) return;
  if (auto* p = chained<CooperativeMatrixFeatures>(out->pNext, kCooperativeMatrixFeatures))
    p->cooperativeMatrix = VK_TRUE;
  if (auto* p = chained<VkPhysicalDeviceVulkanMemoryModelFeatures>(
          out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES))
    p->vulkanMemoryModel = VK_TRUE;
  if (auto* p = chained<VkPhysicalDeviceShaderFloat16Int8Features>(
          out->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES))
    p->shaderFloat16 = VK_TRUE;
}
VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceMemoryProperties(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* out) {
  constexpr VkMemoryPropertyFlags kMapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  *out = {};
  out->memoryHeapCount = g_control.shares_memory ? 1 : 2;
  out->memoryHeaps[0] = {g_control.memory_bytes, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  out->memoryHeaps[1] = {1u << 30, 0};
  out->memoryTypeCount = 2;
  out->memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | (g_control.shares_memory ? kMapped : 0), 0};
  out->memoryTypes[1] = {kMapped, g_control.shares_memory ? 0u : 1u};
}
VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice, uint32_t* count,
                                                                  VkQueueFamilyProperties* out) {
  if (out != nullptr) {
    out[0] = {};
    out[0].queueFlags = g_control.queue ? VK_QUEUE_COMPUTE_BIT : VK_QUEUE_TRANSFER_BIT;
    out[0].queueCount = g_control.queues;
    out[0].timestampValidBits = g_control.time_bits;
  }
  *count = 1;
}

// ---- Device, memory

VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice, const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks*, VkDevice* out) {
  const VkResult result = make<Device>(out);
  if (result != VK_SUCCESS) return result;
  const VkDeviceQueueCreateInfo& queues = info->pQueueCreateInfos[0];
  g_control.misuse += queues.queueCount > g_control.queues ? 1 : 0;
  for (uint32_t i = 0; i < queues.queueCount; ++i)
    object<Device>(*out).queues[i] = {&object<Device>(*out), queues.pQueuePriorities[i]};
  return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL DestroyDevice(VkDevice d, const VkAllocationCallbacks*) {
  g_control.misuse += object<Device>(d).waiting.empty() ? 0 : 1;
  destroy<Device>(d);
}
VKAPI_ATTR void VKAPI_CALL GetDeviceQueue(VkDevice d, uint32_t, uint32_t index, VkQueue* out) {
  *out = handle<VkQueue>(&object<Device>(d).queues[index]);
}
VKAPI_ATTR VkResult VKAPI_CALL DeviceWaitIdle(VkDevice) { return VK_SUCCESS; }

VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                                              VkDeviceMemory* out) {
  if (const VkResult result = fate(); result != VK_SUCCESS) return result;
  if (g_control.taken + static_cast<int64_t>(info->allocationSize) > static_cast<int64_t>(g_control.memory_bytes))
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  auto* const m = new Memory();
  m->size = info->allocationSize;
  const auto* const import = static_cast<const VkImportMemoryHostPointerInfoEXT*>(
      chained(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT));
  m->own = import == nullptr;
  m->bytes = static_cast<uint8_t*>(m->own ? std::malloc(m->size) : import->pHostPointer);
  // The first bytes are no zeros; all of them would take sanitizers longer than the test.
  if (m->own) std::memset(m->bytes, 0xCD, std::min<uint64_t>(m->size, 16384));
  g_control.taken += static_cast<int64_t>(m->size);
  *out = handle<VkDeviceMemory>(m);
  return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL FreeMemory(VkDevice, VkDeviceMemory h, const VkAllocationCallbacks*) {
  const auto& m = object<Memory>(h);
  if (m.own) std::free(m.bytes);
  g_control.taken -= static_cast<int64_t>(m.size);
  destroy<Memory>(h);
}
VKAPI_ATTR VkResult VKAPI_CALL MapMemory(VkDevice, VkDeviceMemory m, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags,
                                         void** out) {
  const VkResult result = fate();
  if (result == VK_SUCCESS) *out = object<Memory>(m).bytes;
  return result;
}
VKAPI_ATTR VkResult VKAPI_CALL CreateBuffer(VkDevice, const VkBufferCreateInfo* info, const VkAllocationCallbacks*,
                                            VkBuffer* out) {
  const VkResult result = make<Buffer>(out);
  if (result == VK_SUCCESS) object<Buffer>(*out).size = info->size;
  return result;
}
VKAPI_ATTR void VKAPI_CALL DestroyBuffer(VkDevice, VkBuffer b, const VkAllocationCallbacks*) {
  check_unused([b](const Commands& c) { return uses(c, b); });
  destroy<Buffer>(b);
}
VKAPI_ATTR void VKAPI_CALL GetBufferMemoryRequirements(VkDevice, VkBuffer b, VkMemoryRequirements* out) {
  *out = {object<Buffer>(b).size, 16, 3};
}
VKAPI_ATTR VkResult VKAPI_CALL BindBufferMemory(VkDevice, VkBuffer b, VkDeviceMemory m, VkDeviceSize) {
  const VkResult result = fate();
  if (result == VK_SUCCESS) object<Buffer>(b).memory = &object<Memory>(m);
  return result;
}
VKAPI_ATTR VkResult VKAPI_CALL GetMemoryHostPointerPropertiesEXT(VkDevice, VkExternalMemoryHandleTypeFlagBits,
                                                                 const void*, VkMemoryHostPointerPropertiesEXT* out) {
  out->memoryTypeBits = 3;
  return fate();
}

// ---- Objects without a state

#define VIREO_FAKE_THING(Name, Info, Handle)                                                                      \
  VKAPI_ATTR VkResult VKAPI_CALL Create##Name(VkDevice, const Info*, const VkAllocationCallbacks*, Handle* out) { \
    return make<Thing>(out);                                                                                      \
  }                                                                                                               \
  VKAPI_ATTR void VKAPI_CALL Destroy##Name(VkDevice, Handle h, const VkAllocationCallbacks*) { destroy<Thing>(h); }
VIREO_FAKE_THING(ShaderModule, VkShaderModuleCreateInfo, VkShaderModule)
VIREO_FAKE_THING(PipelineLayout, VkPipelineLayoutCreateInfo, VkPipelineLayout)
VIREO_FAKE_THING(DescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)
#undef VIREO_FAKE_THING
VKAPI_ATTR VkResult VKAPI_CALL CreatePipelineCache(VkDevice, const VkPipelineCacheCreateInfo* info,
                                                   const VkAllocationCallbacks*, VkPipelineCache* out) {
  g_control.caches_taken += info->initialDataSize != 0 ? 1 : 0;
  return make<Thing>(out);
}
VKAPI_ATTR void VKAPI_CALL DestroyPipelineCache(VkDevice, VkPipelineCache h, const VkAllocationCallbacks*) {
  destroy<Thing>(h);
}
// It keeps its head and one word.
struct Kept {
  uint32_t bytes = 32, version = VK_PIPELINE_CACHE_HEADER_VERSION_ONE, vendor = 0x10de, device = 0x1234;
  uint8_t uuid[VK_UUID_SIZE] = {};
  uint32_t word = 0x4b455054;
};
VKAPI_ATTR VkResult VKAPI_CALL GetPipelineCacheData(VkDevice, VkPipelineCache, size_t* bytes, void* out) {
  Kept kept;
  kept.uuid[0] = g_control.cache_uuid;
  const VkResult result = fate();
  if (result == VK_SUCCESS && out != nullptr) std::memcpy(out, &kept, sizeof(kept));
  *bytes = sizeof(kept);
  return result;
}
VKAPI_ATTR VkResult VKAPI_CALL MergePipelineCaches(VkDevice, VkPipelineCache, uint32_t, const VkPipelineCache*) {
  return fate();
}
VKAPI_ATTR VkResult VKAPI_CALL CreateComputePipelines(VkDevice, VkPipelineCache, uint32_t,
                                                      const VkComputePipelineCreateInfo*, const VkAllocationCallbacks*,
                                                      VkPipeline* out) {
  ++g_control.pipelines;
  return make<Thing>(out);
}
VKAPI_ATTR void VKAPI_CALL DestroyPipeline(VkDevice, VkPipeline h, const VkAllocationCallbacks*) { destroy<Thing>(h); }
VKAPI_ATTR VkResult VKAPI_CALL CreateDescriptorPool(VkDevice, const VkDescriptorPoolCreateInfo*,
                                                    const VkAllocationCallbacks*, VkDescriptorPool* out) {
  return make<Pool>(out);
}
VKAPI_ATTR void VKAPI_CALL DestroyDescriptorPool(VkDevice, VkDescriptorPool h, const VkAllocationCallbacks*) {
  destroy<Pool>(h);
}
VKAPI_ATTR VkResult VKAPI_CALL CreateCommandPool(VkDevice, const VkCommandPoolCreateInfo*, const VkAllocationCallbacks*,
                                                 VkCommandPool* out) {
  return make<Pool>(out);
}
VKAPI_ATTR void VKAPI_CALL DestroyCommandPool(VkDevice, VkCommandPool h, const VkAllocationCallbacks*) {
  const std::vector<Commands*>& mine = object<Pool>(h).commands;
  check_unused([&mine](const Commands& c) { return std::find(mine.begin(), mine.end(), &c) != mine.end(); });
  destroy<Pool>(h);
}

// ---- Sets and commands

VKAPI_ATTR VkResult VKAPI_CALL AllocateDescriptorSets(VkDevice, const VkDescriptorSetAllocateInfo* info,
                                                      VkDescriptorSet* out) {
  if (const VkResult result = fate(); result != VK_SUCCESS) return result;
  for (uint32_t i = 0; i < info->descriptorSetCount; ++i) {
    auto* const set = new Set();
    object<Pool>(info->descriptorPool).sets.push_back(set);
    out[i] = handle<VkDescriptorSet>(set);
  }
  return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL UpdateDescriptorSets(VkDevice, uint32_t count, const VkWriteDescriptorSet* writes, uint32_t,
                                                const VkCopyDescriptorSet*) {
  for (uint32_t i = 0; i < count; ++i)
    object<Set>(writes[i].dstSet).bindings[writes[i].dstBinding] = *writes[i].pBufferInfo;
}
VKAPI_ATTR VkResult VKAPI_CALL AllocateCommandBuffers(VkDevice, const VkCommandBufferAllocateInfo* info,
                                                      VkCommandBuffer* out) {
  if (const VkResult result = fate(); result != VK_SUCCESS) return result;
  for (uint32_t i = 0; i < info->commandBufferCount; ++i) {
    auto* const commands = new Commands();
    object<Pool>(info->commandPool).commands.push_back(commands);
    out[i] = handle<VkCommandBuffer>(commands);
  }
  return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer c, const VkCommandBufferBeginInfo*) {
  object<Commands>(c).list.clear();
  object<Commands>(c).uses.clear();
  return fate();
}
VKAPI_ATTR VkResult VKAPI_CALL EndCommandBuffer(VkCommandBuffer) { return fate(); }
VKAPI_ATTR void VKAPI_CALL CmdBindPipeline(VkCommandBuffer, VkPipelineBindPoint, VkPipeline) {}
VKAPI_ATTR void VKAPI_CALL CmdBindDescriptorSets(VkCommandBuffer c, VkPipelineBindPoint, VkPipelineLayout, uint32_t,
                                                 uint32_t, const VkDescriptorSet* sets, uint32_t, const uint32_t*) {
  object<Commands>(c).set = &object<Set>(sets[0]);
}
VKAPI_ATTR void VKAPI_CALL CmdPushConstants(VkCommandBuffer c, VkPipelineLayout, VkShaderStageFlags, uint32_t,
                                            uint32_t bytes, const void* words) {
  std::memcpy(object<Commands>(c).push, words, bytes);
}
VKAPI_ATTR void VKAPI_CALL CmdPipelineBarrier(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags,
                                              VkDependencyFlags, uint32_t, const VkMemoryBarrier*, uint32_t,
                                              const VkBufferMemoryBarrier*, uint32_t, const VkImageMemoryBarrier*) {}
void dispatch(VkCommandBuffer c, uint32_t first, uint32_t end) {
  auto& commands = object<Commands>(c);
  const Set* const set = commands.set;
  const uint32_t count = commands.push[0], more = commands.push[1];
  for (const VkDescriptorBufferInfo& b : set->bindings) commands.uses.push_back(b.buffer);
  commands.list.emplace_back([set, count, more, first, end] {
    const auto at = [set](uint32_t binding, uint32_t i) {
      const VkDescriptorBufferInfo& b = set->bindings[binding];
      return object<Buffer>(b.buffer).memory->bytes + b.offset + i * 4;
    };
    for (uint32_t i = first; i < std::min(end, count) && i * 4 < set->bindings[1].range; ++i) {
      uint32_t value = 0;
      std::memcpy(&value, at(0, i), 4);
      value += more;
      std::memcpy(at(1, i), &value, 4);
    }
  });
}
// A part of the workgroups has the elements of its share, 8 a group as in add_schedule().
VKAPI_ATTR void VKAPI_CALL CmdDispatchBase(VkCommandBuffer c, uint32_t x, uint32_t, uint32_t, uint32_t groups, uint32_t,
                                           uint32_t) {
  dispatch(c, x * 8, (x + groups) * 8);
}
VKAPI_ATTR void VKAPI_CALL CmdDispatch(VkCommandBuffer c, uint32_t, uint32_t, uint32_t) { dispatch(c, 0, UINT32_MAX); }
VKAPI_ATTR void VKAPI_CALL CmdCopyBuffer(VkCommandBuffer c, VkBuffer from, VkBuffer to, uint32_t,
                                         const VkBufferCopy* region) {
  object<Commands>(c).uses.insert(object<Commands>(c).uses.end(), {from, to});
  object<Commands>(c).list.emplace_back([from, to, r = *region] {
    ++g_control.uploads;
    std::memcpy(object<Buffer>(to).memory->bytes + r.dstOffset, object<Buffer>(from).memory->bytes + r.srcOffset,
                r.size);
  });
}

// ---- Times: each stamp is 7 ticks behind the one before it.

VKAPI_ATTR VkResult VKAPI_CALL CreateQueryPool(VkDevice, const VkQueryPoolCreateInfo* info,
                                               const VkAllocationCallbacks*, VkQueryPool* out) {
  const VkResult result = make<Queries>(out);
  if (result != VK_SUCCESS) return result;
  object<Queries>(*out).times.resize(info->queryCount);
  object<Queries>(*out).there.resize(info->queryCount);
  return VK_SUCCESS;
}
VKAPI_ATTR void VKAPI_CALL DestroyQueryPool(VkDevice, VkQueryPool h, const VkAllocationCallbacks*) {
  destroy<Queries>(h);
}
VKAPI_ATTR void VKAPI_CALL CmdResetQueryPool(VkCommandBuffer c, VkQueryPool pool, uint32_t first, uint32_t count) {
  object<Commands>(c).list.emplace_back([pool, first, count] {
    for (uint32_t q = first; q < first + count; ++q) object<Queries>(pool).there[q] = false;
  });
}
VKAPI_ATTR void VKAPI_CALL CmdWriteTimestamp(VkCommandBuffer c, VkPipelineStageFlagBits, VkQueryPool pool,
                                             uint32_t query) {
  object<Commands>(c).list.emplace_back([pool, query] {
    auto& q = object<Queries>(pool);
    g_control.misuse += q.there[query] ? 1 : 0;
    q.there[query] = true;
    q.times[query] = (g_control.now += 7) & 0xfff;
  });
}
VKAPI_ATTR VkResult VKAPI_CALL GetQueryPoolResults(VkDevice, VkQueryPool pool, uint32_t first, uint32_t count, size_t,
                                                   void* out, VkDeviceSize, VkQueryResultFlags) {
  const auto& q = object<Queries>(pool);
  for (uint32_t i = first; i < first + count; ++i) {
    if (!q.there[i]) return VK_NOT_READY;
  }
  std::memcpy(out, q.times.data() + first, count * sizeof(uint64_t));
  return VK_SUCCESS;
}

// ---- Work: done as late as it may be, when somebody looks at its semaphore and the card does not hang. So what relies
// on an order between queues that nobody promised goes wrong.

// With the device's lock. What signals `of`, null: all of it.
void progress(Device& d, const Semaphore* of) {
  if (g_control.hangs.load()) return;
  decltype(d.waiting) left;
  for (auto& work : d.waiting) {
    if (of != nullptr && work.second.first != of) {
      left.push_back(work);
      continue;
    }
    for (const Commands* c : work.first) {
      for (const auto& task : c->list) task();
    }
    work.second.first->value = work.second.second;
  }
  d.waiting = std::move(left);
}
VKAPI_ATTR VkResult VKAPI_CALL CreateSemaphore(VkDevice, const VkSemaphoreCreateInfo*, const VkAllocationCallbacks*,
                                               VkSemaphore* out) {
  return make<Semaphore>(out);
}
VKAPI_ATTR void VKAPI_CALL DestroySemaphore(VkDevice, VkSemaphore h, const VkAllocationCallbacks*) {
  destroy<Semaphore>(h);
}
VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t, const VkSubmitInfo* info, VkFence) {
  if (const VkResult result = fate(); result != VK_SUCCESS) return result;
  const auto& q = object<Queue>(queue);
  Device& d = *q.device;
  ++g_control.submits[q.priority == 0.0f   ? VIREO_PRIORITY_LOW
                      : q.priority == 1.0f ? VIREO_PRIORITY_HIGH
                                           : VIREO_PRIORITY_NORMAL];
  const auto& values = *static_cast<const VkTimelineSemaphoreSubmitInfo*>(info->pNext);
  const std::lock_guard<std::mutex> lock(d.mutex);
  std::vector<Commands*> commands;
  for (uint32_t i = 0; i < info->commandBufferCount; ++i)
    commands.push_back(&object<Commands>(info->pCommandBuffers[i]));
  d.waiting.push_back({commands, {&object<Semaphore>(info->pSignalSemaphores[0]), values.pSignalSemaphoreValues[0]}});
  return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL GetSemaphoreCounterValue(VkDevice device, VkSemaphore s, uint64_t* out) {
  auto& d = object<Device>(device);
  const std::lock_guard<std::mutex> lock(d.mutex);
  progress(d, &object<Semaphore>(s));
  *out = object<Semaphore>(s).value;
  return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo* info, uint64_t timeout) {
  if (const VkResult result = fate(); result != VK_SUCCESS) return result;
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    uint64_t value = 0;
    (void)GetSemaphoreCounterValue(device, info->pSemaphores[0], &value);
    if (value >= info->pValues[0]) return VK_SUCCESS;
    if (std::chrono::steady_clock::now() - begin >= std::chrono::nanoseconds(timeout)) return VK_TIMEOUT;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice, const char* name);

struct Row {
  const char* name;
  PFN_vkVoidFunction function;
};
template <class Function>
PFN_vkVoidFunction pointer(Function* f) {
  return reinterpret_cast<PFN_vkVoidFunction>(f);
}

PFN_vkVoidFunction find(const char* wanted) {
#define VIREO_FAKE_ROW(name) {"vk" #name, pointer(name)},
  static const Row rows[] = {VIREO_VULKAN_INSTANCE(VIREO_FAKE_ROW) VIREO_VULKAN_DEVICE(VIREO_FAKE_ROW)
                                 VIREO_FAKE_ROW(EnumerateInstanceVersion) VIREO_FAKE_ROW(CreateInstance)
                                     VIREO_FAKE_ROW(WaitSemaphores) VIREO_FAKE_ROW(GetSemaphoreCounterValue)
                                         VIREO_FAKE_ROW(GetMemoryHostPointerPropertiesEXT)
                                             VIREO_FAKE_ROW(GetPhysicalDeviceCooperativeMatrixPropertiesKHR)};
#undef VIREO_FAKE_ROW
  for (const Row& row : rows) {
    if (std::strcmp(row.name, wanted) == 0) return row.function;
  }
  return nullptr;
}
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice, const char* name) { return find(name); }

}  // namespace
}  // namespace vireo::vulkan::fake

extern "C" __attribute__((visibility("default"))) PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance,
                                                                                           const char* name) {
  return vireo::vulkan::fake::find(name);
}
extern "C" __attribute__((visibility("default"))) vireo::vulkan::fake::Control* vireo_fake_vulkan_control() {
  return &vireo::vulkan::fake::g_control;
}
