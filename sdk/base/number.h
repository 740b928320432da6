// Numbers written in decimal, read without the C library's locale and heap.
#ifndef VIREO_SDK_BASE_NUMBER_H_
#define VIREO_SDK_BASE_NUMBER_H_

#include <stdint.h>

#include "sdk/base/string.h"

namespace vireo {

// "3.14", "-1e-5", ".5", "INF", "+inf", "-Inf", "NaN" with blanks around them: the nearest float64, ties to even. False
// when the text is anything else; digits after the 19th count only as "more than".
bool parse_f64(StringRef text, double* out);
// "-42": false when the text is not an integer of int64.
bool parse_i64(StringRef text, int64_t* out);

}  // namespace vireo

#endif  // VIREO_SDK_BASE_NUMBER_H_
