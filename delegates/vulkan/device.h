// One logical device: its queue, its memory, copies into and out of it, and the state of being lost.
//
// Work goes into one queue in the order of the calls, each submit with the next value of one timeline semaphore: that
// value is its ticket. So "is it done", "wait for it" and "is this buffer free" are one comparison.
#ifndef VIREO_DELEGATES_VULKAN_DEVICE_H_
#define VIREO_DELEGATES_VULKAN_DEVICE_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "delegates/vulkan/instance.h"
#include "delegates/vulkan/pipelines.h"
#include "vireo/delegate.h"

namespace vireo::vulkan {

using Ticket = uint64_t;  // of a submit; 0: of none, and done

// Bindings and buffers are whole words, and never empty.
constexpr uint64_t words_up(uint64_t bytes) { return bytes == 0 ? 4 : (bytes + 3) / 4 * 4; }

// What a result of Vulkan is to the host.
vireo_status status_of(VkResult result);

// A VkBuffer with memory of its own.
struct Block {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  uint64_t bytes = 0;         // at least what was asked for, whole words
  uint8_t* mapped = nullptr;  // where the host sees it
};

enum class Use : uint8_t {
  kDevice,  // what kernels work on: mapped only where the device shares the host's memory
  kStaging  // mapped, what copies go through and what kernels tell the host
};

class Device {
 public:
  // VIREO_OUT_OF_ARENA or VIREO_DEVICE_LOST, with *why, where the driver gives no device.
  static vireo_status open(const Instance& instance, const Card& card, std::shared_ptr<Device>* out, std::string* why);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Card& card() const { return card_; }
  const DeviceFunctions& call() const { return call_; }
  VkDevice handle() const { return handle_; }
  Pipelines& pipelines() { return *pipelines_; }

  // Lost is for ever: a reset opens another device.
  bool lost() const;
  // Nothing of it may be destroyed: it is another process's, or still works on what it was given.
  bool untouchable();
  // Of a buffer: no two have the same.
  uint64_t next_id() { return ++ids_; }
  // Hands `result` back as the host's status, and remembers a loss.
  vireo_status take(VkResult result);

  vireo_status allocate(uint64_t bytes, Use use, Block* out);
  // The host's memory as it lies. VIREO_UNSUPPORTED: the driver does not take it.
  vireo_status import(void* memory, uint64_t bytes, Block* out);
  // Nothing is under way on it; what still is, in a device that hangs, keeps its memory.
  void release(Block* block);
  uint64_t memory_used() const { return memory_used_.load(std::memory_order_relaxed); }

  vireo_status submit(VkCommandBuffer commands, Ticket* out);
  // Whether it is done, or nothing will ever come of it any more.
  bool reached(Ticket ticket);
  // VIREO_OK, VIREO_BUSY or VIREO_DEVICE_LOST.
  vireo_status wait(Ticket ticket, uint64_t timeout_ns);
  // What was submitted up to `ticket` touches nothing any more, or the device is given up.
  void settle(Ticket ticket);
  // The ticket of the newest submit.
  Ticket newest() const { return last_.load(); }
  uint64_t submits() const { return submits_.load(std::memory_order_relaxed); }
  bool idle();

  // Makes the block that copies go through, if it is not there.
  vireo_status open_staging();
  // Copies between the host and a block, in the queue's order. `from` may change afterwards; `to` is there on return.
  vireo_status write(const Block& block, uint64_t offset, const void* from, uint64_t bytes);
  vireo_status read(const Block& block, uint64_t offset, void* to, uint64_t bytes);

  uint64_t cancel_ns;                          // how long a cancelled submit may take to come to its end
  uint64_t copy_ns = VIREO_DEVICE_TIMEOUT_NS;  // how long a copy waits for what the queue has before it

 private:
  Device(const Card& card, const Instance& instance);
  vireo_status start(std::string* why);
  vireo_status find_functions(std::string* why);
  vireo_status bind_memory(Block* block, const VkMemoryRequirements& needs, uint32_t types, const void* chain);
  bool find_type(uint32_t allowed, Use use, uint32_t* out) const;
  // One half of the staging block, when the copy before it through there is done.
  struct Half {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    Ticket last = 0;
  };
  vireo_status stage();  // under staging_mutex_
  vireo_status copy(Half* half, VkBuffer from, uint64_t from_offset, VkBuffer to, uint64_t to_offset, uint64_t bytes);
  vireo_status await(Ticket ticket);
  // A device that does not come to an end in time: it is lost, and what it works on stays where it is.
  void give_up();

  const Card& card_;
  const Instance& instance_;
  DeviceFunctions call_;
  VkDevice handle_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::unique_ptr<Pipelines> pipelines_;
  const pid_t process_;  // a process that was forked since has no device
  std::atomic<bool> lost_{false}, hangs_{false};
  std::atomic<uint64_t> memory_used_{0}, submits_{0}, ids_{0};
  std::mutex queue_mutex_;
  std::atomic<Ticket> last_{0};  // changes under queue_mutex_
  std::mutex staging_mutex_;
  Block staging_;
  VkCommandPool staging_pool_ = VK_NULL_HANDLE;
  Half halves_[2];
  uint32_t next_half_ = 0;
};

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_DEVICE_H_
