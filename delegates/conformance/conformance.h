// What every delegate must pass, through vireo/delegate.h alone. Compiled once, linked with each delegate:
//   - the table: ABI, every function there, enumeration ends, devices have names
//   - every node is answered: taken, in one way or several, or left once with a reason
//   - what is taken gives the reference kernel's answer within the stated tolerance, twice the same, inside the memory
//   that
//     memory() asked for (guarded state, scratch and outputs), with one slot and with three
//   - two parts of one graph may be submitted at once
//   - an operator that nobody knows is left, not failed
#ifndef VIREO_DELEGATES_CONFORMANCE_CONFORMANCE_H_
#define VIREO_DELEGATES_CONFORMANCE_CONFORMANCE_H_

#include <string>
#include <vector>

#include "vireo/delegate.h"

namespace vireo {

// A case that a delegate does not serve. `never`: the hardware cannot, and why. Otherwise "not yet", with what is
// missing: a case so listed that passes fails the run, so that the list stays true.
struct Exclusion {
  std::string test_case;
  bool never;
  std::string why;
};

struct ConformanceResult {
  int passed = 0;
  int left = 0;  // answered with a reason
  std::vector<std::string> failures;
  std::vector<std::string> log;  // a line a case
};

ConformanceResult run_conformance(const vireo_delegate& delegate, const std::vector<Exclusion>& exclusions);

}  // namespace vireo

#endif  // VIREO_DELEGATES_CONFORMANCE_CONFORMANCE_H_
