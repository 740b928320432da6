// A part as it runs: its kernels, and command buffers that were recorded for the places of its values. All memory that
// kernels see is the host's to plan: values, weights and inner values lie in buffers.
#ifndef VIREO_DELEGATES_VULKAN_PART_H_
#define VIREO_DELEGATES_VULKAN_PART_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "delegates/gpu/schedule/schedule.h"
#include "delegates/vulkan/device.h"

namespace vireo::vulkan {

// Memory in the host's hands (vireo_place.buffer).
struct Buffer {
  std::shared_ptr<Device> device;
  Block block;
  uint64_t id = 0;
  std::atomic<Ticket> last{0};  // of the newest submit that reads or writes it
};

// Where a value lies.
struct Place {
  Buffer* buffer = nullptr;
  uint64_t offset = 0;
};

class Part {
 public:
  explicit Part(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  // Makes pipelines. `weights` has the place of each of the schedule's, `inner` that of the inner values (no buffer
  // where it has none). On an error *why says what failed.
  vireo_status load(gpu::Schedule schedule, std::vector<Place> weights, const Place& inner, std::string* why);
  // Inputs, then outputs, as many as the schedule has. Nothing is under way.
  vireo_status bind(const Place* places);
  // Places are bound.
  vireo_status submit();
  vireo_status wait(uint64_t timeout_ns);
  // From any thread.
  void cancel();

  const gpu::Schedule& schedule() const { return schedule_; }
  Device& device() { return *device_; }

 private:
  // The commands for one set of places. Callers that take turns with a few buffers find theirs again.
  struct Recording {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::vector<VkDescriptorSet> sets;  // of each step
    std::vector<Place> places;
    std::vector<uint64_t> ids;  // of their buffers
    uint64_t used = 0;          // when it was bound last; 0: nothing is recorded
  };
  static constexpr uint32_t kRecordings = 4;

  // Whether `bytes` from there on are in a buffer of this device.
  bool holds(const Place& at, uint64_t bytes) const;
  vireo_status allocate_recordings();
  Place place_of(const Recording& recording, const gpu::Binding& binding) const;
  vireo_status record(Recording* recording);
  void write_set(const Recording& recording, uint32_t step);
  Recording& oldest();

  std::shared_ptr<Device> device_;
  gpu::Schedule schedule_;  // without the kernels' code
  std::vector<std::shared_ptr<Pipelines::Pipeline>> pipelines_;
  std::vector<Place> weights_;
  Place inner_;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkCommandPool commands_ = VK_NULL_HANDLE;
  Recording recordings_[kRecordings];
  Recording* bound_ = nullptr;
  uint64_t binds_ = 0;
  std::atomic<Ticket> ticket_{0};  // of the last submit
  std::atomic<bool> cancelled_{false};
};

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_PART_H_
