// The launches of a schedule as command buffers: one for each set of places that its values have lain at.
#ifndef VIREO_DELEGATES_VULKAN_RECORDINGS_H_
#define VIREO_DELEGATES_VULKAN_RECORDINGS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "delegates/gpu/device/device.h"
#include "delegates/vulkan/device.h"

namespace vireo::vulkan {

class Recordings final : public gpu::Recordings {
 public:
  explicit Recordings(Device& device) : device_(device) {}
  ~Recordings() override;
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  vireo_status make(gpu::Schedule schedule, std::string* why) override;

 private:
  struct Recording {
    std::vector<VkCommandBuffer> commands;  // of each piece; more than there are
    std::vector<VkDescriptorSet> sets;      // of each step
  };

  bool launches_parts() const override { return true; }
  vireo_status allocate();
  vireo_status record(uint32_t slot, const std::vector<gpu::Stretch>& pieces, const gpu::Place* places,
                      const gpu::OwnPlaces& own, std::vector<gpu::Commands>* out) override;
  bool read_times(uint32_t slot, std::vector<gpu::StepTime>* out) override;
  vireo_status record_piece(uint32_t slot, VkCommandBuffer commands, const gpu::Stretch& piece);
  void write_set(const Recording& recording, const gpu::Place* places, const gpu::OwnPlaces& own, uint32_t step);

  uint32_t first_time(uint32_t slot) const { return slot * 2 * static_cast<uint32_t>(schedule_.steps.size()); }

  Device& device_;
  std::vector<std::shared_ptr<Pipelines::Pipeline>> pipelines_;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkCommandPool commands_ = VK_NULL_HANDLE;
  VkQueryPool times_ = VK_NULL_HANDLE;  // of each set, two a step: before it and behind it
  Recording kept_[kKept];
};

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_RECORDINGS_H_
