// A Vulkan that fails on demand: what no driver does when a test asks for it.
//
// It is a loader, a driver and a card in one shared library, made of the host's memory. Its card knows one kernel:
// every dispatch does what testing.h's add_kernel() says, whatever code the pipeline was made of.
#ifndef VIREO_DELEGATES_VULKAN_FAKE_CONTROL_H_
#define VIREO_DELEGATES_VULKAN_FAKE_CONTROL_H_

#include <atomic>
#include <cstdint>

#include "delegates/vulkan/functions.h"
#include "vireo/vireo.h"

namespace vireo::vulkan::fake {

// What a test sets, and what it reads.
struct Control {
  // The card
  uint32_t loader_version = VK_API_VERSION_1_3;
  uint32_t version = VK_API_VERSION_1_2;
  uint32_t cards = 1;  // physical devices that are listed
  bool same_uuid = false;
  bool queue = true, timeline = true;
  uint32_t queues = 1;
  uint32_t time_bits = 12;
  uint8_t cache_uuid = 7;        // of the driver's compiled kernels
  std::atomic<uint64_t> now{0};  // what stamps say, above their bits as well
  bool shares_memory = false;    // an integrated card: all memory is mapped
  bool cpu = false;              // it computes on the CPU
  bool imports = false;          // VK_EXT_external_memory_host
  bool matrices = false;         // VK_KHR_cooperative_matrix
  uint64_t memory_bytes = 64u << 20;

  // Calls that may fail are counted; call number `fail_at` gives `result`, and all later ones where `for_ever`.
  std::atomic<int64_t> calls{0}, fail_at{-1};
  std::atomic<int32_t> result{VK_ERROR_OUT_OF_DEVICE_MEMORY};
  std::atomic<bool> for_ever{false};
  // Submits wait until this is false again.
  std::atomic<bool> hangs{false};

  std::atomic<int64_t> alive{0};                  // objects that were made and not destroyed
  std::atomic<int64_t> instances{0};              // of these, the instances
  std::atomic<int64_t> misuse{0};                 // objects that were destroyed while the card worked with them
  std::atomic<int64_t> taken{0};                  // bytes of memory that were allocated and not freed
  std::atomic<int64_t> caches_taken{0};           // made with what another process kept
  std::atomic<int64_t> submits[3] = {};           // by vireo_priority
  std::atomic<int64_t> pipelines{0}, uploads{0};  // made, and copies run, since the beginning
};

using ControlFunction = Control* (*)();
#define VIREO_FAKE_CONTROL "vireo_fake_vulkan_control"

}  // namespace vireo::vulkan::fake

#endif  // VIREO_DELEGATES_VULKAN_FAKE_CONTROL_H_
