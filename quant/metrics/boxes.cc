#include "quant/metrics/boxes.h"

#include <algorithm>
#include <map>

namespace vireo::quant {

float overlap(const Box& a, const Box& b) {
  const float width = std::max(0.0f, std::min(a.x1, b.x1) - std::max(a.x0, b.x0));
  const float height = std::max(0.0f, std::min(a.y1, b.y1) - std::max(a.y0, b.y0));
  const auto area = [](const Box& x) { return (x.x1 - x.x0) * (x.y1 - x.y0); };
  const float common = width * height;
  return common / (area(a) + area(b) - common + 1e-9f);
}

std::vector<Box> suppress(std::vector<Box> boxes, float limit, float floor, size_t most) {
  boxes.erase(std::remove_if(boxes.begin(), boxes.end(), [&](const Box& b) { return !(b.score > floor); }),
              boxes.end());
  std::stable_sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<Box> kept;
  std::map<int32_t, std::vector<size_t>> of_class;  // places in `kept`
  for (const Box& box : boxes) {
    std::vector<size_t>& same = of_class[box.label];
    if (same.size() >= most) continue;
    if (std::any_of(same.begin(), same.end(), [&](size_t i) { return overlap(kept[i], box) > limit; })) continue;
    same.push_back(kept.size());
    kept.push_back(box);
  }
  return kept;
}

}  // namespace vireo::quant
