// The launches of a schedule as command buffers: one for each set of places that its values have lain at.
#ifndef VIREO_DELEGATES_VULKAN_RECORDINGS_H_
#define VIREO_DELEGATES_VULKAN_RECORDINGS_H_

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

// What a part has besides the values of its border.
struct OwnPlaces {
  std::vector<Place> weights;  // one a weight of the schedule
  Place inner;                 // no buffer where there are no inner values
  Place data;                  // no buffer where there are no tables
  Place errors;                // no buffer where no kernel reports any
};

class Recordings {
 public:
  explicit Recordings(Device& device) : device_(device) {}
  ~Recordings();
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  // Makes pipelines. On an error *why says what failed.
  vireo_status make(gpu::Schedule schedule, std::string* why);
  // The commands for values that lie at `places`: inputs, then outputs. They are recorded where callers bring new
  // places; a few sets are kept, because callers take turns with their buffers. Nothing of it is under way.
  vireo_status at(const Place* places, const OwnPlaces& own, VkCommandBuffer* out);

  const gpu::Schedule& schedule() const { return schedule_; }  // without the kernels' code

 private:
  struct Recording {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    std::vector<VkDescriptorSet> sets;  // of each step
    std::vector<Place> places;
    std::vector<uint64_t> ids;  // of their buffers
    uint64_t used = 0;          // when it was asked for last; 0: nothing is recorded
  };
  static constexpr uint32_t kKept = 4;

  vireo_status allocate();
  Place place_of(const Recording& recording, const OwnPlaces& own, const gpu::Binding& binding) const;
  vireo_status record(const OwnPlaces& own, Recording* recording);
  void write_set(const Recording& recording, const OwnPlaces& own, uint32_t step);

  Device& device_;
  gpu::Schedule schedule_;
  std::vector<std::shared_ptr<Pipelines::Pipeline>> pipelines_;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkCommandPool commands_ = VK_NULL_HANDLE;
  Recording kept_[kKept];
  uint64_t asked_ = 0;
};

}  // namespace vireo::vulkan

#endif  // VIREO_DELEGATES_VULKAN_RECORDINGS_H_
