#ifndef VIREO_SDK_OPS_TEXT_CASE_RUN_H_
#define VIREO_SDK_OPS_TEXT_CASE_RUN_H_

#include <stdint.h>

namespace vireo {

// `first`, `first` + `step`... , `count` code points that a mapping moves by one distance.
struct CaseRun {
  uint32_t first;
  uint16_t count;
  uint16_t step;
  int32_t distance;
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_TEXT_CASE_RUN_H_
