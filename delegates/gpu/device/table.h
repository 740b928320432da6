// A GPU delegate's table for the host, for any API.
#ifndef VIREO_DELEGATES_GPU_DEVICE_TABLE_H_
#define VIREO_DELEGATES_GPU_DEVICE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "delegates/gpu/device/device.h"
#include "vireo/delegate.h"

namespace vireo::gpu {

// What an API finds on this machine. It outlives the devices that it opens.
class System {
 public:
  virtual ~System() = default;
  virtual size_t count() const = 0;
  virtual const Facts& facts(size_t card) const = 0;
  virtual vireo_status open(size_t card, std::shared_ptr<Device>* out, std::string* why) = 0;
};

// Returns NULL if there is no device; *why then says what is missing.
using Finder = std::function<std::unique_ptr<System>(std::string* why)>;

// As vireo_delegate_open. Devices are `name`, then `name`1 and so on. Without a card it opens all the same, has no
// device, and logs why.
vireo_status open_table(const char* name, const Finder& find, uint32_t abi, const vireo_host* host,
                        const vireo_delegate** out);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_TABLE_H_
