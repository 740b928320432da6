#include "delegates/vulkan/instance.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "delegates/vulkan/cooperative.h"

namespace vireo::vulkan {
namespace {

// What a submit takes on a desktop's driver, with its wait.
constexpr double kLaunchNs = 50000;
// Somewhat less than sixteen lanes of PCIe 3 carry.
constexpr double kTransfer = 12e9;
constexpr uint32_t kLeast = VK_API_VERSION_1_1, kMost = VK_API_VERSION_1_2;

std::string version_text(uint32_t v) {
  return std::to_string(VK_API_VERSION_MAJOR(v)) + "." + std::to_string(VK_API_VERSION_MINOR(v));
}

const char* vendor_of(uint32_t id) {
  switch (id) {
    case 0x1002:
      return "AMD";
    case 0x10de:
      return "NVIDIA";
    case 0x8086:
      return "Intel";
    case 0x13b5:
      return "Arm";
    case 0x5143:
      return "Qualcomm";
    case 0x1010:
      return "Imagination";
    case 0x106b:
      return "Apple";
    case 0x14e4:
      return "Broadcom";
    case VK_VENDOR_ID_MESA:
      return "Mesa";
    default:
      return "";
  }
}

class Extensions {
 public:
  Extensions(const InstanceFunctions& call, VkPhysicalDevice device) {
    uint32_t count = 0;
    if (call.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) != VK_SUCCESS) return;
    rows_.resize(count);
    if (call.EnumerateDeviceExtensionProperties(device, nullptr, &count, rows_.data()) < VK_SUCCESS) count = 0;
    rows_.resize(std::min<size_t>(count, rows_.size()));
  }
  bool has(const char* name) const {
    return std::any_of(rows_.begin(), rows_.end(),
                       [name](const VkExtensionProperties& row) { return std::strcmp(row.extensionName, name) == 0; });
  }

 private:
  std::vector<VkExtensionProperties> rows_;
};

// Chains `part` in front of what `head` leads to.
template <class Head, class Part>
void chain(Head* head, Part* part) {
  part->pNext = head->pNext;
  head->pNext = part;
}

// A family for compute: one without graphics where there is one, because it does not wait for a screen.
bool find_queue(const InstanceFunctions& call, VkPhysicalDevice device, Card* card) {
  uint32_t count = 0;
  call.GetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  call.GetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  bool found = false;
  for (uint32_t i = 0; i < count; ++i) {
    const VkQueueFlags flags = families[i].queueFlags;
    if ((flags & VK_QUEUE_COMPUTE_BIT) == 0 || families[i].queueCount == 0) continue;
    const bool only = (flags & VK_QUEUE_GRAPHICS_BIT) == 0;
    if (!found || only) {
      card->queue_family = i;
      card->queues = families[i].queueCount;
      card->time_bits = families[i].timestampValidBits;
    }
    found = true;
    if (only) break;
  }
  return found;
}

void read_memory(const InstanceFunctions& call, Card* card) {
  call.GetPhysicalDeviceMemoryProperties(card->handle, &card->memory);
  const VkPhysicalDeviceMemoryProperties& m = card->memory;
  bool all = true, mapped = false;
  for (uint32_t h = 0; h < m.memoryHeapCount; ++h) {
    const bool own = (m.memoryHeaps[h].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    if (own) card->memory_bytes += m.memoryHeaps[h].size;
    all = all && own;
  }
  constexpr VkMemoryPropertyFlags kBoth =
      VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  for (uint32_t t = 0; t < m.memoryTypeCount; ++t) mapped = mapped || (m.memoryTypes[t].propertyFlags & kBoth) == kBoth;
  // A card behind a bus may show all of its memory as well, but the host reads it a hundred times slower than its own.
  const bool beside =
      card->type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU || card->type == VK_PHYSICAL_DEVICE_TYPE_CPU || all;
  card->unified = mapped && beside && card->type != VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

void read_limits(const VkPhysicalDeviceLimits& limits, gpu::Target* t) {
  t->workgroup = limits.maxComputeWorkGroupInvocations;
  t->workgroup_x = limits.maxComputeWorkGroupSize[0];
  t->workgroup_y = limits.maxComputeWorkGroupSize[1];
  t->workgroup_z = limits.maxComputeWorkGroupSize[2];
  t->groups_x = limits.maxComputeWorkGroupCount[0];
  t->groups_y = limits.maxComputeWorkGroupCount[1];
  t->groups_z = limits.maxComputeWorkGroupCount[2];
  t->shared_bytes = limits.maxComputeSharedMemorySize;
  t->bindings = std::min({limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers,
                          limits.maxPerStageResources, 32u});
  t->push_words = limits.maxPushConstantsSize / 4;
  t->buffer_bytes = limits.maxStorageBufferRange;
}

// An empty struct of Vulkan's.
template <class Struct>
Struct typed(VkStructureType type) {
  Struct s = {};
  s.sType = type;
  return s;
}

// Shapes of halves with float sums. A kernel owns 8 halves at once of each line, so multiples of 8 are taken; of
// those the most products for what is loaded come first.
std::vector<gpu::MatrixUnit> units_of(ListCooperativeMatrices list, VkPhysicalDevice device) {
  std::vector<gpu::MatrixUnit> units;
  uint32_t count = 0;
  if (list == nullptr || list(device, &count, nullptr) != VK_SUCCESS) return units;
  std::vector<CooperativeMatrixRow> rows(count);
  if (list(device, &count, rows.data()) < VK_SUCCESS) count = 0;
  rows.resize(std::min<size_t>(count, rows.size()));
  for (const CooperativeMatrixRow& r : rows) {
    const bool halves = r.a == kCooperativeFloat16 && r.b == kCooperativeFloat16 && r.c == kCooperativeFloat32 &&
                        r.result == kCooperativeFloat32 && r.saturates == VK_FALSE && r.scope == kCooperativeSubgroup;
    const auto fits = [](uint32_t extent) { return extent % 8 == 0 && extent != 0 && extent <= 32; };
    if (halves && fits(r.m) && fits(r.n) && fits(r.k)) units.push_back({r.m, r.n, r.k});
  }
  const auto size = [](const gpu::MatrixUnit& u) { return u.m * u.n * u.k; };
  std::stable_sort(units.begin(), units.end(), [&](const auto& a, const auto& b) { return size(a) > size(b); });
  return units;
}

// "" or why kernels cannot run on it. `version` is the instance's.
std::string read_card(const InstanceFunctions& call, ListCooperativeMatrices list, uint32_t version,
                      VkPhysicalDevice device, Card* card) {
  card->handle = device;
  VkPhysicalDeviceProperties first = {};
  call.GetPhysicalDeviceProperties(device, &first);
  card->name = first.deviceName;
  card->type = first.deviceType;
  if (first.apiVersion < kLeast) return "has Vulkan " + version_text(first.apiVersion) + ", and 1.1 is needed";
  if (!find_queue(call, device, card)) return "has no queue for compute";

  const Extensions extensions(call, device);
  const bool is_1_2 = std::min(first.apiVersion, version) >= VK_API_VERSION_1_2;
  card->timeline_is_core = is_1_2;
  const auto has = [&](const char* name) { return is_1_2 || extensions.has(name); };

  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
  auto storage16 =
      typed<VkPhysicalDevice16BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  auto storage8 = typed<VkPhysicalDevice8BitStorageFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  auto small =
      typed<VkPhysicalDeviceShaderFloat16Int8Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  auto timeline =
      typed<VkPhysicalDeviceTimelineSemaphoreFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES);
  auto model =
      typed<VkPhysicalDeviceVulkanMemoryModelFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
  CooperativeMatrixFeatures cooperative;
  // Subgroups of one size, which kernels with matrices count on.
  const bool sizes = extensions.has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  const bool matrices = is_1_2 && sizes && extensions.has(kCooperativeMatrix);
  chain(&features, &storage16);
  if (matrices) {
    chain(&features, &model);
    chain(&features, &cooperative);
  }
  if (has(VK_KHR_8BIT_STORAGE_EXTENSION_NAME)) chain(&features, &storage8);
  if (has(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME)) chain(&features, &small);
  if (has(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME)) chain(&features, &timeline);
  call.GetPhysicalDeviceFeatures2(device, &features);
  if (timeline.timelineSemaphore == VK_FALSE) return "has no timeline semaphores (Vulkan 1.2, or their extension)";

  VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, nullptr, {}};
  auto id = typed<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
  auto most = typed<VkPhysicalDeviceMaintenance3Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
  auto subgroup = typed<VkPhysicalDeviceSubgroupProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  auto floats =
      typed<VkPhysicalDeviceFloatControlsProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
  auto driver = typed<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
  auto host = typed<VkPhysicalDeviceExternalMemoryHostPropertiesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
  auto lanes = typed<VkPhysicalDeviceSubgroupSizeControlPropertiesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT);
  if (matrices) chain(&properties, &lanes);
  chain(&properties, &id);
  chain(&properties, &most);
  chain(&properties, &subgroup);
  const bool says_driver = has(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
  const bool imports = extensions.has(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
  // Code that asks for them needs 1.2, whose instructions they are part of; before, they are an extension's.
  if (is_1_2) chain(&properties, &floats);
  if (says_driver) chain(&properties, &driver);
  if (imports) chain(&properties, &host);
  call.GetPhysicalDeviceProperties2(device, &properties);
  const VkPhysicalDeviceLimits& limits = properties.properties.limits;

  std::memcpy(card->uuid, id.deviceUUID, sizeof(card->uuid));
  card->vendor = vendor_of(first.vendorID);
  card->vendor_number = first.vendorID;
  card->device_number = first.deviceID;
  std::memcpy(card->cache_uuid, first.pipelineCacheUUID, sizeof(card->cache_uuid));
  char number[32];
  std::snprintf(number, sizeof(number), "%08x", first.driverVersion);
  card->driver = says_driver ? std::string(driver.driverName) + " " + driver.driverInfo : std::string(number);
  card->allocation_bytes = most.maxMemoryAllocationSize;
  card->max_buffer_bytes = most.maxMemoryAllocationSize;
  card->time_ns = limits.timestampPeriod;
  card->place_alignment = limits.minStorageBufferOffsetAlignment;
  card->checked_access = features.features.robustBufferAccess != VK_FALSE;
  if (imports) card->import_alignment = host.minImportedHostPointerAlignment;
  read_memory(call, card);

  gpu::Target& t = card->target;
  read_limits(limits, &t);
  t.subgroup = std::max(subgroup.subgroupSize, 1u);
  t.storage16 = storage16.storageBuffer16BitAccess != VK_FALSE;
  t.storage8 = storage8.storageBuffer8BitAccess != VK_FALSE;
  t.float16 = small.shaderFloat16 != VK_FALSE;
  t.int8 = small.shaderInt8 != VK_FALSE;
  t.int16 = features.features.shaderInt16 != VK_FALSE;
  t.int64 = features.features.shaderInt64 != VK_FALSE;
  t.float64 = features.features.shaderFloat64 != VK_FALSE;
  t.keeps_nan32 = floats.shaderSignedZeroInfNanPreserveFloat32 != VK_FALSE;
  t.keeps_denormals32 = floats.shaderDenormPreserveFloat32 != VK_FALSE;
  t.rounds_even32 = floats.shaderRoundingModeRTEFloat32 != VK_FALSE;

  if (matrices && cooperative.cooperativeMatrix != VK_FALSE && model.vulkanMemoryModel != VK_FALSE && t.float16 &&
      lanes.minSubgroupSize == lanes.maxSubgroupSize)
    t.units = units_of(list, device);

  card->emulated = card->type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  card->launch_ns = kLaunchNs;
  card->transfer = kTransfer;
  card->detail = card->name + ", Vulkan " + version_text(first.apiVersion) + ", subgroups of " +
                 std::to_string(t.subgroup) + (t.float16 ? ", float16" : "") +
                 (t.units.empty() ? "" : ", matrix units") + (t.int8 ? ", int8" : "") +
                 (card->unified ? ", shares the host's memory" : "");
  return "";
}

int rank(const Card& card) {
  switch (card.type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 4;
    default:
      return 3;
  }
}

}  // namespace

std::unique_ptr<Instance> Instance::open(const char* library, std::string* why) {
  const char* path = library != nullptr ? library : std::getenv("VIREO_VULKAN_LIBRARY");
  if (path == nullptr) path = "libvulkan.so.1";
  // It stays open: drivers leave threads and handlers behind that a closed library would take the code from.
  void* const opened = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (opened == nullptr) {
    *why = std::string("Vulkan's loader is not installed: ") + dlerror();
    return nullptr;
  }
  const auto find = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(opened, "vkGetInstanceProcAddr"));
  if (find == nullptr) {
    *why = std::string(path) + " is no Vulkan loader: it has no vkGetInstanceProcAddr";
    return nullptr;
  }
  // The function came with 1.1: where it is missing, an instance of 1.1 would be refused.
  const auto version =
      reinterpret_cast<PFN_vkEnumerateInstanceVersion>(find(VK_NULL_HANDLE, "vkEnumerateInstanceVersion"));
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(find(VK_NULL_HANDLE, "vkCreateInstance"));
  uint32_t has = VK_API_VERSION_1_0;
  if (create == nullptr || (version != nullptr && version(&has) != VK_SUCCESS) || has < kLeast) {
    *why = std::string(path) + " is of Vulkan 1.0, and 1.1 is needed: install a newer loader";
    return nullptr;
  }
  VkApplicationInfo application = {};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = application.pEngineName = "Vireo";
  application.apiVersion = std::min(has, kMost);
  VkInstanceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  std::unique_ptr<Instance> made(new Instance());
  if (const VkResult result = create(&info, nullptr, &made->handle_); result != VK_SUCCESS) {
    *why = result == VK_ERROR_INCOMPATIBLE_DRIVER
               ? std::string(
                     "no driver for Vulkan is installed (Debian's for Intel, AMD and the CPU: mesa-vulkan-drivers)")
               : "Vulkan gave no instance: VkResult " + std::to_string(result);
    made->handle_ = VK_NULL_HANDLE;
    return nullptr;
  }
  bool whole = true;
#define VIREO_VULKAN_LOOK_UP(name)                                                    \
  made->call_.name = reinterpret_cast<PFN_vk##name>(find(made->handle_, "vk" #name)); \
  whole = whole && made->call_.name != nullptr;
  VIREO_VULKAN_INSTANCE(VIREO_VULKAN_LOOK_UP)
#undef VIREO_VULKAN_LOOK_UP
  if (!whole) {
    *why = std::string(path) + " lacks functions of Vulkan 1.1";
    return nullptr;
  }
  made->list_matrices_ = find(made->handle_, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  return made->find_cards(application.apiVersion, why) ? std::move(made) : nullptr;
}

Instance::Instance() : process_(getpid()) {}

Instance::~Instance() {
  // Mesa's ends the threads of its devices, those that are at work among them.
  if (kept_.load() || getpid() != process_) return;
  if (call_.DestroyInstance != nullptr) call_.DestroyInstance(handle_, nullptr);
}

bool Instance::find_cards(uint32_t version, std::string* why) {
  uint32_t count = 0;
  VkResult result = call_.EnumeratePhysicalDevices(handle_, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  if (result == VK_SUCCESS && count != 0) result = call_.EnumeratePhysicalDevices(handle_, &count, devices.data());
  if (result < VK_SUCCESS) {
    *why = "Vulkan did not list its devices: VkResult " + std::to_string(result);
    return false;
  }
  std::string refused;
  for (uint32_t i = 0; i < count; ++i) {
    Card card;
    const auto list = reinterpret_cast<ListCooperativeMatrices>(list_matrices_);
    const std::string reason = read_card(call_, list, version, devices[i], &card);
    if (!reason.empty()) {
      refused += (refused.empty() ? "" : "; ") + card.name + " " + reason;
      continue;
    }
    // Two drivers may offer one card. The first that the loader lists is the system's choice.
    static constexpr uint8_t kNone[VK_UUID_SIZE] = {};
    const bool known = std::any_of(cards_.begin(), cards_.end(), [&card](const Card& other) {
      return std::memcmp(other.uuid, card.uuid, sizeof(card.uuid)) == 0 &&
             std::memcmp(card.uuid, kNone, sizeof(kNone)) != 0;
    });
    if (!known) cards_.push_back(std::move(card));
  }
  std::stable_sort(cards_.begin(), cards_.end(), [](const Card& a, const Card& b) { return rank(a) < rank(b); });
  if (!cards_.empty()) return true;
  *why = refused.empty() ? "no driver of Vulkan has a device here" : refused;
  return false;
}

}  // namespace vireo::vulkan
