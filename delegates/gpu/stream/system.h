// The cards of this machine that a device of streams and graphs reaches.
#ifndef VIREO_DELEGATES_GPU_STREAM_SYSTEM_H_
#define VIREO_DELEGATES_GPU_STREAM_SYSTEM_H_

#include <memory>
#include <string>
#include <utility>

#include "delegates/gpu/device/table.h"
#include "delegates/gpu/stream/device.h"

namespace vireo::gpu {

template <class Api>
class StreamSystem final : public System {
 public:
  using Driver = typename Api::Driver;

  // NULL if this machine has no such card; *why then says what is missing.
  static std::unique_ptr<System> find(std::string* why) {
    std::unique_ptr<Driver> driver = Driver::open(nullptr, why);
    if (driver == nullptr) return nullptr;
    return std::make_unique<StreamSystem>(std::move(driver));
  }

  explicit StreamSystem(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}
  size_t count() const override { return driver_->cards().size(); }
  const Facts& facts(size_t card) const override { return driver_->cards()[card]; }
  vireo_status open(size_t card, std::shared_ptr<Device>* out, std::string* why) override {
    return StreamDevice<Api>::open(*driver_, driver_->cards()[card], out, why);
  }

 private:
  const std::unique_ptr<Driver> driver_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_STREAM_SYSTEM_H_
