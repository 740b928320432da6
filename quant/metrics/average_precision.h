// Detection: average precision over classes, at one or several limits of overlap.
#ifndef VIREO_QUANT_METRICS_AVERAGE_PRECISION_H_
#define VIREO_QUANT_METRICS_AVERAGE_PRECISION_H_

#include <map>
#include <vector>

#include "quant/metrics/metric.h"

namespace vireo::quant {

// The area under the precision envelope, all points (VOC 2010 and later), mean over the classes that the data have and
// over the limits. In each picture the best box takes the free true box of its class that it overlaps most, if by the
// limit or more.
class AveragePrecision final : public Metric {
 public:
  explicit AveragePrecision(std::vector<double> limits) : limits_(std::move(limits)) {}

  using Metric::value;
  std::string add(const Sample& sample) override;
  double value(Span<const uint32_t> times) const override;
  // Of each picture by itself; without true boxes 1 if none was found, else 0.
  const std::vector<double>& each() const override { return each_; }

 private:
  struct Found {
    float score;
    uint32_t sample;
    uint32_t hits;  // bit k: at limits_[k]
  };
  struct OfClass {
    mutable std::vector<Found> found;  // sorted by score when a value is asked for, pictures in their order
    mutable bool sorted = true;
    std::vector<std::pair<uint32_t, uint32_t>> truths;  // sample, how many
  };

  void match(const Sample& sample, std::map<int32_t, OfClass>* classes, uint32_t number) const;
  double mean(const std::map<int32_t, OfClass>& classes, Span<const uint32_t> times) const;

  std::vector<double> limits_;
  std::map<int32_t, OfClass> classes_;
  std::vector<double> each_;
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_METRICS_AVERAGE_PRECISION_H_
