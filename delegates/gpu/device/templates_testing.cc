// The templates' own tests, on the first card.
#include <cstdio>

#include "delegates/gpu/device/runner.h"
#include "delegates/gpu/device/test_cards.h"
#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu {
namespace {

// Kept to the end: making a device takes longer than a trial.
TrialCard find_card() {
  static Runner runner(test_cards);
  TrialCard card;
  if (!runner.why().empty()) {
    std::printf("SKIPPED: %s\n", runner.why().c_str());
    return card;
  }
  card.target = runner.target();
  card.run = [](const Kernel& kernel, const Dispatch& dispatch, std::vector<Bytes>* bindings) {
    return runner.run(kernel, dispatch.groups, dispatch.push, bindings);
  };
  return card;
}

}  // namespace

const TrialCard* trial_card() {
  static const TrialCard card = find_card();
  return &card;
}

}  // namespace vireo::gpu
