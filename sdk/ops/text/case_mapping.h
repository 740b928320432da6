// Unicode's simple case mappings: one code point for one. 382 runs, 4.6 KB, only where an operator uses them.
#ifndef VIREO_SDK_OPS_TEXT_CASE_MAPPING_H_
#define VIREO_SDK_OPS_TEXT_CASE_MAPPING_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/ops/text/case_table.h"

namespace vireo {

template <size_t kCount>
uint32_t map_case(const CaseRun (&runs)[kCount], uint32_t c) {
  size_t low = 0, high = kCount;  // the last run that begins at or before c
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (runs[middle].first <= c) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return c;
  const CaseRun& r = runs[low - 1];
  const uint32_t behind = c - r.first;
  const bool inside = behind % r.step == 0 && behind / r.step < r.count;
  return inside ? c + static_cast<uint32_t>(r.distance) : c;
}

inline uint32_t upper_case(uint32_t c) { return map_case(kUpperRuns, c); }
inline uint32_t lower_case(uint32_t c) { return map_case(kLowerRuns, c); }

// Equal for code points that differ in case alone. The dotted and the dotless i of Turkish are letters of their own.
inline uint32_t case_key(uint32_t c) { return c == 0x130 || c == 0x131 ? c : upper_case(lower_case(c)); }

}  // namespace vireo

#endif  // VIREO_SDK_OPS_TEXT_CASE_MAPPING_H_
