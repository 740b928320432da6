// The codes of a node in a run.
#ifndef VIREO_DELEGATES_MCU_ADAPTERS_CODES_OF_H_
#define VIREO_DELEGATES_MCU_ADAPTERS_CODES_OF_H_

#include "sdk/ops/kernel.h"

namespace vireo::mcu {

inline const uint8_t* codes_in(const KernelContext& ctx, size_t i) { return ctx.in(i)->as<const uint8_t>(); }
inline uint8_t* codes_out(const KernelContext& ctx) { return ctx.out(0)->as<uint8_t>(); }

}  // namespace vireo::mcu

#endif  // VIREO_DELEGATES_MCU_ADAPTERS_CODES_OF_H_
