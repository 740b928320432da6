#include "c_api/cli/compare.h"

#include <math.h>
#include <stdio.h>

#include <algorithm>

namespace vireo::cli {
namespace {

std::string place(const Array& a, int64_t flat) {
  std::string text;
  for (size_t d = a.dims.size(); d-- > 0;) {
    const int64_t extent = std::max<int64_t>(a.dims[d], 1);
    text = std::to_string(flat % extent) + (text.empty() ? "" : ",") + text;
    flat /= extent;
  }
  return "[" + text + "]";
}

struct Sums {
  double ref2 = 0, got2 = 0, dot = 0, noise2 = 0;
};

}  // namespace

Difference compare(const Array& got, const Array& want, const Tolerance& tolerance) {
  Difference out;
  if (got.dtype != want.dtype) {
    out.reason = std::string("type is ") + vireo_dtype_text(got.dtype) + ", expected " + vireo_dtype_text(want.dtype);
    return out;
  }
  if (got.dims != want.dims) {
    out.reason = "shape is " + shape_text(got.dims) + ", expected " + shape_text(want.dims);
    return out;
  }
  const int64_t count = want.count();
  const bool complex = dtype_is_complex(want.dtype);
  const bool real = dtype_is_float(want.dtype) || complex;
  const bool tolerant = real || tolerance.absolute;
  if (want.dtype == VIREO_STRING) {
    for (int64_t i = 0; i < count; ++i) {
      if (same_bits(got, i, want, i)) continue;
      out.reason = "at " + place(want, i) + ": " + text_at(got, i) + ", expected " + text_at(want, i);
      return out;
    }
    out.pass = true;
    return out;
  }

  double scale = 0, beyond_rtol = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double r = hypot(real_at(want, i), imaginary_at(want, i));
    if (isfinite(r)) scale = std::max(scale, r);
  }
  const bool wide = want.dtype == VIREO_FLOAT32 || want.dtype == VIREO_FLOAT64 || complex;
  const double atol = tolerance.atol >= 0 ? tolerance.atol : wide ? 1e-5 : 1e-2;
  const double rtol = tolerance.rtol >= 0 ? tolerance.rtol : 1e-4;
  const double floor = atol * (tolerance.absolute ? 1.0 : scale);

  Sums sums;
  double worst = 0;  // by how much the worst element passes its limit
  for (int64_t i = 0; i < count; ++i) {
    for (int part = 0; part < (complex ? 2 : 1); ++part) {
      const double g = part == 0 ? real_at(got, i) : imaginary_at(got, i);
      const double w = part == 0 ? real_at(want, i) : imaginary_at(want, i);
      if (!isfinite(g) || !isfinite(w)) {
        const bool same = (isnan(g) && isnan(w)) || g == w;
        if (!same && (out.reason.empty() || isfinite(worst))) {
          out.reason = "at " + place(want, i) + ": " + text_at(got, i) + ", expected " + text_at(want, i);
          worst = INFINITY;
        }
        continue;
      }
      const double d = fabs(g - w);
      out.max_abs = std::max(out.max_abs, d);
      if (w != 0) out.max_rel = std::max(out.max_rel, d / fabs(w));
      sums.ref2 += w * w;
      sums.got2 += g * g;
      sums.dot += g * w;
      sums.noise2 += d * d;
      beyond_rtol = std::max(beyond_rtol, d - rtol * fabs(w));
      const bool good = tolerant ? d <= floor + rtol * fabs(w) : same_bits(got, i, want, i);
      if (good) continue;
      const double excess = real ? d - floor - rtol * fabs(w) : std::max(d, 0.5);
      if (excess <= worst) continue;
      worst = excess;
      char text[160];
      if (real) {
        snprintf(text, sizeof(text), ": %.9g, expected %.9g; differs by %.3g, allowed %.3g", g, w, d,
                 floor + rtol * fabs(w));
        out.reason = "at " + place(want, i) + text;
      } else {
        out.reason = "at " + place(want, i) + ": " + text_at(got, i) + ", expected " + text_at(want, i);
      }
    }
  }
  const double norms = sqrt(sums.ref2) * sqrt(sums.got2);
  out.cosine = norms > 0 ? std::min(1.0, std::max(-1.0, sums.dot / norms)) : (sums.ref2 == sums.got2 ? 1.0 : 0.0);
  if (sums.noise2 > 0)
    out.sqnr_db = sums.ref2 > 0 ? std::clamp(10 * log10(sums.ref2 / sums.noise2), -300.0, 300.0) : -300.0;
  out.pass = out.reason.empty();
  if (tolerance.absolute) scale = 1;
  if (tolerant && isfinite(worst) && scale > 0) out.atol = beyond_rtol / scale;
  return out;
}

}  // namespace vireo::cli
