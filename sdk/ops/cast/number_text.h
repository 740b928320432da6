// Numbers as text: integers in decimal, real numbers with the fewest digits that read back as the same number of their
// type, spelled as Python's repr() does ("0.1", "3.0", "1e+16", "1e-05"); "NaN", "INF" and "-INF", as Cast reads them.
#ifndef VIREO_SDK_OPS_CAST_NUMBER_TEXT_H_
#define VIREO_SDK_OPS_CAST_NUMBER_TEXT_H_

#include <stddef.h>
#include <stdint.h>

namespace vireo {

constexpr size_t kMostNumberText = 24;  // "-2.2250738585072014e-308"

// A type of real numbers: bits of its significand, the leading one counted, and of the power of two of its last place
// where numbers are subnormal.
struct RealFormat {
  int precision;
  int least_exponent;
};
constexpr RealFormat kF64Format = {53, -1074}, kF32Format = {24, -149}, kF16Format = {11, -24}, kBF16Format = {8, -133};

// Each writes at most kMostNumberText bytes and says how many.
size_t write_integer(uint64_t magnitude, bool negative, char* to);
size_t write_real(double v, RealFormat format, char* to);  // v: a number of that format

}  // namespace vireo

#endif  // VIREO_SDK_OPS_CAST_NUMBER_TEXT_H_
