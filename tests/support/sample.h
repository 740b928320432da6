// How much of a large table a test runs: tests/README.md, the label `sampled`.
#ifndef VIREO_TESTS_SUPPORT_SAMPLE_H_
#define VIREO_TESTS_SUPPORT_SAMPLE_H_

#include <stdint.h>
#include <stdlib.h>

namespace vireo::tests {

// Of how many cases one is run: VIREO_SAMPLE of the environment, as a default run sets it; all with VIREO_FULL=1.
inline int64_t sample_step() {
  static const char* const given = getenv("VIREO_FULL") == nullptr ? getenv("VIREO_SAMPLE") : nullptr;
  static const int64_t step = given != nullptr && atoi(given) > 1 ? atoi(given) : 1;
  return step;
}

// Whether the case of this number is run. A product of sizes has their sum for its number: an axis has sizes of all
// remainders, so any two sizes still meet, with some of the third. A fault at the end of a tile shows at one or two.
inline bool in_sample(int64_t number) { return number % sample_step() == 0; }

}  // namespace vireo::tests

#endif  // VIREO_TESTS_SUPPORT_SAMPLE_H_
