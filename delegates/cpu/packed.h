// Constants that a kernel reads packed: what CpuKernel::pack answers, and what scratch_bytes and prepare ask of it.
//   pack           return cpu::offer_packed(...) && then write to `to`, where that is not null
//   scratch_bytes  cpu::will_be_packed(q, pack): the kernel needs no room to pack it on the way
//   prepare        cpu::packed_at(q, pack): where it is, or null
#ifndef VIREO_DELEGATES_CPU_PACKED_H_
#define VIREO_DELEGATES_CPU_PACKED_H_

#include "delegates/cpu/cpu_op.h"

namespace vireo::cpu {

using PackConstant = decltype(CpuKernel::pack);

// Names a packed constant. False where there is none: `constant` is null, as where it is no constant, or `bytes` is 0,
// as where packing would bring nothing.
inline bool offer_packed(const void* constant, CpuPackedLayout layout, const int64_t (&sizes)[4], size_t bytes,
                         vireo_packed* out) {
  out->constant = constant;
  out->layout = layout;
  out->bytes = bytes;
  for (int i = 0; i < 4; ++i) out->sizes[i] = sizes[i];
  return constant != nullptr && bytes != 0;
}

inline bool will_be_packed(const CpuQuery& q, PackConstant pack, uint32_t index = 0) {
  vireo_packed packed = {};
  return q.packs && pack != nullptr && pack(q, index, {}, &packed, nullptr);
}

inline const void* packed_at(const CpuQuery& q, PackConstant pack, uint32_t index = 0) {
  return q.packed != nullptr && will_be_packed(q, pack, index) ? q.packed[index] : nullptr;
}

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_PACKED_H_
