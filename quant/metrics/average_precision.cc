#include "quant/metrics/average_precision.h"

#include <math.h>

#include <algorithm>

namespace vireo::quant {

std::string AveragePrecision::add(const Sample& sample) {
  const auto number = static_cast<uint32_t>(each_.size());
  match(sample, &classes_, number);
  std::map<int32_t, OfClass> only;
  match(sample, &only, 0);
  const uint32_t once = 1;
  each_.push_back(sample.boxes.empty() ? (sample.found.empty() ? 1 : 0) : mean(only, {&once, 1}));
  return "";
}

void AveragePrecision::match(const Sample& sample, std::map<int32_t, OfClass>* classes, uint32_t number) const {
  std::map<int32_t, std::vector<const Box*>> truths, found;
  for (const Box& box : sample.boxes) truths[box.label].push_back(&box);
  for (const Box& box : sample.found) found[box.label].push_back(&box);
  for (const auto& [label, boxes] : truths)
    (*classes)[label].truths.emplace_back(number, static_cast<uint32_t>(boxes.size()));
  for (auto& [label, boxes] : found) {
    std::stable_sort(boxes.begin(), boxes.end(), [](const Box* a, const Box* b) { return a->score > b->score; });
    const std::vector<const Box*>& wanted = truths[label];
    std::vector<uint32_t> used(wanted.size(), 0);  // bit k: taken at limits_[k]
    OfClass& mine = (*classes)[label];
    for (const Box* box : boxes) {
      uint32_t hits = 0;
      for (size_t k = 0; k < limits_.size(); ++k) {
        const uint32_t bit = 1u << k;
        float most = -1;
        size_t best = 0;
        for (size_t t = 0; t < wanted.size(); ++t) {
          if ((used[t] & bit) != 0) continue;
          const float common = overlap(*box, *wanted[t]);
          if (common > most) most = common, best = t;
        }
        if (static_cast<double>(most) < limits_[k]) continue;
        used[best] |= bit;
        hits |= bit;
      }
      mine.found.push_back({box->score, number, hits});
      mine.sorted = false;
    }
  }
}

double AveragePrecision::value(Span<const uint32_t> times) const { return mean(classes_, times); }

double AveragePrecision::mean(const std::map<int32_t, OfClass>& classes, Span<const uint32_t> times) const {
  double sum = 0;
  size_t count = 0;
  for (const auto& [label, mine] : classes) {
    double total = 0;
    for (const auto& [sample, boxes] : mine.truths) total += static_cast<double>(times[sample]) * boxes;
    if (total == 0) continue;
    if (!mine.sorted) {
      std::stable_sort(mine.found.begin(), mine.found.end(),
                       [](const Found& a, const Found& b) { return a.score > b.score; });
      mine.sorted = true;
    }
    for (size_t k = 0; k < limits_.size(); ++k) {
      std::vector<std::pair<double, double>> points;  // right ones that a box adds, precision down to it
      double right = 0, all = 0;
      for (const Found& f : mine.found) {
        const double weight = times[f.sample];
        if (weight == 0) continue;
        const double more = (f.hits >> k & 1) != 0 ? weight : 0;
        right += more;
        all += weight;
        points.emplace_back(more, right / all);
      }
      double best = 0, area = 0;
      for (auto it = points.rbegin(); it != points.rend(); ++it) {
        best = std::max(best, it->second);
        area += it->first / total * best;
      }
      sum += area;
      ++count;
    }
  }
  return count == 0 ? static_cast<double>(NAN) : sum / static_cast<double>(count);
}

}  // namespace vireo::quant
