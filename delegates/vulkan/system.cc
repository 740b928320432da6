#include "delegates/vulkan/system.h"

#include <utility>

#include "delegates/vulkan/device.h"

namespace vireo::vulkan {
namespace {

class Cards final : public gpu::System {
 public:
  explicit Cards(std::unique_ptr<Instance> instance) : instance_(std::move(instance)) {}
  size_t count() const override { return instance_->cards().size(); }
  const gpu::Facts& facts(size_t card) const override { return instance_->cards()[card]; }
  vireo_status open(size_t card, std::shared_ptr<gpu::Device>* out, std::string* why) override {
    return Device::open(*instance_, instance_->cards()[card], out, why);
  }

 private:
  const std::unique_ptr<Instance> instance_;
};

}  // namespace

std::unique_ptr<gpu::System> find_cards(std::string* why) {
  std::unique_ptr<Instance> instance = Instance::open(nullptr, why);
  if (instance == nullptr) return nullptr;
  return std::make_unique<Cards>(std::move(instance));
}

}  // namespace vireo::vulkan
