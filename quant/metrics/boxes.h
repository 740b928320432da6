// Boxes of detectors: overlap, and the selection of those that stay.
#ifndef VIREO_QUANT_METRICS_BOXES_H_
#define VIREO_QUANT_METRICS_BOXES_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

namespace vireo::quant {

// Corners in pixels of the model's input; x1 and y1 are exclusive.
struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  float score = 1;
  int32_t label = 0;
};

// Intersection over union; 0 where both are empty.
float overlap(const Box& a, const Box& b);

// Greedy suppression for each class (Felzenszwalb 2010): of boxes that overlap by more than `limit` the one with the
// best score stays. At most `most` for each class; boxes of `floor` or less are dropped. Best first, ties in the order
// given.
std::vector<Box> suppress(std::vector<Box> boxes, float limit, float floor, size_t most);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_METRICS_BOXES_H_
