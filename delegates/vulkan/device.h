// One logical device: its queues and its memory. Work of one priority goes into one queue, each submit with the next
// value of that queue's timeline semaphore: it is in the submit's ticket.
#ifndef VIREO_DELEGATES_VULKAN_DEVICE_H_
#define VIREO_DELEGATES_VULKAN_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "delegates/gpu/device/device.h"
#include "delegates/vulkan/instance.h"
#include "delegates/vulkan/pipelines.h"
#include "vireo/delegate.h"

namespace vireo::vulkan {

using gpu::Block;
using gpu::Ticket;
using gpu::Use;

// What a result of Vulkan is to the host.
vireo_status status_of(VkResult result);

// A block's VkBuffer and VkDeviceMemory: pointers, or numbers where pointers have 32 bits.
inline VkBuffer buffer_of(const Block& block) { return reinterpret_cast<VkBuffer>(block.handle); }
inline VkDeviceMemory memory_of(const Block& block) { return reinterpret_cast<VkDeviceMemory>(block.memory); }

class Device final : public gpu::Device {
 public:
  // VIREO_OUT_OF_ARENA or VIREO_DEVICE_LOST, with *why, where the driver gives no device.
  static vireo_status open(const Instance& instance, const Card& card, std::shared_ptr<gpu::Device>* out,
                           std::string* why);
  ~Device() override;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Card& card() const { return card_; }
  const DeviceFunctions& call() const { return call_; }
  VkDevice handle() const { return handle_; }
  Pipelines& pipelines() { return *pipelines_; }

  const gpu::Facts& facts() const override { return card_; }
  std::unique_ptr<gpu::Recordings> recordings() override;
  vireo_handle_kind handle_kind() const override { return VIREO_HANDLE_VULKAN; }
  // Hands `result` back as the host's status, and remembers a loss.
  vireo_status take(VkResult result);

  std::vector<uint8_t> code() override { return pipelines_->data(); }
  void take_code(const void* code, size_t bytes) override;
  uint64_t compiled() override { return pipelines_->compiled(); }

  vireo_status allocate(uint64_t bytes, Use use, Block* out) override;
  vireo_status import(void* memory, uint64_t bytes, Block* out) override;
  void release(Block* block) override;

  vireo_status submit(gpu::Commands commands, vireo_priority priority, Ticket* out) override;
  bool idle() override;
  bool reached(Ticket ticket) override;
  vireo_status wait(Ticket ticket, uint64_t timeout_ns) override;

 private:
  Device(const Card& card, const Instance& instance);
  vireo_status start(std::string* why);
  vireo_status find_functions(std::string* why);
  vireo_status bind_memory(Block* block, const VkMemoryRequirements& needs, uint32_t types, const void* chain);
  uint32_t lane(vireo_priority priority) const override;
  vireo_status open(uint32_t) override { return VIREO_OK; }
  bool find_type(uint32_t allowed, Use use, uint32_t* out) const;
  vireo_status prepare_copies() override;
  vireo_status copy(uint32_t half, const Block& from, uint64_t from_offset, const Block& to, uint64_t to_offset,
                    uint64_t bytes, Ticket* out) override;

  const Card& card_;
  const Instance& instance_;
  DeviceFunctions call_;
  VkDevice handle_ = VK_NULL_HANDLE;
  struct Lane {
    VkQueue queue = VK_NULL_HANDLE;
    VkSemaphore timeline = VK_NULL_HANDLE;
    std::atomic<uint64_t> last{0};  // turn
  };
  const uint32_t lane_count_;
  Lane lanes_[gpu::kLanes];
  std::unique_ptr<Pipelines> pipelines_;
  std::mutex queue_mutex_;  // guards queues, and changes of Lane::last
  VkCommandPool copies_pool_ = VK_NULL_HANDLE;
  VkCommandBuffer copies_[2] = {VK_NULL_HANDLE, VK_NULL_HANDLE};  // of each half of the staging block
};

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_DEVICE_H_
