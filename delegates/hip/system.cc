#include "delegates/hip/system.h"

#include <utility>

#include "delegates/hip/device.h"

namespace vireo::hip {
namespace {

class Cards final : public gpu::System {
 public:
  explicit Cards(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}
  size_t count() const override { return driver_->cards().size(); }
  const gpu::Facts& facts(size_t card) const override { return driver_->cards()[card]; }
  vireo_status open(size_t card, std::shared_ptr<gpu::Device>* out, std::string* why) override {
    return Device::open(*driver_, driver_->cards()[card], out, why);
  }

 private:
  const std::unique_ptr<Driver> driver_;
};

}  // namespace

std::unique_ptr<gpu::System> find_cards(std::string* why) {
  std::unique_ptr<Driver> driver = Driver::open(nullptr, why);
  if (driver == nullptr) return nullptr;
  return std::make_unique<Cards>(std::move(driver));
}

}  // namespace vireo::hip
