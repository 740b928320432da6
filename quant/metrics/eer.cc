// Equal error rate of a detector with labels 0 and 1: where as large a share of the 0s is taken as of the 1s is missed,
// on a straight line between the two thresholds around it. A score is one number, or the second of two less the first.
#include <math.h>

#include <algorithm>

#include "quant/metrics/kinds.h"
#include "quant/metrics/metric.h"

namespace vireo::quant {
namespace {

class Eer final : public Metric {
 public:
  using Metric::value;
  std::string add(const Sample& s) override {
    const std::vector<float>& v = s.output->values;
    if (v.empty() || v.size() > 2)
      return "output '" + s.output->name + "' has " + std::to_string(v.size()) + " numbers, and a score is one or two";
    if (s.labels.size() != 1 || s.labels[0] < 0 || s.labels[0] > 1) return "labels are 0 and 1";
    const double score = static_cast<double>(v.size() == 1 ? v[0] : v[1] - v[0]);
    if (isnan(score)) return "output '" + s.output->name + "' is NaN";
    order_.push_back(scores_.size());
    scores_.push_back(score);
    labels_.push_back(s.labels[0] == 1);
    each_.push_back(s.labels[0] == 1 ? -score : score);
    sorted_ = false;
    return "";
  }

  double value(Span<const uint32_t> times) const override {
    if (!sorted_) {
      std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return scores_[a] < scores_[b]; });
      sorted_ = true;
    }
    double ones = 0, zeros = 0;
    for (size_t i = 0; i < scores_.size(); ++i) (labels_[i] ? ones : zeros) += times[i];
    if (ones == 0 || zeros == 0) return static_cast<double>(NAN);
    // From a threshold below all scores upwards: all taken, then one score after the other is not.
    double taken = 1, missed = 0, below_ones = 0, below_zeros = 0;
    for (size_t k = 0; k < order_.size();) {
      const double score = scores_[order_[k]];
      for (; k < order_.size() && scores_[order_[k]] == score; ++k)
        (labels_[order_[k]] ? below_ones : below_zeros) += times[order_[k]];
      const double taken_now = 1 - below_zeros / zeros, missed_now = below_ones / ones;
      if (missed_now >= taken_now) {
        const double gap = taken - missed, share = gap / (gap + missed_now - taken_now);
        return taken + share * (taken_now - taken);
      }
      taken = taken_now;
      missed = missed_now;
    }
    return taken;
  }
  // How far on the wrong side a score is; no threshold is known.
  const std::vector<double>& each() const override { return each_; }

 private:
  std::vector<double> scores_, each_;
  std::vector<bool> labels_;
  mutable std::vector<size_t> order_;
  mutable bool sorted_ = true;
};

}  // namespace

std::unique_ptr<Metric> make_eer() { return std::make_unique<Eer>(); }

}  // namespace vireo::quant
