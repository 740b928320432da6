// conformance_<delegate>: VIREO_CONFORMANCE_DELEGATE is the symbol of its table, VIREO_CONFORMANCE_TAKES what it must
// serve at least (0 for one that leaves everything).
#include <cstdio>

#include "delegates/conformance/conformance.h"

extern "C" const vireo_delegate VIREO_CONFORMANCE_DELEGATE;

int main() {
  const vireo::ConformanceResult r = vireo::run_conformance(VIREO_CONFORMANCE_DELEGATE, {});
  for (const std::string& line : r.log) std::printf("%s\n", line.c_str());
  for (const std::string& line : r.failures) std::printf("FAILED %s\n", line.c_str());
  std::printf("%s: %d passed, %d left with a reason, %zu failed\n", VIREO_CONFORMANCE_DELEGATE.name, r.passed, r.left,
              r.failures.size());
  return r.failures.empty() && r.passed >= VIREO_CONFORMANCE_TAKES ? 0 : 1;
}
