// Whether an answer is the reference answer, and by how much it differs.
#ifndef VIREO_C_API_CLI_COMPARE_H_
#define VIREO_C_API_CLI_COMPARE_H_

#include <math.h>

#include <string>

#include "c_api/cli/array.h"

namespace vireo::cli {

// An element passes when |d| <= atol * scale + rtol * |ref|; scale is the largest finite |ref| (relative) or 1 (ONNX).
struct Tolerance {
  double atol = -1;  // negative: the default of the type
  double rtol = -1;
  bool absolute = false;  // scale 1, and integers too, as ONNX's backend tests mean it
};

struct Difference {
  bool pass = false;
  double max_abs = 0;
  double max_rel = 0;      // over elements whose reference is not 0
  double cosine = 1;       // 1 when both are all zeros
  double sqnr_db = 300;    // 10 log10(sum ref^2 / sum d^2), limited to +-300: equal answers have no noise
  double atol = INFINITY;  // the least that passes with this rtol; infinite if none does, or none was looked for
  std::string reason;      // why it does not pass
};

// Default tolerances: 1e-5 and 1e-4 for float32 and float64, 1e-2 (of the scale, rtol 1e-4) for 16 bits and below.
// Integers, booleans and strings must be equal whatever the tolerance. Infinities and NaNs must stand at the same
// places, infinities with the same sign; they count in no figure. Another shape or type fails.
Difference compare(const Array& got, const Array& want, const Tolerance& tolerance);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_COMPARE_H_
