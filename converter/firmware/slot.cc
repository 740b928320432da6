#include <cstring>

#include "converter/firmware/emit.h"
#include "delegates/mcu/plan/plan.h"
#include "delegates/mcu/update/vireo_mcu_update.h"

namespace vireo::firmware {

static_assert(sizeof(vireo_slot_header) == 96 && offsetof(vireo_slot_header, magic) == 64);

std::string make_slot(const std::vector<uint8_t>& plan, const SlotFacts& facts,
                      const std::function<void(const uint8_t* message, size_t size, uint8_t* signature)>& sign,
                      std::vector<uint8_t>* out) {
  vireo_plan_header header = {};
  if (plan.size() >= sizeof header) std::memcpy(&header, plan.data(), sizeof header);
  if (header.magic != VIREO_PLAN_MAGIC || header.bytes != plan.size()) return "it is no flat plan, or not all of one";
  if (header.version != VIREO_PLAN_VERSION) return "another version wrote it";
  if (facts.revision == 0) return "revisions begin with 1";
  if (facts.oldest > facts.revision) return "it would refuse itself: --oldest is above --revision";
  vireo_slot_header slot = {};
  slot.magic = VIREO_SLOT_MAGIC;
  slot.product = facts.product;
  slot.revision = facts.revision;
  slot.oldest = facts.oldest;
  slot.plan_bytes = header.bytes;
  out->resize(sizeof slot + plan.size());
  std::memcpy(out->data(), &slot, sizeof slot);
  std::memcpy(out->data() + sizeof slot, plan.data(), plan.size());
  const size_t behind = sizeof slot.signature;
  sign(out->data() + behind, out->size() - behind, out->data());
  return "";
}

}  // namespace vireo::firmware
