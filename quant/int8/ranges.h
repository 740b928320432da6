// From what a value is like to the scale of its codes. x^ = s (clamp(rne(x / s) + z) - z); zero is always a code.
#ifndef VIREO_QUANT_INT8_RANGES_H_
#define VIREO_QUANT_INT8_RANGES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quant/calibrate/statistics.h"

namespace vireo::quant {

struct ValueRange {
  double low = 0, high = 0;
};

struct ValueScale {
  float scale = 1;
  int32_t zero = 0;
  DType type = DType::kU8;  // of the codes
};
ValueScale scale_of(const ValueRange& range);  // uint8
// int16 about 0: a zero point would win a bit of sixteen at most, and cost products a sum more.
ValueScale wide_scale_of(const ValueRange& range);
// What the code nearest to `x` stands for.
double through_codes(const ValueScale& s, double x);

enum class RangeMethod : uint8_t {
  kMse,         // least squares of what is lost by rounding and clipping, or of what a function of the value loses
  kMinMax,      // all that was seen
  kPercentile,  // all but 0.01 % on each side
  kEntropy,     // least divergence of 128 levels from the histogram (Migacz 2017)
};
const std::vector<std::string>& range_method_names();             // in the order of RangeMethod
bool find_range_method(const std::string& name, RangeMethod* m);  // false: there is no such method

// A function that stands behind the value, of many elements at once; empty: the value itself counts.
using ValueFunction = std::function<bool(const std::vector<float>& x, std::vector<double>* y)>;

ValueRange choose_range(RangeMethod method, const Statistics& statistics, const ValueFunction& behind);

// The mean square of what codes of this scale lose, of the value or of the function behind it; and that of the signal.
double squared_loss(const HistogramObserver& histogram, const ValueScale& scale, const ValueFunction& behind);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_RANGES_H_
