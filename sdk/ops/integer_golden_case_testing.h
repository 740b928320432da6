// One golden vector of the integer operators, as integer_golden.py writes them.
#ifndef VIREO_SDK_OPS_INTEGER_GOLDEN_CASE_TESTING_H_
#define VIREO_SDK_OPS_INTEGER_GOLDEN_CASE_TESTING_H_

#include <vector>

#include "sdk/ops/testing.h"

namespace vireo {

struct GoldenCase {
  const char* name;
  OpTest test;
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<int> codes;
  bool wide;  // in integer_golden_wide.vireo: one file holds 64 inputs at most
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_INTEGER_GOLDEN_CASE_TESTING_H_
