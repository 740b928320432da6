// What one reading of a block tells of each channel: what ranges and moments add up.
#ifndef VIREO_QUANT_OBSERVERS_SUMMARY_H_
#define VIREO_QUANT_OBSERVERS_SUMMARY_H_

#include <cstdint>
#include <vector>

#include "quant/observers/block.h"

namespace vireo::quant {

struct BlockSummary {
  uint64_t count = 0, not_finite = 0;             // of elements; those that are NaN or infinite count nowhere else
  std::vector<float> lows, highs;                 // of each channel; of no element: infinity and its opposite
  std::vector<double> sums, squares, magnitudes;  // likewise

  float low() const;
  float high() const;
  // The largest magnitude; 0 of no element.
  float most() const;
};

BlockSummary summary_of(const Block& block);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_OBSERVERS_SUMMARY_H_
