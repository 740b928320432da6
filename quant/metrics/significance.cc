#include "quant/metrics/significance.h"

#include <math.h>

#include <algorithm>
#include <random>

namespace vireo::quant {
namespace {

constexpr double kTwoSided95 = 1.959963984540054, kPower80 = 0.8416212335729143;  // quantiles of the normal

// Connor 1987: pairs that a test of two shares needs. `uneven`: share of pairs in which one of the two is right.
double pairs_needed(double difference, double uneven) {
  const double d = fabs(difference);
  const double wanted = kTwoSided95 * sqrt(uneven) + kPower80 * sqrt(std::max(0.0, uneven - d * d));
  return wanted * wanted / (d * d);
}

}  // namespace

std::vector<double> resampled(const Metric& metric) {
  const size_t n = metric.samples();
  std::vector<double> values;
  if (n == 0) return values;
  std::mt19937_64 random(n);
  std::vector<uint32_t> times(n);
  for (size_t k = 0; k < kResamples; ++k) {
    std::fill(times.begin(), times.end(), 0);
    // The high bits, scaled: distributions of the library differ between libraries.
    for (size_t i = 0; i < n; ++i) ++times[static_cast<size_t>((random() >> 32) * n >> 32)];
    values.push_back(metric.value({times.data(), n}));
  }
  return values;
}

Interval middle95(std::vector<double> values) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double v) { return isnan(v); }), values.end());
  if (values.empty()) return {static_cast<double>(NAN), static_cast<double>(NAN)};
  std::sort(values.begin(), values.end());
  const double last = static_cast<double>(values.size() - 1);
  const auto at = [&](double share) { return values[static_cast<size_t>(lround(share * last))]; };
  return {at(0.025), at(0.975)};
}

double mcnemar(uint64_t only_a, uint64_t only_b) {
  const auto n = static_cast<double>(only_a + only_b);
  const uint64_t fewer = std::min(only_a, only_b);
  double sum = 0;
  for (uint64_t k = 0; k <= fewer; ++k) {
    const auto x = static_cast<double>(k);
    sum += exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) - n * M_LN2);
  }
  return std::min(1.0, 2 * sum);
}

Apart compare(const Metric& a, const Metric& b, bool counts, const std::vector<double>& drawn_a,
              const std::vector<double>& drawn_b) {
  Apart out;
  std::vector<double> differences;
  size_t below = 0, above = 0;
  double sum = 0, squares = 0;
  for (size_t k = 0; k < std::min(drawn_a.size(), drawn_b.size()); ++k) {
    const double d = drawn_b[k] - drawn_a[k];
    if (!isfinite(d)) continue;
    differences.push_back(d);
    below += d <= 0 ? 1 : 0;
    above += d >= 0 ? 1 : 0;
    sum += d;
    squares += d * d;
  }
  out.interval = middle95(differences);
  const auto n = static_cast<double>(a.samples());
  const double difference = b.value() - a.value();
  if (counts) {
    uint64_t only_a = 0, only_b = 0;
    for (size_t i = 0; i < a.samples(); ++i) {
      only_a += a.each()[i] > b.each()[i] ? 1 : 0;
      only_b += b.each()[i] > a.each()[i] ? 1 : 0;
    }
    out.mcnemar = true;
    out.p = mcnemar(only_a, only_b);
    out.apart = out.p < 0.05;
    if (only_a != only_b) out.samples_needed = ceil(pairs_needed(difference, static_cast<double>(only_a + only_b) / n));
    return out;
  }
  const auto drawn = static_cast<double>(differences.size());
  if (differences.empty()) return out;
  out.p = std::min(1.0, 2 * (static_cast<double>(std::min(below, above)) + 1) / (drawn + 1));
  out.apart = out.interval.lo > 0 || out.interval.hi < 0;
  const double deviation = sqrt(std::max(0.0, squares / drawn - sum * sum / (drawn * drawn)));
  if (difference != 0 && isfinite(difference)) {
    const double wanted = (kTwoSided95 + kPower80) * deviation / difference;
    out.samples_needed = std::max(1.0, ceil(n * wanted * wanted));
  }
  return out;
}

}  // namespace vireo::quant
