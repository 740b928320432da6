// What observers are given: one value of one sample, as `outer` runs of `channels` runs of `inner` elements.
#ifndef VIREO_QUANT_OBSERVERS_BLOCK_H_
#define VIREO_QUANT_OBSERVERS_BLOCK_H_

#include <cstdint>

namespace vireo::quant {

struct Block {
  const float* data = nullptr;
  int64_t outer = 1, channels = 1, inner = 1;

  int64_t count() const { return outer * channels * inner; }
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_OBSERVERS_BLOCK_H_
