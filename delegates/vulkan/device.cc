#include "delegates/vulkan/device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "delegates/vulkan/cooperative.h"

namespace vireo::vulkan {
namespace {

// How long a cancelled submit may take. A driver that computes on the CPU runs threads of this process: they must not
// meet what the host frees, and the process must not end under them. Where a card works on the host's own memory, the
// host uses that memory again; the systems' drivers reset a hanging card in half of this time.
uint64_t patience(const Card& card) {
  constexpr uint64_t kSecond = 1'000'000'000;
  if (card.type == VK_PHYSICAL_DEVICE_TYPE_CPU) return UINT64_MAX;
  return (card.unified && card.import_alignment != 0 ? 20 : 2) * kSecond;
}

}  // namespace

vireo_status status_of(VkResult result) {
  switch (result) {
    case VK_SUCCESS:
      return VIREO_OK;
    case VK_NOT_READY:
    case VK_TIMEOUT:
      return VIREO_BUSY;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_MEMORY_MAP_FAILED:
      return VIREO_OUT_OF_ARENA;
    case VK_ERROR_DEVICE_LOST:
      return VIREO_DEVICE_LOST;
    default:
      return VIREO_UNSUPPORTED;
  }
}

Device::Device(const Card& card, const Instance& instance)
    : card_(card), instance_(instance), lane_count_(std::min(card.queues, gpu::kLanes)) {
  cancel_ns = patience(card);
}

vireo_status Device::open(const Instance& instance, const Card& card, std::shared_ptr<gpu::Device>* out,
                          std::string* why) {
  std::shared_ptr<Device> made(new Device(card, instance));
  if (const vireo_status status = made->start(why); status != VIREO_OK) return status;
  *out = std::move(made);
  return VIREO_OK;
}

vireo_status Device::start(std::string* why) {
  // Of lanes 0, 1 and 2; where there are two, the second is for high priority.
  const float priorities[gpu::kLanes] = {0.5f, lane_count_ == 2 ? 1.0f : 0.0f, 1};
  VkDeviceQueueCreateInfo queue = {};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = card_.queue_family;
  queue.queueCount = lane_count_;
  queue.pQueuePriorities = priorities;

  // What the target says is what is enabled.
  const gpu::Target& t = card_.target;
  std::vector<const char*> extensions;
  VkPhysicalDeviceFeatures2 features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
  features.features.robustBufferAccess = card_.checked_access;
  features.features.shaderInt16 = t.int16;
  features.features.shaderInt64 = t.int64;
  features.features.shaderFloat64 = t.float64;
  const auto enable = [&](auto* part, bool wanted, const char* extension) {
    if (!wanted) return;
    part->pNext = features.pNext;
    features.pNext = part;
    if (!card_.timeline_is_core && extension != nullptr) extensions.push_back(extension);
  };
  VkPhysicalDevice16BitStorageFeatures storage16 = {};
  storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
  storage16.storageBuffer16BitAccess = VK_TRUE;
  enable(&storage16, t.storage16, nullptr);
  VkPhysicalDevice8BitStorageFeatures storage8 = {};
  storage8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
  storage8.storageBuffer8BitAccess = VK_TRUE;
  enable(&storage8, t.storage8, VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  VkPhysicalDeviceShaderFloat16Int8Features small = {};
  small.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  small.shaderFloat16 = t.float16;
  small.shaderInt8 = t.int8;
  enable(&small, t.float16 || t.int8, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {};
  timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
  timeline.timelineSemaphore = VK_TRUE;
  enable(&timeline, true, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME);
  VkPhysicalDeviceVulkanMemoryModelFeatures model = {};
  model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
  model.vulkanMemoryModel = VK_TRUE;
  CooperativeMatrixFeatures cooperative;
  cooperative.cooperativeMatrix = VK_TRUE;
  enable(&model, !t.units.empty(), nullptr);
  enable(&cooperative, !t.units.empty(), nullptr);
  if (!t.units.empty()) extensions.push_back(kCooperativeMatrix);
  if (card_.import_alignment != 0) extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);

  VkDeviceCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &features;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  if (const VkResult result = instance_.call().CreateDevice(card_.handle, &info, nullptr, &handle_);
      result != VK_SUCCESS) {
    handle_ = VK_NULL_HANDLE;
    *why = card_.name + ": Vulkan gave no device: VkResult " + std::to_string(result);
    return status_of(result);
  }
  if (const vireo_status status = find_functions(why); status != VIREO_OK) return status;
  VkSemaphoreTypeCreateInfo kind = {};
  kind.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  kind.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore = {};
  semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  semaphore.pNext = &kind;
  for (uint32_t i = 0; i < lane_count_; ++i) {
    Lane& l = lanes_[i];
    call_.GetDeviceQueue(handle_, card_.queue_family, i, &l.queue);
    if (const VkResult result = call_.CreateSemaphore(handle_, &semaphore, nullptr, &l.timeline);
        result != VK_SUCCESS) {
      l.timeline = VK_NULL_HANDLE;
      *why = card_.name + ": no semaphore: VkResult " + std::to_string(result);
      return status_of(result);
    }
  }
  pipelines_ = std::make_unique<Pipelines>(call_, handle_);
  return VIREO_OK;
}

vireo_status Device::find_functions(std::string* why) {
  const auto find = [this](const char* name) { return instance_.call().GetDeviceProcAddr(handle_, name); };
  bool whole = true;
#define VIREO_VULKAN_LOOK_UP(name)                               \
  call_.name = reinterpret_cast<PFN_vk##name>(find("vk" #name)); \
  whole = whole && call_.name != nullptr;
  VIREO_VULKAN_DEVICE(VIREO_VULKAN_LOOK_UP)
#undef VIREO_VULKAN_LOOK_UP
  const bool core = card_.timeline_is_core;
  call_.WaitSemaphores =
      reinterpret_cast<PFN_vkWaitSemaphores>(find(core ? "vkWaitSemaphores" : "vkWaitSemaphoresKHR"));
  call_.GetSemaphoreCounterValue = reinterpret_cast<PFN_vkGetSemaphoreCounterValue>(
      find(core ? "vkGetSemaphoreCounterValue" : "vkGetSemaphoreCounterValueKHR"));
  call_.GetMemoryHostPointerProperties = reinterpret_cast<PFN_vkGetMemoryHostPointerPropertiesEXT>(
      card_.import_alignment == 0 ? nullptr : find("vkGetMemoryHostPointerPropertiesEXT"));
  if (whole && call_.WaitSemaphores != nullptr && call_.GetSemaphoreCounterValue != nullptr) return VIREO_OK;
  *why = card_.name + ": its driver lacks functions of Vulkan 1.1";
  return VIREO_UNSUPPORTED;
}

Device::~Device() {
  if (handle_ == VK_NULL_HANDLE) return;
  if (untouchable()) {
    if (pipelines_ != nullptr) pipelines_->leave();
    instance_.keep();
    return;
  }
  pipelines_.reset();
  if (call_.DestroyDevice == nullptr) return;
  if (call_.DeviceWaitIdle != nullptr) (void)call_.DeviceWaitIdle(handle_);
  release_staging();
  if (copies_pool_ != VK_NULL_HANDLE) call_.DestroyCommandPool(handle_, copies_pool_, nullptr);
  for (const Lane& l : lanes_) {
    if (l.timeline != VK_NULL_HANDLE) call_.DestroySemaphore(handle_, l.timeline, nullptr);
  }
  call_.DestroyDevice(handle_, nullptr);
}

vireo_status Device::take(VkResult result) {
  if (result == VK_ERROR_DEVICE_LOST) lose();
  return status_of(result);
}

// Drivers compare the head as well; not all did so at all times.
void Device::take_code(const void* code, size_t bytes) {
  struct Head {  // VkPipelineCacheHeaderVersionOne
    uint32_t bytes, version, vendor, device;
    uint8_t uuid[VK_UUID_SIZE];
  } head = {};
  if (bytes < sizeof(head)) return;
  std::memcpy(&head, code, sizeof(head));
  if (head.bytes != sizeof(head) || head.version != VK_PIPELINE_CACHE_HEADER_VERSION_ONE ||
      head.vendor != card_.vendor_number || head.device != card_.device_number ||
      std::memcmp(head.uuid, card_.cache_uuid, sizeof(head.uuid)) != 0)
    return;
  (void)pipelines_->take(code, bytes);
}

// ---- Memory

bool Device::find_type(uint32_t allowed, Use use, uint32_t* out) const {
  constexpr VkMemoryPropertyFlags kOwn = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                  kMapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                  kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  // The best first: each must have all of its flags.
  const VkMemoryPropertyFlags staging[] = {kMapped | kCached, kMapped, 0},
                              shared[] = {kOwn | kMapped | kCached, kOwn | kMapped, 0}, far[] = {kOwn, 0};
  const VkMemoryPropertyFlags* wanted = use == Use::kStaging ? staging : card_.unified ? shared : far;
  for (;; ++wanted) {
    for (uint32_t t = 0; t < card_.memory.memoryTypeCount; ++t) {
      const VkMemoryPropertyFlags has = card_.memory.memoryTypes[t].propertyFlags;
      // Protected and lazily made memory is for other uses, and some types of AMD's are slow for the device itself.
      constexpr VkMemoryPropertyFlags kNever = VK_MEMORY_PROPERTY_PROTECTED_BIT |
                                               VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                                               VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;
      if ((allowed >> t & 1) == 0 || (has & kNever) != 0 || (has & *wanted) != *wanted) continue;
      if (*wanted == 0 && use == Use::kStaging) return false;  // the host could not see it
      *out = t;
      return true;
    }
    if (*wanted == 0) return false;
  }
}

vireo_status Device::bind_memory(Block* block, const VkMemoryRequirements& needs, uint32_t type, const void* chain) {
  VkMemoryAllocateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  info.pNext = chain;
  info.allocationSize = needs.size;
  info.memoryTypeIndex = type;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkResult result = call_.AllocateMemory(handle_, &info, nullptr, &memory);
  if (result != VK_SUCCESS) return take(result);
  block->memory = reinterpret_cast<uint64_t>(memory);
  result = call_.BindBufferMemory(handle_, buffer_of(*block), memory, 0);
  return take(result);
}

vireo_status Device::allocate(uint64_t bytes, Use use, Block* out) {
  if (lost()) return VIREO_DEVICE_LOST;
  if (bytes > card_.allocation_bytes) return VIREO_OUT_OF_ARENA;
  Block block;
  block.bytes = gpu::words_up(bytes);
  VkBuffer buffer = VK_NULL_HANDLE;
  VkBufferCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = block.bytes;
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  if (const VkResult result = call_.CreateBuffer(handle_, &info, nullptr, &buffer); result != VK_SUCCESS)
    return take(result);
  block.handle = reinterpret_cast<uint64_t>(buffer);
  VkMemoryRequirements needs = {};
  call_.GetBufferMemoryRequirements(handle_, buffer, &needs);
  uint32_t type = 0;
  vireo_status status = VIREO_OUT_OF_ARENA;
  if (needs.size <= card_.allocation_bytes && find_type(needs.memoryTypeBits, use, &type))
    status = bind_memory(&block, needs, type, nullptr);
  if (status == VIREO_OK) {
    constexpr VkMemoryPropertyFlags kMapped =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const bool maps =
        (card_.memory.memoryTypes[type].propertyFlags & kMapped) == kMapped && (use == Use::kStaging || card_.unified);
    void* at = nullptr;
    if (maps) status = take(call_.MapMemory(handle_, memory_of(block), 0, VK_WHOLE_SIZE, 0, &at));
    block.mapped = static_cast<uint8_t*>(at);
  }
  memory_used_ += block.bytes;
  if (status != VIREO_OK) {
    release(&block);
    return status;
  }
  *out = block;
  return VIREO_OK;
}

vireo_status Device::import(void* memory, uint64_t bytes, Block* out) {
  if (lost()) return VIREO_DEVICE_LOST;
  const uint64_t alignment = card_.import_alignment;
  if (alignment == 0 || call_.GetMemoryHostPointerProperties == nullptr || bytes == 0 || bytes % alignment != 0 ||
      reinterpret_cast<uintptr_t>(memory) % alignment != 0)
    return VIREO_UNSUPPORTED;
  constexpr auto kKind = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkMemoryHostPointerPropertiesEXT properties = {};
  properties.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
  if (call_.GetMemoryHostPointerProperties(handle_, kKind, memory, &properties) != VK_SUCCESS) return VIREO_UNSUPPORTED;
  Block block;
  block.bytes = bytes;
  VkExternalMemoryBufferCreateInfo external = {};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = kKind;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkBufferCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.pNext = &external;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  if (const VkResult result = call_.CreateBuffer(handle_, &info, nullptr, &buffer); result != VK_SUCCESS)
    return take(result);
  block.handle = reinterpret_cast<uint64_t>(buffer);
  VkMemoryRequirements needs = {};
  call_.GetBufferMemoryRequirements(handle_, buffer, &needs);
  uint32_t type = 0;
  vireo_status status = VIREO_UNSUPPORTED;
  // Coherent, or the host would have to say what it wrote.
  if (needs.size <= bytes && find_type(needs.memoryTypeBits & properties.memoryTypeBits, Use::kStaging, &type)) {
    VkImportMemoryHostPointerInfoEXT where = {};
    where.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
    where.handleType = kKind;
    where.pHostPointer = memory;
    needs.size = bytes;
    status = bind_memory(&block, needs, type, &where);
  }
  memory_used_ += block.bytes;
  if (status != VIREO_OK) {
    release(&block);
    return status == VIREO_DEVICE_LOST ? status : vireo_status{VIREO_UNSUPPORTED};
  }
  block.mapped = static_cast<uint8_t*>(memory);
  *out = block;
  return VIREO_OK;
}

void Device::release(Block* block) {
  memory_used_ -= block->bytes;
  const bool kept = untouchable();
  if (!kept && block->handle != 0) call_.DestroyBuffer(handle_, buffer_of(*block), nullptr);
  if (!kept && block->memory != 0) call_.FreeMemory(handle_, memory_of(*block), nullptr);
  *block = Block{};
}

// ---- Work

// Priorities are lanes in their order, where the card has a queue for each.
uint32_t Device::lane(vireo_priority priority) const {
  if (lane_count_ == gpu::kLanes) return priority < gpu::kLanes ? priority : 0;
  return lane_count_ == 2 && priority == VIREO_PRIORITY_HIGH ? 1 : 0;
}

vireo_status Device::submit(gpu::Commands recorded, vireo_priority priority, Ticket* out) {
  if (lost()) return VIREO_DEVICE_LOST;
  auto* const commands = static_cast<VkCommandBuffer>(recorded);
  const uint32_t number = lane(priority);
  Lane& l = lanes_[number];
  const std::lock_guard<std::mutex> lock(queue_mutex_);
  const uint64_t next = l.last + 1;
  VkTimelineSemaphoreSubmitInfo values = {};
  values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &next;
  VkSubmitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &values;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &l.timeline;
  if (const VkResult result = call_.QueueSubmit(l.queue, 1, &info, VK_NULL_HANDLE); result != VK_SUCCESS)
    return take(result);
  l.last = next;
  *out = gpu::ticket_of(next, number);
  submits_.fetch_add(1, std::memory_order_relaxed);
  return VIREO_OK;
}

bool Device::idle() {
  for (uint32_t i = 0; i < lane_count_; ++i) {
    if (const uint64_t last = lanes_[i].last; last != 0 && !reached(gpu::ticket_of(last, i))) return false;
  }
  return true;
}

bool Device::reached(Ticket ticket) {
  if (ticket == 0) return true;
  if (lost() && !hangs()) return true;  // Vulkan: what was under way on a lost device counts as done
  uint64_t now = 0;
  const VkResult result = call_.GetSemaphoreCounterValue(handle_, lanes_[gpu::lane_of(ticket)].timeline, &now);
  if (result != VK_SUCCESS) return take(result) == VIREO_DEVICE_LOST;
  return now >= gpu::turn_of(ticket);
}

vireo_status Device::wait(Ticket ticket, uint64_t timeout_ns) {
  if (lost()) return VIREO_DEVICE_LOST;
  if (ticket == 0) return VIREO_OK;
  const uint64_t turn = gpu::turn_of(ticket);
  VkSemaphoreWaitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &lanes_[gpu::lane_of(ticket)].timeline;
  info.pValues = &turn;
  const vireo_status status = take(call_.WaitSemaphores(handle_, &info, timeout_ns));
  return lost() ? vireo_status{VIREO_DEVICE_LOST} : status;
}

// ---- Copies

vireo_status Device::prepare_copies() {
  VkCommandPoolCreateInfo pool = {};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = card_.queue_family;
  if (copies_pool_ == VK_NULL_HANDLE) {
    if (const VkResult result = call_.CreateCommandPool(handle_, &pool, nullptr, &copies_pool_); result != VK_SUCCESS) {
      copies_pool_ = VK_NULL_HANDLE;
      return take(result);
    }
  }
  if (copies_[0] == VK_NULL_HANDLE) {
    VkCommandBufferAllocateInfo commands = {};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    commands.commandPool = copies_pool_;
    commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    commands.commandBufferCount = 2;
    VkCommandBuffer made[2] = {};
    if (const VkResult result = call_.AllocateCommandBuffers(handle_, &commands, made); result != VK_SUCCESS)
      return take(result);
    copies_[0] = made[0];
    copies_[1] = made[1];
  }
  return VIREO_OK;
}

vireo_status Device::copy(uint32_t half, const Block& from, uint64_t from_offset, const Block& to, uint64_t to_offset,
                          uint64_t bytes, Ticket* out) {
  const VkCommandBuffer commands = copies_[half];
  VkCommandBufferBeginInfo begin = {};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (const vireo_status status = take(call_.BeginCommandBuffer(commands, &begin)); status != VIREO_OK) return status;
  constexpr VkPipelineStageFlags kWork = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkMemoryBarrier barrier = {};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  call_.CmdPipelineBarrier(commands, kWork, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
  const VkBufferCopy region = {from_offset, to_offset, bytes};
  call_.CmdCopyBuffer(commands, buffer_of(from), buffer_of(to), 1, &region);
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  call_.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                           nullptr, 0, nullptr);
  const vireo_status status = take(call_.EndCommandBuffer(commands));
  return status == VIREO_OK ? submit(commands, VIREO_PRIORITY_NORMAL, out) : status;
}

}  // namespace vireo::vulkan
