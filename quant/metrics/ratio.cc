#include "quant/metrics/ratio.h"

#include <math.h>

#include <algorithm>

namespace vireo::quant {
namespace {

std::string shape_of(const Output& output) {
  std::string text;
  for (const int64_t d : output.dims) text += (text.empty() ? "" : "x") + std::to_string(d);
  return "output '" + output.name + "' (" + (text.empty() ? "scalar" : text) + ")";
}

}  // namespace

double Ratio::value(Span<const uint32_t> times) const {
  double part = 0, whole = 0;
  bool any = false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (times[i] == 0) continue;
    part += times[i] * parts_[i];
    whole += times[i] * wholes_[i];
    any = true;
  }
  return any ? finish(part, whole) : static_cast<double>(NAN);
}

void Ratio::put(double part, double whole) {
  parts_.push_back(part);
  wholes_.push_back(whole);
  each_.push_back(finish(part, whole));
}

size_t best_of(const float* scores, size_t count) {
  size_t best = 0;
  for (size_t i = 1; i < count; ++i) {
    if (scores[i] > scores[best] || (isnan(scores[best]) && !isnan(scores[i]))) best = i;
  }
  return best;
}

double negative_log(const float* scores, size_t count, size_t label) {
  const double top = static_cast<double>(*std::max_element(scores, scores + count));
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += exp(static_cast<double>(scores[i]) - top);
  return log(sum) + top - static_cast<double>(scores[label]);
}

size_t row_width(const Output& output) {
  const auto wide = std::count_if(output.dims.begin(), output.dims.end(), [](int64_t d) { return d != 1; });
  if (wide < 2 || output.dims.empty()) return output.values.size();
  return static_cast<size_t>(output.dims.back());
}

std::string scores_fault(const Output& output, size_t least, const std::vector<int64_t>& labels) {
  const size_t size = output.values.size(), classes = row_width(output);
  if (classes < least)
    return shape_of(output) + " is no row of scores for at least " + std::to_string(least) + " classes";
  if (labels.empty() || size != classes * labels.size()) {
    return shape_of(output) + " has " + std::to_string(size / classes) + " rows of scores, and the data have " +
           std::to_string(labels.size()) + " labels for them";
  }
  for (const int64_t label : labels) {
    if (label < 0 || label >= static_cast<int64_t>(classes))
      return "label " + std::to_string(label) + " is none of the " + std::to_string(classes) + " classes of " +
             shape_of(output);
  }
  return "";
}

std::string reference_fault(const Output& output, const Output* reference) {
  if (!output.texts.empty()) return "output '" + output.name + "' holds strings";
  if (reference == nullptr) return "there is nothing to compare with";
  if (reference->values.size() == output.values.size()) return "";
  return shape_of(output) + " differs in shape from the reference, " + shape_of(*reference);
}

}  // namespace vireo::quant
