#include "quant/int8/ranges.h"

#include <algorithm>
#include <cmath>

#include "quant/shared/nearest.h"
#include "quant/shared/widest.h"

namespace vireo::quant {
namespace {

constexpr int kCodes = 256;

// The elements of a histogram as they are compared: the middles of bins that hold any.
struct Weighed {
  std::vector<float> x;
  std::vector<double> count, y;  // y: of the function behind
  double all = 0;                // of the counts
};

Weighed weighed(const HistogramObserver& h, const ValueFunction& behind) {
  Weighed w;
  const int last = h.last();
  for (int bin = h.first(); bin <= last; ++bin) {
    if (h.count(bin) == 0) continue;
    w.x.push_back(static_cast<float>(h.middle(bin)));
    w.count.push_back(static_cast<double>(h.count(bin)));
    w.all += w.count.back();
  }
  if (!behind || !behind(w.x, &w.y)) w.y.assign(w.x.begin(), w.x.end());
  return w;
}

// The weighted sum of squares of y less what the code of x decodes to (`values`), in lanes.
VIREO_WIDEST double sum_of_losses(const float* x, const double* y, const double* counts, size_t size, double scale,
                                  int zero, const double* values) {
  constexpr size_t kLanes = 16;
  const auto least = static_cast<double>(-zero), most = static_cast<double>(kCodes - 1 - zero);
  double sums[kLanes] = {};
  for (size_t i = 0; i < size; i += kLanes) {
    const size_t lanes = std::min(kLanes, size - i);
    int32_t code[kLanes];
    for (size_t k = 0; k < lanes; ++k) {
      const double c = nearest_whole(static_cast<double>(x[i + k]) / scale);
      code[k] = static_cast<int32_t>(c < least ? least : c > most ? most : c) + zero;
    }
    for (size_t k = 0; k < lanes; ++k) {
      const double d = y[i + k] - values[code[k]];
      sums[k] += counts[i + k] * d * d;
    }
  }
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

double loss_of(const Weighed& w, const ValueScale& s, const ValueFunction& behind) {
  std::vector<float> codes(kCodes);
  for (int c = 0; c < kCodes; ++c) codes[static_cast<size_t>(c)] = static_cast<float>(c - s.zero) * s.scale;
  std::vector<double> values;
  if (!behind || !behind(codes, &values)) values.assign(codes.begin(), codes.end());
  if (w.all == 0) return 0;
  return sum_of_losses(w.x.data(), w.y.data(), w.count.data(), w.x.size(), static_cast<double>(s.scale), s.zero,
                       values.data()) /
         w.all;
}

// Clips each side by a factor of 0.3 to 1: a coarse grid, then a finer one about its best.
ValueRange least_squares(const HistogramObserver& h, const ValueRange& all, const ValueFunction& behind) {
  const Weighed w = weighed(h, behind);
  const auto range = [&](double a, double b) { return ValueRange{all.low * a, all.high * b}; };
  const auto loss = [&](double a, double b) { return loss_of(w, scale_of(range(a, b)), behind); };
  double best_a = 1, best_b = 1, least = loss(1, 1);
  const auto consider = [&](double a, double b) {
    a = std::clamp(a, 0.3, 1.0);
    b = std::clamp(b, 0.3, 1.0);
    if (a == best_a && b == best_b) return;
    const double l = loss(a, b);
    if (!(l < least)) return;
    least = l;
    best_a = a;
    best_b = b;
  };
  for (const double step : {0.1, 0.025, 0.00625}) {
    const double from_a = best_a, from_b = best_b;
    for (int i = -7; i <= 7; ++i) {
      if (all.low < 0) consider(from_a + i * step, from_b);
    }
    const double side = best_a;
    for (int i = -7; i <= 7; ++i) {
      if (all.high > 0) consider(side, from_b + i * step);
    }
  }
  return range(best_a, best_b);
}

ValueRange percentile(const HistogramObserver& h, const ValueRange& all) {
  const double cut = 1e-4 * static_cast<double>(h.total());
  ValueRange r = all;
  const int first = h.first(), last = h.last();
  double below = 0;
  for (int bin = first; bin <= last && below <= cut; ++bin) {
    below += static_cast<double>(h.count(bin));
    r.low = std::max(all.low, h.middle(bin) - h.width() / 2);
  }
  double above = 0;
  for (int bin = last; bin >= first && above <= cut; --bin) {
    above += static_cast<double>(h.count(bin));
    r.high = std::min(all.high, h.middle(bin) + h.width() / 2);
  }
  return r;
}

// The divergence of what 128 levels below `bins` magnitudes keep from what is there; what lies beyond goes to the last.
double divergence(const std::vector<double>& magnitudes, size_t bins) {
  constexpr size_t kLevels = 128;
  std::vector<double> p(magnitudes.begin(), magnitudes.begin() + static_cast<std::ptrdiff_t>(bins)), q(bins);
  for (size_t i = bins; i < magnitudes.size(); ++i) p.back() += magnitudes[i];
  for (size_t level = 0; level < kLevels; ++level) {
    const size_t from = level * bins / kLevels, to = (level + 1) * bins / kLevels;
    double sum = 0, used = 0;
    for (size_t i = from; i < to; ++i) {
      sum += magnitudes[i];
      used += p[i] > 0 ? 1 : 0;
    }
    for (size_t i = from; i < to; ++i) q[i] = p[i] > 0 ? sum / used : 0;
  }
  double total_p = 0, total_q = 0, out = 0;
  for (size_t i = 0; i < bins; ++i) {
    total_p += p[i];
    total_q += q[i];
  }
  for (size_t i = 0; i < bins; ++i) {
    if (p[i] > 0) out += p[i] / total_p * std::log(p[i] / total_p / std::max(q[i] / total_q, 1e-12));
  }
  return out;
}

ValueRange least_divergence(const HistogramObserver& h, const ValueRange& all) {
  std::vector<double> magnitudes(HistogramObserver::kBins / 2);
  for (int i = 0; i < HistogramObserver::kBins / 2; ++i) {
    magnitudes[static_cast<size_t>(i)] = static_cast<double>(h.count(HistogramObserver::kBins / 2 + i)) +
                                         static_cast<double>(h.count(HistogramObserver::kBins / 2 - 1 - i));
  }
  while (magnitudes.size() > 256 && magnitudes.back() == 0) magnitudes.pop_back();
  size_t best = magnitudes.size();
  double least = divergence(magnitudes, best);
  for (size_t bins = 256; bins < magnitudes.size(); bins += 16) {
    const double d = divergence(magnitudes, bins);
    if (!(d < least)) continue;
    least = d;
    best = bins;
  }
  const double end = static_cast<double>(best) * h.width();
  return {std::max(all.low, -end), std::min(all.high, end)};
}

// Zero is always a code.
ValueRange with_zero(const ValueRange& range) { return {std::min(range.low, 0.0), std::max(range.high, 0.0)}; }

}  // namespace

ValueScale scale_of(const ValueRange& range) {
  const auto [low, high] = with_zero(range);
  ValueScale s;
  s.scale = static_cast<float>((high - low) / (kCodes - 1));
  if (!std::isnormal(s.scale)) s.scale = 1.0f / (kCodes - 1);  // nothing but zeros
  s.zero = static_cast<int32_t>(std::clamp(std::nearbyint(-low / static_cast<double>(s.scale)), 0.0, kCodes - 1.0));
  return s;
}

ValueScale wide_scale_of(const ValueRange& range) {
  constexpr double kMost = 32767;
  ValueScale s;
  s.type = DType::kI16;
  s.scale = static_cast<float>(std::max(-range.low, range.high) / kMost);
  if (!std::isnormal(s.scale)) s.scale = static_cast<float>(1 / kMost);
  return s;
}

double through_codes(const ValueScale& s, double x) {
  const double code = std::nearbyint(x / static_cast<double>(s.scale)) + s.zero;
  const double least = s.type == DType::kI16 ? -32768 : 0, most = s.type == DType::kI16 ? 32767 : kCodes - 1;
  return (std::clamp(code, least, most) - s.zero) * static_cast<double>(s.scale);
}

const std::vector<std::string>& range_method_names() {
  static const std::vector<std::string> names = {"mse", "minmax", "percentile", "entropy"};
  return names;
}

bool find_range_method(const std::string& name, RangeMethod* m) {
  const auto& names = range_method_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return false;
  *m = static_cast<RangeMethod>(found - names.begin());
  return true;
}

ValueRange choose_range(RangeMethod method, const Statistics& statistics, const ValueFunction& behind) {
  if (statistics.range.empty()) return {};
  const ValueRange all =
      with_zero({static_cast<double>(statistics.range.low()), static_cast<double>(statistics.range.high())});
  switch (method) {
    case RangeMethod::kMse:
      return with_zero(least_squares(statistics.histogram, all, behind));
    case RangeMethod::kPercentile:
      return with_zero(percentile(statistics.histogram, all));
    case RangeMethod::kEntropy:
      return with_zero(least_divergence(statistics.histogram, all));
    case RangeMethod::kMinMax:
      break;
  }
  return all;
}

double squared_loss(const HistogramObserver& histogram, const ValueScale& scale, const ValueFunction& behind) {
  return loss_of(weighed(histogram, behind), scale, behind);
}

}  // namespace vireo::quant
